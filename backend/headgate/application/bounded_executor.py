"""Threads for work that would hold up the event loop."""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from headgate.application.cooperative import Result
from headgate.application.failures import Overloaded

MAX_WAITING = 32


class WorkCancelled(Exception):
    """The result of this work is not needed any more; raised in its thread alone."""


class _Current(threading.local):
    """The work of the present thread: whether it is cancelled."""

    cancelled: threading.Event | None = None


_CURRENT = _Current()


def stop_if_cancelled() -> None:
    """Raises `WorkCancelled` in work of a `BoundedExecutor` whose caller was cancelled.

    Work that can take longer than a second asks after each of its small steps.
    """
    cancelled = _CURRENT.cancelled
    if cancelled is not None and cancelled.is_set():
        raise WorkCancelled


@dataclass(slots=True)
class BoundedExecutor:
    """Threads of a process for one sort of work; it never holds up the event loop.

    A call beyond the limit of waiting ones is refused with the code `busy`. Work whose caller is
    cancelled does not begin, or ends where it asks `stop_if_cancelled`.
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
        cancelled = threading.Event()

        def work_unless_cancelled() -> Result:
            _CURRENT.cancelled = cancelled
            try:
                return work()
            finally:
                _CURRENT.cancelled = None

        self._waiting += 1
        try:
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(self._thread, work_unless_cancelled)
        except asyncio.CancelledError:
            cancelled.set()
            raise
        finally:
            self._waiting -= 1

    def close(self) -> None:
        """Take no more work."""
        self._thread.shutdown(wait=False, cancel_futures=True)
