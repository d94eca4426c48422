"""What can have happened to a workload; the names are the storage format.

A workload that is deleted and submitted again goes on in the same stream under a new `uid`.
"""

from typing import Literal

import msgspec

from headgate.domain.values.instants import Instant
from headgate.domain.workloads.admission import Admission
from headgate.domain.workloads.explanation import Explanation
from headgate.domain.workloads.pods.pod_set_updates import PodSetUpdate
from headgate.domain.workloads.preemption_events import (
    PreemptionEvent,
    PreemptorReference,
    SoftTerms,
)
from headgate.domain.workloads.specs import WorkloadSpec

EvictionReason = Literal[
    "Preempted",
    "PodsReadyTimeout",
    "AdmissionCheck",
    "ClusterQueueStopped",
    "LocalQueueStopped",
    "NodeFailures",
    "Deactivated",
    "Requeued",
    "Cancelled",
    "Deleted",
]
RequeueReason = Literal[
    "Preempted",
    "NodeFailures",
    "BackoffFinished",
    "Reactivated",
    "ClusterQueueRestarted",
    "LocalQueueRestarted",
    "Requested",
]
CheckStateName = Literal["Pending", "Ready", "Retry", "Rejected"]
NotReadyCause = Literal["WaitForStart", "WaitForRecovery"]
DeactivationCause = Literal[
    "Requested",
    "RequeuingLimitExceeded",
    "RequeuingTimeExceeded",
    "MaximumExecutionTimeExceeded",
    "AdmissionCheck",
]


class WorkloadSubmitted(msgspec.Struct, frozen=True, kw_only=True, tag="workload.submitted"):
    """Someone asks for a place for these pods; everything is resolved (priority, requests)."""

    uid: str
    namespace: str
    name: str
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    spec: WorkloadSpec


class WorkloadSpecChanged(msgspec.Struct, frozen=True, kw_only=True, tag="workload.spec_changed"):
    """The owner changed what may be changed at this stage; a new generation."""

    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    spec: WorkloadSpec


class WorkloadExplained(msgspec.Struct, frozen=True, kw_only=True, tag="workload.explained"):
    """The scheduler looked, found no place, and the reason differs from the one known before."""

    explanation: Explanation


class PlacementNominated(
    msgspec.Struct, frozen=True, kw_only=True, tag="workload.placement_nominated"
):
    """A preemption round makes room here for this workload (reference preemption.md §6.8)."""

    round_id: str
    admission: Admission


class NominationWithdrawn(
    msgspec.Struct, frozen=True, kw_only=True, tag="workload.nomination_withdrawn"
):
    """The round that made room ended without this workload's admission."""

    round_id: str


class WorkloadQuotaReserved(
    msgspec.Struct, frozen=True, kw_only=True, tag="workload.quota_reserved"
):
    """Its quota and place are its own from now on; `checks` must be Ready before it is admitted."""

    admission: Admission
    checks: tuple[str, ...] = ()


class WorkloadChecksRequired(
    msgspec.Struct, frozen=True, kw_only=True, tag="workload.checks_required"
):
    """Its ClusterQueue asks for other checks than when its quota was reserved: these."""

    checks: tuple[str, ...]


class WorkloadCheckReported(
    msgspec.Struct, frozen=True, kw_only=True, tag="workload.check_reported"
):
    """The controller of one check says whether the workload may be admitted with what it has.

    `requeue_after_seconds` is how long to wait before the next try, where it is Retry;
    `pod_set_updates` what is added to the pods before they start.
    """

    check: str
    state: CheckStateName
    message: str = ""
    requeue_after_seconds: int | None = None
    pod_set_updates: tuple[PodSetUpdate, ...] = ()


class WorkloadAdmitted(msgspec.Struct, frozen=True, kw_only=True, tag="workload.admitted"):
    """Its pods may start; the waiting ended after `waited_seconds`."""

    waited_seconds: int


class WorkloadPodsReady(msgspec.Struct, frozen=True, kw_only=True, tag="workload.pods_ready"):
    """The executor reports every pod ready; `recovered` after having been ready and then not."""

    recovered: bool = False


class WorkloadPodsNotReady(
    msgspec.Struct, frozen=True, kw_only=True, tag="workload.pods_not_ready"
):
    """The executor reports that pods which were ready no longer are."""

    message: str = ""


class WorkloadPodsGone(msgspec.Struct, frozen=True, kw_only=True, tag="workload.pods_gone"):
    """The executor reports hosts, all so far, on which none of its pods is alive any more."""

    hosts: tuple[str, ...]


class WorkloadHostsFailed(msgspec.Struct, frozen=True, kw_only=True, tag="workload.hosts_failed"):
    """Its pods cannot stay on these hosts, all so far: host to the reason; others are sought."""

    hosts: dict[str, str]


class WorkloadHostsRecovered(
    msgspec.Struct, frozen=True, kw_only=True, tag="workload.hosts_recovered"
):
    """All its hosts can be counted on again before others were found."""


class WorkloadPlaced(msgspec.Struct, frozen=True, kw_only=True, tag="workload.placed"):
    """A second pass gave its pods these places, with the quota that it has.

    Pods on hosts of `replaced` are to be started elsewhere; it is empty for the first places of a
    topology request that was delayed.
    """

    admission: Admission
    replaced: tuple[str, ...] = ()


