"""Choosing domains and hosts for one pod set, or for a leader and its workers.

Kueue's best fit and least free capacity (reference topology.md §4.4-4.6): a level with one domain
for all, or several domains of the widest; then down level by level. Slices are kept together in
one domain of their level, inner layers in multiples below it.
"""

import msgspec
import numpy as np

from headgate.domain.scheduling.placement.below import children, smallest_that_takes, take_down
from headgate.domain.scheduling.placement.by_size import NOWHERE, Share
from headgate.domain.scheduling.placement.domain_capacities import DomainCapacities
from headgate.domain.scheduling.placement.domain_selection import (
    DomainList,
    ListSelection,
    leader_first,
    take_until,
    take_until_with_leader,
)
from headgate.domain.scheduling.placement.host_table import Ints
from headgate.domain.scheduling.placement.orders import leader_order, plain_order, take_in_order
from headgate.domain.scheduling.placement.search_request import SearchRequest


class LeafSelection(msgspec.Struct, frozen=True, gc=False):
    """Places, as indices into the flavor's places in path order, and the pods in each.

    `leader` is the place of the leader, or -1 without one.
    """

    places: Ints
    counts: Ints
    leader: int = -1


class SearchShortfall(msgspec.Struct, frozen=True, gc=False):
    """How many units (pods, or slices) fit in the best domain, or in all if several may serve."""

    fits: int
    needs: int
    level: int
    domain: tuple[str, ...] = ()
    lacks_leader: bool = False


class DomainSelection(msgspec.Struct, frozen=True, gc=False):
    """Domains of a level with the units given to each, and the one that hosts the leader, or -1."""

    level: int
    domains: Ints
    units: Ints
    leader: int = -1


def find_leaves(
    capacities: DomainCapacities, wanted: SearchRequest
) -> LeafSelection | SearchShortfall:
    """Places for `wanted.count` pods, and for the leader if there is one."""
    need = wanted.count // capacities.constraints.size
    if not capacities.topology.paths:
        return SearchShortfall(0, need, wanted.level)
    if need <= 0 and not capacities.has_leader:
        return LeafSelection(NOWHERE, NOWHERE)
    if not (capacities.has_leader or capacities.score):
        return _search_by_size(capacities, wanted, need)
    held = find_fit_domains(capacities, wanted, need)
    if held is None:
        return SearchShortfall(0, need, wanted.level)
    return (
        held
        if isinstance(held, SearchShortfall)
        else descend_to_leaves(capacities, wanted, held, need)
    )


def _search_by_size(
    capacities: DomainCapacities, wanted: SearchRequest, need: int
) -> LeafSelection | SearchShortfall:
    """Where neither a leader nor scores count, it is sizes alone that decide."""
    level, lowest = wanted.level, capacities.constraints.level
    one = smallest_that_takes(capacities, level, need)
    while one < 0 and wanted.may_move_up and level > 0:
        level -= 1
        one = smallest_that_takes(capacities, level, need)
    several: Share | None = None
    if one < 0:
        if not (wanted.may_move_up or wanted.may_split):
            return _short_in_one(capacities, level, need)
        several = take_in_order(capacities, level, best_fit=wanted.best_fit, need=need)
        if several is None:
            return SearchShortfall(int(capacities.slices[level].sum()), need, level)
    if level == lowest:
        share = several or (np.array([one]), np.array([need]))
    else:
        above = several[0] if several else (one,)
        share = take_down(capacities, level, above, best_fit=wanted.best_fit, need=need)
    domains, units = share
    unit = capacities.constraints.size
    if lowest == len(capacities.topology.starts) - 1:
        return LeafSelection(domains, units if unit == 1 else units * unit)
    return distribute_to_children(capacities, wanted, DomainSelection(lowest, domains, units), unit)


