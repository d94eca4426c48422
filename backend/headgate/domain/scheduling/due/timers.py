"""When a workload must be looked at by itself: what is due, and the earliest of many."""

import heapq
from typing import Literal

from headgate.domain.config import Config
from headgate.domain.queues.specs import WaitForPodsReady
from headgate.domain.scheduling.due.checks import awaits_unblocked_admission, checks_outcome
from headgate.domain.scheduling.lines.standing import (
    cluster_queue_of,
    local_queue_of,
    pods_ready_rules,
)
from headgate.domain.values.instants import Instant, seconds_after
from headgate.domain.workloads.predicates import has_quota_reservation
from headgate.domain.workloads.state import (
    Eviction,
    Workload,
    condition,
    is_admitted,
    is_condition_true,
)
from headgate.domain.workloads.transitions.eviction import has_no_execution_time_left
from headgate.domain.workloads.transitions.partial_eviction import ongoing_evictions

AT_ONCE: Instant = 0
StopReason = Literal["ClusterQueueStopped", "LocalQueueStopped"]
STOP_REASONS: tuple[StopReason, ...] = ("ClusterQueueStopped", "LocalQueueStopped")


def due_at(config: Config, workload: Workload) -> Instant | None:
    """The instant at which something must happen to it; `AT_ONCE` for what is overdue now."""
    if needs_attention(config, workload):
        return AT_ONCE
    if workload.finished_at is not None:
        return retention_deadline(config, workload)
    dues = [
        workload.hold.expires_at if workload.hold else None,
        None if has_quota_reservation(workload) else workload.requeue.requeue_at,
        execution_deadline(workload),
        retention_deadline(config, workload),
        eviction_deadline(workload),
        *_dues_of_pods(config, workload),
    ]
    known = [due for due in dues if due is not None]
    return min(known) if known else None


def _dues_of_pods(config: Config, workload: Workload) -> tuple[Instant | None, ...]:
    """What is due because pods are, or are not, ready; nothing where nobody waits for them."""
    if waits_for_pods_ready(config, workload) is None:
        return ()
    return (
        pods_ready_deadline(config, workload),
        retry_deadline(config, workload),
        requeue_count_reset_at(config, workload),
    )


def eviction_deadline(workload: Workload) -> Instant | None:
    """When a soft eviction must have come to its end, as long as nothing followed from that yet."""
    if workload.eviction is None and not workload.pod_evictions:
        return None
    found = next_soft_eviction(workload)
    return found.soft.deadline_at if found is not None and found.soft is not None else None


def next_soft_eviction(workload: Workload) -> Eviction | None:
    """The soft eviction whose time is up first, of those from which nothing followed yet."""
    waiting = [
        (eviction.soft.deadline_at, number, eviction)
        for number, eviction in enumerate(ongoing_evictions(workload))
        if eviction.soft is not None
        and (eviction.forced_at, eviction.stalled_at, eviction.stopping_at) == (None, None, None)
    ]
    return min(waiting)[2] if waiting else None


def needs_attention(config: Config, workload: Workload) -> bool:
    """Whether something follows from its state and its queues without any time passing."""
    if workload.terminating_at is not None:
        return not has_quota_reservation(workload) or workload.eviction is None
    if workload.finished_at is not None:
        return False
    if workload.cancelling_at is not None:
        return not has_quota_reservation(workload) or workload.eviction is None
    if has_quota_reservation(workload):
        return workload.eviction is None and (
            not workload.spec.active
            or stop_reason(config, workload) is not None
            or bool(missing_queue_reason(config, workload))
            or (
                bool(checks_outcome(config, workload))
                and not awaits_unblocked_admission(config, workload)
            )
        )
    return is_requeue_due(config, workload) or (
        workload.spec.active and has_no_execution_time_left(workload)
    )


def stop_reason(config: Config, workload: Workload) -> StopReason | None:
    """The stop that takes its place away: `ClusterQueueStopped` or `LocalQueueStopped`.

    HoldAndDrain takes it from those that run, any stop from those that only reserved.
    """
    policies = ("HoldAndDrain",) if is_admitted(workload) else ("Hold", "HoldAndDrain")
    queue = config.cluster_queues.get(
        workload.admission.cluster_queue if workload.admission else ""
    )
    if queue is not None and queue.spec.stop_policy in policies:
        return "ClusterQueueStopped"
    local = local_queue_of(config, workload)
    if local is not None and local.spec.stop_policy in policies:
        return "LocalQueueStopped"
    return None


