"""Leases of executors in Postgres, judged by its clock."""

from typing import Any

from headgate.adapters.postgres.connections import Pool, connection_of
from headgate.application.executor_leases import Lease
from headgate.domain.values.instants import MICROSECONDS_PER_SECOND

_NOW = "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint"
_LEASE = "executor, epoch, renewed_at, expires_at, running_pods"
_LEASE_NOW = f"{_LEASE}, expires_at <= {_NOW}"
_GRANT = f"""
    INSERT INTO executor_lease ({_LEASE}) VALUES (%s, %s, {_NOW}, {_NOW} + %s, 0)
    ON CONFLICT (executor) DO UPDATE SET epoch = excluded.epoch, renewed_at = excluded.renewed_at,
        expires_at = excluded.expires_at, running_pods = 0
    WHERE executor_lease.epoch <= excluded.epoch
"""
_RENEW = f"""
    UPDATE executor_lease SET renewed_at = {_NOW}, expires_at = {_NOW} + %s, running_pods = %s
    WHERE executor = %s AND epoch = %s RETURNING {_LEASE_NOW}
"""
_SERVED = f"SELECT served_at, {_NOW} FROM api_service FOR UPDATE"
_SERVE = """
    INSERT INTO api_service (served_at) VALUES (%s)
    ON CONFLICT (id) DO UPDATE SET served_at = excluded.served_at
"""
_EXTEND = "UPDATE executor_lease SET expires_at = expires_at + %s WHERE expires_at > %s"
_LEASES = f"SELECT {_LEASE_NOW} FROM executor_lease ORDER BY executor"


class PostgresLeases:
    """Fills the port `ExecutorLeases`."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    def grant(self, executor: str, epoch: int, lease_seconds: int) -> Lease:
        """Begin the lease of a new process; one of a newer epoch stays and is returned."""
        lasts = lease_seconds * MICROSECONDS_PER_SECOND
        with connection_of(self._pool) as connection, connection.transaction():
            connection.execute(_GRANT, (executor, epoch, lasts))
        found = self.find(executor)
        assert found is not None, "it was written"
        return found

    def renew(
        self, executor: str, epoch: int, *, lease_seconds: int, running_pods: int
    ) -> Lease | None:
        """Extend the lease from now on; None where the row is of another epoch or missing."""
        values = (lease_seconds * MICROSECONDS_PER_SECOND, running_pods, executor, epoch)
        with connection_of(self._pool) as connection:
            row = connection.execute(_RENEW, values).fetchone()
        return None if row is None else _lease(row)

    def find(self, executor: str) -> Lease | None:
        """The lease of an executor, if it was ever claimed."""
        query = f"SELECT {_LEASE_NOW} FROM executor_lease WHERE executor = %s"
        with connection_of(self._pool) as connection:
            row = connection.execute(query, (executor,)).fetchone()
        return None if row is None else _lease(row)

    def serve(self, *, max_gap_seconds: int) -> list[Lease]:
        """Say that the API serves; all leases, by executor."""
        with connection_of(self._pool) as connection, connection.transaction():
            stands = connection.execute(_SERVED).fetchone()
            if stands is None:
                row = connection.execute(f"SELECT {_NOW}").fetchone()
                assert row is not None
                connection.execute(_SERVE, row)
            else:
                served_at, now = stands
                gap = now - served_at
                if gap > max_gap_seconds * MICROSECONDS_PER_SECOND:
                    connection.execute(_EXTEND, (gap, served_at))
                connection.execute(_SERVE, (max(served_at, now),))
            rows = connection.execute(_LEASES).fetchall()
        return [_lease(row) for row in rows]


def _lease(row: Any) -> Lease:  # noqa: ANN401 - a row of the driver
    executor, epoch, renewed_at, expires_at, running_pods, has_ended = row
    return Lease(
        executor=executor,
        epoch=epoch,
        renewed_at=renewed_at,
        expires_at=expires_at,
        running_pods=running_pods,
        has_ended=has_ended,
    )
