"""Bodies of events and states are compressed, and rows are narrower (ADR 0060).

Tables of before are renamed, copied in batches and dropped, in one transaction: until it ends it
takes as much room again as the log and the rows of workloads have.

Revision ID: 0027
Revises: 0026
Create Date: 2026-11-27
"""

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from alembic import op

from headgate.adapters.postgres.append_encoding import document_of, stored_form
from headgate.adapters.postgres.connections import Connection, keep_dictionary, stored_rows

revision = "0027"
down_revision = "0026"
branch_labels = None
depends_on = None

SQL = Path(__file__).parents[1] / "sql"
BATCH = 5_000
BOUNDS = re.compile(r"FOR VALUES FROM \('\d+'\) TO \('\d+'\)")
PARTS = """
    SELECT child.relname, pg_get_expr(child.relpartbound, child.oid)
    FROM pg_inherits JOIN pg_class AS child ON child.oid = inhrelid
    WHERE inhparent = %s::regclass ORDER BY child.oid
"""
INDEXES = """
    SELECT index.relname FROM pg_index JOIN pg_class AS index ON index.oid = indexrelid
    WHERE indrelid IN (SELECT %s::regclass UNION
                       SELECT inhrelid FROM pg_inherits WHERE inhparent = %s::regclass)
"""
LOGS = ("event", "event_archive")
REBUILT = (*LOGS, "workload", "follower_memory")
ROWS = ("object", "round")
EVENT_COLUMNS = (
    "position, stream, version, type, schema_version, at, actor, reason, causation, correlation, "
    "trace"
)
WORKLOAD_COLUMNS = (
    "stream, version, position, namespace, name, local_queue, cluster_queue, phase, priority, "
    "created_at, labels, due_at, owner, gpus, pods, executed_seconds, admitted_at, finished_at, "
    "stuck_since, reserved_at, stuck_cause, size_class"
)
WORKLOAD_KEY = "ALTER TABLE workload ADD CONSTRAINT workload_pkey PRIMARY KEY (stream)"
MEMORY_KEY = """
    ALTER TABLE follower_memory
    ADD CONSTRAINT follower_memory_pkey PRIMARY KEY (follower, generation, key)
"""
WORKLOAD_INDEXES = {
    "workload_created_at": "(created_at)",
    "workload_namespace_phase": "(namespace, phase, created_at)",
    "workload_owner": "(owner, created_at)",
    "workload_phase": "(phase, created_at)",
    "workload_stuck": "(stuck_since, created_at DESC, stream DESC) WHERE stuck_cause <> ''",
    "workload_waits": "(cluster_queue, size_class, reserved_at) WHERE reserved_at IS NOT NULL",
    "workload_finished": "(finished_at) WHERE finished_at IS NOT NULL",
    "workload_expiring": "(due_at) WHERE finished_at IS NOT NULL AND due_at IS NOT NULL",
    "workload_reserved_at": "(reserved_at) WHERE reserved_at IS NOT NULL",
}
INDEXES_BEFORE = WORKLOAD_INDEXES | {
    "workload_created_at": "(created_at, stream)",
    "workload_namespace_phase": "(namespace, phase, created_at, stream)",
    "workload_owner": "(owner, created_at, stream)",
    "workload_phase": "(phase, created_at, stream)",
}
FUNCTIONS = (
    "log_append_decisions(jsonb, bytea, jsonb, bytea, integer, text, text, bigint)",
    "log_append(jsonb, bytea, jsonb, bytea, integer)",
    "log_write_events(jsonb, bytea, bytea, bigint[])",
    "log_write_rows(jsonb, bytea, bigint[])",
)

Stored = tuple[Any, bytes]
"""The key of a row, and its document as it is stored."""


def upgrade() -> None:
    connection = _begin()
    _put_aside(connection)
    _run(connection, "compressed_tables_v27")
    dictionary = keep_dictionary(
        connection,
        events=("before_event", "convert_to(data::text, 'UTF8')"),
        states=("before_workload", "convert_to(state::text, 'UTF8')"),
    )

    def kept(rows: Sequence[Stored]) -> list[bytes]:
        return [stored_form(document, dictionary) for _, document in rows]

    for log in LOGS:
        for part, bounds in _parts_aside(connection, log):
            _copy_part(
                connection,
                part,
                EVENT_COLUMNS,
                ("convert_to(data::text, 'UTF8')", "body", "bytea", kept),
            )
            _attach(connection, log, part, bounds)
    _copy(
        connection,
        ("before_workload", "workload", "stream", "text"),
        WORKLOAD_COLUMNS,
        ("convert_to(state::text, 'UTF8')", "state", "bytea", kept),
    )
    _index_workloads(connection, WORKLOAD_INDEXES)
    _copy_memory(connection, ("convert_to(value, 'UTF8')", "bytea"), kept)
    for table in ROWS:
        _change_states(connection, table, ("convert_to(state::text, 'UTF8')", "bytea"), kept)
    _drop_aside(connection)
    connection.execute(
        "ALTER TABLE stream SET (fillfactor = 85, autovacuum_vacuum_scale_factor = 0.02)"
    )
    _run(connection, "compressed_append_v27")
    _run(connection, "log_write_rows_v27")
    _analyze(connection)


