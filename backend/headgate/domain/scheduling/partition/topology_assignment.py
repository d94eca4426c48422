"""Topology assignments of a workload's pod sets on the hosts of a partition.

Kueue: ClusterQueueSnapshot.FindTopologyAssignmentsForWorkload.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial

import msgspec

from headgate.domain.kinds.configured_object import Configured
from headgate.domain.kinds.resource_flavor import ResourceFlavorSpec
from headgate.domain.scheduling.flavors.assignment import FlavorAssignment, PodSetFlavors
from headgate.domain.scheduling.lifecycle.admission_checks import has_provisioning_check
from headgate.domain.scheduling.partition.partition import Partition
from headgate.domain.scheduling.placement.flavor_topology import FlavorTopology
from headgate.domain.scheduling.placement.group_placement import PodSetPlacement
from headgate.domain.scheduling.placement.host_table import Ints
from headgate.domain.scheduling.placement.neighbors import Neighbors
from headgate.domain.scheduling.placement.place import PlacementFailure, place_pod_sets
from headgate.domain.scheduling.placement.placement_context import PlacementContext
from headgate.domain.scheduling.placement.replacement import RunningPods, place_scale_up
from headgate.domain.scheduling.queueing.queue_checks import namespace_labels
from headgate.domain.workloads.admission import (
    Admission,
    PodSetAssignment,
    TopologyAssignment,
    trimmed_to,
)
from headgate.domain.workloads.specs import PodSet
from headgate.domain.workloads.state import Workload

NO_RUNNING_PODS: RunningPods = {}
WHOLE_TOPOLOGIES: Mapping[str, FlavorTopology] = {}
"""No pod set is restricted to a part of its topology."""


class PlacementDemand(msgspec.Struct, frozen=True, gc=False):
    """A workload with assigned flavors; its pods need hosts where a flavor has a topology.

    `running` pods are taken over from a replaced workload slice and stay on their hosts.
    """

    workload: Workload
    cluster_queue: str
    flavors: Mapping[str, Configured[ResourceFlavorSpec]]
    assignment: FlavorAssignment
    running: RunningPods = NO_RUNNING_PODS


def assign_topology(
    partition: Partition,
    demand: PlacementDemand,
    views: tuple[int, ...],
    areas: Mapping[str, FlavorTopology] = WHOLE_TOPOLOGIES,
) -> Admission | PlacementFailure:
    """Returns an admission on hosts that are free in all `views`; the partition is unchanged.

    Pod sets that are named in `areas` use hosts of that part of their topology only. Pod sets with
    a provisioning check on their flavors are left to the second pass, except pods that run already.
    """
    pod_sets = demand.assignment.pod_sets
    config, assumed = partition.config, dict[str, Ints]()
    on_hosts = [
        (each, flavor)
        for each in (pod_sets if partition.topologies else ())
        if each.pod_set.count and (flavor := topology_flavor(partition, each))
    ]
    delayed: tuple[str, ...] = ()
    around = None
    if on_hosts:
        delayed = tuple(
            each.pod_set.name
            for each, _ in on_hosts
            if has_provisioning_check(config, demand.cluster_queue, each.flavors.values())
        )
        own = [each.pod_set for each, _ in on_hosts]
        around = neighbors_of(partition, demand.workload.key, own, views)
    placements = []
    for each, flavor in on_hosts:
        name = each.pod_set.name
        if name not in delayed:
            area = areas.get(name)
            context = placement_context(partition, demand, flavor, views, assumed, area)
            if around is not None:
                context = replace(context, neighbors=around)
            placements.append(PodSetPlacement(context, each.pod_set))
    running = demand.running
    if not placements:
        placed = {}
    else:
        found = place_scale_up(placements, running) if running else place_pod_sets(placements)
        if isinstance(found, PlacementFailure):
            return found
        placed = found
    assignments = tuple(
        PodSetAssignment(
            name=each.pod_set.name,
            flavors=each.flavors,
            resource_usage=each.usage,
            count=each.pod_set.count,
            topology_assignment=pods.assignment if pods else _running(each, running, delayed),
            delayed_topology_request="Pending" if each.pod_set.name in delayed else None,
        )
        for each in pod_sets
        for pods in (placed.get(each.pod_set.name),)
    )
    return Admission(cluster_queue=demand.cluster_queue, pod_set_assignments=assignments)


def _running(
    given: PodSetFlavors, running: RunningPods, delayed: tuple[str, ...]
) -> TopologyAssignment | None:
    """The hosts of a pod set's running pods, where the second pass places its other pods."""
    pod_set = given.pod_set
    known = running.get(pod_set.name) if pod_set.name in delayed else None
    return None if known is None else trimmed_to(known, pod_set.count)


def neighbors_of(
    partition: Partition, key: str, pod_sets: Iterable[PodSet], views: tuple[int, ...]
) -> Neighbors | None:
    """Returns the pods around those of a workload; None where none requires anything of another."""
    index = partition.charges.neighbors
    if not index.matter(pod_sets, views):
        return None
    labels = partial(namespace_labels, partition.config)
    return Neighbors(index, partition.hosts, views, key, labels)


def topology_flavor(partition: Partition, given: PodSetFlavors) -> str:
    """Returns the assigned flavor with a topology; empty if the pod set needs no hosts."""
    for name in given.flavors.values() if partition.topologies else ():
        if name in partition.topologies:
            return name
    return ""


def placement_context(  # noqa: PLR0913, PLR0917 - what a placement depends on
    partition: Partition,
    demand: PlacementDemand,
    flavor: str,
    views: tuple[int, ...],
    assumed: dict[str, Ints],
    domain: FlavorTopology | None = None,
) -> PlacementContext:
    """Returns the hosts of a flavor for one placement search."""
    return PlacementContext(
        partition.hosts,
        domain or partition.topologies[flavor],
        demand.flavors[flavor].spec,
        views,
        assumed,
        rules=partition.config.configuration.topology,
    )
