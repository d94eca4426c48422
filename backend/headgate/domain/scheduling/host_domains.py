"""Topology domains in which a workload could make room (preemption.md §6.7).

For a required level they are the domains of that level; for a preferred one also those above, one
level after the other, and in the end all hosts together.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial

from headgate.domain.configured import Configured
from headgate.domain.scheduling.flavors.assign import PodSetFlavors
from headgate.domain.scheduling.partition import Partition
from headgate.domain.scheduling.placement.domain_room import (
    domains_by_room,
    has_room,
    stretch_of,
)
from headgate.domain.scheduling.placement.figures import Shape
from headgate.domain.scheduling.placement.ground import Ground
from headgate.domain.scheduling.placement.hosts import EMPTY, PROJECTED, Bools
from headgate.domain.scheduling.placement.wanted import slicing_of
from headgate.domain.scheduling.seating import Where, flavor_with_topology, ground_of
from headgate.domain.topology.specs import ResourceFlavorSpec
from headgate.domain.workloads.specs import PodSet
from headgate.domain.workloads.state import Workload

Flavors = Mapping[str, Configured[ResourceFlavorSpec]]


@dataclass(frozen=True, slots=True)
class HostDomain:
    """One domain: its name, its places as a mask, who stands in it, and whether it has room now."""

    name: str
    within: Bools
    occupied_by: Callable[[Workload], bool]
    has_room: Callable[[], bool]


def host_domains(
    partition: Partition, flavors: Flavors, chosen: Iterable[PodSetFlavors]
) -> list[list[HostDomain]]:
    """Level by level the domains to look at, those with the fewest pods to move first.

    Left out are domains that could not hold the workload if they were empty, and all beyond the
    most that the installation allows. Nothing for workloads that lie in no one domain: several pod
    sets that are no group, or no level asked for.
    """
    seats = [
        each for each in chosen if flavor_with_topology(partition, each) and each.pod_set.count
    ]
    group = _one_group([each.pod_set for each in seats])
    if group is None:
        return []
    flavor = flavors[flavor_with_topology(partition, seats[0])]
    levels = partition.topologies[flavor.name].levels
    request = group[0].topology_request
    assert request is not None, "only a request makes a group"
    asked = request.required or request.preferred
    if asked not in levels:
        return []
    lowest = levels.index(asked)
    wanted = range(lowest, lowest - 1, -1) if request.required else range(lowest, -1, -1)
    return [_domains_at(partition, flavor, group, level) for level in wanted]


def _one_group(pod_sets: list[PodSet]) -> tuple[PodSet, PodSet | None] | None:
    """The workers and their leader; None if these are not one group."""
    if not pod_sets or any(pod_set.topology_request is None for pod_set in pod_sets):
        return None
    if len(pod_sets) == 1:
        return pod_sets[0], None
    names = {p.topology_request.pod_set_group_name for p in pod_sets if p.topology_request}
    if len(pod_sets) > 2 or len(names) > 1 or None in names:  # noqa: PLR2004 - workers and leader
        return None
    leader, workers = sorted(pod_sets, key=lambda pod_set: pod_set.count)
    return workers, leader


def _domains_at(
    partition: Partition,
    flavor: Configured[ResourceFlavorSpec],
    group: tuple[PodSet, PodSet | None],
    level: int,
) -> list[HostDomain]:
    now = ground_of(partition, flavor, Where((PROJECTED,)), {})
    empty = ground_of(partition, flavor, Where((EMPTY,)), {})
    shape = Shape(*group, slicing_of(group[0], now.topology.levels))
    most = partition.config.configuration.preemption.most_domains
    ranked = domains_by_room(empty, now, shape, level)[:most]
    return [_domain(partition, now, shape, (level, domain)) for domain in ranked]


def _domain(partition: Partition, now: Ground, shape: Shape, at: tuple[int, int]) -> HostDomain:
    stretch = stretch_of(now.topology, *at)

    def occupied_by(workload: Workload) -> bool:
        return stretch.holds_any(rows for rows, _, _ in partition.held_by(workload).pods)

    return HostDomain(stretch.name, stretch.within, occupied_by, partial(has_room, now, shape, *at))
