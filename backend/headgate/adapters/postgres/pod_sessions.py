"""Sessions into pods in Postgres: few rows, unlogged, and removed with their session."""

import msgspec

from headgate.adapters.postgres.connections import Pool, connection_of
from headgate.application.pod_sessions import (
    MAX_SESSIONS,
    MAX_SILENT_SECONDS,
    MAX_UNREAD_BYTES,
    PodSession,
    SessionStanding,
)
from headgate.domain.values.instants import Instant

SECONDS_KEPT = 300
_OPEN = """
    INSERT INTO pod_session (id, executor, content) SELECT %(id)s, %(executor)s, %(content)s
    WHERE (SELECT count(*) FROM pod_session WHERE executor = %(executor)s AND NOT has_ended
           AND greatest(user_seen_at, executor_seen_at, created_at)
               > clock_timestamp() - make_interval(secs => %(silent)s)) < %(maximum)s
"""
_TAKE = """
    UPDATE pod_session SET executor_seen_at = clock_timestamp()
    WHERE executor = %s AND executor_seen_at IS NULL AND NOT has_ended RETURNING content
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

    def take(self, executor: str) -> list[PodSession]:
        """The sessions that the executor has not begun yet, each once."""
        with connection_of(self._pool) as connection:
            rows = connection.execute(_TAKE, (executor,)).fetchall()
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
            connection.execute(_SWEEP, (SECONDS_KEPT,))
