"""The status of one ClusterQueue or LocalQueue, derived from all workloads."""

import msgspec

from headgate.application.queries.queues.figures import counts_of, standing_of
from headgate.domain.cell import Cell
from headgate.domain.kinds.queue_activity import (
    Activity,
    active_since,
    cluster_queue_activity,
    local_queue_activity,
)
from headgate.domain.scheduling.placement.host_table import ACTUAL
from headgate.domain.scheduling.quota.dominant_resource_share import dominant_resource_share
from headgate.domain.streams import kind_and_key
from headgate.domain.values.instants import Instant
from headgate.domain.values.quantities import FlavorUsage

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


def status_of(cell: Cell, cluster_queue: str, local_queue: str = "") -> Status:
    """Of a ClusterQueue, or of the LocalQueue (`namespace/name`) that leads to it."""
    name = f"localqueue/{local_queue}" if local_queue else f"clusterqueue/{cluster_queue}"
    phases = counts_of(cell, name)
    standing = standing_of(cell, cluster_queue, local_queue)
    admitted = sum(phases.get(phase, 0) for phase in ADMITTED)
    return Status(
        activity=local_queue_activity(cell.config, local_queue)
        if local_queue
        else cluster_queue_activity(cell.config, cluster_queue),
        active_since=_active_since(cell, name),
        pending=sum(phases.get(phase, 0) for phase in WAITING),
        reserving=admitted + phases.get("QuotaReserved", 0),
        admitted=admitted,
        reservation=standing.reserved,
        usage=standing.admitted,
        weighted_share=None if local_queue else weighted_share_of(cell, name),
    )


def weighted_share_of(cell: Cell, node: str) -> int | None:
    """The share of fair sharing of a node (`clusterqueue/a`, `cohort/b`) that is in a tree."""
    for key in cell.partition_keys():
        partition = cell.partition(key)
        if node in partition.tree.path:
            return dominant_resource_share(
                partition.tree, partition.usage[ACTUAL], node
            ).weighted_share
    return None


def _active_since(cell: Cell, stream: str) -> Instant | None:
    kind, key = kind_and_key(stream)
    queue = cell.config.of_kind(kind).get(key)
    return None if queue is None else active_since(cell.config, stream, queue)
