"""What would fit now: the largest gang of each level, and the domains nearest to taking pods."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from headgate.domain.scheduling.placement.capacity_cache import RequestShape, capacities_for
from headgate.domain.scheduling.placement.domain_capacities import SliceConstraints
from headgate.domain.scheduling.placement.flavor_topology import FlavorTopology
from headgate.domain.scheduling.placement.host_table import PODS, Ints
from headgate.domain.scheduling.placement.placement_context import PlacementContext, free_at
from headgate.domain.scheduling.placement.search_request import search_request, slice_constraints
from headgate.domain.values.quantities import Requests
from headgate.domain.workloads.specs import PodSet, Scheduling

MAX_DOMAINS = 8


@dataclass(frozen=True, slots=True)
class LevelCapacity:
    """The most pods of one kind that one domain of a level takes now, and all of them together."""

    flavor: str
    level: str
    domains: int
    with_room: int
    largest: int
    domain: tuple[str, ...]
    total: int

    @property
    def fragmentation(self) -> int:
        """How much of the room is of no use to the largest gang of the level, in thousandths.

        Room is counted in pods of the kind asked about: those that fit anywhere, less those that
        fit in the largest domain, of those that fit anywhere. 0 where nothing fits at all, for
        there is nothing that could be fragmented.
        """
        return 1000 * (self.total - self.largest) // self.total if self.total else 0


@dataclass(frozen=True, slots=True)
class NearestDomain:
    """How many units of a pod set a domain takes, what it is shortest of, and its rows."""

    level: str
    domain: tuple[str, ...]
    unit: str
    fits: int
    needs: int
    resource: str
    rows: frozenset[int]


def largest_gangs(context: PlacementContext, requests: Requests) -> Iterator[LevelCapacity]:
    """The largest gang of pods that ask for `requests`, widest level first."""
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
    """The domains of the level a pod set asks for that come nearest to taking it, nearest first.

    Who may lie anywhere is told of all hosts together, as of a domain without a name.
    """
    topology = context.topology
    wanted = search_request(pod_set, topology.levels, context.rules)
    if isinstance(wanted, str) or not topology.paths:
        return
    constraints = slice_constraints(pod_set, topology.levels)
    with capacities_for(context, RequestShape(pod_set, None, constraints)) as capacities:
        unit = "slices" if constraints.size > 1 else "pods"
        if wanted.may_split:
            yield NearestDomain(
                level="",
                domain=(),
                unit=unit,
                fits=int(capacities.slices[0].sum()),
                needs=pod_set.count // constraints.size,
                resource=_shortest_of(context, pod_set, np.arange(len(topology.paths))),
                rows=frozenset(topology.rows.tolist()),
            )
            return
        slices, pods = capacities.slices[wanted.level], capacities.pods[wanted.level]
        order = np.lexsort([np.arange(len(slices)), -pods, -slices])
        for domain in order[:MAX_DOMAINS].tolist():
            places = _places(topology, wanted.level, domain)
            if context.within is not None and not context.within[places].any():
                continue
            yield NearestDomain(
                level=topology.levels[wanted.level],
                domain=topology.domain_path(wanted.level, domain),
                unit=unit,
                fits=int(slices[domain]),
                needs=pod_set.count // constraints.size,
                resource=_shortest_of(context, pod_set, places),
                rows=frozenset(topology.rows[places].tolist()),
            )


def pods_on_rows(rows: frozenset[int], places: Ints, counts: Ints) -> int:
    """How many of the pods that lie so lie in these rows."""
    held = zip(places.tolist(), counts.tolist(), strict=True)
    return sum(count for row, count in held if row in rows)


def _places(topology: FlavorTopology, level: int, domain: int) -> Ints:
    starts = topology.starts[level]
    end = int(starts[domain + 1]) if domain + 1 < len(starts) else len(topology.paths)
    return np.arange(int(starts[domain]), end)


def _shortest_of(context: PlacementContext, pod_set: PodSet, places: Ints) -> str:
    """The resource that the fewest pods fit in, all hosts of the domain taken together."""
    asked = {n: a for n, a in sorted(pod_set.scheduling.requests.items()) if a > 0}
    free = free_at(context, asked, places)
    pods = {name: int(free[name].sum()) // amount for name, amount in asked.items()}
    return min(pods, key=lambda name: (pods[name], name), default=PODS)
