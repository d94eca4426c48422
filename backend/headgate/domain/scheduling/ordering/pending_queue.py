"""The pending workloads of one ClusterQueue: in scheduling order, inadmissible ones remembered.

Corresponds to Kueue's `pkg/cache/queue.ClusterQueue` with its heap and its inadmissible workloads.
Workloads of one equivalence class fit, or do not fit, alike: once the first of a class fails, the
class is inadmissible until an event requeues it (Kueue: scheduling equivalence hashing; queueing.md
§2.6). A StrictFIFO queue marks no class; it waits behind its head. Marking saves evaluations and
decides nothing: with an empty memory the decisions are equal (ADR 0017). Under admission fair
sharing each LocalQueue has a heap of its own, and the heap of the LocalQueue that has used least
goes first, before any priority (trap Q14).
"""

import heapq
from collections.abc import Container
from dataclasses import dataclass, field

import msgspec
from msgspec.structs import replace

from headgate.domain.scheduling.ordering.entry_order import QueueOrder, priority_of
from headgate.domain.scheduling.ordering.pending_places import (
    ClassParts,
    EquivalenceClass,
    PendingEntry,
    PendingPlaces,
    Ranks,
    equal_ranks,
)


class InadmissibleSnapshot(msgspec.Struct, frozen=True, kw_only=True):
    """What one queue remembers besides the fold.

    `keys` has one workload of each inadmissible class or, with `all_but_these`, of each other
    class; `blocked_by` is the head that a StrictFIFO queue waits behind.
    """

    blocked_by: str = ""
    keys: tuple[str, ...] = ()
    all_but_these: bool = False


@dataclass(slots=True)
class EquivalenceGroup:
    """The pending workloads of one class; the heap may hold orders that are out of date."""

    equivalence_class: EquivalenceClass
    number: int
    heap: list[QueueOrder] = field(default_factory=list)
    members: dict[str, QueueOrder] = field(default_factory=dict)
    explained: dict[str, None] = field(default_factory=dict)

    def push(self, order: QueueOrder) -> None:
        """Push an order; the heap is rebuilt once most of it is out of date."""
        heapq.heappush(self.heap, order)
        if len(self.heap) > 2 * len(self.members) + 16:
            self.heap = sorted(self.members.values())

    def head(self) -> QueueOrder | None:
        """Return the order of the first workload."""
        while self.heap:
            first = self.heap[0]
            if self.members.get(first[-1]) is first:
                return first
            heapq.heappop(self.heap)
        return None


class PendingHeap:
    """Pending workloads in an order that does not change while they are pending.

    Adding, removing and skipping an inadmissible class cost the same however many are pending.
    """

    def __init__(self) -> None:
        self.groups: dict[EquivalenceClass, EquivalenceGroup] = {}
        self._classes: dict[ClassParts, EquivalenceClass] = {}
        self._heads: list[tuple[QueueOrder, int]] = []
        self._numbered: dict[int, EquivalenceGroup] = {}
        self._next_number = 0

    def with_known_class(self, entry: PendingEntry) -> PendingEntry:
        """Return the entry with the class of the pending workloads with equal parts."""
        own = entry.equivalence_class
        known = self._classes.setdefault(own.parts, own)
        return entry if known is own else replace(entry, equivalence_class=known)

    def add(self, key: str, entry: PendingEntry) -> None:
        """Add a workload, with a class that is known here."""
        group = self.groups.get(entry.equivalence_class)
        if group is None:
            group = EquivalenceGroup(entry.equivalence_class, self._next_number)
            self._next_number += 1
            self.groups[entry.equivalence_class] = self._numbered[group.number] = group
        group.members[key] = entry.order
        if entry.explained:
            group.explained[key] = None
        group.push(entry.order)
        if group.head() is entry.order:
            heapq.heappush(self._heads, (entry.order, group.number))

    def remove(self, key: str, equivalence_class: EquivalenceClass) -> None:
        """Remove a workload of this class."""
        group = self.groups[equivalence_class]
        was_first = group.head() is group.members[key]
        del group.members[key]
        group.explained.pop(key, None)
        if not group.members:
            del self.groups[equivalence_class]
            del self._classes[equivalence_class.parts]
            del self._numbered[group.number]
        elif was_first:
            self.expose_head(equivalence_class)

    def expose_head(self, equivalence_class: EquivalenceClass) -> None:
        """Let `head` find the first of a class again that is new, or was skipped before."""
        group = self.groups.get(equivalence_class)
        if group is not None and (first := group.head()) is not None:
            heapq.heappush(self._heads, (first, group.number))

    def head(self, skipped: Container[EquivalenceClass] = ()) -> QueueOrder | None:
        """Return the first order outside the skipped classes; skipped heads leave the heap."""
        while self._heads:
            order, number = self._heads[0]
            group = self._numbered.get(number)
            is_current = group is not None and group.head() is order
            if group is not None and is_current and group.equivalence_class not in skipped:
                return order
            heapq.heappop(self._heads)
        return None

    def first(self) -> QueueOrder | None:
        """Return the first order, inadmissible or not."""
        heads = [head for group in self.groups.values() if (head := group.head()) is not None]
        return min(heads, default=None)


