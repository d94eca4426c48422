"""In which order the entries of one cycle are settled: two orders (queueing.md §3.7).

Both take every entry exactly once. The second looks at the shares anew before each turn, so that
its turns must be taken one after the other, each settled before the next is asked for.
"""

from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from typing import TypeAlias

import msgspec

from headgate.domain.scheduling.ordering.workload_order import WorkloadOrder

DrsKey: TypeAlias = tuple[bool, tuple[bool, Fraction]]
"""Whether a child would borrow from its parent, and the order of the share it would then have."""


class CycleEntry(msgspec.Struct, frozen=True):
    """What decides when an entry is settled; `number` tells which of the cycle's it is.

    `path` lists the nodes of the quota tree from its ClusterQueue to the root. `level` is how far
    it would borrow from. `holds_quota`: it has its quota and wants only another place.
    """

    number: int
    path: tuple[str, ...]
    holds_quota: bool
    level: int
    order: WorkloadOrder


def classical_iterator(entries: Iterable[CycleEntry]) -> Iterator[CycleEntry]:
    """Who holds quota already, who borrows from nearest, then priority, then age (trap T17)."""
    return iter(sorted(entries, key=_classical))


def fair_sharing_iterator(
    entries: Iterable[CycleEntry], standings: Callable[[CycleEntry], tuple[DrsKey, ...]]
) -> Iterator[CycleEntry]:
    """Who holds quota already, then the winner of a tournament in each tree, time after time.

    `standings` tells for each node of the path but the root how it would stand at its parent with
    the entry's usage added. Each cohort sends up the child that would not borrow from it, then the
    one of the smallest share, then by priority and age. Several entries of one ClusterQueue take
    part one after the other and none is lost (trap T27). Between trees, which share nothing but
    hosts, priority and age decide.
    """
    left = sorted(entries, key=_classical)
    while left and left[0].holds_quota:
        yield left.pop(0)
    while left:
        first = min(_winners(left, standings), key=lambda entry: entry.order)
        left.remove(first)
        yield first


def _classical(entry: CycleEntry) -> tuple[bool, int, WorkloadOrder]:
    return not entry.holds_quota, entry.level, entry.order


def _winners(
    entries: Iterable[CycleEntry], standings: Callable[[CycleEntry], tuple[DrsKey, ...]]
) -> list[CycleEntry]:
    """The winner of each tree."""
    first_of_queue: dict[str, CycleEntry] = {}
    for entry in sorted(entries, key=lambda entry: entry.order):
        first_of_queue.setdefault(entry.path[0], entry)
    candidates = [(entry, standings(entry)) for entry in first_of_queue.values()]
    deepest = max(len(entry.path) for entry, _ in candidates)
    for depth in range(deepest, 1, -1):
        candidates = _sent_up(candidates, depth)
    return [entry for entry, _ in candidates]


def _sent_up(
    candidates: Iterable[tuple[CycleEntry, tuple[DrsKey, ...]]], depth: int
) -> list[tuple[CycleEntry, tuple[DrsKey, ...]]]:
    """One of all that stand so deep below the same parent; those not so deep come in later."""
    best: dict[str, tuple[tuple[DrsKey, WorkloadOrder], CycleEntry, tuple[DrsKey, ...]]] = {}
    later = []
    for entry, standing in candidates:
        if len(entry.path) < depth:
            later.append((entry, standing))
            continue
        parent = entry.path[1 - depth]
        claim = (standing[len(entry.path) - depth], entry.order)
        if parent not in best or claim < best[parent][0]:
            best[parent] = (claim, entry, standing)
    return later + [(entry, standing) for _, entry, standing in best.values()]
