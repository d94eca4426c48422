"""Chores that keep the store small; safe to run anywhere, any time, and twice."""

import importlib.util
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import psycopg

from headgate.adapters.postgres.append_encoding import state_of
from headgate.adapters.postgres.archived_events import COLUMNS
from headgate.adapters.postgres.connections import (
    Connection,
    Pool,
    connection_of,
    dictionary_of,
    keep_dictionary,
    outage_cause,
)
from headgate.adapters.postgres.event_log import recorded_of
from headgate.adapters.postgres.partitions import PostgresPartitions
from headgate.adapters.postgres.read_models import TALLIED_COLUMNS, PostgresCycleStore
from headgate.adapters.postgres.stores import PostgresSimulationStore
from headgate.application.commands.append_unit import READ_COLUMNS, read_columns, workload_due
from headgate.application.failures import MigrationRefused, OutageCause
from headgate.application.ports import PartitionRow, Unavailable
from headgate.domain.kinds.configured_object import Absent
from headgate.domain.recorded_event import (
    RecordedEvent,
    evolve_state,
    kind_and_key,
    with_owner_of_actor,
)

_FORGET_KEYS = """
    DELETE FROM idempotency WHERE (key, actor) IN (
        SELECT key, actor FROM idempotency
        WHERE created_at < clock_timestamp() - make_interval(secs => %s)
        ORDER BY created_at LIMIT %s FOR UPDATE SKIP LOCKED)
"""

# An append locks tallies in another order than a scan: what waits for none cannot deadlock with it.
_FORGET_EMPTY = """
    DELETE FROM {table} WHERE ctid = ANY(ARRAY(
        SELECT ctid FROM {table} WHERE workloads = 0 FOR UPDATE SKIP LOCKED))
"""
TALLIES = ("workload_tally", "wait_tally")


class PostgresMaintenance:
    """Fills the port `Maintenance`."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    def forget_idempotency_keys(self, *, older_than_seconds: float, limit: int = 5_000) -> int:
        """Deletes expired idempotency keys, oldest first; returns how many."""
        with connection_of(self._pool) as connection:
            return connection.execute(_FORGET_KEYS, (older_than_seconds, limit)).rowcount

    def forget_cycles(self, *, keep: int) -> int:
        """Delete all records of cycles but the newest so many; how many went."""
        return PostgresCycleStore(self._pool).forget(keep=keep)

    def forget_simulations(self, *, keep: int) -> int:
        """Deletes ended simulations but the newest so many; how many went."""
        return PostgresSimulationStore(self._pool).forget(keep=keep)

    def forget_empty_tallies(self) -> int:
        """Deletes the rows of tallies that count no workload; returns how many."""
        texts = [_FORGET_EMPTY.format(table=table) for table in TALLIES]
        with connection_of(self._pool) as connection:
            return sum(connection.execute(text).rowcount for text in texts)

    def train_dictionary(self) -> int:
        """Keeps a dictionary that makes bodies a fifth smaller; returns how many, 0 or 1.

        The newest one is left for a day, unless the log is twice as long as it was then.
        """
        with connection_of(self._pool) as connection, connection.transaction():
            row = connection.execute(_MAY_TRAIN).fetchone()
            if row is None or not row[0]:
                return 0
            present = dictionary_of(connection)
            kept = keep_dictionary(
                connection, events=("event", "body"), states=("workload", "state"), present=present
            )
            return int(kept is not None)

    def extend_log(self) -> None:
        """Make the partitions of the log that the next million positions need."""
        with connection_of(self._pool) as connection:
            connection.execute("SELECT extend_log(position + 1000000) FROM log_head")


_MAY_TRAIN = """
    SELECT pg_try_advisory_xact_lock(hashtextextended('dictionary', 7307)) AND NOT EXISTS (
        SELECT FROM dictionary, log_head
        WHERE trained_at > clock_timestamp() - interval '1 day'
            AND log_head.position < 2 * dictionary.position)
"""


_TRIGGERS = """
    SELECT count(*) FILTER (WHERE trigger.tgenabled IN ('O', 'A')), count(*)
    FROM (SELECT 'event'::regclass AS relation
          UNION ALL SELECT inhrelid FROM pg_inherits WHERE inhparent = 'event'::regclass) AS log
    LEFT JOIN pg_trigger AS trigger
        ON trigger.tgrelid = log.relation AND trigger.tgname = 'append_only'
"""


_SESSIONS = """
    SELECT DISTINCT application_name FROM pg_stat_activity
    WHERE application_name LIKE %s AND datname = current_database() ORDER BY 1
