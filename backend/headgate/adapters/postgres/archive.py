"""Old partitions of the log moved aside: into a table, whole and readable, or into files.

Files are saved whole, proved by their digest, and brought back.
"""

import csv
import gzip
import hashlib
import io
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec
from psycopg import sql

from headgate.adapters.postgres.append_encoding import document_of, stored_form
from headgate.adapters.postgres.archived_events import BODY, COLUMNS, EventRow
from headgate.adapters.postgres.connections import (
    Connection,
    Pool,
    connection_of,
    dictionary_of,
    stored_rows,
)
from headgate.adapters.postgres.event_log import PAGE, stored_event
from headgate.application.failures import BrokenFile
from headgate.application.maintenance import LogPartition
from headgate.event_log.chain import chain_after

_PARTITIONS = """
    SELECT child.relname, pg_get_expr(child.relpartbound, child.oid)
    FROM pg_inherits JOIN pg_class AS child ON child.oid = inhrelid
    WHERE inhparent = %s::regclass ORDER BY child.oid
"""
_BOUNDS = re.compile(r"FROM \('(\d+)'\) TO \('(\d+)'\)")
LOCK_TIMEOUT = "SET LOCAL lock_timeout = '5s'"


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
            found.append(LogPartition(name=name, first=int(match[1]), end=int(match[2])))
    return sorted(found, key=lambda part: part.first)


LEVEL = 6
MAX_FIELD_BYTES = 2**31 - 1
FILE_COLUMNS = tuple(COLUMNS.replace("body", "data").split(", "))
"""The columns of a file, of which `data` is the body in JSON."""


class SavedPartition(msgspec.Struct, frozen=True, kw_only=True):
    """What stands beside the file of a part: positions from `first` up to, and without, `end`."""

    log: str
    name: str
    first: int
    end: int
    events: int
    sha256: str


class LogArchiveFiles:
    """Writes archived parts of the log into files, and reads them back."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    def holds_events(self, part: LogPartition) -> bool:
        """Whether a part is in the database, and was not taken away."""
        query = sql.SQL("SELECT EXISTS (SELECT FROM {})").format(sql.Identifier(part.name))
        with connection_of(self._pool) as connection:
            return bool(_number(connection, query))

    def save(self, part: LogPartition, directory: Path) -> Path:
        """Write one part that holds events; the path of what tells of it.

        The table stays as it is.
        """
        assert self.holds_events(part), "a file would be written over with nothing"
        directory.mkdir(parents=True, exist_ok=True)
        unfinished = directory / f"{part.name}.unfinished"
        with connection_of(self._pool) as connection:
            events = _write(connection, part, unfinished)
            log = _log_id(connection)
        saved = SavedPartition(
            log=log,
            name=part.name,
            first=part.first,
            end=part.end,
            events=events,
            sha256=_digest(unfinished),
        )
        unfinished.rename(_file_of(directory / f"{part.name}.json"))
        about = directory / f"{part.name}.json"
        _write_durably(about, msgspec.json.format(msgspec.json.encode(saved)) + b"\n")
        return about

    def take_away(self, about: Path) -> SavedPartition:
        """Empty the table of a saved part, once its file is proved to hold all of it."""
        saved = _proved(about)
        name = sql.Identifier(saved.name)
        with connection_of(self._pool) as connection, connection.transaction():
            connection.execute(LOCK_TIMEOUT)
            _refuse_another_log(connection, saved)
            query = sql.SQL("SELECT count(*) FROM {}").format(name)
            if _number(connection, query) != saved.events:
                told = f"{about} holds {saved.events} events, and the table holds others"
                raise BrokenFile(told)
            connection.execute(
                sql.SQL("ALTER TABLE event_archive DETACH PARTITION {}").format(name)
            )
            connection.execute(sql.SQL("DROP TABLE {}").format(name))
            make_empty(connection, saved.name, saved.first, saved.end)
        return saved

    def restore(self, about: Path) -> SavedPartition:
        """Bring a saved part back into its empty table; refuses one that holds events.

        The chain of the log, which stays when a part is taken away, must be that of its events.
        """
        saved = _proved(about)
        name = sql.Identifier(saved.name)
        with connection_of(self._pool) as connection, connection.transaction():
            connection.execute(LOCK_TIMEOUT)
            _refuse_another_log(connection, saved)
            if _number(connection, "SELECT to_regclass(%s) IS NULL", saved.name):
                make_empty(connection, saved.name, saved.first, saved.end)
            if _number(connection, sql.SQL("SELECT count(*) FROM {}").format(name)):
                raise BrokenFile(f"the events of {saved.name} are in the database already")
            _read(connection, saved, about)
            _prove_chain(connection, saved, about)
        return saved


def _write(connection: Connection, part: LogPartition, path: Path) -> int:
    """Writes bodies as they are chained, so that a file needs no dictionary to be read."""
    events = 0
    with path.open("wb") as raw, gzip.GzipFile("", "wb", LEVEL, raw, mtime=0) as out:
        with io.TextIOWrapper(out, "utf-8", newline="", write_through=True) as text:
            writer = csv.writer(text, lineterminator="\n")
            writer.writerow(FILE_COLUMNS)
            for rows in pages_of(connection, part.name):
                events += len(rows)
                for row in rows:
                    body = document_of(row[BODY]).decode()
                    writer.writerow((*row[:BODY], body, *row[BODY + 1 :]))
        raw.flush()
        os.fsync(raw.fileno())
    return events


def pages_of(connection: Connection, name: str) -> Iterator[list[EventRow]]:
    """The rows of a part in the order of `FILE_COLUMNS`, in order of their positions."""
    after = -1
    query = f"SELECT {COLUMNS} FROM {name} WHERE position > %s ORDER BY position LIMIT {PAGE}"
    while rows := stored_rows(connection, query, (after,), BODY, binary=True):
        yield rows
        after = rows[-1][0]


def _read(connection: Connection, saved: SavedPartition, about: Path) -> None:
    """Reads a file; those of releases before have columns besides, which are left out."""
    dictionary = dictionary_of(connection)
    csv.field_size_limit(MAX_FIELD_BYTES)
    columns = sql.SQL(COLUMNS)
    copy = sql.SQL("COPY {} ({}) FROM STDIN").format(sql.Identifier(saved.name), columns)
    events = 0
    with (
        gzip.open(_file_of(about), "rt", encoding="utf-8", newline="") as source,
        connection.cursor().copy(copy) as target,
    ):
        for row in csv.DictReader(source):
            body = row["data"].encode()
            stored = stored_form(body, dictionary)
            target.write_row([stored if name == "data" else row[name] for name in FILE_COLUMNS])
            events += 1
    if events != saved.events:
        raise BrokenFile(f"{about} tells of {saved.events} events and holds {events}")


_CHAIN_BEFORE = """
    SELECT start.position, log_chain_at(start.position)
    FROM (SELECT greatest(%s, min(position)) AS position FROM log_chain) AS start
