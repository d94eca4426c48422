"""Appends of one process share transactions: one is in flight, the rest pile up behind it.

Measured at eight to thirteen times a commit each where the disk is slow (ADR 0007).
"""

import asyncio
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager

from headgate.application.failures import Overloaded
from headgate.application.ports import (
    AppendConflict,
    Appended,
    AppendUnit,
    EventLog,
    Unavailable,
    Verdict,
)

Traced = Callable[[Sequence[AppendUnit]], AbstractContextManager[None]]
QueuedAppend = tuple[AppendUnit, asyncio.Future[Verdict]]


class GroupCommit:
    """Takes units one at a time and gives each its own verdict.

    `committed` is told of the units that are in the log, after their callers. `traced`, where there
    is one, has the time of each append as its span.
    """

    def __init__(
        self,
        log: EventLog,
        committed: Callable[[Sequence[AppendUnit]], None],
        *,
        max_in_group: int = 400,
        max_waiting: int = 20_000,
        traced: Traced | None = None,
    ) -> None:
        self._log = log
        self._committed = committed
        self._traced = traced
        self._max_in_group = max_in_group
        self._max_waiting = max_waiting
        self._waiting: deque[QueuedAppend] = deque()
        self._writer: asyncio.Task[None] | None = None
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="headgate-append")
        self.has_failed = False
        """Whether the last append found the database away; reset by the next look."""
        self.succeeded_at = float("-inf")
        """When the last append succeeded, on the monotonic clock, in seconds."""

    async def append(self, unit: AppendUnit) -> Verdict:
        """The verdict on one unit; raises `Unavailable` or `Overloaded`."""
        if self._traced is not None:
            return (await self.append_each([unit]))[0]
        (answer,) = self._enqueued([unit])
        return await answer

    async def append_each(self, units: Sequence[AppendUnit]) -> list[Verdict]:
        """The verdicts on several units, in order; each is independent of the others."""
        if self._traced is None:
            return list(await asyncio.gather(*self._enqueued(units)))
        with self._traced(units):
            return list(await asyncio.gather(*self._enqueued(units)))

    def close(self) -> None:
        """Takes no more units."""
        self._thread.shutdown(wait=False, cancel_futures=True)

    def _enqueued(self, units: Sequence[AppendUnit]) -> list[asyncio.Future[Verdict]]:
        if len(self._waiting) + len(units) > self._max_waiting:
            raise Overloaded("WritesOverloaded")
        loop = asyncio.get_running_loop()
        answers: list[asyncio.Future[Verdict]] = [loop.create_future() for _ in units]
        self._waiting.extend(zip(units, answers, strict=True))
        if self._writer is None and units:
            self._writer = asyncio.create_task(self._write())
        return answers

    async def _write(self) -> None:
        try:
            while self._waiting:
                size = min(len(self._waiting), self._max_in_group)
                await self._write_group([self._waiting.popleft() for _ in range(size)])
        finally:
            self._writer = None

    async def _write_group(self, group: list[QueuedAppend]) -> None:
        try:
            loop, units = asyncio.get_running_loop(), [unit for unit, _ in group]
            verdicts = await loop.run_in_executor(self._thread, self._log.append, units)
        except Unavailable as outage:
            self.has_failed = True
            _fail(group, outage)
        except Exception as failure:  # noqa: BLE001 - it is one unit's fault, and its caller's to hear
            await self._write_one_by_one(group, failure)
        else:
            self.has_failed, self.succeeded_at = False, time.monotonic()
            self._answer(group, verdicts)

    async def _write_one_by_one(self, group: list[QueuedAppend], failure: Exception) -> None:
        if len(group) == 1:
            _fail(group, failure)
            return
        for waiting in group:
            await self._write_group([waiting])

    def _answer(self, group: list[QueuedAppend], verdicts: Sequence[Verdict]) -> None:
        appended = []
        for (unit, answer), verdict in zip(group, verdicts, strict=True):
            if isinstance(verdict, Appended):
                appended.append(unit)
            if answer.done():
                continue
            if isinstance(verdict, AppendConflict) and verdict.is_past_lost:
                answer.set_exception(Unavailable("The log has lost events and is read again."))
            else:
                answer.set_result(verdict)
        if appended:
            self._committed(appended)


def _fail(group: list[QueuedAppend], failure: Exception) -> None:
    for _, answer in group:
        if not answer.done():
            answer.set_exception(failure)
