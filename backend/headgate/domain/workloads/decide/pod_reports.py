"""Decides on reports of single pods: which are taken, and what becomes of the workload.

A report of another attempt, of another run or of a pod on another executor's node is refused and
changes nothing; the others of its request are taken. What follows is derived here alone: readiness,
reclaimable pods, the end of the workload and of evictions.
"""

from collections.abc import Container, Iterator, Sequence

import msgspec

from headgate.domain.field_rules import length_violations, name_violations, range_violations
from headgate.domain.rejection import IllegalNow, InvalidObject, NotFound, Rejection, Violation
from headgate.domain.values.index_ranges import count_of, ranges_of
from headgate.domain.values.instants import Instant
from headgate.domain.values.message import Message, MessageOrText, message, workload_reference
from headgate.domain.workloads.commands import PodReport, ReportPods
from headgate.domain.workloads.decide.executor_reports import events_after_stop
from headgate.domain.workloads.decide.preconditions import require_reported
from headgate.domain.workloads.events import (
    ReportedPods,
    WorkloadDeleted,
    WorkloadEvent,
    WorkloadEvicted,
    WorkloadFinished,
    WorkloadPodsNotReady,
    WorkloadPodsReady,
    WorkloadPodsReclaimed,
    WorkloadPodsReported,
    WorkloadStopped,
)
from headgate.domain.workloads.evolve import evolve
from headgate.domain.workloads.pods.attempt_pods import AttemptPod, attempt_pods
from headgate.domain.workloads.pods.pod_progress import NO_PROGRESS, PodProgress
from headgate.domain.workloads.state import (
    Workload,
    WorkloadState,
    is_admitted,
    is_condition_true,
)
from headgate.domain.workloads.transitions.partial_eviction import (
    pods_of_evictions,
    shrunk_event,
)

MAX_RESULT_LENGTH = 4_096
MAX_MESSAGE_LENGTH = 4_096
MAX_EXIT_CODE = 2**31 - 1
MAX_SIGNAL = 128
NOT_READY_AGAIN = "Not all pods are ready"

STAGES = ("started", "ready", "finished", "stopped")

_ALIKE_FIELDS = (
    "pod_set", "run", "node", "type", "reason", "exit_code", "signal", "message"
)  # fmt: skip
Pods = dict[tuple[str, int], AttemptPod]


def report_pods(
    state: WorkloadState, command: ReportPods, at: Instant
) -> tuple[WorkloadEvent, ...]:
    """The accepted reports as one event, and what follows from them."""
    if not isinstance(state, Workload):
        return ()
    pods = _pods_of(state)
    refusals = pod_report_refusals(state, command)
    told = zip(command.reports, refusals, strict=True)
    taken = [report for report, refusal in told if refusal is None]
    groups = tuple(_groups(state, pods, taken))
    if not groups:
        return _settled(state, command, ()) if command.lost_nodes else ()
    reported = WorkloadPodsReported(
        uid=state.uid, attempt=state.attempt, executor=command.executor, pods=groups
    )
    after = evolve(state, reported, at)
    assert isinstance(after, Workload), "a report of pods removes no workload"
    return (reported, *_settled(after, command, groups))


def pod_report_refusals(state: WorkloadState, command: ReportPods) -> list[Rejection | None]:
    """Why each report of the command is refused; None for those that are taken."""
    pods = _pods_of(state) if isinstance(state, Workload) else {}
    return [_refusal(state, pods, report, command.nodes) for report in command.reports]


def _refusal(
    state: WorkloadState, pods: Pods, report: PodReport, nodes: Container[str]
) -> Rejection | None:
    try:
        workload = require_reported(state, report.uid, report.attempt)
    except (IllegalNow, NotFound) as refused:
        return refused
    violations = tuple(_report_violations(report))
    if violations:
        return InvalidObject("ReportInvalid", violations=violations, first=violations[0].message)
    if not pods:
        return None
    found = pods.get((report.pod_set, report.index))
    reference = workload_reference(workload.key)
    pod_set, index = report.pod_set, report.index
    if found is None:
        return NotFound("UnknownPod", workload=reference, pod_set=pod_set, index=index)
    if found.run != report.run:
        return IllegalNow(
            "StaleRun",
            workload=reference,
            pod_set=pod_set,
            index=index,
            run=report.run,
            present_run=found.run,
        )
    if found.node and found.node not in nodes:
        return IllegalNow(
            "PodOfOtherExecutor",
            workload=reference,
            pod_set=pod_set,
            index=index,
            node=found.node,
        )
    return None


