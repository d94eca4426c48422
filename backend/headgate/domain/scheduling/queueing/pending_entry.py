"""The entry of a workload in the pending queue of its ClusterQueue."""

import msgspec

from headgate.domain.kinds.cluster_queue import ClusterQueueSpec
from headgate.domain.object_set import ObjectSet
from headgate.domain.scheduling.ordering.entry_order import queue_order
from headgate.domain.scheduling.ordering.pending_places import (
    ClassParts,
    EquivalenceClass,
    PendingEntry,
)
from headgate.domain.scheduling.queueing.queue_checks import (
    check_local_queue,
    check_namespace,
    check_queues,
)
from headgate.domain.scheduling.results import BLOCKED_BY_CYCLE_GUARD
from headgate.domain.values.selectors import PodConstraints
from headgate.domain.workloads.admission import needed_pod_sets
from headgate.domain.workloads.pods.templates import pod_labels
from headgate.domain.workloads.predicates import (
    closed_preemption_gates,
    has_admission_gates,
    is_admissible,
)
from headgate.domain.workloads.specs import ALLOWED_FLAVORS, REPLACES, PodSet
from headgate.domain.workloads.state import Workload

USAGE_BASED = "UsageBasedAdmissionFairSharing"
"""The admission mode that puts LocalQueues with the least usage first (KEP-4136)."""

WAITING_FOR_EVICTIONS = "WaitingForPreemptedWorkloads"
"""The pending reason of a workload that fits once running evictions have finished."""

WAITING_FOR_PODS_READY = "WaitingForPodsReady"
"""The pending reason of a workload that fits, while admission is blocked."""


def is_admission_candidate(config: ObjectSet, workload: Workload) -> bool:
    """Whether a workload is evaluated once it is the head of its queue."""
    return is_admissible(workload) and check_queues(config, workload) is None


def is_unadmitted(workload: Workload | None) -> bool:
    """Whether a workload may be in a pending queue at all."""
    return workload is not None and workload.admission is None and workload.finished_at is None


def reserves_quota_while_pending(config: ObjectSet, workload: Workload) -> bool:
    """Whether quota is kept for a workload while it is pending; its end frees it."""
    if workload.spec.preemptibility == "Preemptible":
        return False
    local = config.local_queues.get(workload.local_queue_key)
    queue = config.cluster_queues.get(local.spec.cluster_queue) if local else None
    return queue is not None and queue.spec.preemption.reserve_for_pending_non_preemptible


def pending_entry(
    config: ObjectSet, workload: Workload, spec: ClusterQueueSpec, *, is_inactive: bool
) -> PendingEntry | None:
    """Returns the workload's entry in the pending queue of a ClusterQueue; None if not pending.

    `is_inactive`: the ClusterQueue admits no workload now.

    A workload in backoff or of an inactive ClusterQueue is suspended: it keeps its position and is
    counted (trap Q9). The workloads of a stopped LocalQueue are no entries (queueing.md §6).
    """
    if check_local_queue(config, workload) is not None:
        return None
    is_competitor = (
        not is_inactive
        and is_admissible(workload)
        and check_namespace(config, workload, spec) is None
    )
    if not is_competitor and not _becomes_candidate_later(workload):
        return None
    by_usage = uses_admission_fair_sharing(config, spec)
    local_queue = workload.local_queue_key if by_usage else ""
    return PendingEntry(
        queue_order(workload, spec),
        EquivalenceClass(_class_while_pending(workload, local_queue)),
        workload.explanation is not None,
        local_queue,
        is_competitor,
        requeues_on_usage_increase(workload, spec),
        workload.spec.queue_name,
    )


def preemption_enabled(spec: ClusterQueueSpec) -> bool:
    """Whether workloads of a ClusterQueue may preempt at all."""
    policies = spec.preemption
    return not policies.within_cluster_queue == policies.reclaim_within_cohort == "Never"


def reclaim_enabled(spec: ClusterQueueSpec) -> bool:
    """Whether workloads of a ClusterQueue may preempt in other ClusterQueues."""
    return bool(spec.cohort_name) and spec.preemption.reclaim_within_cohort != "Never"


