"""What it takes to see the past and to try the future: folds, and a thread to reach them in."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TypeVar

from headgate.application.failures import Overloaded
from headgate.application.past.cells import PastCells

MOST_WAITING = 32
BUSY = "Too many questions about the past or the future are being worked on."
Found = TypeVar("Found")


@dataclass(slots=True)
class Backstage:
    """The one thread of a process in which folds are reached and futures are tried out.

    It never holds up the event loop; whoever comes when too many wait already is turned away.
    """

    _waiting: int = 0
    _thread: ThreadPoolExecutor = field(
        default_factory=lambda: ThreadPoolExecutor(1, thread_name_prefix="headgate-past")
    )

    async def do(self, work: Callable[[], Found]) -> Found:
        """The result of some work; raises `Overloaded` if too much is waiting."""
        if self._waiting >= MOST_WAITING:
            raise Overloaded(BUSY)
        self._waiting += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, work)
        finally:
            self._waiting -= 1

    def close(self) -> None:
        """Take no more work."""
        self._thread.shutdown(wait=False, cancel_futures=True)


@dataclass(frozen=True, slots=True)
class TimeMachine:
    """What it takes to see the past and to try the future.

    `elapsed` counts seconds; one trial may take `seconds`.
    """

    cells: PastCells
    elapsed: Callable[[], float]
    seconds: float = 10.0
    backstage: Backstage = field(default_factory=Backstage)

    def is_late(self) -> Callable[[], bool]:
        """Tells from now on whether the time for one trial is over."""
        begun: list[float] = []

        def late() -> bool:
            begun[:] = begun or [self.elapsed()]
            return self.elapsed() - begun[0] > self.seconds

        return late
