"""Instants and durations as integers, so that folding and sorting are exact, and what is due when.

An `Instant` counts microseconds since 1970-01-01T00:00:00Z. A duration is a plain integer with its
unit at the end of its name (`timeout_seconds`).
"""

import heapq
from typing import TypeAlias

Instant: TypeAlias = int

MICROSECONDS_PER_SECOND = 1_000_000


def seconds_after(at: Instant, seconds: int) -> Instant:
    """The instant `seconds` whole seconds after `at`."""
    return at + seconds * MICROSECONDS_PER_SECOND


def whole_seconds(microseconds: int) -> int:
    """A length in whole seconds, never less than 0."""
    return max(0, microseconds) // MICROSECONDS_PER_SECOND


class Timers:
    """The due instant of each key, with the earliest at hand: changing one costs O(log n)."""

    def __init__(self) -> None:
        self.due: dict[str, Instant] = {}
        self._heap: list[tuple[Instant, str]] = []

    def set(self, key: str, due: Instant | None) -> None:
        """Replace the due instant of a key; None removes it."""
        if due == self.due.get(key):
            return
        if due is None:
            del self.due[key]
            return
        self.due[key] = due
        heapq.heappush(self._heap, (due, key))
        if len(self._heap) > 2 * len(self.due) + 64:
            self._heap = sorted((instant, name) for name, instant in self.due.items())

    def fired(self, at: Instant) -> list[str]:
        """The keys due by `at`, earliest first; they stay due until their instant is replaced."""
        earliest = self.next_due()
        if earliest is None or earliest > at:
            return []
        return [
            key for due, key in sorted((due, key) for key, due in self.due.items()) if due <= at
        ]

    def next_due(self) -> Instant | None:
        """The earliest due instant of all keys."""
        while self._heap:
            due, key = self._heap[0]
            if self.due.get(key) == due:
                return due
            heapq.heappop(self._heap)
        return None
