"""The workloads that wait for one ClusterQueue, with those set apart that are known not to fit.

Workloads of equal shape stand in one class; a class whose first one failed is parked as a whole
until that can have changed (queueing.md §2.6). StrictFIFO has no parking: it waits behind its head.
Parking saves looks and decides nothing: a cell that has nobody parked decides the same (ADR 0017).
Under admission fair sharing each LocalQueue has a lane of its own, and the lane that has used least
goes first, before any priority (trap T14).
"""

import heapq
from collections.abc import Callable, Container
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TypeAlias

import msgspec

from headgate.domain.scheduling.ordering.entry_order import QueueOrder, priority_of


@dataclass(slots=True)
class EquivalenceGroup:
    """The waiting workloads of one shape; the heap may hold orders that are no longer true."""

    equivalence_class: EquivalenceClass
    number: int
    heap: list[QueueOrder] = field(default_factory=list)
    members: dict[str, QueueOrder] = field(default_factory=dict)
    explained: dict[str, None] = field(default_factory=dict)

    def push(self, order: QueueOrder) -> None:
        """Put an order into the heap, which is rebuilt once most of it is no longer true."""
        heapq.heappush(self.heap, order)
        if len(self.heap) > 2 * len(self.members) + 16:
            self.heap = sorted(self.members.values())

    def head(self) -> QueueOrder | None:
        """The order of the first one."""
        while self.heap:
            first = self.heap[0]
            if self.members.get(first[-1]) is first:
                return first
            heapq.heappop(self.heap)
        return None


class PendingHeap:
    """Competitors of one ClusterQueue that came by one way, with the first of them at hand."""

    def __init__(self) -> None:
        self.groups: dict[EquivalenceClass, EquivalenceGroup] = {}
        self._heads: list[tuple[QueueOrder, int]] = []
        self._numbered: dict[int, EquivalenceGroup] = {}
        self._next_number = 0

    def add(
        self, key: str, order: QueueOrder, equivalence_class: EquivalenceClass, *, explained: bool
    ) -> None:
        """Let a workload compete."""
        known = self.groups.get(equivalence_class)
        if known is None:
            known = EquivalenceGroup(equivalence_class, self._next_number)
            self._next_number += 1
            self.groups[equivalence_class] = self._numbered[known.number] = known
        known.members[key] = order
        if explained:
            known.explained[key] = None
        known.push(order)
        if known.head() is order:
            heapq.heappush(self._heads, (order, known.number))

    def remove(self, key: str, equivalence_class: EquivalenceClass) -> None:
        """Take one of its competitors out."""
        known = self.groups[equivalence_class]
        was_first = known.head() is known.members[key]
        del known.members[key]
        known.explained.pop(key, None)
        if not known.members:
            del self.groups[equivalence_class]
            del self._numbered[known.number]
        elif was_first:
            self._put_forward(known)

    def bring_forward(self, equivalence_class: EquivalenceClass) -> None:
        """Let the first of a class that was passed over, or is new in front, be found again."""
        known = self.groups.get(equivalence_class)
        if known is not None:
            self._put_forward(known)

    def _put_forward(self, known: EquivalenceGroup) -> None:
        first = known.head()
        if first is not None:
            heapq.heappush(self._heads, (first, known.number))

    def head(self, inadmissible: Container[EquivalenceClass]) -> QueueOrder | None:
        """The first whose shape is not parked; classes passed over must be brought forward."""
        while self._heads:
            order, number = self._heads[0]
            known = self._numbered.get(number)
            if (
                known is not None
                and known.head() is order
                and known.equivalence_class not in inadmissible
            ):
                return order
            heapq.heappop(self._heads)
        return None

    def first(self) -> QueueOrder | None:
        """The first, parked or not."""
        heads = [head for known in self.groups.values() if (head := known.head()) is not None]
        return min(heads, default=None)


LocalQueueRank: TypeAlias = tuple[bool, Fraction]
"""Sorts the lane that has used less first; those without weight last."""

Ranks: TypeAlias = Callable[[str], LocalQueueRank]
"""The rank of a lane now."""


class PendingEntry(msgspec.Struct, frozen=True):
    """How a workload waits; `in_heap`: whether it may be looked at, or stands beside meanwhile.

    `requeues_on_usage_increase`: where others take room, that too may be to its advantage.
    """

    order: QueueOrder
    equivalence_class: EquivalenceClass
    explained: bool
    local_queue: str = ""
    in_heap: bool = True
    requeues_on_usage_increase: bool = False


UNUSED_RANK: LocalQueueRank = (False, Fraction(0))
"""The rank of one who has used nothing."""


def equal_ranks(_local_queue: str) -> LocalQueueRank:
    """No lane goes before another."""
    return UNUSED_RANK


