"""A round as it stands: who makes room for whom, who has gone, and how it ended."""

from typing import Literal

import msgspec

from headgate.domain.configured import Absent
from headgate.domain.rounds.events import RoundVictim
from headgate.domain.values.instants import Instant
from headgate.domain.workloads.admission import Admission
from headgate.domain.workloads.explanation import Refused

RoundStage = Literal["Draining", "Satisfied", "Completed", "Superseded", "Aborted", "Expired"]
OPEN_STAGES: tuple[RoundStage, ...] = ("Draining", "Satisfied")


class Round(msgspec.Struct, frozen=True, kw_only=True, tag="round"):
    """One preemption from decision to end; `released` names the victims gone, in order."""

    id: str
    stage: RoundStage
    preemptor: str
    preemptor_priority: int
    cluster_queue: str
    admission: Admission
    victims: tuple[RoundVictim, ...]
    released: tuple[str, ...] = ()
    considered: int
    refused: tuple[Refused, ...] = ()
    basis_position: int
    committed_at: Instant
    ended_at: Instant | None = None
    expires_at: Instant | None = None
    outcome: str = ""


RoundState = Absent | Round


def is_open(found: Round) -> bool:
    """Whether it still makes room."""
    return found.stage in OPEN_STAGES
