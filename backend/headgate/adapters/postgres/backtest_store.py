"""Backtests on Postgres."""

from typing import Any

import msgspec
from msgspec.structs import replace

from headgate.adapters.postgres.connections import Pool, connection_of
from headgate.application.backtests.jobs import Backtest, ClaimedBacktest
from headgate.domain.values.instants import Instant

_ADD = """
    INSERT INTO backtest (id, created_at, is_over, revision, body) VALUES (%s, %s, false, %s, %s)
"""
_CLAIM = """
    UPDATE backtest SET taken_by = %s, taken_until = now() + make_interval(secs => %s)
    WHERE id = (
        SELECT id FROM backtest WHERE NOT is_over AND (taken_until IS NULL OR taken_until < now())
        ORDER BY created_at, id LIMIT 1 FOR UPDATE SKIP LOCKED)
    RETURNING body, progress
"""
_SAVE = """
    UPDATE backtest SET body = %s, outcome = %s, progress = %s, is_over = %s, revision = %s,
        taken_by = '', taken_until = NULL
    WHERE id = %s AND revision = %s
"""
_FORGET = """
    DELETE FROM backtest WHERE is_over AND (created_at, id) < (
        SELECT created_at, id FROM backtest WHERE is_over
        ORDER BY created_at DESC, id DESC OFFSET %s - 1 LIMIT 1)
"""
_PAGE = """
    SELECT body FROM backtest WHERE (created_at, id) < (%s, %s)
    ORDER BY created_at DESC, id DESC LIMIT %s
"""
_DECODER = msgspec.msgpack.Decoder(Backtest)
_LAST = (2**62, "")


class PostgresBacktestStore:
    """Fills the port `BacktestBook`; outcomes have their own column, as lists leave them out."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    def add(self, job: Backtest) -> None:
        """Keep a new job."""
        self._do(_ADD, (job.id, job.created_at, job.revision, msgspec.msgpack.encode(job)))

    def find(self, job_id: str) -> Backtest | None:
        """The job of that id, if it is kept."""
        with connection_of(self._pool) as connection:
            query = "SELECT coalesce(outcome, body) FROM backtest WHERE id = %s"
            row = connection.execute(query, (job_id,)).fetchone()
        return _DECODER.decode(row[0]) if row else None

    def page(self, *, before: tuple[Instant, str] | None, limit: int) -> list[Backtest]:
        """Jobs without their outcome, newest first, keyset paged."""
        with connection_of(self._pool) as connection:
            rows = connection.execute(_PAGE, (*(before or _LAST), limit)).fetchall()
        return [_DECODER.decode(row[0]) for row in rows]

    def unfinished(self) -> int:
        """How many are waiting or running."""
        with connection_of(self._pool) as connection:
            row = connection.execute("SELECT count(*) FROM backtest WHERE NOT is_over").fetchone()
        assert row is not None, "a count is always there"
        return int(row[0])

    def claim(self, owner: str, *, lease_seconds: int) -> ClaimedBacktest | None:
        """Claims the oldest unclaimed unfinished job, for a time or until it is saved."""
        with connection_of(self._pool) as connection:
            row = connection.execute(_CLAIM, (owner, lease_seconds)).fetchone()
        return ClaimedBacktest(job=_DECODER.decode(row[0]), progress=row[1]) if row else None

    def save(self, job: Backtest, progress: bytes | None) -> bool:
        """Keep it as it is now, one revision on; False if it has changed since it was read."""
        saved = replace(job, revision=job.revision + 1)
        whole = msgspec.msgpack.encode(saved) if saved.outcome is not None else None
        body = msgspec.msgpack.encode(replace(saved, outcome=None))
        is_over = job.finished_at is not None
        found = (body, whole, progress, is_over, saved.revision, job.id, job.revision)
        return self._do(_SAVE, found) == 1

    def forget(self, *, keep: int) -> int:
        """Delete all finished jobs but the newest so many; how many went."""
        return self._do(_FORGET, (keep,))

    def _do(self, statement: str, values: tuple[Any, ...]) -> int:
        with connection_of(self._pool) as connection:
            return connection.execute(statement, values).rowcount
