"""Simulations, tokens, saved views and cached folds in Postgres.

Folds are checked against their digest on the way out.
"""

import hashlib
from collections.abc import Collection, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace
from psycopg.types.json import Jsonb

from headgate.adapters.postgres.connections import Connection, Pool, connection_of
from headgate.application.access.identity import SavedView, ServiceAccount, Token
from headgate.application.access.rights import Grant
from headgate.application.simulation_records import (
    SIMULATION_KINDS,
    ClaimedBacktest,
    SimulationKind,
    SimulationRecord,
)
from headgate.application.snapshot_store import CachedFold, NewFold, Parts
from headgate.domain.values.instants import Instant

_ADD = """
    INSERT INTO backtest (id, created_at, is_over, revision, body, kind, author)
    VALUES (%s, %s, %s, %s, %s, %s, %s)
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


_FORGET_SIMULATIONS = """
    DELETE FROM backtest WHERE id IN (
        SELECT id FROM (
            SELECT id, row_number() OVER (
                PARTITION BY CASE WHEN kind = 'Backtest' THEN NULL ELSE author END
                ORDER BY created_at DESC, id DESC) AS place
            FROM backtest WHERE is_over) AS ranked
        WHERE place > %s)
"""


_PAGE = """
    SELECT body FROM backtest
    WHERE (created_at, id) < (%s, %s) AND kind = ANY(%s) AND %s IN ('', author)
    ORDER BY created_at DESC, id DESC LIMIT %s
"""


_RECORD_DECODER = msgspec.msgpack.Decoder(SimulationRecord)


_LAST = (2**62, "")


class PostgresSimulationStore:
    """Fills the port `SimulationStore`; outcomes have their own column, as lists leave them out."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    def add(self, job: SimulationRecord) -> None:
        """Keep a new one; one with `finished_at` is over."""
        is_over, body = job.finished_at is not None, msgspec.msgpack.encode(job)
        first = (job.id, job.created_at, is_over, job.revision, body, job.kind, job.created_by)
        self._do(_ADD, first)

    def find(self, job_id: str) -> SimulationRecord | None:
        """The one of that id, if it is kept."""
        with connection_of(self._pool) as connection:
            query = "SELECT coalesce(outcome, body) FROM backtest WHERE id = %s"
            row = connection.execute(query, (job_id,)).fetchone()
        return _RECORD_DECODER.decode(row[0]) if row else None

    def page(
        self,
        *,
        before: tuple[Instant, str] | None,
        limit: int,
        kinds: Collection[SimulationKind] = SIMULATION_KINDS,
        author: str = "",
    ) -> list[SimulationRecord]:
        """Those of some kinds and of one author or all, newest first, keyset paged."""
        values = (*(before or _LAST), list(kinds), author, limit)
        with connection_of(self._pool) as connection:
            rows = connection.execute(_PAGE, values).fetchall()
        return [_RECORD_DECODER.decode(row[0]) for row in rows]

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
        return ClaimedBacktest(job=_RECORD_DECODER.decode(row[0]), progress=row[1]) if row else None

    def save(self, job: SimulationRecord, progress: bytes | None) -> bool:
        """Keep it as it is now, one revision on; False if it has changed since it was read."""
        saved = replace(job, revision=job.revision + 1)
        whole = msgspec.msgpack.encode(saved) if saved.outcome is not None else None
        body = msgspec.msgpack.encode(replace(saved, outcome=None))
        is_over = job.finished_at is not None
        found = (body, whole, progress, is_over, saved.revision, job.id, job.revision)
        return self._do(_SAVE, found) == 1

    def forget(self, *, keep: int) -> int:
        """Deletes finished ones but the newest so many backtests, and what-ifs of each author."""
        return self._do(_FORGET_SIMULATIONS, (keep,))

    def forget_what_ifs(self) -> int:
        """Deletes all that are no backtests; how many went."""
        return self._do("DELETE FROM backtest WHERE kind <> %s", ("Backtest",))

    def _do(self, statement: str, values: tuple[Any, ...]) -> int:
        with connection_of(self._pool) as connection:
            return connection.execute(statement, values).rowcount


