"""What can have happened to a workload; the names are the storage format.

A workload that is deleted and submitted again goes on in the same stream under a new `uid`.
"""

from typing import Literal

import msgspec

from headgate.domain.values.instants import Instant
from headgate.domain.values.message import Message, MessageOrText
from headgate.domain.workloads.admission import Admission
from headgate.domain.workloads.explanation import Explanation
from headgate.domain.workloads.pod_events import ReportedPods, RetryEvent, WorkloadSessionOpened
from headgate.domain.workloads.pods.pod_set_updates import PodSetUpdate
from headgate.domain.workloads.preemption_events import (
    PreemptionEvent,
    PreemptorReference,
    SoftTerms,
)
from headgate.domain.workloads.specs import WorkloadSpec

EvictionReason = Literal[
    "Preempted", "PodsReadyTimeout", "AdmissionCheck", "ClusterQueueStopped", "LocalQueueStopped",
    "NodeFailures", "PodFailed", "Retried", "SuccessPolicyMet", "Deactivated", "Requeued",
    "Cancelled", "Deleted",
]  # fmt: skip
RequeueReason = Literal[
    "Preempted", "NodeFailures", "BackoffFinished", "Reactivated", "ClusterQueueRestarted",
    "LocalQueueRestarted", "Requested",
]  # fmt: skip
CheckStateName = Literal["Pending", "Ready", "Retry", "Rejected"]
NotReadyCause = Literal["WaitForStart", "WaitForRecovery"]
DeactivationCause = Literal[
    "Requested", "RequeuingLimitExceeded", "RequeuingTimeExceeded",
    "MaximumExecutionTimeExceeded", "AdmissionCheck", "TopologyRequestInvalid",
]  # fmt: skip


