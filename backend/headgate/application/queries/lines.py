"""Who waits in a ClusterQueue, in order."""

import msgspec

from headgate.domain.cell import Cell


class Line(msgspec.Struct, frozen=True):
    """The workloads that compete in one ClusterQueue, first to last."""

    keys: tuple[str, ...]
    strict: bool = False

    def before(self, key: str) -> tuple[str, ...]:
        """Everyone before it; nobody if it is not in line."""
        return self.keys[: self.keys.index(key)] if key in self.keys else ()

    def place(self, key: str) -> int | None:
        """Its place, from 1."""
        return self.keys.index(key) + 1 if key in self.keys else None

    def place_in_local_queue(self, cell: Cell, key: str) -> int | None:
        """Its place among those of its LocalQueue, from 1."""
        workload = cell.workloads.get(key)
        if workload is None or key not in self.keys:
            return None
        mates = [
            other
            for other in self.keys
            if (mate := cell.workloads[other]).namespace == workload.namespace
            and mate.spec.queue_name == workload.spec.queue_name
        ]
        return mates.index(key) + 1


def line_of(cell: Cell, cluster_queue: str) -> Line:
    """The line of a ClusterQueue; empty where there is no such queue."""
    key = cell.partitioning.of_cluster_queue.get(cluster_queue)
    if key is None:
        return Line(())
    waiting = cell.partition(key).pending[cluster_queue]
    return Line(tuple(waiting.in_order()), waiting.strict)
