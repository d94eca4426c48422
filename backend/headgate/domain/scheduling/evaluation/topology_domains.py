"""Topology domains in which a workload could make room (preemption.md §6.7).

For a required level they are the domains of that level; for a preferred one also those above, one
level after the other, and in the end all hosts together.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import TypeAlias

import msgspec

from headgate.domain.kinds.configured_object import Configured
from headgate.domain.kinds.resource_flavor import ResourceFlavorSpec
from headgate.domain.scheduling.evaluation.topology_assignment import (
    Where,
    ground_of,
    topology_flavor,
)
from headgate.domain.scheduling.flavors.assignment import PodSetFlavors
from headgate.domain.scheduling.partition.partition import Partition
from headgate.domain.scheduling.placement.admitted_index import AdmittedIndex
from headgate.domain.scheduling.placement.capacity_cache import RequestShape
from headgate.domain.scheduling.placement.flavor_topology import (
    FlavorTopology,
    domain_name,
    subtopology_of,
)
from headgate.domain.scheduling.placement.freeable_domains import (
    EvictionSimulation,
    FreeableDomain,
    eviction_simulation,
    fits_in_one_domain,
    freeable_domains,
    is_sum_of_hosts,
)
from headgate.domain.scheduling.placement.host_table import PROJECTED, Bools
from headgate.domain.scheduling.placement.search import slice_constraints
from headgate.domain.workloads.pods.eviction_units import workload_of
from headgate.domain.workloads.specs import PodSet
from headgate.domain.workloads.state import Workload

Evictable: TypeAlias = tuple[AdmittedIndex, Bools]
"""Everyone who holds a place, and a mask of those who may be made to leave."""

Flavors = Mapping[str, Configured[ResourceFlavorSpec]]


class PreemptionDomain(msgspec.Struct, frozen=True):
    """One domain: its name, its part of the topology, and whether it has room now.

    `occupants` are those in it who could be made to leave. `clearing` is there where plain numbers
    tell whether it has room.
    """

    name: str
    part: FlavorTopology
    occupants: Mapping[str, bool]
    has_room: Callable[[], bool]
    clearing: Callable[[], EvictionSimulation] | None

    def has(self, workload: Workload) -> bool:
        """Whether a workload is one of the occupants."""
        return workload.key in self.occupants


class DomainCandidate(msgspec.Struct, frozen=True):
    """A domain to look at, and the least that it can cost: protection, and weight of all pods."""

    least: tuple[int, int]
    look: Callable[[], PreemptionDomain]


def preemption_domains(
    partition: Partition,
    flavors: Flavors,
    chosen: Iterable[PodSetFlavors],
    evictable: Evictable,
) -> list[list[DomainCandidate]]:
    """Level by level the domains to look at, those with the fewest pods to move first.

    Left out are domains that could not hold the workload if all who are `evictable` left, and all
    beyond the most that the installation allows. Nothing for workloads that lie in no one domain:
    several pod sets that are no group, or no level asked for.
    """
    seats = [each for each in chosen if topology_flavor(partition, each) and each.pod_set.count]
    group = _one_group([each.pod_set for each in seats])
    if group is None:
        return []
    flavor = flavors[topology_flavor(partition, seats[0])]
    levels = partition.topologies[flavor.name].levels
    request = group[0].topology_request
    assert request is not None, "only a request makes a group"
    asked = request.required or request.preferred
    if asked not in levels:
        return []
    lowest = levels.index(asked)
    wanted = range(lowest, lowest - 1, -1) if request.required else range(lowest, -1, -1)
    return [_domains_at(partition, flavor, (group, level), evictable) for level in wanted]


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
    sought: tuple[tuple[PodSet, PodSet | None], int],
    evictable: Evictable,
) -> list[DomainCandidate]:
    group, level = sought
    now = ground_of(partition, flavor, Where((PROJECTED,)), {})
    shape = RequestShape(*group, slice_constraints(group[0], now.topology.levels))
    most = partition.config.configuration.preemption.most_domains
    admitted, _ = evictable

    def look(each: FreeableDomain) -> PreemptionDomain:
        here = replace(now, topology=subtopology_of(now.topology, level, each.domain))
        is_bare = is_sum_of_hosts(shape, len(now.topology.levels))
        return PreemptionDomain(
            name=domain_name(now.topology, level, each.domain),
            part=here.topology,
            occupants=_owners(admitted, each.holders.tolist()),
            has_room=partial(fits_in_one_domain, here, shape),
            clearing=partial(eviction_simulation, here, group[0]) if is_bare else None,
        )

    found = freeable_domains(now, shape, level, evictable, most)
    return [
        DomainCandidate((each.min_protection, each.min_weight), partial(look, each))
        for each in found
    ]


def _owners(admitted: AdmittedIndex, numbers: Iterable[int]) -> dict[str, bool]:
    """The workloads that these holders are, or are parts of."""
    names = (admitted.names[number] for number in numbers)
    return dict.fromkeys(map(workload_of, names) if admitted.units_of else names, True)