def find_fit_domains(
    capacities: DomainCapacities, wanted: SearchRequest, need: int
) -> DomainSelection | SearchShortfall | None:
    """One domain for all, else several of the widest level where that is allowed."""
    level = wanted.level
    while True:
        one = best_fit_domain(capacities, wanted, level, need)
        if one >= 0:
            leader = one if capacities.has_leader else -1
            return DomainSelection(level, np.array([one]), np.array([need]), leader)
        if not wanted.may_move_up or level == 0:
            break
        level -= 1
    if not (wanted.may_move_up or wanted.may_split):
        return _short_in_one(capacities, level, need)
    if capacities.has_leader:
        return _several_with_leader(capacities, wanted, level, need)
    found = take_in_order(capacities, level, best_fit=wanted.best_fit, need=need)
    if found is None:
        return SearchShortfall(int(capacities.slices[level].sum()), need, level)
    return DomainSelection(level, found[0], found[1])


def best_fit_domain(
    capacities: DomainCapacities, wanted: SearchRequest, level: int, need: int
) -> int:
    """The smallest domain that takes all, then the one with fewest pods, then by path; or -1."""
    able = capacities.slices_with_leader[level] >= need
    if capacities.has_leader:
        able &= capacities.leader_capacity[level] > 0
    fitting = np.flatnonzero(able)
    if not len(fitting):
        return -1
    if capacities.score:
        score = capacities.score[level]
        best = score[fitting].max()
        if wanted.best_fit and (wanted.may_move_up or wanted.may_split):
            lead = capacities.leader_capacity[level]
            if best < score[lead == lead.max()].max():
                return -1
        fitting = fitting[score[fitting] == best]
    sizes = capacities.slices_with_leader[level][fitting]
    smallest = fitting[sizes == sizes.min()]
    return int(smallest[np.argmin(capacities.pods_with_leader[level][smallest])])


def descend_to_leaves(
    capacities: DomainCapacities, wanted: SearchRequest, held: DomainSelection, need: int
) -> LeafSelection | SearchShortfall:
    """From domains down to places; above the slice level only which domains, not how much each."""
    while held.level < capacities.constraints.level:
        level, below = held.level + 1, children(capacities, held.level, held.domains)
        order = plain_order(capacities, level, below, best_fit=wanted.best_fit)
        taken = _taken(capacities, level, below[order], wanted, need)
        if taken is None:
            return SearchShortfall(0, need, wanted.level)
        held = taken
    return distribute_to_children(capacities, wanted, held, capacities.constraints.size)


def distribute_to_children(
    capacities: DomainCapacities, wanted: SearchRequest, held: DomainSelection, unit: int
) -> LeafSelection | SearchShortfall:
    """Every domain hands exactly its own pods to its children, level by level (example E10)."""
    held = DomainSelection(held.level, held.domains, held.units * unit, held.leader)
    while held.level < len(capacities.pods) - 1:
        lower = _one_level_down(capacities, wanted, held)
        if lower is None:
            return SearchShortfall(0, int(held.units.sum()), held.level)
        held = lower
    filled = held.units > 0
    places, counts = held.domains[filled], held.units[filled]
    order = np.argsort(places, kind="stable")
    return LeafSelection(places[order], counts[order], held.leader)


def limit_to_need(
    capacities: DomainCapacities, held: DomainSelection, wanted: SearchRequest, need: int
) -> DomainSelection | None:
    """Give `need` units to chosen domains in the order they were chosen in."""
    return _taken(capacities, held.level, held.domains, wanted, need)


def _taken(
    capacities: DomainCapacities, level: int, ordered: Ints, wanted: SearchRequest, need: int
) -> DomainSelection | None:
    offer = domain_list(capacities, level, ordered, best_fit=wanted.best_fit)
    taken = (
        take_until_with_leader(offer, need) if capacities.has_leader else take_until(offer, need)
    )
    return None if taken is None else domain_selection(level, ordered, taken)


def domain_list(
    capacities: DomainCapacities, level: int, ordered: Ints, *, best_fit: bool
) -> DomainList:
    """Domains in an order, with what they take in slices."""
    return DomainList(
        capacities.slices[level][ordered],
        capacities.slices_with_leader[level][ordered],
        capacities.leader_capacity[level][ordered],
        capacities.score[level][ordered] if capacities.score else None,
        best_fit,
    )


def domain_selection(level: int, ordered: Ints, taken: ListSelection) -> DomainSelection:
    """What was taken, in numbers of domains."""
    domains = ordered[taken.chosen]
    return DomainSelection(
        level, domains, taken.units, int(domains[taken.leader]) if taken.leader >= 0 else -1
    )


