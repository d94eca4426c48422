"""The topology domains in which a workload could preempt, and what plans cost (preemption.md §6.7).

Of several domains the one with the plan that costs least is taken.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import TypeAlias

import msgspec

from headgate.domain.kinds.priority_classes import FIRST_PRIORITY
from headgate.domain.scheduling.flavors.assignment import PodSetFlavors
from headgate.domain.scheduling.partition.partition import Partition
from headgate.domain.scheduling.partition.topology_assignment import (
    PlacementDemand,
    neighbors_of,
    placement_context,
    topology_flavor,
)
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
    usable_hosts,
)
from headgate.domain.scheduling.placement.host_table import PROJECTED, Bools
from headgate.domain.scheduling.placement.placement_context import PlacementContext
from headgate.domain.scheduling.placement.search import slice_constraints
from headgate.domain.scheduling.preemption.candidates import CandidateMask, quota_reserved_at
from headgate.domain.scheduling.preemption.request import Victim
from headgate.domain.values.instants import Instant
from headgate.domain.workloads.pods.eviction_units import protection_of_unit, workload_of
from headgate.domain.workloads.specs import PodSet

MAX_COMBINATIONS = 1_024
"""Of the domains of several groups, of which `mostDomains` are searched."""

_QUEUE = "clusterqueue/"
_ABOVE_ALL = 2**63 - 1
"""Higher than any priority, also a boosted one."""


class PreemptionDomain(msgspec.Struct, frozen=True, gc=False):
    """A topology domain, or one for each of several groups, with the eligible workloads there.

    `areas` are what of the topology each pod set may use. Of one group, `context` is the placement
    restricted to the domain, in the projected view, and `shape` what it requests. `usable` are the
    hosts there that could hold a pod, where some workload may lose single pods.
    """

    name: str
    areas: Mapping[str, FlavorTopology]
    occupants: Mapping[str, bool]
    context: PlacementContext | None = None
    shape: RequestShape | None = None
    usable: Bools | None = None

    def fits(self) -> bool | None:
        """Whether the pods of one group fit on the hosts that are free now; None of several."""
        if self.context is None or self.shape is None:
            return None
        return fits_in_one_domain(self.context, self.shape)

    def simulation(self) -> EvictionSimulation | None:
        """Evictions in plain numbers; None where the pods need more than free hosts in sum."""
        if self.context is None or self.shape is None:
            return None
        if not is_sum_of_hosts(self.shape, len(self.context.topology.levels)):
            return None
        return eviction_simulation(self.context, self.shape.workers)


class DomainCandidate(msgspec.Struct, frozen=True, gc=False):
    """A topology domain that evictions of eligible workloads could free for some pod sets."""

    pod_sets: tuple[str, ...]
    context: PlacementContext
    shape: RequestShape
    level: int
    mask: CandidateMask
    freeable: FreeableDomain

    @property
    def min_cost(self) -> tuple[int, int]:
        """The lowest possible highest protection of its victims, and weight of their pods."""
        return self.freeable.min_protection, self.freeable.min_weight

    def domain(self) -> PreemptionDomain:
        """Returns the domain with its occupants."""
        topology, number = self.context.topology, self.freeable.domain
        admitted, usable = self.mask.admitted, None
        names = (admitted.names[holder] for holder in self.freeable.holders.tolist())
        owners = map(workload_of, names) if admitted.units_of else names
        here = subtopology_of(topology, self.level, number)
        context = replace(self.context, topology=here)
        if admitted.units_of:
            pod_sets = [each for each in (self.shape.workers, self.shape.leader) if each]
            usable = usable_hosts(context, pod_sets, (admitted, self.mask.eligible))
        return PreemptionDomain(
            name=domain_name(topology, self.level, number),
            areas=dict.fromkeys(self.pod_sets, here),
            occupants=dict.fromkeys(owners, True),
            context=context,
            shape=self.shape,
            usable=usable,
        )


class DomainCombination(msgspec.Struct, frozen=True, gc=False):
    """A domain candidate for each of several groups; other pod sets may use any hosts."""

    candidates: tuple[DomainCandidate, ...]

    @property
    def min_cost(self) -> tuple[int, int]:
        """The lowest possible highest protection of its victims, and weight of their pods."""
        costs = [candidate.min_cost for candidate in self.candidates]
        return max(protection for protection, _ in costs), max(weight for _, weight in costs)

    def domain(self) -> PreemptionDomain:
        """Returns the domains as one, with the occupants of all."""
        found = [candidate.domain() for candidate in self.candidates]
        return PreemptionDomain(
            name=" ".join(domain.name for domain in found),
            areas={name: area for domain in found for name, area in domain.areas.items()},
            occupants={name: True for domain in found for name in domain.occupants},
            usable=either([domain.usable for domain in found]),
        )


class DomainSearch(msgspec.Struct, frozen=True, gc=False):
    """The domains of one group, level by level, or the combinations of those of several groups."""

    levels: Sequence[Sequence[DomainCandidate]] = ()
    combinations: Sequence[DomainCombination] = ()


def preemption_domains(
    partition: Partition, demand: PlacementDemand, mask: CandidateMask
) -> DomainSearch:
    """Returns the domain candidates of a workload.

    Leaves out domains that could not hold the pods without all eligible workloads, and those
    beyond the configured limit. Empty for workloads that need no single domain: several pods
    without a requested level; and for pods that require something of others, which decides which
    domain evictions can free. KEP-5710, Algorithm 1.
    """
    pod_sets = demand.assignment.pod_sets
    around = (each.pod_set for each in pod_sets)
    if neighbors_of(partition, demand.workload.key, around, (PROJECTED,)) is not None:
        return DomainSearch()
    placed = [each for each in pod_sets if topology_flavor(partition, each) and each.pod_set.count]
    group = _one_group([each.pod_set for each in placed])
    if group is None:
        return DomainSearch(combinations=_combinations(partition, demand, mask, placed))
    levels = partition.topologies[topology_flavor(partition, placed[0])].levels
    searched = _searched_levels(group, levels)
    return DomainSearch([_candidates(partition, demand, mask, placed, level) for level in searched])


def _candidates(
    partition: Partition,
    demand: PlacementDemand,
    mask: CandidateMask,
    group: Sequence[PodSetFlavors],
    level: int,
) -> list[DomainCandidate]:
    """Returns the domains of a level that could hold a group, of which the largest is decisive."""
    pod_sets = [each.pod_set for each in group]
    shaped = _one_group(pod_sets) or (max(pod_sets, key=lambda each: each.count), None)
    flavor = topology_flavor(partition, group[0])
    context = placement_context(partition, demand, flavor, (PROJECTED,), {})
    shape = RequestShape(*shaped, slice_constraints(shaped[0], context.topology.levels))
    limit = partition.config.configuration.preemption.most_domains
    names = tuple(pod_set.name for pod_set in pod_sets)
    return [
        DomainCandidate(names, context, shape, level, mask, freeable)
        for freeable in freeable_domains(
            context, shape, level, (mask.admitted, mask.eligible), limit
        )
    ]


def _combinations(
    partition: Partition,
    demand: PlacementDemand,
    mask: CandidateMask,
    placed: Sequence[PodSetFlavors],
) -> list[DomainCombination]:
    """Returns the combinations with the lowest possible costs, of groups that need one domain."""
    groups: dict[str, list[PodSetFlavors]] = {}
    for each in placed:
        request = each.pod_set.topology_request
        name = request.pod_set_group_name if request else None
        groups.setdefault(f"group/{name}" if name else each.pod_set.name, []).append(each)
    found = []
    for group in groups.values():
        largest, *others = sorted((each.pod_set for each in group), key=lambda each: -each.count)
        levels = partition.topologies[topology_flavor(partition, group[0])].levels
        searched = _searched_levels((largest, others[0] if others else None), levels)
        if searched:
            found.append(_candidates(partition, demand, mask, group, searched[0]))
    if not found:
        return []
    each_at_most = 1
    while (each_at_most + 1) ** len(found) <= MAX_COMBINATIONS:
        each_at_most += 1
    made = map(DomainCombination, product(*(some[:each_at_most] for some in found)))
    limit = partition.config.configuration.preemption.most_domains
    return sorted(made, key=lambda combination: combination.min_cost)[:limit]


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
    """Returns the workers and their leader; None if the pod sets are not one group of them."""
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


def usable_for(partition: Partition, demand: PlacementDemand, mask: CandidateMask) -> Bools | None:
    """Returns the hosts that could hold a pod of the demand; None if no single pods may leave."""
    if not mask.admitted.units_of:
        return None
    found = []
    for each in demand.assignment.pod_sets:
        flavor = topology_flavor(partition, each)
        if flavor:
            context = placement_context(partition, demand, flavor, (PROJECTED,), {})
            found.append(usable_hosts(context, (each.pod_set,), (mask.admitted, mask.eligible)))
    return either(found)


def either(masks: Sequence[Bools | None]) -> Bools | None:
    """Returns the hosts in any of the masks; None if there is none."""
    found: Bools | None = None
    for mask in masks:
        if mask is not None:
            found = mask if found is None else found | mask
    return found


PlanScore: TypeAlias = tuple[int, int, int, int, int, int, Instant, str]


def plan_score(victims: Sequence[Victim], violations: int, domain: str) -> PlanScore:
    """Returns the cost of a plan, the lower the better (§6.6 SCORE, traps P11 and P14).

    In this order: violated budgets, the highest protection, pods weighted by priority, workloads,
    pods, pods that stay although single ones of lower ranks leave, the earliest start among the
    best protected (later is better), the domain's name. Of plans that tie in the first three, that
    with fewer `FollowUps` goes first.
    kube-scheduler: pickOneNodeForPreemption.
    """
    protections = [
        protection_of_unit(victim.workload.spec, victim.candidate.eviction_unit)
        for victim in victims
    ]
    pods = [victim.candidate.pods for victim in victims]
    highest = max(protections, default=0)
    weighted = sum(
        (priority + FIRST_PRIORITY) * count
        for priority, count in zip(protections, pods, strict=True)
    )
    started = [
        quota_reserved_at(victim.workload)
        for victim, priority in zip(victims, protections, strict=True)
        if priority == highest
    ]
    earliest = min(started, default=0)
    units = (victim.candidate.eviction_unit for victim in victims)
    later = sum(unit.later_ranked for unit in units if unit is not None)
    return violations, highest, weighted, len(victims), sum(pods), later, -earliest, domain


class FollowUps:
    """Counts victims that may preempt others of their ClusterQueue once they are requeued.

    One step is reckoned, in the own ClusterQueue alone: what these in turn would do is not.
    """

    def __init__(self, partition: Partition, admitted: AdmittedIndex) -> None:
        self._partition = partition
        self._admitted = admitted
        self._counts: dict[str, int] = {}

    def count(self, domain: str, victims: Sequence[Victim]) -> int:
        """How many victims of a domain's plan could preempt a workload that is no victim."""
        found = self._counts.get(domain)
        if found is None:
            nodes = dict.fromkeys(victim.candidate.node for victim in victims)
            gone = dict.fromkeys(victim.workload.key for victim in victims)
            lowest = {node: self._lowest_left(node[len(_QUEUE) :], gone) for node in nodes}
            found = self._counts[domain] = sum(
                lowest[victim.candidate.node] < victim.workload.spec.priority
                and victim.workload.spec.can_preempt
                and (
                    victim.candidate.eviction_unit is None
                    or victim.candidate.eviction_unit.is_remainder
                )
                for victim in victims
            )
        return found

    def _lowest_left(self, queue: str, gone: Iterable[str]) -> int:
        """The lowest protection in a ClusterQueue beside the victims, if it may preempt at all."""
        if self._partition.specs[queue].preemption.within_cluster_queue == "Never":
            return _ABOVE_ALL
        lowest = self._admitted.lowest_protection(queue, gone)
        return _ABOVE_ALL if lowest is None else lowest
