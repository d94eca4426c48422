"""Domains of a level by how much they take, so that the next ones in order are found unsearched.

Numbers are kept by size, and for the sizes that were asked for also by block of domains; both are
brought up to date by the domains that changed (reference topology.md §9.4).
"""

from dataclasses import dataclass, field

import numpy as np

from headgate.domain.scheduling.placement.hosts import Ints

LARGEST = 1 << 16
"""Numbers from here on are too many to be counted one by one."""
BLOCK_BITS = 7
BLOCK = np.arange(1 << BLOCK_BITS)


@dataclass(slots=True)
class Sizes:
    """How many domains there are of each size; `blocks` of one size has the number in each block.

    `of` are the figures of the domains themselves, changed by whoever keeps them.
    """

    of: Ints
    numbers: Ints
    blocks: dict[int, Ints] = field(default_factory=dict)

    def count(self, size: int) -> int:
        """How many domains have this size."""
        return int(self.numbers[size])


def counted(figures: Ints) -> Sizes | None:
    """The domains with these figures by size; None where sizes are too large for that."""
    if not len(figures) or int(figures.max()) >= LARGEST:
        return None
    return Sizes(figures, np.bincount(figures))


def moved(sizes: Sizes, domains: Ints, changes: Ints) -> bool:
    """Take changes of some domains into account; False if that cannot be done any more."""
    after = sizes.of[domains]
    before = after - changes
    largest = int(after.max())
    if largest >= LARGEST:
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


def first_of(sizes: Sizes, size: int, number: int) -> Ints:
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


def tightest_of(sizes: Sizes, need: int) -> Ints:
    """All domains of the smallest size that suffices; none if there are none."""
    enough: Ints = sizes.numbers[need:].nonzero()[0]
    if not len(enough):
        return enough
    size = need + int(enough[0])
    return first_of(sizes, size, sizes.count(size))


def next_in_line(sizes: Sizes, need: int, *, best_fit: bool, whole: bool) -> Ints:
    """Domains that `need` is taken from, large ones first for best fit, else small ones first.

    The last of a best fit is the tightest for what remains, which is no more than the size at
    which `need` is reached: it is the first of the smallest size that suffices. `whole` gives all
    domains of the last sizes, where something else decides among them.
    """
    steps = sizes.numbers * np.arange(len(sizes.numbers))
    if best_fit:
        steps = steps[::-1]
    reached = steps.cumsum()
    step = int(reached.searchsorted(need))
    size = len(steps) - 1 - step if best_fit else step
    rest = need - (int(reached[step - 1]) if step else 0)
    before = steps[:step].nonzero()[0]
    if best_fit:
        before = len(steps) - 1 - before
    parts = [first_of(sizes, each, sizes.count(each)) for each in before.tolist()]
    parts.append(first_of(sizes, size, sizes.count(size) if whole else -(-rest // size)))
    if best_fit:
        rest -= (rest - 1) // size * size
        enough = rest + int((sizes.numbers[rest:] > 0).argmax())
        if enough != size:
            parts.append(first_of(sizes, enough, sizes.count(enough) if whole else 1))
    return np.concatenate(parts) if len(parts) > 1 else parts[0]
