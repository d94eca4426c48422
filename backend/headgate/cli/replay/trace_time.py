"""The time a replay lives in: as the trace has it, as fast as wanted, or as fast as it goes."""

from typing import Protocol

from headgate.adapters.system.stopwatch import elapsed_seconds
from headgate.domain.values.instants import MICROSECONDS_PER_SECOND


class TraceTime(Protocol):
    """Microseconds of trace time; `advance` is asked where nothing is left to wait for."""

    def now(self) -> int:
        """The present instant of the trace."""
        ...

    def reach(self, at: int) -> bool:
        """Whether that instant is here, going there at once where time is free to go."""
        ...

    def seconds_until(self, at: int) -> float:
        """Real seconds until that instant."""
        ...


class FreeTime:
    """Goes as far as it is asked to, never back: the system's own speed is the only limit."""

    def __init__(self) -> None:
        self._now = 0

    def now(self) -> int:
        """The present instant of the trace."""
        return self._now

    def reach(self, at: int) -> bool:
        """Always, by going there."""
        self._now = max(self._now, at)
        return True

    def seconds_until(self, at: int) -> float:
        """None at all."""
        del at
        return 0.0


class ScaledTime:
    """Runs `factor` times as fast as the clock on the wall, from its making."""

    def __init__(self, factor: float) -> None:
        self._factor = factor
        self._began = elapsed_seconds()

    def now(self) -> int:
        """The present instant of the trace."""
        passed = elapsed_seconds() - self._began
        return int(passed * self._factor * MICROSECONDS_PER_SECOND)

    def reach(self, at: int) -> bool:
        """Whether the clock is there yet."""
        return self.now() >= at

    def seconds_until(self, at: int) -> float:
        """Real seconds until that instant."""
        return max(0.0, (at - self.now()) / self._factor / MICROSECONDS_PER_SECOND)
