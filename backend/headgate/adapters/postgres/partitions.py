"""Partitions on Postgres: which are due, and one transaction from lock to commit for each turn."""

from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any, Self

import msgspec

from headgate.adapters.postgres.append_encoding import state_of, verdicts_of, written_runs
from headgate.adapters.postgres.connections import (
    Connection,
    Pool,
    connection_of,
    dictionary_of,
    outages,
    point_at,
    stored_rows,
)
from headgate.adapters.postgres.event_log import batch_after
from headgate.application.ports import (
    Agenda,
    AppendConflict,
    Appended,
    AppendUnit,
    Fence,
    Loaded,
    PartitionRow,
    Verdict,
)
from headgate.domain.values.instants import MICROSECONDS_PER_SECOND, Instant
from headgate.event_log.chain import EventReader, LogBatch, LogPoint, PastLost

LATEST_INSTANT = 2**63 - 1
HANG_SECONDS = 10.0
"""After so long without a word from a worker its session ends, and another may take over."""

_COLUMNS = (
    "key, last_position, idle_position, guard, epoch, next_due, owner, failures, failure, "
    "halted_position, retry_at"
)
_NOW = "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint"
_AGENDA = f"""
    WITH clock AS MATERIALIZED (SELECT {_NOW} AS now)
    SELECT (SELECT now FROM clock), (SELECT reshaped_position FROM log_head),
           min(coalesce(retry_at, next_due)),
           coalesce(array_agg(key ORDER BY key) FILTER (
               WHERE CASE WHEN retry_at IS NOT NULL THEN retry_at <= (SELECT now FROM clock)
                          ELSE last_position > idle_position
                              OR next_due <= (SELECT now FROM clock) END), '{{}}')
    FROM partition
"""
_LOCK = """
    SELECT pg_try_advisory_xact_lock(partition_lock(%s)),
           set_config('idle_in_transaction_session_timeout', %s, true)
"""
_COMMIT_IDLE = """
    WITH fast AS (SELECT set_config('synchronous_commit', 'off', true))
    UPDATE partition
    SET idle_position = greatest(idle_position, %s), next_due = %s, epoch = epoch + 1, owner = %s,
        failures = 0, failure = '', halted_position = NULL, retry_at = NULL
    FROM fast WHERE key = %s
"""
STATE = 3
"""The column of stored states in what loads them."""
EXPIRED = """
    SELECT w.stream, w.version, w.position, w.state
    FROM (SELECT stream FROM (
            (SELECT stream, finished_at FROM workload_ended
             WHERE due_at <= %(at)s
             ORDER BY due_at, stream LIMIT %(limit)s)
            UNION
            (SELECT stream, finished_at FROM workload_ended
             WHERE finished_at <= %(at)s - %(after)s::bigint
             ORDER BY finished_at, stream LIMIT %(limit)s)) AS either
          ORDER BY finished_at, stream LIMIT %(limit)s) AS found
        JOIN workload_ended AS w USING (stream)
    ORDER BY w.finished_at, w.stream
"""
NEXT_EXPIRY = """
    SELECT least(
        (SELECT min(due_at) FROM workload_ended),
        (SELECT min(finished_at) FROM workload_ended) + %s::bigint)
"""
_HALT = """
    UPDATE partition
    SET failures = failures + 1, failure = %s, halted_position = %s, retry_at = %s
    WHERE key = %s
"""


class PostgresPartitions:
    """Fills the port `Partitions`."""

    def __init__(self, pool: Pool, *, hang_seconds: float = HANG_SECONDS) -> None:
        self._pool = pool
        self._hang_timeout = f"{round(hang_seconds * 1_000)}ms"

    def agenda(self) -> Agenda:
        """What there is to do, read at once."""
        with connection_of(self._pool) as connection:
            row = connection.execute(_AGENDA).fetchone()
        assert row is not None, "the head is made with the log"
        now, synced_position, next_due, due = row
        return Agenda(now=now, due=due, next_due=next_due, synced_position=synced_position)

    def rows(self) -> list[PartitionRow]:
        """Every partition as it stands, by key."""
        with connection_of(self._pool) as connection:
            found = connection.execute(f"SELECT {_COLUMNS} FROM partition ORDER BY key").fetchall()
        return [_partition_row(row) for row in found]

    def halt(self, key: str, *, position: int, failure: str, retry_at: Instant) -> None:
        """Set a partition aside because planning it failed at that position; counts the failure."""
        with connection_of(self._pool) as connection:
            connection.execute(_HALT, (failure.replace("\0", ""), position, retry_at, key))

    def sync_partitions(self, keys: Sequence[str], config_position: int, past: LogPoint) -> None:
        """Make the rows match these partitions; an older shape than the present changes nothing.

        New rows start due, so that nothing can be missed. Raises `PastLost` where the log does not
        have the point that the shape was read up to.
        """
        wanted = sorted({*keys, "installation"})
        with connection_of(self._pool) as connection, connection.transaction():
            # The head row keeps appends away: none may wake a partition while it is being replaced.
            shaped = connection.execute(
                "UPDATE log_head SET reshaped_position = %s WHERE reshaped_position <= %s "
                "RETURNING position",
                (config_position, config_position),
            ).fetchone()
            if shaped is None:
                return
            if point_at(connection, past.position) != past:
                raise PastLost(past)
            connection.execute("DELETE FROM partition WHERE key <> ALL(%s)", (wanted,))
            connection.execute(
                "INSERT INTO partition (key, last_position) SELECT unnest(%s::text[]), %s "
                "ON CONFLICT DO NOTHING",
                (wanted, shaped[0]),
            )

    def try_lock(self, key: str, owner: str) -> "PostgresPartitionSession | None":
        """The right to work on a partition now, or None while another worker has it."""
        with ExitStack() as stack:
            connection = stack.enter_context(connection_of(self._pool))
            connection.execute("BEGIN ISOLATION LEVEL READ COMMITTED")
            stack.callback(_end, connection)
            answer = connection.execute(_LOCK, (key, self._hang_timeout)).fetchone()
            assert answer is not None
            query = f"SELECT {_COLUMNS} FROM partition WHERE key = %s"
            row = connection.execute(query, (key,)).fetchone() if answer[0] else None
            if row is None:
                return None
            return PostgresPartitionSession(connection, _partition_row(row), owner, stack.pop_all())


