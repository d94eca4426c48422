"""What domains have room for once those who stand there have left (preemption.md §6.7).

For all domains at once: places are sorted by host and protection, and what has been freed after
each removal is a running sum.
"""

from dataclasses import replace

import msgspec
import numpy as np

from headgate.domain.scheduling.placement.admitted_index import Crowd
from headgate.domain.scheduling.placement.capacity_cache import Shape, capacities_for, computed
from headgate.domain.scheduling.placement.domain_capacities import Capacities
from headgate.domain.scheduling.placement.eligibility import eligible_hosts
from headgate.domain.scheduling.placement.eviction_cost_bound import Entries, least_weight
from headgate.domain.scheduling.placement.host_table import PROJECTED, TRIAL, Bools, Ints
from headgate.domain.scheduling.placement.placement_context import Ground, open_places, per_pod


class Clearable(msgspec.Struct, frozen=True, gc=False):
    """A domain that could hold the shape if everyone left who can be made to.

    Whoever leaves, one of them is protected by at least `least`, and all their pods weigh at least
    `weight`. `holders` are the numbers, in the crowd, of those in it, once for each of their hosts.
    """

    domain: int
    least: int
    weight: int
    holders: Ints


def clearable_domains(
    now: Ground, shape: Shape, level: int, evictable: tuple[Crowd, Bools], most: int
) -> list[Clearable]:
    """The domains of a level with the most room now, at most so many of them."""
    if not len(now.topology.paths):
        return []
    entries = _entries(now, level, *evictable)
    with capacities_for(now, shape) as figures:
        can, pods = _pods(figures, level), figures.pods[-1].copy()
    steps = _steps(now, shape, pods, entries)
    room = np.add.reduceat(pods, now.topology.starts[level])
    could, least = _reached(room, shape.workers.count, entries, steps)
    if not is_plain(shape, len(now.topology.levels)):
        could = _could(now, shape, level, entries)
    found = np.flatnonzero(could)
    found = found[np.lexsort([found, -can[found]])][:most]
    weight = least_weight(now, shape.workers, (level, found), pods, entries)
    begins = np.searchsorted(entries.domains, found)
    ends = np.searchsorted(entries.domains, found, side="right")
    listed = (found, least[found], weight, begins, ends)
    return [
        Clearable(domain, lowest, weighs, entries.holders[begin:end])
        for domain, lowest, weighs, begin, end in zip(*(n.tolist() for n in listed), strict=True)
    ]


def is_plain(shape: Shape, levels: int) -> bool:
    """Whether the room of a domain is no more than the sum of that of its hosts."""
    slicing = shape.slicing
    return shape.leader is None and slicing.size == 1 and slicing.level == levels - 1


def _entries(now: Ground, level: int, crowd: Crowd, mask: Bools) -> Entries:
    places = now.topology.place_of_row[crowd.rows]
    of = np.flatnonzero((crowd.holders >= 0) & (places >= 0) & mask[crowd.holders])
    places, protections = places[of], crowd.protections[crowd.holders[of]]
    domains = np.searchsorted(now.topology.starts[level], places, side="right") - 1
    order = np.lexsort([protections, domains])
    of = of[order]
    return Entries(
        crowd.holders[of],
        places[order],
        domains[order],
        protections[order],
        crowd.counts[of],
        crowd.amounts[:, of],
    )


def _steps(now: Ground, shape: Shape, pods: Ints, entries: Entries) -> Ints:
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
    asked = {name: amount for name, amount in per_pod(shape.workers).items() if amount > 0}
    for name, amount in sorted(asked.items()):
        line = now.table.resources.get(name)
        if line is None:
            return np.zeros(len(places), dtype=np.int64)
        freed = np.cumsum(entries.amounts[line, order])
        before = freed[begins] - entries.amounts[line, order[begins]]
        free = now.table.free[PROJECTED][line, rows] + freed - before[group]
        np.minimum(fits, free // amount, out=fits)
    may = open_places(now, places) & eligible_hosts(now, shape.workers.scheduling).mask[places]
    fits = np.maximum(fits, 0) * may
    more = fits.copy()
    more[1:] -= fits[:-1]
    more[begins] = fits[begins] - pods[places[begins]]
    steps: Ints = np.empty_like(more)
    steps[order] = more
    return steps


def _reached(room: Ints, count: int, entries: Entries, steps: Ints) -> tuple[Bools, Ints]:
    """Which domains come to `count` pods, and the protection of the one with whom they do."""
    reached, least = room >= count, np.zeros(len(room), dtype=np.int64)
    grown = np.cumsum(steps)
    begins = np.searchsorted(entries.domains, np.arange(len(room)))
    before = np.concatenate([np.zeros(1, dtype=np.int64), grown])[begins]
    enough = np.flatnonzero((room - before)[entries.domains] + grown >= count)
    if len(enough):
        of = entries.domains[enough]
        firsts = np.flatnonzero(np.concatenate([np.ones(1, dtype=np.bool_), of[1:] != of[:-1]]))
        least[of[firsts]] = entries.protections[enough[firsts]]
        reached[of] = True
    return reached, least


def _could(now: Ground, shape: Shape, level: int, entries: Entries) -> Bools:
    """Which domains have room for pods that hold together, if all leave."""
    free = now.table.free[TRIAL]
    free[:] = now.table.free[PROJECTED]
    rows = now.topology.rows[entries.places]
    for line in range(len(free)):
        np.add.at(free[line], rows, entries.amounts[line])
    figures = computed(replace(now, views=(TRIAL,)), shape)
    could: Bools = _pods(figures, level) >= shape.workers.count
    return could


def has_room(now: Ground, shape: Shape) -> bool:
    """Whether the topology, a part of one, has room for the shape in its widest domain."""
    with capacities_for(now, shape) as figures:
        return int(_pods(figures, 0).max(initial=0)) >= shape.workers.count


def _pods(figures: Capacities, level: int) -> Ints:
    """How many pods the domains of a level can take, the leader among them if there is one."""
    pods: Ints = figures.slices_led[level] * figures.slicing.size
    return pods * (figures.leads[level] > 0) if figures.has_leader else pods
