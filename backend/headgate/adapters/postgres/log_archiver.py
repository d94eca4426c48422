"""Partitions of the log moved from the database into the archive store, whole and proved."""

import hashlib
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from psycopg import sql

from headgate.adapters.postgres.append_encoding import document_of
from headgate.adapters.postgres.archive import (
    LOCK_TIMEOUT,
    LogArchive,
    chain_before,
    chain_through,
    make_empty,
    pages_of,
)
from headgate.adapters.postgres.archived_events import (
    BODY,
    ArchiveFrame,
    EventRow,
    content_in_store,
    frame_of,
    rows_in_content,
)
from headgate.adapters.postgres.connections import Connection, Pool, connection_of
from headgate.application.cooperative import Cooperative
from headgate.application.failures import BrokenFile
from headgate.application.file_stores import ContentKey, ContentStore
from headgate.application.maintenance import LogArchiveStatus, LogPartition
from headgate.application.projections.followers import PROJECTIONS
from headgate.domain.values.instants import Instant

_ALONE = "SELECT pg_try_advisory_lock(hashtextextended('archive the log', 7308))"
_OTHERS = "SELECT pg_advisory_unlock(hashtextextended('archive the log', 7308))"
_UNLESS_STARVED = "SET idle_session_timeout = {:.0f}"
MAX_STARVED_SECONDS = 120.0
STEP_SECONDS = 0.02
_NEEDED = """
    SELECT min(coalesce(position, 0)) + 1
    FROM unnest(%s::text[]) AS projection(name) LEFT JOIN follower USING (name)
"""
_SIZE = """
    SELECT coalesce(sum(pg_total_relation_size(relid)), 0)::bigint
    FROM (SELECT relid FROM pg_partition_tree('event')
          UNION ALL SELECT relid FROM pg_partition_tree('event_archive')) AS log
"""
_STATUS = """
    SELECT coalesce(max(last), 0), coalesce(sum(stored_bytes), 0)::bigint,
        coalesce((SELECT failure FROM log_archive), '')
    FROM archived_partition
"""
_RECORD = """
    INSERT INTO log_archive (checked_at, failure, failed_at)
    VALUES (%(at)s, %(failure)s, %(failed)s)
    ON CONFLICT (id) DO UPDATE
    SET checked_at = %(at)s, failure = %(failure)s,
        failed_at = coalesce(%(failed)s, log_archive.failed_at)
"""
_KEEP_PARTITION = """
    INSERT INTO archived_partition (first, last, log, digest, stored_bytes, archived_at)
    VALUES (%s, %s, %s, %s, %s, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint)
"""
_FRAME_COLUMNS = ArchiveFrame.__struct_fields__
_KEEP_FRAME = f"""
    INSERT INTO archived_frame (archived_partition, {", ".join(_FRAME_COLUMNS)})
    VALUES (%s, {", ".join(["%s"] * len(_FRAME_COLUMNS))})
"""


