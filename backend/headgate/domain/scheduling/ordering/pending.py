"""The workloads that wait for one ClusterQueue, with those set apart that are known not to fit.

Workloads of equal shape stand in one class; a class whose first one failed is parked as a whole
until that can have changed (queueing.md §2.6). StrictFIFO has no parking: it waits behind its head.
Parking saves looks and decides nothing: a cell that has nobody parked decides the same (ADR 0017).
Under admission fair sharing each LocalQueue has a lane of its own, and the lane that has used least
goes first, before any priority (trap T14).
"""

from collections.abc import Callable
from fractions import Fraction
from typing import TypeAlias

import msgspec

from headgate.domain.scheduling.ordering.lanes import Lane
from headgate.domain.scheduling.ordering.order import LineOrder, Shape, priority_of

Rank: TypeAlias = tuple[bool, Fraction]
"""Sorts the lane that has used less first; those without weight last."""

Ranks: TypeAlias = Callable[[str], Rank]
"""The rank of a lane now."""


class Waiting(msgspec.Struct, frozen=True):
    """How a workload waits; `competes`: whether it may be looked at, or stands beside meanwhile.

    `requeues_on_usage_increase`: where others take room, that too may be to its advantage.
    """

    order: LineOrder
    shape: Shape
    explained: bool
    lane: str = ""
    competes: bool = True
    requeues_on_usage_increase: bool = False


FIRST: Rank = (False, Fraction(0))
"""The rank of one who has used nothing."""


def alike(_lane: str) -> Rank:
    """No lane goes before another."""
    return FIRST


class PendingQueue:
    """One ClusterQueue's competitors in order, with a memory of what failed."""

    def __init__(self, *, strict: bool) -> None:
        self.strict = strict
        self.members: dict[str, Waiting] = {}
        self.beside: dict[str, Waiting] = {}
        self.lanes: dict[str, Lane] = {}
        self.parked: dict[Shape, str] = {}
        self._alert: dict[Shape, None] = {}
        self.blocked_by = ""
        self._sorted: tuple[str, ...] | None = None

    def add(self, key: str, waiting: Waiting) -> None:
        """Let a workload compete, or stand beside."""
        self._sorted = None
        if not waiting.competes:
            self.beside[key] = waiting
            return
        self.members[key] = waiting
        self._look_again_if_it_goes_first(waiting)
        lane = self.lanes.setdefault(waiting.lane, Lane())
        lane.add(key, waiting.order, waiting.shape, explained=waiting.explained)

    def known(self, key: str) -> Waiting | None:
        """How it waits, if it does."""
        return self.members.get(key) or self.beside.get(key)

    def remove(self, key: str) -> None:
        """Take a workload out; nothing if it does not wait."""
        if self.beside.pop(key, None) is not None:
            self._sorted = None
        found = self.members.pop(key, None)
        if found is None:
            return
        self._sorted = None
        lane = self.lanes[found.lane]
        lane.remove(key, found.shape)
        if not lane.classes:
            del self.lanes[found.lane]
        if self.parked.get(found.shape) == key:
            self._look_again_at(found.shape)
        self.blocked_by = "" if self.blocked_by == key else self.blocked_by

    def head(self, ranks: Ranks = alike) -> str | None:
        """Who is to be looked at next; nobody while all is parked or the strict head is blocked."""
        firsts = [
            (ranks(name), order)
            for name, lane in self.lanes.items()
            if (order := lane.head(self.parked)) is not None
        ]
        if not firsts:
            return None
        key = min(firsts)[1][-1]
        return None if self.strict and key == self.blocked_by else key

    def park(self, key: str) -> None:
        """It did not fit: do not look at it, nor at those of its shape, until that can change."""
        waiting = self.members.get(key)
        if waiting is None:
            return
        if self.strict:
            self.blocked_by = key
        else:
            self.parked[waiting.shape] = key
            if waiting.requeues_on_usage_increase:
                self._alert[waiting.shape] = None

    def unpark_alert(self, priority: int | None = None) -> None:
        """Look again at those who are alert, or have this priority or a higher one."""
        found = self._alert if priority is None else self.parked
        for shape in tuple(found):
            if self._is_alert(self.parked[shape], priority):
                self._look_again_at(shape)
        if self.blocked_by and self._is_alert(self.blocked_by, priority):
            self.blocked_by = ""

    def _is_alert(self, key: str, priority: int | None) -> bool:
        waiting = self.members[key]
        is_strong = priority is not None and priority_of(waiting.order) >= priority
        return waiting.requeues_on_usage_increase or is_strong

    def unpark(self) -> None:
        """Room was made, or could have been: look at everyone again."""
        parked, self.parked = self.parked, {}
        self._alert.clear()
        for shape in parked:
            self._bring_forward(shape)
        self.blocked_by = ""

    def in_order(self, ranks: Ranks = alike) -> tuple[str, ...]:
        """All that wait, first to last, those beside among them where they would compete."""
        if self._sorted is not None:
            return self._sorted
        everyone = (*self.members.values(), *self.beside.values())
        ranked = {name: ranks(name) for name in sorted({waiting.lane for waiting in everyone})}
        found = sorted((ranked[waiting.lane], waiting.order) for waiting in everyone)
        line = tuple(order[-1] for _, order in found)
        self._sorted = line if len(ranked) < 2 else None  # noqa: PLR2004 - one lane has one order
        return line

    def explained_like(self, key: str) -> str | None:
        """One of the same shape that was looked at and explained."""
        found = self.members.get(key)
        if found is None:
            return None
        classes = (lane.classes.get(found.shape) for lane in self.lanes.values())
        return min((name for known in classes if known for name in known.explained), default=None)

    def first(self, ranks: Ranks = alike) -> str | None:
        """The competitor with the best claim, parked or not."""
        firsts = [
            (ranks(name), order)
            for name, lane in self.lanes.items()
            if (order := lane.first()) is not None
        ]
        return min(firsts)[1][-1] if firsts else None

    def waiting_after_a_look(self) -> int:
        """How many wait although someone of their shape was looked at and explained."""
        count: dict[Shape, int] = {}
        explained: dict[Shape, None] = {}
        for lane in self.lanes.values():
            for shape, known in lane.classes.items():
                count[shape] = count.get(shape, 0) + len(known.members)
                if known.explained:
                    explained[shape] = None
        return sum(count[shape] for shape in explained)

    def is_contested(self) -> bool:
        """Whether time alone may put another head before the one that blocks the line."""
        return bool(self.blocked_by) and len(self.lanes) > 1

    def _look_again_if_it_goes_first(self, waiting: Waiting) -> None:
        """A class stands and falls with its first; one that goes before it may do better."""
        first = self.parked.get(waiting.shape)
        if first is not None and waiting.order < self.members[first].order:
            self._look_again_at(waiting.shape)

    def _look_again_at(self, shape: Shape) -> None:
        del self.parked[shape]
        self._alert.pop(shape, None)
        self._bring_forward(shape)

    def _bring_forward(self, shape: Shape) -> None:
        for lane in self.lanes.values():
            lane.bring_forward(shape)
