"""Chores that keep the store small; safe to run anywhere, any time, and twice."""

from headgate.adapters.postgres.backtest_store import PostgresBacktestStore
from headgate.adapters.postgres.connections import Pool, connection_of
from headgate.adapters.postgres.cycle_store import PostgresCycleStore

_FORGET_KEYS = """
    DELETE FROM idempotency WHERE (key, actor) IN (
        SELECT key, actor FROM idempotency
        WHERE created_at < clock_timestamp() - make_interval(secs => %s)
        ORDER BY created_at LIMIT %s FOR UPDATE SKIP LOCKED)
"""


class PostgresMaintenance:
    """Fills the port `Housekeeping`."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    def forget_idempotency_keys(self, *, older_than_seconds: float, limit: int = 5_000) -> int:
        """Delete keys nobody will repeat any more, the oldest first; how many went."""
        with connection_of(self._pool) as connection:
            return connection.execute(_FORGET_KEYS, (older_than_seconds, limit)).rowcount

    def forget_cycles(self, *, keep: int) -> int:
        """Delete all records of cycles but the newest so many; how many went."""
        return PostgresCycleStore(self._pool).forget(keep=keep)

    def forget_backtests(self, *, keep: int) -> int:
        """Delete all ended backtests but the newest so many; how many went."""
        return PostgresBacktestStore(self._pool).forget(keep=keep)

    def extend_log(self) -> None:
        """Make the partitions of the log that the next million positions need."""
        with connection_of(self._pool) as connection:
            connection.execute("SELECT extend_log(position + 1000000) FROM log_head")
