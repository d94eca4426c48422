"""The shortest run of removals that makes room, less those that can stay (preemption.md §6.6).

The place is fixed before anyone is given back, so that leaving one more alone can never need
another place (steps 8 to 10).
"""

from collections.abc import Iterator, Sequence
from typing import Generic, Protocol, TypeVar

import msgspec

from headgate.domain.scheduling.preemption.request import Field, PreemptionRequest, Victim
from headgate.domain.scheduling.preemption.unit_chains import RemovedChains

Place = TypeVar("Place")


class Room(Field, Protocol[Place]):
    """A field with hosts."""

    @property
    def strides(self) -> bool:
        """Whether asking for a place costs so much that it is not asked after every removal."""
        ...

    def has_place(self) -> bool:
        """Whether there is any place on hosts for the preemptor now."""
        ...

    def place(self) -> Place | None:
        """The best of these places; None while there is none."""
        ...

    def is_free(self, place: Place, /) -> bool:
        """Whether exactly that place is free now."""
        ...


class FitTest(msgspec.Struct, Generic[Place], frozen=True, gc=False):
    """When the preemptor fits: in quota, if need be without borrowing, and on hosts.

    Quota that is `ample` before anyone leaves has room whoever leaves.
    """

    room: Room[Place]
    claim: PreemptionRequest
    borrow: bool
    ample: bool = False

    def anywhere(self) -> bool:
        """Whether it fits somewhere now."""
        return self.has_quota() and self.room.has_place()

    def at(self, place: Place) -> bool:
        """Whether it fits at that very place now."""
        return self.has_quota() and self.room.is_free(place)

    def has_quota(self) -> bool:
        """Whether quota has room for all it asks for."""
        room, node = self.room, self.claim.node
        return self.ample or all(
            (self.borrow or room.used(node, key) + amount <= room.nominal(node, key))
            and amount <= room.available(node, key)
            for key, amount in self.claim.amounts.items()
        )


def fit_of(room: Room[Place], claim: PreemptionRequest, *, borrow: bool) -> FitTest[Place]:
    """The same, asked before anyone leaves."""
    fit = FitTest(room, claim, borrow)
    return FitTest(room, claim, borrow, ample=fit.has_quota())


def minimal_victims(
    fit: FitTest[Place], walk: Iterator[Victim]
) -> tuple[list[Victim], Place] | None:
    """An inclusion-minimal list of victims in the order of removal, and the place that they make.

    The victims are left removed; if all together do not make room, everyone is restored.
    """
    taken = _RemovalLog(fit, [])
    found = _exponential_search(taken, walk)
    if found is None:
        taken.keep_first(0)
        return None
    _bisect(taken, *found)
    place = fit.room.place()
    if place is None:
        taken.keep_first(0)
        return None
    return _fill_back(fit, taken.victims[: taken.removed], place), place


class _RemovalLog(msgspec.Struct, Generic[Place], gc=False):
    """Victims in the order of removal, of whom the first so many are removed now."""

    fit: FitTest[Place]
    victims: list[Victim]
    removed: int = 0

    def take(self, victim: Victim) -> None:
        """Remove one more."""
        self.fit.room.remove(victim.candidate)
        self.victims.append(victim)
        self.removed += 1

    def keep_first(self, count: int) -> None:
        """Make exactly the first `count` removed."""
        while self.removed < count:
            self.fit.room.remove(self.victims[self.removed].candidate)
            self.removed += 1
        while self.removed > count:
            self.removed -= 1
            self.fit.room.restore(self.victims[self.removed].candidate)


def _exponential_search(
    taken: _RemovalLog[Place], walk: Iterator[Victim]
) -> tuple[int, int] | None:
    """How many removals were too few, and how many are enough; None if all are too few.

    Where a place on hosts costs a search, it is looked for only if quota has room, after one, two,
    four and so on further removals.
    """
    low, step, due = 0, 1, 1
    growth = 2 if taken.fit.room.strides else 1
    for victim in walk:
        taken.take(victim)
        if not taken.fit.has_quota():
            low, due = taken.removed, taken.removed + 1
        elif taken.removed >= due:
            if taken.fit.anywhere():
                return low, taken.removed
            low, step = taken.removed, step * growth
            due = taken.removed + step
    last = taken.removed
    return (low, last) if last > low and taken.fit.anywhere() else None


def _bisect(taken: _RemovalLog[Place], low: int, high: int) -> None:
    """Bisect to the shortest run that is enough; it is left removed."""
    while high - low > 1:
        middle = (low + high) // 2
        taken.keep_first(middle)
        if taken.fit.anywhere():
            high = middle
        else:
            low = middle
    taken.keep_first(high)


def _fill_back(fit: FitTest[Place], gone: Sequence[Victim], place: Place) -> list[Victim]:
    """Most important first; those who can stay while the preemptor has its place."""
    missing, left = RemovedChains(), []
    for victim in reversed(gone):
        if missing.keeps_out(victim.candidate):
            left.append(victim)
            continue
        fit.room.restore(victim.candidate)
        if not fit.at(place):
            fit.room.remove(victim.candidate)
            missing.miss(victim.candidate)
            left.append(victim)
    return left[::-1]
