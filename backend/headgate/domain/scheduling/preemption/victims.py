"""The smallest prefix of candidates that makes room, less those that can stay.

Reference preemption.md §6.6.
"""

from collections.abc import Sequence
from typing import Generic, Protocol, TypeVar

from headgate.domain.workloads.state import Workload

Place = TypeVar("Place")


class Room(Protocol[Place]):
    """The state a search tries things on; whatever is removed is restored before it ends."""

    def remove(self, victim: Workload) -> None:
        """Count a candidate's place as free."""
        ...

    def restore(self, victim: Workload) -> None:
        """Count it as taken again."""
        ...

    def place(self) -> Place | None:
        """Where the preemptor would go now, in quota and on hosts; None while it does not fit."""
        ...

    def still_fits(self, place: Place) -> bool:
        """Whether it fits at that very place now."""
        ...


class Victims(Generic[Place]):
    """Who must go, first to go first, and the place that this makes."""

    def __init__(self, victims: tuple[Workload, ...], place: Place) -> None:
        self.victims = victims
        self.place = place


def choose_victims(ordered: Sequence[Workload], room: Room[Place]) -> Victims[Place] | None:
    """An inclusion-minimal set of victims, or None if all of them together do not make room.

    The place is fixed before victims are given back, so that leaving one more alone can never
    need another place (steps 8 to 10).
    """
    prefix = _Prefix(ordered, room)
    size = _smallest_that_fits(prefix, room, len(ordered))
    if size is None:
        prefix.remove_first(0)
        return None
    prefix.remove_first(size)
    place = room.place()
    assert place is not None, "what fitted once fits again"
    gone = _without_those_that_can_stay(list(ordered[:size]), room, place)
    for victim in gone:
        room.restore(victim)
    return Victims(tuple(gone), place)


class _Prefix(Generic[Place]):
    """The first so many candidates, removed from the room."""

    def __init__(self, ordered: Sequence[Workload], room: Room[Place]) -> None:
        self.ordered = ordered
        self.room = room
        self.removed = 0

    def remove_first(self, count: int) -> None:
        """Make exactly the first `count` removed."""
        while self.removed < count:
            self.room.remove(self.ordered[self.removed])
            self.removed += 1
        while self.removed > count:
            self.removed -= 1
            self.room.restore(self.ordered[self.removed])


def _smallest_that_fits(prefix: _Prefix[Place], room: Room[Place], most: int) -> int | None:
    low, high = 0, 1
    while True:
        high = min(high, most)
        prefix.remove_first(high)
        if room.place() is not None:
            break
        if high == most:
            return None
        low, high = high, high * 2
    while high - low > 1:
        middle = (low + high) // 2
        prefix.remove_first(middle)
        if room.place() is not None:
            high = middle
        else:
            low = middle
    return high


def _without_those_that_can_stay(
    gone: list[Workload], room: Room[Place], place: Place
) -> list[Workload]:
    stay = set()
    for victim in reversed(gone):
        room.restore(victim)
        if room.still_fits(place):
            stay.add(victim.key)
        else:
            room.remove(victim)
    return [victim for victim in gone if victim.key not in stay]
