"""Leases, rendezvous ports, sessions into pods, secrets of webhooks and causes in Postgres.

Leases are judged by its clock; sessions are few rows, unlogged, and removed with their session.
"""

from collections.abc import Collection, Sequence
from typing import Any

import msgspec
from psycopg.types.json import Jsonb

from headgate.adapters.postgres.connections import Pool, connection_of
from headgate.application.application_services import CauseRecord
from headgate.application.executor_stores import (
    MAX_SESSIONS,
    MAX_SILENT_SECONDS,
    MAX_UNREAD_BYTES,
    AttemptKey,
    Lease,
    PodSession,
    SessionStanding,
    WantedPort,
)
from headgate.domain.values.instants import MICROSECONDS_PER_SECOND, Instant

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


SECONDS_KEPT = 60
_LOCK = "SELECT pg_advisory_xact_lock(hashtext('rendezvous_port'))"
_KNOWN = "SELECT executor, uid, attempt, port FROM rendezvous_port WHERE uid = ANY(%s)"
_USED = "SELECT port FROM rendezvous_port WHERE executor = %s"
_RESERVE = "INSERT INTO rendezvous_port (executor, port, uid, attempt) VALUES (%s, %s, %s, %s)"
_EXHAUSTED = """
    SELECT count(*) > %(last)s - %(first)s::int
        AND NOT coalesce(bool_or(uid = %(uid)s AND attempt = %(attempt)s), false)
    FROM rendezvous_port WHERE executor = %(executor)s AND port BETWEEN %(first)s AND %(last)s
"""
_RELEASE = """
    DELETE FROM rendezvous_port
    WHERE reserved_at < clock_timestamp() - make_interval(secs => %s)
        AND NOT uid || '/' || attempt = ANY(%s)
"""


class PostgresRendezvousPorts:
    """Fills the port `PortReservations`; reservations are made one after another."""

    def __init__(self, pool: Pool, *, seconds_kept: int = SECONDS_KEPT) -> None:
        self._pool = pool
        self._seconds_kept = seconds_kept

    def reserve(self, wanted: Sequence[WantedPort]) -> dict[tuple[str, str, int], int]:
        """The port of each attempt, reserved now or before; none where the range is exhausted."""
        with connection_of(self._pool) as connection, connection.transaction():
            connection.execute(_LOCK)
            rows = connection.execute(_KNOWN, ([each.uid for each in wanted],)).fetchall()
            found = {(executor, uid, attempt): port for executor, uid, attempt, port in rows}
            used: dict[str, set[int]] = {}
            for each in wanted:
                if each.key in found:
                    continue
                if each.executor not in used:
                    taken = connection.execute(_USED, (each.executor,)).fetchall()
                    used[each.executor] = {port for (port,) in taken}
                port = _free(each, used[each.executor])
                if port is not None:
                    values = (each.executor, port, each.uid, each.attempt)
                    connection.execute(_RESERVE, values)
                    used[each.executor].add(port)
                    found[each.key] = port
        return {each.key: found[each.key] for each in wanted if each.key in found}

    def is_exhausted(self, wanted: WantedPort) -> bool:
        """Whether the attempt has no port and none of its range is free."""
        with connection_of(self._pool) as connection:
            row = connection.execute(_EXHAUSTED, msgspec.structs.asdict(wanted)).fetchone()
        return row is not None and bool(row[0])

    def release_others(self, running: Collection[AttemptKey]) -> None:
        """Release the ports of attempts that do not run and were not reserved just now."""
        kept = [f"{uid}/{attempt}" for uid, attempt in running]
        with connection_of(self._pool) as connection:
            connection.execute(_RELEASE, (self._seconds_kept, kept))


def _free(wanted: WantedPort, used: set[int]) -> int | None:
    """The preferred port, or the next one that is free, from the first after the last."""
    ports = (*range(wanted.preferred, wanted.last + 1), *range(wanted.first, wanted.preferred))
    return next((port for port in ports if port not in used), None)


