"""Competitors in one order that never changes while they wait, in classes of equal shape.

A class that failed is passed over as a whole. Adding, removing and passing over cost the same
however many wait.
"""

import heapq
from collections.abc import Container
from dataclasses import dataclass, field

from headgate.domain.scheduling.ordering.workload_order import EquivalenceClass, QueueOrder


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
