"""The projected capacity of a partition, on which a search for victims tries removals.

With the topology domains in which a workload could preempt, by level (preemption.md §6.7).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

import msgspec

from headgate.domain.scheduling.partition.charges import Charge
from headgate.domain.scheduling.partition.partition import Partition
from headgate.domain.scheduling.partition.topology_assignment import (
    PlacementDemand,
    assign_topology,
    neighbors_of,
    placement_context,
    topology_flavor,
)
from headgate.domain.scheduling.placement.admitted_index import AdmittedIndex, PodsOnHosts
from headgate.domain.scheduling.placement.capacity_cache import RequestShape
from headgate.domain.scheduling.placement.flavor_topology import domain_name, subtopology_of
from headgate.domain.scheduling.placement.freeable_domains import (
    EvictionSimulation,
    FreeableDomain,
    LeafPods,
    eviction_simulation,
    fits_in_one_domain,
    freeable_domains,
    is_sum_of_hosts,
)
from headgate.domain.scheduling.placement.host_table import ACTUAL, OVERLAY, PROJECTED
from headgate.domain.scheduling.placement.neighbors import is_allowed
from headgate.domain.scheduling.placement.placement_context import PlacementContext
from headgate.domain.scheduling.placement.search import slice_constraints
from headgate.domain.scheduling.preemption.candidates import CandidateMask
from headgate.domain.scheduling.preemption.request import Candidate
from headgate.domain.scheduling.quota.dominant_resource_share import (
    ShareOrder,
    dominant_resource_share,
)
from headgate.domain.scheduling.quota.tree import FlavorResourceQuantities, QuotaTree
from headgate.domain.scheduling.quota.usage import (
    QuotaUsage,
    QuotaView,
    add_usage,
    available,
    borrowing_level,
    is_within_nominal,
    quantities_fit_in_quota,
    remove_usage,
)
from headgate.domain.values.quantities import FlavorResource
from headgate.domain.workloads.admission import Admission
from headgate.domain.workloads.pods.eviction_units import workload_of
from headgate.domain.workloads.specs import PodSet
from headgate.domain.workloads.state import Workload, WorkloadsByKey


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
    without a requested level, or with several pod sets that are no group; and for pods that require
    something of others, which decides which domain evictions can free.
    """
    pod_sets = demand.assignment.pod_sets
    around = (each.pod_set for each in pod_sets)
    if neighbors_of(partition, demand.workload.key, around, (PROJECTED,)) is not None:
        return []
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


CandidatesByNode = Mapping[str, Sequence[Candidate]]

ANY_HOSTS = Admission(cluster_queue="", pod_set_assignments=())
"""The admission that a search in quota alone finds."""


def charge_fits(partition: Partition, charge: Charge, views: tuple[int, ...]) -> bool:
    """Whether quota and hosts have room for exactly this charge in all of these views."""
    quota = QuotaView(partition.tree, *partition.usage)
    node = f"clusterqueue/{charge.cluster_queue}"
    quota_fits = quota.fits if ACTUAL in views else quota.fits_projected
    return (
        charge.is_whole
        and quota_fits(node, charge.amounts)
        and all(partition.hosts.fits(view, charge.pods) for view in views)
        and _is_allowed_beside(partition, charge, views)
    )


def _is_allowed_beside(partition: Partition, charge: Charge, views: tuple[int, ...]) -> bool:
    """Whether the pods of a charge may stand beside those of other workloads."""
    around = neighbors_of(partition, charge.workload, charge.placed.pod_sets, views)
    return around is None or is_allowed(around, charge.placed)