"""


class PostgresInspection:
    """Read-only questions; raises `Unavailable` while the database cannot be reached."""

    def __init__(self, pool: Pool, url: str) -> None:
        self._pool = pool
        self._url = url

    def server_version(self) -> str:
        """As the server names it, such as `18.4`."""
        with connection_of(self._pool) as connection:
            row = connection.execute("SELECT current_setting('server_version')").fetchone()
        assert row is not None
        return str(row[0])

    def schema_level(self) -> tuple[str, str]:
        """The revision the database stands at, empty for none, and the one this program needs."""
        needed = newest_revision(self._url)
        with connection_of(self._pool) as connection:
            known = connection.execute("SELECT to_regclass('alembic_version')").fetchone()
            if known is None or known[0] is None:
                return "", needed
            row = connection.execute("SELECT version_num FROM alembic_version").fetchone()
        return (str(row[0]) if row else ""), needed

    def log_is_protected(self) -> bool:
        """Whether the log and each of its partitions refuse changes to facts."""
        with connection_of(self._pool) as connection:
            row = connection.execute(_TRIGGERS).fetchone()
        assert row is not None
        return bool(row[0] == row[1])

    def sessions(self, prefix: str) -> list[str]:
        """The names of connected processes that begin like this."""
        with connection_of(self._pool) as connection:
            return [name for (name,) in connection.execute(_SESSIONS, (f"{prefix}%",)).fetchall()]


_WRITE_PROBE = (
    "SET LOCAL lock_timeout = '1s'",
    "TRUNCATE write_probe",
    "INSERT INTO write_probe SELECT repeat('x', 4000) FROM generate_series(1, 32)",
)
"""Makes new files and extends them, as a full disk refuses; the table is not in the WAL."""


class PostgresProbe:
    """Fills the port `DatabaseProbe`, on a pool of its own."""

    def __init__(self, pool: Pool) -> None:
        self._partitions = PostgresPartitions(pool)
        self._pool = pool

    def partitions(self) -> list[PartitionRow]:
        """Every partition, by key; raises `Unavailable`."""
        return self._partitions.rows()

    def write(self) -> OutageCause | None:
        """Writes a little in a table of its own; returns why that failed, None if it did not.

        Another process that tries at the same time is taken for a write that succeeds.
        """
        try:
            with connection_of(self._pool) as connection, connection.transaction():
                for statement in _WRITE_PROBE:
                    connection.execute(statement)
        except Unavailable as outage:
            if isinstance(outage.__cause__, psycopg.errors.LockNotAvailable):
                return None
            return outage_cause(outage.__cause__)
        return None


if TYPE_CHECKING:
    from alembic.config import Config


REPOSITORY = Path(__file__).resolve().parents[4] / "migrations"


def migrate(url: str, revision: str = "head") -> None:
    """Upgrade the database at `url`; safe to call from several processes at once, and again.

    Raises `SchemaTooNew`, and changes nothing, if a later release has migrated the database, and
    `EarlierReleaseConnected` while processes are connected that cannot read what this one writes.
    """
    from alembic import command  # noqa: PLC0415 - loaded late, see above

    found = _revision_of(url)
    if found and found not in _known_revisions(url):
        raise SchemaTooNew(found, newest_revision(url))
    if found and found <= LAST_PLAIN_REVISION and revision == "head":
        _refuse_connected(url)
    command.upgrade(alembic_config(url), revision)


LAST_PLAIN_REVISION = "0026"
"""Releases up to this schema read no compressed bodies (ADR 0060)."""


class SchemaTooNew(MigrationRefused):
    """A later release has migrated the database."""

    def __init__(self, found: str, newest: str) -> None:
        super().__init__(
            f"The database has the schema {found} of a later release; this one knows up to "
            f"{newest}. Nothing was changed: install the later release."
        )


class EarlierReleaseConnected(MigrationRefused):
    """Processes of a release are connected that cannot read what this one writes."""

    def __init__(self, names: list[str]) -> None:
        super().__init__(
            f"Processes of an earlier release are connected: {', '.join(names)}. They cannot read "
            "what this release writes. Nothing was changed: stop them, then migrate."
        )


def _known_revisions(url: str) -> frozenset[str]:
    from alembic.script import ScriptDirectory  # noqa: PLC0415 - loaded late, see above

    scripts = ScriptDirectory.from_config(alembic_config(url)).walk_revisions()
    return frozenset(script.revision for script in scripts)


def _revision_of(url: str) -> str:
    """The revision that a database stands at; empty for a new one."""
    with psycopg.connect(url) as connection:
        known = connection.execute("SELECT to_regclass('alembic_version')").fetchone()
        if known is None or known[0] is None:
            return ""
        row = connection.execute("SELECT version_num FROM alembic_version").fetchone()
    return str(row[0]) if row else ""


def _refuse_connected(url: str) -> None:
    with psycopg.connect(url) as connection:
        names = [str(name) for (name,) in connection.execute(_SESSIONS, ("headgate-%",)).fetchall()]
    if names:
        raise EarlierReleaseConnected(names)


def newest_revision(url: str) -> str:
    """The revision this program needs the database at `url` to stand at."""
    from alembic.script import ScriptDirectory  # noqa: PLC0415 - loaded late, see above

    return ScriptDirectory.from_config(alembic_config(url)).get_current_head() or ""


def alembic_config(url: str) -> "Config":
    """Alembic's configuration for one database; there is no ini file."""
    from alembic.config import Config  # noqa: PLC0415 - loaded late, see above

    config = Config()
    config.set_main_option("script_location", str(migrations_directory()))
    config.set_main_option("sqlalchemy.url", url.replace("%", "%%"))
    return config