_BEARERS = """
    SELECT t.name, t.digest, t.role, t.namespaces, coalesce(a.grants, t.grants),
        coalesce(a.groups, t.groups), t.account, t.created_at, t.expires_at
    FROM token AS t LEFT JOIN service_account AS a ON a.name = t.account ORDER BY t.name
"""
_ADD_BEARER = """
    INSERT INTO token (name, digest, role, namespaces, grants, groups, account, created_at,
        expires_at)
    SELECT %(name)s, %(digest)s, %(role)s, %(namespaces)s, %(grants)s, %(groups)s, %(account)s,
        %(created_at)s, %(expires_at)s
    WHERE CASE WHEN %(account)s = ''
        THEN NOT EXISTS (SELECT FROM service_account AS a WHERE a.name = %(name)s)
        ELSE EXISTS (SELECT FROM service_account AS a WHERE a.name = %(account)s FOR SHARE) END
    ON CONFLICT DO NOTHING
"""
_ADD_ACCOUNT = """
    INSERT INTO service_account (name, grants, groups, created_at)
    SELECT %(name)s, %(grants)s, %(groups)s, %(created_at)s
    WHERE NOT EXISTS (SELECT FROM token AS t WHERE t.account = '' AND t.name = %(name)s)
    ON CONFLICT DO NOTHING
"""
_CHANGE_ACCOUNT = """
    UPDATE service_account SET grants = %(grants)s, groups = %(groups)s WHERE name = %(name)s
"""
_OF_ACCOUNT = "account"
"""The role of a token of an account in the column from before there were grants: none."""


class PostgresTokens:
    """Fills the port `Tokens`."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    def all(self) -> list[Token]:
        """Every token, by name."""
        with connection_of(self._pool) as connection:
            return [_token(row) for row in connection.execute(_BEARERS).fetchall()]

    def add(self, token: Token) -> bool:
        """Keep a token; False if one of that name or digest exists, or its account is gone.

        A token of its own never has the name of a service account.
        """
        values: dict[str, Any] = msgspec.to_builtins(token)
        first = token.grants[0] if token.grants and not token.account else None
        values["role"] = first.role if first else _OF_ACCOUNT
        values["namespaces"] = Jsonb(list(first.namespaces) if first else [])
        values["grants"] = Jsonb([] if token.account else values["grants"])
        values["groups"] = Jsonb([] if token.account else values["groups"])
        return self._do(_ADD_BEARER, values) == 1

    def remove(self, name: str) -> bool:
        """Forget a token; False if there was none."""
        return self._do("DELETE FROM token WHERE name = %(name)s", {"name": name}) == 1

    def accounts(self) -> list[ServiceAccount]:
        """Every service account, by name."""
        query = "SELECT name, grants, groups, created_at FROM service_account ORDER BY name"
        with connection_of(self._pool) as connection:
            rows = connection.execute(query).fetchall()
        fields = ("name", "grants", "groups", "created_at")
        return [
            msgspec.convert(dict(zip(fields, row, strict=True)), ServiceAccount) for row in rows
        ]

    def add_account(self, account: ServiceAccount) -> bool:
        """Keep a service account; False if one, or a token of its own, has that name."""
        return self._do(_ADD_ACCOUNT, _account_values(account)) == 1

    def change_account(self, account: ServiceAccount) -> bool:
        """Give a service account other grants and groups; False if there is none."""
        return self._do(_CHANGE_ACCOUNT, _account_values(account)) == 1

    def remove_account(self, name: str) -> bool:
        """Forget a service account and its tokens; False if there was none."""
        with connection_of(self._pool) as connection, connection.transaction():
            removed = connection.execute("DELETE FROM service_account WHERE name = %s", (name,))
            connection.execute("DELETE FROM token WHERE account = %s", (name,))
            return removed.rowcount == 1

    def _do(self, statement: str, values: dict[str, Any]) -> int:
        with connection_of(self._pool) as connection:
            return connection.execute(statement, values).rowcount


def _account_values(account: ServiceAccount) -> dict[str, Any]:
    values: dict[str, Any] = msgspec.to_builtins(account)
    return {**values, "grants": Jsonb(values["grants"]), "groups": Jsonb(values["groups"])}


def _token(row: tuple[Any, ...]) -> Token:
    """A token; one from before there were grants has its role and namespaces as one."""
    name, digest, role, namespaces, grants, groups, account, created_at, expires_at = row
    if not grants and not account:
        grants = [{"role": role, "namespaces": namespaces}]
    return Token(
        name=name,
        digest=digest,
        grants=msgspec.convert(grants, tuple[Grant, ...]),
        groups=tuple(groups),
        account=account,
        created_at=created_at,
        expires_at=expires_at,
    )


MAX_RECENT = 3
MIN_SPACING = 5_000
MAX_SPACED = 200
_NEWEST = """
    SELECT position, fold_version, sha256, body FROM state_cache
    WHERE name = %(name)s AND fold_version = ANY(%(versions)s)
        AND position <= coalesce(%(at_most)s, position)
    ORDER BY position DESC, array_position(%(versions)s, fold_version) LIMIT 1
