"""The log on Postgres: appends by one server-side call a group, reads by position."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any

import psycopg

from headgate.adapters.postgres.append_encoding import (
    Dictionary,
    document_of,
    stored_form,
    verdicts_of,
    written_runs,
)
from headgate.adapters.postgres.archived_events import (
    AT,
    BODY,
    COLUMNS,
    POSITION,
    STREAM,
    TYPE,
    VERSION,
    ArchivedEvents,
    EventRow,
    rows_after,
)
from headgate.adapters.postgres.connections import (
    NEXT_POINT,
    Connection,
    Pool,
    chain_values,
    connection_of,
    dictionary_of,
    next_point,
    point_at,
    stored_rows,
)
from headgate.adapters.postgres.workload_conditions import events_matching
from headgate.application.cooperative import in_steps
from headgate.application.failures import GapInLog, ReleaseTooOld
from headgate.application.ports import (
    Appended,
    AppendUnit,
    EventFilter,
    Verdict,
    WrittenObject,
)
from headgate.domain.recorded_event import (
    Correlation,
    EventCount,
    EventMetadata,
    RecordedEvent,
    not_read,
)
from headgate.domain.values.instants import Instant
from headgate.event_log.chain import (
    ChainedEvent,
    EventReader,
    LogBatch,
    LogPoint,
    StoredEvent,
)
from headgate.event_log.codec import UnknownEvent, decode

STREAM_PAGE = f"""
    SELECT {COLUMNS} FROM event_whole
    WHERE stream = %(stream)s AND version >> 6 BETWEEN %(first)s >> 6 AND (%(end)s - 1) >> 6
        AND version >= %(first)s AND version < %(end)s
    ORDER BY version DESC LIMIT %(limit)s
"""
"""The rows of a stream from a version on, up to and without another one, newest first.

The index of each part of the log has 64 versions of a stream in one entry, so that about as many
rows are read beside those of the page, however long the stream is.
"""


def recorded_of(row: Sequence[Any]) -> RecordedEvent:
    """One event from a row of `COLUMNS`."""
    try:
        event = decode(row[3], row[4], document_of(row[BODY]))
    except UnknownEvent as unknown:
        raise ReleaseTooOld(row[3], row[4], row[0]) from unknown
    return RecordedEvent(
        position=row[0],
        stream=row[1],
        version=row[2],
        event=event,
        at=row[6],
        metadata=EventMetadata(
            actor=row[7], reason=row[8], causation=row[9], correlation=row[10], trace=row[11]
        ),
    )


_PAST_ALL = 2**62
"""More than any position or version."""


def rows_of_stream(
    connection: Connection, stream: str, after: int = 0, *, archived: ArchivedEvents | None = None
) -> list[EventRow]:
    """The rows of a stream after a version in order; what was archived where they begin later."""
    place = {"stream": stream, "after": after}
    rows = stored_rows(connection, _READ_STREAM, place, BODY)
    if archived is None or (rows and rows[0][VERSION] == after + 1):
        return rows
    before = rows[0][VERSION] if rows else _PAST_ALL
    return archived.stream_rows(connection, stream, after=after, before=before)[::-1] + rows


def gapless(
    rows: Iterable[Sequence[Any]], after: int, reader: EventReader | None = None
) -> Iterator[RecordedEvent]:
    """The events of these rows that have bodies; the rows follow on `after` without a gap."""
    expected = after + 1
    for row in rows:
        if row[0] != expected:
            told = f"position {row[0]} came where {expected} was expected"
            raise GapInLog(told, came=row[0])
        expected += 1
        if reader is not None and not reader(row[STREAM], row[TYPE]):
            yield not_read(row[0], row[STREAM], row[VERSION], row[AT])
        elif row[BODY] is not None:
            yield recorded_of(row)


def _kept_once(
    written: Iterable[WrittenObject], dictionary: Dictionary | None
) -> tuple[list[str], list[bytes]]:
    """Digests and stored bodies, each once, by digest, so that no two appends deadlock."""
    bodies = {each.digest: each.body for each in sorted(written, key=lambda each: each.digest)}
    return list(bodies), [stored_form(body, dictionary) for body in bodies.values()]


PAGE = 2_000
_APPEND = "SELECT log_append(%s::jsonb, %b, %s::jsonb, %b, %s)::text"
_APPEND_WRITTEN = """
    WITH held AS MATERIALIZED (SELECT written_object_hold()),
    kept AS (
        INSERT INTO written_object (digest, body)
        SELECT given.* FROM held, unnest(%s::text[], %s::bytea[]) AS given (digest, body)
        ON CONFLICT (digest) DO NOTHING RETURNING 1
    )
    SELECT log_append(%s::jsonb, %b, %s::jsonb, %b, %s)::text
    FROM (SELECT count(*) FROM kept) AS first