def migrations_directory() -> Path:
    """Where the migrations lie: in the repository, or else in the installed package."""
    # First the repository, as an editable installation holds an old copy of the package.
    if (REPOSITORY / "env.py").exists():
        return REPOSITORY
    installed = importlib.util.find_spec("headgate_migrations")
    assert installed is not None
    assert installed.submodule_search_locations, "the migrations belong to the installation"
    return Path(next(iter(installed.submodule_search_locations)))


BATCH = 500
CONVERTED = "convert_to(data::text, 'UTF8')"
_STREAMS = "SELECT stream FROM {} WHERE stream > %s ORDER BY stream LIMIT %s"
# As migrations before 0027 found it; what follows serves only them.
_EVENTS = (
    f"SELECT {COLUMNS.replace('body', CONVERTED)} FROM event_whole "
    "WHERE stream = ANY(%s) ORDER BY stream, version"
)
_UPDATE = """
    UPDATE {table} SET state = fresh.state::json
    FROM unnest(%s::text[], %s::text[]) AS fresh(stream, state)
    WHERE {table}.stream = fresh.stream AND {table}.state::text <> fresh.state
"""


def rewrite_rows(connection: Connection) -> int:
    """Rewrites each row with another state than its stream folds to; returns the number of rows.

    A stream without its first events, which an archive took away, leaves its row as it is.
    """
    return sum(_rewrite_table(connection, table) for table in ("object", "workload", "round"))


def _rewrite_table(connection: Connection, table: str) -> int:
    rewritten = 0
    for streams in _batches(connection, table):
        rows = connection.execute(_EVENTS, (streams,), binary=True)
        events = map(recorded_of, rows)
        folded = [
            (stream, msgspec.json.encode(state).decode())
            for stream, of_stream in groupby(events, key=lambda recorded: recorded.stream)
            if (state := _folded(stream, list(of_stream))) is not None
        ]
        names, states = [name for name, _ in folded], [state for _, state in folded]
        rewritten += connection.execute(_UPDATE.format(table=table), (names, states)).rowcount
    return rewritten


def _batches(connection: Connection, table: str) -> Iterator[list[str]]:
    after = ""
    query = _STREAMS.format(table)
    while found := [row[0] for row in connection.execute(query, (after, BATCH)).fetchall()]:
        yield found
        after = found[-1]


def _folded(stream: str, events: Sequence[RecordedEvent]) -> Any:  # noqa: ANN401 - any aggregate's state
    """The state of a stream; None where its beginning is gone or nothing exists now."""
    if events[0].version != 1:
        return None
    kind, _ = kind_and_key(stream)
    state: Any = Absent()
    for recorded in events:
        state = evolve_state(kind, state, with_owner_of_actor(recorded), recorded.at)
    return None if isinstance(state, Absent) else state


_ROWS = "SELECT stream, convert_to(state::text, 'UTF8') FROM workload WHERE stream = ANY(%s)"
_FILL = f"""
    UPDATE workload SET {", ".join(f"{name} = fresh.{name}" for name in READ_COLUMNS)}
    FROM unnest(%s::text[], %s::bigint[], %s::text[], %s::bigint[], %s::text[])
        AS fresh(stream, {", ".join(READ_COLUMNS)})
    WHERE workload.stream = fresh.stream
"""


def fill_read_columns(connection: Connection) -> None:
    """Writes the columns that follow from the state of each workload, where any is not empty."""
    for streams in _batches(connection, "workload"):
        rows = connection.execute(_ROWS, (streams,)).fetchall()
        found = [(stream, read_columns(state_of(stream, state))) for stream, state in rows]
        filled = [(stream, columns) for stream, columns in found if any(columns.values())]
        values = [[columns[name] for _, columns in filled] for name in READ_COLUMNS]
        connection.execute(_FILL, ([stream for stream, _ in filled], *values))


_FILL_DUE = """
    UPDATE workload SET due_at = fresh.due_at
    FROM unnest(%s::text[], %s::bigint[]) AS fresh(stream, due_at)
    WHERE workload.stream = fresh.stream
"""


def fill_expiries(connection: Connection) -> None:
    """Writes when their own time to live is over into the rows of finished workloads."""
    for streams in _batches(connection, "workload"):
        rows = connection.execute(_ROWS, (streams,)).fetchall()
        states = {stream: state_of(stream, state) for stream, state in rows}
        dues = {
            stream: due
            for stream, state in states.items()
            if state.finished_at is not None and (due := workload_due(state)) is not None
        }
        connection.execute(_FILL_DUE, (list(dues), list(dues.values())))


_COUNT_WORKLOADS = f"""
    INSERT INTO workload_tally
    SELECT {TALLIED_COLUMNS}, count(*), sum(gpus), sum(pods)
    FROM workload GROUP BY {TALLIED_COLUMNS}
"""


def count_workloads(connection: Connection) -> None:
    """Counts all workloads anew into `workload_tally`; no append comes between."""
    connection.execute("SELECT FROM log_head FOR NO KEY UPDATE")
    connection.execute("DELETE FROM workload_tally")
    connection.execute(_COUNT_WORKLOADS)
