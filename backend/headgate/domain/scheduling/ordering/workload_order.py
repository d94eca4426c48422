"""The order of pending workloads, and which of them are alike (queueing.md §2.2, §2.6)."""

from typing import TypeAlias

from headgate.domain.kinds.cluster_queue import ClusterQueueSpec
from headgate.domain.values.instants import Instant
from headgate.domain.workloads.pods.trimmed_assignments import needed_pod_sets
from headgate.domain.workloads.predicates import closed_preemption_gates
from headgate.domain.workloads.specs import ALLOWED_FLAVORS, REPLACES, PodSet
from headgate.domain.workloads.state import Workload, condition

WorkloadOrder: TypeAlias = tuple[int, Instant, str, str]
"""Sorts the more urgent first: priority descending, queued at, uid, key."""

QueueOrder: TypeAlias = tuple[bool, int, Instant, str, str]
"""Sorts who is first in the line of one ClusterQueue; ends in the key as `WorkloadOrder` does."""

EquivalenceClass: TypeAlias = tuple[object, ...]
"""Workloads of one ClusterQueue with equal shapes fit, or do not fit, alike."""


def queued_at(workload: Workload, spec: ClusterQueueSpec) -> Instant:
    """When it took its place in the line among equals.

    Its creation; after a pods-ready timeout the eviction, unless the queue's policy is Creation;
    after an admission check's eviction that eviction, whatever the policy (trap T13).
    """
    evicted = condition(workload, "Evicted")
    if evicted is None or not evicted.status:
        return workload.created_at
    if evicted.reason == "AdmissionCheck":
        return evicted.last_transition_at
    waits = spec.wait_for_pods_ready
    by_eviction = waits is None or waits.requeuing_strategy.timestamp == "Eviction"
    if evicted.reason == "PodsReadyTimeout" and by_eviction:
        return evicted.last_transition_at
    return workload.created_at


def workload_order(workload: Workload, spec: ClusterQueueSpec) -> WorkloadOrder:
    """Its place among those of other ClusterQueues; total, as no two share a key."""
    return (-workload.spec.priority, queued_at(workload, spec), workload.uid, workload.key)


def queue_order(workload: Workload, spec: ClusterQueueSpec) -> QueueOrder:
    """Its place in the line of its ClusterQueue.

    Where the best effort counts, one that others make room for goes first, so that it gets the
    room; in a strict line it waits its turn (queueing.md §2.5).
    """
    is_sticky = workload.round_id is not None and spec.queueing_strategy == "BestEffortFIFO"
    return (not is_sticky, *workload_order(workload, spec))


def priority_of(order: QueueOrder) -> int:
    """The priority of whoever has this place."""
    return -order[1]


def equivalence_class(workload: Workload, local_queue: str = "") -> EquivalenceClass:
    """Everything about it that decides whether and where it fits, and the lane it waits in."""
    spec = workload.spec
    return (
        local_queue,
        spec.priority,
        spec.can_preempt,
        closed_preemption_gates(workload),
        workload.round_id,
        workload.annotations.get(ALLOWED_FLAVORS, ""),
        workload.annotations.get(REPLACES, ""),
        *map(_pod_set_class, needed_pod_sets(spec.pod_sets, workload.reclaimable)),
    )


def _pod_set_class(pod_set: PodSet) -> EquivalenceClass:
    pod = pod_set.scheduling
    return (
        pod_set.count,
        pod_set.min_count,
        tuple(sorted(pod.requests.items())),
        tuple(sorted(pod.node_selector.items())),
        pod.tolerations,
        pod.affinity,
        pod_set.topology_request,
    )
