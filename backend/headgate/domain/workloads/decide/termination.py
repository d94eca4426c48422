"""Decides on requeueing, deactivating, cancelling and deleting workloads.

A workload with pods keeps its quota until they have stopped, so these commands evict it and record
what follows the stop; a reserved or pending workload changes at once (queueing.md §5.4, §5.7).
"""

from headgate.domain.rejection import IllegalNow
from headgate.domain.values.message import Message, MessageOrText, message, workload_reference
from headgate.domain.workloads.commands import (
    CancelWorkload,
    DeactivateWorkload,
    DeleteWorkload,
    RequeueWorkload,
)
from headgate.domain.workloads.ended import deletion_of
from headgate.domain.workloads.events import (
    EvictionReason,
    ReservationDropped,
    WorkloadActivated,
    WorkloadCancellationRequested,
    WorkloadDeactivated,
    WorkloadDeletionRequested,
    WorkloadEvent,
    WorkloadEvicted,
    WorkloadFinished,
    WorkloadRequeued,
    WorkloadStopped,
)
from headgate.domain.workloads.predicates import (
    require_exists,
    require_not_terminating,
    require_unfinished,
)
from headgate.domain.workloads.preemption_events import EvictionForced
from headgate.domain.workloads.state import (
    Authority,
    Workload,
    WorkloadState,
    authority_rank,
    condition,
    is_admitted,
    rank_of_order,
)

REQUEUE_REQUESTED = message("RequeueRequested")
DELETION_REQUESTED = message("DeletionRequested")
CANCELLATION_REQUESTED = message("CancellationRequested")
KILL_REQUESTED = message("KillRequested")
REQUESTS: dict[EvictionReason, Message] = {
    "Requeued": REQUEUE_REQUESTED,
    "Deleted": DELETION_REQUESTED,
    "Cancelled": CANCELLATION_REQUESTED,
}
"""Why a reservation is released, by the reason of the eviction that admitted workloads have."""


def requeue(state: WorkloadState, command: RequeueWorkload) -> tuple[WorkloadEvent, ...]:
    """Evicts an admitted workload to requeue it, or ends its backoff; a pending one is unchanged.

    The requeue count stays: deactivation resets it, and ready pods do in time (queueing.md §5.5).
    """
    workload = require_not_terminating(state)
    if not workload.spec.active:
        raise IllegalNow("RequeueOfInactive", workload=workload_reference(workload.key))
    if workload.admission is not None:
        return _eviction_events(workload, command.eviction, "Requeued", command.reason)
    requeued = condition(workload, "Requeued")
    is_kept_back = requeued is not None and not requeued.status
    if workload.requeue.requeue_at is not None or is_kept_back:
        return (WorkloadRequeued(reason="Requested"),)
    return ()


def activate(state: WorkloadState, authority: Authority) -> tuple[WorkloadEvent, ...]:
    """Activates an inactive workload with a clean requeue state, whatever its cause (trap Q1).

    Raises `IllegalNow` for one that a user of higher authority deactivated.
    """
    workload = require_not_terminating(state)
    if workload.spec.active:
        return ()
    by = workload.deactivation.by if workload.deactivation else ""
    if rank_of_order(by) > authority_rank(authority):
        raise IllegalNow("DeactivatedByAdmin", owner=by)
    return (WorkloadActivated(),)


def deactivate(state: WorkloadState, command: DeactivateWorkload) -> tuple[WorkloadEvent, ...]:
    """Deactivates an active workload, or one that a user of lower authority deactivated.

    Pods are evicted and keep their quota until they have stopped (trap Q4).
    """
    workload = require_not_terminating(state)
    present = workload.deactivation.by if workload.deactivation else ""
    if not workload.spec.active and rank_of_order(command.by) <= rank_of_order(present):
        return ()
    deactivated = WorkloadDeactivated(cause=command.cause, message=command.message, by=command.by)
    return (
        deactivated,
        *_eviction_events(workload, command.eviction, "Deactivated", command.message),
    )


def cancel(state: WorkloadState, command: CancelWorkload) -> tuple[WorkloadEvent, ...]:
    """Finishes the workload as Cancelled, at once or after its pods have stopped.

    With `force` an eviction that is under way is to end now: executors kill what is left.
    """
    workload = require_unfinished(state)
    is_ending = workload.cancelling_at is not None or workload.terminating_at is not None
    if is_ending and not command.force:
        return ()
    if not is_admitted(workload):
        return (WorkloadFinished(reason="Cancelled", message=command.message),)
    asked: tuple[WorkloadEvent, ...] = ()
    if not is_ending:
        asked = (
            WorkloadCancellationRequested(message=command.message),
            *_eviction_events(workload, command.eviction, "Cancelled", command.message),
        )
    if not command.force or (workload.eviction and workload.eviction.forced_at is not None):
        return asked
    eviction = workload.eviction.id if workload.eviction else command.eviction
    return (*asked, EvictionForced(eviction=eviction, cause=KILL_REQUESTED))


def delete(state: WorkloadState, command: DeleteWorkload) -> tuple[WorkloadEvent, ...]:
    """Deletes the workload, at once or after its pods have stopped."""
    workload = require_exists(state)
    if workload.terminating_at is not None:
        return ()
    if workload.finished_at is not None or not is_admitted(workload):
        return (deletion_of(workload),)
    return (
        WorkloadDeletionRequested(),
        *_eviction_events(workload, command.eviction, "Deleted", DELETION_REQUESTED),
    )


def _eviction_events(
    workload: Workload, eviction: str, reason: EvictionReason, why: MessageOrText
) -> tuple[WorkloadEvent, ...]:
    """The eviction of an admitted workload, or the release of its reservation.

    A reservation has no pods to stop: deactivation evicts it and counts that (queueing.md §5.7),
    other reasons drop it. Empty without an admission and during an eviction.
    """
    if workload.admission is None or workload.eviction is not None:
        return ()
    evicted = WorkloadEvicted(eviction=eviction, reason=reason, message=why)
    if is_admitted(workload):
        return (evicted,)
    if reason == "Deactivated":
        return (evicted, WorkloadStopped(eviction=eviction))
    return (ReservationDropped(reason=REQUESTS[reason]),)
