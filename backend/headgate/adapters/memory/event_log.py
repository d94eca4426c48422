"""The log in memory."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Collection, Iterator, Sequence

from headgate.adapters.memory.database import MemoryDatabase, stored_event
from headgate.application.ports import Appended, AppendUnit, EventFilter, Verdict
from headgate.domain.recorded_event import Correlation, EventCount, RecordedEvent
from headgate.domain.values.instants import Instant
from headgate.event_log.chain import ChainedEvent, EventReader, LogBatch, LogPoint
from headgate.event_log.codec import stored_name_of


class MemoryEventLog:
    """Fills the port `EventLog`."""

    def __init__(self, database: MemoryDatabase) -> None:
        self._database = database

    def append(self, units: Sequence[AppendUnit]) -> list[Verdict]:
        """Append each unit with its own verdict, in order."""
        return self._database.append(units)

    def erase(self, unit: AppendUnit, digests: Collection[str]) -> Verdict:
        """Delete what was written, by digest, and append the event of it."""
        with self._database.lock:
            (verdict,) = self._database.append([unit])
            if isinstance(verdict, Appended):
                for digest in digests:
                    self._database.written.pop(digest, None)
        return verdict

    def head(self) -> int:
        """The last position, 0 while empty."""
        return self._database.head

    def log_id(self) -> str:
        """The identity of this log."""
        return self._database.log_id

    def point_at(self, position: int) -> LogPoint | None:
        """The point of this log at a position; None where it has none."""
        with self._database.lock:
            return self._database.point_at(position)

    def chain_start(self) -> LogPoint:
        """The point before the first event that is chained."""
        start = self.point_at(0)
        assert start is not None
        return start

    def read_chain(self, after: int, *, limit: int) -> list[ChainedEvent]:
        """Up to `limit` stored events after that position in order, with their chain values."""
        with self._database.lock:
            return [
                ChainedEvent(
                    stored=stored_event(recorded), chain=self._database.chain[recorded.position]
                )
                for recorded in self._database.events[after : after + limit]
            ]

    def now(self) -> Instant:
        """The clock the database was given."""
        return self._database.clock()

    def read(self, after: int, *, limit: int, up_to: int | None = None) -> list[RecordedEvent]:
        """Up to `limit` events after that position in order."""
        with self._database.lock:
            end = min(after + limit, self._database.head if up_to is None else up_to)
            return self._database.events[after:end]

    def read_on(
        self, point: LogPoint, *, limit: int, reader: EventReader | None = None
    ) -> LogBatch:
        """Up to `limit` events after a point; raises `PastLost` if the log does not have it."""
        return self._database.batch_after(point, limit, reader)

    def forget_lost_past(self) -> None:
        """Delete idempotency answers of positions that the log does not have."""
        with self._database.lock:
            keys = self._database.keys
            for key in [key for key, kept in keys.items() if kept.position > self._database.head]:
                del keys[key]

    def read_all(self, after: int = 0, up_to: int | None = None) -> Iterator[RecordedEvent]:
        """Every event after that position in order."""
        yield from self.read(after, limit=self.head(), up_to=up_to)

    def read_stream(self, stream: str, after_version: int = 0) -> list[RecordedEvent]:
        """One stream from its beginning, or after a version."""
        with self._database.lock:
            return self._database.by_stream.get(stream, [])[after_version:]

    def stream_page(self, stream: str, *, before: int | None, limit: int) -> list[RecordedEvent]:
        """The newest events of one stream, before a version, newest first."""
        with self._database.lock:
            events = self._database.by_stream.get(stream, [])
            end = len(events) if before is None else min(max(before - 1, 0), len(events))
            return events[max(end - limit, 0) : end][::-1]

    def positions_of(self, places: Sequence[tuple[str, int]]) -> list[int]:
        """The position of each event, given by stream and version; 0 where there is none."""
        with self._database.lock:
            return [self._position_of(stream, version) for stream, version in places]

    def page(self, where: EventFilter, *, before: int | None, limit: int) -> list[RecordedEvent]:
        """The newest events matching `where`, before a position, newest first."""
        with self._database.lock:
            events = self._database.events
            end = len(events) if before is None else min(max(before - 1, 0), len(events))
            found: list[RecordedEvent] = []
            for recorded in reversed(events[:end]):
                if len(found) == limit:
                    break
                if matches(where, recorded):
                    found.append(recorded)
            return found

    def histogram(self, where: EventFilter, *, width: int) -> list[EventCount]:
        """How many events match `where` by time and type, oldest first; empty ones left out."""
        with self._database.lock:
            counted = Counter(
                (recorded.at - recorded.at % width, stored_name_of(recorded.event))
                for recorded in self._database.events
                if matches(where, recorded)
            )
        return [EventCount(at=at, type=kind, count=n) for (at, kind), n in sorted(counted.items())]

    def correlations(self, ids: Sequence[str], where: EventFilter, limit: int) -> list[Correlation]:
        """The events of each that match `where`, `limit` at most."""
        found: dict[str, list[RecordedEvent]] = {asked: [] for asked in ids if asked}
        with self._database.lock:
            for recorded in self._database.events:
                known = found.get(recorded.metadata.correlation)
                if known is not None and len(known) < limit and matches(where, recorded):
                    known.append(recorded)
        return [
            Correlation(
                id=asked,
                types=Counter(stored_name_of(recorded.event) for recorded in events),
                streams=len({recorded.stream for recorded in events}),
            )
            for asked, events in found.items()
            if events
        ]

    def _position_of(self, stream: str, version: int) -> int:
        known = self._database.by_stream.get(stream, [])
        return known[version - 1].position if 0 < version <= len(known) else 0


def matches(where: EventFilter, recorded: RecordedEvent) -> bool:
    """Whether an event passes a filter."""
    metadata = recorded.metadata
    return (
        (not where.types or stored_name_of(recorded.event) in where.types)
        and (not where.streams or any(_covers(s, recorded.stream) for s in where.streams))
        and (not where.actor or metadata.actor == where.actor)
        and (not where.correlation or metadata.correlation == where.correlation)
        and (where.since is None or recorded.at >= where.since)
        and (where.until is None or recorded.at < where.until)
        and recorded.position > where.after
        and (where.up_to is None or recorded.position <= where.up_to)
    )


def _covers(wanted: str, stream: str) -> bool:
    return stream.startswith(wanted) if wanted.endswith("/") else stream == wanted


BATCH = 1_000


class MemoryTail:
    """Fills the port `Tail`."""

    def __init__(self, database: MemoryDatabase) -> None:
        self._database = database

    async def follow(self, point: LogPoint) -> AsyncIterator[LogBatch]:
        """Batches of new events in order, for ever; raises `PastLost`."""
        loop = asyncio.get_running_loop()
        grown = asyncio.Event()

        def wake_up() -> None:
            loop.call_soon_threadsafe(grown.set)

        self._database.listeners.append(wake_up)
        try:
            while True:
                grown.clear()
                batch = self._database.batch_after(point, BATCH)
                if batch.events:
                    point = batch.point
                    yield batch
                else:
                    await grown.wait()
        finally:
            self._database.listeners.remove(wake_up)
