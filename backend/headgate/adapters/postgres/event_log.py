"""The log on Postgres: appends by one server-side call a group, reads by position."""

from collections.abc import Iterator, Sequence
from typing import Any

from headgate.adapters.postgres.appending import verdicts_of, written_runs
from headgate.adapters.postgres.connections import Pool, connection_of
from headgate.adapters.postgres.filtering import matching
from headgate.adapters.postgres.reading import (
    COLUMNS,
    STREAM_PAGE,
    begins_late,
    gapless,
    recorded_of,
    rows_after,
)
from headgate.application.ports import AppendUnit, EventCount, EventFilter, Verdict
from headgate.domain.facts import Recorded
from headgate.domain.values.instants import Instant

PAGE = 2_000
_APPEND = "SELECT log_append(%s::jsonb, %b)::text"
_HEAD = "SELECT position FROM log_head"
_NOW = "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint"
_READ_UP_TO = (
    f"SELECT {COLUMNS} FROM {{}} WHERE position > %s AND position <= %s ORDER BY position LIMIT %s"
)
_POSITIONS = """
    SELECT coalesce(event.position, 0)
    FROM unnest(%s::text[], %s::int[]) WITH ORDINALITY AS wanted(stream, version, nth)
        LEFT JOIN event_whole AS event
            ON event.stream = wanted.stream AND event.version = wanted.version
    ORDER BY wanted.nth
"""
_READ_STREAM = (
    f"SELECT {COLUMNS} FROM event_whole WHERE stream = %s AND version > %s ORDER BY version"
)

_PAST_ALL = 2**31 - 1
"""More than any version."""


class PostgresEventLog:
    """Fills the port `EventLog`.

    An append whose connection breaks raises `Unavailable`, and it is unknown whether it was done.
    """

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    def append(self, units: Sequence[AppendUnit]) -> list[Verdict]:
        """Append each unit with its own verdict, all in one transaction, in order."""
        if not units:
            return []
        runs, bodies = written_runs(units)
        with connection_of(self._pool) as connection:
            row = connection.execute(_APPEND, (runs, bodies)).fetchone()
        assert row is not None
        return verdicts_of(units, row[0])

    def head(self) -> int:
        """The last position, 0 while empty."""
        return int(self._value(_HEAD))

    def log_id(self) -> str:
        """The identity of this log."""
        return str(self._value("SELECT log_id FROM log_head"))

    def now(self) -> Instant:
        """The database's clock."""
        return int(self._value(_NOW))

    def read(self, after: int, *, limit: int, up_to: int | None = None) -> list[Recorded]:
        """Up to `limit` events after that position in order; raises `GapInLog` at a gap."""
        with connection_of(self._pool) as connection:
            if up_to is None:
                rows = rows_after(connection, after, limit)
            else:
                values = (after, up_to, limit)
                query = _READ_UP_TO.format("event")
                rows = connection.execute(query, values, binary=True).fetchall()
                if after < up_to and begins_late(rows, after):
                    query = _READ_UP_TO.format("event_whole")
                    rows = connection.execute(query, values, binary=True).fetchall()
        return list(gapless(rows, after))

    def read_all(self, after: int = 0, up_to: int | None = None) -> Iterator[Recorded]:
        """Every event after that position in order, a page at a time."""
        while page := self.read(after, limit=PAGE, up_to=up_to):
            yield from page
            after = page[-1].position

    def read_stream(self, stream: str, after_version: int = 0) -> list[Recorded]:
        """One stream from its beginning, or after a version."""
        with connection_of(self._pool) as connection:
            rows = connection.execute(_READ_STREAM, (stream, after_version)).fetchall()
        return [recorded_of(row) for row in rows]

    def stream_page(self, stream: str, *, before: int | None, limit: int) -> list[Recorded]:
        """The newest events of one stream, before a version, newest first."""
        end = _PAST_ALL if before is None else before
        with connection_of(self._pool) as connection:
            rows = connection.execute(STREAM_PAGE, (stream, end, limit)).fetchall()
        return [recorded_of(row) for row in rows]

    def positions_of(self, places: Sequence[tuple[str, int]]) -> list[int]:
        """The position of each event, given by stream and version; 0 where there is none."""
        streams = [stream for stream, _ in places]
        versions = [version for _, version in places]
        with connection_of(self._pool) as connection:
            return [row[0] for row in connection.execute(_POSITIONS, (streams, versions))]

    def page(self, where: EventFilter, *, before: int | None, limit: int) -> list[Recorded]:
        """The newest events matching `where`, before a position, newest first."""
        condition, values = matching(where, before)
        query = (
            f"SELECT {COLUMNS} FROM event_whole WHERE {condition} ORDER BY position DESC LIMIT %s"
        )
        with connection_of(self._pool) as connection:
            rows = connection.execute(query, (*values, limit)).fetchall()
        return [recorded_of(row) for row in rows]

    def histogram(self, where: EventFilter, *, width: int) -> list[EventCount]:
        """How many events match `where` by time and type, oldest first; empty ones left out."""
        condition, values = matching(where, None)
        query = (
            "SELECT at - at %% %s::bigint AS bucket, type, count(*) FROM event_whole "
            f"WHERE {condition} GROUP BY bucket, type ORDER BY bucket, type"
        )
        with connection_of(self._pool) as connection:
            rows = connection.execute(query, (width, *values)).fetchall()
        return [EventCount(at=at, type=kind, count=number) for at, kind, number in rows]

    def _value(self, query: str) -> Any:  # noqa: ANN401 - whatever the query gives
        with connection_of(self._pool) as connection:
            row = connection.execute(query).fetchone()
        assert row is not None
        return row[0]
