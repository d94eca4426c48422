"""Which domains below others take how much, where neither a leader nor scores count.

A search from a wide level down to hosts looks at few domains at a time; these are gone through one
by one, and only many of them as arrays.
"""

import numpy as np

from headgate.domain.scheduling.placement.capacities import Capacities, stretches
from headgate.domain.scheduling.placement.choosing import Offer, take
from headgate.domain.scheduling.placement.hosts import Ints
from headgate.domain.scheduling.placement.orders import sorted_by

FEW = 128
"""Going through so many domains takes less time than the arrays of them do."""


def take_below(
    capacities: Capacities, level: int, domains: Ints, *, best_fit: bool, need: int
) -> tuple[Ints, Ints] | None:
    """Children of domains of `level`, in plain order until `need` slices lie somewhere.

    Ascending, with what each takes, which is never nothing; None if there are too few.
    """
    inside = _side_by_side(capacities, level, domains)
    below = level + 1
    slices = pods = capacities.slices[below][inside]
    if capacities.slices is not capacities.pods:
        pods = capacities.pods[below][inside]
    choose = _take_few if len(slices) <= FEW else _take_many
    found = choose(slices, pods, best_fit=best_fit, need=need)
    if found is None:
        return None
    numbers, units = found
    return (numbers + inside.start if isinstance(inside, slice) else inside[numbers]), units


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


def _take_few(slices: Ints, pods: Ints, *, best_fit: bool, need: int) -> tuple[Ints, Ints] | None:
    sizes = slices.tolist()
    order = list(range(len(sizes)))
    if pods is not slices:
        order.sort(key=pods.tolist().__getitem__)
    order.sort(key=sizes.__getitem__, reverse=best_fit)
    given: list[tuple[int, int]] = []
    for at, number in enumerate(order):
        if need <= 0:
            break
        if best_fit and sizes[number] >= need:
            enough = [other for other in order[at:] if sizes[other] >= need]
            number = min(enough, key=sizes.__getitem__)
        units = min(sizes[number], need)
        if units:
            given.append((number, units))
        need -= units
    if need > 0:
        return None
    taken = np.array(sorted(given), dtype=np.int64).reshape(-1, 2)
    return taken[:, 0], taken[:, 1]


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