def requeues_on_usage_increase(workload: Workload, spec: ClusterQueueSpec) -> bool:
    """Whether a workload may become admissible where other workloads take capacity.

    Capacity that it counted on may be taken, so that it needs other victims, or fits at once with
    fewer pods or in another flavor; a cycle of evictions may open; and a workload slice takes over
    the quota of the slice that it replaces.
    """
    if REPLACES in workload.annotations:
        return True
    if any(each.affinity or each.spread for each in _constraints(workload)):
        return True
    found = workload.explanation
    if found is None:
        return False
    if found.dominant == WAITING_FOR_EVICTIONS:
        return True
    may_preempt = workload.spec.can_preempt and preemption_enabled(spec)
    is_blocked = found.dominant == WAITING_FOR_PODS_READY
    return may_preempt and (is_blocked or _closes_eviction_cycle(workload))


def _constraints(workload: Workload) -> list[PodConstraints]:
    """What the pods of a workload require of the pods around them."""
    return [
        pod_set.scheduling.pod_constraints
        for pod_set in workload.spec.pod_sets
        if pod_set.scheduling.pod_constraints is not None
    ]


def _class_while_pending(workload: Workload, local_queue: str) -> ClassParts:
    """A workload refused by the cycle guard is a class of its own: others have another past.

    So is one that pods of others keep from hosts by its labels, which are no part of its class.
    """
    shape = equivalence_class(workload, local_queue)
    if workload.explanation is None:
        return shape
    is_own = _closes_eviction_cycle(workload) or _is_repelled(workload)
    return (*shape, workload.key) if is_own else shape


def _is_repelled(workload: Workload) -> bool:
    found = workload.explanation
    return (
        found is not None
        and not _constraints(workload)
        and any(
            excluded.cause == "PodAntiAffinity"
            for blocker in found.blockers
            for excluded in blocker.excluded_hosts
        )
    )


def _closes_eviction_cycle(workload: Workload) -> bool:
    found = workload.explanation
    return found is not None and any(
        blocker.reason == BLOCKED_BY_CYCLE_GUARD for blocker in found.blockers
    )


def uses_admission_fair_sharing(config: ObjectSet, spec: ClusterQueueSpec) -> bool:
    """Whether the past usage of its LocalQueues orders a ClusterQueue (queueing.md §2.9)."""
    enabled = config.configuration.admission_fair_sharing is not None
    return enabled and spec.admission_mode == USAGE_BASED


def _becomes_candidate_later(workload: Workload) -> bool:
    """Whether a workload will compete without further action, now or after its backoff."""
    return (
        workload.admission is None
        and workload.finished_at is None
        and workload.terminating_at is None
        and workload.cancelling_at is None
        and workload.spec.active
        and workload.hold is None
        and not has_admission_gates(workload)
    )


def equivalence_class(workload: Workload, local_queue: str = "") -> ClassParts:
    """Returns all that decides whether and where a workload fits, and its lane."""
    spec = workload.spec
    return (
        local_queue,
        spec.priority,
        spec.preemptibility,
        spec.can_preempt,
        closed_preemption_gates(workload),
        workload.round_id,
        workload.annotations.get(ALLOWED_FLAVORS, ""),
        workload.annotations.get(REPLACES, ""),
        *(
            _pod_set_class(pod_set, workload.namespace)
            for pod_set in needed_pod_sets(spec.pod_sets, workload.reclaimable)
        ),
    )


def _pod_set_class(pod_set: PodSet, namespace: str) -> ClassParts:
    pod = pod_set.scheduling
    requires: ClassParts = ()
    if pod.pod_constraints is not None:
        labels = tuple(sorted(pod_labels(pod_set).items()))
        requires = (namespace, labels, msgspec.json.encode(pod.pod_constraints))
    return (
        *requires,
        pod_set.count,
        pod_set.min_count,
        tuple(sorted(pod.requests.items())),
        tuple(sorted(pod.node_selector.items())),
        pod.tolerations,
        pod.affinity,
        pod_set.topology_request,
        pod_set.needs,
    )
