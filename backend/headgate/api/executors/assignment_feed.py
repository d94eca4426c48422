"""The stream of assignments: which executors each change of a workload concerns, told once.

A journal in memory has the latest changes by executor, so that a stream resumes where it ended.
What the journal does not cover is answered with a reset, after which the client lists all
assignments.
"""

import asyncio
import time
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from typing import Annotated, Any, NamedTuple

import msgspec
from litestar.params import QueryParameter

from headgate.application.application_services import ApplicationServices
from headgate.application.live_state import LiveReader
from headgate.domain.executor_assignments import executors_of
from headgate.domain.kinds.configured_object import StatusEvent
from headgate.domain.kinds.executor import OrphansDecided
from headgate.domain.recorded_event import LogRewound, RecordedEvent, kind_and_key
from headgate.domain.workloads.state import Workload
from headgate.event_log.chain import LogPoint

MAX_JOURNAL = 50_000
SECONDS_BETWEEN_FLUSHES = 0.03
SECONDS_BETWEEN_HEARTBEATS = 15.0
SECONDS_BETWEEN_CHECKS = 5.0

STREAM_DESCRIPTION = (
    "`event: point` with the point of the log that the changes after it are covered by; "
    "`event: assignment` with one workload as the executor is to run it, or with `ended: true`; "
    "`event: reset` tells the executor to list all assignments again"
)
STREAM_HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}

KnownPoint = Annotated[
    str | None,
    QueryParameter(
        name="knownPoint",
        description="The newest point that the executor knows, as `logId:position:chain`",
        pattern="^[^:]{1,64}:[0-9]{1,18}:[0-9a-f]{1,128}$",
    ),
]

Render = Callable[[ApplicationServices, str, Sequence[str]], Awaitable[Mapping[str, Any]]]
"""The items of an executor by workload; workloads that are not the executor's are left out."""


class Attempt(NamedTuple):
    """One attempt of a workload, and the executors that have or had pods of it."""

    uid: str
    number: int
    executors: frozenset[str]


class Change(NamedTuple):
    """A change of a workload at a position, with its attempt before and after."""

    position: int
    workload: str
    attempts: tuple[Attempt, ...]


