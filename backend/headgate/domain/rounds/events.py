"""Events of a preemption round (preemption.md §6.10)."""

from typing import Literal

import msgspec

from headgate.domain.values.instants import Instant
from headgate.domain.values.message import BudgetKey, Message, WorkloadKey
from headgate.domain.values.quantities import Requests
from headgate.domain.workloads.admission import Admission
from headgate.domain.workloads.explanation import ProtectedCandidate

PreemptionReason = Literal[
    "InClusterQueue", "InCohortReclamation", "InCohortReclaimWhileBorrowing", "InCohortFairSharing"
]


InvalidatedBy = Literal["HostLost", "Taken", "QuotaChanged"]

ReleaseCause = Literal["Eviction", "Finished", "Shrunk", "Deleted"]


class RoundVictim(msgspec.Struct, frozen=True, kw_only=True):
    """One victim: the rule that allows its preemption, and what it frees.

    `freed` maps `flavor/resource` to an amount. With `shrinks_to` only its last pods are evicted:
    so many pods of each of these pod sets stay, and it goes on. `protection` is the priority that
    protected it, `violates` the disruption budgets (`namespace/name`) that its eviction breaks,
    `deadline_at` until when a Soft eviction lets it save its work.
    """

    workload: WorkloadKey
    cluster_queue: str
    reason: PreemptionReason
    priority: int
    pods: int
    freed: Requests
    running_seconds: int
    protection: int = 0
    cohort: str = ""
    violates: tuple[BudgetKey, ...] = ()
    mode: Literal["Immediate", "Soft"] = "Immediate"
    deadline_at: Instant | None = None
    shrinks_to: dict[str, int] = {}


class QuotaFigures(msgspec.Struct, frozen=True, kw_only=True):
    """Quota of one flavor's resource in one ClusterQueue when the round was committed.

    `wanted` is what the preemptor requests there, `available` what it could have had at once.
    """

    cluster_queue: str
    flavor: str
    resource: str
    nominal: int
    used: int
    wanted: int = 0
    available: int = 0


class RoundCommitted(msgspec.Struct, frozen=True, kw_only=True, tag="round.committed"):
    """A complete plan: the preemptor fits at `admission` once the victims have gone.

    `epoch` names the policies and quotas it was decided under.
    """

    round_id: str
    preemptor: WorkloadKey
    preemptor_priority: int
    cluster_queue: str
    admission: Admission
    victims: tuple[RoundVictim, ...]
    considered: int
    refused: tuple[ProtectedCandidate, ...] = ()
    basis_position: int
    expires_at: Instant | None = None
    cohort: str = ""
    preemptor_generation: int = 0
    figures: tuple[QuotaFigures, ...] = ()
    epoch: str = ""


class VictimReleased(msgspec.Struct, frozen=True, kw_only=True, tag="round.victim_released"):
    """The quota and hosts of one victim are free."""

    workload: WorkloadKey
    by: ReleaseCause


class PlacementInvalidated(
    msgspec.Struct, frozen=True, kw_only=True, tag="round.placement_invalidated"
):
    """The nominated placement is lost; the preemptor may be nominated anew (§6.8).

    `taken_by` names the stronger workload that took it, if one did.
    """

    by: InvalidatedBy
    taken_by: WorkloadKey = ""


class RoundSatisfied(msgspec.Struct, frozen=True, tag="round.satisfied"):
    """Every victim has gone."""


class RoundCompleted(msgspec.Struct, frozen=True, kw_only=True, tag="round.completed"):
    """The preemptor was admitted as nominated, `waited_seconds` after the round began.

    Evictions of `called_back` victims were cancelled: capacity was released elsewhere first.
    """

    waited_seconds: int
    called_back: tuple[WorkloadKey, ...] = ()


class RoundSuperseded(msgspec.Struct, frozen=True, kw_only=True, tag="round.superseded"):
    """The preemptor got another placement or another round before all victims had gone.

    `admission` is that placement if it was admitted there, `by_round` the round that plans another.
    Evictions of `called_back` victims were cancelled.
    """

    admission: Admission | None = None
    by_round: str = ""
    called_back: tuple[WorkloadKey, ...] = ()


class RoundAborted(msgspec.Struct, frozen=True, kw_only=True, tag="round.aborted"):
    """The preemptor cannot use the placement any more, or it can no longer be had.

    Evictions of `called_back` victims were cancelled.
    """

    cause: Message
    called_back: tuple[WorkloadKey, ...] = ()


class RoundExpired(msgspec.Struct, frozen=True, kw_only=True, tag="round.expired"):
    """The victims in `stalled` did not stop in time."""

    stalled: tuple[WorkloadKey, ...]


RoundEvent = (
    RoundCommitted
    | VictimReleased
    | PlacementInvalidated
    | RoundSatisfied
    | RoundCompleted
    | RoundSuperseded
    | RoundAborted
    | RoundExpired
)
