"""What domains have room for once those who stand there have left (preemption.md §6.7).

For all domains at once: places are sorted by host and protection, and what has been freed after
each removal is a running sum.
"""

from dataclasses import replace

import msgspec
import numpy as np

from headgate.domain.scheduling.placement.admitted_index import AdmittedIndex
from headgate.domain.scheduling.placement.capacity_cache import (
    RequestShape,
    capacities_for,
    compute_capacities,
)
from headgate.domain.scheduling.placement.domain_capacities import DomainCapacities
from headgate.domain.scheduling.placement.eligibility import eligible_leaves
from headgate.domain.scheduling.placement.eviction_cost_bound import (
    EvictableEntries,
    eviction_cost_bound,
)
from headgate.domain.scheduling.placement.host_table import PROJECTED, TRIAL, Bools, Ints
from headgate.domain.scheduling.placement.placement_context import (
    PlacementContext,
    schedulable_leaves,
    single_pod_requests,
)


class FreeableDomain(msgspec.Struct, frozen=True, gc=False):
    """A domain that could hold the shape if everyone left who can be made to.

    Every set of evictions that suffices has a victim protected by at least `min_protection` and a
    total weight of at least `min_weight`. `holders` are the numbers of its holders in the index,
    once for each of their hosts.
    """

    domain: int
    min_protection: int
    min_weight: int
    holders: Ints


def freeable_domains(
    now: PlacementContext,
    shape: RequestShape,
    level: int,
    evictable: tuple[AdmittedIndex, Bools],
    most: int,
) -> list[FreeableDomain]:
    """The domains of a level with the most room now, at most so many of them."""
    if not len(now.topology.paths):
        return []
    entries = _entries(now, level, *evictable)
    with capacities_for(now, shape) as figures:
        can, pods = _pods(figures, level), figures.pods[-1].copy()
    steps = _steps(now, shape, pods, entries)
    room = np.add.reduceat(pods, now.topology.starts[level])
    could, min_protection = _reached(room, shape.workers.count, entries, steps)
    if not is_sum_of_hosts(shape, len(now.topology.levels)):
        could = _could(now, shape, level, entries)
    found = np.flatnonzero(could)
    found = found[np.lexsort([found, -can[found]])][:most]
    min_weight = eviction_cost_bound(now, shape.workers, (level, found), pods, entries)
    begins = np.searchsorted(entries.domains, found)
    ends = np.searchsorted(entries.domains, found, side="right")
    listed = (found, min_protection[found], min_weight, begins, ends)
    return [
        FreeableDomain(domain, lowest, weighs, entries.holders[begin:end])
        for domain, lowest, weighs, begin, end in zip(*(n.tolist() for n in listed), strict=True)
    ]


def is_sum_of_hosts(shape: RequestShape, levels: int) -> bool:
    """Whether the room of a domain is no more than the sum of that of its hosts."""
    constraints = shape.constraints
    return shape.leader is None and constraints.size == 1 and constraints.level == levels - 1


def _entries(
    now: PlacementContext, level: int, admitted: AdmittedIndex, mask: Bools
) -> EvictableEntries:
    places = now.topology.leaf_of_row[admitted.rows]
    of = np.flatnonzero((admitted.holders >= 0) & (places >= 0) & mask[admitted.holders])
    places, protections = places[of], admitted.protections[admitted.holders[of]]
    domains = np.searchsorted(now.topology.starts[level], places, side="right") - 1
    order = np.lexsort([protections, domains])
    of = of[order]
    return EvictableEntries(
        admitted.holders[of],
        places[order],
        domains[order],
        protections[order],
        admitted.counts[of],
        admitted.amounts[:, of],
    )


def _steps(
    now: PlacementContext, shape: RequestShape, pods: Ints, entries: EvictableEntries
) -> Ints:
    """How many more pods fit on its place when each entry leaves, the least protected first."""
    order = np.argsort(entries.places, kind="stable")
    places = entries.places[order]
    if not len(places):
        return places
    is_first = np.ones(len(places), dtype=np.bool_)
    np.not_equal(places[1:], places[:-1], out=is_first[1:])
    group = np.cumsum(is_first) - 1
    begins = np.flatnonzero(is_first)
    rows = now.topology.rows[places]
    fits = np.full(len(places), np.iinfo(np.int64).max)
    asked = {
        name: amount for name, amount in single_pod_requests(shape.workers).items() if amount > 0
    }
    for name, amount in sorted(asked.items()):
        line = now.table.resources.get(name)
        if line is None:
            return np.zeros(len(places), dtype=np.int64)
        freed = np.cumsum(entries.amounts[line, order])
        before = freed[begins] - entries.amounts[line, order[begins]]
        free = now.table.free[PROJECTED][line, rows] + freed - before[group]
        np.minimum(fits, free // amount, out=fits)
    may = (
        schedulable_leaves(now, places)
        & eligible_leaves(now, shape.workers.scheduling).mask[places]
    )
    fits = np.maximum(fits, 0) * may
    more = fits.copy()
    more[1:] -= fits[:-1]
    more[begins] = fits[begins] - pods[places[begins]]
    steps: Ints = np.empty_like(more)
    steps[order] = more
    return steps


def _reached(room: Ints, count: int, entries: EvictableEntries, steps: Ints) -> tuple[Bools, Ints]:
    """Which domains come to `count` pods, and the protection of the one with whom they do."""
    reached, min_protection = room >= count, np.zeros(len(room), dtype=np.int64)
    grown = np.cumsum(steps)
    begins = np.searchsorted(entries.domains, np.arange(len(room)))
    before = np.concatenate([np.zeros(1, dtype=np.int64), grown])[begins]
    enough = np.flatnonzero((room - before)[entries.domains] + grown >= count)
    if len(enough):
        of = entries.domains[enough]
        firsts = np.flatnonzero(np.concatenate([np.ones(1, dtype=np.bool_), of[1:] != of[:-1]]))
        min_protection[of[firsts]] = entries.protections[enough[firsts]]
        reached[of] = True
    return reached, min_protection


def _could(
    now: PlacementContext, shape: RequestShape, level: int, entries: EvictableEntries
) -> Bools:
    """Which domains have room for pods that hold together, if all leave."""
    free = now.table.free[TRIAL]
    free[:] = now.table.free[PROJECTED]
    rows = now.topology.rows[entries.places]
    for line in range(len(free)):
        np.add.at(free[line], rows, entries.amounts[line])
    figures = compute_capacities(replace(now, views=(TRIAL,)), shape)
    could: Bools = _pods(figures, level) >= shape.workers.count
    return could


def fits_in_one_domain(now: PlacementContext, shape: RequestShape) -> bool:
    """Whether the topology, a part of one, has room for the shape in its widest domain."""
    with capacities_for(now, shape) as figures:
        return int(_pods(figures, 0).max(initial=0)) >= shape.workers.count


def _pods(figures: DomainCapacities, level: int) -> Ints:
    """How many pods the domains of a level can take, the leader among them if there is one."""
    pods: Ints = figures.slices_with_leader[level] * figures.constraints.size
    return pods * (figures.leader_capacity[level] > 0) if figures.has_leader else pods
