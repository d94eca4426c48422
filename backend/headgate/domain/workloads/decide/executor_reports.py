"""What executors report of a workload; saying it twice changes nothing (queueing.md §5.2-5.4)."""

from collections.abc import Iterator

from headgate.domain.metadata import raise_if_invalid
from headgate.domain.rejection import IllegalNow, Violation
from headgate.domain.values.instants import Instant, seconds_after
from headgate.domain.values.pointers import child
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
from headgate.domain.workloads.decide.preconditions import require_same_uid
from headgate.domain.workloads.events import (
    EvictionAcknowledged,
    EvictionProgressed,
    WorkloadCheckReported,
    WorkloadDeleted,
    WorkloadEvent,
    WorkloadFinished,
    WorkloadPodsGone,
    WorkloadPodsNotReady,
    WorkloadPodsReady,
    WorkloadPodsReclaimed,
    WorkloadRequeued,
    WorkloadStopped,
)
from headgate.domain.workloads.pods.pod_set_updates import update_violations
from headgate.domain.workloads.predicates import has_quota_reservation
from headgate.domain.workloads.preemption_events import (
    EvictionExtended,
    WorkloadStopping,
)
from headgate.domain.workloads.specs import is_elastic
from headgate.domain.workloads.state import (
    AdmissionCheckState,
    Eviction,
    Workload,
    WorkloadState,
    is_admitted,
    is_condition_true,
    phase_of,
)
from headgate.domain.workloads.transitions.partial_eviction import (
    find_eviction,
    pod_eviction_of,
    shrunk_event,
)


def report_pods_ready(state: WorkloadState, command: ReportPodsReady) -> tuple[WorkloadEvent, ...]:
    """Ready, or no longer so; of a workload that is on its way out it no longer matters."""
    workload = require_same_uid(state, command.uid)
    if workload.eviction is not None or workload.finished_at is not None:
        return ()
    _require_admitted(workload)
    was_ready = is_condition_true(workload, "PodsReady")
    if command.ready == was_ready:
        return ()
    if command.ready:
        return (WorkloadPodsReady(recovered=workload.not_ready_cause == "WaitForRecovery"),)
    return (WorkloadPodsNotReady(message=command.message),)


def report_pods_gone(state: WorkloadState, command: ReportPodsGone) -> tuple[WorkloadEvent, ...]:
    """Hosts that lost all its pods; of hosts it has none on any more it does not matter."""
    workload = require_same_uid(state, command.uid)
    if workload.eviction is not None or workload.finished_at is not None:
        return ()
    _require_admitted(workload)
    assert workload.admission is not None, "what was admitted has a place"
    told = {*workload.pods_gone, *command.hosts}
    gone = tuple(host for host in hosts_of(workload.admission) if host in told)
    return () if gone == workload.pods_gone else (WorkloadPodsGone(hosts=gone),)


def report_reclaimable(
    state: WorkloadState, command: ReportReclaimable
) -> tuple[WorkloadEvent, ...]:
    """Pods that ended for good; while the workload holds quota they never become fewer."""
    workload = require_same_uid(state, command.uid)
    if workload.finished_at is not None:
        return ()
    raise_if_invalid("Report of", workload.key, _reclaim_violations(workload, command))
    told = {name: count for name, count in sorted(command.pods.items()) if count}
    others = {name: n for name, n in workload.reclaimable.items() if name not in command.pods}
    reclaimable = dict(sorted({**others, **told}.items()))
    if reclaimable == workload.reclaimable:
        return ()
    return (WorkloadPodsReclaimed(reclaimable=reclaimable),)


def report_finished(state: WorkloadState, command: ReportFinished) -> tuple[WorkloadEvent, ...]:
    """The end; one that comes while it is evicted ends the eviction with it."""
    workload = require_same_uid(state, command.uid)
    if workload.finished_at is not None:
        return ()
    _require_admitted(workload)
    finished = WorkloadFinished(
        reason="Succeeded" if command.succeeded else "Failed", message=command.message
    )
    return (finished, WorkloadDeleted()) if workload.terminating_at is not None else (finished,)


