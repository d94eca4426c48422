"""The state of a preemption round: preemptor, nominated placement, victims, and how it ended."""

from collections.abc import Iterable
from typing import Literal

import msgspec

from headgate.domain.kinds.configured_object import Absent
from headgate.domain.rounds.events import QuotaFigures, RoundVictim
from headgate.domain.values.instants import Instant
from headgate.domain.values.message import Message
from headgate.domain.workloads.admission import Admission
from headgate.domain.workloads.explanation import ProtectedCandidate

RoundStage = Literal[
    "Committed", "Draining", "Satisfied", "Invalidated",
    "Completed", "Superseded", "Aborted", "Expired",
]  # fmt: skip
OPEN_STAGES: tuple[RoundStage, ...] = ("Committed", "Draining", "Satisfied", "Invalidated")


class Round(msgspec.Struct, frozen=True, kw_only=True, tag="round"):
    """One preemption from commit to end; `released` names the victims gone, in order.

    Committed until the first victim has gone, then Draining; Satisfied when all have. Invalidated
    if the nominated placement was lost and the preemptor has no other yet; `taken_by` is the
    stronger workload that took it. `called_back` are victims that run on because their eviction was
    cancelled. `started_at` is when the preemptor was admitted, at this placement or another.
    """

    id: str
    stage: RoundStage
    preemptor: str
    preemptor_priority: int
    cluster_queue: str
    admission: Admission
    victims: tuple[RoundVictim, ...]
    released: tuple[str, ...] = ()
    called_back: tuple[str, ...] = ()
    considered: int
    refused: tuple[ProtectedCandidate, ...] = ()
    basis_position: int
    committed_at: Instant
    ended_at: Instant | None = None
    expires_at: Instant | None = None
    outcome: Message | None = None
    cohort: str = ""
    preemptor_generation: int = 0
    figures: tuple[QuotaFigures, ...] = ()
    invalidated_by: str = ""
    taken_by: str = ""
    started_at: Instant | None = None
    epoch: str = ""


RoundState = Absent | Round


def is_open(found: Round) -> bool:
    """Whether a round has not ended."""
    return found.stage in OPEN_STAGES


def oldest_first(rounds: Iterable[Round]) -> list[Round]:
    """Rounds in the order they began in.

    Their ids do not tell it: they depend on the worker, what-if or backtest that gave them.
    """
    return sorted(rounds, key=lambda found: (found.committed_at, found.preemptor, found.id))


def reclaims_nominal_quota(found: Round) -> bool:
    """Whether a round reclaims nominal quota for the preemptor's side, at any priority (§6.8)."""
    return any(victim.reason == "InCohortReclamation" for victim in found.victims)