class CapacityView(msgspec.Struct, gc=False):
    """Quota, and where there is a demand hosts, as they are after removals of candidates.

    `usage` is the projected usage; whatever is removed must be restored. `candidates` are by
    ClusterQueue, where only these matter; otherwise all that is admitted is one. Without a
    `demand` quota alone is viewed. With a `simulation` the hosts of `domain` are counted in plain
    numbers and the host table is unchanged; otherwise removals change its projected view.
    """

    tree: QuotaTree
    usage: QuotaUsage
    candidates: CandidatesByNode | None = None
    partition: Partition | None = None
    workloads: WorkloadsByKey = {}
    demand: PlacementDemand | None = None
    domain: PreemptionDomain | None = None
    simulation: EvictionSimulation | None = None
    found: Admission | None = None
    leaf_pods: LeafPods | None = None

    def used(self, node: str, key: FlavorResource) -> int:
        """What a node uses."""
        return self.usage[node].get(key, 0)

    def available(self, node: str, key: FlavorResource) -> int:
        """How much more a ClusterQueue may use."""
        return available(self.tree, self.usage, node, key)

    def is_within_nominal(self, node: str, keys: Iterable[FlavorResource]) -> bool:
        """Whether a node uses no more than its subtree owns, in all of these."""
        return is_within_nominal(self.tree, self.usage, node, keys)

    def fits_in_quota(
        self, node: str, requests: FlavorResourceQuantities
    ) -> tuple[bool, FlavorResourceQuantities]:
        """Whether a node's own quota holds the requests, and what its parent must add."""
        return quantities_fit_in_quota(self.tree, self.usage, node, requests)

    def share(self, node: str) -> ShareOrder:
        """The dominant resource share of a node, comparable with any other."""
        return dominant_resource_share(self.tree, self.usage, node).order

    def borrowing_level(self, node: str, amounts: FlavorResourceQuantities) -> int:
        """The borrowing height of a ClusterQueue with these amounts."""
        levels = (
            borrowing_level(self.tree, self.usage, node, *item)[0] for item in amounts.items()
        )
        return max(levels, default=0)

    def add_usage(self, node: str, amounts: FlavorResourceQuantities) -> None:
        """Adds usage to a ClusterQueue and its ancestors."""
        add_usage(self.tree, self.usage, node, amounts)

    def remove_usage(self, node: str, amounts: FlavorResourceQuantities) -> None:
        """Reverts `add_usage`."""
        remove_usage(self.tree, self.usage, node, amounts)

    def candidates_of(self, node: str) -> Iterable[Candidate]:
        """The candidates of a ClusterQueue."""
        if self.candidates is not None:
            return self.candidates.get(node, ())
        return self._admitted(node)

    def remove(self, candidate: Candidate) -> None:
        """Counts the quota and hosts of a candidate as free."""
        remove_usage(self.tree, self.usage, candidate.node, candidate.amounts)
        if self.simulation is not None:
            self.simulation.remove(candidate.key, lambda: self._pods(candidate))
        elif self.demand is not None:
            self._charge_hosts(candidate, -1)

    def restore(self, candidate: Candidate) -> None:
        """Reverts `remove`."""
        add_usage(self.tree, self.usage, candidate.node, candidate.amounts)
        if self.simulation is not None:
            self.simulation.restore(candidate.key, lambda: self._pods(candidate))
        elif self.demand is not None:
            self._charge_hosts(candidate, 1)

    def needs_search(self) -> bool:
        """Whether `fits` runs a placement search, too expensive after every removal."""
        return self.simulation is None

    def fits_on_hosts(self) -> bool:
        """Whether hosts have room for all pods of the demand."""
        if self.demand is None:
            return True
        if self.simulation is not None:
            return self.simulation.fits()
        return self.domain.fits() if self.domain is not None else self.admission() is not None

    def admission(self) -> Admission | None:
        """Returns the best admission for the demand; None while hosts lack capacity."""
        if self.demand is None:
            return ANY_HOSTS
        assert self.partition is not None, "a demand is for hosts of a partition"
        view = PROJECTED
        if self.simulation is not None:
            self.simulation.write_trial_view()
            view = OVERLAY
        domain = self.domain.context.topology if self.domain is not None else None
        found = assign_topology(self.partition, self.demand, (view,), domain)
        return found if isinstance(found, Admission) else None

    def fits_at(self, admission: Admission) -> bool:
        """Whether exactly the hosts of the admission have room."""
        if self.demand is None:
            return True
        assert self.partition is not None, "a demand is for hosts of a partition"
        if self.simulation is None:
            charge = self.partition.charges.charge_of(self.demand.workload, admission)
            return (
                charge.is_whole
                and self.partition.hosts.fits(PROJECTED, charge.pods)
                and _is_allowed_beside(self.partition, charge, (PROJECTED,))
            )
        if self.found is not admission:
            charge = self.partition.charges.charge_of(self.demand.workload, admission)
            self.found = admission
            self.leaf_pods = self.simulation.leaf_pods(charge.pods) if charge.is_whole else None
        return self.leaf_pods is not None and self.simulation.fits_at(self.leaf_pods)

    def _admitted(self, node: str) -> Iterator[Candidate]:
        assert self.partition is not None, "without candidates all that is admitted is one"
        charges = self.partition.charges
        for key, charge in charges.holding.get(node.removeprefix("clusterqueue/"), {}).items():
            if key in charges.divisible:
                yield from units_of(self.partition, self.workloads[key])
            else:
                yield Candidate(self.workloads[key], node, charge.amounts)

    def _charge_hosts(self, candidate: Candidate, sign: int) -> None:
        assert self.partition is not None, "a demand is for hosts of a partition"
        charge = self._charge(candidate)
        for rows, counts, requests in charge.pods:
            self.partition.hosts.charge(PROJECTED, rows, sign * counts, requests)
        index, key = self.partition.charges.neighbors, candidate.workload.key
        if candidate.eviction_unit is None and sign < 0:
            index.take(PROJECTED, key)
        elif candidate.eviction_unit is None:
            index.restore(PROJECTED, key)
        else:
            part = charge.placed if sign < 0 else None
            index.take_part(PROJECTED, key, candidate.key, part)

    def _pods(self, candidate: Candidate) -> tuple[PodsOnHosts, ...]:
        return self._charge(candidate).pods

    def _charge(self, candidate: Candidate) -> Charge:
        assert self.partition is not None, "a demand is for hosts of a partition"
        charges = self.partition.charges
        if candidate.eviction_unit is not None:
            return charges.charge_of(candidate.workload, candidate.eviction_unit.admission)
        return charges.held_by(candidate.workload)


def units_of(partition: Partition, workload: Workload) -> Iterator[Candidate]:
    """Yields the eviction units of a workload that may lose single pods."""
    for eviction_unit in partition.charges.divisible[workload.key]:
        charge = partition.charges.charge_of(workload, eviction_unit.admission)
        yield Candidate(
            workload, f"clusterqueue/{charge.cluster_queue}", charge.amounts, eviction_unit
        )
