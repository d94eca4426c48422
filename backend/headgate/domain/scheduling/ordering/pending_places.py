"""Places in the scheduling order of a ClusterQueue, its LocalQueues and its cohort tree.

A place is found by bisection in sorted blocks, so that it costs about as much however many
workloads are pending. The blocks are built when a place is first read and updated from then on.
"""

from bisect import bisect_left, insort
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from heapq import merge
from itertools import groupby, islice
from operator import itemgetter
from typing import Any, Generic, TypeAlias, TypeVar

import msgspec
from msgspec.structs import replace

from headgate.domain.scheduling.ordering.entry_order import QueueOrder, WorkloadOrder

ClassParts: TypeAlias = tuple[object, ...]
"""What decides whether a workload fits: those of one ClusterQueue with equal parts fit alike."""


class EquivalenceClass:
    """The workloads with equal parts: one object in each queue, found without hashing any part."""

    __slots__ = ("parts",)

    def __init__(self, parts: ClassParts) -> None:
        self.parts = parts


LocalQueueRank: TypeAlias = tuple[bool, Fraction]
"""Sorts the LocalQueue that has used less first; LocalQueues without weight sort last."""

Ranks: TypeAlias = Callable[[str], LocalQueueRank]
"""Returns the present rank of a LocalQueue, which is named `namespace/name`."""

UNUSED_RANK: LocalQueueRank = (False, Fraction(0))
"""The rank of a LocalQueue that has used nothing."""


def equal_ranks(_local_queue: str) -> LocalQueueRank:
    """Rank all LocalQueues alike, so that the order of workloads alone decides."""
    return UNUSED_RANK


class PendingEntry(msgspec.Struct, frozen=True, gc=False):
    """The place of a pending workload in its ClusterQueue.

    A workload that is not `in_heap` keeps its place and is counted but not evaluated.
    `requeues_on_usage_increase`: it may become admissible where other workloads take capacity, not
    only where they release some. `local_queue` is empty unless LocalQueues are ranked, and
    `queue_name` is the name of its LocalQueue in any case.
    """

    order: QueueOrder
    equivalence_class: EquivalenceClass
    explained: bool
    local_queue: str = ""
    in_heap: bool = True
    requeues_on_usage_increase: bool = False
    queue_name: str = ""

    def is_as(self, known: "PendingEntry") -> bool:
        """Whether it says the same as an entry of a queue, in which its class may be another."""
        own, other = self.equivalence_class, known.equivalence_class
        return own.parts == other.parts and replace(self, equivalence_class=other) == known

    @property
    def submitted_to(self) -> str:
        """The LocalQueue as `namespace/name`."""
        return f"{self.order[-1].partition('/')[0]}/{self.queue_name}"


BLOCK_SIZE = 512

Ordered = TypeVar("Ordered", bound=tuple[Any, ...])


class SortedBlocks(Generic[Ordered]):
    """Unique tuples in ascending order, in blocks: adding and removing moves one block alone."""

    def __init__(self, items: Iterable[Ordered] = ()) -> None:
        ordered = sorted(items)
        starts = range(0, len(ordered), BLOCK_SIZE)
        self._blocks = [ordered[start : start + BLOCK_SIZE] for start in starts]
        self._lasts = [block[-1] for block in self._blocks]
        self._count = len(ordered)

    def __len__(self) -> int:
        return self._count

    def add(self, item: Ordered) -> None:
        """Add an item that is not among them."""
        self._count += 1
        number = min(bisect_left(self._lasts, item), len(self._blocks) - 1)
        if number < 0:
            self._blocks, self._lasts = [[item]], [item]
            return
        block = self._blocks[number]
        insort(block, item)
        if len(block) > 2 * BLOCK_SIZE:
            self._blocks[number : number + 1] = block[:BLOCK_SIZE], block[BLOCK_SIZE:]
            self._lasts.insert(number, block[BLOCK_SIZE - 1])
            number += 1
        self._lasts[number] = self._blocks[number][-1]

    def remove(self, item: Ordered) -> None:
        """Remove an item that is among them."""
        number = bisect_left(self._lasts, item)
        block = self._blocks[number]
        at = bisect_left(block, item)
        assert block[at] == item, "what is removed was added"
        del block[at]
        self._count -= 1
        if block:
            self._lasts[number] = block[-1]
        else:
            del self._blocks[number], self._lasts[number]

    def rank(self, item: tuple[Any, ...]) -> int:
        """The number of items before this one, which may be absent or a prefix of one."""
        number = bisect_left(self._lasts, item)
        before = sum(map(len, islice(self._blocks, number)))
        inside = bisect_left(self._blocks[number], item) if number < len(self._blocks) else 0
        return before + inside

    def at(self, number: int) -> Ordered:
        """The item with so many before it."""
        return next(self.starting_at(number))

    def starting_at(self, number: int) -> Iterator[Ordered]:
        """The items from the one with so many before it."""
        for block in self._blocks:
            if number < len(block):
                yield from islice(block, number, None)
            number = max(0, number - len(block))

    def ending_before(self, number: int) -> Iterator[Ordered]:
        """The items that have less than so many before them, the last first."""
        end = self._count
        for block in reversed(self._blocks):
            end -= len(block)
            if end < number:
                yield from reversed(block[: number - end])