def _short_in_one(capacities: DomainCapacities, level: int, need: int) -> SearchShortfall:
    """The best domain by Kueue's order: who hosts the leader, then most slices with it."""
    everything = np.arange(len(capacities.slices[level]))
    best = int(leader_order(capacities, level, everything, best_fit=True)[0])
    fits = int(capacities.slices[level][best])
    lacks_leader = capacities.has_leader and fits >= need
    path = capacities.topology.domain_path(level, best)
    return SearchShortfall(fits, need, level, path, lacks_leader)


def _several_with_leader(
    capacities: DomainCapacities, wanted: SearchRequest, level: int, need: int
) -> DomainSelection | SearchShortfall | None:
    everything = np.arange(len(capacities.slices[level]))
    domains = everything[leader_order(capacities, level, everything, best_fit=wanted.best_fit)]
    offer = domain_list(capacities, level, domains, best_fit=wanted.best_fit)
    front = leader_first(offer, need)
    domains, offer = domains[front], offer.ordered(front)
    if not offer.leader_capacity[0]:
        return SearchShortfall(0, need, level, lacks_leader=True)
    rest = np.sort(domains[1:])
    rest = rest[plain_order(capacities, level, rest, best_fit=wanted.best_fit)]
    left = need - int(offer.units_with_leader[0])
    taken = take_until(domain_list(capacities, level, rest, best_fit=wanted.best_fit), left)
    if taken is None:
        fits = need - left + int(capacities.slices[level][rest].sum())
        return SearchShortfall(fits, need, level)
    chosen = DomainSelection(level, np.append(domains[:1], rest[taken.chosen]), taken.units)
    return limit_to_need(capacities, chosen, wanted, need)


def _one_level_down(
    capacities: DomainCapacities, wanted: SearchRequest, held: DomainSelection
) -> DomainSelection | None:
    """The pods of each domain among its children, fewest pods first, in multiples of the layer."""
    level = held.level + 1
    is_wide = level <= capacities.constraints.level
    unit = (
        capacities.constraints.size if is_wide else dict(capacities.constraints.inner).get(level, 1)
    )
    with_care = held.domains == held.leader
    if is_wide or capacities.score:
        with_care = np.ones(len(held.domains), dtype=np.bool_)
    parts: list[DomainSelection] = []
    for domain, amount in zip(held.domains[with_care], held.units[with_care], strict=True):
        one = DomainSelection(held.level, np.array([domain]), np.array([amount]), held.leader)
        part = _below_one(capacities, one, unit, best_fit=wanted.best_fit)
        if part is None:
            return None
        parts.append(part)
    simple = ~with_care & (held.units > 0)
    if simple.any():
        many = DomainSelection(held.level, held.domains[simple], held.units[simple])
        parts.append(_below_many(capacities, many, unit))
    return DomainSelection(
        level,
        np.concatenate([part.domains for part in parts]),
        np.concatenate([part.units for part in parts]),
        max(part.leader for part in parts),
    )


def _below_one(
    capacities: DomainCapacities, one: DomainSelection, unit: int, *, best_fit: bool
) -> DomainSelection | None:
    level, domains = one.level + 1, children(capacities, one.level, one.domains)
    ordered = domains[plain_order(capacities, level, domains, best_fit=best_fit)]
    offer = DomainList(
        capacities.pods[level][ordered] // unit,
        capacities.pods_with_leader[level][ordered] // unit,
        capacities.leader_capacity[level][ordered],
        capacities.score[level][ordered] if capacities.score else None,
        best_fit,
    )
    need = int(one.units[0]) // unit
    leader_capacity = one.leader == one.domains[0]
    taken = take_until_with_leader(offer, need) if leader_capacity else take_until(offer, need)
    if taken is None:
        return None
    found = domain_selection(level, ordered, taken)
    return DomainSelection(level, found.domains, found.units * unit, found.leader)


def _below_many(capacities: DomainCapacities, many: DomainSelection, unit: int) -> DomainSelection:
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
    return DomainSelection(level, domains[units > 0], units[units > 0] * unit)
