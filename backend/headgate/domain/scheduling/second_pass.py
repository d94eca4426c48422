"""Hosts for workloads that have a quota reservation: others for failed hosts, or the first ones.

The preview of a drain tells what second passes would do to the workloads of its nodes.
"""

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from msgspec.structs import replace

from headgate.domain.cluster_state import ClusterState
from headgate.domain.kinds.topology import HOSTNAME_LABEL
from headgate.domain.nodes.state import NodeDrainStarted
from headgate.domain.object_set import ObjectSet
from headgate.domain.recorded_event import DomainEvent, stream_of, workload_stream
from headgate.domain.scheduling.cycle_context import CycleContext
from headgate.domain.scheduling.explanation import described_shortfall
from headgate.domain.scheduling.partition.charges import Charge
from headgate.domain.scheduling.partition.partition import Partition
from headgate.domain.scheduling.partition.topology_assignment import neighbors_of
from headgate.domain.scheduling.placement.group_placement import PodSetPlacement
from headgate.domain.scheduling.placement.host_table import ACTUAL, PROJECTED, Ints, host_name
from headgate.domain.scheduling.placement.neighbors import Neighbors
from headgate.domain.scheduling.placement.place import PlacementFailure, place_pod_sets
from headgate.domain.scheduling.placement.placement_context import PlacementContext
from headgate.domain.scheduling.placement.replacement import add_pods, replace_hosts
from headgate.domain.scheduling.results import PlacementShortfall
from headgate.domain.values.instants import Instant
from headgate.domain.values.message import Message, error_message, message
from headgate.domain.workloads.admission import (
    Admission,
    PodSetAssignment,
    TopologyAssignment,
    awaits_topology,
    has_ended,
    hosts_of,
    needed_admission,
)
from headgate.domain.workloads.events import (
    ReservationDropped,
    WorkloadEvent,
    WorkloadEvicted,
    WorkloadPlaced,
)
from headgate.domain.workloads.specs import PodSet
from headgate.domain.workloads.state import Workload, is_admitted
from headgate.domain.workloads.transitions.admission_checks import pod_sets_after_checks

FLAVOR_LOST_TOPOLOGY = PlacementShortfall(message("FlavorLostTopology"))
NO_REPLACEMENT = PlacementShortfall(message("HostReplacementDisabled"))


def run_second_passes(cycle: CycleContext) -> None:
    """Assign hosts to each workload that needs some and was not unplaceable since the last change.

    Without hosts it waits for some or is evicted, as the Configuration says.
    """
    watch = cycle.partition.watch
    found = [
        each for key, each in watch.second_pass_pending.items() if key not in watch.unplaceable
    ]
    for workload in by_priority_and_age(found):
        cycle.evaluation_count += 1
        try:
            events = _second_pass(cycle, workload)
        except Exception as error:  # noqa: BLE001 - one poison object must not stop all others
            cycle.cluster_state.quarantine(workload_stream(workload.key), error_message(error))
            continue
        if not events:
            watch.unplaceable[workload.key] = None
            continue
        stream = workload_stream(workload.key)
        stream_events: list[tuple[str, DomainEvent]] = [(stream, event) for event in events]
        cycle.decide(*stream_events)


def find_hosts(partition: Partition, workload: Workload) -> Admission | PlacementShortfall:
    """The admission with hosts for all pods that have none or lost theirs, or else the shortfall.

    The partition is left as it was.
    """
    admission = workload.admission
    assert admission is not None, "a second pass has a quota reservation"
    replaced = _replace_failed_hosts(partition, workload, admission)
    if isinstance(replaced, PlacementShortfall) or not awaits_topology(replaced):
        return replaced
    return _assign_pending_hosts(partition, workload, replaced)


def by_priority_and_age(workloads: Iterable[Workload]) -> list[Workload]:
    """The workloads by priority, higher first, then by creation, older first."""
    return sorted(workloads, key=lambda each: (-each.spec.priority, each.created_at, each.key))


def evicts_when_unplaceable(config: ObjectSet, workload: Workload) -> bool:
    """Whether a workload without other hosts is evicted instead of waiting for some."""
    rules = config.configuration.topology
    must_go = (
        rules.fail_fast or not rules.replace_failed_nodes or not _is_assigned_to_hosts(workload)
    )
    return bool(workload.unhealthy_nodes) and must_go


def _second_pass(cycle: CycleContext, workload: Workload) -> tuple[WorkloadEvent, ...]:
    rules = cycle.partition.config.configuration.topology
    found: Admission | PlacementShortfall = NO_REPLACEMENT
    if rules.replace_failed_nodes or not workload.unhealthy_nodes:
        found = find_hosts(cycle.partition, workload)
    if not isinstance(found, PlacementShortfall):
        return (WorkloadPlaced(admission=found, replaced=_failed_hosts(workload)),)
    if not evicts_when_unplaceable(cycle.partition.config, workload):
        return ()
    return (_host_failure_eviction(cycle, workload, found),)