def downgrade() -> None:
    connection = _begin()
    _put_aside(connection)
    tables = (SQL / "tables_v1.sql").read_text()
    connection.execute(_between(tables, "CREATE TABLE event (", "CREATE TABLE stream"))
    connection.execute("SELECT protect_from_change('event')")
    _run(connection, "archive_v3")
    connection.execute(_table_of_workloads(tables))

    def plain(rows: Sequence[Stored]) -> list[str]:
        return [document_of(stored).decode() for _, stored in rows]

    for log in LOGS:
        for part, bounds in _parts_aside(connection, log):
            _copy_part(connection, part, EVENT_COLUMNS, ("body", "data", "json", plain))
            _attach(connection, log, part, bounds)
    _copy(
        connection,
        ("before_workload", "workload", "stream", "text"),
        f"{WORKLOAD_COLUMNS}, uid",
        ("state", "state", "json", plain),
        computed={"uid": "given.kept->>'uid'"},
    )
    _index_workloads(connection, INDEXES_BEFORE)
    memory = _between(
        tables, "CREATE TABLE follower_memory (", "    CONSTRAINT follower_memory_pkey"
    )
    connection.execute(memory.rstrip().rstrip(",") + ")")
    _copy_memory(connection, ("value", "text"), plain)
    for table in ROWS:
        _change_states(connection, table, ("state", "json"), plain)
    _drop_aside(connection)
    connection.execute("ALTER TABLE stream SET (fillfactor = 70)")
    connection.execute("ALTER TABLE stream RESET (autovacuum_vacuum_scale_factor)")
    for function in FUNCTIONS:
        connection.execute(f"DROP FUNCTION {function}")
    chained = (SQL / "log_chain_v9.sql").read_text()
    name = "CREATE FUNCTION log_append(runs jsonb, bodies bytea, points jsonb)"
    append = _between(chained, name, "CREATE FUNCTION log_append_decisions")
    connection.execute(append.replace("CREATE FUNCTION", "CREATE OR REPLACE FUNCTION", 1))
    _run(connection, "log_write_rows_v23")
    connection.execute("DROP TABLE dictionary")
    _analyze(connection)


def _begin() -> Connection:
    """The connection, by the driver alone, with the log locked."""
    op.execute("SET LOCAL statement_timeout = 0")
    connection: Connection = op.get_bind().connection.driver_connection
    connection.execute("SELECT FROM log_head FOR UPDATE")
    return connection


def _analyze(connection: Connection) -> None:
    """Tells the planner of what was copied; of an empty table it would expect that it stays so."""
    head = connection.execute("SELECT position FROM log_head").fetchone()
    if head is not None and head[0] > 0:
        connection.execute("ANALYZE event, event_archive, workload, object, round")


def _run(connection: Connection, name: str) -> None:
    connection.execute((SQL / f"{name}.sql").read_text())


def _between(text: str, first: str, end: str) -> str:
    """The statements of a file from one on, up to another."""
    start = text.index(first)
    return text[start : text.index(end, start)]


def _table_of_workloads(tables: str) -> str:
    """The table as it was, without its indexes, with the columns that came after its first form."""
    made = _between(tables, "CREATE TABLE workload (", "CREATE INDEX workload_created_at")
    made = made.replace(" CONSTRAINT workload_pkey PRIMARY KEY", " NOT NULL")
    added = [f"ADD COLUMN {name} bigint" for name in _INSTANTS]
    added += [f"ADD COLUMN {name} bigint NOT NULL DEFAULT 0" for name in _FIGURES]
    added += [f"ADD COLUMN {name} text COLLATE \"C\" NOT NULL DEFAULT ''" for name in _TEXTS]
    return f"{made}; ALTER TABLE workload {', '.join(added)}"


_INSTANTS = ("admitted_at", "finished_at", "stuck_since", "reserved_at")
_FIGURES = ("gpus", "pods", "executed_seconds")
_TEXTS = ("owner", "stuck_cause", "size_class")


def _put_aside(connection: Connection) -> None:
    """Renames tables with their partitions and indexes, so that their names are free."""
    connection.execute("DROP VIEW event_whole")
    for table in REBUILT:
        indexes = connection.execute(INDEXES, (table, table)).fetchall()
        for (name,) in indexes:
            connection.execute(f"ALTER INDEX {name} RENAME TO before_{name}")
        for name, _ in connection.execute(PARTS, (table,)).fetchall():
            connection.execute(f"ALTER TABLE {name} RENAME TO before_{name}")
        connection.execute(f"ALTER TABLE {table} RENAME TO before_{table}")


def _drop_aside(connection: Connection) -> None:
    for table in REBUILT:
        connection.execute(f"DROP TABLE before_{table}")


