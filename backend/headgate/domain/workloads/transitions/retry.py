"""Transitions of the pods of an attempt: reports, retries, and indices that are over."""

from collections.abc import Iterable

from msgspec.structs import replace

from headgate.domain.values.index_ranges import IndexRanges, joined, members, ranges_of, without
from headgate.domain.values.instants import Instant
from headgate.domain.values.message import message
from headgate.domain.workloads.events import WorkloadPodsReported
from headgate.domain.workloads.pod_events import (
    FailedPods,
    RetryEvent,
    WorkloadIndexesFailed,
    WorkloadPodsReleased,
    WorkloadRetried,
)
from headgate.domain.workloads.pods.attempt_pods import (
    NO_PROGRESS,
    DelayedPods,
    ProgressBySet,
    RetryState,
    after_report,
    next_run,
    scheduled_count,
    without_pods_at,
)
from headgate.domain.workloads.pods.completions import advanced
from headgate.domain.workloads.state import (
    Condition,
    ConditionChange,
    Workload,
    condition,
    is_admitted,
    with_conditions,
)

PODS_SCHEDULED = message("AllPodsScheduled")
PODS_NOT_SCHEDULED = message("NotAllPodsScheduled")


def _reported(workload: Workload, event: WorkloadPodsReported, at: Instant) -> Workload:
    """The workload as its executors see it; indices that completed give way to the next ones."""
    if event.attempt != workload.attempt:
        return workload
    progress = after_report(workload.progress, event.pods)
    if not workload.pods_scheduled and is_admitted(workload):
        is_scheduled = _is_scheduled(workload, progress)
        conditions = _with_pods_scheduled(workload, at, is_scheduled=is_scheduled)
        workload = replace(workload, pods_scheduled=is_scheduled, conditions=conditions)
    return advanced(replace(workload, progress=progress))


def _with_pods_scheduled(
    workload: Workload, at: Instant, *, is_scheduled: bool
) -> tuple[Condition, ...]:
    """The conditions after a report, until all pods of the admission were scheduled once.

    The first report of an admission sets the time of PodsScheduled even where its status stays, so
    that a time after that of Admitted tells that it is of this admission (KEP-13502).
    """
    known = condition(workload, "PodsScheduled")
    if is_scheduled:
        all_of_them = ConditionChange(
            "PodsScheduled", status=True, reason="AllRequiredPodsScheduled", message=PODS_SCHEDULED
        )
        return with_conditions(workload, at, all_of_them)
    if known is not None and known.reason == "WaitForScheduling":
        return workload.conditions
    some = ConditionChange(
        "PodsScheduled", status=False, reason="WaitForScheduling", message=PODS_NOT_SCHEDULED
    )
    others = tuple(each for each in workload.conditions if each is not known)
    return with_conditions(replace(workload, conditions=others), at, some)


def _is_scheduled(workload: Workload, progress: ProgressBySet) -> bool:
    """Whether every pod runs or has succeeded (Kueue: condition PodsScheduled)."""
    if workload.admission is None:
        return False
    return all(
        scheduled_count(
            progress.get(given.name, NO_PROGRESS), workload.reclaimable.get(given.name, 0)
        )
        >= given.count
        for given in workload.admission.pod_set_assignments
    )


def apply_pod_event(
    workload: Workload, event: WorkloadPodsReported | RetryEvent, at: Instant
) -> Workload:
    """The workload after a report on its pods, or an event of failed ones."""
    match event:
        case WorkloadPodsReported():
            return _reported(workload, event, at)
        case WorkloadRetried():
            return _retried(workload, event)
        case WorkloadIndexesFailed():
            return _indexes_failed(workload, event)
        case WorkloadPodsReleased():
            return _released(workload, event)


def _retried(workload: Workload, event: WorkloadRetried) -> Workload:
    by_index = _counted(workload.retry, event.pods)
    retry = replace(workload.retry, count=event.retries, by_index=by_index)
    if event.action == "RetryWorkload" or workload.admission is None:
        return replace(workload, retry=retry)
    layout, progress = workload.layout, workload.progress
    for failed in event.pods:
        indices = tuple(members(failed.indices))
        layout = next_run(workload.admission, layout, failed.pod_set, indices)
        progress = without_pods_at(progress, failed.pod_set, indices)
    delayed = tuple(
        DelayedPods(pod_set=each.pod_set, indices=each.indices, until=each.retry_at)
        for each in event.pods
        if each.retry_at is not None
    )
    retry = replace(retry, delayed=(*retry.delayed, *delayed))
    return replace(workload, layout=layout, progress=progress, retry=retry)


def _counted(retry: RetryState, pods: Iterable[FailedPods]) -> dict[str, dict[int, int]]:
    found = retry.by_index
    for failed in pods:
        if failed.counts:
            own = dict(found.get(failed.pod_set, {}))
            for index in members(failed.indices):
                own[index] = own.get(index, 0) + 1
            found = {**found, failed.pod_set: own}
    return found


def _indexes_failed(workload: Workload, event: WorkloadIndexesFailed) -> Workload:
    failed: dict[str, IndexRanges] = dict(workload.retry.failed)
    for each in event.pods:
        failed[each.pod_set] = joined(failed.get(each.pod_set, ()), each.indices)
    return advanced(replace(workload, retry=replace(workload.retry, failed=failed)))


def _released(workload: Workload, event: WorkloadPodsReleased) -> Workload:
    left = tuple(
        replace(each, indices=indices)
        for each in workload.retry.delayed
        if (indices := without(each.indices, members(event.pods.get(each.pod_set, ()))))
    )
    return replace(workload, retry=replace(workload.retry, delayed=left))


def with_next_runs(workload: Workload, removed: dict[str, tuple[int, ...]]) -> Workload:
    """The workload with the next run of indices that left unfinished, for when they come again."""
    if workload.admission is None:
        return workload
    names = {s.name for s in workload.spec.pod_sets if s.completions is not None}
    layout = workload.layout
    for name, indices in removed.items():
        if name in names and indices:
            layout = next_run(workload.admission, layout, name, indices)
    left = tuple(
        replace(each, indices=stay)
        for each in workload.retry.delayed
        if (stay := without(each.indices, removed.get(each.pod_set, ())))
    )
    return replace(workload, layout=layout, retry=replace(workload.retry, delayed=left))


def due_pods(retry: RetryState, at: int) -> dict[str, IndexRanges]:
    """The pods by set with a backoff that is over at `at`."""
    found: dict[str, IndexRanges] = {}
    for each in retry.delayed:
        if each.until <= at:
            found[each.pod_set] = joined(found.get(each.pod_set, ()), each.indices)
    return {name: ranges_of(members(ranges)) for name, ranges in sorted(found.items())}