def missing_queue_reason(config: Config, workload: Workload) -> str:
    """Why a reservation that is not yet an admission has no queue any more; empty if it has.

    Nothing is taken from those that run (queueing.md §6, trap T30).
    """
    if workload.admission is None or is_admitted(workload):
        return ""
    local = local_queue_of(config, workload)
    if local is None or local.terminating_at is not None:
        return f"LocalQueue {workload.spec.queue_name} is terminating or missing"
    queue = config.cluster_queues.get(workload.admission.cluster_queue)
    if queue is None or queue.terminating_at is not None:
        return f"ClusterQueue {workload.admission.cluster_queue} is terminating or missing"
    return ""


def is_requeue_due(config: Config, workload: Workload) -> bool:
    """Whether it waits for a second gate that nothing keeps shut any more (traps T1, T10)."""
    requeued = condition(workload, "Requeued")
    if requeued is None or requeued.status or not workload.spec.active:
        return False
    if workload.requeue.requeue_at is not None:
        return False
    return requeued.reason not in STOP_REASONS or not _is_stopped(config, workload)


def waits_for_pods_ready(config: Config, workload: Workload) -> WaitForPodsReady | None:
    """The timeouts of the ClusterQueue that it is charged to or waits for, or the default ones."""
    return pods_ready_rules(config, cluster_queue_of(config, workload))


def pods_ready_deadline(config: Config, workload: Workload) -> Instant | None:
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


def retry_deadline(config: Config, workload: Workload) -> Instant | None:
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


def requeue_count_reset_at(config: Config, workload: Workload) -> Instant | None:
    """When pods have been ready for so long that earlier timeouts count no more."""
    waits = waits_for_pods_ready(config, workload)
    ready = condition(workload, "PodsReady")
    if waits is None or ready is None or not workload.requeue.count:
        return None
    after = waits.requeuing_strategy.reset_after_seconds
    if after is None or not _runs(workload) or not is_condition_true(workload, "PodsReady"):
        return None
    return seconds_after(ready.last_transition_at, after)


def retention_deadline(config: Config, workload: Workload) -> Instant | None:
    """When one that has ended, or was deactivated by a limit or check, is deleted (§5.9)."""
    if workload.finished_at is not None:
        after = config.configuration.retention.after_finished_seconds
        return None if after is None else seconds_after(workload.finished_at, after)
    found = workload.deactivation
    if found is None or found.cause == "Requested" or has_quota_reservation(workload):
        return None
    after = config.configuration.retention.after_deactivated_seconds
    if after is None:
        return None
    return seconds_after(found.deactivated_at, after)


def execution_deadline(workload: Workload) -> Instant | None:
    """When it will have run as long as it may, over all its runs (queueing.md §5.8)."""
    most = workload.spec.maximum_execution_time_seconds
    if most is None or not _runs(workload):
        return None
    admitted = condition(workload, "Admitted")
    assert admitted is not None, "what runs has been admitted"
    return seconds_after(admitted.last_transition_at, most - workload.accumulated_execution_seconds)


def _runs(workload: Workload) -> bool:
    return is_admitted(workload) and workload.finished_at is None and workload.eviction is None


def _is_stopped(config: Config, workload: Workload) -> bool:
    local = local_queue_of(config, workload)
    if local is None:
        return True
    queue = config.cluster_queues.get(local.spec.cluster_queue)
    return local.spec.stop_policy != "None" or queue is None or queue.spec.stop_policy != "None"


class Timers:
    """The due instant of each workload that has one; changing one costs the same however many."""

    def __init__(self) -> None:
        self.due: dict[str, Instant] = {}
        self._heap: list[tuple[Instant, str]] = []

    def set(self, key: str, due: Instant | None) -> None:
        """From now on this is when it is due; None for not at all."""
        if due == self.due.get(key):
            return
        if due is None:
            del self.due[key]
            return
        self.due[key] = due
        heapq.heappush(self._heap, (due, key))
        if len(self._heap) > 2 * len(self.due) + 64:
            self._heap = sorted((instant, name) for name, instant in self.due.items())

    def fired(self, at: Instant) -> list[str]:
        """Everyone due by `at`, the earliest first; they stay due until their state changes."""
        if not self._earliest_by(at):
            return []
        return [
            key for due, key in sorted((due, key) for key, due in self.due.items()) if due <= at
        ]

    def next_due(self) -> Instant | None:
        """The earliest of all."""
        while self._heap:
            due, key = self._heap[0]
            if self.due.get(key) == due:
                return due
            heapq.heappop(self._heap)
        return None

    def _earliest_by(self, at: Instant) -> bool:
        due = self.next_due()
        return due is not None and due <= at
