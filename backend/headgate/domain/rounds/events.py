"""What can have happened to a preemption round (reference preemption.md §6.10)."""

from typing import Literal

import msgspec

from headgate.domain.values.instants import Instant
from headgate.domain.values.quantities import Requests
from headgate.domain.workloads.admission import Admission
from headgate.domain.workloads.explanation import Refused

PreemptionReason = Literal[
    "InClusterQueue", "InCohortReclamation", "InCohortReclaimWhileBorrowing", "InCohortFairSharing"
]


class RoundVictim(msgspec.Struct, frozen=True, kw_only=True):
    """One workload that must go, by which rule, and what it frees (`flavor/resource` to amount)."""

    workload: str
    cluster_queue: str
    reason: PreemptionReason
    priority: int
    pods: int
    freed: Requests
    running_seconds: int


class RoundCommitted(msgspec.Struct, frozen=True, kw_only=True, tag="round.committed"):
    """A complete plan: these victims go so that the preemptor fits at `admission`."""

    round_id: str
    preemptor: str
    preemptor_priority: int
    cluster_queue: str
    admission: Admission
    victims: tuple[RoundVictim, ...]
    considered: int
    refused: tuple[Refused, ...] = ()
    basis_position: int
    expires_at: Instant | None = None


class VictimReleased(msgspec.Struct, frozen=True, kw_only=True, tag="round.victim_released"):
    """One victim's quota and hosts are free."""

    workload: str
    by: Literal["Eviction", "Finished", "Deleted"]


class RoundSatisfied(msgspec.Struct, frozen=True, tag="round.satisfied"):
    """Every victim has gone."""


class RoundCompleted(msgspec.Struct, frozen=True, kw_only=True, tag="round.completed"):
    """The preemptor was admitted, `waited_seconds` after the round began."""

    waited_seconds: int


class RoundSuperseded(msgspec.Struct, frozen=True, tag="round.superseded"):
    """The preemptor found another place before all victims had gone."""


class RoundAborted(msgspec.Struct, frozen=True, kw_only=True, tag="round.aborted"):
    """The preemptor no longer wants the place, or the place can no longer be had."""

    cause: str


class RoundExpired(msgspec.Struct, frozen=True, kw_only=True, tag="round.expired"):
    """Victims did not stop in time."""

    stalled: tuple[str, ...]


RoundEvent = (
    RoundCommitted
    | VictimReleased
    | RoundSatisfied
    | RoundCompleted
    | RoundSuperseded
    | RoundAborted
    | RoundExpired
)