class WorkloadScaledDown(msgspec.Struct, frozen=True, kw_only=True, tag="workload.scaled_down"):
    """Its owner needs fewer pods while it holds quota: these are the places that it keeps.

    Those given back were the last in order of rank (reference topology.md §2, Elastic).
    """

    admission: Admission


class WorkloadPodsReclaimed(
    msgspec.Struct, frozen=True, kw_only=True, tag="workload.pods_reclaimed"
):
    """Pods, by pod set and in all so far, ended and are not started again; their quota is free."""

    reclaimable: dict[str, int]


class WorkloadEvicted(msgspec.Struct, frozen=True, kw_only=True, tag="workload.evicted"):
    """It must stop; it holds its quota and hosts until the executor reports it stopped.

    `eviction` names this one eviction (the round for a preemption). `count` is the number of
    requeues after a pods-ready timeout including this one, `requeue_at` when it may compete again.
    `soft` is the time it is given to save its work first; None for none. `accommodates` is whom a
    preemption makes room for.
    """

    eviction: str
    reason: EvictionReason
    underlying_cause: str = ""
    message: str
    count: int = 0
    requeue_at: Instant | None = None
    soft: SoftTerms | None = None
    accommodates: PreemptorReference | None = None


class EvictionAcknowledged(
    msgspec.Struct, frozen=True, kw_only=True, tag="workload.eviction_acknowledged"
):
    """A handler took the eviction over, for instance to save a checkpoint."""

    eviction: str
    handler: str = ""
    expected_end_at: Instant | None = None


class EvictionProgressed(
    msgspec.Struct, frozen=True, kw_only=True, tag="workload.eviction_progressed"
):
    """The handler is still at it."""

    eviction: str
    note: str = ""


class WorkloadStopped(msgspec.Struct, frozen=True, kw_only=True, tag="workload.stopped"):
    """Its pods are gone: quota and hosts are free, and it waits again or stays inactive."""

    eviction: str


class ReservationDropped(
    msgspec.Struct, frozen=True, kw_only=True, tag="workload.reservation_dropped"
):
    """Reserved but not yet admitted, it gave its quota back because its queue stopped."""

    reason: str


class WorkloadRequeued(msgspec.Struct, frozen=True, kw_only=True, tag="workload.requeued"):
    """It may compete again."""

    reason: RequeueReason


class RequeueCountReset(msgspec.Struct, frozen=True, tag="workload.requeue_count_reset"):
    """Its pods stayed ready as long as its queue asks for: the count of requeues starts over."""


class WorkloadHeld(msgspec.Struct, frozen=True, kw_only=True, tag="workload.held"):
    """It is kept from admission until released; what runs, runs on."""

    owner: str
    reason: str
    expires_at: Instant | None = None


class WorkloadReleased(msgspec.Struct, frozen=True, kw_only=True, tag="workload.released"):
    """The hold is over; `expired` says that it ran out by itself."""

    expired: bool = False


class WorkloadDeactivated(msgspec.Struct, frozen=True, kw_only=True, tag="workload.deactivated"):
    """It leaves the queues until activated; the requeue state starts over.

    `by` is who asked for it, where somebody did: `admin:<name>` or `user:<name>`.
    """

    cause: DeactivationCause
    message: str = ""
    by: str = ""


class WorkloadActivated(msgspec.Struct, frozen=True, kw_only=True, tag="workload.activated"):
    """It is active again and starts with a clean requeue state (trap T1)."""


class WorkloadFinished(msgspec.Struct, frozen=True, kw_only=True, tag="workload.finished"):
    """The end: its pods succeeded, failed for good, or were cancelled.

    FailedToStart: they could never be made as its checks want them. WorkloadSliceReplaced: they
    belong to another workload from now on, which replaces this one.
    """

    reason: Literal["WorkloadSliceReplaced", "FailedToStart", "Succeeded", "Failed", "Cancelled"]
    message: str = ""


class WorkloadCancellationRequested(
    msgspec.Struct, frozen=True, kw_only=True, tag="workload.cancellation_requested"
):
    """Someone asked to cancel it while it ran; it is finished as Cancelled once it has stopped."""

    message: str = ""


class WorkloadDeletionRequested(msgspec.Struct, frozen=True, tag="workload.deletion_requested"):
    """Someone asked to delete it while it ran; it goes once it has stopped."""


class WorkloadDeleted(msgspec.Struct, frozen=True, tag="workload.deleted"):
    """The workload is gone; the name is free."""


WorkloadEvent = (
    WorkloadSubmitted
    | WorkloadSpecChanged
    | WorkloadExplained
    | PlacementNominated
    | NominationWithdrawn
    | WorkloadQuotaReserved
    | WorkloadChecksRequired
    | WorkloadCheckReported
    | WorkloadAdmitted
    | WorkloadPodsReady
    | WorkloadPodsNotReady
    | WorkloadPodsGone
    | WorkloadHostsFailed
    | WorkloadHostsRecovered
    | WorkloadPlaced
    | WorkloadScaledDown
    | WorkloadPodsReclaimed
    | WorkloadEvicted
    | EvictionAcknowledged
    | EvictionProgressed
    | WorkloadStopped
    | ReservationDropped
    | WorkloadRequeued
    | RequeueCountReset
    | WorkloadHeld
    | WorkloadReleased
    | WorkloadDeactivated
    | WorkloadActivated
    | WorkloadFinished
    | WorkloadCancellationRequested
    | WorkloadDeletionRequested
    | WorkloadDeleted
    | PreemptionEvent
)
