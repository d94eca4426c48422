"""Decides what follows from failed pods by the workload's retry policy.

Kubernetes: Job's backoffLimit, backoffLimitPerIndex and podFailurePolicy. The loss of a node or an
executor is no failure: the pod has its next run, and no limit counts it.
"""

from collections.abc import Sequence

import msgspec

from headgate.domain.kinds.wait_for_pods_ready import RequeuingStrategy, backoff_microseconds
from headgate.domain.values.index_ranges import (
    IndexRanges,
    contains,
    count_of,
    members,
    ranges_of,
    text_of_ranges,
    without,
)
from headgate.domain.values.instants import Instant
from headgate.domain.values.message import Message, message
from headgate.domain.workloads.events import WorkloadEvent, WorkloadEvicted
from headgate.domain.workloads.pod_events import (
    FailedPods,
    ReportedPods,
    WorkloadIndexesFailed,
    WorkloadRetried,
)
from headgate.domain.workloads.pods.attempt_pods import AttemptPod, RetryState
from headgate.domain.workloads.specs import (
    NO_RETRIES,
    PodReason,
    RetryAction,
    RetryPolicy,
    RetryRule,
)
from headgate.domain.workloads.state import Workload

LOST_REASONS: frozenset[PodReason] = frozenset({"NodeLost", "Evicted"})
"""Reasons that are not of the pod's making."""

SIGNAL_CODES = 128
"""What shells and container runtimes add to the number of the signal that ended a process."""


class FailureVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """What follows from failures: events, or the failure of the workload for a reason."""

    events: tuple[WorkloadEvent, ...] = ()
    why: Message | None = None


class _Judged(msgspec.Struct, frozen=True, kw_only=True):
    """Failed pods with the action on them."""

    pods: FailedPods
    action: RetryAction


def undecided_failures(
    workload: Workload, groups: Sequence[ReportedPods], pods: Sequence[AttemptPod]
) -> tuple[FailedPods, ...]:
    """The failed pods of which nothing has been decided, as the report tells them.

    Of pods that failed while an eviction was under way that was cancelled since, only that they
    failed is known.
    """
    found: list[FailedPods] = []
    open_indices = {
        name: without(each.failed, members(workload.retry.failed.get(name, ())))
        for name, each in sorted(workload.progress.items())
        if each.failed
    }
    for group in groups:
        if group.type == "finished" and group.reason != "Completed":
            left = open_indices.get(group.pod_set, ())
            indices = ranges_of(i for i in members(group.indices) if contains(left, i))
            open_indices[group.pod_set] = without(left, members(indices))
            found.append(_failed(group, indices))
    runs = {(pod.pod_set, pod.index): pod for pod in pods}
    for name, left in open_indices.items():
        for index in members(left):
            pod = runs.get((name, index))
            if pod is not None:
                single = ((index, index),)
                found.append(
                    FailedPods(
                        pod_set=name, indices=single, run=pod.run, node=pod.node, reason="Error"
                    )
                )
    return tuple(each for each in found if each.indices)


def _failed(group: ReportedPods, indices: IndexRanges) -> FailedPods:
    return FailedPods(
        pod_set=group.pod_set,
        indices=indices,
        run=group.run,
        node=group.node,
        reason=group.reason or "Error",
        exit_code=group.exit_code,
        signal=group.signal,
    )


def decide_failures(
    workload: Workload, failed: Sequence[FailedPods], at: Instant, eviction: str
) -> FailureVerdict:
    """Retries, indices that have failed for good, or why the workload fails."""
    policy = workload.spec.retry_policy or NO_RETRIES
    judged = [_judge(policy, pods) for pods in failed]
    for each in judged:
        if each.action == "FailWorkload":
            return FailureVerdict(why=failure_of(each.pods))
    retried = [each.pods for each in judged if each.action == "RetryWorkload"]
    if retried:
        return _retry_workload(workload, policy, retried, at, eviction)
    again, over = _split_by_index(workload.retry, policy, judged)
    return _retry_pods(workload, policy, again, over, at)


def retry_whole(workload: Workload, at: Instant, eviction: str) -> FailureVerdict:
    """What follows where an executor that reports whole workloads says that one failed."""
    policy = workload.spec.retry_policy
    if policy is None or policy.limit == 0:
        return FailureVerdict(why=message("WorkloadHasFailed"))
    return _retry_workload(workload, policy, (), at, eviction)


def _judge(policy: RetryPolicy, pods: FailedPods) -> _Judged:
    found = next(
        ((n, rule) for n, rule in enumerate(policy.rules) if rule_matches(rule, pods)), None
    )
    number = None if found is None else found[0]
    action: RetryAction = "RetryPod" if found is None else found[1].action
    counts = pods.reason not in LOST_REASONS and action in {"RetryPod", "RetryWorkload"}
    return _Judged(
        pods=msgspec.structs.replace(pods, rule=number, counts=counts),
        action="RetryPod" if action == "Ignore" else action,
    )


