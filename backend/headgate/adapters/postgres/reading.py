"""Rows of the log as recorded events, checked for gaps."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from headgate.adapters.postgres.connections import Connection
from headgate.application.ports import GapInLog
from headgate.domain.facts import Origin, Recorded
from headgate.event_log.codec import decode

COLUMNS = (
    "position, stream, version, type, schema_version, data::text, at, "
    "actor, reason, causation, correlation, trace"
)

STREAM_PAGE = (
    f"SELECT {COLUMNS} FROM event_whole WHERE stream = %s AND version < %s "
    "ORDER BY version DESC LIMIT %s"
)
"""The newest rows of a stream before a version.

The index of each part of the log on stream and version gives the order, so that reading ends with
the page, however long the stream is.
"""


def recorded_of(row: Sequence[Any]) -> Recorded:
    """One event from a row of `COLUMNS`."""
    return Recorded(
        position=row[0],
        stream=row[1],
        version=row[2],
        event=decode(row[3], row[4], row[5]),
        at=row[6],
        origin=Origin(
            actor=row[7], reason=row[8], causation=row[9], correlation=row[10], trace=row[11]
        ),
    )


_READ = f"SELECT {COLUMNS} FROM {{}} WHERE position > %s ORDER BY position LIMIT %s"


def rows_after(connection: Connection, after: int, limit: int) -> list[tuple[Any, ...]]:
    """Up to `limit` rows after a position; the archive is asked only where they begin too late."""
    query = _READ.format("event")
    rows = connection.execute(query, (after, limit), binary=True).fetchall()
    if rows and begins_late(rows, after):
        query = _READ.format("event_whole")
        rows = connection.execute(query, (after, limit), binary=True).fetchall()
    return rows


def begins_late(rows: Sequence[Sequence[Any]], after: int) -> bool:
    """Whether what follows on a position is missing at the front."""
    return not rows or rows[0][0] != after + 1


def gapless(rows: Iterable[Sequence[Any]], after: int) -> Iterator[Recorded]:
    """The events of these rows, which must follow on `after` without a gap."""
    expected = after + 1
    for row in rows:
        if row[0] != expected:
            told = f"position {row[0]} came where {expected} was expected"
            raise GapInLog(told, came=row[0])
        expected += 1
        yield recorded_of(row)
