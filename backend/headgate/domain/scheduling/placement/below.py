"""Which domains below others take how much, where neither a leader nor scores count.

A search from a wide level down to hosts looks at few domains at a time; these are gone through one
by one, and only many of them as arrays.
"""

from bisect import bisect_left
from collections.abc import Sequence
from itertools import accumulate

import numpy as np

from headgate.domain.scheduling.placement.capacities import Capacities, stretches
from headgate.domain.scheduling.placement.choosing import Offer, take
from headgate.domain.scheduling.placement.hosts import Ints
from headgate.domain.scheduling.placement.orders import sorted_by

FEW = 128
"""Going through so many domains takes less time than the arrays of them do."""
FEW_PARENTS = 8


def take_below(
    capacities: Capacities, level: int, domains: Ints, *, best_fit: bool, need: int
) -> tuple[Ints, Ints] | None:
    """Children of domains of `level`, in plain order until `need` slices lie somewhere.

    Ascending, with what each takes, which is never nothing; None if there are too few.
    """
    if need <= 0:
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    few = _few_below(capacities, level, domains)
    if few is not None:
        return _take_few(capacities, level + 1, few, best_fit=best_fit, need=need)
    inside = _side_by_side(capacities, level, domains)
    slices = pods = capacities.slices[level + 1][inside]
    if capacities.slices is not capacities.pods:
        pods = capacities.pods[level + 1][inside]
    found = _take_many(slices, pods, best_fit=best_fit, need=need)
    if found is None:
        return None
    numbers, units = found
    return (numbers + inside.start if isinstance(inside, slice) else inside[numbers]), units


def best_of_few(capacities: Capacities, level: int, need: int) -> int:
    """The smallest domain of the level that takes all, with fewest pods, by path; or -1."""
    sizes = capacities.slices[level].tolist()
    smallest = min([size for size in sizes if size >= need], default=-1)
    if smallest < 0 or capacities.slices is capacities.pods:
        return -1 if smallest < 0 else sizes.index(smallest)
    alike = [number for number, size in enumerate(sizes) if size == smallest]
    return min(alike, key=capacities.pods[level].tolist().__getitem__)


def children(capacities: Capacities, level: int, domains: Ints) -> Ints:
    """The domains below those of `level`, in order of their paths."""
    inside = _side_by_side(capacities, level, domains)
    return np.arange(inside.start, inside.stop) if isinstance(inside, slice) else inside


def _side_by_side(capacities: Capacities, level: int, domains: Ints) -> "slice | Ints":
    begins = capacities.topology.first_child[level]
    if len(domains) == 1:
        only = int(domains[0])
        return slice(int(begins[only]), int(begins[only + 1]))
    parents = np.sort(domains)
    return stretches(begins[parents], begins[parents + 1])[0]


def _few_below(capacities: Capacities, level: int, domains: Ints) -> list[slice] | None:
    """The children of each domain, in order of their paths; None where they are many."""
    if len(domains) > FEW_PARENTS:
        return None
    begins = capacities.topology.first_child[level]
    found = [slice(int(begins[each]), int(begins[each + 1])) for each in sorted(domains.tolist())]
    return found if sum(each.stop - each.start for each in found) <= FEW else None


def _take_few(
    capacities: Capacities, level: int, within: list[slice], *, best_fit: bool, need: int
) -> tuple[Ints, Ints] | None:
    slices = capacities.slices[level]
    numbers, sizes = _listed(slices, within)
    order = list(range(len(sizes)))
    if capacities.slices is not capacities.pods:
        order.sort(key=_listed(capacities.pods[level], within)[1].__getitem__)
    order.sort(key=sizes.__getitem__, reverse=best_fit)
    reached = list(accumulate([sizes[number] for number in order], initial=0))
    last = bisect_left(reached, need, 1) - 1
    if last == len(order):
        return None
    closing = order[last]
    if best_fit:
        rest = need - reached[last]
        enough = [number for number in order[last:] if sizes[number] >= rest]
        closing = min(enough, key=sizes.__getitem__)
    chosen = sorted([number for number in (*order[:last], closing) if sizes[number]])
    units = [sizes[number] for number in chosen]
    units[chosen.index(closing)] = need - reached[last]
    domains = [numbers[number] for number in chosen]
    return np.array(domains, dtype=np.int64), np.array(units, dtype=np.int64)


def _listed(figures: Ints, within: list[slice]) -> tuple[Sequence[int], list[int]]:
    """The domains in some stretches, and the figure of each."""
    if len(within) == 1:
        only = within[0]
        return range(only.start, only.stop), figures[only].tolist()
    numbers: list[int] = []
    found: list[int] = []
    for each in within:
        numbers.extend(range(each.start, each.stop))
        found.extend(figures[each].tolist())
    return numbers, found


def _take_many(slices: Ints, pods: Ints, *, best_fit: bool, need: int) -> tuple[Ints, Ints] | None:
    order = sorted_by([], slices, pods, best_fit=best_fit)
    offered = slices[order]
    taken = take(Offer(offered, offered, offered, None, best_fit), need)
    if taken is None:
        return None
    given = np.zeros(len(slices), dtype=np.int64)
    given[order[taken.chosen]] = taken.units
    numbers = given.nonzero()[0]
    return numbers, given[numbers]
