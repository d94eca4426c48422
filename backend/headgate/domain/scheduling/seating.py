"""Seating the pod sets of a workload on the hosts of the flavors that quota chose for them."""

from collections.abc import Callable, Iterable, Mapping

from headgate.domain.configured import Configured
from headgate.domain.scheduling.flavors.assign import PodSetFlavors
from headgate.domain.scheduling.partition import Partition
from headgate.domain.scheduling.placement.ground import Ground
from headgate.domain.scheduling.placement.hosts import Ints
from headgate.domain.scheduling.placement.place import Misplaced, Seat, place_pod_sets
from headgate.domain.topology.specs import ResourceFlavorSpec
from headgate.domain.workloads.admission import PodSetAssignment


def seated(
    partition: Partition,
    flavors: Mapping[str, Configured[ResourceFlavorSpec]],
    chosen: Iterable[PodSetFlavors],
    views: tuple[int, ...],
    comes_later: Callable[[Iterable[str]], bool],
) -> tuple[PodSetAssignment, ...] | Misplaced:
    """Every pod set with its flavors, and with places where a flavor has a topology.

    Leaves the partition as it was; places must be free in all of `views`. Where `comes_later` says
    that hosts of the flavors are still to come, places are left to the second pass.
    """
    given = tuple(chosen)
    assumed: dict[str, Ints] = {}
    later = tuple(
        each.pod_set.name
        for each in given
        if _flavor_with_topology(partition, each)
        and each.pod_set.count
        and comes_later(each.flavors.values())
    )
    seats = [
        Seat(_ground(partition, flavors[flavor].spec, flavor, views, assumed), each.pod_set)
        for each in given
        if (flavor := _flavor_with_topology(partition, each))
        and each.pod_set.count
        and each.pod_set.name not in later
    ]
    placed = place_pod_sets(seats)
    if isinstance(placed, Misplaced):
        return placed
    return tuple(
        PodSetAssignment(
            name=each.pod_set.name,
            flavors=each.flavors,
            resource_usage=each.usage,
            count=each.pod_set.count,
            topology_assignment=place.assignment if place else None,
            delayed_topology_request="Pending" if each.pod_set.name in later else None,
        )
        for each in given
        for place in (placed.get(each.pod_set.name),)
    )


def _flavor_with_topology(partition: Partition, given: PodSetFlavors) -> str:
    return next((name for name in given.flavors.values() if name in partition.topologies), "")


def _ground(
    partition: Partition,
    flavor: ResourceFlavorSpec,
    name: str,
    views: tuple[int, ...],
    assumed: dict[str, Ints],
) -> Ground:
    return Ground(
        partition.hosts,
        partition.topologies[name],
        flavor,
        views,
        assumed,
        rules=partition.config.configuration.topology,
    )
