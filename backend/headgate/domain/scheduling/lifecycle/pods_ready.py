"""waitForPodsReady: deadlines, backoff and blocked admission (queueing.md §5.5, §5.6)."""

from hashlib import sha256

from headgate.domain.kinds.wait_for_pods_ready import RequeuingStrategy, WaitForPodsReady
from headgate.domain.object_set import ObjectSet
from headgate.domain.scheduling.lines.standing import (
    cluster_queue_of,
    pods_ready_rules,
)
from headgate.domain.values.instants import MICROSECONDS_PER_SECOND, Instant, seconds_after
from headgate.domain.workloads.events import (
    WorkloadAdmitted,
    WorkloadDeleted,
    WorkloadFinished,
    WorkloadPodsNotReady,
    WorkloadPodsReady,
    WorkloadStopped,
)
from headgate.domain.workloads.predicates import has_quota_reservation
from headgate.domain.workloads.state import (
    Workload,
    condition,
    is_admitted,
    is_condition_true,
)


def waits_for_pods_ready(config: ObjectSet, workload: Workload) -> WaitForPodsReady | None:
    """The timeouts of the ClusterQueue that it is charged to or waits for, or the default ones."""
    return pods_ready_rules(config, cluster_queue_of(config, workload))


def pods_ready_deadline(config: ObjectSet, workload: Workload) -> Instant | None:
    """When pods that are not ready count as failed; recovery may take for ever (§5.6)."""
    waits = waits_for_pods_ready(config, workload)
    ready = condition(workload, "PodsReady")
    if waits is None or not _runs(workload) or ready is None or ready.status:
        return None
    if workload.not_ready_cause == "WaitForRecovery":
        limit = waits.recovery_timeout_seconds
        return seconds_after(ready.last_transition_at, limit) if limit else None
    admitted = condition(workload, "Admitted")
    assert admitted is not None, "what runs has been admitted"
    return seconds_after(admitted.last_transition_at, waits.timeout_seconds)


def retry_deadline(config: ObjectSet, workload: Workload) -> Instant | None:
    """When it has tried to get its pods ready for as long as it may (KEP-1282's second condition).

    Counted from its first start, or from the loss of ready pods, over all requeues since, as the
    document defines the field; ADR 0016 says why not from the place in line.
    """
    waits = waits_for_pods_ready(config, workload)
    since, is_over = workload.not_ready_since, workload.finished_at is not None
    if waits is None or since is None or is_over or workload.eviction is not None:
        return None
    limit = waits.requeuing_strategy.retry_limit_seconds
    return None if limit is None else seconds_after(since, limit)


def requeue_count_reset_at(config: ObjectSet, workload: Workload) -> Instant | None:
    """When pods have been ready for so long that earlier timeouts count no more."""
    waits = waits_for_pods_ready(config, workload)
    ready = condition(workload, "PodsReady")
    if waits is None or ready is None or not workload.requeue.count:
        return None
    after = waits.requeuing_strategy.reset_after_seconds
    if after is None or not _runs(workload) or not is_condition_true(workload, "PodsReady"):
        return None
    return seconds_after(ready.last_transition_at, after)


def _runs(workload: Workload) -> bool:
    return is_admitted(workload) and workload.finished_at is None and workload.eviction is None


BLOCKING_EVENTS = (WorkloadAdmitted, WorkloadPodsNotReady)
"""Facts after which nobody else may start, where admission is blocked until pods are ready."""


UNBLOCKING_EVENTS = (WorkloadPodsReady, WorkloadStopped, WorkloadFinished, WorkloadDeleted)
"""Facts after which others may start again."""


def blocks_admission(config: ObjectSet, workload: Workload | None) -> bool:
    """Whether others wait for its pods.

    Who has quota and waits for checks blocks nobody (trap T25), nor does who may take any time to
    become ready: nothing would ever end that wait.
    """
    if workload is None or not config.configuration.block_admission:
        return False
    return (
        has_quota_reservation(workload)
        and is_admitted(workload)
        and not is_condition_true(workload, "PodsReady")
        and waits_for_pods_ready(config, workload) is not None
    )


MAX_DOUBLINGS = 40
"""Past this a delay is longer than anyone lives; it keeps the numbers small."""


JITTER_DIVISOR = 10_000
"""The delay grows by up to one part in so many, so that workloads evicted together spread."""


def backoff_seconds(strategy: RequeuingStrategy, count: int) -> int:
    """The delay before the `count`-th requeue: doubling from the base up to the most.

    The first delay is not capped, and a most of 0 means no cap (trap T32).
    """
    base = strategy.backoff_base_seconds
    if count <= 1:
        return base
    delay = base << min(count - 1, MAX_DOUBLINGS)
    most = strategy.backoff_max_seconds
    return min(delay, most) if most else delay


def backoff_microseconds(strategy: RequeuingStrategy, count: int, uid: str) -> int:
    """The delay with its jitter, drawn from the workload and the count, not from chance."""
    delay = backoff_seconds(strategy, count) * MICROSECONDS_PER_SECOND
    drawn = int.from_bytes(sha256(f"{uid}/{count}".encode()).digest()[:8])
    return delay + delay * drawn // (2**64 * JITTER_DIVISOR)


def is_past_limit(strategy: RequeuingStrategy, count: int) -> bool:
    """Whether the `count`-th requeue is one more than allowed; no limit allows any number."""
    limit = strategy.backoff_limit_count
    return limit is not None and count > limit
