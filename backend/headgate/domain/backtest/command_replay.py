"""Commands that led to recorded events, decided again in a backtest.

In a backtest a workload may be in another state than it was, so that the same command gives other
events or none.
"""

from headgate.domain.backtest.recorded_window import GONE
from headgate.domain.kinds.configured_object import Absent
from headgate.domain.recorded_event import DomainEvent
from headgate.domain.rejection import Rejection
from headgate.domain.values.instants import Instant
from headgate.domain.workloads import commands as c
from headgate.domain.workloads.decide.decider import WORKLOAD
from headgate.domain.workloads.decide.termination import REQUEUE_REQUESTED
from headgate.domain.workloads.events import (
    EvictionAcknowledged,
    EvictionProgressed,
    ReservationDropped,
    WorkloadActivated,
    WorkloadCancellationRequested,
    WorkloadCheckReported,
    WorkloadDeactivated,
    WorkloadDeleted,
    WorkloadDeletionRequested,
    WorkloadEvent,
    WorkloadEvicted,
    WorkloadFinished,
    WorkloadHeld,
    WorkloadPodsGone,
    WorkloadPodsNotReady,
    WorkloadPodsReady,
    WorkloadPodsReclaimed,
    WorkloadReleased,
    WorkloadRequeued,
    WorkloadSpecChanged,
    WorkloadSubmitted,
)
from headgate.domain.workloads.preemption_events import (
    PreemptionGateClosed,
    PreemptionGateOpened,
    PriorityDivergenceCleared,
    PriorityDivergenceObserved,
    ProtectionChanged,
    WorkloadStopping,
)
from headgate.domain.workloads.state import Workload, WorkloadState, authority_of_order
from headgate.domain.workloads.transitions.preemption import oldest_ongoing_eviction

COPIED_EVENTS = (
    ProtectionChanged,
    PriorityDivergenceObserved,
    PriorityDivergenceCleared,
)


def redecide_command(
    state: WorkloadState, event: DomainEvent, at: Instant, eviction: str
) -> tuple[WorkloadEvent, ...] | None:
    """Returns the events of the command behind an event, decided again; None if rejected.

    `eviction` names the eviction that may follow.
    """
    if isinstance(event, WorkloadSubmitted):
        return (event,) if isinstance(state, Absent) else None
    if not isinstance(state, Workload):
        return None
    if isinstance(event, COPIED_EVENTS):
        return (event,)
    command = _request(event, eviction) or _report(state, event)
    if command is None:
        return ()
    try:
        return WORKLOAD.decide(state, command, at)
    except Rejection:
        return None


def _request(event: DomainEvent, eviction: str) -> c.WorkloadCommand | None:
    """Returns the command that led to an event."""
    match event:
        case WorkloadSpecChanged():
            return c.ChangeSpec(
                labels=event.labels,
                annotations=event.annotations,
                spec=event.spec,
                eviction=eviction,
                authority="Admin",
            )
        case WorkloadHeld():
            return c.HoldWorkload(
                owner=event.owner,
                authority=authority_of_order(event.owner),
                reason=event.reason,
                expires_at=event.expires_at,
            )
        case WorkloadReleased():
            return c.ReleaseWorkload(authority="Admin")
        case WorkloadDeactivated():
            return c.DeactivateWorkload(
                eviction=eviction, cause=event.cause, message=event.message, by=event.by
            )
        case WorkloadActivated():
            return c.ActivateWorkload(authority="Admin")
        case WorkloadCancellationRequested() | WorkloadFinished():
            message = event.message if isinstance(event.message, str) else ""
            return c.CancelWorkload(eviction=eviction, message=message)
        case WorkloadDeletionRequested() | WorkloadDeleted():
            return c.DeleteWorkload(eviction=eviction)
        case WorkloadRequeued():
            return c.RequeueWorkload(eviction=eviction)
        case WorkloadEvicted() if event.reason == "Requeued":
            return c.RequeueWorkload(eviction=eviction)
        case ReservationDropped() if event.reason.code == REQUEUE_REQUESTED.code:
            return c.RequeueWorkload(eviction=eviction)
        case PreemptionGateOpened():
            return c.SetPreemptionGate(gate=event.gate, open=True)
        case PreemptionGateClosed():
            return c.SetPreemptionGate(gate=event.gate, open=False)
        case _:
            return None


def redecide_report(state: Workload, event: DomainEvent, at: Instant) -> tuple[WorkloadEvent, ...]:
    """Returns the events of a recorded report, decided again; none where it no longer applies."""
    command = _end(state, event) or _report(state, event)
    if command is None:
        return ()
    try:
        return WORKLOAD.decide(state, command, at)
    except Rejection:
        return ()


def _end(state: Workload, event: DomainEvent) -> c.WorkloadCommand | None:
    if isinstance(event, WorkloadFinished):
        succeeded = event.reason == "Succeeded"
        return c.ReportFinished(
            uid=state.uid, attempt=state.attempt, succeeded=succeeded, message=event.message
        )
    eviction = oldest_ongoing_eviction(state)
    name = eviction.id if eviction else ""
    return (
        c.ReportStopped(uid=state.uid, attempt=state.attempt, eviction=name)
        if isinstance(event, GONE)
        else None
    )


def _report(state: Workload, event: DomainEvent) -> c.WorkloadCommand | None:
    """Returns the report of an executor or check controller for the workload as it is now."""
    known = oldest_ongoing_eviction(state)
    uid, attempt, eviction = state.uid, state.attempt, known.id if known else ""
    match event:
        case WorkloadPodsReady():
            return c.ReportPodsReady(uid=uid, attempt=attempt, ready=True)
        case WorkloadPodsNotReady():
            return c.ReportPodsReady(uid=uid, attempt=attempt, ready=False, message=event.message)
        case WorkloadPodsGone():
            return c.ReportPodsGone(uid=uid, attempt=attempt, hosts=event.hosts)
        case WorkloadPodsReclaimed():
            return c.ReportReclaimable(uid=uid, attempt=attempt, pods=event.reclaimable)
        case WorkloadCheckReported():
            return c.ReportCheckState(
                uid=uid,
                attempt=attempt,
                check=event.check,
                state=event.state,
                message=event.message,
                requeue_after_seconds=event.requeue_after_seconds,
                pod_set_updates=event.pod_set_updates,
            )
        case EvictionAcknowledged():
            return c.AcknowledgeEviction(
                uid=uid,
                attempt=attempt,
                eviction=eviction,
                handler=event.handler,
                expected_end_at=event.expected_end_at,
            )
        case EvictionProgressed():
            return c.ReportEvictionProgress(
                uid=uid, attempt=attempt, eviction=eviction, note=event.note
            )
        case WorkloadStopping():
            return c.ReportStopping(
                uid=uid, attempt=attempt, eviction=eviction, releases_quota=event.releases_quota
            )
        case _:
            return None
