"""The workloads that compete in one ClusterQueue, with those set apart that are known not to fit.

Workloads of equal shape stand in one class; a class that failed is parked as a whole until room is
made or configuration changes. StrictFIFO has no parking: it waits behind its head. Adding, removing
and parking cost the same however many wait.
"""

import heapq
from dataclasses import dataclass, field

from headgate.domain.scheduling.ordering.order import Order, Shape


@dataclass(slots=True)
class ShapeClass:
    """The waiting workloads of one shape; the heap may hold orders that are no longer true."""

    number: int
    heap: list[Order] = field(default_factory=list)
    members: dict[str, Order] = field(default_factory=dict)
    explained: dict[str, None] = field(default_factory=dict)

    def push(self, order: Order) -> None:
        """Put an order into the heap, which is rebuilt once most of it is no longer true."""
        heapq.heappush(self.heap, order)
        if len(self.heap) > 2 * len(self.members) + 16:
            self.heap = sorted(self.members.values())

    def head(self) -> Order | None:
        """The order of the first one."""
        while self.heap:
            first = self.heap[0]
            if self.members.get(first[3]) == first:
                return first
            heapq.heappop(self.heap)
        return None


class PendingQueue:
    """One ClusterQueue's competitors in order, with a memory of what failed."""

    def __init__(self, *, strict: bool) -> None:
        self.strict = strict
        self.members: dict[str, tuple[Order, Shape, bool]] = {}
        self.classes: dict[Shape, ShapeClass] = {}
        self.parked: dict[Shape, str] = {}
        self.blocked_by = ""
        self._heads: list[tuple[Order, int]] = []
        self._shapes: dict[int, Shape] = {}
        self._next_number = 0
        self._sorted: tuple[str, ...] | None = None

    def add(self, key: str, order: Order, shape: Shape, *, explained: bool) -> None:
        """Let a workload compete."""
        self._sorted = None
        self.members[key] = (order, shape, explained)
        known = self.classes.get(shape)
        if known is None:
            known = ShapeClass(number=self._next_number)
            self._next_number += 1
            self.classes[shape] = known
            self._shapes[known.number] = shape
        known.members[key] = order
        if explained:
            known.explained[key] = None
        known.push(order)
        if known.head() == order:
            heapq.heappush(self._heads, (order, known.number))

    def remove(self, key: str) -> None:
        """Take a workload out; nothing if it does not compete."""
        found = self.members.pop(key, None)
        if found is None:
            return
        order, shape, _ = found
        self._sorted = None
        known = self.classes[shape]
        was_first = known.head() == order
        del known.members[key]
        known.explained.pop(key, None)
        first = known.head()
        must_look = self._lost_its_explanation(shape, known)
        if first is None:
            self._forget(shape, known)
        elif was_first or must_look:
            heapq.heappush(self._heads, (first, known.number))
        self.blocked_by = "" if self.blocked_by == key else self.blocked_by

    def head(self) -> str | None:
        """Who is to be looked at next; nobody while all is parked or the strict head is blocked."""
        while self._heads:
            order, number = self._heads[0]
            shape = self._shapes.get(number)
            known = self.classes.get(shape) if shape is not None else None
            stale = shape is None or known is None or known.head() != order
            if stale or shape in self.parked:
                heapq.heappop(self._heads)
                continue
            return None if self.strict and order[3] == self.blocked_by else order[3]
        return None

    def park(self, key: str) -> None:
        """It did not fit: do not look at it, nor at those of its shape, until room is made."""
        if self.strict:
            self.blocked_by = key
        elif key in self.members:
            self.parked[self.members[key][1]] = key

    def park_alone(self, key: str) -> None:
        """It cannot be judged (a poison object): leave it out and go on with the others."""
        self.remove(key)

    def unpark(self) -> None:
        """Room was made, or could have been: look at everyone again."""
        for shape in self.parked:
            known = self.classes.get(shape)
            first = known.head() if known else None
            if known is not None and first is not None:
                heapq.heappush(self._heads, (first, known.number))
        self.parked = {}
        self.blocked_by = ""

    def in_order(self) -> tuple[str, ...]:
        """All competitors, first to last."""
        if self._sorted is None:
            orders = sorted(order for order, _, _ in self.members.values())
            self._sorted = tuple(order[3] for order in orders)
        return self._sorted

    def explained_like(self, key: str) -> str | None:
        """One of the same shape that was looked at and explained."""
        known = self.classes.get(self.members[key][1]) if key in self.members else None
        return min(known.explained, default=None) if known else None

    def first(self) -> str | None:
        """The competitor with the best claim, parked or not."""
        heads = [head for known in self.classes.values() if (head := known.head()) is not None]
        return min(heads)[3] if heads else None

    def waiting_after_a_look(self) -> int:
        """How many wait although someone of their shape was looked at and explained."""
        return sum(len(known.members) for known in self.classes.values() if known.explained)

    def _lost_its_explanation(self, shape: Shape, known: ShapeClass) -> bool:
        """Let a parked class be looked at again once nobody in it can say why it waits."""
        return not known.explained and self.parked.pop(shape, None) is not None

    def _forget(self, shape: Shape, known: ShapeClass) -> None:
        del self.classes[shape]
        del self._shapes[known.number]
        self.parked.pop(shape, None)