def _reclaim_violations(workload: Workload, command: ReportReclaimable) -> Iterator[Violation]:
    counts = {pod_set.name: pod_set.count for pod_set in workload.spec.pod_sets}
    for name, count in sorted(command.pods.items()):
        most = counts.get(name)
        if most is None:
            yield Violation(
                pointer=child("/pods", name),
                rule=f"Workload {workload.key} has no pod set {name}.",
                remedy=f"Name one of {', '.join(counts)}.",
            )
            continue
        least = workload.reclaimable.get(name, 0) if _reclaimable_only_grows(workload, name) else 0
        if not least <= count <= most:
            yield Violation(
                pointer=child("/pods", name),
                rule=f"Of pod set {name}, {least} to {most} pods can be reclaimable now.",
                remedy="Report all that have ended so far; while it holds quota none comes back.",
            )


def _reclaimable_only_grows(workload: Workload, name: str) -> bool:
    """Whether no ended pod of a set comes back.

    One that was made smaller than it was admitted counts anew which of its pods have ended.
    """
    if workload.admission is None or not has_quota_reservation(workload):
        return False
    given = {a.name: a.count for a in workload.admission.pod_set_assignments}
    counts = {pod_set.name: pod_set.count for pod_set in workload.spec.pod_sets}
    was_shrunk = counts[name] < given.get(name, 0)
    return not (is_elastic(workload.annotations) and was_shrunk)


def _require_admitted(workload: Workload) -> None:
    if not is_admitted(workload):
        raise IllegalNow(
            f"Workload {workload.key} is {phase_of(workload)}; it has no pods to report of.",
            remedy="Stop what runs for it, and start pods only for workloads that are assigned.",
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


def report_check_state(
    state: WorkloadState, command: ReportCheckState
) -> tuple[WorkloadEvent, ...]:
    """Recorded if it is news; what follows from it is decided with all other checks together.

    A word that comes while the workload is on its way out is about a reservation that is over.
    """
    workload = require_same_uid(state, command.uid)
    if workload.finished_at is not None or workload.eviction is not None:
        return ()
    if workload.admission is None or command.check not in workload.checks:
        raise IllegalNow(
            f"Workload {workload.key} is {phase_of(workload)} and does not wait for check "
            f"{command.check}.",
            remedy="Report on workloads that have quota and name the check in their status.",
        )
    told = WorkloadCheckReported(
        check=command.check,
        state=command.state,
        message=command.message,
        requeue_after_seconds=command.requeue_after_seconds,
        pod_set_updates=command.pod_set_updates,
    )
    known = workload.check_states.get(command.check)
    raise_if_invalid("Report on", workload.key, _update_violations(workload, command, known))
    return () if known is not None and _says(known) == _says(told) else (told,)


def _update_violations(
    workload: Workload, command: ReportCheckState, known: AdmissionCheckState | None
) -> Iterator[Violation]:
    """What is wrong with the additions to pods.

    Those of a check that agreed stay as they are, as do all once pods may have started.
    """
    updates = command.pod_set_updates
    yield from update_violations("/podSetUpdates", updates, workload.spec.pod_sets)
    before = known.pod_set_updates if known is not None else ()
    agreed = known is not None and known.state == command.state == "Ready"
    if before != updates and (agreed or (updates and is_admitted(workload))):
        yield Violation(
            pointer="/podSetUpdates",
            rule="podSetUpdates cannot change once the check was Ready or pods may have started.",
            remedy="Report the same again, or Retry to have the workload sent back first.",
        )


def _says(told: AdmissionCheckState | WorkloadCheckReported) -> tuple[object, ...]:
    return told.state, told.message, told.requeue_after_seconds, told.pod_set_updates
