"""What can have happened to a preemption round (reference preemption.md §6.10)."""

import msgspec
from headgate.domain.values.instants import Instant
from headgate.domain.values.quantities import Requests
from headgate.domain.workloads.admission import Admission
from headgate.domain.workloads.explanation import ProtectedCandidate
from typing import Literal


PreemptionReason = Literal[
    "InClusterQueue", "InCohortReclamation", "InCohortReclaimWhileBorrowing", "InCohortFairSharing"
]


InvalidatedBy = Literal["HostLost", "Taken", "QuotaChanged"]

ReleaseCause = Literal["Eviction", "Finished", "Shrunk", "Deleted"]


class RoundVictim(msgspec.Struct, frozen=True, kw_only=True):
    """One workload that must go, by which rule, and what it frees (`flavor/resource` to amount).

    With `shrinks_to` only its last pods go: so many of each of these pod sets stay, and it goes on.

    `protection` is the priority that protected it, `violates` the budgets (`namespace/name`) that
    its going breaks, `deadline_at` until when a Soft eviction lets it save its work.
    """

    workload: str
    cluster_queue: str
    reason: PreemptionReason
    priority: int
    pods: int
    freed: Requests
    running_seconds: int
    protection: int = 0
    cohort: str = ""
    violates: tuple[str, ...] = ()
    mode: Literal["Immediate", "Soft"] = "Immediate"
    deadline_at: Instant | None = None
    shrinks_to: dict[str, int] = {}


class QuotaFigures(msgspec.Struct, frozen=True, kw_only=True):
    """How one flavor's resource stood in one ClusterQueue when the round was committed.

    `wanted` is what the preemptor asks for there, `available` what it could have had at once.
    """

    cluster_queue: str
    flavor: str
    resource: str
    nominal: int
    used: int
    wanted: int = 0
    available: int = 0


class RoundCommitted(msgspec.Struct, frozen=True, kw_only=True, tag="round.committed"):
    """A complete plan: these victims go so that the preemptor fits at `admission`.

    `epoch` names the policies and quotas it was decided under.
    """

    round_id: str
    preemptor: str
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
    """One victim's quota and hosts are free."""

    workload: str
    by: ReleaseCause


class PlacementInvalidated(
    msgspec.Struct, frozen=True, kw_only=True, tag="round.placement_invalidated"
):
    """The place that was kept cannot be had any more; the preemptor may plan anew (§6.8).

    `taken_by` names the workload that took it, where one with a stronger claim did.
    """

    by: InvalidatedBy
    taken_by: str = ""


class RoundSatisfied(msgspec.Struct, frozen=True, tag="round.satisfied"):
    """Every victim has gone."""


class RoundCompleted(msgspec.Struct, frozen=True, kw_only=True, tag="round.completed"):
    """The preemptor was admitted, `waited_seconds` after the round began.

    Victims that were `called_back` run on: room came from elsewhere before they had begun to leave.
    """

    waited_seconds: int
    called_back: tuple[str, ...] = ()


class RoundSuperseded(msgspec.Struct, frozen=True, kw_only=True, tag="round.superseded"):
    """The preemptor found another place before all victims had gone.

    `admission` is that place where it was admitted there, `by_round` the round that makes another.
    Victims that were `called_back` run on.
    """

    admission: Admission | None = None
    by_round: str = ""
    called_back: tuple[str, ...] = ()


class RoundAborted(msgspec.Struct, frozen=True, kw_only=True, tag="round.aborted"):
    """The preemptor no longer wants the place, or the place can no longer be had.

    Victims that were `called_back` run on.
    """

    cause: str
    called_back: tuple[str, ...] = ()


class RoundExpired(msgspec.Struct, frozen=True, kw_only=True, tag="round.expired"):
    """Victims did not stop in time."""

    stalled: tuple[str, ...]


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
