"""Records of cycles on Postgres."""

from typing import Any

import msgspec

from headgate.adapters.postgres.connections import Pool, connection_of
from headgate.application.cycles.cycle_records import CycleQuery, CycleRecord, CycleTiming
from headgate.domain.values.instants import Instant

_PUT = """
    INSERT INTO cycle_record (id, partition, at, input_position, body) VALUES (%s, %s, %s, %s, %s)
    ON CONFLICT (id) DO UPDATE SET body = excluded.body
"""
_FORGET = """
    DELETE FROM cycle_record WHERE (at, id) < (
        SELECT at, id FROM cycle_record ORDER BY at DESC, id DESC OFFSET %s - 1 LIMIT 1)
"""
_TIMINGS = "SELECT body FROM cycle_record WHERE at >= %s ORDER BY at, id LIMIT %s"
_DECODER = msgspec.msgpack.Decoder(CycleRecord)
_TIMING = msgspec.msgpack.Decoder(CycleTiming)


class PostgresCycleStore:
    """Fills the port `CycleBook`."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    def put(self, record: CycleRecord) -> None:
        """Keep a record; one that is lost in a crash is no loss of truth, and is not waited for."""
        body = msgspec.msgpack.encode(record)
        with connection_of(self._pool) as connection, connection.transaction():
            connection.execute("SET LOCAL synchronous_commit = off")
            values = (record.id, record.partition, record.at, record.input_position, body)
            connection.execute(_PUT, values)

    def find(self, cycle_id: str) -> CycleRecord | None:
        """The record of that id, if it is kept."""
        found = self._read("id = %s", [cycle_id], 1)
        return found[0] if found else None

    def page(self, query: CycleQuery) -> list[CycleRecord]:
        """Records that match, newest first, keyset paged."""
        conditions, values = ["true"], list[Any]()
        if query.partition:
            conditions.append("partition = %s")
            values.append(query.partition)
        if query.up_to is not None:
            conditions.append("input_position < %s")
            values.append(query.up_to)
        if query.before is not None:
            conditions.append("(at, id) < (%s, %s)")
            values.extend(query.before)
        return self._read(" AND ".join(conditions), values, query.limit)

    def timings(self, since: Instant, *, limit: int) -> list[CycleTiming]:
        """How long those took that were planned at `since` or later, oldest first."""
        with connection_of(self._pool) as connection:
            rows = connection.execute(_TIMINGS, (since, limit)).fetchall()
        return [_TIMING.decode(row[0]) for row in rows]

    def forget(self, *, keep: int) -> int:
        """Delete all but the newest so many; how many went."""
        with connection_of(self._pool) as connection:
            return connection.execute(_FORGET, (keep,)).rowcount

    def _read(self, condition: str, values: list[Any], limit: int) -> list[CycleRecord]:
        query = (
            f"SELECT body FROM cycle_record WHERE {condition} ORDER BY at DESC, id DESC LIMIT %s"
        )
        with connection_of(self._pool) as connection:
            rows = connection.execute(query, [*values, limit]).fetchall()
        return [_DECODER.decode(row[0]) for row in rows]
