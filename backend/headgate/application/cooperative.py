"""Long work that does not hold up the event loop: in slices on it, or in threads beside it.

Other tasks run between two slices. The garbage collector holds all of them up, so it runs seldom.
"""

import asyncio
import gc
import threading
import time
from collections.abc import (
    Awaitable,
    Callable,
    Generator,
    Iterable,
    Iterator,
)
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from types import coroutine
from typing import Any, Protocol, TypeAlias, TypeVar

from headgate.application.failures import Overloaded

Result = TypeVar("Result")
Cooperative: TypeAlias = Generator[None, None, Result]
"""Work that may be left after each of its small steps; what it returns is its result."""

SLICE_SECONDS = 0.002


def each(items: Iterable[Result]) -> Cooperative[list[Result]]:
    """All of them, one step for each."""
    found = []
    for item in items:
        found.append(item)
        yield
    return found


def drop(items: list[Any] | dict[Any, Any]) -> Cooperative[None]:
    """Empties a container, one step for each item.

    Freed together, the objects below thousands of items hold up all other threads for milliseconds.
    """
    take: Callable[[], Any] = items.popitem if isinstance(items, dict) else items.pop
    while items:
        take()
        yield


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
    now = time.monotonic
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
    """What counts the processor time of some work, and pauses it between two of its steps."""

    def spend(self, seconds: float) -> None:
        """Counts a step, in any thread."""
        ...

    async def give_way(self) -> None:
        """Waits while other work goes first."""
        ...

    def pause_thread(self) -> None:
        """Waits in a thread while other work goes first."""
        ...

    def is_heavier_than(self, other: Any) -> bool:  # noqa: ANN401 - work of the same sort
        """Whether the other work goes before this one."""
        ...


_WORK: ContextVar[MeasuredWork | None] = ContextVar("work", default=None)


def present_work() -> MeasuredWork | None:
    """The work that the present task is part of, if it is measured."""
    return _WORK.get()


@contextmanager
def part_of(work: MeasuredWork) -> Iterator[None]:
    """What the present task does meanwhile is part of `work`, with its tasks and threads."""
    token = _WORK.set(work)
    try:
        yield
    finally:
        _WORK.reset(token)


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
    """The call of a `BoundedExecutor` that the present thread works on."""

    call: "_Call | None" = None


_CURRENT = _Current()


def stop_if_cancelled() -> None:
    """Raises `WorkCancelled` in work of a `BoundedExecutor` whose caller was cancelled.

    It gives way here to work that goes first. Work that can take longer than a second asks after
    each of its small steps.
    """
    if _CURRENT.call is not None:
        _CURRENT.call.end_step()


def drop_in_thread(items: list[Any]) -> None:
    """Empties a list as `drop` does; the present thread asks `stop_if_cancelled` at each item."""
    for _ in drop(items):
        stop_if_cancelled()


def in_steps(items: Iterable[Result]) -> Iterator[Result]:
    """The items; before each the present thread asks `stop_if_cancelled`."""
    for item in items:
        stop_if_cancelled()
        yield item


@dataclass(slots=True, eq=False)
class _Call:
    """A call in a thread; its processor time counts as part of `work`.

    It never gives way while `delays_others` says that work which goes first waits for its thread.
    """

    work: MeasuredWork | None
    delays_others: Callable[[MeasuredWork], bool]
    cancelled: threading.Event = field(default_factory=threading.Event)
    counted_at: float = 0.0

    def run(self, work: Callable[[], Result]) -> Result:
        """The result, in a thread."""
        _CURRENT.call, self.counted_at = self, time.thread_time()
        try:
            self.end_step()
            return work()
        finally:
            _CURRENT.call = None
            self._count()

    def end_step(self) -> None:
        """Raises `WorkCancelled` if the caller was cancelled; gives way after every slice."""
        if self.cancelled.is_set():
            raise WorkCancelled
        if self.work is None or time.thread_time() - self.counted_at < SLICE_SECONDS:
            return
        self._count()
        if not self.delays_others(self.work):
            self.work.pause_thread()

    def _count(self) -> None:
        now = time.thread_time()
        if self.work is not None:
            self.work.spend(now - self.counted_at)
        self.counted_at = now


class CountedThreads(ThreadPoolExecutor):
    """Threads with processor time that counts as part of the work that their calls come from.

    There are more of them than calls of one user at a time, so that none waits for another user's.
    """

    def submit(
        self, fn: Callable[..., Result], /, *args: object, **kwargs: object
    ) -> Future[Result]:
        """Calls `fn` in a thread."""
        work = present_work()
        if work is None:
            return super().submit(fn, *args, **kwargs)
        call = _Call(work, lambda _: False)
        return super().submit(call.run, lambda: fn(*args, **kwargs))


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
    _calls: dict[_Call, None] = field(default_factory=dict)
    _thread: ThreadPoolExecutor = field(init=False)

    def __post_init__(self) -> None:
        self._thread = ThreadPoolExecutor(self.threads, thread_name_prefix=f"headgate-{self.name}")

    async def do(self, work: Callable[[], Result]) -> Result:
        """The result of some work; raises `Overloaded` if too much is waiting."""
        if len(self._calls) >= self.max_waiting:
            raise Overloaded(self.busy)
        call = _Call(present_work(), self._delays_others)
        self._calls[call] = None
        try:
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(self._thread, call.run, work)
        except asyncio.CancelledError:
            call.cancelled.set()
            raise
        finally:
            del self._calls[call]

    def _delays_others(self, work: MeasuredWork) -> bool:
        """Whether work that goes before `work` waits for these threads."""
        waiting = [call.work for call in list(self._calls)]
        return any(other is not None and work.is_heavier_than(other) for other in waiting)

    def close(self) -> None:
        """Take no more work."""
        self._thread.shutdown(wait=False, cancel_futures=True)


COLLECT_AFTER = (2_000, 5, 2_000)
"""The thresholds of the garbage collector. By default it runs far more often, and a fold that grows
is walked again and again: a fifth of the processor time of a submit. Larger young generations would
be walked no more often in all, but for longer at a time, during which no other task runs: 25,000
objects of simulations took up to 22 ms.
"""


@contextmanager
def without_collection() -> Iterator[None]:
    """Turns the garbage collector off: nothing that is folded can be collected.

    Walking it over and over would take most of the time of folding.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def collect_seldom() -> None:
    """Sets the thresholds of the collector; what there is now is never walked again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*COLLECT_AFTER)


def collect_dropped() -> None:
    """Collects what was dropped since, of that which `collect_seldom` left out as well."""
    gc.unfreeze()
    gc.collect()