def _report_violations(report: PodReport) -> Iterator[Violation]:
    yield from name_violations("/podSet", report.pod_set)
    yield from range_violations("/exitCode", report.exit_code or 0, 0, MAX_EXIT_CODE)
    yield from range_violations("/signal", report.signal or 0, 0, MAX_SIGNAL)
    yield from length_violations("/message", report.message, MAX_MESSAGE_LENGTH)
    yield from length_violations("/result", report.result, MAX_RESULT_LENGTH)


def _pods_of(workload: Workload) -> Pods:
    """The pods of the present attempt; none once it has ended."""
    if not is_admitted(workload) or workload.finished_at is not None:
        return {}
    assert workload.admission is not None, "what is admitted has a place"
    found = attempt_pods(workload.admission, workload.layout)
    return {(pod.pod_set, pod.index): pod for pod in found}


def _groups(workload: Workload, pods: Pods, reports: Sequence[PodReport]) -> Iterator[ReportedPods]:
    """What reports say that was not known, equal ones of several pods together.

    Starts come before ends, whatever the order of the reports: a pod that has ended stays so.
    """
    groups: dict[tuple[object, ...], tuple[ReportedPods, dict[int, PodReport]]] = {}
    known = dict(workload.progress)
    seen: set[tuple[str, int, str]] = set()
    for report in reports:
        pod = pods.get((report.pod_set, report.index))
        if pod is None:
            continue
        progress = known.get(report.pod_set, NO_PROGRESS)
        ends = (report.pod_set, report.index, "ended")
        said = ends if report.type in {"finished", "stopped"} else (*ends[:2], report.type)
        if progress.is_known(report.index, report.type) or said in seen or ends in seen:
            continue
        seen.add(said)
        alike = _alike(report, pod)
        key = tuple(getattr(alike, name) for name in _ALIKE_FIELDS)
        groups.setdefault(key, (alike, {}))[1][report.index] = report
    for alike, told in sorted(groups.values(), key=lambda group: STAGES.index(group[0].type)):
        yield _joined_group(alike, [told[index] for index in sorted(told)])


def _alike(report: PodReport, pod: AttemptPod) -> ReportedPods:
    reason = report.reason
    if reason is None and report.type == "finished":
        is_good = report.exit_code in {None, 0} and report.signal is None
        reason = "Completed" if is_good else "Error"
    return ReportedPods(
        pod_set=report.pod_set,
        indices=(),
        run=report.run,
        node=pod.node or report.node,
        type=report.type,
        reason=reason,
        exit_code=report.exit_code,
        signal=report.signal,
        message=report.message,
    )


def _joined_group(alike: ReportedPods, reports: Sequence[PodReport]) -> ReportedPods:
    started = tuple(report.started_at for report in reports)
    finished = tuple(report.finished_at for report in reports)
    results = tuple(report.result for report in reports)
    return msgspec.structs.replace(
        alike,
        indices=ranges_of(report.index for report in reports),
        started_at=started if any(at is not None for at in started) else (),
        finished_at=finished if any(at is not None for at in finished) else (),
        results=results if any(results) else (),
    )


def _settled(
    workload: Workload, command: ReportPods, groups: Sequence[ReportedPods]
) -> tuple[WorkloadEvent, ...]:
    """What becomes of the workload by what is known of its pods."""
    if not is_admitted(workload) or workload.finished_at is not None:
        return ()
    pods = tuple(_pods_of(workload).values())
    if workload.eviction is not None:
        return _while_evicting(workload, command, pods)
    if pods and all(_progress(workload, pod).has_ended(pod.index) for pod in pods):
        return _ended(workload, groups)
    if any(progress.failed for progress in workload.progress.values()):
        why = failure_message(workload, groups)
        return (WorkloadEvicted(eviction=command.eviction, reason="PodFailed", message=why),)
    return (
        *_partial_stops(workload, command, pods),
        *_reclaimed(workload),
        *_readiness(workload, pods),
    )


