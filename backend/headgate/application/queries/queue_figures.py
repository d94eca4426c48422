"""How much quota the workloads of one queue hold."""

from collections.abc import Mapping

import msgspec

from headgate.domain.cell import Cell
from headgate.domain.values.quantities import FlavorResource, FlavorUsage
from headgate.domain.workloads.state import Workload, is_admitted


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
        if workload.admission is None or (local_queue and local_queue != door_of(workload)):
            continue
        amounts = partition.charge_of(workload, workload.admission).amounts
        _add(reserved, amounts)
        if is_admitted(workload):
            _add(admitted, amounts)
    return Standing(reserved, admitted)


def door_of(workload: Workload) -> str:
    """The LocalQueue of a workload as `namespace/name`."""
    return f"{workload.namespace}/{workload.spec.queue_name}"


def _add(total: FlavorUsage, amounts: Mapping[FlavorResource, int]) -> None:
    for key, amount in amounts.items():
        total[key] = total.get(key, 0) + amount
