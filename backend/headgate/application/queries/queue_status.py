"""The status of one ClusterQueue or LocalQueue, derived from all workloads."""

import msgspec

from headgate.application.queries.queue_figures import counts_of, standing_of
from headgate.domain.cell import Cell
from headgate.domain.queues.activity import (
    Activity,
    cluster_queue_activity,
    local_queue_activity,
)
from headgate.domain.values.quantities import FlavorUsage

WAITING = ("Pending", "Nominated", "BackingOff")
ADMITTED = ("Starting", "Running", "Evicting")


class Status(msgspec.Struct, frozen=True, kw_only=True):
    """Whether it admits, how many wait and hold quota, and how much."""

    activity: Activity
    pending: int
    reserving: int
    admitted: int
    reservation: FlavorUsage
    usage: FlavorUsage


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
        pending=sum(phases.get(phase, 0) for phase in WAITING),
        reserving=admitted + phases.get("QuotaReserved", 0),
        admitted=admitted,
        reservation=standing.reserved,
        usage=standing.admitted,
    )
