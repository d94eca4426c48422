"""Events as JSON, and the hub from which every watcher gets new ones, each rendered once."""

import asyncio
import time
from collections import OrderedDict, deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from headgate.application.access.redaction import (
    NamespaceScope,
    allows,
    namespace_of,
    redactor_of,
    visible_to,
)
from headgate.application.cooperative import present_work
from headgate.application.ports import EventLog
from headgate.application.queries.views import timestamp
from headgate.domain.recorded_event import RecordedEvent
from headgate.domain.workloads.events import WorkloadExplained
from headgate.domain.workloads.explanation import Explanation
from headgate.event_log.codec import SINCE_FIELD, encode, stored_name_of, without_since
from headgate.messages.catalogue import sentence_of, text_of
from headgate.messages.rendering import IsVisible

_ENCODER = msgspec.json.Encoder()
MESSAGE_TAG = b'"type":"message"'
"""Stands in the fields of each event that holds a message, which is shown with its text."""


def render_event(recorded: RecordedEvent) -> bytes:
    """The whole of an event as JSON, for readers of all namespaces: as stored, with its texts."""
    kind, _, fields = encode(recorded.event)
    if MESSAGE_TAG in fields:
        return _ENCODER.encode(shown_event(recorded, None))
    return _ENCODER.encode(_envelope(recorded, kind, msgspec.Raw(without_since(fields))))


def _whole(data: Any) -> Any:  # noqa: ANN401 - JSON
    return data


def shown_event(
    recorded: RecordedEvent, scope: NamespaceScope, cut: Callable[[Any], Any] = _whole
) -> dict[str, Any]:
    """The event redacted for a scope, as JSON values; `cut` leaves out some of its fields."""
    kind, _, fields = encode(recorded.event)
    stored = msgspec.json.decode(fields)
    # For programs that read the log, as the schema version is.
    stored.pop(SINCE_FIELD, None)
    data = cut(stored)
    redact, is_visible = redactor_of(type(recorded.event)), visible_to(scope)
    shown = redact(data, is_visible) if redact else data
    if isinstance(recorded.event, WorkloadExplained):
        _add_texts(shown["explanation"], recorded.event.explanation, is_visible)
    return _envelope(recorded, kind, shown)


def _add_texts(shown: dict[str, Any], found: Explanation, is_visible: IsVisible) -> None:
    """Adds the sentence, and texts of blockers with the amounts and names in their fields."""
    shown["sentence"] = sentence_of(found, is_visible)
    for each, blocker in zip(shown.get("blockers", ()), found.blockers, strict=False):
        each["message"]["text"] = text_of(blocker.full_message, is_visible)


