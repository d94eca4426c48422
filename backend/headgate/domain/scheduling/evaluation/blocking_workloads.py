"""Who holds what another could use: only those whose leaving brings a ClusterQueue nearer to more.

What a queue uses within its guarantee is of no use to others, and where a borrowing limit is what
ends, only what is used below it counts (queueing.md §4.1).
"""

from collections.abc import Iterator, Mapping
from heapq import nsmallest

from headgate.domain.scheduling.explanation.explain import QuotaSupply
from headgate.domain.scheduling.partition.partition import Partition
from headgate.domain.scheduling.placement.host_table import ACTUAL
from headgate.domain.scheduling.quota.usage import limiting_node, potential_without_borrowing_limit
from headgate.domain.scheduling.results import QuotaResult
from headgate.domain.values.quantities import FlavorResource
from headgate.domain.workloads.state import Workload

MAX_HOLDERS = 5


def quota_supply(
    partition: Partition,
    workloads: Mapping[str, Workload],
    cluster_queue: str,
    key: FlavorResource,
    answer: QuotaResult,
) -> QuotaSupply:
    """Where a ClusterQueue could get more of a flavor's resource than it was answered."""
    if answer.reason == "ExceedsMaxQuota":
        node = f"clusterqueue/{cluster_queue}"
        return QuotaSupply(
            max_without_borrowing_limit=potential_without_borrowing_limit(partition.tree, node, key)
        )
    if answer.is_non_preemptible or answer.is_withheld:
        return QuotaSupply(
            _own(partition, workloads, cluster_queue, key, immune=answer.is_non_preemptible)
        )
    return QuotaSupply(top_holders(partition, cluster_queue, key))


def top_holders(partition: Partition, cluster_queue: str, key: FlavorResource) -> tuple[str, ...]:
    """Who holds most of a flavor's resource where this ClusterQueue can get it from.

    Worked out once for all who wait in a tree until anyone's charge changes. Where some keep a part
    of their quota to themselves, it depends on all that is used, also on room kept within a cycle,
    and is worked out anew.
    """
    tree, node = partition.tree, f"clusterqueue/{cluster_queue}"
    limit = limiting_node(tree, partition.usage[ACTUAL], node, key)
    if any(kept.get(key) for kept in tree.local_quota.values()):
        return _first(_useful(partition, node, limit, key))
    known = partition.charges.known_holders.get((limit, key))
    if known is None:
        known = partition.charges.known_holders[limit, key] = _first(
            _useful(partition, node, limit, key)
        )
    return known


def _useful(
    partition: Partition, node: str, limit: str, key: FlavorResource
) -> Iterator[tuple[int, str]]:
    """Everyone below the limit, with how much of what each holds would get through to the node."""
    for name in partition.cluster_queues:
        most = _passed_on(partition, f"clusterqueue/{name}", (node, limit), key)
        if most <= 0:
            continue
        for workload_key, charge in partition.charges.holding[name].items():
            if amount := min(most, charge.amounts.get(key, 0)):
                yield -amount, workload_key


def _passed_on(
    partition: Partition, other: str, between: tuple[str, str], key: FlavorResource
) -> int:
    """How much of what a ClusterQueue uses would get through, if given back, to another one."""
    tree, used = partition.tree, partition.usage[ACTUAL]
    node, limit = between
    reach = tree.path[node][: tree.path[node].index(limit) + 1]
    most = used[other].get(key, 0)
    for step in tree.path[other]:
        if step in reach:
            return most
        most = min(most, used[step].get(key, 0) - tree.local_quota[step].get(key, 0))
    return 0


def _own(
    partition: Partition,
    workloads: Mapping[str, Workload],
    cluster_queue: str,
    key: FlavorResource,
    *,
    immune: bool,
) -> tuple[str, ...]:
    """Who holds most through the same ClusterQueue, of those who may not be preempted or may."""
    return _first(
        (-charge.amounts[key], name)
        for name, charge in partition.charges.holding[cluster_queue].items()
        if charge.amounts.get(key)
        and (workloads[name].spec.preemptibility != "Preemptible") is immune
    )


def _first(held: Iterator[tuple[int, str]]) -> tuple[str, ...]:
    return tuple(name for _, name in nsmallest(MAX_HOLDERS, held))