class Segment:
    """Workloads of one ClusterQueue that follow each other in the order of `WorkloadOrder`.

    `is_sticky`: they wait for their victims and go before others of the same LocalQueues.
    """

    def __init__(
        self, rank: LocalQueueRank, lanes: Sequence[SortedBlocks[QueueOrder]], *, is_sticky: bool
    ) -> None:
        self.rank = rank
        self.is_sticky = is_sticky
        self._lanes = lanes
        starts = [lane.rank((not is_sticky,)) for lane in lanes]
        ends = [lane.rank((True,)) if is_sticky else len(lane) for lane in lanes]
        self._bounds = list(zip(lanes, starts, ends, strict=True))
        self._before = sum(starts)
        self.count = sum(ends) - self._before

    def before(self, order: WorkloadOrder) -> int:
        """How many of them come before an order."""
        wanted = (not self.is_sticky, *order)
        return sum(lane.rank(wanted) for lane in self._lanes) - self._before

    def last(self) -> WorkloadOrder | None:
        """The order of the last of them."""
        lasts = (lane.at(end - 1)[1:] for lane, start, end in self._bounds if end > start)
        return max(lasts, default=None)

    def starting_at(self, number: int) -> Iterator[QueueOrder]:
        """Their orders from the one with so many before it."""
        if len(self._bounds) == 1:
            ((lane, start, end),) = self._bounds
            return islice(lane.starting_at(start + number), max(0, end - start - number))
        each = (islice(lane.starting_at(a), b - a) for lane, a, b in self._bounds)
        return islice(merge(*each), number, None)


class SchedulingOrder:
    """The pending workloads of one ClusterQueue in scheduling order, while nothing changes."""

    def __init__(self, lanes: Mapping[str, SortedBlocks[QueueOrder]], ranks: Ranks) -> None:
        self._ranks = ranks
        self._segments: list[Segment] = []
        ranked = sorted(((ranks(name), name) for name in lanes), key=itemgetter(0, 1))
        for rank, names in groupby(ranked, key=itemgetter(0)):
            found = [lanes[name] for _, name in names]
            self._segments += (Segment(rank, found, is_sticky=each) for each in (True, False))

    def ahead(self, entry: PendingEntry) -> int:
        """Return the number of workloads before this one in the ClusterQueue."""
        before, own = self._split(entry)
        return sum(segment.count for segment in before) + own.before(entry.order[1:])

    def merge_key(self, entry: PendingEntry) -> WorkloadOrder:
        """Return the greatest order up to this workload.

        Where the heads of several queues are merged, it comes no earlier than any before it.
        """
        lasts = (segment.last() for segment in self._split(entry)[0])
        return max((entry.order[1:], *(last for last in lasts if last is not None)))

    def merged_before(self, key: WorkloadOrder) -> int:
        """Return the number of workloads that are merged before one of another queue."""
        ahead = 0
        for segment in self._segments:
            found = segment.before(key)
            ahead += found
            if found < segment.count:
                break
        return ahead

    def keys_from(self, number: int) -> Iterator[str]:
        """Yield the workloads from the one with so many before it."""
        for segment in self._segments:
            yield from (order[-1] for order in segment.starting_at(number))
            number = max(0, number - segment.count)

    def _split(self, entry: PendingEntry) -> tuple[list[Segment], Segment]:
        """The segments before the one of a workload, and that one."""
        place = self._ranks(entry.local_queue), not entry.order[0]
        found = [(segment.rank, segment.is_sticky) for segment in self._segments]
        return self._segments[: found.index(place)], self._segments[found.index(place)]


class PendingPlaces:
    """The sorted orders of the pending workloads of one ClusterQueue, suspended ones among them.

    A lane has the workloads of LocalQueues that take no turns, which is one for all unless
    LocalQueues are ranked.
    """

    def __init__(self, entries: Iterable[PendingEntry] = ()) -> None:
        lanes: dict[str, list[QueueOrder]] = {}
        local_queues: dict[str, list[QueueOrder]] = {}
        for entry in entries:
            lanes.setdefault(entry.local_queue, []).append(entry.order)
            local_queues.setdefault(entry.submitted_to, []).append(entry.order)
        self._lanes = {name: SortedBlocks(orders) for name, orders in lanes.items()}
        self._local_queues = {name: SortedBlocks(orders) for name, orders in local_queues.items()}

    def add(self, entry: PendingEntry) -> None:
        """Add a workload."""
        self._lanes.setdefault(entry.local_queue, SortedBlocks()).add(entry.order)
        self._local_queues.setdefault(entry.submitted_to, SortedBlocks()).add(entry.order)

    def remove(self, entry: PendingEntry) -> None:
        """Remove a workload. Its blocks stay, as an order may read them after an overlay."""
        self._lanes[entry.local_queue].remove(entry.order)
        self._local_queues[entry.submitted_to].remove(entry.order)

    def order(self, ranks: Ranks = equal_ranks) -> SchedulingOrder:
        """Return the scheduling order with these ranks of the LocalQueues."""
        return SchedulingOrder(self._lanes, ranks)

    def ahead_in_local_queue(self, entry: PendingEntry) -> int:
        """Return the number of workloads before this one in its LocalQueue."""
        return self._local_queues[entry.submitted_to].rank(entry.order)

    def keys_of_local_queue(self, local_queue: str, number: int) -> Iterator[str]:
        """Yield the workloads of a LocalQueue from the one with so many before it."""
        found = self._local_queues.get(local_queue, SortedBlocks())
        return (order[-1] for order in found.starting_at(number))