def _parts_aside(connection: Connection, log: str) -> Iterator[tuple[str, str]]:
    """The partitions of a log that was put aside: their names of before, and their bounds."""
    for name, bounds in connection.execute(PARTS, (f"before_{log}",)).fetchall():
        assert BOUNDS.fullmatch(bounds), f"the partition {name} has the bounds {bounds}"
        yield name.removeprefix("before_"), bounds


Change = tuple[str, str, str, Callable[[Sequence[Stored]], Sequence[Any]]]
"""Of documents: how they are read, the column and type they get, and what changes them."""


def _copy_part(connection: Connection, part: str, columns: str, change: Change) -> None:
    connection.execute(f"CREATE TABLE {part} (LIKE event INCLUDING DEFAULTS)")
    _copy(connection, (f"before_{part}", part, "position", "bigint"), columns, change)


def _attach(connection: Connection, log: str, part: str, bounds: str) -> None:
    """Makes a table a partition, which makes its indexes, and refuses changes of it."""
    connection.execute(f"ALTER TABLE {log} ATTACH PARTITION {part} {bounds}")
    connection.execute("SELECT protect_from_change(%s::regclass)", (part,))


def _copy(
    connection: Connection,
    place: tuple[str, str, str, str],
    columns: str,
    change: Change,
    computed: dict[str, str] | None = None,
) -> None:
    """Copies a table into another one, in order of a key, with its documents changed."""
    source, target, key, key_type = place
    read, column, kind, changed = change
    values = [(computed or {}).get(name, f"old.{name}") for name in columns.split(", ")]
    insert = (
        f"INSERT INTO {target} ({columns}, {column}) SELECT {', '.join(values)}, given.kept "
        f"FROM (SELECT key, kept::{kind} FROM unnest(%b::{key_type}[], %b::{_carried(kind)}[]) "
        f"AS given(key, kept)) AS given JOIN {source} AS old ON old.{key} = given.key "
        f"ORDER BY old.{key}"
    )
    for rows in _batches(connection, source, key, read):
        connection.execute(insert, ([row[0] for row in rows], list(changed(rows))))


def _change_states(
    connection: Connection,
    table: str,
    change: tuple[str, str],
    changed: Callable[[Sequence[Stored]], Sequence[Any]],
) -> None:
    """Changes the states of a small table in place."""
    read, kind = change
    connection.execute(f"ALTER TABLE {table} ADD COLUMN changed {kind}")
    update = (
        f"UPDATE {table} SET changed = given.kept::{kind} "
        f"FROM unnest(%b::text[], %b::{_carried(kind)}[]) AS given(key, kept) "
        f"WHERE {table}.stream = given.key"
    )
    for rows in _batches(connection, table, "stream", read):
        connection.execute(update, ([row[0] for row in rows], list(changed(rows))))
    connection.execute(f"ALTER TABLE {table} DROP COLUMN state")
    connection.execute(f"ALTER TABLE {table} RENAME COLUMN changed TO state")
    connection.execute(f"ALTER TABLE {table} ALTER COLUMN state SET NOT NULL")


def _copy_memory(
    connection: Connection,
    change: tuple[str, str],
    changed: Callable[[Sequence[Stored]], Sequence[Any]],
) -> None:
    read, kind = change
    query = (
        f"SELECT follower, generation, key, {read} FROM before_follower_memory "
        f"WHERE (follower, generation, key) > (%s, %s, %s) ORDER BY 1, 2, 3 LIMIT {BATCH}"
    )
    insert = (
        "INSERT INTO follower_memory (follower, generation, key, value) "
        f"SELECT * FROM unnest(%b::text[], %b::integer[], %b::text[], %b::{kind}[])"
    )
    after: tuple[Any, ...] = ("", 0, "")
    while rows := stored_rows(connection, query, after, 3, binary=True):
        keys = [[row[column] for row in rows] for column in range(3)]
        values = changed([(row[2], row[3]) for row in rows])
        connection.execute(insert, (*keys, list(values)))
        after = rows[-1][:3]
    connection.execute(MEMORY_KEY)


def _carried(kind: str) -> str:
    """The type that values travel as: arrays of JSON are made of texts."""
    return "text" if kind == "json" else kind


def _batches(connection: Connection, source: str, key: str, read: str) -> Iterator[list[Stored]]:
    """The documents of a table by key, in order of the key."""
    query = f"SELECT {key}, {read} FROM {source} WHERE {key} > %s ORDER BY {key} LIMIT {BATCH}"
    after: Any = -1 if key == "position" else ""
    while rows := stored_rows(connection, query, (after,), 1, binary=True):
        yield rows
        after = rows[-1][0]


def _index_workloads(connection: Connection, indexes: dict[str, str]) -> None:
    connection.execute(WORKLOAD_KEY)
    for name, rule in indexes.items():
        connection.execute(f"CREATE INDEX {name} ON workload {rule}")
