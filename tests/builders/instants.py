"""Instants with readable values."""

from headgate.domain.values.instants import Instant, seconds_after

T0: Instant = 1_767_225_600_000_000
"""Midnight of 1 January 2026, UTC."""


def after(seconds: int) -> Instant:
    """Returns the instant a number of seconds after `T0`."""
    return seconds_after(T0, seconds)
