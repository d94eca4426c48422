"""The database's time without asking the database each time."""

import asyncio
import time

from headgate.application.ports import EventLog
from headgate.domain.values.instants import Instant

SYNCHRONIZE_SECONDS = 1.0
"""A step of the database's clock stands in the times of events after at most that long."""


class DatabaseClock:
    """Keeps in step with the log's clock by comparing it with a monotonic one now and then."""

    def __init__(self, log: EventLog) -> None:
        self._log = log
        self._offset: int | None = None

    @property
    def is_set(self) -> bool:
        """Whether `now` answers without asking the database."""
        return self._offset is not None

    def now(self) -> Instant:
        """The instant it is in the database, to within a round trip."""
        if self._offset is None:
            self.read_database()
        return _monotonic() + (self._offset or 0)

    def read_database(self) -> None:
        """Read the database's clock; blocks for one round trip."""
        before = _monotonic()
        there = self._log.now()
        self._offset = there - (before + _monotonic()) // 2

    async def synchronize(self) -> None:
        """Look again and again, for ever; an outage leaves the clock running as it is."""
        while True:
            await asyncio.sleep(SYNCHRONIZE_SECONDS)
            try:
                await asyncio.to_thread(self.read_database)
            except Exception:  # noqa: BLE001, S112 - the next use of the database reports the outage
                continue


def _monotonic() -> int:
    return time.monotonic_ns() // 1_000