def rule_matches(rule: RetryRule, pods: FailedPods) -> bool:
    """Whether the rule is about these failures."""
    if rule.pod_sets and pods.pod_set not in rule.pod_sets:
        return False
    if rule.on_exit_codes:
        code = pods.exit_code
        if code is None and pods.signal is not None:
            code = SIGNAL_CODES + pods.signal
        return code is not None and (code in rule.on_exit_codes) != rule.excludes_exit_codes
    if rule.on_signals:
        return pods.signal in rule.on_signals
    return not rule.on_reasons or pods.reason in rule.on_reasons


def _retry_workload(
    workload: Workload,
    policy: RetryPolicy,
    pods: Sequence[FailedPods],
    at: Instant,
    eviction: str,
) -> FailureVerdict:
    """The workload leaves and has its next attempt after a backoff; that counts as one retry."""
    counts = not pods or any(each.counts for each in pods)
    count = workload.retry.count + (1 if counts else 0)
    if counts and policy.limit is not None and count > policy.limit:
        return FailureVerdict(why=_limit_reached(policy.limit, pods))
    cause = failure_of(pods[0]) if pods else message("WorkloadHasFailed")
    retried = WorkloadRetried(action="RetryWorkload", pods=tuple(pods), retries=count)
    evicted = WorkloadEvicted(
        eviction=eviction,
        reason="Retried",
        message=message("RetriedAfter", failure=cause, retries=count, limit=policy.limit),
        requeue_at=_start_of(policy, count, workload.uid, at) if counts else None,
    )
    return FailureVerdict(events=(retried, evicted))


def _split_by_index(
    retry: RetryState, policy: RetryPolicy, judged: Sequence[_Judged]
) -> tuple[list[FailedPods], list[FailedPods]]:
    """The pods to retry, and those that have failed for good."""
    again: list[FailedPods] = []
    over: list[FailedPods] = []
    limit = policy.limit_per_index
    for each in judged:
        pods = each.pods
        if each.action == "FailIndex":
            over.append(pods)
        elif limit is None or not pods.counts:
            again.append(pods)
        else:
            known = retry.by_index.get(pods.pod_set, {})
            spent = ranges_of(i for i in members(pods.indices) if known.get(i, 0) >= limit)
            left = without(pods.indices, members(spent))
            over += [msgspec.structs.replace(pods, indices=spent, counts=False)] if spent else []
            again += [msgspec.structs.replace(pods, indices=left)] if left else []
    return again, over


def _retry_pods(
    workload: Workload,
    policy: RetryPolicy,
    again: Sequence[FailedPods],
    over: Sequence[FailedPods],
    at: Instant,
) -> FailureVerdict:
    counted = [each for each in again if each.counts]
    count = workload.retry.count + sum(count_of(each.indices) for each in counted)
    if counted and policy.limit is not None and count > policy.limit:
        return FailureVerdict(why=_limit_reached(policy.limit, counted))
    failed = sum(count_of(ranges) for ranges in workload.retry.failed.values())
    failed += sum(count_of(each.indices) for each in over)
    if over and policy.max_failed_indexes is not None and failed > policy.max_failed_indexes:
        why = message(
            "TooManyIndexesFailed", failure=failure_of(over[0]), maximum=policy.max_failed_indexes
        )
        return FailureVerdict(why=why)
    timed = tuple(
        msgspec.structs.replace(pods, retry_at=_start_of(policy, _backoffs(pods), workload.uid, at))
        for pods in again
    )
    events: tuple[WorkloadEvent, ...] = (
        *((WorkloadIndexesFailed(pods=tuple(over)),) if over else ()),
        *((WorkloadRetried(action="RetryPod", pods=timed, retries=count),) if timed else ()),
    )
    return FailureVerdict(events=events)


def _backoffs(pods: FailedPods) -> int:
    """The number of backoffs that a pod has had; after its first loss it starts at once."""
    return pods.run if pods.counts else pods.run - 1


def _start_of(policy: RetryPolicy, number: int, uid: str, at: Instant) -> Instant | None:
    """When the backoff ends; None for at once."""
    if number < 1 or policy.backoff_base_seconds == 0:
        return None
    strategy = RequeuingStrategy(
        backoff_base_seconds=policy.backoff_base_seconds,
        backoff_max_seconds=policy.backoff_max_seconds,
    )
    return at + backoff_microseconds(strategy, number, uid)


def failure_of(pods: FailedPods) -> Message:
    """Which pod failed, and how."""
    return message(
        "PodHasFailed",
        pod_set=pods.pod_set,
        index=pods.indices[0][0],
        node=pods.node,
        reason=pods.reason,
        exit_code=pods.exit_code,
    )


def _limit_reached(limit: int, pods: Sequence[FailedPods]) -> Message:
    failure = failure_of(pods[0]) if pods else message("WorkloadHasFailed")
    return failure if limit == 0 else message("RetryLimitReached", failure=failure, limit=limit)


def failed_indexes(workload: Workload) -> tuple[str, ...]:
    """The indices by pod set that have failed for good, as people write them."""
    return tuple(
        f"{name} {text_of_ranges(ranges)}"
        for name, ranges in sorted(workload.retry.failed.items())
        if ranges
    )
