"""Who waits in which order, and how many in which phase, per ClusterQueue and LocalQueue."""

from dataclasses import dataclass

from headgate.domain.cell import Cell
from headgate.domain.scheduling.standing import cluster_queue_of
from headgate.domain.workloads.state import Workload


@dataclass(frozen=True, slots=True)
class PendingPlace:
    """A competitor's place, counted from 0 in its ClusterQueue and in its LocalQueue."""

    key: str
    local_queue: str
    priority: int
    in_cluster_queue: int
    in_local_queue: int


@dataclass(frozen=True, slots=True)
class QueuePosition:
    """Where one workload stands: places from 0 of `of` competitors of its ClusterQueue."""

    cluster_queue: int
    local_queue: int
    of: int


@dataclass(frozen=True, slots=True)
class QueueCounts:
    """Workloads of a queue by what they do; `parked` are pending ones found not to fit."""

    pending: int = 0
    parked: int = 0
    backing_off: int = 0
    held: int = 0
    inactive: int = 0
    nominated: int = 0
    reserving: int = 0
    starting: int = 0
    running: int = 0
    evicting: int = 0


def pending_order(cell: Cell, cluster_queue: str) -> tuple[PendingPlace, ...]:
    """The competitors of a ClusterQueue, first to last; none if there is no such queue."""
    key = cell.partitioning.of_cluster_queue.get(cluster_queue)
    if key is None:
        return ()
    places = []
    in_local: dict[str, int] = {}
    for place, name in enumerate(cell.partition(key).pending[cluster_queue].in_order()):
        workload = cell.workloads[name]
        local = f"{workload.namespace}/{workload.spec.queue_name}"
        own_place = in_local.get(local, 0)
        in_local[local] = own_place + 1
        places.append(PendingPlace(name, local, workload.spec.priority, place, own_place))
    return tuple(places)


def pending_order_of_local_queue(cell: Cell, local_queue: str) -> tuple[PendingPlace, ...]:
    """The competitors that came through one LocalQueue (`namespace/name`), first to last."""
    found = cell.config.local_queues.get(local_queue)
    if found is None:
        return ()
    places = pending_order(cell, found.spec.cluster_queue)
    return tuple(place for place in places if place.local_queue == local_queue)


def position_of(cell: Cell, workload: Workload) -> QueuePosition | None:
    """Where a workload stands in its queues; None if it does not compete now."""
    cluster_queue = cluster_queue_of(cell.config, workload)
    places = pending_order(cell, cluster_queue)
    mine = next((place for place in places if place.key == workload.key), None)
    if mine is None:
        return None
    return QueuePosition(mine.in_cluster_queue, mine.in_local_queue, len(places))


def queue_counts(cell: Cell, cluster_queue: str) -> QueueCounts:
    """How many workloads a ClusterQueue has in which phase."""
    counts = cell.partitioning.counts.get(f"clusterqueue/{cluster_queue}", {})
    key = cell.partitioning.of_cluster_queue.get(cluster_queue)
    parked = cell.partition(key).pending[cluster_queue].waiting_after_a_look() if key else 0
    return QueueCounts(
        pending=counts.get("Pending", 0),
        parked=parked,
        backing_off=counts.get("BackingOff", 0),
        held=counts.get("Held", 0),
        inactive=counts.get("Inactive", 0),
        nominated=counts.get("Nominated", 0),
        reserving=counts.get("QuotaReserved", 0),
        starting=counts.get("Starting", 0),
        running=counts.get("Running", 0),
        evicting=counts.get("Evicting", 0),
    )


def local_queue_counts(cell: Cell, local_queue: str) -> dict[str, int]:
    """How many workloads a LocalQueue (`namespace/name`) has in which phase."""
    return dict(cell.partitioning.counts.get(f"localqueue/{local_queue}", {}))


def installation_counts(cell: Cell) -> dict[str, int]:
    """How many workloads there are in which phase."""
    return dict(cell.partitioning.counts.get("", {}))
