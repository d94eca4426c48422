"""Outages of hosts in pretence: which fails when, and when it is back; time comes from outside."""

from collections.abc import Sequence

import msgspec

from headgate.adapters.system.chance import seeded
from headgate.domain.values.instants import MICROSECONDS_PER_SECOND

HOUR = 3_600 * MICROSECONDS_PER_SECOND


class Turn(msgspec.Struct, frozen=True):
    """A host that fails now, or is back."""

    node: str
    is_ready: bool


class Outages:
    """Hosts fail at random, `per_hour` of them on average, each for `seconds`; same seed, same."""

    def __init__(self, *, seed: int, per_hour: float, seconds: float) -> None:
        self._chance = seeded(seed, "outages")
        self._per_hour = per_hour
        self._length = int(seconds * MICROSECONDS_PER_SECOND)
        self._next: int | None = None
        self.down: dict[str, int] = {}

    def is_due(self, now: int) -> bool:
        """Whether a host fails or is back by now; the first call starts the clock."""
        if not self._per_hour:
            return False
        if self._next is None:
            self._next = now + self._pause()
        return self._next <= now or any(back <= now for back in self.down.values())

    def take_due(self, now: int, nodes: Sequence[str]) -> list[Turn]:
        """What has happened to some of `nodes` by now; each turn is given out once."""
        turns = [
            Turn(node, is_ready=True) for node, back in sorted(self.down.items()) if back <= now
        ]
        for turn in turns:
            del self.down[turn.node]
        if self._next is not None and self._next <= now:
            self._next = now + self._pause()
            standing = sorted(node for node in nodes if node not in self.down)
            if standing:
                node = standing[self._chance.randrange(len(standing))]
                self.down[node] = now + self._length
                turns.append(Turn(node, is_ready=False))
        return turns

    def end(self) -> list[Turn]:
        """Everything that is down is back, because the pretence is over."""
        turns = [Turn(node, is_ready=True) for node in sorted(self.down)]
        self.down.clear()
        return turns

    def _pause(self) -> int:
        return int(self._chance.expovariate(self._per_hour / HOUR))
