"""Rewrites the states in inline read models as the present code folds them from the log.

A state has no schema version: it follows from the events, and those are upcast. A
migration calls this where the shape of a state has changed, so that a row and the fold of its
stream are equal again.
"""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

import msgspec

from headgate.adapters.postgres.connections import Connection
from headgate.adapters.postgres.event_log import COLUMNS, recorded_of
from headgate.domain.kinds.configured_object import Absent
from headgate.domain.kinds.registry import evolve_state
from headgate.domain.recorded_event import RecordedEvent, with_owner_of_actor
from headgate.domain.streams import kind_and_key

BATCH = 500
_STREAMS = "SELECT stream FROM {} WHERE stream > %s ORDER BY stream LIMIT %s"
_EVENTS = f"SELECT {COLUMNS} FROM event_whole WHERE stream = ANY(%s) ORDER BY stream, version"
_UPDATE = """
    UPDATE {table} SET state = fresh.state::json
    FROM unnest(%s::text[], %s::text[]) AS fresh(stream, state)
    WHERE {table}.stream = fresh.stream AND {table}.state::text <> fresh.state
"""


def rewrite_rows(connection: Connection) -> int:
    """Rewrites each row with another state than its stream folds to; returns the number of rows.

    A stream without its first events, which an archive took away, leaves its row as it is.
    """
    return sum(_rewrite_table(connection, table) for table in ("object", "workload", "round"))


def _rewrite_table(connection: Connection, table: str) -> int:
    rewritten = 0
    for streams in _batches(connection, table):
        rows = connection.execute(_EVENTS, (streams,), binary=True)
        events = map(recorded_of, rows)
        folded = [
            (stream, msgspec.json.encode(state).decode())
            for stream, of_stream in groupby(events, key=lambda recorded: recorded.stream)
            if (state := _folded(stream, list(of_stream))) is not None
        ]
        names, states = [name for name, _ in folded], [state for _, state in folded]
        rewritten += connection.execute(_UPDATE.format(table=table), (names, states)).rowcount
    return rewritten


def _batches(connection: Connection, table: str) -> Iterator[list[str]]:
    after = ""
    query = _STREAMS.format(table)
    while found := [row[0] for row in connection.execute(query, (after, BATCH)).fetchall()]:
        yield found
        after = found[-1]


def _folded(stream: str, events: Sequence[RecordedEvent]) -> Any:  # noqa: ANN401 - any aggregate's state
    """The state of a stream; None where its beginning is gone or nothing exists now."""
    if events[0].version != 1:
        return None
    kind, _ = kind_and_key(stream)
    state: Any = Absent()
    for recorded in events:
        state = evolve_state(kind, state, with_owner_of_actor(recorded), recorded.at)
    return None if isinstance(state, Absent) else state