def _while_evicting(
    workload: Workload, command: ReportPods, pods: Sequence[AttemptPod]
) -> tuple[WorkloadEvent, ...]:
    """The end of the eviction once no pod is left; pods of lost nodes are not waited for."""
    assert workload.eviction is not None, "it is being evicted"
    if not all(_is_gone(workload, command, pod) for pod in pods):
        return ()
    progress = workload.progress.values()
    if pods and sum(count_of(each.succeeded) for each in progress) == len(pods):
        return _ended(workload, ())
    return (WorkloadStopped(eviction=workload.eviction.id), *events_after_stop(workload))


def _is_gone(workload: Workload, command: ReportPods, pod: AttemptPod) -> bool:
    ended = _progress(workload, pod).has_ended(pod.index)
    return ended or (bool(pod.node) and pod.node in command.lost_nodes)


def _ended(workload: Workload, groups: Sequence[ReportedPods]) -> tuple[WorkloadEvent, ...]:
    failed = any(each.failed or each.stopped for each in workload.progress.values())
    why: MessageOrText = failure_message(workload, groups) if failed else ""
    finished = WorkloadFinished(reason="Failed" if failed else "Succeeded", message=why)
    return (finished, WorkloadDeleted()) if workload.terminating_at is not None else (finished,)


def failure_message(workload: Workload, groups: Sequence[ReportedPods]) -> Message:
    """Which pod failed first, and how."""
    for group in groups:
        if group.type == "finished" and group.reason != "Completed":
            return message(
                "PodHasFailed",
                pod_set=group.pod_set,
                index=group.indices[0][0],
                node=group.node,
                reason=group.reason or "Error",
                exit_code=group.exit_code,
            )
    return message("PodsHaveFailed", workload=workload_reference(workload.key))


def _partial_stops(
    workload: Workload, command: ReportPods, pods: Sequence[AttemptPod]
) -> tuple[WorkloadEvent, ...]:
    """The end of one partial eviction of which every pod has gone; others end by later reports."""
    by_index = {(pod.pod_set, pod.index): pod for pod in pods}
    for pod_eviction, taken in pods_of_evictions(workload):
        chosen = [by_index[name, index] for name, found in taken.items() for index in found]
        if chosen and all(_is_gone(workload, command, pod) for pod in chosen):
            return (shrunk_event(workload, pod_eviction),)
    return ()


def _reclaimed(workload: Workload) -> tuple[WorkloadEvent, ...]:
    """Pods that completed need no quota any more."""
    counts = {name: count_of(each.succeeded) for name, each in sorted(workload.progress.items())}
    told = {
        name: max(count, workload.reclaimable.get(name, 0))
        for name, count in counts.items()
        if count
    }
    reclaimable = dict(sorted({**workload.reclaimable, **told}.items()))
    if reclaimable == workload.reclaimable:
        return ()
    return (WorkloadPodsReclaimed(reclaimable=reclaimable),)


def _readiness(workload: Workload, pods: Sequence[AttemptPod]) -> tuple[WorkloadEvent, ...]:
    is_ready = all(_is_ready(_progress(workload, pod), pod.index) for pod in pods)
    if is_ready == is_condition_true(workload, "PodsReady"):
        return ()
    if is_ready:
        return (WorkloadPodsReady(recovered=workload.not_ready_cause == "WaitForRecovery"),)
    return (WorkloadPodsNotReady(message=NOT_READY_AGAIN),)


def _is_ready(progress: PodProgress, index: int) -> bool:
    return progress.has_ended(index) or progress.is_known(index, "ready")


def _progress(workload: Workload, pod: AttemptPod) -> PodProgress:
    return workload.progress.get(pod.pod_set, NO_PROGRESS)
