"""Taking domains in plain order without putting them in order (reference topology.md §4.4, §9.3).

Where neither a leader nor scores count, who is taken follows from how many domains there are of
each size. Few domains are gone through one by one, many as arrays.
"""

from typing import TypeAlias

import msgspec
import numpy as np

from headgate.domain.scheduling.placement.hosts import Bools, Ints
from headgate.domain.scheduling.placement.sizes import LARGEST

FEW = 32
"""Going through so many domains takes less time than the arrays of them do."""

Share: TypeAlias = tuple[Ints, Ints]
"""Domains, ascending, with what each takes, which is never nothing."""


class Cut(msgspec.Struct, frozen=True, gc=False):
    """Where a need ends in the line of sizes.

    Everyone before `size` is taken whole, and the first `number` of that size. The last domain is
    the next one of size `closing`, which takes `rest`.
    """

    size: int
    number: int
    closing: int
    rest: int


def take_by_size(slices: Ints, pods: Ints, need: int, *, best_fit: bool) -> Share | None:
    """Domains with these figures until `need` slices lie somewhere; None if there are too few.

    Large ones are first for best fit, else small ones; then those with few pods, then by number.
    The last of a best fit is the tightest. `pods` is `slices` where that is the same.
    """
    if len(slices) <= FEW:
        return _take_few(slices, pods, need, best_fit=best_fit)
    cut = cut_of(slices, need, best_fit=best_fit)
    if cut is None:
        return None
    taken: Bools = slices > cut.size if best_fit else (slices > 0) & (slices < cut.size)
    alike = _in_order(slices, pods, cut.size)
    taken[alike[: cut.number]] = True
    last = alike[cut.number] if cut.closing == cut.size else _in_order(slices, pods, cut.closing)[0]
    taken[last] = True
    domains = taken.nonzero()[0]
    units = slices[domains]
    units[domains.searchsorted(last)] = cut.rest
    return domains, units


def cut_of(slices: Ints, need: int, *, best_fit: bool) -> Cut | None:
    """Where `need` slices end in domains of these sizes; None if they take less."""
    sizes, numbers = _counted(slices)
    left = need
    for at in range(len(sizes) - 1, -1, -1) if best_fit else range(len(sizes)):
        size = sizes[at]
        together = size * numbers[at]
        if together >= left:
            number = (left - 1) // size
            rest = left - number * size
            closing = min([s for s in sizes[: at + 1] if s >= rest]) if best_fit else size
            return Cut(size, number, closing, rest)
        left -= together
    return None


def _counted(slices: Ints) -> tuple[list[int], list[int]]:
    """The sizes there are, ascending, with the number of domains of each."""
    if slices[slices.argmax()] >= LARGEST:
        found, numbers = np.unique(slices, return_counts=True)
        return found.tolist(), numbers.tolist()
    by_size = np.bincount(slices)
    found = by_size.nonzero()[0]
    return found.tolist(), by_size[found].tolist()


def _in_order(slices: Ints, pods: Ints, size: int) -> Ints:
    """Domains of a size, those with few pods first."""
    alike: Ints = (slices == size).nonzero()[0]
    return alike if pods is slices else alike[pods[alike].argsort(kind="stable")]


def _take_few(slices: Ints, pods: Ints, need: int, *, best_fit: bool) -> Share | None:
    sizes = slices.tolist()
    line = list(range(len(sizes)))
    if pods is not slices:
        line.sort(key=pods.tolist().__getitem__)
    line.sort(key=sizes.__getitem__, reverse=best_fit)
    number, left = 0, need
    while number < len(line) and sizes[line[number]] < left:
        left -= sizes[line[number]]
        number += 1
    if number == len(line):
        return None
    last = line[number]
    if best_fit:
        last = min([each for each in line[number:] if sizes[each] >= left], key=sizes.__getitem__)
    sizes[last] = left
    domains = sorted([each for each in (*line[:number], last) if sizes[each]])
    return np.array(domains), np.array([sizes[each] for each in domains])
