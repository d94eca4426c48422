"""Domains of a level by how much they take, so that the next ones in order are found unsearched.

Numbers are kept by size, and for the sizes that were asked for also by block of domains; both are
brought up to date by the domains that changed (reference topology.md §9.4).
"""

from dataclasses import dataclass, field

import numpy as np

from headgate.domain.scheduling.placement.host_table import Ints

MAX_INDEXED_SIZE = 1 << 16
"""Numbers from here on are too many to be counted one by one."""
BLOCK_BITS = 7
BLOCK = np.arange(1 << BLOCK_BITS)


@dataclass(slots=True)
class SizeIndex:
    """How many domains there are of each size; `blocks` of one size has the number in each block.

    `of` are the figures of the domains themselves, changed by whoever keeps them.
    """

    of: Ints
    numbers: Ints
    blocks: dict[int, Ints] = field(default_factory=dict)

    def count(self, size: int) -> int:
        """How many domains have this size."""
        return int(self.numbers[size])


def size_index(figures: Ints) -> SizeIndex | None:
    """The domains with these figures by size; None where sizes are too large for that."""
    if not len(figures) or int(figures.max()) >= MAX_INDEXED_SIZE:
        return None
    return SizeIndex(figures, np.bincount(figures))


def update_sizes(sizes: SizeIndex, domains: Ints, changes: Ints) -> bool:
    """Take changes of some domains into account; False if that cannot be done any more."""
    after = sizes.of[domains]
    before = after - changes
    largest = int(after.max())
    if largest >= MAX_INDEXED_SIZE:
        return False
    if largest >= len(sizes.numbers):
        more = np.zeros(largest + 1 - len(sizes.numbers), dtype=np.int64)
        sizes.numbers = np.concatenate([sizes.numbers, more])
    np.subtract.at(sizes.numbers, before, 1)
    np.add.at(sizes.numbers, after, 1)
    for size, blocks in sizes.blocks.items():
        change = (after == size).astype(np.int64) - (before == size)
        np.add.at(blocks, domains >> BLOCK_BITS, change)
    return True


def first_of_size(sizes: SizeIndex, size: int, number: int) -> Ints:
    """The first so many domains of a size, ascending."""
    blocks = sizes.blocks.get(size)
    if blocks is None:
        having: Ints = (sizes.of == size).nonzero()[0]
        last = (len(sizes.of) - 1) >> BLOCK_BITS
        sizes.blocks[size] = np.bincount(having >> BLOCK_BITS, minlength=last + 1)
        return having[:number]
    end = int(blocks.cumsum().searchsorted(number)) + 1
    where = blocks[:end].nonzero()[0]
    domains = ((where << BLOCK_BITS)[:, None] + BLOCK).ravel()
    domains = domains[: domains.searchsorted(len(sizes.of))]
    found: Ints = domains[sizes.of[domains] == size][:number]
    return found


def best_fit_domains(sizes: SizeIndex, need: int) -> Ints:
    """All domains of the smallest size that suffices; none if there are none."""
    enough: Ints = sizes.numbers[need:].nonzero()[0]
    if not len(enough):
        return enough
    size = need + int(enough[0])
    return first_of_size(sizes, size, sizes.count(size))