class WorkloadOwner(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The user who submitted a workload, with the groups that the token named at that time."""

    user: str
    groups: tuple[str, ...] = ()


class WorkloadSubmitted(msgspec.Struct, frozen=True, kw_only=True, tag="workload.submitted"):
    """A workload was submitted, with priority and requests resolved.

    Where `owner` is absent, the actor of the event is the owner (`with_owner_of_actor`).
    """

    uid: str
    namespace: str
    name: str
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    spec: WorkloadSpec
    owner: WorkloadOwner | None = None


class WorkloadImported(msgspec.Struct, frozen=True, kw_only=True, tag="workload.imported"):
    """The workload was taken over from another queue manager, or where its orphaned pods run.

    It follows the submission where there was none. `cluster_queue` is the one that had admitted it
    there, or empty: that reservation was not measured against quota and hosts. `executed_seconds`
    is how long it was admitted there; `requeues` and `requeue_at` are its requeue state, `attempts`
    the attempts before the one that is taken over.
    """

    origin: str
    created_at: Instant
    cluster_queue: str = ""
    executed_seconds: int = 0
    requeues: int = 0
    requeue_at: Instant | None = None
    attempts: int = 0


class WorkloadSpecChanged(msgspec.Struct, frozen=True, kw_only=True, tag="workload.spec_changed"):
    """The owner changed labels, annotations or spec; a changed spec is a new generation."""

    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    spec: WorkloadSpec


class WorkloadExplained(msgspec.Struct, frozen=True, kw_only=True, tag="workload.explained"):
    """An evaluation found no admission, for another reason than the one recorded before."""

    explanation: Explanation


class PlacementNominated(
    msgspec.Struct, frozen=True, kw_only=True, tag="workload.placement_nominated"
):
    """A preemption round frees this placement for the workload (preemption.md §6.8)."""

    round_id: str
    admission: Admission


class NominationWithdrawn(
    msgspec.Struct, frozen=True, kw_only=True, tag="workload.nomination_withdrawn"
):
    """The preemption round ended without the admission of the workload."""

    round_id: str


class WorkloadQuotaReserved(
    msgspec.Struct, frozen=True, kw_only=True, tag="workload.quota_reserved"
):
    """Quota and hosts are reserved; `checks` must be Ready before the workload is admitted."""

    admission: Admission
    checks: tuple[str, ...] = ()


class WorkloadChecksRequired(
    msgspec.Struct, frozen=True, kw_only=True, tag="workload.checks_required"
):
    """The ClusterQueue requires other admission checks than when quota was reserved."""

    checks: tuple[str, ...]


class WorkloadCheckReported(
    msgspec.Struct, frozen=True, kw_only=True, tag="workload.check_reported"
):
    """An admission check controller reported a state for the workload.

    `requeue_after_seconds` is the backoff of a Retry; `pod_set_updates` are added to the pods
    before they start.
    """

    check: str
    state: CheckStateName
    message: str = ""
    requeue_after_seconds: int | None = None
    pod_set_updates: tuple[PodSetUpdate, ...] = ()


class WorkloadAdmitted(msgspec.Struct, frozen=True, kw_only=True, tag="workload.admitted"):
    """The workload is admitted after `waited_seconds`; its pods may start."""

    waited_seconds: int


class WorkloadPodsReady(msgspec.Struct, frozen=True, kw_only=True, tag="workload.pods_ready"):
    """The executor reports all pods ready; `recovered` if they had been ready before."""

    recovered: bool = False


class WorkloadPodsNotReady(
    msgspec.Struct, frozen=True, kw_only=True, tag="workload.pods_not_ready"
):
    """The executor reports that pods which were ready no longer are."""

    message: str = ""


class WorkloadPodsGone(msgspec.Struct, frozen=True, kw_only=True, tag="workload.pods_gone"):
    """The executor reports all hosts so far without a live pod of the workload."""

    hosts: tuple[str, ...]


class WorkloadHostsFailed(msgspec.Struct, frozen=True, kw_only=True, tag="workload.hosts_failed"):
    """The workload's failed hosts, all so far, with the reason; replacements are sought."""

    hosts: dict[str, str]


class WorkloadHostsRecovered(
    msgspec.Struct, frozen=True, kw_only=True, tag="workload.hosts_recovered"
):
    """All hosts of the workload recovered before replacements were found."""


class WorkloadPlaced(msgspec.Struct, frozen=True, kw_only=True, tag="workload.placed"):
    """A second pass assigned these hosts within the reserved quota.

    Pods on hosts of `replaced` are started elsewhere; it is empty for the first hosts of a delayed
    topology request.
    """

    admission: Admission
    replaced: tuple[str, ...] = ()


class WorkloadScaledDown(msgspec.Struct, frozen=True, kw_only=True, tag="workload.scaled_down"):
    """The owner lowered pod counts while quota is reserved; the admission is what remains.

    The pods removed were the last in rank order (topology.md §2, Elastic). With `next_runs` their
    indices, as far as these are yet to complete, come again with the next run.
    """

    admission: Admission
    next_runs: bool = False


class WorkloadPodsReclaimed(
    msgspec.Struct, frozen=True, kw_only=True, tag="workload.pods_reclaimed"
):
    """All reclaimable pods so far, by pod set: they ended and are not started again."""

    reclaimable: dict[str, int]


class WorkloadEvicted(msgspec.Struct, frozen=True, kw_only=True, tag="workload.evicted"):
    """The workload must stop; it keeps quota and hosts until its pods are reported stopped.

    `eviction` is the id of this eviction, for a preemption that of the round. `count` is the number
    of requeues after pods-ready timeouts, this one included; `requeue_at` is the end of the
    backoff. `soft` are the terms of a soft eviction, None for an immediate one. `accommodates` is
    the preemptor. `message` is the reason that a user gave, where one asked for the eviction.
    """

    eviction: str
    reason: EvictionReason
    underlying_cause: str = ""
    message: MessageOrText
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
    """The eviction handler reported progress."""

    eviction: str
    note: str = ""


class WorkloadStopped(msgspec.Struct, frozen=True, kw_only=True, tag="workload.stopped"):
    """The evicted pods have stopped; quota and hosts are released."""

    eviction: str


class ReservationDropped(
    msgspec.Struct, frozen=True, kw_only=True, tag="workload.reservation_dropped"
):
    """A reservation without admission was released, for instance because a queue stopped."""

    reason: Message


class WorkloadRequeued(msgspec.Struct, frozen=True, kw_only=True, tag="workload.requeued"):
    """The workload competes for quota again."""

    reason: RequeueReason


class RequeueCountReset(msgspec.Struct, frozen=True, tag="workload.requeue_count_reset"):
    """The pods stayed ready as long as required; the requeue count restarts at 0."""


class WorkloadHeld(msgspec.Struct, frozen=True, kw_only=True, tag="workload.held"):
    """The workload is kept from admission until released; running pods keep running."""

    owner: str
    reason: str
    expires_at: Instant | None = None


class WorkloadReleased(msgspec.Struct, frozen=True, kw_only=True, tag="workload.released"):
    """The hold ended; `expired` if its time had passed."""

    expired: bool = False


class WorkloadDeactivated(msgspec.Struct, frozen=True, kw_only=True, tag="workload.deactivated"):
    """The workload is inactive until activated; its requeue state is reset.

    `by` is the user who asked for it, if any: `admin:<name>` or `user:<name>`; `message` is then
    the reason that the user gave.
    """

    cause: DeactivationCause
    message: MessageOrText = ""
    by: str = ""


class WorkloadActivated(msgspec.Struct, frozen=True, kw_only=True, tag="workload.activated"):
    """The workload is active again, with a clean requeue state (trap Q1)."""


class WorkloadFinished(msgspec.Struct, frozen=True, kw_only=True, tag="workload.finished"):
    """The workload ended: succeeded, failed for good, or cancelled.

    FailedToStart: its pods cannot be created as its checks require. WorkloadSliceReplaced: another
    workload took over its pods. `message` is a text where an executor or a user gave one.
    """

    reason: Literal["WorkloadSliceReplaced", "FailedToStart", "Succeeded", "Failed", "Cancelled"]
    message: MessageOrText = ""


class WorkloadCancellationRequested(
    msgspec.Struct, frozen=True, kw_only=True, tag="workload.cancellation_requested"
):
    """Cancellation was requested while pods ran; the workload finishes once they have stopped."""

    message: str = ""


class WorkloadDeletionRequested(msgspec.Struct, frozen=True, tag="workload.deletion_requested"):
    """Deletion was requested while pods ran; the workload is deleted once they have stopped."""


EndPhase = Literal["Succeeded", "Failed", "Cancelled"]
"""The phase of a workload that has ended."""


class WorkloadDeleted(msgspec.Struct, frozen=True, kw_only=True, tag="workload.deleted"):
    """The workload is deleted and its name is free.

    Of one that had ended the event tells phase, LocalQueue, creation and end, as folds know them no
    longer. Events of version 1 do not.
    """

    phase: EndPhase | None = None
    queue_name: str = ""
    created_at: Instant | None = None
    finished_at: Instant | None = None


class WorkloadPodsReported(msgspec.Struct, frozen=True, kw_only=True, tag="workload.pods_reported"):
    """An executor reported on pods of an attempt; only what was not known before."""

    uid: str
    attempt: int
    executor: str
    pods: tuple[ReportedPods, ...]


WorkloadEvent = (
    WorkloadSubmitted
    | WorkloadImported
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
    | WorkloadPodsReported
    | WorkloadSessionOpened
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
    | RetryEvent
)