"""
"""Keeps each object as written once, before the append, in one round trip.

A unit that is refused leaves its objects, which is harmless. Held off are erasures, which would
else delete a body between its insertion and the event that refers to it.
"""
_FORGET_LOST_PAST = (
    "DELETE FROM idempotency WHERE position > (SELECT position FROM log_head)",
    "DELETE FROM state_cache WHERE position > (SELECT position FROM log_head)",
    "DELETE FROM cycle_record WHERE input_position > (SELECT position FROM log_head)",
)
_CHAIN_START = "SELECT position, chain FROM log_chain ORDER BY position LIMIT 1"
_NOW = "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint"
_POSITIONS = """
    SELECT coalesce(event.position, 0)
    FROM unnest(%s::text[], %s::int[]) WITH ORDINALITY AS wanted(stream, version, nth)
        LEFT JOIN event_whole AS event
            ON event.stream = wanted.stream AND event.version >> 6 = wanted.version >> 6
                AND event.version = wanted.version
    ORDER BY wanted.nth
"""
_READ_STREAM = f"""
    SELECT {COLUMNS} FROM event_whole
    WHERE stream = %(stream)s AND version >> 6 >= %(after)s >> 6 AND version > %(after)s
    ORDER BY version
"""
_STREAM_END = "SELECT version + 1 FROM stream WHERE name = %s"

_PAGE = f"SELECT {COLUMNS} FROM event_whole WHERE {{}} ORDER BY position DESC LIMIT %s"
_HISTOGRAM = """
    SELECT at - at %% %s::bigint AS bucket, type, count(*) FROM event_whole
    WHERE {} GROUP BY bucket, type ORDER BY bucket, type
"""
# The index of correlations is without the empty one, so that this leaves it out as well.
CORRELATIONS = """
    SELECT id, array_agg(type), count(DISTINCT stream)
    FROM unnest(%s::text[]) AS asked(id), LATERAL (
        SELECT * FROM event_whole WHERE correlation = id AND correlation <> '' AND {} LIMIT %s
    ) AS own GROUP BY id
