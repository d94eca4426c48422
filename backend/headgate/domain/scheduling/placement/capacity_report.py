"""Reports free capacity: the largest gang that fits each level, and the nearest domains."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from headgate.domain.scheduling.placement.capacity_cache import RequestShape, capacities_for
from headgate.domain.scheduling.placement.domain_capacities import SliceConstraints
from headgate.domain.scheduling.placement.flavor_topology import leaf_range
from headgate.domain.scheduling.placement.host_table import PODS, DomainId, Ints
from headgate.domain.scheduling.placement.partial_slices import slices_needed
from headgate.domain.scheduling.placement.placement_context import PlacementContext, free_at
from headgate.domain.scheduling.placement.search import search_request, slice_constraints
from headgate.domain.values.message import Message
from headgate.domain.values.quantities import Requests
from headgate.domain.workloads.specs import PodSet, Scheduling

MAX_DOMAINS = 8


@dataclass(frozen=True, slots=True)
class LevelCapacity:
    """The most pods of one kind that fit one domain of a level, and the total over its domains."""

    flavor: str
    level: str
    domains: int
    with_room: int
    largest: int
    domain: tuple[str, ...]
    total: int

    @property
    def fragmentation(self) -> int:
        """The share of free pods that the largest gang of the level cannot use, in thousandths.

        Counted in pods of the kind asked about: those that fit anywhere less those that fit the
        largest domain, divided by those that fit anywhere. 0 where nothing fits at all.
        """
        return 1000 * (self.total - self.largest) // self.total if self.total else 0


@dataclass(frozen=True, slots=True)
class NearestDomain:
    """How many units of a pod set fit a domain, its scarcest resource, and its host table rows."""

    level: str
    domain: tuple[str, ...]
    unit: str
    fits: int
    needs: int
    resource: str
    rows: frozenset[int]


def largest_gangs(context: PlacementContext, requests: Requests) -> Iterator[LevelCapacity]:
    """Yields the largest gang of pods with `requests` for each level, widest level first."""
    topology = context.topology
    if not topology.paths:
        return
    pod_set = PodSet(scheduling=Scheduling(requests=requests))
    shape = RequestShape(pod_set, None, SliceConstraints(1, len(topology.levels) - 1))
    with capacities_for(context, shape) as capacities:
        for level, name in enumerate(topology.levels):
            pods = capacities.pods[level]
            best = int(np.argmax(pods))
            yield LevelCapacity(
                flavor=topology.flavor,
                level=name,
                domains=len(pods),
                with_room=int((pods > 0).sum()),
                largest=int(pods[best]),
                domain=topology.domain_path(level, best) if pods[best] else (),
                total=int(pods.sum()),
            )


def nearest_domains(context: PlacementContext, pod_set: PodSet) -> Iterator[NearestDomain]:
    """Yields the domains of the requested level that come nearest to holding a pod set.

    A pod set that may use any hosts gets one entry for all hosts together, as a domain without a
    name.
    """
    topology = context.topology
    request = search_request(pod_set, topology.levels, context.rules)
    if isinstance(request, Message) or not topology.paths:
        return
    constraints = slice_constraints(pod_set, topology.levels)

    def nearest(level: str, domain: DomainId, fits: Ints, leaves: slice) -> NearestDomain:
        return NearestDomain(
            level=level,
            domain=domain,
            unit="slices" if constraints.size > 1 else "pods",
            fits=int(fits.sum()),
            needs=slices_needed(pod_set.count, constraints),
            resource=_scarcest_resource(context, pod_set, leaves),
            rows=frozenset(topology.rows[leaves].tolist()),
        )

    with capacities_for(context, RequestShape(pod_set, None, constraints)) as capacities:
        if request.may_split:
            yield nearest("", (), capacities.slices[0], slice(0, len(topology.paths)))
            return
        level, name = request.level, topology.levels[request.level]
        slices, pods = capacities.slices[level], capacities.pods[level]
        order = np.lexsort([np.arange(len(slices)), -pods, -slices])
        for domain in order[:MAX_DOMAINS].tolist():
            leaves = leaf_range(topology, level, domain)
            if context.within is None or context.within[leaves].any():
                yield nearest(name, topology.domain_path(level, domain), slices[domain], leaves)


def pods_on_rows(rows: frozenset[int], leaves: Ints, counts: Ints) -> int:
    """Returns how many of these pods are on the given rows."""
    held = zip(leaves.tolist(), counts.tolist(), strict=True)
    return sum(count for row, count in held if row in rows)


def _scarcest_resource(context: PlacementContext, pod_set: PodSet, leaves: slice) -> str:
    """Returns the resource that fits the fewest pods, summed over the hosts of a domain."""
    asked = {n: a for n, a in sorted(pod_set.scheduling.requests.items()) if a > 0}
    free = free_at(context, asked, leaves)
    pods = {name: int(free[name].sum()) // amount for name, amount in asked.items()}
    return min(pods, key=lambda name: (pods[name], name), default=PODS)
