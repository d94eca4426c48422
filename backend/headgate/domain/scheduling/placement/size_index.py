"""Domains by the number of slices they hold, and their selection in plain order without sorting.

Without a leader and affinity scores, the domains that a search takes follow from how many domains
there are of each size (topology.md §4.4, §9.3). The index of a level counts the domains of each
size, and for sizes that were looked up those in each block of domains; both are updated for the
domains that changed (§9.4).
"""

from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field
from typing import TypeAlias

import msgspec
import numpy as np

from headgate.domain.scheduling.placement.host_table import Bools, Ints

MAX_INDEXED_SIZE = 1 << 16
"""Sizes from here on are too large to be counted one by one."""
BLOCK_BITS = 7
BLOCK = np.arange(1 << BLOCK_BITS)
SORT_LIMIT = 96
"""Up to this number of domains, sorting them is faster than counting them."""
MAX_SIZE = np.iinfo(np.int64).max
LIST_LIMIT = 32
"""Up to this number of domains, a list is faster than an array."""
RADIX_MIN_LENGTH = 256
"""From this length on, arrays of small numbers are sorted by their digits."""
NO_DOMAINS: Ints = np.zeros(0, dtype=np.int64)

DomainUnits: TypeAlias = tuple[Ints, Ints]
"""Domains, ascending, with the units assigned to each, at least one."""
SizeCounts: TypeAlias = tuple[list[int], list[int]]
"""The sizes there are, ascending, with the number of domains of each."""


@dataclass(slots=True)
class SizeIndex:
    """The number of domains of each size; `blocks` has the numbers per block for some sizes.

    `of` are the sizes of the domains themselves, a live array.
    """

    of: Ints
    numbers: Ints
    blocks: dict[int, Ints] = field(default_factory=dict)

    def count(self, size: int) -> int:
        """The number of domains of a size."""
        return int(self.numbers[size])


class _Cut(msgspec.Struct, frozen=True, gc=False):
    """Where a need ends in the plain order of sizes.

    The `before` domains in front of `size` are taken whole, and the first `number` of that size.
    The last domain is the next one of size `closing`, which takes `rest`.
    """

    before: int
    size: int
    number: int
    closing: int
    rest: int


def size_index(sizes: Ints) -> SizeIndex | None:
    """Returns the index of domains with these sizes; None where a size is too large."""
    if not len(sizes) or int(sizes.max()) >= MAX_INDEXED_SIZE:
        return None
    return SizeIndex(sizes, np.bincount(sizes))


def update_sizes(index: SizeIndex, domains: Ints, changes: Ints) -> bool:
    """Updates the index for changes of some domains; False where a size became too large."""
    after = index.of[domains]
    before = after - changes
    largest = int(after.max())
    if largest >= MAX_INDEXED_SIZE:
        return False
    if largest >= len(index.numbers):
        more = np.zeros(largest + 1 - len(index.numbers), dtype=np.int64)
        index.numbers = np.concatenate([index.numbers, more])
    np.subtract.at(index.numbers, before, 1)
    np.add.at(index.numbers, after, 1)
    for size, blocks in index.blocks.items():
        change = (after == size).astype(np.int64) - (before == size)
        np.add.at(blocks, domains >> BLOCK_BITS, change)
    return True


def first_of_size(index: SizeIndex, size: int, number: int) -> Ints:
    """Returns the first `number` domains of a size, ascending."""
    blocks = index.blocks.get(size)
    if blocks is None:
        having: Ints = (index.of == size).nonzero()[0]
        last = (len(index.of) - 1) >> BLOCK_BITS
        index.blocks[size] = np.bincount(having >> BLOCK_BITS, minlength=last + 1)
        return having[:number]
    end = int(blocks.cumsum().searchsorted(number)) + 1
    where = blocks[:end].nonzero()[0]
    domains = ((where << BLOCK_BITS)[:, None] + BLOCK).ravel()
    domains = domains[: domains.searchsorted(len(index.of))]
    found: Ints = domains[index.of[domains] == size][:number]
    return found


def best_fit_domains(slices: Ints, need: int, index: SizeIndex | None) -> list[int] | Ints:
    """Returns all domains of the smallest size that holds `need`; none if no size does.

    `index` is that of the domains where there is one. Lists of few domains make searches on 1,000
    hosts a tenth faster.
    """
    if index is not None:
        larger: Ints = index.numbers[need:].nonzero()[0]
        if not len(larger):
            return larger
        size = need + int(larger[0])
        return first_of_size(index, size, index.count(size))
    if len(slices) <= LIST_LIMIT:
        sizes = slices.tolist()
        able = [size for size in sizes if size >= need]
        if len(able) <= 1:
            return [sizes.index(size) for size in able]
        smallest = min(able)
        return [domain for domain, size in enumerate(sizes) if size == smallest]
    if slices[slices.argmax()] < need:
        return []
    smallest = np.where(slices >= need, slices, MAX_SIZE).argmin()
    alike: Ints = (slices == slices[smallest]).nonzero()[0]
    return alike


