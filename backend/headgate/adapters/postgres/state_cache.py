"""Cached folds on Postgres, checked against their digest on the way out."""

import hashlib

from headgate.adapters.postgres.connections import Connection, Pool, connection_of
from headgate.application.snapshot_store import NO_PARTS, Parts

MAX_RECENT = 3
MIN_SPACING = 5_000
MAX_SPACED = 200
_NEWEST = """
    SELECT position, sha256, body FROM state_cache
    WHERE name = %s AND fold_version = %s AND position <= coalesce(%s, position)
    ORDER BY position DESC LIMIT 1
"""
_PUT = """
    INSERT INTO state_cache (name, fold_version, position, sha256, body, parts)
    VALUES (%s, %s, %s, %s, %s, %s)
    ON CONFLICT (name, fold_version, position)
    DO UPDATE SET sha256 = excluded.sha256, body = excluded.body, parts = excluded.parts
"""
_PART = "SELECT body FROM state_part WHERE name = %s"
_PUT_PART = "INSERT INTO state_part (name, body) VALUES (%s, %s) ON CONFLICT DO NOTHING"
_KNOWN_PARTS = "SELECT count(*) FROM state_part WHERE name = ANY(%s)"
_ONE_AT_A_TIME = "SELECT pg_advisory_xact_lock(hashtext('state_part'))"
_FORGET_PARTS = """
    DELETE FROM state_part WHERE name NOT IN (SELECT unnest(parts) FROM state_cache)
"""
_FORGET = """
    DELETE FROM state_cache AS old WHERE name = %(name)s AND (
        fold_version <> %(fold_version)s AND (fold_version, position) NOT IN (
            SELECT fold_version, position FROM state_cache WHERE name = %(name)s
            ORDER BY created_at DESC, position DESC LIMIT %(kept)s)
        OR fold_version = %(fold_version)s AND position NOT IN (
            SELECT position FROM state_cache
            WHERE name = %(name)s AND fold_version = %(fold_version)s
            ORDER BY position DESC LIMIT %(kept)s)
        AND EXISTS (
            SELECT FROM state_cache AS newer
            WHERE newer.name = old.name AND newer.fold_version = old.fold_version
                AND newer.position > old.position
                AND newer.position / %(apart)s = old.position / %(apart)s))
"""


class PostgresStateCache:
    """Fills the port `StateCache`; keeps the newest few folds of a name, and older ones apart.

    Those far apart make reads of the past fast; the further the log goes, the fewer are kept.
    """

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    def newest(
        self, name: str, fold_version: str, *, at_most: int | None = None
    ) -> tuple[int, bytes] | None:
        """The latest cached fold not past `at_most`, with its position."""
        with connection_of(self._pool) as connection:
            while True:
                values = (name, fold_version, at_most)
                row = connection.execute(_NEWEST, values, binary=True).fetchone()
                if row is None:
                    return None
                position, digest, body = row
                if hashlib.sha256(body).digest() == digest:
                    return position, body
                at_most = position - 1

    def put(
        self, name: str, fold_version: str, position: int, body: bytes, parts: Parts = NO_PARTS
    ) -> bool:
        """Keep a fold and its parts; false if a part is neither given nor there."""
        digest = hashlib.sha256(body).digest()
        with connection_of(self._pool) as connection, connection.transaction():
            # Losing a cached fold in a crash costs time only.
            connection.execute("SET LOCAL synchronous_commit = off")
            # No process may forget a part between the check for it and the fold that names it.
            connection.execute(_ONE_AT_A_TIME)
            if not _keep_parts(connection, parts):
                return False
            values = (name, fold_version, position, digest, body, list(parts))
            connection.execute(_PUT, values)
            which = {"name": name, "fold_version": fold_version, "kept": MAX_RECENT}
            connection.execute(_FORGET, {**which, "apart": _apart(position)})
            connection.execute(_FORGET_PARTS)
        return True

    def part(self, name: str) -> bytes | None:
        """A part of some fold that is kept."""
        with connection_of(self._pool) as connection:
            row = connection.execute(_PART, (name,), binary=True).fetchone()
        return None if row is None else row[0]


def _keep_parts(connection: Connection, parts: Parts) -> bool:
    """Whether all are there in the end."""
    for name, body in parts.items():
        if body is not None:
            connection.execute(_PUT_PART, (name, body))
    row = connection.execute(_KNOWN_PARTS, (list(parts),)).fetchone()
    return row is not None and row[0] == len(parts)


def _apart(position: int) -> int:
    """How far apart old folds are kept: at most so many of them, whatever the length of the log."""
    apart = MIN_SPACING
    while apart * MAX_SPACED < position:
        apart *= 2
    return apart
