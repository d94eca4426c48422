"""Follows the log in memory as it grows."""

import asyncio
from collections.abc import AsyncIterator

from headgate.adapters.memory.database import MemoryDatabase
from headgate.domain.facts import Recorded

BATCH = 1_000


class MemoryTail:
    """Fills the port `Tail`."""

    def __init__(self, database: MemoryDatabase) -> None:
        self._database = database

    async def follow(self, after: int) -> AsyncIterator[list[Recorded]]:
        """Batches of new events in order, for ever."""
        loop = asyncio.get_running_loop()
        grown = asyncio.Event()

        def wake_up() -> None:
            loop.call_soon_threadsafe(grown.set)

        self._database.listeners.append(wake_up)
        try:
            while True:
                grown.clear()
                with self._database.lock:
                    batch = self._database.events[after : after + BATCH]
                if batch:
                    after = batch[-1].position
                    yield batch
                else:
                    await grown.wait()
        finally:
            self._database.listeners.remove(wake_up)
