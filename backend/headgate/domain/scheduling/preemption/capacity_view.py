"""The projected capacity of a partition, on which a search for victims tries removals."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from headgate.domain.scheduling.partition.charges import Charge
from headgate.domain.scheduling.partition.partition import Partition
from headgate.domain.scheduling.partition.topology_assignment import (
    WHOLE_TOPOLOGIES,
    PlacementDemand,
    assign_topology,
    neighbors_of,
)
from headgate.domain.scheduling.placement.admitted_index import PodsOnHosts
from headgate.domain.scheduling.placement.freeable_domains import EvictionSimulation, LeafPods
from headgate.domain.scheduling.placement.host_table import ACTUAL, OVERLAY, PROJECTED, Bools
from headgate.domain.scheduling.placement.neighbors import is_allowed
from headgate.domain.scheduling.preemption.request import Candidate
from headgate.domain.scheduling.preemption.topology_domains import PreemptionDomain
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
from headgate.domain.workloads.state import Workload, WorkloadsByKey

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
    `usable` are the hosts that the demand needs some of; of workloads that may lose single pods
    those there are candidates first.
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
    usable: Bools | None = None

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
        fits = self.domain.fits() if self.domain is not None else None
        return self.admission() is not None if fits is None else fits

    def admission(self) -> Admission | None:
        """Returns the best admission for the demand; None while hosts lack capacity."""
        if self.demand is None:
            return ANY_HOSTS
        assert self.partition is not None, "a demand is for hosts of a partition"
        view = PROJECTED
        if self.simulation is not None:
            self.simulation.write_trial_view()
            view = OVERLAY
        areas = self.domain.areas if self.domain is not None else WHOLE_TOPOLOGIES
        found = assign_topology(self.partition, self.demand, (view,), areas)
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
                yield from units_of(self.partition, self.workloads[key], self.usable)
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
            return charges.charge_of_unit(candidate.workload, candidate.eviction_unit)
        return charges.held_by(candidate.workload)


def units_of(
    partition: Partition, workload: Workload, usable: Bools | None = None
) -> Iterator[Candidate]:
    """Yields the eviction units of a workload that may lose single pods.

    With `usable` hosts the units on them come first, and leave independently of each other.
    """
    charges, divisible = partition.charges, partition.charges.divisible[workload.key]
    if usable is None:
        units = divisible.units()
    else:
        is_usable = {
            unit.name: any(bool(usable[rows].any()) for rows, _, _ in pods)
            for unit in divisible.single
            for pods in (charges.charge_of_unit(workload, unit).pods,)
        }
        units = divisible.units(lambda unit: is_usable[unit.name])
    for unit in units:
        charge = charges.charge_of_unit(workload, unit)
        yield Candidate(workload, f"clusterqueue/{charge.cluster_queue}", charge.amounts, unit)
