"""Queues as they stand: their status, and their pending workloads in scheduling order."""

from collections.abc import Iterator, Mapping

import msgspec

from headgate.domain.cluster_state import ClusterState
from headgate.domain.kinds.queue_activity import (
    Activity,
    active_since,
    cluster_queue_activity,
    local_queue_activity,
)
from headgate.domain.recorded_event import kind_and_key
from headgate.domain.scheduling.fair_sharing_orders import local_queue_ranks
from headgate.domain.scheduling.ordering.pending_places import SchedulingOrder
from headgate.domain.scheduling.ordering.pending_queue import PendingQueue
from headgate.domain.scheduling.partition.partition import Partition
from headgate.domain.scheduling.placement.host_table import ACTUAL
from headgate.domain.scheduling.queueing.local_queue_usage import AMOUNT_SCALE, with_penalties
from headgate.domain.scheduling.quota.dominant_resource_share import dominant_resource_share
from headgate.domain.scheduling.quota.tree import FlavorResourceQuantities, QuotaTree
from headgate.domain.scheduling.quota.usage import loans_in_tree
from headgate.domain.values.instants import Instant
from headgate.domain.values.quantities import FlavorResource, FlavorUsage, add_to
from headgate.domain.workloads.state import Workload, is_admitted

QuotaLoan = tuple[str, str, int]
"""Borrower, lender, amount; both as nodes of the tree (`clusterqueue/a`, `cohort/b`)."""


class ReservedUsage(msgspec.Struct, frozen=True):
    """Usage of one queue: by all quota reservations, and by admitted workloads alone."""

    reserved: FlavorUsage
    admitted: FlavorUsage


def reserved_usage(
    cluster_state: ClusterState, cluster_queue: str, local_queue: str = ""
) -> ReservedUsage:
    """What a ClusterQueue's workloads hold, or those of one of its LocalQueues (`ns/name`)."""
    key = cluster_state.partition_index.of_cluster_queue.get(cluster_queue)
    reserved: FlavorUsage = {}
    admitted: FlavorUsage = {}
    if key is None:
        return ReservedUsage(reserved, admitted)
    partition = cluster_state.partition(key)
    counts = counts_of(cluster_state, f"clusterqueue/{cluster_queue}")
    if not local_queue and not any(counts.get(phase) for phase in PERHAPS_NOT_ADMITTED):
        held = partition.usage[ACTUAL][f"clusterqueue/{cluster_queue}"]
        return ReservedUsage(dict(held), dict(held))
    for name in partition.charges.holding.get(cluster_queue, ()):
        workload = cluster_state.workloads[name]
        if local_queue and local_queue != workload.local_queue_key:
            continue
        amounts = usage_of_workload(partition, workload)
        add_to(reserved, amounts)
        if is_admitted(workload):
            add_to(admitted, amounts)
    return ReservedUsage(reserved, admitted)


def usage_of_workload(partition: Partition, workload: Workload) -> FlavorResourceQuantities:
    """The quota a workload holds now."""
    if workload.admission is None:
        return {}
    return partition.charges.held_by(workload).amounts


def counts_of(cluster_state: ClusterState, name: str) -> Mapping[str, int]:
    """Workloads by phase of `clusterqueue/x`, `localqueue/ns/x`, or of all for an empty name."""
    return cluster_state.partition_index.counts.get(name, {})


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


def loans(partition: Partition, key: FlavorResource) -> list[QuotaLoan]:
    """Lending and borrowing between the queues of every tree of the partition."""
    tree = partition.tree
    roots = sorted({path[-1] for path in tree.path.values()})
    return [
        (loan.borrower, loan.lender, loan.amount)
        for root in roots
        for loan in loans_in_tree(tree, partition.usage[ACTUAL], root, key)
    ]


NANO = 10**9


MILLI = 1000