"""
_PUT_STATE = """
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
# Of versions that this release does not write the newest few stay, for the release before it.
_FORGET = """
    DELETE FROM state_cache AS old WHERE name = %(name)s
    AND (fold_version, position) NOT IN (
        SELECT fold_version, position FROM state_cache
        WHERE name = %(name)s AND fold_version <> %(version)s
        ORDER BY created_at DESC, position DESC LIMIT %(kept)s)
    AND (fold_version <> ALL(%(versions)s) OR position NOT IN (
            SELECT position FROM state_cache
            WHERE name = %(name)s AND fold_version = ANY(%(versions)s)
            ORDER BY position DESC LIMIT %(kept)s)
        AND EXISTS (
            SELECT FROM state_cache AS newer
            WHERE newer.name = old.name AND newer.fold_version = ANY(%(versions)s)
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
        self, name: str, versions: Sequence[str], *, at_most: int | None = None
    ) -> CachedFold | None:
        """The latest cached fold of any of the versions that is not past `at_most`."""
        with connection_of(self._pool) as connection:
            values = {"name": name, "versions": list(versions), "at_most": at_most}
            while row := connection.execute(_NEWEST, values, binary=True).fetchone():
                position, version, digest, body = row
                if hashlib.sha256(body).digest() == digest:
                    return CachedFold(position, version, body)
                values["at_most"] = position - 1
        return None

    def put(self, name: str, versions: Sequence[str], fold: NewFold) -> bool:
        """Keep a fold of the first of the versions; false if a part is neither given nor there."""
        position, body, parts = fold
        with connection_of(self._pool) as connection, connection.transaction():
            # Losing a cached fold in a crash costs time only.
            connection.execute("SET LOCAL synchronous_commit = off")
            # No process may forget a part between the check for it and the fold that names it.
            connection.execute(_ONE_AT_A_TIME)
            if not _keep_parts(connection, parts):
                return False
            digest = hashlib.sha256(body).digest()
            put = (name, versions[0], position, digest, body, list(parts))
            connection.execute(_PUT_STATE, put)
            of = {"name": name, "version": versions[0], "versions": list(versions)}
            connection.execute(_FORGET, {**of, "kept": MAX_RECENT, "apart": _apart(position)})
            connection.execute(_FORGET_PARTS)
        return True

    def forget(self, name: str) -> None:
        """Delete every cached fold of the name, and the parts that only they had."""
        with connection_of(self._pool) as connection, connection.transaction():
            connection.execute(_ONE_AT_A_TIME)
            connection.execute("DELETE FROM state_cache WHERE name = %s", (name,))
            connection.execute(_FORGET_PARTS)

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


_VISIBLE_VIEWS = """
    SELECT owner, name, query, is_shared, saved_at FROM saved_view
    WHERE owner = %(user)s OR is_shared ORDER BY owner <> %(user)s, name, owner
"""
_LOCK_VIEWS = "SELECT pg_advisory_xact_lock(hashtextextended('saved_view ' || %s, 0))"
_SAVE_VIEW = """
    INSERT INTO saved_view (owner, name, query, is_shared, saved_at)
    SELECT %(owner)s, %(name)s, %(query)s, %(is_shared)s, %(saved_at)s
    WHERE (SELECT count(*) FROM saved_view WHERE owner = %(owner)s AND name <> %(name)s)
        < %(maximum)s
    ON CONFLICT (owner, name) DO UPDATE SET
        query = excluded.query, is_shared = excluded.is_shared, saved_at = excluded.saved_at
"""


class PostgresSavedViews:
    """Fills the port `SavedViewStore`."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    def visible_to(self, user: str) -> list[SavedView]:
        """The views of a user, then those that others share, by name."""
        with connection_of(self._pool) as connection:
            rows = connection.execute(_VISIBLE_VIEWS, {"user": user}).fetchall()
        fields = SavedView.__struct_fields__
        return [msgspec.convert(dict(zip(fields, row, strict=True)), SavedView) for row in rows]

    def save(self, view: SavedView, *, maximum: int) -> bool:
        """Keep a view in place of its owner's of that name; False if it were one too many."""
        values = {**msgspec.to_builtins(view), "maximum": maximum}
        with connection_of(self._pool) as connection, connection.transaction():
            connection.execute(_LOCK_VIEWS, (view.owner,))
            return connection.execute(_SAVE_VIEW, values).rowcount == 1

    def delete(self, owner: str, name: str) -> bool:
        """Forget a view; False if there was none."""
        statement = "DELETE FROM saved_view WHERE owner = %s AND name = %s"
        with connection_of(self._pool) as connection:
            return connection.execute(statement, (owner, name)).rowcount == 1