SESSION_SECONDS_KEPT = 300
_OPEN = """
    INSERT INTO pod_session (id, executor, content) SELECT %(id)s, %(executor)s, %(content)s
    WHERE (SELECT count(*) FROM pod_session WHERE executor = %(executor)s AND NOT has_ended
           AND greatest(user_seen_at, executor_seen_at, created_at)
               > clock_timestamp() - make_interval(secs => %(silent)s)) < %(maximum)s
"""
_TAKE = """
    WITH newest AS (
        SELECT FROM executor_lease WHERE executor = %(executor)s AND epoch = %(epoch)s FOR SHARE
    )
    UPDATE pod_session SET executor_seen_at = clock_timestamp()
    WHERE executor = %(executor)s AND executor_seen_at IS NULL AND NOT has_ended
        AND EXISTS (SELECT FROM newest)
    RETURNING content
"""
_SEND = """
    INSERT INTO pod_session_frame (session, to_executor, number, content)
    SELECT %(session)s, %(to_executor)s, %(number)s, %(content)s
    WHERE (SELECT coalesce(sum(length(content)), 0) FROM pod_session_frame
           WHERE session = %(session)s AND to_executor = %(to_executor)s) < %(maximum)s
    ON CONFLICT DO NOTHING
"""
_RECEIVE = """
    DELETE FROM pod_session_frame WHERE session = %s AND to_executor = %s RETURNING number, content
"""
_TOUCH = """
    UPDATE pod_session SET {own} = clock_timestamp() WHERE id = %s
    RETURNING NOT has_ended, extract(epoch FROM clock_timestamp() - {other}),
        extract(epoch FROM clock_timestamp() - input_at),
        extract(epoch FROM clock_timestamp() - created_at)
"""
_END = "UPDATE pod_session SET has_ended = true WHERE id = %s"
_INPUT = "UPDATE pod_session SET input_at = clock_timestamp() WHERE id = %s"
_SWEEP = """
    DELETE FROM pod_session
    WHERE greatest(user_seen_at, executor_seen_at, created_at)
        < clock_timestamp() - make_interval(secs => %s)
"""


class PostgresSessions:
    """Fills the port `PodSessions`."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    def open(self, session: PodSession, *, now: Instant) -> bool:  # noqa: ARG002 - the database's clock counts
        """Begin a session; False where its executor has as many as it may have."""
        values = {
            "id": session.id,
            "executor": session.executor,
            "content": msgspec.json.encode(session),
            "silent": MAX_SILENT_SECONDS,
            "maximum": MAX_SESSIONS,
        }
        with connection_of(self._pool) as connection:
            return connection.execute(_OPEN, values).rowcount == 1

    def take(self, executor: str, epoch: int) -> list[PodSession]:
        """The sessions that the executor has not begun yet, each once."""
        with connection_of(self._pool) as connection:
            rows = connection.execute(_TAKE, {"executor": executor, "epoch": epoch}).fetchall()
        return [msgspec.json.decode(row[0], type=PodSession) for row in rows]

    def find(self, session_id: str) -> PodSession | None:
        """A session that has not been removed."""
        query = "SELECT content FROM pod_session WHERE id = %s"
        with connection_of(self._pool) as connection:
            row = connection.execute(query, (session_id,)).fetchone()
        return None if row is None else msgspec.json.decode(row[0], type=PodSession)

    def send(self, session_id: str, *, to_executor: bool, number: int, content: bytes) -> bool:
        """Add a frame, once for each number; False while too many bytes are unread."""
        column = "input_number" if to_executor else "output_number"
        known = f"SELECT {column} FROM pod_session WHERE id = %s FOR UPDATE"
        noted = f"UPDATE pod_session SET {column} = %s WHERE id = %s"
        values = {
            "session": session_id,
            "to_executor": to_executor,
            "number": number,
            "content": content,
            "maximum": MAX_UNREAD_BYTES,
        }
        with connection_of(self._pool) as connection, connection.transaction():
            row = connection.execute(known, (session_id,)).fetchone()
            if row is None or row[0] >= number:
                return True
            if connection.execute(_SEND, values).rowcount == 0:
                return False
            connection.execute(noted, (number, session_id))
            if to_executor:
                connection.execute(_INPUT, (session_id,))
        return True

    def receive(self, session_id: str, *, by_executor: bool) -> list[bytes]:
        """The frames for one side that it has not received, in order."""
        with connection_of(self._pool) as connection:
            rows = connection.execute(_RECEIVE, (session_id, by_executor)).fetchall()
        return [content for _, content in sorted(rows)]

    def touch(self, session_id: str, *, by_executor: bool) -> SessionStanding | None:
        """Note that one side is there; None for a session that was removed."""
        names = ("executor_seen_at", "user_seen_at")
        own, other = names if by_executor else reversed(names)
        with connection_of(self._pool) as connection:
            row = connection.execute(_TOUCH.format(own=own, other=other), (session_id,)).fetchone()
        if row is None:
            return None
        is_open, silent, idle, age = row
        return SessionStanding(
            is_open=is_open,
            silent_seconds=None if silent is None else float(silent),
            idle_seconds=float(idle),
            age_seconds=float(age),
        )

    def end(self, session_id: str) -> None:
        """Say that one side has ended; frames under way are still received."""
        with connection_of(self._pool) as connection:
            connection.execute(_END, (session_id,))

    def sweep(self) -> None:
        """Remove sessions that ended, or that both sides have left, some minutes ago."""
        with connection_of(self._pool) as connection:
            connection.execute(_SWEEP, (SESSION_SECONDS_KEPT,))


_VALID_SECRETS = """
    SELECT secret FROM webhook_secret
    WHERE webhook = %s AND (expires_at IS NULL OR expires_at > clock_timestamp())
    ORDER BY created_at DESC, id DESC