def _host_failure_eviction(
    cycle: CycleContext, workload: Workload, failure: PlacementShortfall
) -> WorkloadEvent:
    hosts = tuple(
        message("HostFailure", host=host, reason=why)
        for host, why in workload.unhealthy_nodes.items()
    )
    why = message("FailedHostsNotReplaced", hosts=hosts, shortfall=failure.reason)
    if not is_admitted(workload):
        return ReservationDropped(reason=why)
    return WorkloadEvicted(eviction=cycle.new_id(), reason="NodeFailures", message=why)


def _replace_failed_hosts(
    partition: Partition, workload: Workload, admission: Admission
) -> Admission | PlacementShortfall:
    assumed: dict[str, Ints] = {}
    lost = set(_failed_hosts(workload))
    given: list[PodSetAssignment] = []
    around = own_neighbors(partition, workload, admission, lost)
    for assigned, pod_set in _with_pod_sets(workload, admission):
        known = assigned.topology_assignment
        is_ended = has_ended(pod_set, assigned, workload.reclaimable)
        if is_ended or known is None or lost.isdisjoint(",".join(d.values) for d in known.domains):
            given.append(assigned)
            continue
        context = placement_context(partition, assigned, assumed, around)
        if context is None:
            return FLAVOR_LOST_TOPOLOGY
        found = replace_hosts(context, pod_set, known, lost)
        if isinstance(found, PlacementShortfall):
            return described_shortfall(assigned.name, context.topology.flavor, found)
        given.append(replace(assigned, topology_assignment=found))
    return replace(admission, pod_set_assignments=tuple(given))


def _assign_pending_hosts(
    partition: Partition, workload: Workload, admission: Admission
) -> Admission | PlacementShortfall:
    assumed: dict[str, Ints] = {}
    seats = []
    places: dict[str, TopologyAssignment] = {}
    around = own_neighbors(partition, workload, admission, ())
    for assigned, pod_set in _with_pod_sets(workload, admission):
        if assigned.delayed_topology_request == "Pending" and assigned.count:
            context = placement_context(partition, assigned, assumed, around)
            if context is None:
                return FLAVOR_LOST_TOPOLOGY
            if assigned.topology_assignment is None:
                seats.append(PodSetPlacement(context, pod_set))
                continue
            grown = add_pods(context, pod_set, assigned.topology_assignment)
            if isinstance(grown, PlacementShortfall):
                return described_shortfall(assigned.name, context.topology.flavor, grown)
            places[assigned.name] = grown
    placed = place_pod_sets(seats)
    if isinstance(placed, PlacementFailure):
        return described_shortfall(placed.pod_set, placed.flavor, placed.shortfall)
    places.update({name: place.assignment for name, place in placed.items()})
    given = [
        replace(each, topology_assignment=places[each.name], delayed_topology_request="Ready")
        if each.name in places
        else each
        for each in admission.pod_set_assignments
    ]
    return replace(admission, pod_set_assignments=tuple(given))


def _with_pod_sets(
    workload: Workload, admission: Admission
) -> Iterator[tuple[PodSetAssignment, PodSet]]:
    """Each assignment with its pod set, of as many pods as were admitted."""
    pod_sets = pod_sets_after_checks(workload)
    for given in admission.pod_set_assignments:
        yield given, replace(pod_sets[given.name], count=given.count)


def own_neighbors(
    partition: Partition, workload: Workload, admission: Admission, lost: Collection[str]
) -> Neighbors | None:
    """The pods around those of a workload, its own among them that are not on lost hosts."""
    pod_sets = pod_sets_after_checks(workload)
    around = neighbors_of(partition, workload.key, pod_sets.values(), (ACTUAL, PROJECTED))
    if around is None:
        return None
    around.add_own(partition.charges.charge_of(workload, admission).placed, lost)
    return around


def placement_context(
    partition: Partition,
    given: PodSetAssignment,
    assumed: dict[str, Ints],
    around: Neighbors | None,
) -> PlacementContext | None:
    """The hosts of the flavor of a pod set, as both views have them; None without a topology."""
    name = next((name for name in given.flavors.values() if name in partition.topologies), None)
    if name is None:
        return None
    return PlacementContext(
        partition.hosts,
        partition.topologies[name],
        partition.config.resource_flavors[name].spec,
        (ACTUAL, PROJECTED),
        assumed,
        rules=partition.config.configuration.topology,
        neighbors=around,
    )


