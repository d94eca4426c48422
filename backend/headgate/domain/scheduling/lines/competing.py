"""How a workload waits in the line of its ClusterQueue, as its queues and its own state let it."""

from headgate.domain.kinds.cluster_queue import ClusterQueueSpec
from headgate.domain.object_set import ObjectSet
from headgate.domain.scheduling.lines.standing import (
    local_queue_obstacle,
    namespace_obstacle,
    queue_obstacle,
)
from headgate.domain.scheduling.ordering.order import Shape, line_order_of, shape_of
from headgate.domain.scheduling.ordering.pending import Waiting
from headgate.domain.scheduling.preemption.cycle_guard import BLOCKED_BY_CYCLE_GUARD
from headgate.domain.workloads.predicates import has_admission_gates, is_admissible
from headgate.domain.workloads.specs import REPLACES
from headgate.domain.workloads.state import Workload

BY_USAGE = "UsageBasedAdmissionFairSharing"
"""The admission mode in which LocalQueues that used little come first."""

COUNTS_ON_ROOM = ("WaitingForPreemptedWorkloads", "WaitingForPodsReady")
"""Reasons of those who would make others leave if the room they count on went to somebody else."""


def competes(config: ObjectSet, workload: Workload) -> bool:
    """Whether it is to be looked at when it is its turn."""
    return is_admissible(workload) and queue_obstacle(config, workload) is None


def may_wait(workload: Workload | None) -> bool:
    """Whether it can be in a line at all."""
    return workload is not None and workload.admission is None and workload.finished_at is None


def keeps_room(config: ObjectSet, workload: Workload) -> bool:
    """Whether quota is kept for it while it waits, so that others gain where it goes."""
    if workload.spec.preemptibility == "Preemptible":
        return False
    local = config.local_queues.get(f"{workload.namespace}/{workload.spec.queue_name}")
    queue = config.cluster_queues.get(local.spec.cluster_queue) if local else None
    return queue is not None and queue.spec.preemption.reserve_for_pending_non_preemptible


def waiting_of(
    config: ObjectSet, workload: Workload, spec: ClusterQueueSpec, *, has_obstacle: bool
) -> Waiting | None:
    """How it waits in the line of the ClusterQueue with this spec; None if it does not wait.

    `has_obstacle`: the ClusterQueue admits nobody now, as `cluster_queue_obstacle` says.

    One that backs off, or whose ClusterQueue admits nothing, stands beside: it keeps its position
    and is counted (trap T9). A stopped LocalQueue lets nobody into the line (queueing.md §6).
    """
    if local_queue_obstacle(config, workload) is not None:
        return None
    is_competitor = (
        not has_obstacle
        and is_admissible(workload)
        and namespace_obstacle(config, workload, spec) is None
    )
    if not is_competitor and not _waits(workload):
        return None
    by_usage = shares_by_usage(config, spec)
    lane = f"{workload.namespace}/{workload.spec.queue_name}" if by_usage else ""
    return Waiting(
        line_order_of(workload, spec),
        _shape(workload, lane),
        workload.explanation is not None,
        lane,
        is_competitor,
        is_alert(workload, spec),
    )


def preempts(spec: ClusterQueueSpec) -> bool:
    """Whether workloads of a ClusterQueue may make anyone leave at all."""
    policies = spec.preemption
    return not policies.within_cluster_queue == policies.reclaim_within_cohort == "Never"


def reclaims(spec: ClusterQueueSpec) -> bool:
    """Whether workloads of a ClusterQueue may make those of others leave."""
    return bool(spec.cohort_name) and spec.preemption.reclaim_within_cohort != "Never"


def is_alert(workload: Workload, spec: ClusterQueueSpec) -> bool:
    """Whether it may find its turn where others take room, and not only where they leave some.

    Room that was counted on may go, so that others must be made to leave instead; a circle of
    evictions may open; and a slice takes over the quota of the one it replaces.
    """
    if REPLACES in workload.annotations:
        return True
    found = workload.explanation
    if found is None or not (workload.spec.can_preempt and preempts(spec)):
        return False
    return found.dominant in COUNTS_ON_ROOM or _is_in_circle(workload)


def _shape(workload: Workload, lane: str) -> Shape:
    """One whose turn would close a circle stands for nobody else: others have another past."""
    shape = shape_of(workload, lane)
    return (*shape, workload.key) if _is_in_circle(workload) else shape


def _is_in_circle(workload: Workload) -> bool:
    found = workload.explanation
    return found is not None and any(
        blocker.reason == BLOCKED_BY_CYCLE_GUARD for blocker in found.blockers
    )


def shares_by_usage(config: ObjectSet, spec: ClusterQueueSpec) -> bool:
    """Whether past usage of its LocalQueues orders a ClusterQueue (queueing.md §2.9)."""
    enabled = config.configuration.admission_fair_sharing is not None
    return enabled and spec.admission_mode == BY_USAGE


def _waits(workload: Workload) -> bool:
    """Whether it will compete sooner or later without anyone doing anything about it."""
    return (
        workload.admission is None
        and workload.finished_at is None
        and workload.terminating_at is None
        and workload.cancelling_at is None
        and workload.spec.active
        and workload.hold is None
        and not has_admission_gates(workload)
    )