"""
_EXPIRE_SECRETS = """
    UPDATE webhook_secret SET expires_at = clock_timestamp() + make_interval(secs => %s)
    WHERE webhook = %s AND expires_at IS NULL
"""
_FORGET_SECRETS = "DELETE FROM webhook_secret WHERE webhook = %s AND expires_at IS NOT NULL"
_FORGET_WEBHOOKS = "DELETE FROM webhook_secret WHERE webhook = ANY(%s)"


class PostgresWebhookSecrets:
    """Fills the port `WebhookSecrets`. Secrets never stand in the log, which keeps everything."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    def valid(self, webhook: str) -> list[str]:
        """The secrets of a webhook, the newest first; none where it has none yet."""
        with connection_of(self._pool) as connection:
            return [row[0] for row in connection.execute(_VALID_SECRETS, (webhook,))]

    def replace(self, webhook: str, secret: str, *, previous_seconds: int) -> None:
        """Keep a new secret; the one before is valid for so long, all older ones no more."""
        with connection_of(self._pool) as connection, connection.transaction():
            connection.execute(_FORGET_SECRETS, (webhook,))
            connection.execute(_EXPIRE_SECRETS, (previous_seconds, webhook))
            connection.execute(
                "INSERT INTO webhook_secret (webhook, secret) VALUES (%s, %s)", (webhook, secret)
            )

    def forget(self, webhooks: Sequence[str]) -> None:
        """Delete all secrets of webhooks."""
        with connection_of(self._pool) as connection:
            connection.execute(_FORGET_WEBHOOKS, (list(webhooks),))


_CAUSE = ", ".join(_CAUSE_FIELDS := CauseRecord.__struct_fields__)
_CLAIM_CAUSES = """
    INSERT INTO cause_recorder (holder, expires_at)
    VALUES (%s, clock_timestamp() + make_interval(secs => %s))
    ON CONFLICT (id) DO UPDATE SET holder = excluded.holder, expires_at = excluded.expires_at
    WHERE cause_recorder.holder = excluded.holder
        OR cause_recorder.expires_at <= clock_timestamp()
"""
_LOCK_RECORDER = """
    SELECT FROM cause_recorder WHERE holder = %s AND expires_at > clock_timestamp() FOR UPDATE
"""
_KEEP_CAUSES = f"""
    INSERT INTO cause_record ({_CAUSE})
    SELECT {_CAUSE} FROM jsonb_populate_recordset(NULL::cause_record, %s)
    ON CONFLICT (key, opened_at) DO UPDATE SET closed_at = excluded.closed_at,
        severity = excluded.severity, title = excluded.title, count = excluded.count,
        gpu_seconds = excluded.gpu_seconds, link = excluded.link
"""
_FORGET_CAUSES = "DELETE FROM cause_record WHERE closed_at < %s"
_OPEN_CAUSES = f"SELECT {_CAUSE} FROM cause_record WHERE closed_at IS NULL ORDER BY key"
_CLOSED_CAUSES = f"""
    SELECT {_CAUSE} FROM cause_record WHERE closed_at >= %s ORDER BY closed_at DESC, key LIMIT %s
"""


class PostgresCauseHistory:
    """Fills the port `CauseHistory`; the right to write is a lease by the database's clock."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    def claim(self, holder: str, seconds: int) -> bool:
        """Whether a holder may write for so long from now: as the one before, or after its end."""
        with connection_of(self._pool) as connection:
            return connection.execute(_CLAIM_CAUSES, (holder, seconds)).rowcount == 1

    def open_causes(self) -> list[CauseRecord]:
        """The causes that have not closed, by key."""
        return self._read(_OPEN_CAUSES, ())

    def keep(self, holder: str, records: Sequence[CauseRecord]) -> bool:
        """Keeps records in place of those with their key and opening; False without the right."""
        with connection_of(self._pool) as connection, connection.transaction():
            if connection.execute(_LOCK_RECORDER, (holder,)).fetchone() is None:
                return False
            connection.execute(_KEEP_CAUSES, (Jsonb(msgspec.to_builtins(list(records))),))
        return True

    def closed_causes(self, *, since: Instant, limit: int) -> list[CauseRecord]:
        """The causes that closed at or after an instant, the last closed first."""
        return self._read(_CLOSED_CAUSES, (since, limit))

    def forget_closed(self, *, before: Instant) -> int:
        """Deletes the causes that closed before an instant; returns how many."""
        with connection_of(self._pool) as connection:
            return connection.execute(_FORGET_CAUSES, (before,)).rowcount

    def _read(self, query: str, values: tuple[Any, ...]) -> list[CauseRecord]:
        with connection_of(self._pool) as connection:
            rows = connection.execute(query, values).fetchall()
        return [CauseRecord(**dict(zip(_CAUSE_FIELDS, row, strict=True))) for row in rows]
