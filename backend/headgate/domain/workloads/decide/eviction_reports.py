"""What executors and handlers report of an eviction (reference preemption.md §6.8, example 26).

Asked to go, acknowledged, still at it, stopping, stopped. A report about another eviction than the
present one changes nothing, nor does one that says again what is known.
"""

from headgate.domain.rejection import IllegalNow
from headgate.domain.values.instants import Instant, seconds_after
from headgate.domain.workloads.commands import (
    AcknowledgeEviction,
    ReportEvictionProgress,
    ReportStopped,
    ReportStopping,
)
from headgate.domain.workloads.decide.preconditions import require_same_uid
from headgate.domain.workloads.events import (
    EvictionAcknowledged,
    EvictionProgressed,
    WorkloadDeleted,
    WorkloadEvent,
    WorkloadFinished,
    WorkloadRequeued,
    WorkloadStopped,
)
from headgate.domain.workloads.preemption.events import (
    EvictionExtended,
    WorkloadStopping,
)
from headgate.domain.workloads.state import Eviction, Workload, WorkloadState
from headgate.domain.workloads.transitions.partial_eviction import (
    find_eviction,
    pod_eviction_of,
    shrunk_event,
)


def acknowledge_eviction(
    state: WorkloadState, command: AcknowledgeEviction
) -> tuple[WorkloadEvent, ...]:
    """A handler has taken over; the first one to say so does. It may need longer than granted."""
    workload = require_same_uid(state, command.uid)
    eviction = find_eviction(workload, command.eviction)
    if eviction is None or eviction.acknowledged_at is not None:
        return ()
    _require_named_handler(workload, eviction, command.handler)
    acknowledged = EvictionAcknowledged(
        eviction=command.eviction,
        handler=command.handler,
        expected_end_at=command.expected_end_at,
    )
    return (acknowledged, *_deadline_extension(eviction, command.expected_end_at))


def report_eviction_progress(
    state: WorkloadState, command: ReportEvictionProgress, at: Instant
) -> tuple[WorkloadEvent, ...]:
    """Whoever took it over is still at it, and gets the time granted once more from now on."""
    workload = require_same_uid(state, command.uid)
    eviction = find_eviction(workload, command.eviction)
    if eviction is None:
        return ()
    progressed = EvictionProgressed(eviction=command.eviction, note=command.note)
    soft = eviction.soft
    if soft is None or (soft.require_ack and eviction.acknowledged_at is None):
        return (progressed,)
    return (progressed, *_deadline_extension(eviction, seconds_after(at, soft.grace_seconds)))


def report_stopping(state: WorkloadState, command: ReportStopping) -> tuple[WorkloadEvent, ...]:
    """Its pods are being killed: nobody can call the eviction back any more."""
    workload = require_same_uid(state, command.uid)
    eviction = find_eviction(workload, command.eviction)
    if eviction is None or eviction.stopping_at is not None:
        return ()
    releases = command.releases_quota and eviction is workload.eviction
    return (WorkloadStopping(eviction=eviction.id, releases_quota=releases),)


def report_stopped(state: WorkloadState, command: ReportStopped) -> tuple[WorkloadEvent, ...]:
    """Its pods are gone, all or those that were to go, and what was waiting for that happens."""
    workload = require_same_uid(state, command.uid)
    eviction = find_eviction(workload, command.eviction)
    if eviction is None:
        return ()
    if eviction is not workload.eviction:
        return _partial_stop_events(workload, command.eviction)
    return (WorkloadStopped(eviction=eviction.id), *_events_after_stop(workload))


def is_cancellable(eviction: Eviction) -> bool:
    """Whether nobody has begun to carry it out: soft, and neither acknowledged nor forced."""
    begun = (eviction.acknowledged_at, eviction.forced_at, eviction.stopping_at)
    return eviction.soft is not None and begun == (None, None, None)


def _deadline_extension(eviction: Eviction, until: Instant | None) -> tuple[WorkloadEvent, ...]:
    soft = eviction.soft
    if soft is None or until is None or eviction.forced_at is not None:
        return ()
    deadline = min(until, soft.latest_end_at)
    if deadline <= soft.deadline_at:
        return ()
    return (EvictionExtended(eviction=eviction.id, deadline_at=deadline),)


def _require_named_handler(workload: Workload, eviction: Eviction, handler: str) -> None:
    wanted = eviction.soft.handler if eviction.soft else ""
    if wanted and handler and handler != wanted:
        raise IllegalNow(
            f"The eviction of {workload.key} is for the handler {wanted}, not for {handler}.",
            remedy=f"Acknowledge it as {wanted}, or leave it to that one.",
        )


def _partial_stop_events(workload: Workload, eviction: str) -> tuple[WorkloadEvent, ...]:
    """Some pods are gone; of what goes as a whole by now, its own eviction tells."""
    pod_eviction = pod_eviction_of(workload, eviction)
    if pod_eviction is None or workload.eviction is not None:
        return ()
    return (shrunk_event(workload, pod_eviction),)


def _events_after_stop(workload: Workload) -> tuple[WorkloadEvent, ...]:
    if workload.terminating_at is not None:
        return (WorkloadDeleted(),)
    if workload.cancelling_at is not None:
        return (WorkloadFinished(reason="Cancelled", message="It was cancelled while it ran"),)
    eviction = workload.eviction
    if eviction is None or not workload.spec.active or workload.requeue.requeue_at is not None:
        return ()
    if eviction.reason == "Deactivated":
        return (WorkloadRequeued(reason="Reactivated"),)
    if eviction.reason == "PodsReadyTimeout":
        return (WorkloadRequeued(reason="BackoffFinished"),)
    return ()
