"""How a workload waits in the line of its ClusterQueue, as its queues and its own state let it."""

from headgate.domain.config import Config
from headgate.domain.queues.specs import ClusterQueueSpec
from headgate.domain.scheduling.ordering.order import line_order_of, shape_of
from headgate.domain.scheduling.ordering.pending import Waiting
from headgate.domain.scheduling.standing import (
    local_queue_obstacle,
    namespace_obstacle,
    queue_obstacle,
)
from headgate.domain.workloads.leaving import is_gated, may_compete
from headgate.domain.workloads.state import Workload

BY_USAGE = "UsageBasedAdmissionFairSharing"
"""The admission mode in which LocalQueues that used little come first."""


def competes(config: Config, workload: Workload) -> bool:
    """Whether it is to be looked at when it is its turn."""
    return may_compete(workload) and queue_obstacle(config, workload) is None


def waiting_of(
    config: Config, workload: Workload, spec: ClusterQueueSpec, *, has_obstacle: bool
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
        and may_compete(workload)
        and namespace_obstacle(config, workload, spec) is None
    )
    if not is_competitor and not _waits(workload):
        return None
    return Waiting(
        line_order_of(workload, spec),
        shape_of(workload),
        workload.explanation is not None,
        f"{workload.namespace}/{workload.spec.queue_name}" if shares_by_usage(config, spec) else "",
        is_competitor,
    )


def shares_by_usage(config: Config, spec: ClusterQueueSpec) -> bool:
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
        and not is_gated(workload)
    )
