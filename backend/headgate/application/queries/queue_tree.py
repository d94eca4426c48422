"""The tree of cohorts and ClusterQueues with everything a person asks of it."""

from headgate.application.installation import Installation
from headgate.application.queries.queue_views import (
    Lent,
    LocalQueueLine,
    QueueCounts,
    QueueLine,
    QueueNode,
    QueueTree,
    StopView,
)
from headgate.application.queries.views import timestamp, timestamp_or_none
from headgate.application.visibility import Scope
from headgate.domain.cell import Cell
from headgate.domain.queues.activity import cluster_queue_activity
from headgate.domain.queues.specs import Stop
from headgate.domain.views import queues
from headgate.domain.views.pending import local_queue_counts
from headgate.domain.views.pending import queue_counts as counts_of

WAITING = ("Pending", "Nominated", "BackingOff", "Held")
RUNNING = ("Starting", "Running", "Evicting")


def queue_tree(installation: Installation, scope: Scope) -> QueueTree:
    """All roots, cohorts first; LocalQueues of other teams are left out for submitters."""
    cell = installation.reader.cell
    found = queues.queue_tree(cell)
    roots = [_node(cell, node, scope) for node in found]
    placed = {name for node in found for name in _cohorts_in(node)}
    roots += [_empty_cohort(name) for name in sorted(cell.config.cohorts) if name not in placed]
    at = timestamp(installation.clock.now())
    return QueueTree(position=cell.position, at=at, roots=sorted(roots, key=_order))


def queue_counts(cell: Cell, cluster_queue: str) -> QueueCounts:
    """How many of its workloads stand where; those parked are not counted as pending."""
    counts = counts_of(cell, cluster_queue)
    parked = min(counts.parked, counts.pending)
    return QueueCounts(
        pending=counts.pending - parked,
        parked=parked,
        backing_off=counts.backing_off,
        held=counts.held,
        nominated=counts.nominated,
        reserving=counts.reserving,
        starting=counts.starting,
        running=counts.running,
        evicting=counts.evicting,
    )


def _order(node: QueueNode) -> tuple[bool, str]:
    return (node.kind == "ClusterQueue", node.name)


def _cohorts_in(node: queues.QueueNode) -> list[str]:
    own = [node.name] if node.kind == "Cohort" else []
    return own + [name for child in node.children for name in _cohorts_in(child)]


def _node(cell: Cell, node: queues.QueueNode, scope: Scope) -> QueueNode:
    lines = [_line(line) for line in node.lines]
    if node.kind == "ClusterQueue":
        return _cluster_queue(cell, node.name, lines, scope)
    children = sorted((_node(cell, child, scope) for child in node.children), key=_order)
    return QueueNode(kind="Cohort", name=node.name, children=children, lines=lines)


def _empty_cohort(name: str) -> QueueNode:
    return QueueNode(kind="Cohort", name=name, children=[], lines=[])


def _cluster_queue(cell: Cell, name: str, lines: list[QueueLine], scope: Scope) -> QueueNode:
    queue = cell.config.cluster_queues[name]
    activity = cluster_queue_activity(cell.config, name)
    return QueueNode(
        kind="ClusterQueue",
        name=name,
        children=[],
        lines=lines,
        active=activity.active,
        inactive_reason=None if activity.active else activity.message,
        stop_policy=queue.spec.stop_policy,
        stop=_stop(queue.spec.stop),
        strategy=queue.spec.queueing_strategy,
        counts=queue_counts(cell, name),
        local_queues=_local_queues(cell, name, scope),
    )


def _local_queues(cell: Cell, cluster_queue: str, scope: Scope) -> list[LocalQueueLine]:
    return [
        _local_queue(cell, key)
        for key, queue in sorted(cell.config.local_queues.items())
        if queue.spec.cluster_queue == cluster_queue and (scope is None or queue.namespace in scope)
    ]


def _local_queue(cell: Cell, key: str) -> LocalQueueLine:
    queue = cell.config.local_queues[key]
    phases = local_queue_counts(cell, key)
    return LocalQueueLine(
        namespace=queue.namespace,
        name=queue.name,
        pending=sum(phases.get(phase, 0) for phase in WAITING),
        running=sum(phases.get(phase, 0) for phase in RUNNING),
        stop_policy=queue.spec.stop_policy,
    )


def _line(line: queues.QueueLine) -> QueueLine:
    return QueueLine(
        flavor=line.flavor,
        resource=line.resource,
        nominal=line.nominal,
        used=line.used,
        borrowed=line.borrowed,
        lent=line.lent,
        available=line.available,
        borrowing_limit=line.borrowing_limit,
        lending_limit=line.lending_limit,
        borrowed_from=[_lent(node, amount) for node, amount in line.borrowed_from],
        lent_to=[_lent(node, amount) for node, amount in line.lent_to],
    )


def _lent(node: str, amount: int) -> Lent:
    return Lent(cluster_queue=node.removeprefix("clusterqueue/"), amount=amount)


def _stop(stop: Stop | None) -> StopView | None:
    if stop is None:
        return None
    return StopView(
        owner=stop.owner,
        reason=stop.reason,
        stopped_at=timestamp(stop.stopped_at),
        expires_at=timestamp_or_none(stop.expires_at),
    )
