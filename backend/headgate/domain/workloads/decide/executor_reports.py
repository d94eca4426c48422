"""Decides on reports of executors, eviction handlers and admission check controllers.

A report of another attempt is refused and changes nothing; one that names neither attempt nor
eviction is refused where it could be of an earlier attempt. Reports are idempotent: one that
repeats what is known, or concerns another eviction than the present one, records nothing
(queueing.md §5.2-5.4, §1.7, §3.11; preemption.md §6.8, example 26).
"""

from collections.abc import Iterator
from typing import Literal

from headgate.domain.field_rules import raise_if_invalid, range_violations, shown
from headgate.domain.rejection import IllegalNow, Violation, child, violation
from headgate.domain.values.instants import Instant, seconds_after
from headgate.domain.values.message import message, workload_reference
from headgate.domain.workloads.admission import hosts_of
from headgate.domain.workloads.commands import (
    AcknowledgeEviction,
    ReportCheckState,
    ReportEvictionProgress,
    ReportFinished,
    ReportPodsGone,
    ReportPodsReady,
    ReportReclaimable,
    ReportStopped,
    ReportStopping,
)
from headgate.domain.workloads.decide.pod_failures import retry_whole
from headgate.domain.workloads.events import (
    EvictionAcknowledged,
    EvictionProgressed,
    WorkloadCheckReported,
    WorkloadDeactivated,
    WorkloadDeleted,
    WorkloadEvent,
    WorkloadEvicted,
    WorkloadFinished,
    WorkloadPodsGone,
    WorkloadPodsNotReady,
    WorkloadPodsReady,
    WorkloadPodsReclaimed,
    WorkloadRequeued,
    WorkloadStopped,
)
from headgate.domain.workloads.pods.eviction_units import shrunk_event
from headgate.domain.workloads.pods.pod_set_updates import update_violations
from headgate.domain.workloads.predicates import (
    has_quota_reservation,
    require_attempt,
    require_reported,
)
from headgate.domain.workloads.preemption_events import EvictionExtended, WorkloadStopping
from headgate.domain.workloads.specs import is_elastic
from headgate.domain.workloads.state import (
    AdmissionCheckState,
    Eviction,
    Workload,
    WorkloadState,
    condition,
    is_admitted,
    is_condition_true,
    phase_of,
)
from headgate.domain.workloads.transitions.preemption import (
    find_eviction,
    pod_eviction_of,
)

CANCELLED_WHILE_RUNNING = message("CancelledWhileRunning")
BACKOFF_FINISHED = WorkloadRequeued(reason="BackoffFinished")


def report_pods_ready(state: WorkloadState, command: ReportPodsReady) -> tuple[WorkloadEvent, ...]:
    """Records that all pods are ready or no longer so; reports during an eviction are ignored."""
    workload = require_reported(state, command.uid, command.attempt)
    if workload.eviction is not None or workload.finished_at is not None:
        return ()
    _require_admitted(workload)
    was_ready = is_condition_true(workload, "PodsReady")
    if command.ready == was_ready:
        return ()
    require_attempt(workload, command.attempt)
    if command.ready:
        return (WorkloadPodsReady(recovered=workload.not_ready_cause == "WaitForRecovery"),)
    return (WorkloadPodsNotReady(message=command.message),)


def report_pods_gone(state: WorkloadState, command: ReportPodsGone) -> tuple[WorkloadEvent, ...]:
    """Records hosts without a live pod of the workload; hosts it does not use are ignored."""
    workload = require_reported(state, command.uid, command.attempt)
    if workload.eviction is not None or workload.finished_at is not None:
        return ()
    _require_admitted(workload)
    assert workload.admission is not None, "what was admitted has a place"
    told = {*workload.pods_gone, *command.hosts}
    gone = tuple(host for host in hosts_of(workload.admission) if host in told)
    if gone == workload.pods_gone:
        return ()
    require_attempt(workload, command.attempt)
    return (WorkloadPodsGone(hosts=gone),)


def report_reclaimable(
    state: WorkloadState, command: ReportReclaimable
) -> tuple[WorkloadEvent, ...]:
    """Records reclaimable pods; while quota is reserved their number only grows.

    A known count of an elastic workload is no event, also where a scale-down has left fewer pods.
    """
    workload = require_reported(state, command.uid, command.attempt)
    if workload.finished_at is not None:
        return ()
    raise_if_invalid("Report of", workload.key, _reclaim_violations(workload, command))
    told = {name: count for name, count in sorted(command.pods.items()) if count}
    others = {name: n for name, n in workload.reclaimable.items() if name not in command.pods}
    reclaimable = dict(sorted({**others, **told}.items()))
    if reclaimable == workload.reclaimable:
        return ()
    require_attempt(workload, command.attempt)
    return (WorkloadPodsReclaimed(reclaimable=reclaimable),)