def select_by_size(slices: Ints, pods: Ints, need: int, *, best_fit: bool) -> DomainUnits | None:
    """Returns the domains that take `need` slices in plain order; None if they hold fewer.

    BestFit takes large domains first, LeastFreeCapacity small ones; of equal size those with fewer
    pods, then by number. The last domain of BestFit is the tightest that holds the rest. `pods` is
    `slices` where they are equal. Against sorting with arrays, lists of few domains make searches
    on 1,000 hosts up to twice as fast, and counting makes the gang over most of 100,000 hosts a
    fifth faster.
    """
    if len(slices) <= SORT_LIMIT:
        return _select_sorted(slices, pods, need, best_fit=best_fit)
    cut = _cut_at(_counts_of(slices), need, best_fit=best_fit)
    if cut is None:
        return None
    taken = _comes_before(slices, cut.size, best_fit=best_fit)
    alike = _by_pods((slices == cut.size).nonzero()[0], slices, pods)
    taken[alike[: cut.number]] = True
    last = alike[cut.number]
    if cut.closing != cut.size:
        last = _by_pods((slices == cut.closing).nonzero()[0], slices, pods)[0]
    taken[last] = True
    return _with_units(taken.nonzero()[0], slices, last, cut.rest)


def select_from_index(
    index: SizeIndex, pods: Ints, need: int, *, best_fit: bool
) -> DomainUnits | None:
    """Returns what `select_by_size` does, for an indexed level.

    Only the domains that are taken are considered, which makes 64 unconstrained pods on 100,000
    hosts five times as fast as counting them.
    """
    slices = index.of
    cut = _cut_at(_present(index.numbers), need, best_fit=best_fit)
    if cut is None:
        return None
    whole = NO_DOMAINS
    if cut.before:
        whole = _comes_before(slices, cut.size, best_fit=best_fit).nonzero()[0]
    alike = _first_by_pods(index, pods, cut.size, cut.number + 1)
    last = alike[cut.number]
    if cut.closing != cut.size:
        last = _first_by_pods(index, pods, cut.closing, 1)[0]
    domains = np.concatenate([whole, alike[: cut.number], [last]])
    domains.sort()
    return _with_units(domains, slices, last, cut.rest)


def _with_units(domains: Ints, slices: Ints, last: np.int64, rest: int) -> DomainUnits:
    units = slices[domains]
    units[domains.searchsorted(last)] = rest
    return domains, units


def _cut_at(counts: SizeCounts, need: int, *, best_fit: bool) -> _Cut | None:
    sizes, numbers = counts
    before, left = 0, need
    for at in range(len(sizes) - 1, -1, -1) if best_fit else range(len(sizes)):
        size = sizes[at]
        together = size * numbers[at]
        if together >= left:
            number = (left - 1) // size
            rest = left - number * size
            closing = min([s for s in sizes[: at + 1] if s >= rest]) if best_fit else size
            return _Cut(before, size, number, closing, rest)
        before += numbers[at]
        left -= together
    return None


def _counts_of(slices: Ints) -> SizeCounts:
    if slices[slices.argmax()] >= MAX_INDEXED_SIZE:
        found, numbers = np.unique(slices, return_counts=True)
        return found.tolist(), numbers.tolist()
    return _present(np.bincount(slices))


def _present(numbers: Ints) -> SizeCounts:
    found = numbers.nonzero()[0]
    return found.tolist(), numbers[found].tolist()


def _comes_before(slices: Ints, size: int, *, best_fit: bool) -> Bools:
    """The domains ordered before those of a size that hold a slice at all."""
    before: Bools = slices > size if best_fit else (slices > 0) & (slices < size)
    return before


def _by_pods(alike: Ints, slices: Ints, pods: Ints) -> Ints:
    """Domains of one size, those with fewer pods first."""
    if pods is slices:
        return alike
    key = pods[alike]
    if len(key) > RADIX_MIN_LENGTH and key[key.argmax()] < MAX_INDEXED_SIZE:
        key = key.astype(np.uint16)
    ordered: Ints = alike[key.argsort(kind="stable")]
    return ordered


def _first_by_pods(index: SizeIndex, pods: Ints, size: int, number: int) -> Ints:
    if pods is index.of:
        return first_of_size(index, size, number)
    return _by_pods(first_of_size(index, size, index.count(size)), index.of, pods)


def _select_sorted(slices: Ints, pods: Ints, need: int, *, best_fit: bool) -> DomainUnits | None:
    key = -slices if best_fit else slices
    order = key.argsort(kind="stable") if pods is slices else np.lexsort((pods, key))
    sizes = slices[order].tolist()
    number, rest = 0, need
    for size in sizes:
        if size >= rest:
            break
        rest -= size
        number += 1
    else:
        return None
    first = 0 if best_fit else bisect_right(sizes, 0)
    taken = order[first : number + 1]
    if best_fit:
        taken[-1] = order[_tightest(sizes, number, rest)]
    last = taken[-1]
    taken.sort()
    return _with_units(taken, slices, last, rest)


def _tightest(sizes: list[int], first: int, need: int) -> int:
    """The position, from `first` on, of the first smallest of descending sizes that hold `need`."""
    ascending = sizes[::-1]
    smallest = ascending[bisect_left(ascending, need)]
    return max(first, len(sizes) - bisect_right(ascending, smallest))
