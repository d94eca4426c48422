"""Decides on reports of single pods: which are taken, and what becomes of the workload.

A report of another attempt, of another run or of a pod on another executor's node is refused and
changes nothing; the others of its request are taken. What follows is derived here alone: readiness,
reclaimable pods, the end of the workload and of evictions.
"""

from collections.abc import Container, Iterator, Sequence
from typing import Literal

import msgspec

from headgate.domain.field_rules import length_violations, name_violations, range_violations
from headgate.domain.rejection import IllegalNow, InvalidObject, NotFound, Rejection, Violation
from headgate.domain.values.index_ranges import contains, count_of, ranges_of
from headgate.domain.values.instants import Instant
from headgate.domain.values.message import Message, MessageOrText, message, workload_reference
from headgate.domain.workloads.commands import PodReport, ReportPods
from headgate.domain.workloads.decide.executor_reports import events_after_stop
from headgate.domain.workloads.decide.pod_failures import (
    decide_failures,
    failed_indexes,
    undecided_failures,
)
from headgate.domain.workloads.events import (
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
from headgate.domain.workloads.pod_events import ReportedPods
from headgate.domain.workloads.pods.attempt_pods import (
    NO_PROGRESS,
    AttemptPod,
    PodProgress,
    attempt_pods,
)
from headgate.domain.workloads.pods.completions import (
    indices_left,
    indices_over,
    is_success,
    places_needed,
    with_completions,
)
from headgate.domain.workloads.pods.eviction_units import pods_of_evictions, shrunk_event
from headgate.domain.workloads.predicates import require_reported
from headgate.domain.workloads.state import Workload, WorkloadState, is_admitted, is_condition_true

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
        return _settled(state, command, (), at) if command.lost_nodes else ()
    reported = WorkloadPodsReported(
        uid=state.uid, attempt=state.attempt, executor=command.executor, pods=groups
    )
    after = evolve(state, reported, at)
    assert isinstance(after, Workload), "a report of pods removes no workload"
    return (reported, *_settled(after, command, groups, at))


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
    if found is None and _is_over(workload, report):
        return None
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


def _is_over(workload: Workload, report: PodReport) -> bool:
    """Whether the report repeats the end of an index that has given way to the next one."""
    if not any(each.name == report.pod_set for each in with_completions(workload.spec)):
        return False
    last_run = workload.layout.runs.get(report.pod_set, {}).get(report.index, 1)
    is_over = contains(indices_over(workload, report.pod_set), report.index)
    return is_over and report.run == last_run


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
    workload: Workload, command: ReportPods, groups: Sequence[ReportedPods], at: Instant
) -> tuple[WorkloadEvent, ...]:
    """What becomes of the workload by what is known of its pods."""
    if not is_admitted(workload) or workload.finished_at is not None:
        return ()
    pods = tuple(_pods_of(workload).values())
    if workload.eviction is not None:
        return _while_evicting(workload, command, pods)
    failed = undecided_failures(workload, groups, pods)
    if not failed:
        return _while_running(workload, command)
    verdict = decide_failures(workload, failed, at, command.eviction)
    if verdict.why is not None:
        return _failed(workload, command, verdict.why, pods)
    after = _after(workload, verdict.events, at)
    if after.eviction is not None:
        return (*verdict.events, *_while_evicting(after, command, pods))
    return (*verdict.events, *_while_running(after, command))


def _after(workload: Workload, events: Sequence[WorkloadEvent], at: Instant) -> Workload:
    state: WorkloadState = workload
    for event in events:
        state = evolve(state, event, at)
    assert isinstance(state, Workload), "failed pods remove no workload"
    return state


def _while_running(workload: Workload, command: ReportPods) -> tuple[WorkloadEvent, ...]:
    """What becomes of a workload with no failure that is left to decide on."""
    pods = tuple(_pods_of(workload).values())
    if _have_ended(workload, pods):
        return _ended(workload)
    if is_success(workload):
        met = message("SuccessPolicyMet")
        return (WorkloadEvicted(eviction=command.eviction, reason="SuccessPolicyMet", message=met),)
    return (
        *_partial_stops(workload, command, pods),
        *_reclaimed(workload),
        *_readiness(workload, pods),
    )


def _failed(
    workload: Workload, command: ReportPods, why: Message, pods: Sequence[AttemptPod]
) -> tuple[WorkloadEvent, ...]:
    """The end of a failed workload, once its other pods have been stopped."""
    if _have_ended(workload, pods):
        return _finished(workload, "Failed", why)
    return (WorkloadEvicted(eviction=command.eviction, reason="PodFailed", message=why),)


