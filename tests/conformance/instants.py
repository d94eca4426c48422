"""Times as cases write them."""

import re
from datetime import UTC, datetime

from headgate.domain.values.instants import MICROSECONDS_PER_SECOND, Instant

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_PARTS = re.compile(r"([\d.]+)(h|ms|m|s)")
_SECONDS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}


def instant_of(text: str | None, default: Instant) -> Instant:
    """The instant of an RFC 3339 text."""
    if not text:
        return default
    found = datetime.fromisoformat(text) - EPOCH
    return (found.days * 86_400 + found.seconds) * MICROSECONDS_PER_SECOND


def seconds_of(duration: str | int | None) -> int:
    """The whole seconds of a duration as Go writes it (`1h0m0s`)."""
    parts = _PARTS.findall(str(duration or "0s"))
    return int(sum(float(number) * _SECONDS[unit] for number, unit in parts))


NOW: Instant = instant_of("2026-01-01T00:00:00Z", 0)
"""The clock of every test."""