class PendingQueue:
    """The pending workloads of one ClusterQueue, with those known to be inadmissible.

    `in_heap` may be evaluated, `suspended` keep their places meanwhile. `inadmissible` has for each
    class the workload that failed; `blocked_by` is the failed head of a StrictFIFO queue. The queue
    enters its `name` in `marked` when it learns of one.
    """

    def __init__(
        self, *, strict: bool, name: str = "", marked: dict[str, None] | None = None
    ) -> None:
        self.strict = strict
        self._name = name
        self._marked: dict[str, None] = {} if marked is None else marked
        self.in_heap: dict[str, PendingEntry] = {}
        self.suspended: dict[str, PendingEntry] = {}
        self.heaps: dict[str, PendingHeap] = {}
        self.inadmissible: dict[EquivalenceClass, str] = {}
        self.blocked_by = ""
        self._requeued_on_usage_increase: dict[EquivalenceClass, None] = {}
        self._sorted: tuple[str, ...] | None = None
        self._places: PendingPlaces | None = None

    def count(self) -> int:
        """Return the number of pending workloads."""
        return len(self.in_heap) + len(self.suspended)

    def add(self, key: str, entry: PendingEntry) -> None:
        """Add a workload; a class is requeued if the workload goes before the one that failed."""
        self._sorted = None
        if self._places is not None:
            self._places.add(entry)
        if not entry.in_heap:
            self.suspended[key] = entry
            return
        heap = self.heaps.setdefault(entry.local_queue, PendingHeap())
        entry = heap.with_known_class(entry)
        self.in_heap[key] = entry
        failed = self.inadmissible.get(entry.equivalence_class)
        if failed is not None and entry.order < self.in_heap[failed].order:
            self._requeue(entry.equivalence_class)
        heap.add(key, entry)

    def entry(self, key: str) -> PendingEntry | None:
        """Return the place of a workload, if it is pending here."""
        return self.in_heap.get(key) or self.suspended.get(key)

    def remove(self, key: str) -> None:
        """Remove a workload; its class is requeued if the workload is the one that failed."""
        known = self.entry(key)
        if known is None:
            return
        self._sorted = None
        if self._places is not None:
            self._places.remove(known)
        if self.suspended.pop(key, None) is not None:
            return
        entry = self.in_heap.pop(key)
        heap = self.heaps[entry.local_queue]
        heap.remove(key, entry.equivalence_class)
        if not heap.groups:
            del self.heaps[entry.local_queue]
        if self.inadmissible.get(entry.equivalence_class) == key:
            self._requeue(entry.equivalence_class)
        self.blocked_by = "" if self.blocked_by == key else self.blocked_by

    def head(self, ranks: Ranks = equal_ranks) -> str | None:
        """Return the next workload to evaluate (Kueue: `ClusterQueue.Pop`).

        None while all are inadmissible, or a StrictFIFO queue is blocked by its head.
        """
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
        """Skip the workload and its class until an event requeues them.

        Kueue: `ClusterQueue.requeueIfNotPresent` with the inadmissible workloads.
        """
        entry = self.in_heap.get(key)
        if entry is None:
            return
        self._marked[self._name] = None
        if self.strict:
            self.blocked_by = key
        else:
            self.inadmissible[entry.equivalence_class] = key
            if entry.requeues_on_usage_increase:
                self._requeued_on_usage_increase[entry.equivalence_class] = None

    def requeue_inadmissible(self) -> None:
        """Requeue every class (Kueue: `queueInadmissibleWorkloads`)."""
        inadmissible, self.inadmissible = self.inadmissible, {}
        self._requeued_on_usage_increase.clear()
        for equivalence_class in inadmissible:
            self._expose_head(equivalence_class)
        self.blocked_by = ""

    def requeue_on_usage_increase(self, min_priority: int | None = None) -> None:
        """Requeue the classes that may gain where others take capacity, or by their priority."""
        marked = self._requeued_on_usage_increase if min_priority is None else self.inadmissible
        for equivalence_class in tuple(marked):
            if self._may_gain(self.inadmissible[equivalence_class], min_priority):
                self._requeue(equivalence_class)
        if self.blocked_by and self._may_gain(self.blocked_by, min_priority):
            self.blocked_by = ""

    def in_order(self, ranks: Ranks = equal_ranks) -> tuple[str, ...]:
        """Return all pending workloads in scheduling order, suspended ones among them."""
        if self._sorted is not None:
            return self._sorted
        entries = (*self.in_heap.values(), *self.suspended.values())
        ranked = {name: ranks(name) for name in sorted({entry.local_queue for entry in entries})}
        found = sorted((ranked[entry.local_queue], entry.order) for entry in entries)
        keys = tuple(order[-1] for _, order in found)
        # With several LocalQueues the order changes with their usage and is not kept.
        self._sorted = keys if len(ranked) <= 1 else None
        return keys

    def places(self) -> PendingPlaces:
        """Return the places of all pending workloads, built when they are first read."""
        if self._places is None:
            self._places = PendingPlaces((*self.in_heap.values(), *self.suspended.values()))
        return self._places

    def first(self, ranks: Ranks = equal_ranks) -> str | None:
        """Return the first workload in the heaps, inadmissible or not."""
        firsts = [
            (ranks(name), order)
            for name, heap in self.heaps.items()
            if (order := heap.first()) is not None
        ]
        return min(firsts)[1][-1] if firsts else None

    def explained_equivalent(self, key: str) -> str | None:
        """Return an explained workload of the class of this one."""
        entry = self.in_heap.get(key)
        if entry is None:
            return None
        groups = (heap.groups.get(entry.equivalence_class) for heap in self.heaps.values())
        return min((name for group in groups if group for name in group.explained), default=None)

    def explained_count(self) -> int:
        """Count the workloads of classes with an evaluated and explained workload."""
        count: dict[EquivalenceClass, int] = {}
        explained: dict[EquivalenceClass, None] = {}
        for heap in self.heaps.values():
            for equivalence_class, group in heap.groups.items():
                count[equivalence_class] = count.get(equivalence_class, 0) + len(group.members)
                if group.explained:
                    explained[equivalence_class] = None
        return sum(count[equivalence_class] for equivalence_class in explained)

    def may_change_head(self) -> bool:
        """Whether time alone may put another head before the one that blocks the queue."""
        return bool(self.blocked_by) and len(self.heaps) > 1

    def snapshot(self) -> InadmissibleSnapshot:
        """Return what is known to be inadmissible, named by the shorter list of classes."""
        if self.strict or not self.inadmissible:
            return InadmissibleSnapshot(blocked_by=self.blocked_by)
        first = self._first_of_each_class()
        marked = tuple(sorted(key for name, key in first.items() if name in self.inadmissible))
        others = tuple(sorted(key for name, key in first.items() if name not in self.inadmissible))
        if len(others) < len(marked):
            return InadmissibleSnapshot(keys=others, all_but_these=True)
        return InadmissibleSnapshot(keys=marked)

    def restore(self, snapshot: InadmissibleSnapshot) -> None:
        """Mark inadmissible what `snapshot` found; the pending workloads must be those of then."""
        if snapshot.blocked_by:
            self.mark_inadmissible(snapshot.blocked_by)
        chosen = {self.in_heap[key].equivalence_class: key for key in snapshot.keys}
        if snapshot.all_but_these:
            first = self._first_of_each_class()
            chosen = {name: key for name, key in first.items() if name not in chosen}
        for key in chosen.values():
            self.mark_inadmissible(key)

    def _first_of_each_class(self) -> dict[EquivalenceClass, str]:
        """The first workload of each class; of an inadmissible class it is the one that failed."""
        return {
            equivalence_class: first[-1]
            for heap in self.heaps.values()
            for equivalence_class, group in heap.groups.items()
            if (first := group.head()) is not None
        }

    def _may_gain(self, key: str, min_priority: int | None) -> bool:
        entry = self.in_heap[key]
        is_strong = min_priority is not None and priority_of(entry.order) >= min_priority
        return entry.requeues_on_usage_increase or is_strong

    def _requeue(self, equivalence_class: EquivalenceClass) -> None:
        del self.inadmissible[equivalence_class]
        self._requeued_on_usage_increase.pop(equivalence_class, None)
        self._expose_head(equivalence_class)

    def _expose_head(self, equivalence_class: EquivalenceClass) -> None:
        for heap in self.heaps.values():
            heap.expose_head(equivalence_class)