class ConsumedResources(msgspec.Struct, frozen=True):
    """Billionths of base units (cores, bytes, devices) by resource, as they were `at` an instant.

    `about_to_count` are the entry penalties of workloads with reserved quota.
    """

    at: Instant
    nanos: dict[str, int]
    about_to_count: dict[str, int]


def consumed_by(
    cluster_state: ClusterState, local_queue: str, at: Instant
) -> ConsumedResources | None:
    """Of a LocalQueue (`namespace/name`); None while admission fair sharing is switched off."""
    if cluster_state.usage_history.rules is None:
        return None
    found = cluster_state.usage_history.at(local_queue, at)
    total = with_penalties(found)
    pending = {name: total[name] - found.consumed.get(name, 0) for name in sorted(total)}
    return ConsumedResources(found.at, _nanos(found.consumed), _nanos(pending))


def _nanos(amounts: dict[str, int]) -> dict[str, int]:
    """Rounded to the nearest; what rounds to nothing is left out."""
    found = {
        name: (amount * (NANO // MILLI if name == "cpu" else NANO) + AMOUNT_SCALE // 2)
        // AMOUNT_SCALE
        for name, amount in sorted(amounts.items())
    }
    return {name: nanos for name, nanos in found.items() if nanos}


PERHAPS_NOT_ADMITTED = ("QuotaReserved", "Evicting")
"""Phases with a quota reservation in which workloads may not be admitted."""
WAITING = ("Pending", "Nominated", "Retrying")
ADMITTED = ("Starting", "Running", "Evicting")


class Status(msgspec.Struct, frozen=True, kw_only=True):
    """Whether it admits and since when, how many wait and hold quota, and how much."""

    activity: Activity
    active_since: Instant | None
    pending: int
    reserving: int
    admitted: int
    reservation: FlavorUsage
    usage: FlavorUsage
    weighted_share: int | None = None


def status_of(cluster_state: ClusterState, cluster_queue: str, local_queue: str = "") -> Status:
    """Of a ClusterQueue, or of the LocalQueue (`namespace/name`) that leads to it."""
    name = f"localqueue/{local_queue}" if local_queue else f"clusterqueue/{cluster_queue}"
    phases = counts_of(cluster_state, name)
    standing = reserved_usage(cluster_state, cluster_queue, local_queue)
    admitted = sum(phases.get(phase, 0) for phase in ADMITTED)
    return Status(
        activity=local_queue_activity(cluster_state.config, local_queue)
        if local_queue
        else cluster_queue_activity(cluster_state.config, cluster_queue),
        active_since=_active_since(cluster_state, name),
        pending=sum(phases.get(phase, 0) for phase in WAITING),
        reserving=admitted + phases.get("QuotaReserved", 0),
        admitted=admitted,
        reservation=standing.reserved,
        usage=standing.admitted,
        weighted_share=None if local_queue else weighted_share_of(cluster_state, name),
    )


def weighted_share_of(cluster_state: ClusterState, node: str) -> int | None:
    """The share of fair sharing of a node (`clusterqueue/a`, `cohort/b`) that is in a tree."""
    for key in cluster_state.partition_keys():
        partition = cluster_state.partition(key)
        if node in partition.tree.path:
            return dominant_resource_share(
                partition.tree, partition.usage[ACTUAL], node
            ).weighted_share
    return None


def _active_since(cluster_state: ClusterState, stream: str) -> Instant | None:
    kind, key = kind_and_key(stream)
    queue = cluster_state.config.of_kind(kind).get(key)
    return None if queue is None else active_since(cluster_state.config, stream, queue)


class PendingOrder(msgspec.Struct, frozen=True):
    """The workloads that wait for one ClusterQueue, first to last, also those that back off."""

    keys: tuple[str, ...]
    strict: bool = False


def pending_order(cluster_state: ClusterState, cluster_queue: str) -> PendingOrder:
    """Returns the pending workloads of a ClusterQueue in order; none for an absent queue."""
    key = cluster_state.partition_index.of_cluster_queue.get(cluster_queue)
    if key is None:
        return PendingOrder(())
    waiting = cluster_state.partition(key).pending[cluster_queue]
    ranks = local_queue_ranks(cluster_state, cluster_queue, cluster_state.changed_at)
    return PendingOrder(waiting.in_order(ranks), waiting.strict)


def pending_queue(cluster_state: ClusterState, cluster_queue: str) -> PendingQueue:
    """The pending queue of a ClusterQueue; an empty one for an absent ClusterQueue."""
    key = cluster_state.partition_index.of_cluster_queue.get(cluster_queue)
    if key is None:
        return PendingQueue(strict=False)
    return cluster_state.partition(key).pending[cluster_queue]


def pending_groups(cluster_state: ClusterState) -> Iterator[tuple[str, Workload, int]]:
    """Each group of alike pending workloads: their ClusterQueue, the oldest, and how many they are.

    What is pending is in a queue of the scheduler; an inactive workload or one on hold is not.
    """
    index = cluster_state.reads.index
    for key in tuple(index.groups):
        local = cluster_state.config.local_queues.get(key.local_queue)
        group = cluster_state.reads.index.groups[key]
        oldest = next(group.by_age())
        name = local.spec.cluster_queue if local else ""
        if pending_queue(cluster_state, name).entry(oldest) is not None:
            yield name, cluster_state.workloads[oldest], len(group.ages)


class PendingPlace(msgspec.Struct, frozen=True):
    """A pending workload, and how many are before it in its queues and its cohort tree.

    The tree is counted as if its queues were merged: the head with the highest priority, then age,
    comes next each time; borrowing levels and shares are known only from an evaluation and do not
    count.
    """

    workload: Workload
    in_cluster_queue: int
    in_local_queue: int
    in_cohort: int


class PendingLine:
    """The pending workloads of one ClusterQueue as they are read, while nothing is folded.

    A place costs about as much however many workloads are pending.
    """

    def __init__(self, cluster_state: ClusterState, cluster_queue: str) -> None:
        self._workloads = cluster_state.workloads
        key = cluster_state.partition_index.of_cluster_queue.get(cluster_queue)
        self._queue = pending_queue(cluster_state, cluster_queue)
        self._others: list[SchedulingOrder] = []
        if key is not None:
            partition = cluster_state.partition(key)
            root = partition.tree.root_of(f"clusterqueue/{cluster_queue}")
            self._others = [
                _order_of(cluster_state, name, queue)
                for name, queue in partition.pending.items()
                if name != cluster_queue and partition.tree.root_of(f"clusterqueue/{name}") == root
            ]
        self._order = _order_of(cluster_state, cluster_queue, self._queue)

    def __len__(self) -> int:
        return self._queue.count()

    def place(self, key: str) -> PendingPlace | None:
        """The places of a workload; None where it does not wait here."""
        entry = self._queue.entry(key)
        if entry is None:
            return None
        ahead, merged_at = self._order.ahead(entry), self._order.merge_key(entry)
        return PendingPlace(
            workload=self._workloads[key],
            in_cluster_queue=ahead,
            in_local_queue=self._queue.places().ahead_in_local_queue(entry),
            in_cohort=ahead + sum(order.merged_before(merged_at) for order in self._others),
        )

    def keys_from(self, number: int) -> Iterator[str]:
        """The workloads in scheduling order, from the one with so many before it."""
        return self._order.keys_from(number)

    def keys_of_local_queue(self, local_queue: str, number: int) -> Iterator[str]:
        """Those of one LocalQueue in their order, from the one with so many before it."""
        return self._queue.places().keys_of_local_queue(local_queue, number)


def _order_of(
    cluster_state: ClusterState, cluster_queue: str, queue: PendingQueue
) -> SchedulingOrder:
    if not queue.count():
        return queue.places().order()
    ranks = local_queue_ranks(cluster_state, cluster_queue, cluster_state.changed_at)
    return queue.places().order(ranks)
