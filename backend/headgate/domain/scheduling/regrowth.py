"""Pods that preemption took come back where there is room (KEP-5710, story 3: degraded mode).

The workload kept running with fewer pods. Those that run stay where they are, and the others, the
lowest missing indices first, get the flavors of their pod set and hosts beside them, under the
rules of its topology request.
"""

from msgspec.structs import replace

from headgate.domain.recorded_event import workload_stream
from headgate.domain.scheduling.cycle_context import CycleContext
from headgate.domain.scheduling.partition.partition import Partition
from headgate.domain.scheduling.placement.host_table import Ints
from headgate.domain.scheduling.placement.replacement import add_pods
from headgate.domain.scheduling.queueing.queue_checks import check_queues
from headgate.domain.scheduling.quota.usage import QuotaView
from headgate.domain.scheduling.results import PlacementShortfall
from headgate.domain.scheduling.second_pass import (
    by_priority_and_age,
    own_neighbors,
    placement_context,
)
from headgate.domain.values.message import error_message
from headgate.domain.workloads.admission import Admission, awaits_topology, with_pod_count
from headgate.domain.workloads.pods.eviction_units import lost_pods
from headgate.domain.workloads.preemption_events import WorkloadGrown
from headgate.domain.workloads.specs import unit_size
from headgate.domain.workloads.state import Workload, is_admitted
from headgate.domain.workloads.transitions.admission_checks import pod_sets_after_checks


def grow_back(cycle: CycleContext) -> None:
    """Give shrunk workloads pods back, in order of priority and age.

    Called where a cycle decides nothing else, so that pending workloads go first. A pending
    workload of at least its priority that could start keeps a workload of its cohort tree from
    growing: the capacity is left to it.
    """
    shrunk = cycle.partition.charges.shrunk
    if not shrunk:
        return
    workloads = cycle.cluster_state.workloads
    wanted: dict[str, int | None] = {}
    for workload in by_priority_and_age([workloads[key] for key in shrunk]):
        if not _has_quota_for_more(cycle.partition, workload) or _yields(cycle, workload, wanted):
            continue
        cycle.evaluation_count += 1
        try:
            grown = _grown(cycle.partition, workload)
        except Exception as error:  # noqa: BLE001 - one poison object must not stop all others
            cycle.cluster_state.quarantine(workload_stream(workload.key), error_message(error))
            continue
        if grown is not None:
            cycle.decide((workload_stream(workload.key), grown))


def _has_quota_for_more(partition: Partition, workload: Workload) -> bool:
    """Whether a workload that may grow has quota for one unit of some pod set at least."""
    before = workload.admission
    assert before is not None, "a shrunk workload has an admission"
    is_able = is_admitted(workload) and not workload.unhealthy_nodes and not awaits_topology(before)
    if not is_able or check_queues(partition.config, workload) is not None:
        return False
    return any(
        _fits_quota(partition, workload, _with_pods_back(before, name, 1))
        for name in lost_pods(workload)
    )


def _yields(cycle: CycleContext, workload: Workload, wanted: dict[str, int | None]) -> bool:
    """Whether a pending workload of the cohort tree goes first; `wanted` keeps what was found."""
    assert workload.admission is not None, "a shrunk workload has an admission"
    tree = cycle.partition.tree
    root = tree.root_of(f"clusterqueue/{workload.admission.cluster_queue}")
    if root not in wanted:
        wanted[root] = _wanted_priority(cycle, root)
    highest = wanted[root]
    return highest is not None and highest >= workload.spec.priority


def _wanted_priority(cycle: CycleContext, root: str) -> int | None:
    """The highest priority of a pending workload that could start below a root of the tree."""
    partition, workloads = cycle.partition, cycle.cluster_state.workloads
    pending = (
        workloads[key]
        for name, queue in partition.pending.items()
        if partition.tree.root_of(f"clusterqueue/{name}") == root
        for key in queue.in_heap
    )
    return max(
        (
            each.spec.priority
            for each in pending
            if each.explanation is None or not each.explanation.is_unschedulable
        ),
        default=None,
    )


def _grown(partition: Partition, workload: Workload) -> WorkloadGrown | None:
    """The event that gives pods back, as many as there is room for; None for none."""
    admission, back = workload.admission, dict[str, int]()
    assert admission is not None, "a shrunk workload has an admission"
    pod_sets = {pod_set.name: pod_set for pod_set in workload.spec.pod_sets}
    assumed: dict[str, Ints] = {}
    for name, missing in lost_pods(workload).items():
        size = unit_size(pod_sets[name])
        found = _most_pods_back(partition, workload, admission, assumed, (name, missing, size))
        if found is not None:
            admission, back[name] = found
    return WorkloadGrown(pods=back, admission=admission) if back else None


def _most_pods_back(
    partition: Partition,
    workload: Workload,
    admission: Admission,
    assumed: dict[str, Ints],
    missing: tuple[str, int, int],
) -> tuple[Admission, int] | None:
    """The admission with the most of some missing pods, in units of a size, and how many these are.

    All are tried first, then fewer by bisection. What is added is assumed.
    """
    name, count, size = missing
    counts = [some for some in range(count % size, count + 1, size) if some]
    best: tuple[Admission, int, dict[str, Ints]] | None = None
    low, high, number = 0, len(counts), len(counts) - 1
    while low < high:
        taken = dict(assumed)
        found = _with_hosts(partition, workload, admission, taken, (name, counts[number]))
        if found is None:
            high = number
        else:
            best, low = (found, counts[number], taken), number + 1
        number = (low + high) // 2
    if best is None:
        return None
    assumed.update(best[2])
    return best[0], best[1]


def _with_hosts(
    partition: Partition,
    workload: Workload,
    admission: Admission,
    assumed: dict[str, Ints],
    back: tuple[str, int],
) -> Admission | None:
    """The admission with more pods of a pod set on free quota and hosts; None without room."""
    name, count = back
    grown = _with_pods_back(admission, name, count)
    if not _fits_quota(partition, workload, grown):
        return None
    given = next(each for each in grown.pod_set_assignments if each.name == name)
    if given.topology_assignment is None:
        return grown
    context = placement_context(
        partition, given, assumed, own_neighbors(partition, workload, admission, ())
    )
    if context is None:
        return None
    pod_set = replace(pod_sets_after_checks(workload)[name], count=given.count)
    found = add_pods(context, pod_set, given.topology_assignment)
    if isinstance(found, PlacementShortfall):
        return None
    placed = tuple(
        replace(each, topology_assignment=found) if each.name == name else each
        for each in grown.pod_set_assignments
    )
    return replace(grown, pod_set_assignments=placed)


def _with_pods_back(admission: Admission, name: str, count: int) -> Admission:
    """The admission with the quota of so many more pods of a pod set, which have no hosts yet."""
    given = tuple(
        with_pod_count(each, each.count + count) if each.name == name else each
        for each in admission.pod_set_assignments
    )
    return replace(admission, pod_set_assignments=given)


def _fits_quota(partition: Partition, workload: Workload, grown: Admission) -> bool:
    """Whether what an admission takes beyond the present one fits both views."""
    charges = partition.charges
    held = charges.held_by(workload).amounts
    amounts = {
        key: amount - held.get(key, 0)
        for key, amount in charges.charge_of(workload, grown).amounts.items()
    }
    quota = QuotaView(partition.tree, *partition.usage)
    return quota.fits(f"clusterqueue/{grown.cluster_queue}", amounts)
