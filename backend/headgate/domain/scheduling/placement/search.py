"""Choosing domains and hosts for one pod set, or for a leader and its workers.

Kueue's best fit and least free capacity (reference topology.md §4.4-4.6): a level with one domain
for all, or several domains of the widest; then down level by level. Slices are kept together in
one domain of their level, inner layers in multiples below it.
"""

import msgspec
import numpy as np

from headgate.domain.scheduling.placement.below import children, smallest_that_takes, take_down
from headgate.domain.scheduling.placement.by_size import NOWHERE, Share
from headgate.domain.scheduling.placement.domain_capacities import Capacities
from headgate.domain.scheduling.placement.domain_selection import (
    Offer,
    Taken,
    leader_first,
    take,
    take_with_leader,
)
from headgate.domain.scheduling.placement.host_table import Ints
from headgate.domain.scheduling.placement.orders import leader_order, plain_order, take_in_order
from headgate.domain.scheduling.placement.search_request import Wanted


class Found(msgspec.Struct, frozen=True, gc=False):
    """Places, as indices into the flavor's places in path order, and the pods in each.

    `leader` is the place of the leader, or -1 without one.
    """

    places: Ints
    counts: Ints
    leader: int = -1


class Shortfall(msgspec.Struct, frozen=True, gc=False):
    """How many units (pods, or slices) fit in the best domain, or in all if several may serve."""

    fits: int
    needs: int
    level: int
    domain: tuple[str, ...] = ()
    lacks_leader: bool = False


class Held(msgspec.Struct, frozen=True, gc=False):
    """Domains of a level with the units given to each, and the one that hosts the leader, or -1."""

    level: int
    domains: Ints
    units: Ints
    leader: int = -1


def search(capacities: Capacities, wanted: Wanted) -> Found | Shortfall:
    """Places for `wanted.count` pods, and for the leader if there is one."""
    need = wanted.count // capacities.slicing.size
    if not capacities.topology.paths:
        return Shortfall(0, need, wanted.level)
    if need <= 0 and not capacities.has_leader:
        return Found(NOWHERE, NOWHERE)
    if not (capacities.has_leader or capacities.score):
        return _search_by_size(capacities, wanted, need)
    held = choose_domains(capacities, wanted, need)
    if held is None:
        return Shortfall(0, need, wanted.level)
    return held if isinstance(held, Shortfall) else descend(capacities, wanted, held, need)


def _search_by_size(capacities: Capacities, wanted: Wanted, need: int) -> Found | Shortfall:
    """Where neither a leader nor scores count, it is sizes alone that decide."""
    level, lowest = wanted.level, capacities.slicing.level
    one = smallest_that_takes(capacities, level, need)
    while one < 0 and wanted.climbs and level > 0:
        level -= 1
        one = smallest_that_takes(capacities, level, need)
    several: Share | None = None
    if one < 0:
        if not (wanted.climbs or wanted.spreads):
            return _short_in_one(capacities, level, need)
        several = take_in_order(capacities, level, best_fit=wanted.best_fit, need=need)
        if several is None:
            return Shortfall(int(capacities.slices[level].sum()), need, level)
    if level == lowest:
        share = several or (np.array([one]), np.array([need]))
    else:
        above = several[0] if several else (one,)
        share = take_down(capacities, level, above, best_fit=wanted.best_fit, need=need)
    domains, units = share
    unit = capacities.slicing.size
    if lowest == len(capacities.topology.starts) - 1:
        return Found(domains, units if unit == 1 else units * unit)
    return hand_down(capacities, wanted, Held(lowest, domains, units), unit)


def choose_domains(capacities: Capacities, wanted: Wanted, need: int) -> Held | Shortfall | None:
    """One domain for all, else several of the widest level where that is allowed."""
    level = wanted.level
    while True:
        one = best_single(capacities, wanted, level, need)
        if one >= 0:
            leader = one if capacities.has_leader else -1
            return Held(level, np.array([one]), np.array([need]), leader)
        if not wanted.climbs or level == 0:
            break
        level -= 1
    if not (wanted.climbs or wanted.spreads):
        return _short_in_one(capacities, level, need)
    if capacities.has_leader:
        return _several_with_leader(capacities, wanted, level, need)
    found = take_in_order(capacities, level, best_fit=wanted.best_fit, need=need)
    if found is None:
        return Shortfall(int(capacities.slices[level].sum()), need, level)
    return Held(level, found[0], found[1])


