"""Moving old partitions of the log aside: into a table of their own, whole and readable.

Appends and reads of what is new never look at them any more; what asks for the beginning of the
log is answered from both.
"""

import re
from dataclasses import dataclass

from psycopg import sql

from headgate.adapters.postgres.connections import Connection, Pool, connection_of

_PARTITIONS = """
    SELECT child.relname, pg_get_expr(child.relpartbound, child.oid)
    FROM pg_inherits JOIN pg_class AS child ON child.oid = inhrelid
    WHERE inhparent = %s::regclass ORDER BY child.oid
"""
_BOUNDS = re.compile(r"FROM \('(\d+)'\) TO \('(\d+)'\)")
LOCK_TIMEOUT = "SET LOCAL lock_timeout = '5s'"


@dataclass(frozen=True, slots=True)
class LogPartition:
    """One partition of the log: positions from `first` up to, and without, `end`."""

    name: str
    first: int
    end: int


class LogArchive:
    """The partitions of the log, and which of them are archived."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    def archived(self) -> list[LogPartition]:
        """The partitions that stand aside, oldest first."""
        with connection_of(self._pool) as connection:
            return _parts(connection, "event_archive")

    def archivable(self, before: int) -> list[LogPartition]:
        """The partitions that lie wholly before that position, oldest first.

        The one that holds the newest event stays, so that the log is never empty.
        """
        with connection_of(self._pool) as connection:
            row = connection.execute("SELECT position FROM log_head").fetchone()
            head = row[0] if row else 0
            parts = _parts(connection, "event")
        return [part for part in parts if part.end <= before and part.end <= head]

    def archive(self, part: LogPartition) -> None:
        """Move one partition aside; raises `Unavailable` if readers keep it busy for too long.

        Its bounds are checked beforehand, so that the log is locked for no longer than it takes to
        change the catalogue.
        """
        name, first, end = sql.Identifier(part.name), sql.Literal(part.first), sql.Literal(part.end)
        bounds = sql.Identifier(f"{part.name}_bounds")
        check = sql.SQL(
            "ALTER TABLE {} ADD CONSTRAINT {} CHECK (position >= {} AND position < {}) NOT VALID"
        ).format(name, bounds, first, end)
        attach = sql.SQL(
            "ALTER TABLE event_archive ATTACH PARTITION {} FOR VALUES FROM ({}) TO ({})"
        ).format(name, first, end)
        drop = sql.SQL("ALTER TABLE {} DROP CONSTRAINT IF EXISTS {}").format(name, bounds)
        with connection_of(self._pool) as connection:
            connection.execute(drop)
            connection.execute(check)
            connection.execute(
                sql.SQL("ALTER TABLE {} VALIDATE CONSTRAINT {}").format(name, bounds)
            )
            with connection.transaction():
                connection.execute(LOCK_TIMEOUT)
                connection.execute(sql.SQL("ALTER TABLE event DETACH PARTITION {}").format(name))
                connection.execute(attach)
                connection.execute(drop)


def _parts(connection: Connection, table: str) -> list[LogPartition]:
    rows = connection.execute(_PARTITIONS, (table,)).fetchall()
    found = []
    for name, bounds in rows:
        match = _BOUNDS.search(bounds or "")
        if match is not None:
            found.append(LogPartition(name, int(match[1]), int(match[2])))
    return sorted(found, key=lambda part: part.first)