"""


def _prove_chain(connection: Connection, saved: SavedPartition, about: Path) -> None:
    """Raises `BrokenFile` where the events of a part are not those that the log has chained."""
    position, chain = chain_before(connection, saved.first)
    for rows in pages_of(connection, saved.name):
        position, chain = chain_through(rows, position, chain)
    end = connection.execute("SELECT log_chain_at(%s)", (position,)).fetchone()
    if end is None or end[0] != chain:
        raise BrokenFile(f"{about} holds other events than the log has chained")


def chain_before(connection: Connection, first: int) -> tuple[int, bytes]:
    """The position before a part from where on the log is chained, and its chain value."""
    start = connection.execute(_CHAIN_BEFORE, (first - 1,)).fetchone()
    assert start is not None, "the log is chained from its first position on"
    return start[0], start[1]


def chain_through(rows: Iterable[EventRow], position: int, chain: bytes) -> tuple[int, bytes]:
    """The last position of some rows after one, and the chain value there."""
    for row in rows:
        if row[0] > position:
            position, chain = row[0], chain_after(chain, stored_event(row))
    return position, chain


def make_empty(connection: Connection, table: str, first: int, end: int) -> None:
    """An empty table where a part stood, so that its positions are not given out anew."""
    name, bounds = sql.Identifier(table), (sql.Literal(first), sql.Literal(end))
    make = sql.SQL("CREATE TABLE {} (LIKE event_archive INCLUDING ALL)")
    attach = sql.SQL("ALTER TABLE event_archive ATTACH PARTITION {} FOR VALUES FROM ({}) TO ({})")
    connection.execute(make.format(name))
    connection.execute(attach.format(name, *bounds))
    connection.execute("SELECT protect_from_change(%s::regclass)", (table,))


def _proved(about: Path) -> SavedPartition:
    """What a file tells of itself; raises `BrokenFile` where its content is another."""
    try:
        saved = msgspec.json.decode(about.read_bytes(), type=SavedPartition)
        found = _digest(_file_of(about))
    except (OSError, msgspec.MsgspecError) as failure:
        raise BrokenFile(f"{about} cannot be read: {failure}") from failure
    if found != saved.sha256:
        raise BrokenFile(f"{_file_of(about)} has changed since it was saved: another digest")
    return saved


def _refuse_another_log(connection: Connection, saved: SavedPartition) -> None:
    if _log_id(connection) != saved.log:
        raise BrokenFile(f"{saved.name} was saved from another log, {saved.log}")


def _log_id(connection: Connection) -> str:
    row = connection.execute("SELECT log_id::text FROM log_head").fetchone()
    return str(row[0]) if row else ""


def _number(connection: Connection, query: sql.Composable | str, *values: str) -> int:
    row = connection.execute(query, values).fetchone()  # type: ignore[arg-type]
    return int(row[0]) if row else 0


def _file_of(about: Path) -> Path:
    return about.with_suffix(".csv.gz")


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _write_durably(path: Path, content: bytes) -> None:
    with path.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