class PendingQueue:
    """One ClusterQueue's competitors in order, with a memory of what failed."""

    def __init__(self, *, strict: bool) -> None:
        self.strict = strict
        self.in_heap: dict[str, PendingEntry] = {}
        self.suspended: dict[str, PendingEntry] = {}
        self.heaps: dict[str, PendingHeap] = {}
        self.inadmissible: dict[EquivalenceClass, str] = {}
        self._alert: dict[EquivalenceClass, None] = {}
        self.blocked_by = ""
        self._sorted: tuple[str, ...] | None = None

    def add(self, key: str, waiting: PendingEntry) -> None:
        """Let a workload compete, or stand beside."""
        self._sorted = None
        if not waiting.in_heap:
            self.suspended[key] = waiting
            return
        self.in_heap[key] = waiting
        self._look_again_if_it_goes_first(waiting)
        heap = self.heaps.setdefault(waiting.local_queue, PendingHeap())
        heap.add(key, waiting.order, waiting.equivalence_class, explained=waiting.explained)

    def known(self, key: str) -> PendingEntry | None:
        """How it waits, if it does."""
        return self.in_heap.get(key) or self.suspended.get(key)

    def remove(self, key: str) -> None:
        """Take a workload out; nothing if it does not wait."""
        if self.suspended.pop(key, None) is not None:
            self._sorted = None
        found = self.in_heap.pop(key, None)
        if found is None:
            return
        self._sorted = None
        heap = self.heaps[found.local_queue]
        heap.remove(key, found.equivalence_class)
        if not heap.groups:
            del self.heaps[found.local_queue]
        if self.inadmissible.get(found.equivalence_class) == key:
            self._look_again_at(found.equivalence_class)
        self.blocked_by = "" if self.blocked_by == key else self.blocked_by

    def head(self, ranks: Ranks = equal_ranks) -> str | None:
        """Who is to be looked at next; nobody while all is parked or the strict head is blocked."""
        firsts = [
            (ranks(name), order)
            for name, heap in self.heaps.items()
            if (order := heap.head(self.inadmissible)) is not None
        ]
        if not firsts:
            return None
        key = min(firsts)[1][-1]
        return None if self.strict and key == self.blocked_by else key

    def mark_inadmissible(self, key: str) -> None:
        """It did not fit: do not look at it, nor at those of its shape, until that can change."""
        waiting = self.in_heap.get(key)
        if waiting is None:
            return
        if self.strict:
            self.blocked_by = key
        else:
            self.inadmissible[waiting.equivalence_class] = key
            if waiting.requeues_on_usage_increase:
                self._alert[waiting.equivalence_class] = None

    def requeue_on_usage_increase(self, priority: int | None = None) -> None:
        """Look again at those who are alert, or have this priority or a higher one."""
        found = self._alert if priority is None else self.inadmissible
        for equivalence_class in tuple(found):
            if self._is_alert(self.inadmissible[equivalence_class], priority):
                self._look_again_at(equivalence_class)
        if self.blocked_by and self._is_alert(self.blocked_by, priority):
            self.blocked_by = ""

    def _is_alert(self, key: str, priority: int | None) -> bool:
        waiting = self.in_heap[key]
        is_strong = priority is not None and priority_of(waiting.order) >= priority
        return waiting.requeues_on_usage_increase or is_strong

    def requeue_inadmissible(self) -> None:
        """Room was made, or could have been: look at everyone again."""
        inadmissible, self.inadmissible = self.inadmissible, {}
        self._alert.clear()
        for equivalence_class in inadmissible:
            self._bring_forward(equivalence_class)
        self.blocked_by = ""

    def in_order(self, ranks: Ranks = equal_ranks) -> tuple[str, ...]:
        """All that wait, first to last, those beside among them where they would compete."""
        if self._sorted is not None:
            return self._sorted
        everyone = (*self.in_heap.values(), *self.suspended.values())
        ranked = {
            name: ranks(name) for name in sorted({waiting.local_queue for waiting in everyone})
        }
        found = sorted((ranked[waiting.local_queue], waiting.order) for waiting in everyone)
        line = tuple(order[-1] for _, order in found)
        self._sorted = line if len(ranked) < 2 else None  # noqa: PLR2004 - one lane has one order
        return line

    def explained_like(self, key: str) -> str | None:
        """One of the same shape that was looked at and explained."""
        found = self.in_heap.get(key)
        if found is None:
            return None
        groups = (heap.groups.get(found.equivalence_class) for heap in self.heaps.values())
        return min((name for known in groups if known for name in known.explained), default=None)

    def first(self, ranks: Ranks = equal_ranks) -> str | None:
        """The competitor with the best claim, parked or not."""
        firsts = [
            (ranks(name), order)
            for name, heap in self.heaps.items()
            if (order := heap.first()) is not None
        ]
        return min(firsts)[1][-1] if firsts else None

    def waiting_after_a_look(self) -> int:
        """How many wait although someone of their shape was looked at and explained."""
        count: dict[EquivalenceClass, int] = {}
        explained: dict[EquivalenceClass, None] = {}
        for heap in self.heaps.values():
            for equivalence_class, known in heap.groups.items():
                count[equivalence_class] = count.get(equivalence_class, 0) + len(known.members)
                if known.explained:
                    explained[equivalence_class] = None
        return sum(count[equivalence_class] for equivalence_class in explained)

    def is_contested(self) -> bool:
        """Whether time alone may put another head before the one that blocks the line."""
        return bool(self.blocked_by) and len(self.heaps) > 1

    def _look_again_if_it_goes_first(self, waiting: PendingEntry) -> None:
        """A class stands and falls with its first; one that goes before it may do better."""
        first = self.inadmissible.get(waiting.equivalence_class)
        if first is not None and waiting.order < self.in_heap[first].order:
            self._look_again_at(waiting.equivalence_class)

    def _look_again_at(self, equivalence_class: EquivalenceClass) -> None:
        del self.inadmissible[equivalence_class]
        self._alert.pop(equivalence_class, None)
        self._bring_forward(equivalence_class)

    def _bring_forward(self, equivalence_class: EquivalenceClass) -> None:
        for heap in self.heaps.values():
            heap.bring_forward(equivalence_class)


EquivalenceClass: TypeAlias = tuple[object, ...]
"""Workloads of one ClusterQueue with equal shapes fit, or do not fit, alike."""