def best_single(capacities: Capacities, wanted: Wanted, level: int, need: int) -> int:
    """The smallest domain that takes all, then the one with fewest pods, then by path; or -1."""
    able = capacities.slices_led[level] >= need
    if capacities.has_leader:
        able &= capacities.leads[level] > 0
    fitting = np.flatnonzero(able)
    if not len(fitting):
        return -1
    if capacities.score:
        score = capacities.score[level]
        best = score[fitting].max()
        if wanted.best_fit and (wanted.climbs or wanted.spreads):
            lead = capacities.leads[level]
            if best < score[lead == lead.max()].max():
                return -1
        fitting = fitting[score[fitting] == best]
    sizes = capacities.slices_led[level][fitting]
    smallest = fitting[sizes == sizes.min()]
    return int(smallest[np.argmin(capacities.pods_led[level][smallest])])


def descend(capacities: Capacities, wanted: Wanted, held: Held, need: int) -> Found | Shortfall:
    """From domains down to places; above the slice level only which domains, not how much each."""
    while held.level < capacities.slicing.level:
        level, below = held.level + 1, children(capacities, held.level, held.domains)
        order = plain_order(capacities, level, below, best_fit=wanted.best_fit)
        taken = _taken(capacities, level, below[order], wanted, need)
        if taken is None:
            return Shortfall(0, need, wanted.level)
        held = taken
    return hand_down(capacities, wanted, held, capacities.slicing.size)


def hand_down(capacities: Capacities, wanted: Wanted, held: Held, unit: int) -> Found | Shortfall:
    """Every domain hands exactly its own pods to its children, level by level (example E10)."""
    held = Held(held.level, held.domains, held.units * unit, held.leader)
    while held.level < len(capacities.pods) - 1:
        lower = _one_level_down(capacities, wanted, held)
        if lower is None:
            return Shortfall(0, int(held.units.sum()), held.level)
        held = lower
    filled = held.units > 0
    places, counts = held.domains[filled], held.units[filled]
    order = np.argsort(places, kind="stable")
    return Found(places[order], counts[order], held.leader)


def trim(capacities: Capacities, held: Held, wanted: Wanted, need: int) -> Held | None:
    """Give `need` units to chosen domains in the order they were chosen in."""
    return _taken(capacities, held.level, held.domains, wanted, need)


def _taken(
    capacities: Capacities, level: int, ordered: Ints, wanted: Wanted, need: int
) -> Held | None:
    offer = offer_of(capacities, level, ordered, best_fit=wanted.best_fit)
    taken = take_with_leader(offer, need) if capacities.has_leader else take(offer, need)
    return None if taken is None else held_by(level, ordered, taken)


def offer_of(capacities: Capacities, level: int, ordered: Ints, *, best_fit: bool) -> Offer:
    """Domains in an order, with what they take in slices."""
    return Offer(
        capacities.slices[level][ordered],
        capacities.slices_led[level][ordered],
        capacities.leads[level][ordered],
        capacities.score[level][ordered] if capacities.score else None,
        best_fit,
    )


def held_by(level: int, ordered: Ints, taken: Taken) -> Held:
    """What was taken, in numbers of domains."""
    domains = ordered[taken.chosen]
    return Held(
        level, domains, taken.units, int(domains[taken.leader]) if taken.leader >= 0 else -1
    )


def _short_in_one(capacities: Capacities, level: int, need: int) -> Shortfall:
    """The best domain by Kueue's order: who hosts the leader, then most slices with it."""
    everything = np.arange(len(capacities.slices[level]))
    best = int(leader_order(capacities, level, everything, best_fit=True)[0])
    fits = int(capacities.slices[level][best])
    lacks_leader = capacities.has_leader and fits >= need
    path = capacities.topology.domain_path(level, best)
    return Shortfall(fits, need, level, path, lacks_leader)