def _have_ended(workload: Workload, pods: Sequence[AttemptPod]) -> bool:
    """Whether no pod runs, and no index is left to run."""
    indexed = tuple(with_completions(workload.spec))
    if any(indices_left(workload, pod_set) for pod_set in indexed):
        return False
    return bool(pods or indexed) and all(
        _progress(workload, pod).has_ended(pod.index) for pod in pods
    )


def _while_evicting(
    workload: Workload, command: ReportPods, pods: Sequence[AttemptPod]
) -> tuple[WorkloadEvent, ...]:
    """The end of the eviction once no pod is left; pods of lost nodes are not waited for."""
    assert workload.eviction is not None, "it is being evicted"
    if not all(_is_gone(workload, command, pod) for pod in pods):
        return ()
    if is_success(workload) or _all_succeeded(workload, pods):
        return _finished(workload, "Succeeded", "")
    return (WorkloadStopped(eviction=workload.eviction.id), *events_after_stop(workload))


def _all_succeeded(workload: Workload, pods: Sequence[AttemptPod]) -> bool:
    return _have_ended(workload, pods) and not any(
        each.failed or each.stopped for each in workload.progress.values()
    )


def _is_gone(workload: Workload, command: ReportPods, pod: AttemptPod) -> bool:
    ended = _progress(workload, pod).has_ended(pod.index)
    return ended or (bool(pod.node) and pod.node in command.lost_nodes)


def _ended(workload: Workload) -> tuple[WorkloadEvent, ...]:
    failed = any(each.failed or each.stopped for each in workload.progress.values())
    if not failed or is_success(workload):
        return _finished(workload, "Succeeded", "")
    indexes = failed_indexes(workload)
    why = message("IndexesHaveFailed", indexes=indexes) if indexes else _failure_of(workload)
    return _finished(workload, "Failed", why)


def _finished(
    workload: Workload, reason: Literal["Succeeded", "Failed"], why: MessageOrText
) -> tuple[WorkloadEvent, ...]:
    finished = WorkloadFinished(reason=reason, message=why)
    return (finished, WorkloadDeleted()) if workload.terminating_at is not None else (finished,)


def _failure_of(workload: Workload) -> Message:
    return message("PodsHaveFailed", workload=workload_reference(workload.key))


def _partial_stops(
    workload: Workload, command: ReportPods, pods: Sequence[AttemptPod]
) -> tuple[WorkloadEvent, ...]:
    """The end of one partial eviction of which every pod has gone; others end by later reports."""
    by_index = {(pod.pod_set, pod.index): pod for pod in pods}
    for pod_eviction, taken in pods_of_evictions(workload):
        chosen = [by_index[name, index] for name, found in taken.items() for index in found]
        if all(_is_gone(workload, command, pod) for pod in chosen):
            return (shrunk_event(workload, pod_eviction),)
    return ()


def _reclaimed(workload: Workload) -> tuple[WorkloadEvent, ...]:
    """Pods that need no quota any more: those that ended, or for which no index is left."""
    told = dict(_reclaimable(workload))
    reclaimable = dict(sorted({**workload.reclaimable, **told}.items()))
    if reclaimable == workload.reclaimable:
        return ()
    return (WorkloadPodsReclaimed(reclaimable=reclaimable),)


def _reclaimable(workload: Workload) -> Iterator[tuple[str, int]]:
    for pod_set in workload.spec.pod_sets:
        count = count_of(indices_over(workload, pod_set.name))
        if pod_set.completions is not None:
            count = pod_set.count - places_needed(workload, pod_set)
        if count > 0:
            yield pod_set.name, max(count, workload.reclaimable.get(pod_set.name, 0))


def _readiness(workload: Workload, pods: Sequence[AttemptPod]) -> tuple[WorkloadEvent, ...]:
    """Whether all pods are ready; an index that follows another one changes nothing."""
    was_ready = is_condition_true(workload, "PodsReady")
    indexed = {pod_set.name for pod_set in with_completions(workload.spec)}
    is_ready = all(
        (was_ready and pod.pod_set in indexed) or _is_ready(_progress(workload, pod), pod.index)
        for pod in pods
    )
    if is_ready == was_ready:
        return ()
    if is_ready:
        return (WorkloadPodsReady(recovered=workload.not_ready_cause == "WaitForRecovery"),)
    return (WorkloadPodsNotReady(message=NOT_READY_AGAIN),)


def _is_ready(progress: PodProgress, index: int) -> bool:
    return progress.has_ended(index) or progress.is_known(index, "ready")


def _progress(workload: Workload, pod: AttemptPod) -> PodProgress:
    return workload.progress.get(pod.pod_set, NO_PROGRESS)