"""


class PostgresEventLog:
    """Fills the port `EventLog`.

    An append raises `Unavailable` if its connection breaks; it is then unknown whether it was done.
    Without `archived` what was archived to a store cannot be read.
    """

    def __init__(self, pool: Pool, archived: ArchivedEvents | None = None) -> None:
        self._pool = pool
        self._archived = archived

    def append(self, units: Sequence[AppendUnit]) -> list[Verdict]:
        """Append each unit with its own verdict, all in one transaction, in order."""
        if not units:
            return []
        written = [each for unit in units for each in unit.written]
        with connection_of(self._pool) as connection:
            dictionary = dictionary_of(connection)
            appended = written_runs(units, dictionary)
            kept = _kept_once(written, dictionary) if written else ()
            query = _APPEND_WRITTEN if written else _APPEND
            row = connection.execute(query, (*kept, *appended)).fetchone()
        assert row is not None
        return verdicts_of(units, row[0])

    def erase(self, unit: AppendUnit, digests: Collection[str]) -> Verdict:
        """Delete what was written, by digest, and append the event of it, in one transaction."""
        with connection_of(self._pool) as connection, connection.transaction() as transaction:
            appended = written_runs([unit], dictionary_of(connection))
            connection.execute("SELECT written_object_erase(%s::text[])", (sorted(digests),))
            row = connection.execute(_APPEND, appended).fetchone()
            assert row is not None
            (verdict,) = verdicts_of([unit], row[0])
            if not isinstance(verdict, Appended):
                raise psycopg.Rollback(transaction)
        return verdict

    def head(self) -> int:
        """The last position, 0 while empty."""
        return int(self._value("SELECT position FROM log_head"))

    def log_id(self) -> str:
        """The identity of this log."""
        return str(self._value("SELECT log_id FROM log_head"))

    def renew_identity(self) -> str:
        """Makes this another log than the one it is a copy of, and returns its new identity.

        Its chain goes on. A process that knows the identity before drops what it knows.
        """
        renewed = "UPDATE log_head SET log_id = gen_random_uuid() RETURNING log_id"
        return str(self._value(renewed))

    def point_at(self, position: int) -> LogPoint | None:
        """The point of this log at a position; None where it has none."""
        with connection_of(self._pool) as connection:
            return point_at(connection, position)

    def chain_start(self) -> LogPoint:
        """The point before the first event that is chained."""
        with connection_of(self._pool) as connection:
            row = connection.execute(_CHAIN_START).fetchone()
        assert row is not None, "the chain begins where the log begins"
        return LogPoint(log_id=self.log_id(), position=row[0], chain=row[1])

    def read_chain(self, after: int, *, limit: int) -> list[ChainedEvent]:
        """Up to `limit` stored events after that position in order, with their chain values."""
        with connection_of(self._pool) as connection:
            rows = rows_after(connection, after, limit, archived=self._archived)
            if not rows:
                return []
            values = chain_values(connection, rows[0][0], rows[-1][0])
        return [ChainedEvent(stored=stored_event(row), chain=values.get(row[0])) for row in rows]

    def now(self) -> Instant:
        """The database's clock."""
        return int(self._value(_NOW))

    def read(self, after: int, *, limit: int, up_to: int | None = None) -> list[RecordedEvent]:
        """Up to `limit` events after that position in order; raises `GapInLog` at a gap."""
        with connection_of(self._pool) as connection:
            rows = rows_after(connection, after, limit, up_to=up_to, archived=self._archived)
        return list(gapless(rows, after))

    def read_on(
        self, point: LogPoint, *, limit: int, reader: EventReader | None = None
    ) -> LogBatch:
        """Up to `limit` events after a point; raises `PastLost` if the log does not have it."""
        with connection_of(self._pool) as connection:
            return batch_after(connection, point, limit, self._archived, reader)

    def forget_lost_past(self) -> None:
        """Delete idempotency answers and cached folds of positions that the log does not have."""
        with connection_of(self._pool) as connection, connection.transaction():
            for statement in _FORGET_LOST_PAST:
                connection.execute(statement)

    def read_all(self, after: int = 0, up_to: int | None = None) -> Iterator[RecordedEvent]:
        """Every event after that position in order, a page at a time."""
        while page := self.read(after, limit=PAGE, up_to=up_to):
            yield from page
            after = page[-1].position

    def read_stream(self, stream: str, after_version: int = 0) -> list[RecordedEvent]:
        """One stream from its beginning, or after a version."""
        with connection_of(self._pool) as connection:
            rows = rows_of_stream(connection, stream, after_version, archived=self._archived)
        return [recorded_of(row) for row in rows]

    def stream_page(self, stream: str, *, before: int | None, limit: int) -> list[RecordedEvent]:
        """The newest events of one stream, before a version, newest first."""
        with connection_of(self._pool) as connection:
            found = connection.execute(_STREAM_END, (stream,)).fetchone()
            end = min(_PAST_ALL if before is None else before, found[0] if found else 1)
            first = max(end - limit, 1)
            page = {"stream": stream, "first": first, "end": end, "limit": limit}
            rows = stored_rows(connection, STREAM_PAGE, page, BODY)
            if len(rows) < limit and first > 1:
                # Some are away with archived parts, so that the page begins earlier.
                rows = stored_rows(connection, STREAM_PAGE, page | {"first": 1}, BODY)
            end = rows[-1][VERSION] if rows else end
            if self._archived is not None and len(rows) < limit and end > 1:
                rows += self._archived.stream_rows(
                    connection, stream, after=0, before=end, limit=limit - len(rows)
                )
        return [recorded_of(row) for row in rows]

    def positions_of(self, places: Sequence[tuple[str, int]]) -> list[int]:
        """The position of each event, given by stream and version; 0 where there is none."""
        streams = [stream for stream, _ in places]
        versions = [version for _, version in places]
        with connection_of(self._pool) as connection:
            found = [row[0] for row in connection.execute(_POSITIONS, (streams, versions))]
            unknown = {
                place for place, known in zip(places, found, strict=True) if not known and place[1]
            }
            if self._archived is not None and unknown:
                older = self._archived.positions_of(connection, unknown)
                found = [
                    known or older.get(place, 0) for place, known in zip(places, found, strict=True)
                ]
        return found

    def page(self, where: EventFilter, *, before: int | None, limit: int) -> list[RecordedEvent]:
        """The newest events matching `where`, before a position, newest first."""
        found = events_matching(where, before)
        with connection_of(self._pool) as connection:
            query, values = _PAGE.format(found.condition), (*found.values, limit)
            rows = stored_rows(connection, query, values, BODY)
            if self._archived is not None and len(rows) < limit:
                end = rows[-1][POSITION] if rows else before
                rows += self._archived.page(connection, where, end, limit - len(rows))
        return [recorded_of(row) for row in in_steps(rows)]

    def histogram(self, where: EventFilter, *, width: int) -> list[EventCount]:
        """How many events match `where` by time and type, oldest first; empty ones left out."""
        found = events_matching(where, None)
        with connection_of(self._pool) as connection:
            values = (width, *found.values)
            while True:
                # What is archived in between would be counted twice.
                end = self._archived.end(connection) if self._archived else 0
                rows = connection.execute(_HISTOGRAM.format(found.condition), values)
                counted = Counter({(at, kind): number for at, kind, number in rows})
                if self._archived is None or end == 0:
                    break
                counted.update(self._archived.counts(connection, where, width))
                if self._archived.end(connection) == end:
                    break
        return [EventCount(at=at, type=kind, count=n) for (at, kind), n in sorted(counted.items())]

    def correlations(self, ids: Sequence[str], where: EventFilter, limit: int) -> list[Correlation]:
        """The events of each that match `where`, `limit` at most; not those archived to a store."""
        found = events_matching(where, None)
        values = (sorted(set(ids)), *found.values, limit)
        with connection_of(self._pool) as connection:
            rows = connection.execute(CORRELATIONS.format(found.condition), values).fetchall()
        return [Correlation(id=key, types=Counter(types), streams=n) for key, types, n in rows]

    def _value(self, query: str) -> Any:  # noqa: ANN401 - whatever the query gives
        with connection_of(self._pool) as connection:
            row = connection.execute(query).fetchone()
        assert row is not None
        return row[0]


def batch_after(
    connection: Connection,
    point: LogPoint,
    limit: int,
    archived: ArchivedEvents | None = None,
    reader: EventReader | None = None,
) -> LogBatch:
    """Up to `limit` events after a point; raises `PastLost` if the log does not have it."""
    rows = rows_after(connection, point.position, limit, archived=archived)
    last = rows[-1][0] if rows else point.position
    found = connection.execute(NEXT_POINT, (point.position, last), binary=True).fetchone()
    after = next_point(found, point, last)
    return LogBatch(events=list(gapless(rows, point.position, reader)), point=after)


def stored_event(row: Sequence[Any]) -> StoredEvent:
    """What the chain covers of a row, of which more columns than those may follow."""
    return StoredEvent(
        position=row[0],
        stream=row[1],
        version=row[2],
        type=row[3],
        schema_version=row[4],
        body=document_of(row[BODY]),
    )
