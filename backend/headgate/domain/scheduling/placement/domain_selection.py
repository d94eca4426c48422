"""Selection of several domains of a level, with or without a leader beside the pods.

Kueue: `tas_flavor_snapshot.go: sortedDomains, sortedDomainsWithLeader,
updateCountsToMinimumGeneric` (topology.md §4.4, §4.6). Every order is total: domains are given by
ascending number, the order of their paths, and sorting is stable.
"""

import msgspec
import numpy as np

from headgate.domain.scheduling.placement.domain_capacities import (
    UNREACHABLE,
    Capacities,
    size_index_of,
)
from headgate.domain.scheduling.placement.host_table import Ints
from headgate.domain.scheduling.placement.size_index import (
    NO_DOMAINS,
    DomainUnits,
    select_by_size,
    select_from_index,
)

RADIX_LIMIT = 1 << 16
"""Numbers below this are sorted by their digits."""


class DomainSelection(msgspec.Struct, frozen=True, gc=False):
    """Domains of a level with the units assigned to each; `leader` hosts the leader, or is -1.

    Without a leader domains are ascending and have at least one unit.
    """

    level: int
    domains: Ints
    units: Ints
    leader: int = -1


class DomainList(msgspec.Struct, frozen=True, gc=False):
    """Ordered domains: the units that fit each, alone and beside the leader.

    `best_fit` takes as the last domain the tightest of those left instead of the next in order;
    with `score`, only of those left that score like the next.
    """

    units: Ints
    units_with_leader: Ints
    leader_capacity: Ints
    score: Ints | None
    best_fit: bool

    def at(self, positions: "slice | Ints") -> "DomainList":
        """The domains at these positions, in their order."""
        return DomainList(
            self.units[positions],
            self.units_with_leader[positions],
            self.leader_capacity[positions],
            None if self.score is None else self.score[positions],
            self.best_fit,
        )


class ListSelection(msgspec.Struct, frozen=True, gc=False):
    """Positions in a list, the units of each, and the position that hosts the leader, or -1."""

    chosen: Ints
    units: Ints
    leader: int = -1


def plain_order(
    capacities: Capacities, level: int, domains: "slice | Ints", *, best_fit: bool
) -> Ints:
    """Returns the order by score, slices (descending for BestFit), ascending pods, and path."""
    slices = pods = capacities.slices[level][domains]
    if capacities.slices is not capacities.pods:
        pods = capacities.pods[level][domains]
    before = [-capacities.score[level][domains]] if capacities.score else []
    return _sorted_by(before, slices, pods, best_fit=best_fit)


def leader_order(capacities: Capacities, level: int, domains: Ints, *, best_fit: bool) -> Ints:
    """Returns the plain order with the leader counted, after domains that can host the leader."""
    slices = capacities.slices_with_leader[level][domains]
    pods = capacities.pods_with_leader[level][domains]
    before = [-capacities.score[level][domains]] if capacities.score else []
    before.append(-capacities.leader_capacity[level][domains])
    return _sorted_by(before, slices, pods, best_fit=best_fit)


def select_in_order(
    capacities: Capacities,
    level: int,
    inside: "slice | Ints | None",
    need: int,
    *,
    best_fit: bool,
) -> DomainSelection | None:
    """Returns domains that take `need` slices in plain order; None if they hold fewer.

    Of the whole level, or of the ascending domains `inside`; there is no leader to place.
    """
    found: DomainUnits | None
    slices = pods = capacities.slices[level]
    if capacities.pods is not capacities.slices:
        pods = capacities.pods[level]
    if inside is None:
        index = size_index_of(capacities, level)
        if index is not None:
            found = select_from_index(index, pods, need, best_fit=best_fit)
            return None if found is None else DomainSelection(level, *found)
        inside = slice(0, len(slices))
    else:
        is_same, slices = pods is slices, slices[inside]
        pods = slices if is_same else pods[inside]
    if capacities.score:
        score = capacities.score[level][inside]
        found = _select_scored(score, slices, pods, need, best_fit=best_fit)
    else:
        found = select_by_size(slices, pods, need, best_fit=best_fit)
    if found is None:
        return None
    domains, units = found
    if not isinstance(inside, slice):
        domains = inside[domains]
    elif inside.start:
        domains += inside.start
    return DomainSelection(level, domains, units)


def limit_to_need(
    capacities: Capacities, level: int, ordered: Ints, need: int, *, best_fit: bool
) -> DomainSelection | None:
    """Assigns `need` units, and the leader if there is one, to ordered domains.

    None if they do not fit. Kueue: `updateCountsToMinimumGeneric`.
    """
    domains = domain_list(capacities, level, ordered, best_fit=best_fit)
    with_leader = capacities.has_leader
    taken = take_until_with_leader(domains, need) if with_leader else take_until(domains, need)
    return None if taken is None else domain_selection(level, ordered, taken)


