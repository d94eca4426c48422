"""Topology domains in which a workload could preempt, by level (preemption.md §6.7).

A required level has the domains of that level; a preferred one also those of the levels above. For
a single pod each host is a domain, whatever level it requests (KEP-5710 §Algorithm 1).
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace

import msgspec

from headgate.domain.scheduling.partition.partition import Partition
from headgate.domain.scheduling.partition.topology_assignment import (
    PlacementDemand,
    placement_context,
    topology_flavor,
)
from headgate.domain.scheduling.placement.admitted_index import AdmittedIndex
from headgate.domain.scheduling.placement.capacity_cache import RequestShape
from headgate.domain.scheduling.placement.flavor_topology import domain_name, subtopology_of
from headgate.domain.scheduling.placement.freeable_domains import (
    EvictionSimulation,
    FreeableDomain,
    eviction_simulation,
    fits_in_one_domain,
    freeable_domains,
    is_sum_of_hosts,
)
from headgate.domain.scheduling.placement.host_table import PROJECTED
from headgate.domain.scheduling.placement.placement_context import PlacementContext
from headgate.domain.scheduling.placement.search import slice_constraints
from headgate.domain.scheduling.preemption.candidates import CandidateMask
from headgate.domain.workloads.pods.eviction_units import workload_of
from headgate.domain.workloads.specs import PodSet


class PreemptionDomain(msgspec.Struct, frozen=True, gc=False):
    """One topology domain with the eligible workloads on its hosts.

    `context` is the placement restricted to the domain, in the projected view.
    """

    name: str
    context: PlacementContext
    shape: RequestShape
    occupants: Mapping[str, bool]

    def fits(self) -> bool:
        """Whether the pods fit on the hosts that are free now."""
        return fits_in_one_domain(self.context, self.shape)

    def simulation(self) -> EvictionSimulation | None:
        """Evictions in plain numbers; None where the pods need more than free hosts in sum."""
        if not is_sum_of_hosts(self.shape, len(self.context.topology.levels)):
            return None
        return eviction_simulation(self.context, self.shape.workers)


class DomainCandidate(msgspec.Struct, frozen=True, gc=False):
    """A topology domain that evictions of eligible workloads could free."""

    context: PlacementContext
    shape: RequestShape
    level: int
    admitted: AdmittedIndex
    freeable: FreeableDomain

    @property
    def min_cost(self) -> tuple[int, int]:
        """The lowest possible highest protection of its victims, and weight of their pods."""
        return self.freeable.min_protection, self.freeable.min_weight

    def domain(self) -> PreemptionDomain:
        """Returns the domain with its occupants."""
        topology, number = self.context.topology, self.freeable.domain
        names = (self.admitted.names[holder] for holder in self.freeable.holders.tolist())
        owners = map(workload_of, names) if self.admitted.units_of else names
        return PreemptionDomain(
            name=domain_name(topology, self.level, number),
            context=replace(self.context, topology=subtopology_of(topology, self.level, number)),
            shape=self.shape,
            occupants=dict.fromkeys(owners, True),
        )


def preemption_domains(
    partition: Partition, demand: PlacementDemand, mask: CandidateMask
) -> list[list[DomainCandidate]]:
    """Returns the domain candidates level by level.

    Leaves out domains that could not hold the pods without all eligible workloads, and those
    beyond the configured limit. Empty for workloads that need no single domain: several pods
    without a requested level, or with several pod sets that are no group.
    """
    pod_sets = demand.assignment.pod_sets
    placed = [each for each in pod_sets if topology_flavor(partition, each) and each.pod_set.count]
    group = _one_group([each.pod_set for each in placed])
    if group is None:
        return []
    flavor = topology_flavor(partition, placed[0])
    searched = _searched_levels(group, partition.topologies[flavor].levels)
    if not searched:
        return []
    context = placement_context(partition, demand, flavor, (PROJECTED,), {})
    shape = RequestShape(*group, slice_constraints(group[0], context.topology.levels))
    limit = partition.config.configuration.preemption.most_domains
    evictable = (mask.admitted, mask.eligible)
    return [
        [
            DomainCandidate(context, shape, level, mask.admitted, freeable)
            for freeable in freeable_domains(context, shape, level, evictable, limit)
        ]
        for level in searched
    ]


def _searched_levels(
    group: tuple[PodSet, PodSet | None], levels: tuple[str, ...]
) -> tuple[int, ...]:
    """Returns the numbers of the levels to search; empty if no level has to hold all pods."""
    workers, leader = group
    request = workers.topology_request
    requested = (request.required or request.preferred) if request else None
    if requested is not None and requested not in levels:
        return ()
    if workers.count == 1 and leader is None:
        return (len(levels) - 1,)
    if request is None or requested is None:
        return ()
    lowest = levels.index(requested)
    return (lowest,) if request.required else tuple(range(lowest, -1, -1))


def _one_group(pod_sets: Iterable[PodSet]) -> tuple[PodSet, PodSet | None] | None:
    """Returns the workers and their leader; None if the pod sets are not one group."""
    given = tuple(pod_sets)
    if len(given) == 1:
        return given[0], None
    if not given or any(pod_set.topology_request is None for pod_set in given):
        return None
    names = {p.topology_request.pod_set_group_name for p in given if p.topology_request}
    if len(given) > 2 or len(names) > 1 or None in names:  # noqa: PLR2004 - workers and leader
        return None
    leader, workers = sorted(given, key=lambda pod_set: pod_set.count)
    return workers, leader