def report_finished(
    state: WorkloadState, command: ReportFinished, at: Instant
) -> tuple[WorkloadEvent, ...]:
    """Finishes the workload, or retries it; during an eviction the eviction ends with it."""
    workload = require_reported(state, command.uid, command.attempt)
    if workload.finished_at is not None:
        return ()
    _require_admitted(workload)
    require_attempt(workload, command.attempt)
    if not command.succeeded and command.eviction and workload.eviction is None:
        retried = retry_whole(workload, at, command.eviction).events
        if retried:
            requeue_at = next(e.requeue_at for e in retried if isinstance(e, WorkloadEvicted))
            stopped = WorkloadStopped(eviction=command.eviction)
            again = () if requeue_at is not None else (BACKOFF_FINISHED,)
            return (*retried, stopped, *again)
    finished = WorkloadFinished(
        reason="Succeeded" if command.succeeded else "Failed", message=command.message
    )
    return (finished, WorkloadDeleted()) if workload.terminating_at is not None else (finished,)


def _reclaim_violations(workload: Workload, command: ReportReclaimable) -> Iterator[Violation]:
    counts = {pod_set.name: pod_set.count for pod_set in workload.spec.pod_sets}
    for name, count in sorted(command.pods.items()):
        most, pointer = counts.get(name), child("/pods", name)
        if most is None:
            yield violation(pointer, "NotOneOf", value=shown(name), choices=tuple(counts))
            continue
        if is_elastic(workload.annotations) and count == workload.reclaimable.get(name):
            continue
        least = workload.reclaimable.get(name, 0) if _reclaimable_only_grows(workload, name) else 0
        yield from range_violations(pointer, count, least, most)


def _reclaimable_only_grows(workload: Workload, name: str) -> bool:
    """Whether the reclaimable count of a pod set may not fall.

    A pod set that was scaled down below its admitted count is counted anew.
    """
    if workload.admission is None or not has_quota_reservation(workload):
        return False
    given = {a.name: a.count for a in workload.admission.pod_set_assignments}
    counts = {pod_set.name: pod_set.count for pod_set in workload.spec.pod_sets}
    was_shrunk = counts[name] < given.get(name, 0)
    return not (is_elastic(workload.annotations) and was_shrunk)


def _require_admitted(workload: Workload) -> None:
    if not is_admitted(workload):
        found, phase = workload_reference(workload.key), phase_of(workload)
        raise IllegalNow("NoPodsToReport", workload=found, phase=phase)


def acknowledge_eviction(
    state: WorkloadState, command: AcknowledgeEviction
) -> tuple[WorkloadEvent, ...]:
    """Records that a handler took the eviction over; its expected end may extend the deadline."""
    workload = require_reported(state, command.uid, command.attempt)
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
    """Records progress of the handler and restarts the grace period from now."""
    workload = require_reported(state, command.uid, command.attempt)
    eviction = find_eviction(workload, command.eviction)
    if eviction is None:
        return ()
    progressed = EvictionProgressed(eviction=command.eviction, note=command.note)
    soft = eviction.soft
    if soft is None or (soft.require_ack and eviction.acknowledged_at is None):
        return (progressed,)
    return (progressed, *_deadline_extension(eviction, seconds_after(at, soft.grace_seconds)))


def report_stopping(state: WorkloadState, command: ReportStopping) -> tuple[WorkloadEvent, ...]:
    """Records that pods are being killed, after which the eviction cannot be cancelled."""
    workload = require_reported(state, command.uid, command.attempt)
    eviction = find_eviction(workload, command.eviction)
    if eviction is None or eviction.stopping_at is not None:
        return ()
    if not command.eviction:
        require_attempt(workload, command.attempt)
    releases = command.releases_quota and eviction is workload.eviction
    return (WorkloadStopping(eviction=eviction.id, releases_quota=releases),)


def report_stopped(state: WorkloadState, command: ReportStopped) -> tuple[WorkloadEvent, ...]:
    """Records that evicted pods have stopped, and what was pending on that.

    Pending are deletion, cancellation or requeueing of the workload, or the end of a partial
    eviction.
    """
    workload = require_reported(state, command.uid, command.attempt)
    eviction = find_eviction(workload, command.eviction)
    if eviction is None:
        return ()
    if not command.eviction:
        require_attempt(workload, command.attempt)
    if eviction is not workload.eviction:
        return _partial_stop_events(workload, command.eviction)
    return (WorkloadStopped(eviction=eviction.id), *events_after_stop(workload))