def domain_list(
    capacities: Capacities, level: int, ordered: Ints, *, best_fit: bool, unit: int = 0
) -> DomainList:
    """Returns ordered domains with the slices that fit each, or with groups of `unit` pods."""
    if unit:
        units = capacities.pods[level][ordered] // unit
        units_with_leader = capacities.pods_with_leader[level][ordered] // unit
    else:
        units = capacities.slices[level][ordered]
        units_with_leader = capacities.slices_with_leader[level][ordered]
    return DomainList(
        units,
        units_with_leader,
        capacities.leader_capacity[level][ordered],
        capacities.score[level][ordered] if capacities.score else None,
        best_fit,
    )


def domain_selection(level: int, ordered: Ints, taken: ListSelection) -> DomainSelection:
    """Returns a selection of a list as domains of a level."""
    domains = ordered[taken.chosen]
    leader = int(domains[taken.leader]) if taken.leader >= 0 else -1
    return DomainSelection(level, domains, taken.units, leader)


def best_fit_position(capacity: Ints, need: int, score: Ints | None = None) -> int:
    """Returns the first smallest capacity that holds `need`, in the leading run of equal score.

    0 if none does. Kueue: `findBestFitDomain`, for an ordered list of domains below one parent.
    """
    if score is not None:
        others = np.flatnonzero(score != score[0])
        capacity = capacity[: others[0]] if len(others) else capacity
    sizes = np.where(capacity >= need, capacity, UNREACHABLE)
    best = int(sizes.argmin())
    return best if sizes[best] != UNREACHABLE else 0


def take_until(domains: DomainList, need: int) -> ListSelection | None:
    """Takes domains in order until `need` units are assigned; None if there are too few."""
    if need <= 0:
        return ListSelection(NO_DOMAINS, NO_DOMAINS)
    total = domains.units.cumsum()
    if not len(total) or total[-1] < need:
        return None
    last = int(total.searchsorted(need))
    rest = need - (int(total[last - 1]) if last else 0)
    closing = last
    if domains.best_fit:
        score = None if domains.score is None else domains.score[last:]
        closing = last + best_fit_position(domains.units[last:], rest, score)
    chosen = np.arange(last + 1)
    chosen[last] = closing
    units = domains.units[: last + 1].copy()
    units[last] = rest
    return ListSelection(chosen, units)


def take_until_with_leader(domains: DomainList, need: int) -> ListSelection | None:
    """Takes domains like `take_until`, with the leader in the first that can host it."""
    front = leader_first(domains, need)
    domains = domains.at(front)
    hosts = np.flatnonzero(domains.leader_capacity > 0)
    if not len(hosts):
        return None
    host = int(hosts[0])
    before = np.minimum(np.cumsum(domains.units_with_leader[:host]), need)
    given = np.diff(before, prepend=0)
    left = need - (int(before[-1]) if host else 0)
    chosen = np.arange(host + 1)
    if domains.units_with_leader[host] >= left:
        if domains.best_fit:
            tail = domains.at(slice(host, None))
            able = np.where(tail.leader_capacity > 0, tail.units_with_leader, -1)
            chosen[-1] += best_fit_position(able, left, tail.score)
        return ListSelection(front[chosen], np.append(given, left), host)
    beside = int(domains.units_with_leader[host])
    rest = take_until(domains.at(slice(host + 1, None)), left - beside)
    if rest is None:
        return None
    return ListSelection(
        front[np.append(chosen, rest.chosen + host + 1)],
        np.concatenate([given, [beside], rest.units]),
        host,
    )


def leader_first(domains: DomainList, need: int) -> Ints:
    """Returns positions with the first domain in front that hosts the leader and leaves `need`.

    Unchanged if no domain does (trap 17).
    """
    positions = np.arange(len(domains.units))
    spare = int(domains.units.sum()) - (domains.units - domains.units_with_leader)
    able = np.flatnonzero((domains.leader_capacity > 0) & (spare >= need))
    if not len(able):
        return positions
    return np.concatenate([able[:1], np.delete(positions, able[0])])


def _select_scored(
    score: Ints, slices: Ints, pods: Ints, need: int, *, best_fit: bool
) -> DomainUnits | None:
    order = _sorted_by([-score], slices, pods, best_fit=best_fit)
    units = slices[order]
    taken = take_until(DomainList(units, units, units, score[order], best_fit), need)
    if taken is None:
        return None
    given = np.zeros(len(slices), dtype=np.int64)
    given[order[taken.chosen]] = taken.units
    domains = given.nonzero()[0]
    return domains, given[domains]


def _sorted_by(before: list[Ints], slices: Ints, pods: Ints, *, best_fit: bool) -> Ints:
    """The order of domains by slices and pods, after the keys `before`, the last one first."""
    largest = int(slices.max(initial=0))
    size = largest - slices if best_fit else slices
    if before:
        return np.lexsort([pods, size, *before])
    key = size
    if pods is not slices:
        width = int(pods.max(initial=0)) + 1
        key, largest = size * width + pods, (largest + 1) * width - 1
    if largest < RADIX_LIMIT:
        return np.argsort(key.astype(np.uint16), kind="stable")
    return np.argsort(size, kind="stable") if pods is slices else np.lexsort([pods, size])
