"""When a workload must be looked at by itself: what is due, and the earliest of many."""

import heapq
from typing import Literal

from headgate.domain.object_set import ObjectSet
from headgate.domain.scheduling.lifecycle.admission_checks import (
    awaits_unblocked_admission,
    checks_outcome,
)
from headgate.domain.scheduling.lifecycle.pods_ready import (
    _runs,
    pods_ready_deadline,
    requeue_count_reset_at,
    retry_deadline,
    waits_for_pods_ready,
)
from headgate.domain.scheduling.lines.standing import (
    local_queue_of,
)
from headgate.domain.values.instants import Instant, seconds_after
from headgate.domain.workloads.predicates import has_quota_reservation
from headgate.domain.workloads.state import (
    Eviction,
    Workload,
    condition,
    is_admitted,
)
from headgate.domain.workloads.transitions.eviction import has_no_execution_time_left
from headgate.domain.workloads.transitions.partial_eviction import ongoing_evictions

AT_ONCE: Instant = 0
StopReason = Literal["ClusterQueueStopped", "LocalQueueStopped"]
STOP_REASONS: tuple[StopReason, ...] = ("ClusterQueueStopped", "LocalQueueStopped")


def due_at(config: ObjectSet, workload: Workload) -> Instant | None:
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


def _dues_of_pods(config: ObjectSet, workload: Workload) -> tuple[Instant | None, ...]:
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


def needs_attention(config: ObjectSet, workload: Workload) -> bool:
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


def stop_reason(config: ObjectSet, workload: Workload) -> StopReason | None:
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


def missing_queue_reason(config: ObjectSet, workload: Workload) -> str:
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


def is_requeue_due(config: ObjectSet, workload: Workload) -> bool:
    """Whether it waits for a second gate that nothing keeps shut any more (traps T1, T10)."""
    requeued = condition(workload, "Requeued")
    if requeued is None or requeued.status or not workload.spec.active:
        return False
    if workload.requeue.requeue_at is not None:
        return False
    return requeued.reason not in STOP_REASONS or not _is_stopped(config, workload)


def retention_deadline(config: ObjectSet, workload: Workload) -> Instant | None:
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


def _is_stopped(config: ObjectSet, workload: Workload) -> bool:
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