class PostgresPartitionSession:
    """Fills the port `PartitionSession`; raises `Unavailable` once its session has gone.

    The transaction writes nothing before its commit, so appends of others never wait for it.
    """

    def __init__(
        self, connection: Connection, row: PartitionRow, owner: str, stack: ExitStack
    ) -> None:
        self.row = row
        self._connection = connection
        self._owner = owner
        self._stack = stack

    def catch_up(
        self, point: LogPoint, *, limit: int = 5_000, reader: EventReader | None = None
    ) -> LogBatch:
        """Events after a point of the log, inside the transaction; raises `PastLost`."""
        with outages():
            return batch_after(self._connection, point, limit, reader=reader)

    def point_at(self, position: int) -> LogPoint:
        """The point of the log at a position that the session has appended or read."""
        with outages():
            found = point_at(self._connection, position)
        assert found is not None, "the session has appended or read it"
        return found

    def now(self) -> Instant:
        """The database's clock, read afresh."""
        with outages():
            row = self._connection.execute(f"SELECT {_NOW}").fetchone()
        assert row is not None
        return int(row[0])

    def expired(self, at: Instant, after_seconds: int | None, *, limit: int) -> list[Loaded]:
        """Finished workloads that retention deletes by an instant, the first finished first."""
        values = {"at": at, "after": _microseconds(after_seconds), "limit": limit}
        with outages():
            rows = stored_rows(self._connection, EXPIRED, values, STATE)
        return [
            Loaded(
                stream=stream, version=version, position=position, state=state_of(stream, stored)
            )
            for stream, version, position, stored in rows
        ]

    def next_expiry(self, after_seconds: int | None) -> Instant | None:
        """The earliest instant from which `expired` finds a workload."""
        with outages():
            values = (_microseconds(after_seconds),)
            row = self._connection.execute(NEXT_EXPIRY, values).fetchone()
        found: Instant | None = row[0] if row else None
        return found

    def commit_decisions(
        self, units: Sequence[AppendUnit], *, next_due: Instant | None
    ) -> list[Verdict]:
        """Append under the fence and commit; any conflict rolls everything back."""
        fenced = [_fenced(unit, self.row) for unit in units]
        with outages():
            appended = written_runs(fenced, dictionary_of(self._connection))
            row = self._connection.execute(
                "SELECT log_append_decisions(%s::jsonb, %b, %s::jsonb, %b, %s, %s, %s, %s)::text",
                (*appended, self.row.key, self._owner, _within_reach(next_due)),
            ).fetchone()
            assert row is not None
            verdicts = verdicts_of(fenced, row[0])
            taken = all(isinstance(verdict, Appended) for verdict in verdicts)
            self._connection.execute("COMMIT" if taken else "ROLLBACK")
        return verdicts if taken else [_taken_back(verdict) for verdict in verdicts]

    def commit_idle(self, *, idle_position: int, next_due: Instant | None) -> None:
        """Record "seen everything up to here, nothing to do" and commit."""
        values = (idle_position, _within_reach(next_due), self._owner, self.row.key)
        with outages():
            self._connection.execute(_COMMIT_IDLE, values)
            self._connection.execute("COMMIT")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *details: object) -> None:
        with outages():
            self._stack.close()


def _fenced(unit: AppendUnit, row: PartitionRow) -> AppendUnit:
    if unit.fence is not None:
        return unit
    fence = Fence(partition=row.key, epoch=row.epoch, guard=row.guard)
    return msgspec.structs.replace(unit, fence=fence)


def _taken_back(verdict: Verdict) -> Verdict:
    """What is not committed was not appended, whatever was said of it before."""
    if isinstance(verdict, Appended):
        return AppendConflict(reason="another unit of the same commit was refused")
    return verdict


def _end(connection: Connection) -> None:
    """Give everything up that was not committed; a connection that is gone has done so itself."""
    if not connection.closed and connection.info.transaction_status:
        connection.execute("ROLLBACK")


def _partition_row(row: Sequence[Any]) -> PartitionRow:
    return PartitionRow(
        key=row[0],
        last_position=row[1],
        idle_position=row[2],
        guard=row[3],
        epoch=row[4],
        next_due=row[5],
        owner=row[6],
        failures=row[7],
        failure=row[8],
        halted_position=row[9],
        retry_at=row[10],
    )


def _microseconds(seconds: int | None) -> int | None:
    """The length of time, as far as an instant after it can be told."""
    if seconds is None:
        return None
    return min(seconds * MICROSECONDS_PER_SECOND, LATEST_INSTANT // 2)


def _within_reach(due: Instant | None) -> Instant | None:
    """The instant, or None where it lies beyond what a column holds: it comes as good as never."""
    return due if due is not None and due <= LATEST_INSTANT else None
