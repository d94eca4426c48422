"""Requeueing, (de)activating, cancelling and deleting workloads, and stopping first what runs.

What has pods gives its place back only when they have stopped, so those commands evict and leave a
mark of what is to follow; what has only reserved, or waits, follows at once (reference queueing.md
§5.4, §5.7).
"""

from headgate.domain.rejection import IllegalNow
from headgate.domain.workloads.commands import (
    CancelWorkload,
    DeactivateWorkload,
    DeleteWorkload,
    RequeueWorkload,
)
from headgate.domain.workloads.decide.preconditions import (
    require_exists,
    require_not_terminating,
    require_unfinished,
)
from headgate.domain.workloads.events import (
    EvictionReason,
    ReservationDropped,
    WorkloadActivated,
    WorkloadCancellationRequested,
    WorkloadDeactivated,
    WorkloadDeleted,
    WorkloadDeletionRequested,
    WorkloadEvent,
    WorkloadEvicted,
    WorkloadFinished,
    WorkloadRequeued,
    WorkloadStopped,
)
from headgate.domain.workloads.state import (
    Workload,
    WorkloadState,
    condition,
    is_admitted,
)


def requeue(state: WorkloadState, command: RequeueWorkload) -> tuple[WorkloadEvent, ...]:
    """What runs is stopped and waits again; what backs off waits no longer; others wait already.

    The count of requeues stays: only activation starts it over.
    """
    workload = require_not_terminating(state)
    if not workload.spec.active:
        raise IllegalNow(
            f"Workload {workload.key} is inactive.", remedy="Activate it to let it compete again."
        )
    if workload.admission is not None:
        return _eviction_events(workload, command.eviction, "Requeued", command.reason)
    requeued = condition(workload, "Requeued")
    is_kept_back = requeued is not None and not requeued.status
    if workload.requeue.requeue_at is not None or is_kept_back:
        return (WorkloadRequeued(reason="Requested"),)
    return ()


def activate(state: WorkloadState) -> tuple[WorkloadEvent, ...]:
    """Active again whatever made it inactive, with a clean requeue state (trap T1)."""
    workload = require_not_terminating(state)
    return () if workload.spec.active else (WorkloadActivated(),)


def deactivate(state: WorkloadState, command: DeactivateWorkload) -> tuple[WorkloadEvent, ...]:
    """Out of the queues; what runs is stopped and keeps its quota until it has (trap T4)."""
    workload = require_not_terminating(state)
    if not workload.spec.active:
        return ()
    deactivated = WorkloadDeactivated(cause=command.cause, message=command.message, by=command.by)
    return (
        deactivated,
        *_eviction_events(workload, command.eviction, "Deactivated", command.message),
    )


def cancel(state: WorkloadState, command: CancelWorkload) -> tuple[WorkloadEvent, ...]:
    """Finished as Cancelled, at once or when it has stopped."""
    workload = require_unfinished(state)
    if workload.cancelling_at is not None or workload.terminating_at is not None:
        return ()
    if not is_admitted(workload):
        return (WorkloadFinished(reason="Cancelled", message=command.message),)
    return (
        WorkloadCancellationRequested(message=command.message),
        *_eviction_events(workload, command.eviction, "Cancelled", command.message),
    )


def delete(state: WorkloadState, command: DeleteWorkload) -> tuple[WorkloadEvent, ...]:
    """Gone, at once or when it has stopped."""
    workload = require_exists(state)
    if workload.terminating_at is not None:
        return ()
    if workload.finished_at is not None or not is_admitted(workload):
        return (WorkloadDeleted(),)
    return (
        WorkloadDeletionRequested(),
        *_eviction_events(workload, command.eviction, "Deleted", "It is being deleted"),
    )


def _eviction_events(
    workload: Workload, eviction: str, reason: EvictionReason, message: str
) -> tuple[WorkloadEvent, ...]:
    """An eviction of what runs, unless it is leaving already; a reservation is just dropped.

    A reservation that is deactivated is evicted and counted so; it has no pods to stop (§5.7).
    """
    if workload.admission is None or workload.eviction is not None:
        return ()
    evicted = WorkloadEvicted(eviction=eviction, reason=reason, message=message)
    if is_admitted(workload):
        return (evicted,)
    if reason == "Deactivated":
        return (evicted, WorkloadStopped(eviction=eviction))
    return (ReservationDropped(reason=reason),)
