"""Threads for work that would hold up the event loop."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from headgate.application.cooperative import Result
from headgate.application.failures import Overloaded

MAX_WAITING = 32


@dataclass(slots=True)
class BoundedExecutor:
    """Threads of a process for one sort of work; it never holds up the event loop.

    A call beyond the limit of waiting ones is refused with the code `busy`.
    """

    name: str
    busy: str
    threads: int = 1
    max_waiting: int = MAX_WAITING
    _waiting: int = 0
    _thread: ThreadPoolExecutor = field(init=False)

    def __post_init__(self) -> None:
        self._thread = ThreadPoolExecutor(self.threads, thread_name_prefix=f"headgate-{self.name}")

    async def do(self, work: Callable[[], Result]) -> Result:
        """The result of some work; raises `Overloaded` if too much is waiting."""
        if self._waiting >= self.max_waiting:
            raise Overloaded(self.busy)
        self._waiting += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, work)
        finally:
            self._waiting -= 1

    def close(self) -> None:
        """Take no more work."""
        self._thread.shutdown(wait=False, cancel_futures=True)