def is_cancellable(eviction: Eviction) -> bool:
    """Whether the eviction can be cancelled: soft, and not acknowledged, forced or stopping."""
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
        found = workload_reference(workload.key)
        raise IllegalNow("HandlerDiffers", workload=found, expected=wanted, handler=handler)


def _partial_stop_events(workload: Workload, eviction: str) -> tuple[WorkloadEvent, ...]:
    """The end of a partial eviction; empty while the whole workload is being evicted."""
    pod_eviction = pod_eviction_of(workload, eviction)
    if pod_eviction is None or workload.eviction is not None:
        return ()
    return (shrunk_event(workload, pod_eviction),)


def events_after_stop(workload: Workload) -> tuple[WorkloadEvent, ...]:
    """What was pending on the stop of all pods: deletion, an end, or requeueing."""
    if workload.terminating_at is not None:
        return (WorkloadDeleted(),)
    if workload.cancelling_at is not None:
        return (WorkloadFinished(reason="Cancelled", message=CANCELLED_WHILE_RUNNING),)
    eviction = workload.eviction
    if eviction is not None and eviction.reason in {"PodFailed", "SuccessPolicyMet"}:
        evicted = condition(workload, "Evicted")
        reason: Literal["Failed", "Succeeded"] = (
            "Failed" if eviction.reason == "PodFailed" else "Succeeded"
        )
        return (WorkloadFinished(reason=reason, message=evicted.message if evicted else ""),)
    if eviction is None or not workload.spec.active or workload.requeue.requeue_at is not None:
        return ()
    if eviction.reason == "Deactivated":
        return (WorkloadRequeued(reason="Reactivated"),)
    if eviction.reason in {"PodsReadyTimeout", "Retried"}:
        return (BACKOFF_FINISHED,)
    return ()


def report_check_state(
    state: WorkloadState, command: ReportCheckState
) -> tuple[WorkloadEvent, ...]:
    """Records a changed state of an admission check; what follows depends on all checks together.

    A report during an eviction concerns a reservation that is ending and is ignored, but for a
    rejection: it deactivates the workload, so that it is not requeued (Kueue #14309).
    """
    workload = require_reported(state, command.uid, command.attempt)
    if workload.finished_at is not None:
        return ()
    if workload.eviction is not None:
        return _rejected_while_evicting(workload, command)
    if workload.admission is None or command.check not in workload.checks:
        found, phase = workload_reference(workload.key), phase_of(workload)
        raise IllegalNow("CheckNotAwaited", workload=found, phase=phase, check=command.check)
    told = WorkloadCheckReported(
        check=command.check,
        state=command.state,
        message=command.message,
        requeue_after_seconds=command.requeue_after_seconds,
        pod_set_updates=command.pod_set_updates,
    )
    known = workload.check_states.get(command.check)
    raise_if_invalid("Workload", workload.key, _update_violations(workload, command, known))
    return () if known is not None and _says(known) == _says(told) else (told,)


def _rejected_while_evicting(
    workload: Workload, command: ReportCheckState
) -> tuple[WorkloadEvent, ...]:
    is_rejected = command.state == "Rejected" and command.check in workload.checks
    if not is_rejected or not workload.spec.active or workload.terminating_at is not None:
        return ()
    require_attempt(workload, command.attempt)
    why = message("RejectedByAdmissionCheck", check=command.check, report=command.message)
    return (WorkloadDeactivated(cause="AdmissionCheck", message=why),)


def _update_violations(
    workload: Workload, command: ReportCheckState, known: AdmissionCheckState | None
) -> Iterator[Violation]:
    """Violations of podSetUpdates; they are immutable once the check was Ready or pods may run."""
    updates = command.pod_set_updates
    yield from update_violations("/podSetUpdates", updates, workload.spec.pod_sets)
    before = known.pod_set_updates if known is not None else ()
    agreed = known is not None and known.state == command.state == "Ready"
    if before != updates and (agreed or (updates and is_admitted(workload))):
        yield violation("/podSetUpdates", "PodSetUpdatesImmutable")


def _says(told: AdmissionCheckState | WorkloadCheckReported) -> tuple[object, ...]:
    return told.state, told.message, told.requeue_after_seconds, told.pod_set_updates