def _is_assigned_to_hosts(workload: Workload) -> bool:
    assert workload.admission is not None, "failed hosts are of an admission"
    return all(
        given.topology_assignment is None or given.topology_assignment.levels[-1] == HOSTNAME_LABEL
        for given in workload.admission.pod_set_assignments
    )


def _failed_hosts(workload: Workload) -> tuple[str, ...]:
    """The failed hosts that the admission still names, in the order of its assignments."""
    assert workload.admission is not None, "failed hosts are of an admission"
    return tuple(host for host in hosts_of(workload.admission) if host in workload.unhealthy_nodes)


DrainOutcome = Literal["Moves", "Waits", "Evicted"]
DRAINED = "Drained"

_Change = Callable[[int, Charge], None]


@dataclass(frozen=True, slots=True)
class PodMove:
    """A workload with pods on the drained nodes, and the hosts that its pods would move to.

    `reason` tells why there is none.
    """

    workload: str
    pods: int
    outcome: DrainOutcome
    hosts: tuple[tuple[str, int], ...] = ()
    reason: Message | None = None


def preview_drain(cluster_state: ClusterState, node: str) -> tuple[PodMove, ...]:
    """The moves of all workloads on a node, in the order of their second passes."""
    return tuple(_moves(cluster_state, (node,)))


def preview_joint_drain(
    cluster_state: ClusterState, nodes: Collection[str], at: Instant
) -> tuple[PodMove, ...]:
    """The moves of all workloads on nodes that are drained together: none goes to one of these."""
    with cluster_state.overlay():
        for node in nodes:
            cluster_state.assume(stream_of("node", node), NodeDrainStarted(), at)
        return tuple(_moves(cluster_state, nodes))


def _moves(cluster_state: ClusterState, nodes: Collection[str]) -> Iterator[PodMove]:
    for key in cluster_state.partition_keys():
        partition = cluster_state.partition(key)
        known = set(partition.hosts.node_names())
        hosts = [host_name(cluster_state.config.nodes[node]) for node in nodes if node in known]
        if hosts:
            yield from _moves_from(partition, frozenset(hosts))


def _moves_from(partition: Partition, hosts: frozenset[str]) -> list[PodMove]:
    found = {each.key: each for host in hosts for each in partition.watch.workloads_on(host)}
    undo: list[tuple[_Change, Charge]] = []
    try:
        return [
            _move_of(partition, workload, hosts, undo)
            for workload in by_priority_and_age(found.values())
        ]
    finally:
        for change, charge in reversed(undo):
            for view in (ACTUAL, PROJECTED):
                change(view, charge)


def _move_of(
    partition: Partition,
    workload: Workload,
    hosts: frozenset[str],
    undo: list[tuple[_Change, Charge]],
) -> PodMove:
    assert workload.admission is not None, "a workload with pods on a host has an admission"
    before = _places(_needed(workload, workload.admission))
    drained = {host: DRAINED for host in before if host in hosts}
    leaving = replace(workload, unhealthy_nodes={**workload.unhealthy_nodes, **drained})
    pods = sum(before[host] for host in drained)
    found: Admission | PlacementShortfall = NO_REPLACEMENT
    if partition.config.configuration.topology.replace_failed_nodes:
        found = find_hosts(partition, leaving)
    if isinstance(found, PlacementShortfall):
        outcome: DrainOutcome = (
            "Evicted" if evicts_when_unplaceable(partition.config, leaving) else "Waits"
        )
        return PodMove(workload.key, pods, outcome, reason=found.reason)
    _move(partition, workload, found, undo)
    after = _places(_needed(workload, found))
    gained = tuple(
        (name, pods - before.get(name, 0))
        for name, pods in after.items()
        if pods > before.get(name, 0)
    )
    return PodMove(workload.key, pods, "Moves", gained)


def _move(
    partition: Partition, workload: Workload, to: Admission, undo: list[tuple[_Change, Charge]]
) -> None:
    there, here = partition.charges.held_by(workload), partition.charges.charge_of(workload, to)
    for view in (ACTUAL, PROJECTED):
        partition.charges.release(view, there)
        partition.charges.acquire(view, here)
    undo.append((partition.charges.acquire, there))
    undo.append((partition.charges.release, here))


def _needed(workload: Workload, admission: Admission) -> Admission:
    return needed_admission(admission, workload.spec.pod_sets, workload.reclaimable)


def _places(admission: Admission) -> dict[str, int]:
    """Pods by host, of all pod sets together."""
    found: dict[str, int] = {}
    for given in admission.pod_set_assignments:
        for domain in given.topology_assignment.domains if given.topology_assignment else ():
            name = ",".join(domain.values)
            found[name] = found.get(name, 0) + domain.count
    return found