def _envelope(recorded: RecordedEvent, kind: str, data: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON
    metadata = recorded.metadata
    return {
        "position": recorded.position,
        "stream": recorded.stream,
        "version": recorded.version,
        "type": kind,
        "at": timestamp(recorded.at),
        "actor": metadata.actor,
        "reason": metadata.reason,
        "causation": metadata.causation,
        "correlation": metadata.correlation,
        "data": data,
    }


SECONDS_BETWEEN_FLUSHES = 0.03
WATCHERS_AT_ONCE = 4
"""Watchers that go on in the same turn of the event loop."""
SECONDS_BETWEEN_HEARTBEATS = 15.0
SECONDS_BETWEEN_CHECKS = 5.0
MAX_KEPT = 8_192
MAX_RESUMED = 50_000
PAGE = 250
"""Events that are read for a stream at once; each has as much in memory at most."""
MAX_READING = 4
"""Streams far behind that read a page of the log at the same time; others wait for their turn."""
MAX_PAGES = 32
"""Pages kept for streams that come by the same positions, such as after a restart."""


class EventSubscription(msgspec.Struct, frozen=True, kw_only=True):
    """Which events a watcher wants; empty means all. `streams` ending in `/` are prefixes."""

    types: frozenset[str] = frozenset()
    streams: tuple[str, ...] = ()
    namespaces: frozenset[str] = frozenset()
    scope: NamespaceScope = None

    @property
    def is_everything(self) -> bool:
        """Whether nothing is filtered but what may not be seen."""
        return not (self.types or self.streams or self.namespaces)

    def takes(self, recorded: RecordedEvent, kind: str) -> bool:
        """Whether this event is wanted and may be seen."""
        if self.types and kind not in self.types:
            return False
        if self.streams and not any(_matches(recorded.stream, s) for s in self.streams):
            return False
        if self.namespaces and namespace_of(recorded.stream) not in self.namespaces:
            return False
        return allows(self.scope, recorded.stream)


@dataclass(slots=True)
class Frame:
    """One event as it is sent to every stream with unrestricted access.

    It is rendered when it is first read: most of the time no stream is open.
    """

    recorded: RecordedEvent
    kind: str
    _wire: bytes = b""

    @property
    def wire(self) -> bytes:
        """The frame as bytes, the same for all."""
        if not self._wire:
            self._wire = _fact(self.recorded.position, render_event(self.recorded))
        return self._wire


class EventHub:
    """Keeps the last events as frames; watchers read them at their own pace.

    A stream that resumes late reads from the log what the frames no longer hold.
    """

    def __init__(self, log: EventLog) -> None:
        self._log = log
        self._frames: deque[Frame] = deque(maxlen=MAX_KEPT)
        self._shared: dict[tuple[int, int, NamespaceScope], bytes] = {}
        self._more = asyncio.Event()
        self._turns = asyncio.Semaphore(WATCHERS_AT_ONCE)
        self._flush: asyncio.TimerHandle | None = None
        self._quiet_until = 0.0
        self._closed = False
        self._reading = asyncio.Semaphore(MAX_READING)
        self._pages: OrderedDict[int, list[Frame]] = OrderedDict()
        self._rewinds = 0
        self.position = 0
        self.watchers = 0

    def begin(self, position: int) -> None:
        """Sets the position after which `publish` gets all events."""
        self.position = position

    def rewind(self, position: int) -> None:
        """Drops every frame, as the log has lost events; all watchers are told to read anew."""
        self._frames.clear()
        self._pages.clear()
        self._shared.clear()
        self._rewinds += 1
        self.position = position
        self._wake()

    def publish(self, batch: Sequence[RecordedEvent]) -> None:
        """Take new events in; watchers hear of them at once, or 30 ms after they last heard.

        So an event alone waits for nothing, and many at once cost each watcher one turn for all.
        """
        self._shared.clear()
        for recorded in batch:
            self._frames.append(frame_of(recorded))
            self.position = recorded.position
        if self._flush is None:
            loop = asyncio.get_running_loop()
            self._flush = loop.call_at(self._quiet_until, self._wake)

    def close(self) -> None:
        """End every stream."""
        self._closed = True
        self._wake()

    async def watch(
        self, wanted: EventSubscription, after: int | None, may_go_on: Callable[[], Awaitable[bool]]
    ) -> AsyncGenerator[bytes, None]:
        """The frames a watcher wants, after a position or from now on, with heartbeats.

        It ends when `may_go_on`, asked every few seconds, says no.
        """
        self.watchers += 1
        try:
            cursor = self.position if after is None else after
            yield b"retry: 1000\n: position %d\n\n" % cursor
            asked_at = time.monotonic()
            async for chunk in self._from(wanted, cursor):
                if time.monotonic() - asked_at >= SECONDS_BETWEEN_CHECKS:
                    if not await may_go_on():
                        return
                    asked_at = time.monotonic()
                if chunk:
                    yield chunk
        finally:
            self.watchers -= 1

    async def _from(self, wanted: EventSubscription, cursor: int) -> AsyncGenerator[bytes, None]:
        rewinds = self._rewinds
        if self.position - cursor > MAX_RESUMED or not await self._is_in_log(cursor):
            cursor = self.position
            yield _reset(cursor)
        while cursor < self._oldest and not self._closed:
            async with self._reading:
                frames = await self._page_after(cursor)
                chunk = self._joined(frames, wanted)
            if not frames:
                break
            cursor = frames[-1].recorded.position
            del frames
            yield chunk
        async for chunk in self._live(wanted, cursor, rewinds):
            yield chunk

    async def _page_after(self, cursor: int) -> list[Frame]:
        """The frames after a position up to the end of its page; whole pages are kept for others.

        Pages begin at multiples of `PAGE`, so that streams that began anywhere meet.
        """
        if cursor in self._pages:
            self._pages.move_to_end(cursor)
            return self._pages[cursor]
        limit, rewinds = PAGE - cursor % PAGE, self._rewinds
        read = await asyncio.to_thread(self._log.read, cursor, limit=limit)
        frames = [frame_of(recorded) for recorded in read]
        if len(frames) == PAGE and rewinds == self._rewinds:
            self._pages[cursor] = frames
            while len(self._pages) > MAX_PAGES:
                self._pages.popitem(last=False)
        return frames

    async def _is_in_log(self, position: int) -> bool:
        """Whether the log has a position, also if this process has not read it yet.

        A client that resumes after its own write may ask a process that is behind the log: it has
        missed nothing and waits for what follows.
        """
        return position <= self.position or position <= await asyncio.to_thread(self._log.head)

    async def _live(
        self, wanted: EventSubscription, cursor: int, rewinds: int
    ) -> AsyncGenerator[bytes, None]:
        while not self._closed:
            if rewinds != self._rewinds:
                rewinds, cursor = self._rewinds, self.position
                yield _reset(cursor)
            elif cursor < self._oldest:
                cursor = self.position
                yield _reset(cursor)
            elif cursor < self.position:
                chunk = self._since(cursor, wanted)
                cursor = self.position
                yield chunk
            else:
                try:
                    async with asyncio.timeout(SECONDS_BETWEEN_HEARTBEATS):
                        await self._more.wait()
                except TimeoutError:
                    yield b": heartbeat %d\nevent: heartbeat\n\n" % self.position
                await self._turn()

    async def _turn(self) -> None:
        """Lets few watchers go on at a time, and requests between them.

        A watcher of a user that takes more than others waits while their requests are at work.
        """
        if (work := present_work()) is not None:
            await work.give_way()
        async with self._turns:
            await asyncio.sleep(0)

    @property
    def _oldest(self) -> int:
        """The position after which every event is among the frames."""
        return self._frames[0].recorded.position - 1 if self._frames else self.position

    def _since(self, cursor: int, wanted: EventSubscription) -> bytes:
        count = self.position - cursor
        if not wanted.is_everything:
            return self._joined(self._last(count), wanted)
        key = (cursor, self.position, wanted.scope)
        if key not in self._shared:
            self._shared[key] = self._joined(self._last(count), wanted)
        return self._shared[key]

    def _last(self, count: int) -> list[Frame]:
        found = [self._frames[-back] for back in range(count, 0, -1)]
        assert found[-1].recorded.position == self.position
        return found

    def _joined(self, frames: Sequence[Frame], wanted: EventSubscription) -> bytes:
        chosen = [frame for frame in frames if wanted.takes(frame.recorded, frame.kind)]
        if wanted.scope is None:
            return b"".join(frame.wire for frame in chosen)
        return b"".join(self._redacted(frame, wanted.scope) for frame in chosen)

    def _redacted(self, frame: Frame, scope: NamespaceScope) -> bytes:
        shown = shown_event(frame.recorded, scope)
        return _fact(frame.recorded.position, msgspec.json.encode(shown))

    def _wake(self) -> None:
        self._flush = None
        self._quiet_until = asyncio.get_running_loop().time() + SECONDS_BETWEEN_FLUSHES
        self._more.set()
        self._more = asyncio.Event()


def frame_of(recorded: RecordedEvent) -> Frame:
    """The frame of one event."""
    return Frame(recorded, stored_name_of(recorded.event))


def _fact(position: int, body: bytes) -> bytes:
    return b"id: %d\nevent: fact\ndata: %b\n\n" % (position, body)


def _reset(position: int) -> bytes:
    return b'id: %d\nevent: reset\ndata: {"position":%d}\n\n' % (position, position)


def _matches(stream: str, wanted: str) -> bool:
    return stream.startswith(wanted) if wanted.endswith("/") else stream == wanted
