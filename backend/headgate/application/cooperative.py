"""Long work that does not hold up the event loop: in slices on it, or in threads beside it.

Other tasks run between two slices.
"""

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable, Generator, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from types import coroutine
from typing import Any, Protocol, TypeAlias, TypeVar

from headgate.application.failures import Overloaded

Result = TypeVar("Result")
Cooperative: TypeAlias = Generator[None, None, Result]
"""Work that may be left after each of its small steps; what it returns is its result."""

SLICE_SECONDS = 0.005


def each(items: Iterable[Result]) -> Cooperative[list[Result]]:
    """All of them, one step for each."""
    found = []
    for item in items:
        found.append(item)
        yield
    return found


def at_once(steps: Cooperative[Result]) -> Result:
    """The result without leaving the work."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            result: Result = end.value
            return result


async def run_yielding(steps: Cooperative[Result]) -> Result:
    """The result; after every slice of the work others have their turn.

    What the work looks at may have moved by its next step: bind what is decided so to what it was
    decided on, or hold it still (`LiveReader.while_still`).
    """
    now = asyncio.get_running_loop().time
    ends = now() + SLICE_SECONDS
    while True:
        try:
            next(steps)
        except StopIteration as end:
            result: Result = end.value
            return result
        if now() >= ends:
            await asyncio.sleep(0)
            ends = now() + SLICE_SECONDS


_HOLDS_STATE: ContextVar[bool] = ContextVar("holds_state", default=False)


@contextmanager
def never_paused() -> Iterator[None]:
    """Work that others may be waiting for, as it holds something, gives way to none meanwhile."""
    token = _HOLDS_STATE.set(True)
    try:
        yield
    finally:
        _HOLDS_STATE.reset(token)


class MeasuredWork(Protocol):
    """What counts the steps of some work on the event loop, and pauses it between two of them."""

    def spend(self, seconds: float) -> None:
        """Counts a step."""
        ...

    async def give_way(self) -> None:
        """Waits while other work goes first."""
        ...


@coroutine
def measured(steps: Awaitable[Result], work: MeasuredWork) -> Generator[Any, Any, Result]:
    """The result of `steps` on the event loop, of which `work` is told the processor time.

    In seconds, after each step. What the steps wait for and tasks that they begin do not count.
    """
    running = steps.__await__()
    assert isinstance(running, Generator), "of a coroutine"
    resume: Callable[[Any], Any] = running.send
    given: Any = None
    while True:
        began = time.thread_time()
        try:
            awaited = resume(given)
        except StopIteration as end:
            result: Result = end.value
            return result
        finally:
            work.spend(time.thread_time() - began)
        try:
            given = yield awaited
            if not _HOLDS_STATE.get():
                yield from work.give_way().__await__()
            resume = running.send
        except GeneratorExit:
            running.close()
            raise
        except BaseException as failure:  # noqa: BLE001 - it is thrown into the steps
            resume, given = running.throw, failure


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
