"""Seating the pod sets of a workload on the hosts of the flavors that quota chose for them."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from headgate.domain.kinds.configured_object import Configured
from headgate.domain.kinds.resource_flavor import ResourceFlavorSpec
from headgate.domain.scheduling.flavors.assignment import PodSetFlavors
from headgate.domain.scheduling.partition.partition import Partition
from headgate.domain.scheduling.placement.flavor_topology import FlavorTopology
from headgate.domain.scheduling.placement.host_table import Ints
from headgate.domain.scheduling.placement.place import (
    PlacementFailure,
    PodSetPlacement,
    place_pod_sets,
)
from headgate.domain.scheduling.placement.placement_context import PlacedPods, PlacementContext
from headgate.domain.scheduling.placement.replacement import RunningPods, place_scale_up
from headgate.domain.workloads.admission import PodSetAssignment, TopologyAssignment
from headgate.domain.workloads.pods.trimmed_assignments import trimmed_to


@dataclass(frozen=True, slots=True)
class Where:
    """Views in which a place must be free; `part` is one domain of the topology, if it must be.

    `standing` pods are taken over from another workload and stay where they are.
    """

    views: tuple[int, ...]
    part: FlavorTopology | None = None
    standing: RunningPods | None = None


def assign_topology(
    partition: Partition,
    flavors: Mapping[str, Configured[ResourceFlavorSpec]],
    chosen: Iterable[PodSetFlavors],
    where: Where,
    comes_later: Callable[[Iterable[str]], bool],
) -> tuple[PodSetAssignment, ...] | PlacementFailure:
    """Every pod set with its flavors, and with places where a flavor has a topology.

    Leaves the partition as it was; places must be free `where` it says. Where `comes_later` says
    that hosts of the flavors are still to come, places are left to the second pass, save those of
    pods that stand.
    """
    given = tuple(chosen)
    assumed: dict[str, Ints] = {}
    to_hosts = [
        (each, flavor)
        for each in given
        if each.pod_set.count and (flavor := topology_flavor(partition, each))
    ]
    later = tuple(each.pod_set.name for each, _ in to_hosts if comes_later(each.flavors.values()))
    seats = [
        PodSetPlacement(ground_of(partition, flavors[flavor], where, assumed), each.pod_set)
        for each, flavor in to_hosts
        if each.pod_set.name not in later
    ]
    placed = _placed(seats, where) if seats else {}
    if isinstance(placed, PlacementFailure):
        return placed
    return tuple(
        PodSetAssignment(
            name=each.pod_set.name,
            flavors=each.flavors,
            resource_usage=each.usage,
            count=each.pod_set.count,
            topology_assignment=place.assignment if place else _standing(each, where, later),
            delayed_topology_request="Pending" if each.pod_set.name in later else None,
        )
        for each in given
        for place in (placed.get(each.pod_set.name),)
    )


def _standing(
    given: PodSetFlavors, where: Where, later: tuple[str, ...]
) -> TopologyAssignment | None:
    """Where those of its pods are that stand already while the others are still to be placed."""
    pod_set = given.pod_set
    known = (where.standing or {}).get(pod_set.name) if pod_set.name in later else None
    return None if known is None else trimmed_to(known, pod_set.count)


def _placed(seats: list[PodSetPlacement], where: Where) -> dict[str, PlacedPods] | PlacementFailure:
    return place_scale_up(seats, where.standing) if where.standing else place_pod_sets(seats)


def topology_flavor(partition: Partition, given: PodSetFlavors) -> str:
    """The flavor whose hosts a pod set goes to; empty if it needs none."""
    for name in given.flavors.values() if partition.topologies else ():
        if name in partition.topologies:
            return name
    return ""


def ground_of(
    partition: Partition,
    flavor: Configured[ResourceFlavorSpec],
    where: Where,
    assumed: dict[str, Ints],
) -> PlacementContext:
    """The hosts of a flavor as a placement looks at them."""
    return PlacementContext(
        partition.hosts,
        where.part or partition.topologies[flavor.name],
        flavor.spec,
        where.views,
        assumed,
        rules=partition.config.configuration.topology,
    )
