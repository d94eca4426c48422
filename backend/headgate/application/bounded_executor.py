"""Threads for work that would hold up the event loop, shared fairly between users."""

import asyncio
import threading
from collections import Counter, deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from headgate.application.cooperative import Result
from headgate.application.failures import Overloaded

MAX_WAITING = 32
"""Calls of one user that may wait; one more is refused."""

CURRENT_USER: ContextVar[str] = ContextVar("CURRENT_USER", default="")
"""The user of the request that a task of the event loop works for."""

_CANCELLED: ContextVar[threading.Event | None] = ContextVar("_CANCELLED", default=None)


def is_cancelled() -> bool:
    """Whether the caller of the work of this thread waits for its result no more."""
    cancelled = _CANCELLED.get()
    return cancelled is not None and cancelled.is_set()


@dataclass(slots=True, eq=False)
class _Job:
    """Work of a user, and the future of its result."""

    user: str
    work: Callable[[], Any]
    result: asyncio.Future[Any]
    cancelled: threading.Event = field(default_factory=threading.Event)

    def run(self) -> Any:  # noqa: ANN401 - whatever the work gives
        """Does the work, in a thread."""
        if self.cancelled.is_set():
            return None
        token = _CANCELLED.set(self.cancelled)
        try:
            return self.work()
        finally:
            _CANCELLED.reset(token)


@dataclass(slots=True)
class BoundedExecutor:
    """Threads of a process for one sort of work; it never holds up the event loop.

    Users take turns, and each has work in at most `threads_per_user` threads: threads share the
    interpreter, so that the work of one user takes at most so many times longer for that of
    another. A call beyond `max_waiting` of its user is refused with the code `busy`.
    """

    name: str
    busy: str
    threads: int = 1
    threads_per_user: int = 2
    max_waiting: int = MAX_WAITING
    _waiting: dict[str, deque[_Job]] = field(default_factory=dict)
    _running: Counter[str] = field(default_factory=Counter)
    _pool: ThreadPoolExecutor = field(init=False)

    def __post_init__(self) -> None:
        self._pool = ThreadPoolExecutor(self.threads, thread_name_prefix=f"headgate-{self.name}")

    async def do(self, work: Callable[[], Result]) -> Result:
        """The result of some work; raises `Overloaded` if too much of the user is waiting.

        A call that is cancelled takes its work back; work that runs finds `is_cancelled` true.
        """
        user = CURRENT_USER.get()
        if len(self._waiting.get(user, ())) >= self.max_waiting:
            raise Overloaded(self.busy)
        job = _Job(user, work, asyncio.get_running_loop().create_future())
        self._waiting.setdefault(user, deque()).append(job)
        self._start()
        try:
            found: Result = await job.result
        finally:
            job.cancelled.set()
        return found

    def close(self) -> None:
        """Take no more work."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _start(self) -> None:
        """Starts work while there are threads, one of each user in turn."""
        while self._running.total() < self.threads:
            job = self._next()
            if job is None:
                return
            self._running[job.user] += 1
            running = asyncio.get_running_loop().run_in_executor(self._pool, job.run)
            running.add_done_callback(partial(self._ended, job))

    def _next(self) -> _Job | None:
        for user in tuple(self._waiting):
            jobs = self._waiting[user]
            while jobs and jobs[0].cancelled.is_set():
                jobs.popleft()
            if jobs and self._running[user] >= self.threads_per_user:
                continue
            del self._waiting[user]
            if jobs:
                job = jobs.popleft()
                if jobs:
                    # Behind all other users.
                    self._waiting[user] = jobs
                return job
        return None

    def _ended(self, job: _Job, done: "asyncio.Future[Any]") -> None:
        self._running[job.user] -= 1
        if self._running[job.user] <= 0:
            del self._running[job.user]
        failure = None if done.cancelled() else done.exception()
        if not job.result.done():
            if done.cancelled():
                job.result.cancel()
            elif failure is not None:
                job.result.set_exception(failure)
            else:
                job.result.set_result(done.result())
        self._start()
