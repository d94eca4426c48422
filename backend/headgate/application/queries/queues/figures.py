"""What is used, borrowed and lent in the queue tree, and how many workloads stand where."""

from collections.abc import Mapping

import msgspec

from headgate.domain.cell import Cell
from headgate.domain.scheduling.partition.partition import Partition
from headgate.domain.scheduling.placement.host_table import ACTUAL
from headgate.domain.scheduling.quota.tree import FlavorResourceQuantities, QuotaTree
from headgate.domain.scheduling.quota.usage import loans_in_tree
from headgate.domain.values.quantities import FlavorResource, FlavorUsage
from headgate.domain.workloads.state import Workload, is_admitted

Loan = tuple[str, str, int]
"""Borrower, lender, amount; both as nodes of the tree (`clusterqueue/a`, `cohort/b`)."""


class Standing(msgspec.Struct, frozen=True):
    """Usage of one queue: of everyone who holds quota, and of those admitted alone."""

    reserved: FlavorUsage
    admitted: FlavorUsage


def standing_of(cell: Cell, cluster_queue: str, local_queue: str = "") -> Standing:
    """What a ClusterQueue's workloads hold, or those of one of its LocalQueues (`ns/name`)."""
    key = cell.partitioning.of_cluster_queue.get(cluster_queue)
    reserved: FlavorUsage = {}
    admitted: FlavorUsage = {}
    if key is None:
        return Standing(reserved, admitted)
    partition = cell.partition(key)
    for name in partition.charges.holding.get(cluster_queue, ()):
        workload = cell.workloads[name]
        if local_queue and local_queue != local_queue_key(workload):
            continue
        amounts = taken_by(partition, workload)
        _add(reserved, amounts)
        if is_admitted(workload):
            _add(admitted, amounts)
    return Standing(reserved, admitted)


def local_queue_key(workload: Workload) -> str:
    """The LocalQueue of a workload as `namespace/name`."""
    return f"{workload.namespace}/{workload.spec.queue_name}"


def taken_by(partition: Partition, workload: Workload) -> FlavorResourceQuantities:
    """The quota a workload holds now."""
    if workload.admission is None:
        return {}
    return partition.charges.charge_of(workload, workload.admission).amounts


def counts_of(cell: Cell, name: str) -> Mapping[str, int]:
    """Workloads by phase of `clusterqueue/x`, `localqueue/ns/x`, or of all for an empty name."""
    return cell.partitioning.counts.get(name, {})


def used_below(partition: Partition, node: str, key: FlavorResource) -> int:
    """What all ClusterQueues at or below a node use."""
    if node.startswith("clusterqueue/"):
        return partition.usage[ACTUAL][node].get(key, 0)
    return sum(used_below(partition, child, key) for child in partition.tree.children[node])


def nominal_below(tree: QuotaTree, node: str, key: FlavorResource) -> int:
    """The nominal quota of a node and of everything below it."""
    below = sum(nominal_below(tree, child, key) for child in tree.children[node])
    return tree.nominal(node, key) + below


def used_beyond_quota(partition: Partition, node: str, key: FlavorResource) -> int:
    """What the ClusterQueues at or below a node use beyond their own quota, borrowed or not."""
    if node.startswith("clusterqueue/"):
        used = partition.usage[ACTUAL][node].get(key, 0)
        return max(0, used - partition.tree.nominal(node, key))
    below = partition.tree.children[node]
    return sum(used_beyond_quota(partition, child, key) for child in below)


def loans(partition: Partition, key: FlavorResource) -> list[Loan]:
    """Who uses whose quota, in every tree of the partition."""
    tree = partition.tree
    roots = sorted({path[-1] for path in tree.path.values()})
    return [
        (loan.borrower, loan.lender, loan.amount)
        for root in roots
        for loan in loans_in_tree(tree, partition.usage[ACTUAL], root, key)
    ]


def _add(total: FlavorUsage, amounts: Mapping[FlavorResource, int]) -> None:
    for key, amount in amounts.items():
        total[key] = total.get(key, 0) + amount
