"""Instants and durations as integers, so that folding and sorting are exact.

An `Instant` counts microseconds since 1970-01-01T00:00:00Z. A duration is a plain integer with its
unit at the end of its name (`timeout_seconds`).
"""

from typing import TypeAlias

Instant: TypeAlias = int

MICROSECONDS_PER_SECOND = 1_000_000


def seconds_after(at: Instant, seconds: int) -> Instant:
    """The instant `seconds` whole seconds after `at`."""
    return at + seconds * MICROSECONDS_PER_SECOND


def whole_seconds(microseconds: int) -> int:
    """A length in whole seconds, never less than 0."""
    return max(0, microseconds) // MICROSECONDS_PER_SECOND
