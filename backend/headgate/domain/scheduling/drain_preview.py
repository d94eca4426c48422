"""What draining a node would do to its workloads: other hosts, a wait, or an eviction.

Nothing is changed: each workload is moved in an overlay of usage, in the order of second passes, so
that no two count on the same capacity.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from msgspec.structs import replace

from headgate.domain.cluster_state import ClusterState
from headgate.domain.scheduling.partition.charges import Charge
from headgate.domain.scheduling.partition.partition import Partition
from headgate.domain.scheduling.placement.host_table import ACTUAL, PROJECTED, host_name
from headgate.domain.scheduling.results import PlacementShortfall
from headgate.domain.scheduling.second_pass import (
    NO_REPLACEMENT,
    by_priority_and_age,
    evicts_when_unplaceable,
    find_hosts,
)
from headgate.domain.values.message import Message
from headgate.domain.workloads.admission import Admission
from headgate.domain.workloads.state import Workload

DrainOutcome = Literal["Moves", "Waits", "Evicted"]
DRAINED = "Drained"

_Change = Callable[[int, Charge], None]


@dataclass(frozen=True, slots=True)
class PodMove:
    """A workload with pods on the drained node, and the hosts that its pods would move to.

    `reason` tells why there is none.
    """

    workload: str
    pods: int
    outcome: DrainOutcome
    hosts: tuple[tuple[str, int], ...] = ()
    reason: Message | None = None


def preview_drain(cluster_state: ClusterState, node: str) -> tuple[PodMove, ...]:
    """The moves of all workloads on a node, in the order of their second passes."""
    known = cluster_state.config.nodes[node]
    host = host_name(known)
    found: list[PodMove] = []
    for key in cluster_state.partition_keys():
        partition = cluster_state.partition(key)
        if node in partition.hosts.node_names():
            found.extend(_moves_from(partition, host))
    return tuple(found)


def _moves_from(partition: Partition, host: str) -> list[PodMove]:
    undo: list[tuple[_Change, Charge]] = []
    try:
        return [
            _move_of(partition, workload, host, undo)
            for workload in by_priority_and_age(partition.watch.workloads_on(host))
        ]
    finally:
        for change, charge in reversed(undo):
            for view in (ACTUAL, PROJECTED):
                change(view, charge)


def _move_of(
    partition: Partition, workload: Workload, host: str, undo: list[tuple[_Change, Charge]]
) -> PodMove:
    lost = {**workload.unhealthy_nodes, host: DRAINED}
    leaving = replace(workload, unhealthy_nodes=lost)
    assert workload.admission is not None, "a workload with pods on a host has an admission"
    before = _places(workload.admission)
    found: Admission | PlacementShortfall = NO_REPLACEMENT
    if partition.config.configuration.topology.replace_failed_nodes:
        found = find_hosts(partition, leaving)
    if isinstance(found, PlacementShortfall):
        outcome: DrainOutcome = (
            "Evicted" if evicts_when_unplaceable(partition.config, leaving) else "Waits"
        )
        return PodMove(workload.key, before[host], outcome, reason=found.reason)
    _move(partition, workload, found, undo)
    after = _places(found)
    gained = tuple(
        (name, pods - before.get(name, 0))
        for name, pods in after.items()
        if pods > before.get(name, 0)
    )
    return PodMove(workload.key, before[host], "Moves", gained)


def _move(
    partition: Partition, workload: Workload, to: Admission, undo: list[tuple[_Change, Charge]]
) -> None:
    there, here = partition.charges.held_by(workload), partition.charges.charge_of(workload, to)
    for view in (ACTUAL, PROJECTED):
        partition.charges.release(view, there)
        partition.charges.acquire(view, here)
    undo.append((partition.charges.acquire, there))
    undo.append((partition.charges.release, here))


def _places(admission: Admission) -> dict[str, int]:
    """Pods by host, of all pod sets together."""
    found: dict[str, int] = {}
    for given in admission.pod_set_assignments:
        for domain in given.topology_assignment.domains if given.topology_assignment else ():
            name = ",".join(domain.values)
            found[name] = found.get(name, 0) + domain.count
    return found
