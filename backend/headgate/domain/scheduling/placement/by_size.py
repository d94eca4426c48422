"""Taking domains in plain order without putting them in order (reference topology.md §4.4, §9.3).

Where neither a leader nor scores count, who is taken follows from how many domains there are of
each size. Few domains are put in line all the same, many are counted; where they are kept by size,
only those that are taken are looked at.
"""

from bisect import bisect_left, bisect_right
from typing import TypeAlias

import msgspec
import numpy as np

from headgate.domain.scheduling.placement.host_table import Bools, Ints
from headgate.domain.scheduling.placement.size_index import (
    MAX_INDEXED_SIZE,
    SizeIndex,
    first_of_size,
)

FEW = 96
"""Putting so many domains in line takes less time than counting them does."""
SHORT = 256
"""Sorting so many numbers by their digits would not be faster."""
NOWHERE: Ints = np.zeros(0, dtype=np.int64)

Share: TypeAlias = tuple[Ints, Ints]
"""Domains, ascending, with what each takes, which is never nothing."""
Census: TypeAlias = tuple[list[int], list[int]]
"""The sizes there are, ascending, with the number of domains of each."""


class Chosen(msgspec.Struct, frozen=True, gc=False):
    """Domains, ascending, that take everything they can; but `last` takes `rest`."""

    domains: Ints
    last: int
    rest: int


class Cut(msgspec.Struct, frozen=True, gc=False):
    """Where a need ends in the line of sizes.

    The `before` domains in front of `size` are taken whole, and the first `number` of that size.
    The last domain is the next one of size `closing`, which takes `rest`.
    """

    before: int
    size: int
    number: int
    closing: int
    rest: int


def choose_by_size(slices: Ints, pods: Ints, need: int, *, best_fit: bool) -> Chosen | None:
    """Domains with these figures until `need` slices lie somewhere; None if there are too few.

    Large ones are first for best fit, else small ones; then those with few pods, then by number.
    The last of a best fit is the tightest. `pods` is `slices` where that is the same.
    """
    if len(slices) <= FEW:
        return _choose_in_line(slices, pods, need, best_fit=best_fit)
    cut = cut_of(_counted(slices), need, best_fit=best_fit)
    if cut is None:
        return None
    taken = _stands_before(slices, cut.size, best_fit=best_fit)
    alike = _in_order((slices == cut.size).nonzero()[0], slices, pods)
    taken[alike[: cut.number]] = True
    last = alike[cut.number]
    if cut.closing != cut.size:
        last = _in_order((slices == cut.closing).nonzero()[0], slices, pods)[0]
    taken[last] = True
    return Chosen(taken.nonzero()[0], int(last), cut.rest)


def shared_out(slices: Ints, chosen: Chosen) -> Share:
    """The chosen domains with what each takes."""
    units = slices[chosen.domains]
    units[chosen.domains.searchsorted(chosen.last)] = chosen.rest
    return chosen.domains, units


def take_counted(sizes: SizeIndex, pods: Ints, need: int, *, best_fit: bool) -> Share | None:
    """The same of domains that are kept by size."""
    slices, numbers = sizes.of, sizes.numbers
    cut = cut_of(_listed(numbers), need, best_fit=best_fit)
    if cut is None:
        return None
    whole = NOWHERE
    if cut.before:
        whole = _stands_before(slices, cut.size, best_fit=best_fit).nonzero()[0]
    alike = _first_of(sizes, pods, cut.size, cut.number + 1)
    last = alike[cut.number]
    if cut.closing != cut.size:
        last = _first_of(sizes, pods, cut.closing, 1)[0]
    domains = np.concatenate([whole, alike[: cut.number], [last]])
    domains.sort()
    return shared_out(slices, Chosen(domains, int(last), cut.rest))


def cut_of(census: Census, need: int, *, best_fit: bool) -> Cut | None:
    """Where `need` slices end in domains of these sizes; None if they take less."""
    sizes, numbers = census
    before, left = 0, need
    for at in range(len(sizes) - 1, -1, -1) if best_fit else range(len(sizes)):
        size = sizes[at]
        together = size * numbers[at]
        if together >= left:
            number = (left - 1) // size
            rest = left - number * size
            closing = min([s for s in sizes[: at + 1] if s >= rest]) if best_fit else size
            return Cut(before, size, number, closing, rest)
        before += numbers[at]
        left -= together
    return None


def _counted(slices: Ints) -> Census:
    if slices[slices.argmax()] >= MAX_INDEXED_SIZE:
        found, numbers = np.unique(slices, return_counts=True)
        return found.tolist(), numbers.tolist()
    return _listed(np.bincount(slices))


def _listed(numbers: Ints) -> Census:
    found = numbers.nonzero()[0]
    return found.tolist(), numbers[found].tolist()


def _stands_before(slices: Ints, size: int, *, best_fit: bool) -> Bools:
    """Who comes before those of a size and takes something."""
    before: Bools = slices > size if best_fit else (slices > 0) & (slices < size)
    return before


def _in_order(alike: Ints, slices: Ints, pods: Ints) -> Ints:
    """Domains of one size, those with few pods first."""
    if pods is slices:
        return alike
    key = pods[alike]
    if len(key) > SHORT and key[key.argmax()] < MAX_INDEXED_SIZE:
        key = key.astype(np.uint16)
    ordered: Ints = alike[key.argsort(kind="stable")]
    return ordered


def _first_of(sizes: SizeIndex, pods: Ints, size: int, number: int) -> Ints:
    if pods is sizes.of:
        return first_of_size(sizes, size, number)
    return _in_order(first_of_size(sizes, size, sizes.count(size)), sizes.of, pods)


def _choose_in_line(slices: Ints, pods: Ints, need: int, *, best_fit: bool) -> Chosen | None:
    line = _line_of(slices, pods, best_fit=best_fit)
    sizes = slices[line].tolist()
    number, rest = 0, need
    for size in sizes:
        if size >= rest:
            break
        rest -= size
        number += 1
    else:
        return None
    first = 0 if best_fit else bisect_right(sizes, 0)
    taken = line[first : number + 1]
    if best_fit:
        taken[-1] = line[_tightest(sizes, number, rest)]
    last = taken[-1]
    taken.sort()
    return Chosen(taken, last, rest)


def _line_of(slices: Ints, pods: Ints, *, best_fit: bool) -> Ints:
    key = -slices if best_fit else slices
    return key.argsort(kind="stable") if pods is slices else np.lexsort((pods, key))


def _tightest(sizes: list[int], first: int, need: int) -> int:
    """Where in a line, large ones first, the first of the smallest stands that suffice.

    Those before `first` are taken already.
    """
    ascending = sizes[::-1]
    smallest = ascending[bisect_left(ascending, need)]
    return max(first, len(sizes) - bisect_right(ascending, smallest))