class PostgresLogArchiver:
    """Fills the ports `ArchivableLog` and `ArchiveStatus`; nothing is moved without a store.

    A partition is in the database until the transaction that says where it is archived; what a
    run that was broken off has put into the store is put there again under an equal name.
    """

    def __init__(self, pool: Pool, store: ContentStore | None) -> None:
        self._pool = pool
        self._given = store

    @property
    def has_store(self) -> bool:
        """Whether there is a store that partitions can be moved to."""
        return self._given is not None

    @property
    def _store(self) -> ContentStore:
        assert self._given is not None, "nothing is moved without a store"
        return self._given

    def status(self) -> LogArchiveStatus:
        """How far the log is archived, and why its oldest partition is not, or no reason."""
        with connection_of(self._pool) as connection:
            row = connection.execute(_STATUS).fetchone()
            stored_bytes = int(_value(connection, _SIZE))
        assert row is not None
        position, archived_bytes, failure = row
        return LogArchiveStatus(
            is_set=self.has_store,
            position=position,
            stored_bytes=stored_bytes,
            archived_bytes=archived_bytes,
            failure=failure,
        )

    @contextmanager
    def alone(self) -> Iterator[Callable[[], object] | None]:
        """What keeps others from archiving until the context is left; None where one does.

        A connection is held. Where it is not called for a while, as this process has no time for
        it, the database ends the connection: another process archives, and the next call raises.
        """
        with connection_of(self._pool) as connection:
            if not _value(connection, _ALONE):
                yield None
                return
            try:
                connection.execute(_UNLESS_STARVED.format(MAX_STARVED_SECONDS * 1_000))
                yield partial(_value, connection, "SELECT 1")
            finally:
                if not connection.closed:
                    connection.execute("RESET idle_session_timeout")
                    connection.execute(_OTHERS)

    def full_partitions(self) -> list[LogPartition]:
        """The partitions in the database that no event comes to any more, oldest first."""
        archive = LogArchive(self._pool)
        head = int(self._number("SELECT position FROM log_head"))
        found = [*archive.archived(), *archive.archivable(head)]
        return [
            measured
            for part in sorted(found, key=lambda part: part.first)
            if (measured := self._measured(part)) is not None
        ]

    def stored_bytes(self) -> int:
        """What the log takes in the database, with its indexes."""
        return self._number(_SIZE)

    def needed_after(self) -> int:
        """The first position that a read model that follows the log has not seen yet."""
        names = [projection.name for projection in PROJECTIONS]
        with connection_of(self._pool) as connection:
            return int(_value(connection, _NEEDED, names))

    def move(self, partition: LogPartition) -> Cooperative[None]:
        """Puts a partition into the store, proves what is there, and takes it off the database.

        Raises `Unavailable`, or `BrokenFile` where the store does not hold what it was given.
        """
        archive = LogArchive(self._pool)
        if any(part.name == partition.name for part in archive.archivable(partition.end)):
            archive.archive(partition)
        yield
        log = str(self._text("SELECT log_id FROM log_head"))
        with tempfile.TemporaryDirectory(prefix="headgate-archive-") as directory:
            path = Path(directory) / partition.name
            frames, digest = yield from self._write(partition, path)
            size = path.stat().st_size
            key = ContentKey(namespace=log, digest=digest)
            yield from self._upload(key, path)
        yield from self._prove(partition, key, frames)
        self._take_off(partition, key, size, frames)

    def record(self, at: Instant, failure: str) -> None:
        """Notes that the archive is up to date, or why a partition was not archived."""
        values = {"at": at, "failure": failure, "failed": at if failure else None}
        with connection_of(self._pool) as connection:
            connection.execute(_RECORD, values)

    def _measured(self, part: LogPartition) -> LogPartition | None:
        """A partition with its age and size; None where its events are not in the database."""
        query = sql.SQL(
            "SELECT at, pg_total_relation_size({}) FROM {} ORDER BY position DESC LIMIT 1"
        ).format(sql.Literal(part.name), sql.Identifier(part.name))
        with connection_of(self._pool) as connection:
            row = connection.execute(query).fetchone()
        if row is None:
            return None
        return LogPartition(
            name=part.name, first=part.first, end=part.end, newest_at=row[0], stored_bytes=row[1]
        )

    def _write(
        self, partition: LogPartition, path: Path
    ) -> Cooperative[tuple[list[ArchiveFrame], str]]:
        """Writes the frames of a partition; returns them, and the digest of the file."""
        frames: list[ArchiveFrame] = []
        digest, place = hashlib.sha256(), 0
        with path.open("wb") as out:
            for rows in self._pages(partition):
                frame, content = frame_of(rows, place)
                out.write(content)
                digest.update(content)
                frames.append(frame)
                place += len(content)
                yield
        return frames, digest.hexdigest()

    def _upload(self, key: ContentKey, path: Path) -> Cooperative[None]:
        """Puts a file into the store in a thread of its own, so that other upkeep goes on.

        Work that is broken off meanwhile ends when the store has the file or refuses it.
        """
        with ThreadPoolExecutor(1, thread_name_prefix="headgate-archive") as thread:
            put = thread.submit(self._store.put, key, path)
            while not put.done():
                wait((put,), STEP_SECONDS)
                yield
            put.result()

    def _pages(self, partition: LogPartition) -> Iterator[list[EventRow]]:
        with connection_of(self._pool) as connection:
            for rows in pages_of(connection, partition.name):
                yield [(*row[:BODY], document_of(row[BODY]), *row[BODY + 1 :]) for row in rows]

    def _prove(
        self, partition: LogPartition, key: ContentKey, frames: list[ArchiveFrame]
    ) -> Cooperative[None]:
        """Reads the object back; raises `BrokenFile` where its events are not all of the partition.

        The digest covers every byte, the chain says that they are the events of the log.
        """
        whole = (max(partition.first, 1), partition.end - 1)
        if not frames or (frames[0].first, frames[-1].last) != whole:
            raise BrokenFile(f"{partition.name} does not hold all its events any more")
        read = hashlib.sha256()
        with connection_of(self._pool) as connection:
            position, chain = chain_before(connection, partition.first)
            for frame in frames:
                content = content_in_store(self._store, key, frame.place, frame.length)
                read.update(content)
                rows = rows_in_content(content, key)
                if (rows[0][0], rows[-1][0]) != (frame.first, frame.last):
                    raise BrokenFile(f"{key.digest} holds other positions than were put there")
                position, chain = chain_through(rows, position, chain)
                yield
            known = connection.execute("SELECT log_chain_at(%s)", (position,)).fetchone()
        if read.hexdigest() != key.digest:
            raise BrokenFile(f"{key.digest} holds other bytes than were put there")
        if known is None or known[0] != chain:
            raise BrokenFile(f"{key.digest} holds other events than the log has chained")

    def _take_off(
        self, partition: LogPartition, key: ContentKey, size: int, frames: list[ArchiveFrame]
    ) -> None:
        """Empties the table, and says where its events are, in one transaction."""
        name = sql.Identifier(partition.name)
        detach = sql.SQL("ALTER TABLE event_archive DETACH PARTITION {}").format(name)
        first = frames[0].first
        kept = (first, frames[-1].last, key.namespace, key.digest, size)
        with connection_of(self._pool) as connection, connection.transaction():
            connection.execute(LOCK_TIMEOUT)
            connection.execute(detach)
            connection.execute(sql.SQL("DROP TABLE {}").format(name))
            make_empty(connection, partition.name, partition.first, partition.end)
            connection.execute(_KEEP_PARTITION, kept)
            values = [
                (first, *(getattr(frame, column) for column in _FRAME_COLUMNS)) for frame in frames
            ]
            connection.cursor().executemany(_KEEP_FRAME, values)

    def _number(self, query: str) -> int:
        return int(self._text(query))

    def _text(self, query: str) -> Any:  # noqa: ANN401 - whatever the query gives
        with connection_of(self._pool) as connection:
            return _value(connection, query)


def _value(connection: Connection, query: str, *values: Any) -> Any:  # noqa: ANN401 - same
    row = connection.execute(query, values).fetchone()
    assert row is not None
    return row[0]
