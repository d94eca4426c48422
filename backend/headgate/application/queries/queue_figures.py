"""What is used, borrowed and lent in the queue tree, and how many workloads stand where."""

from collections.abc import Mapping

import msgspec

from headgate.domain.cell import Cell
from headgate.domain.scheduling.partition import Partition
from headgate.domain.scheduling.placement.hosts import ACTUAL
from headgate.domain.scheduling.quota.tree import Amounts, QuotaTree
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
    for name in partition.holding.get(cluster_queue, ()):
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


def taken_by(partition: Partition, workload: Workload) -> Amounts:
    """The quota a workload holds now."""
    if workload.admission is None:
        return {}
    return partition.charge_of(workload, workload.admission).amounts


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


def loans(partition: Partition, key: FlavorResource) -> list[Loan]:
    """Who uses whose quota: the nearest lender first, then by name; the same for the same usage."""
    tree = partition.tree
    idle = {node: _idle(partition, node, key) for node in tree.path}
    found: list[Loan] = []
    for borrower in sorted(node for node in tree.path if node.startswith("clusterqueue/")):
        missing = used_below(partition, borrower, key) - tree.nominal(borrower, key)
        for lender in _lenders(tree, borrower):
            if missing <= 0:
                break
            amount = min(missing, idle[lender])
            if amount > 0:
                idle[lender] -= amount
                missing -= amount
                found.append((borrower, lender, amount))
    return found


def _idle(partition: Partition, node: str, key: FlavorResource) -> int:
    """What a node has and may lend of its own."""
    tree = partition.tree
    nominal = tree.nominal(node, key)
    if node.startswith("cohort/"):
        return nominal
    unused = max(0, nominal - used_below(partition, node, key))
    quota = tree.quotas[node].get(key)
    limit = quota.lending_limit if quota else None
    return unused if limit is None else min(unused, limit)


def _lenders(tree: QuotaTree, borrower: str) -> list[str]:
    """Everyone in the tree but the borrower, those that share its lowest cohort first."""
    seen = {borrower: None}
    for above in tree.path[borrower][1:]:
        for node in sorted(_at_or_below(tree, above)):
            seen.setdefault(node)
    return list(seen)[1:]


def _at_or_below(tree: QuotaTree, node: str) -> list[str]:
    below = [n for child in tree.children[node] for n in _at_or_below(tree, child)]
    return [node, *below]


def _add(total: FlavorUsage, amounts: Mapping[FlavorResource, int]) -> None:
    for key, amount in amounts.items():
        total[key] = total.get(key, 0) + amount
