"""Whether a workload can start at all: its evaluation on the emptied cluster (ADR 0036).

The emptied cluster has the configuration and the nodes of the present one and no workload. Nodes
that are not ready or cordoned count as usable, as they come back without a change of anything; what
pods of others use counts as used. A workload that would not be admitted there is unschedulable: no
end of another workload can help. The verdict holds for an equivalence class of a ClusterQueue until
the configuration or what nodes offer changes.
"""

from msgspec.structs import replace

from headgate.domain.object_set import ObjectSet
from headgate.domain.scheduling.evaluation.evaluate import evaluate_emptied
from headgate.domain.scheduling.evaluation.evaluation_summary import explain_evaluation
from headgate.domain.scheduling.partition.partition import Partition, UnschedulableKey
from headgate.domain.scheduling.placement.group_placement import PodSetPlacement, place_group
from headgate.domain.scheduling.placement.host_table import ACTUAL, PROJECTED
from headgate.domain.scheduling.placement.placement_context import (
    PlacementContext,
    largest_free,
    single_pod_requests,
)
from headgate.domain.scheduling.queueing.pending_entry import equivalence_class
from headgate.domain.scheduling.queueing.queue_checks import check_queues, cluster_queue_of
from headgate.domain.scheduling.quota.usage import available
from headgate.domain.scheduling.results import Mode, PlacementShortfall
from headgate.domain.values.message import Message
from headgate.domain.workloads.explanation import UNSCHEDULABLE, Blocker, Explanation
from headgate.domain.workloads.specs import PodSet
from headgate.domain.workloads.state import Workload

MAX_VERDICTS = 20_000
"""So many verdicts a partition keeps, one for each class."""

STOPPED = ("LocalQueueStopped", "Stopped")
"""Reasons of queues that admit nothing, and say nothing about what they could admit."""

EMPTIED_CODES = {
    "PodsExceedDomain": "PodsExceedLargestDomain",
    "SlicesExceedDomain": "SlicesExceedLargestDomain",
    "PodsExceedHosts": "PodsExceedAllHosts",
    "SlicesExceedHosts": "SlicesExceedAllHosts",
    "NoHostFitsPod": "NoHostHoldsPod",
    "NoHostFitsSlice": "NoHostHoldsSlice",
    "NoHostFitsLeader": "NoHostHoldsLeader",
    "NoHostInDomainFitsLeader": "NoDomainHoldsLeader",
}
"""The codes of shortfalls on hosts that no eviction can end, by those of shortfalls in general."""

PER_POD = "PodExceedsLargestHost"
OF_NON_PREEMPTIBLE = "RequestExceedsNominalQuota"


def unschedulable_reason(
    partition: Partition,
    config: ObjectSet,
    workload: Workload,
    told: dict[UnschedulableKey, Explanation] | None = None,
) -> Explanation | None:
    """Why a workload can never start, with what is free now; None if it could start.

    None as well for a workload without a ClusterQueue that could take it once resumed, and for one
    that has quota, is nominated or ends. `told` keeps what was found, for others at this state.
    """
    if not _lacks_quota(workload) or cluster_queue_of(config, workload) not in partition.pending:
        return None
    failure = check_queues(config, workload)
    if failure is not None and failure.reason not in STOPPED:
        return None
    found = unschedulable_verdict(partition, workload)
    if found is None:
        return None
    if told is None:
        return with_free(partition, workload, found)
    key = _verdict_key(partition, workload)
    if key not in told:
        told[key] = with_free(partition, workload, found)
    return told[key]


def unschedulable_verdict(partition: Partition, workload: Workload) -> Explanation | None:
    """Why a workload of an existing ClusterQueue would not be admitted on the emptied cluster.

    None if it would. Computed once for an equivalence class.
    """
    key, known = _verdict_key(partition, workload), partition.unschedulable
    if key not in known:
        if len(known) >= MAX_VERDICTS:
            known.clear()
        known[key] = _verdict(partition.emptied(), workload)
    return known[key]


def _verdict_key(partition: Partition, workload: Workload) -> UnschedulableKey:
    # Workloads of a class may name their pod sets differently.
    pod_sets = tuple(pod_set.name for pod_set in workload.spec.pod_sets)
    queue = cluster_queue_of(partition.config, workload)
    return (queue, pod_sets, equivalence_class(workload))


def with_free(partition: Partition, workload: Workload, found: Explanation) -> Explanation:
    """The verdict with what is free now of what the emptied cluster has."""
    if not found.blockers:
        return found
    deciding = found.blockers[found.deciding]
    told = replace(deciding, free=_free(partition, workload, deciding))
    before, after = found.blockers[: found.deciding], found.blockers[found.deciding + 1 :]
    return replace(found, blockers=(*before, told, *after))


