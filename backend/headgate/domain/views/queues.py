"""The tree of cohorts and ClusterQueues: nominal, used, borrowed, lent, available."""

from collections.abc import Iterable
from dataclasses import dataclass

from headgate.domain.cell import Cell
from headgate.domain.scheduling.lines.standing import Obstacle
from headgate.domain.scheduling.partition.partition import Partition
from headgate.domain.scheduling.placement.hosts import ACTUAL
from headgate.domain.scheduling.quota.lending import Loan, loans_within
from headgate.domain.scheduling.quota.usage import available
from headgate.domain.values.quantities import FlavorResource


@dataclass(frozen=True, slots=True)
class QueueLine:
    """One flavor's resource at one node, in base units.

    Of a cohort, `nominal` and `used` are sums over everything in it. `borrowed_from` and `lent_to`
    name nodes (`clusterqueue/b`, `cohort/c`).
    """

    flavor: str
    resource: str
    nominal: int
    used: int
    borrowed: int
    lent: int
    available: int
    borrowing_limit: int | None
    lending_limit: int | None
    borrowed_from: tuple[tuple[str, int], ...]
    lent_to: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class QueueNode:
    """A cohort or ClusterQueue; `obstacle` says why a ClusterQueue admits nothing now."""

    kind: str
    name: str
    children: tuple["QueueNode", ...]
    lines: tuple[QueueLine, ...]
    obstacle: Obstacle | None = None


def queue_tree(cell: Cell) -> tuple[QueueNode, ...]:
    """All trees; cohorts without any ClusterQueue are not in it."""
    roots: list[QueueNode] = []
    for key in cell.partition_keys():
        partition = cell.partition(key)
        tree = partition.tree
        tops = sorted(node for node, path in tree.path.items() if len(path) == 1)
        roots.extend(_node(partition, root, _loans_of(partition, root)) for root in tops)
    return tuple(sorted(roots, key=lambda node: (node.kind, node.name)))


def cluster_queue_node(cell: Cell, name: str) -> QueueNode | None:
    """One ClusterQueue with its numbers."""
    key = cell.partitioning.of_cluster_queue.get(name)
    if key is None:
        return None
    partition = cell.partition(key)
    node = f"clusterqueue/{name}"
    return _node(partition, node, _loans_of(partition, partition.tree.root_of(node)))


Loans = dict[FlavorResource, tuple[Loan, ...]]


def _loans_of(partition: Partition, root: str) -> Loans:
    tree, usage = partition.tree, partition.usage[ACTUAL]
    members = [node for node, path in tree.path.items() if path[-1] == root]
    keys = {key for node in members for key in (*tree.quotas[node], *usage[node])}
    return {key: loans_within(tree, usage, root, key) for key in sorted(keys)}


def _node(partition: Partition, node: str, lent: Loans) -> QueueNode:
    kind, _, name = node.partition("/")
    below = partition.tree.children[node]
    inside = _inside(partition, node)
    keys = sorted(
        {
            key
            for member in inside
            for key in (*partition.tree.quotas[member], *partition.usage[ACTUAL][member])
        }
    )
    return QueueNode(
        kind="ClusterQueue" if kind == "clusterqueue" else "Cohort",
        name=name,
        children=tuple(_node(partition, child, lent) for child in below),
        lines=tuple(_line(partition, node, key, lent.get(key, ())) for key in keys),
        obstacle=partition.obstacles.get(name) if kind == "clusterqueue" else None,
    )


def _line(partition: Partition, node: str, key: FlavorResource, lent: Iterable[Loan]) -> QueueLine:
    tree, usage = partition.tree, partition.usage[ACTUAL]
    inside = _inside(partition, node)
    borrowed_from = _summed((loan.lender, loan) for loan in lent if loan.borrower in inside)
    lent_to = _summed((loan.borrower, loan) for loan in lent if loan.lender in inside)
    outside_in = tuple((name, amount) for name, amount in borrowed_from if name not in inside)
    inside_out = tuple((name, amount) for name, amount in lent_to if name not in inside)
    quota = tree.quotas[node].get(key)
    queues = [member for member in inside if member.startswith("clusterqueue/")]
    used = sum(usage[member].get(key, 0) for member in queues)
    return QueueLine(
        flavor=key[0],
        resource=key[1],
        nominal=sum(tree.nominal(member, key) for member in inside),
        used=used,
        borrowed=max(0, usage[node].get(key, 0) - tree.subtree[node].get(key, 0)),
        lent=sum(amount for _, amount in inside_out),
        available=available(tree, usage, node, key),
        borrowing_limit=quota.borrowing_limit if quota else None,
        lending_limit=quota.lending_limit if quota else None,
        borrowed_from=outside_in,
        lent_to=inside_out,
    )


def _inside(partition: Partition, node: str) -> dict[str, None]:
    return {member: None for member, path in sorted(partition.tree.path.items()) if node in path}


def _summed(pairs: Iterable[tuple[str, Loan]]) -> tuple[tuple[str, int], ...]:
    total: dict[str, int] = {}
    for name, loan in pairs:
        total[name] = total.get(name, 0) + loan.amount
    return tuple(sorted(total.items()))