class AssignmentFeed:
    """Tells streams of executors which workloads changed; idle until the first stream opens."""

    def __init__(self, services: ApplicationServices, render: Render) -> None:
        self._services = services
        self._render = render
        self._attempts: dict[str, Attempt] = {}
        self._journal: deque[Change] = deque()
        self._begins_at = 0
        self._position = 0
        self._is_begun = False
        self._resets = 0
        self._decided_at: dict[str, int] = {}
        self._more = asyncio.Event()
        self._closed = False

    def publish(self, batch: Sequence[RecordedEvent]) -> None:
        """Takes new events in, after they have been folded."""
        if not self._is_begun:
            return
        cluster_state = self._services.reader.cluster_state
        for recorded in batch:
            kind, key = kind_and_key(recorded.stream)
            if kind == "workload":
                self._note(recorded.position, key)
            elif isinstance(recorded.event, OrphansDecided):
                self._decided_at[key] = recorded.position
            elif isinstance(recorded.event, LogRewound):
                self._resets += 1  # lists tell that orphans are to be reported
            elif kind in {"node", "executor"} and not isinstance(recorded.event, StatusEvent):
                self._note_all(recorded.position)
        self._position = cluster_state.position
        while len(self._journal) > MAX_JOURNAL:
            self._begins_at = self._journal.popleft().position
        self._wake()

    def rewind(self) -> None:
        """Forgets everything, as the log has lost events; all streams are told to list anew."""
        self._is_begun = False
        self._resets += 1
        self._decided_at.clear()
        self._wake()

    def close(self) -> None:
        """Ends every stream."""
        self._closed = True
        self._wake()

    async def watch(
        self,
        executor: str,
        after: int | None,
        may_go_on: Callable[[], Awaitable[bool]],
        known: str | None = None,
    ) -> AsyncGenerator[bytes, None]:
        """The changes of an executor's assignments after a position, with heartbeats.

        It begins with a reset where the log does not have the point `known`, and has one after a
        decision on the executor's orphans, which its list tells. It ends when `may_go_on`, asked
        every few seconds, says no.
        """
        self._begin()
        cursor = self._position if after is None else after
        yield b"retry: 1000\n: position %d\n\n" % cursor
        resets, asked_at, told_at = self._resets, time.monotonic(), time.monotonic()
        if await holds_point(self._services, known) is False:
            resets = _NEVER
        while not self._closed:
            if time.monotonic() - asked_at >= SECONDS_BETWEEN_CHECKS:
                if not await may_go_on():
                    return
                asked_at = time.monotonic()
            is_covered = self._begins_at <= cursor <= self._position
            if (
                resets != self._resets
                or not is_covered
                or self._decided_at.get(executor, 0) > cursor
            ):
                self._begin()
                resets, cursor = self._resets, self._position
                yield _frame("reset", cursor, {"position": cursor})
            more, position = self._more, self._position
            for frame in await self._changes(executor, cursor, position):
                told_at = time.monotonic()
                yield frame
            cursor = position
            if time.monotonic() - told_at >= SECONDS_BETWEEN_HEARTBEATS:
                told_at = time.monotonic()
                yield b": heartbeat %d\nevent: heartbeat\n\n" % position
            await _first_of(more, SECONDS_BETWEEN_CHECKS)

    async def _changes(self, executor: str, after: int, position: int) -> list[bytes]:
        """One frame for each workload that changed for the executor between two positions.

        Before them comes a point that covers them. None where the log was rewound meanwhile.
        """
        resets = self._resets
        touched: dict[str, Attempt] = {}
        for change in reversed(self._journal):
            if change.position <= after:
                break
            for attempt in change.attempts:
                if change.position <= position and executor in attempt.executors:
                    touched.setdefault(change.workload, attempt)
        if not touched:
            return []
        items = await self._render(self._services, executor, list(touched))
        point = self._services.reader.point
        if resets != self._resets or point is None:
            return []
        frames = [_frame("point", after, point_body(point))]
        for workload, attempt in reversed(touched.items()):
            ended = {
                "workload": workload,
                "uid": attempt.uid,
                "attempt": attempt.number,
                "ended": True,
            }
            frames.append(_frame("assignment", position, items.get(workload, ended)))
        return frames

    def _begin(self) -> None:
        if self._is_begun:
            return
        cluster_state = self._services.reader.cluster_state
        self._journal.clear()
        self._attempts = {}
        self._position = self._begins_at = cluster_state.position
        self._is_begun = True
        for key in cluster_state.reads.index.with_quota():
            found = self._attempt(cluster_state.workloads[key])
            if found.executors:
                self._attempts[key] = found

    def _attempt(self, workload: Workload) -> Attempt:
        config = self._services.reader.cluster_state.config
        return Attempt(workload.uid, workload.attempt, executors_of(config, workload))

    def _note(self, position: int, key: str) -> None:
        before = self._attempts.pop(key, None)
        workload = self._services.reader.cluster_state.workloads.get(key)
        after = None if workload is None else self._attempt(workload)
        if after is not None and after.executors:
            self._attempts[key] = after
        found = tuple(each for each in (after, before) if each is not None and each.executors)
        if found:
            self._journal.append(Change(position, key, found))

    def _note_all(self, position: int) -> None:
        """Nodes may have changed their executor: every workload with quota may have."""
        cluster_state = self._services.reader.cluster_state
        for key in cluster_state.reads.index.with_quota():
            workload = cluster_state.workloads[key]
            if self._attempts.get(key, _NONE).executors != self._attempt(workload).executors:
                self._note(position, key)

    def _wake(self) -> None:
        self._more.set()
        self._more = asyncio.Event()


_NONE = Attempt("", 0, frozenset())
_NEVER = -1
"""No number of resets."""


def point_body(point: LogPoint) -> dict[str, Any]:
    """A point of the log as executors read it."""
    return {"position": point.position, "logId": point.log_id, "chain": point.chain.hex()}


async def holds_point(services: ApplicationServices, known: str | None) -> bool | None:
    """Whether the log has a point that an executor knows; None where it names none.

    Asked of the database, and after the assignments were read: a process folds a restored log
    later than it is restored, so that assignments of such a log come with the answer no.
    """
    if known is None:
        return None
    position = int(known.split(":")[1])
    found = await asyncio.to_thread(services.log.point_at, position)
    if found is None:
        return False
    return known == f"{found.log_id}:{position}:{found.chain.hex()}"


async def _first_of(more: asyncio.Event, seconds: float) -> None:
    """Waits for the next change and a little longer, so that several are sent as one."""
    try:
        await asyncio.wait_for(more.wait(), seconds)
    except TimeoutError:
        return
    await asyncio.sleep(SECONDS_BETWEEN_FLUSHES)


def _frame(event: str, position: int, body: Any) -> bytes:  # noqa: ANN401 - JSON
    encoded = msgspec.json.encode(body)
    return b"id: %d\nevent: %b\ndata: %b\n\n" % (position, event.encode(), encoded)


def feed_of(services: ApplicationServices, render: Render) -> AssignmentFeed:
    """The feed of a process, listening to its reader."""
    feed, reader = AssignmentFeed(services, render), services.reader
    assert isinstance(reader, LiveReader), "a stream is of the present"
    reader.listen(feed.publish)
    reader.on_rewind(feed.rewind)
    return feed