def _lacks_quota(workload: Workload) -> bool:
    """Whether a workload waits for quota: it is not nominated, has none and does not end."""
    state = (workload.finished_at, workload.terminating_at, workload.cancelling_at)
    reserved = (workload.admission, workload.eviction, workload.round_id)
    return all(each is None for each in (*state, *reserved))


def before_evaluation(never: Explanation, found: Explanation) -> Explanation:
    """The verdict, followed by what the cluster as it is lacks beside that."""
    known = {_shortage(blocker) for blocker in never.blockers}
    others = (b for b in found.blockers if b.type != "Preemption" and _shortage(b) not in known)
    blockers = (*never.blockers, *others)
    return replace(never, evaluation_reason=found.dominant, blockers=blockers)


def _shortage(blocker: Blocker) -> tuple[str, str, str, str]:
    resource = blocker.resource if blocker.type == "Quota" else ""
    return (blocker.type, blocker.pod_set, blocker.flavor, resource)


def _verdict(emptied: Partition, workload: Workload) -> Explanation | None:
    evaluation = evaluate_emptied(emptied, workload)
    if evaluation.mode != Mode.NO_FIT:
        return None
    found = explain_evaluation(emptied, {}, evaluation)
    # The victims of preemption say nothing here, and stand behind everything else.
    blockers = tuple(b for b in found.blockers if b.type != "Preemption")
    told = tuple(_of_emptied(emptied, workload, blocker) for blocker in blockers)
    return replace(found, dominant=UNSCHEDULABLE, blockers=told)


def _of_emptied(emptied: Partition, workload: Workload, blocker: Blocker) -> Blocker:
    """The blocker in the words of the emptied cluster, with the largest host for a single pod."""
    code, arguments = blocker.message.code, blocker.message.arguments
    if code == "NoHostFitsPod" or (code in EMPTIED_CODES and blocker.have == 0):
        largest = _largest_host(emptied, workload, blocker)
        if largest is not None:
            return largest
    return replace(blocker, message=Message(EMPTIED_CODES.get(code, code), arguments))


def _largest_host(emptied: Partition, workload: Workload, blocker: Blocker) -> Blocker | None:
    """The resource of which one pod requests more than any host has; None where there is none."""
    pod_set = _pod_set(workload, blocker.pod_set)
    requests = {n: a for n, a in sorted(single_pod_requests(pod_set).items()) if a}
    most = _most_at_one_host(emptied, pod_set, blocker.flavor, (ACTUAL,))
    short = [name for name, amount in requests.items() if amount > most[name]]
    if not short:
        return None
    name = max(short, key=lambda each: (requests[each] - most[each]) / requests[each])
    return replace(
        blocker,
        message=Message(PER_POD, {}),
        level="",
        domain="",
        resource=name,
        need=requests[name],
        have=most[name],
        short_by=requests[name] - most[name],
    )


def _most_at_one_host(
    partition: Partition, pod_set: PodSet, flavor: str, views: tuple[int, ...]
) -> dict[str, int]:
    """The most that one host for such pods has free of each resource that a pod requests."""
    context = _context(partition, flavor, views)
    return largest_free(context, pod_set.scheduling, single_pod_requests(pod_set))


def _free(partition: Partition, workload: Workload, blocker: Blocker) -> int | None:
    """What is free now, in the unit of the blocker; None where the blocker has no amount."""
    if blocker.have is None or blocker.message.code == OF_NON_PREEMPTIBLE:
        return None
    if blocker.type == "Quota":
        node = f"clusterqueue/{cluster_queue_of(partition.config, workload)}"
        key = (blocker.flavor, blocker.resource)
        return max(0, min(available(partition.tree, each, node, key) for each in partition.usage))
    if blocker.flavor not in partition.topologies:
        return None
    pod_set, views = _pod_set(workload, blocker.pod_set), (ACTUAL, PROJECTED)
    if blocker.message.code == PER_POD:
        most = _most_at_one_host(partition, pod_set, blocker.flavor, views)
        return most[blocker.resource]
    placement = PodSetPlacement(_context(partition, blocker.flavor, views), pod_set)
    found = place_group(placement, None)
    return found.fits if isinstance(found, PlacementShortfall) else None


def _context(partition: Partition, flavor: str, views: tuple[int, ...]) -> PlacementContext:
    return PlacementContext(
        partition.hosts,
        partition.topologies[flavor],
        partition.config.resource_flavors[flavor].spec,
        views,
        {},
        rules=partition.config.configuration.topology,
    )


def _pod_set(workload: Workload, name: str) -> PodSet:
    return next(each for each in workload.spec.pod_sets if each.name == name)
