"""A round as it stands: who makes room for whom, who has gone, and how it ended."""

from collections.abc import Iterable
from typing import Literal

import msgspec

from headgate.domain.kinds.configured_object import Absent
from headgate.domain.rounds.events import QuotaFigures, RoundVictim
from headgate.domain.values.instants import Instant
from headgate.domain.workloads.admission import Admission
from headgate.domain.workloads.explanation import ProtectedCandidate

RoundStage = Literal[
    "Committed", "Draining", "Satisfied", "Invalidated",
    "Completed", "Superseded", "Aborted", "Expired",
]  # fmt: skip
OPEN_STAGES: tuple[RoundStage, ...] = ("Committed", "Draining", "Satisfied", "Invalidated")


class Round(msgspec.Struct, frozen=True, kw_only=True, tag="round"):
    """One preemption from decision to end; `released` names the victims gone, in order.

    `called_back` are those who run on because it ended before they had begun to leave.

    Committed until the first has gone, then Draining; Satisfied when all have. Invalidated if the
    place is lost on the way and the preemptor has found no other yet; `taken_by` is the workload
    with a stronger claim that took it. `started_at` is when the preemptor got a place, this or
    another.
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
    outcome: str = ""
    cohort: str = ""
    preemptor_generation: int = 0
    figures: tuple[QuotaFigures, ...] = ()
    invalidated_by: str = ""
    taken_by: str = ""
    started_at: Instant | None = None
    epoch: str = ""


RoundState = Absent | Round


def is_open(found: Round) -> bool:
    """Whether it still makes room."""
    return found.stage in OPEN_STAGES


def oldest_first(rounds: Iterable[Round]) -> list[Round]:
    """Rounds in the order they began in.

    Not by their ids, which tell who gave them: other workers, what-ifs and backtests give others.
    """
    return sorted(rounds, key=lambda found: (found.committed_at, found.preemptor, found.id))


def reclaims_nominal_quota(found: Round) -> bool:
    """Whether it takes back what the preemptor's side owns, whatever the priorities (§6.8)."""
    return any(victim.reason == "InCohortReclamation" for victim in found.victims)
