"""The order of pending workloads, and which of them are alike (queueing.md §2.2, §2.6)."""

from typing import TypeAlias

from headgate.domain.kinds.cluster_queue import ClusterQueueSpec
from headgate.domain.values.instants import Instant
from headgate.domain.workloads.pods.trimmed_assignments import needed_pod_sets
from headgate.domain.workloads.predicates import closed_preemption_gates
from headgate.domain.workloads.specs import ALLOWED_FLAVORS, REPLACES, PodSet
from headgate.domain.workloads.state import Workload, condition

Order: TypeAlias = tuple[int, Instant, str, str]
"""Sorts the more urgent first: priority descending, queued at, uid, key."""

LineOrder: TypeAlias = tuple[bool, int, Instant, str, str]
"""Sorts who is first in the line of one ClusterQueue; ends in the key as `Order` does."""

Shape: TypeAlias = tuple[object, ...]
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


def order_of(workload: Workload, spec: ClusterQueueSpec) -> Order:
    """Its place among those of other ClusterQueues; total, as no two share a key."""
    return (-workload.spec.priority, queued_at(workload, spec), workload.uid, workload.key)


def line_order_of(workload: Workload, spec: ClusterQueueSpec) -> LineOrder:
    """Its place in the line of its ClusterQueue.

    Where the best effort counts, one that others make room for goes first, so that it gets the
    room; in a strict line it waits its turn (queueing.md §2.5).
    """
    is_sticky = workload.round_id is not None and spec.queueing_strategy == "BestEffortFIFO"
    return (not is_sticky, *order_of(workload, spec))


def priority_of(order: LineOrder) -> int:
    """The priority of whoever has this place."""
    return -order[1]


def shape_of(workload: Workload, lane: str = "") -> Shape:
    """Everything about it that decides whether and where it fits, and the lane it waits in."""
    spec = workload.spec
    return (
        lane,
        spec.priority,
        spec.can_preempt,
        closed_preemption_gates(workload),
        workload.round_id,
        workload.annotations.get(ALLOWED_FLAVORS, ""),
        workload.annotations.get(REPLACES, ""),
        *map(_pod_set_shape, needed_pod_sets(spec.pod_sets, workload.reclaimable)),
    )


def _pod_set_shape(pod_set: PodSet) -> Shape:
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