def _several_with_leader(
    capacities: Capacities, wanted: Wanted, level: int, need: int
) -> Held | Shortfall | None:
    everything = np.arange(len(capacities.slices[level]))
    domains = everything[leader_order(capacities, level, everything, best_fit=wanted.best_fit)]
    offer = offer_of(capacities, level, domains, best_fit=wanted.best_fit)
    front = leader_first(offer, need)
    domains, offer = domains[front], offer.ordered(front)
    if not offer.leads[0]:
        return Shortfall(0, need, level, lacks_leader=True)
    rest = np.sort(domains[1:])
    rest = rest[plain_order(capacities, level, rest, best_fit=wanted.best_fit)]
    left = need - int(offer.units_led[0])
    taken = take(offer_of(capacities, level, rest, best_fit=wanted.best_fit), left)
    if taken is None:
        fits = need - left + int(capacities.slices[level][rest].sum())
        return Shortfall(fits, need, level)
    chosen = Held(level, np.append(domains[:1], rest[taken.chosen]), taken.units)
    return trim(capacities, chosen, wanted, need)


def _one_level_down(capacities: Capacities, wanted: Wanted, held: Held) -> Held | None:
    """The pods of each domain among its children, fewest pods first, in multiples of the layer."""
    level = held.level + 1
    is_wide = level <= capacities.slicing.level
    unit = capacities.slicing.size if is_wide else dict(capacities.slicing.inner).get(level, 1)
    with_care = held.domains == held.leader
    if is_wide or capacities.score:
        with_care = np.ones(len(held.domains), dtype=np.bool_)
    parts: list[Held] = []
    for domain, amount in zip(held.domains[with_care], held.units[with_care], strict=True):
        one = Held(held.level, np.array([domain]), np.array([amount]), held.leader)
        part = _below_one(capacities, one, unit, best_fit=wanted.best_fit)
        if part is None:
            return None
        parts.append(part)
    simple = ~with_care & (held.units > 0)
    if simple.any():
        many = Held(held.level, held.domains[simple], held.units[simple])
        parts.append(_below_many(capacities, many, unit))
    return Held(
        level,
        np.concatenate([part.domains for part in parts]),
        np.concatenate([part.units for part in parts]),
        max(part.leader for part in parts),
    )


def _below_one(capacities: Capacities, one: Held, unit: int, *, best_fit: bool) -> Held | None:
    level, domains = one.level + 1, children(capacities, one.level, one.domains)
    ordered = domains[plain_order(capacities, level, domains, best_fit=best_fit)]
    offer = Offer(
        capacities.pods[level][ordered] // unit,
        capacities.pods_led[level][ordered] // unit,
        capacities.leads[level][ordered],
        capacities.score[level][ordered] if capacities.score else None,
        best_fit,
    )
    need = int(one.units[0]) // unit
    leads = one.leader == one.domains[0]
    taken = take_with_leader(offer, need) if leads else take(offer, need)
    if taken is None:
        return None
    found = held_by(level, ordered, taken)
    return Held(level, found.domains, found.units * unit, found.leader)


def _below_many(capacities: Capacities, many: Held, unit: int) -> Held:
    """Every domain among its children at once; fewest pods first, so that the next is tightest."""
    level = many.level + 1
    bounds = capacities.topology.first_child[many.level]
    order = np.argsort(many.domains)
    parents, needs = many.domains[order], many.units[order] // unit
    domains, begins = capacities.topology.children_of(many.level, parents)
    owner = np.repeat(np.arange(len(parents)), bounds[parents + 1] - bounds[parents])
    order = np.lexsort([capacities.pods[level][domains], owner])
    domains = domains[order]
    offered = capacities.pods[level][domains] // unit
    reached = np.cumsum(offered)
    before = reached - offered - (reached[begins] - offered[begins])[owner]
    units = np.clip(needs[owner] - before, 0, offered)
    return Held(level, domains[units > 0], units[units > 0] * unit)
