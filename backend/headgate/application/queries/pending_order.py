"""The pending workloads of a ClusterQueue in scheduling order."""

from heapq import heapify, heappop, heapreplace

import msgspec

from headgate.application.cooperative import Cooperative, each
from headgate.domain.cluster_state import ClusterState
from headgate.domain.scheduling.local_queue_ranking import local_queue_ranks
from headgate.domain.scheduling.ordering.entry_order import WorkloadOrder, workload_order
from headgate.domain.scheduling.queueing.queue_checks import cluster_queue_of, effective_spec


class PendingOrder(msgspec.Struct, frozen=True):
    """The workloads that wait for one ClusterQueue, first to last, also those that back off."""

    keys: tuple[str, ...]
    strict: bool = False

    def before(self, key: str) -> tuple[str, ...]:
        """The workloads before it; none if it is not in the queue."""
        return self.keys[: self.keys.index(key)] if key in self.keys else ()

    def place(self, key: str) -> int | None:
        """Its place, from 1."""
        return self.keys.index(key) + 1 if key in self.keys else None

    def place_in_local_queue(self, cluster_state: ClusterState, key: str) -> int | None:
        """Its place among those of its LocalQueue, from 1."""
        workload = cluster_state.workloads.get(key)
        if workload is None or key not in self.keys:
            return None
        mates = [
            other
            for other in self.keys
            if (mate := cluster_state.workloads[other]).namespace == workload.namespace
            and mate.spec.queue_name == workload.spec.queue_name
        ]
        return mates.index(key) + 1


def pending_order(cluster_state: ClusterState, cluster_queue: str) -> PendingOrder:
    """Returns the pending workloads of a ClusterQueue in order; none for an absent queue."""
    key = cluster_state.partition_index.of_cluster_queue.get(cluster_queue)
    if key is None:
        return PendingOrder(())
    waiting = cluster_state.partition(key).pending[cluster_queue]
    ranks = local_queue_ranks(cluster_state, cluster_queue, cluster_state.changed_at)
    return PendingOrder(waiting.in_order(ranks), waiting.strict)


def pending_order_of_tree(
    cluster_state: ClusterState, cluster_queue: str
) -> Cooperative[tuple[str, ...]]:
    """The pending workloads of a whole cohort tree, as if their queues were merged.

    The head with the highest priority, then age, comes next each time; borrowing levels and shares
    are known only from an evaluation and do not count.
    """
    partition = cluster_state.partition(
        cluster_state.partition_index.of_cluster_queue[cluster_queue]
    )
    root = partition.tree.root_of(f"clusterqueue/{cluster_queue}")
    names = tuple(partition.cluster_queues)
    together = [name for name in names if partition.tree.root_of(f"clusterqueue/{name}") == root]
    lines = yield from each(pending_order(cluster_state, name).keys for name in together)
    return (yield from _merged(cluster_state, [line for line in lines if line]))


def _merged(
    cluster_state: ClusterState, lines: list[tuple[str, ...]]
) -> Cooperative[tuple[str, ...]]:
    def head(number: int, place: int) -> tuple[WorkloadOrder, int, int]:
        workload = cluster_state.workloads[lines[number][place]]
        spec = effective_spec(
            cluster_state.config, cluster_queue_of(cluster_state.config, workload)
        )
        return workload_order(workload, spec), number, place

    heads = [head(number, 0) for number in range(len(lines))]
    heapify(heads)
    merged = []
    while heads:
        yield
        _, number, place = heads[0]
        merged.append(lines[number][place])
        if place + 1 < len(lines[number]):
            heapreplace(heads, head(number, place + 1))
        else:
            heappop(heads)
    return tuple(merged)
