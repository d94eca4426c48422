"""Which domains below others take how much, where neither a leader nor scores count."""

import numpy as np

from headgate.domain.scheduling.placement.by_size import FEW, Share, take_by_size
from headgate.domain.scheduling.placement.capacities import NEVER, Capacities, stretches
from headgate.domain.scheduling.placement.hosts import Ints

FEW_PARENTS = 16
"""Putting the children of so many side by side one by one takes less time than all at once."""


def take_below(
    capacities: Capacities, level: int, domains: Ints, *, best_fit: bool, need: int
) -> Share | None:
    """Children of domains of `level`, in plain order until `need` slices lie somewhere.

    `domains` are ascending; None if their children are too few.
    """
    inside = _side_by_side(capacities, level, domains)
    slices = pods = capacities.slices[level + 1][inside]
    if capacities.slices is not capacities.pods:
        pods = capacities.pods[level + 1][inside]
    found = take_by_size(slices, pods, need, best_fit=best_fit)
    if found is None:
        return None
    numbers, units = found
    return (numbers + inside.start if isinstance(inside, slice) else inside[numbers]), units


def smallest_that_takes(capacities: Capacities, level: int, need: int) -> int:
    """The smallest domain that takes all, with fewest pods, by path; or -1."""
    slices = capacities.slices[level]
    smallest_of = _smallest_of_few if len(slices) <= FEW else _smallest
    best, has_equals = smallest_of(slices, need)
    if not has_equals or capacities.slices is capacities.pods:
        return best
    alike = (slices == slices[best]).nonzero()[0]
    return int(alike[capacities.pods[level][alike].argmin()])


def _smallest_of_few(slices: Ints, need: int) -> tuple[int, bool]:
    """The first of the smallest that suffice, or -1, and whether there are others like it."""
    sizes = slices.tolist()
    smallest = min([size for size in sizes if size >= need], default=-1)
    return (sizes.index(smallest), sizes.count(smallest) > 1) if smallest >= 0 else (-1, False)


def _smallest(slices: Ints, need: int) -> tuple[int, bool]:
    """The same, where of many there are likely to be others."""
    enough = np.where(slices >= need, slices, NEVER)
    best = int(enough.argmin())
    return (best, True) if enough[best] != NEVER else (-1, False)


def children(capacities: Capacities, level: int, domains: Ints) -> Ints:
    """The domains below those of `level`, in order of their paths."""
    inside = _side_by_side(capacities, level, np.sort(domains))
    return np.arange(inside.start, inside.stop) if isinstance(inside, slice) else inside


def _side_by_side(capacities: Capacities, level: int, parents: Ints) -> "slice | Ints":
    """The children of ascending domains; a stretch of them where the parents are neighbours."""
    bounds = capacities.topology.first_child[level]
    first, last = int(parents[0]), int(parents[-1])
    if last - first == len(parents) - 1:
        return slice(int(bounds[first]), int(bounds[last + 1]))
    if len(parents) <= FEW_PARENTS:
        return np.concatenate(
            [capacities.topology.numbers[bounds[p] : bounds[p + 1]] for p in parents.tolist()]
        )
    return stretches(bounds[parents], bounds[parents + 1])[0]
