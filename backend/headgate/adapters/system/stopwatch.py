"""Time as a client measures it: elapsed seconds, the wall clock, and waiting."""

import time

from headgate.domain.values.instants import Instant


def elapsed_seconds() -> float:
    """Seconds on a clock that never goes back; only differences mean something."""
    return time.monotonic()


def wall_clock() -> Instant:
    """Now, by this machine's clock; never used to decide anything on the server."""
    return time.time_ns() // 1_000


def pause(seconds: float) -> None:
    """Do nothing for a while."""
    time.sleep(max(0.0, seconds))
