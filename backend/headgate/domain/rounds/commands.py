"""What the scheduler asks of a preemption round; an ended round ignores all of it."""

from collections.abc import Mapping

import msgspec

from headgate.domain.rounds.events import InvalidatedBy, QuotaFigures, ReleaseCause, RoundVictim
from headgate.domain.values.message import Message
from headgate.domain.workloads.admission import Admission
from headgate.domain.workloads.explanation import ProtectedCandidate


class CommitRound(msgspec.Struct, frozen=True, kw_only=True):
    """Begin a round with a complete plan; it expires `ttl_seconds` after it began."""

    round_id: str
    preemptor: str
    preemptor_priority: int
    preemptor_generation: int
    cluster_queue: str
    cohort: str
    admission: Admission
    victims: tuple[RoundVictim, ...]
    considered: int
    refused: tuple[ProtectedCandidate, ...]
    figures: tuple[QuotaFigures, ...]
    epoch: str
    basis_position: int
    ttl_seconds: int


class ReleaseVictims(msgspec.Struct, frozen=True):
    """Record victims that released their quota and hosts, by workload with the cause."""

    causes: Mapping[str, ReleaseCause]


class InvalidatePlacement(msgspec.Struct, frozen=True, kw_only=True):
    """Record that the nominated placement cannot be had any more; `taken_by` names its taker."""

    by: InvalidatedBy
    taken_by: str = ""


class CompleteRound(msgspec.Struct, frozen=True):
    """End a round with the admission of its preemptor at the nominated placement."""

    called_back: tuple[str, ...] = ()


class SupersedeRound(msgspec.Struct, frozen=True, kw_only=True):
    """End a round with another placement, or another round, for its preemptor."""

    admission: Admission | None = None
    by_round: str = ""
    called_back: tuple[str, ...] = ()


class AbortRound(msgspec.Struct, frozen=True):
    """End a round because its preemptor cannot use the placement any more."""

    cause: Message
    called_back: tuple[str, ...] = ()


class ExpireRound(msgspec.Struct, frozen=True):
    """End a round at the end of its time to live; `stalled` names the victims that still run."""

    stalled: tuple[str, ...]


RoundCommand = (
    CommitRound
    | ReleaseVictims
    | InvalidatePlacement
    | CompleteRound
    | SupersedeRound
    | AbortRound
    | ExpireRound
)
