"""Partitions in the archive store: moved when they are due, and read as if they had never been."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.adapters.object_storage import ObjectContentStore
from headgate.adapters.postgres import followers, log_archiver
from headgate.adapters.postgres.archived_events import ArchivedEvents, EventRow
from headgate.adapters.postgres.connections import Pool, connection_of
from headgate.adapters.postgres.event_log import rows_of_stream
from headgate.adapters.postgres.followers import FollowerReads, PostgresFollowers
from headgate.adapters.postgres.log_archiver import PostgresLogArchiver
from headgate.adapters.shared_directory import DirectoryContentStore
from headgate.application.cooperative import Cooperative
from headgate.application.failures import Archived
from headgate.application.file_stores import ContentKey, ContentStore
from headgate.application.historical_states import HistoricalStates
from headgate.application.maintenance import (
    ARCHIVED_EVERY_SECONDS,
    ArchiveRule,
    ArchiveStatus,
    AutomaticArchive,
    LogPartition,
)
from headgate.application.ports import EventFilter, Unavailable
from headgate.application.projections.workload_pods import PodFilter
from headgate.application.verify.verify import ChainAudit, Verifier, audit_chain
from headgate.bootstrap import LOG_ARCHIVE
from tests.contracts.adapters import Adapters, on_postgres
from tests.contracts.test_log_archive import archive_all, database_of_small_parts, pool
from tests.contracts.test_pod_logs import object_storage
from tests.operations.test_log_archive import keep_state
from tests.workers.cluster import cluster, folded, record, submitted_many

__all__ = ["database_of_small_parts", "object_storage", "pool"]
ARCHIVED = 19
"""The last position of the two first partitions; the third has the newest event and stays."""

EVERYTHING = ArchiveRule(after_seconds=0, max_bytes=1)
Clock = dict[str, float]


@pytest.fixture(params=["directory", "object storage"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> ContentStore:
    """An empty archive of each kind."""
    if request.param == "directory":
        return DirectoryContentStore(tmp_path, LOG_ARCHIVE)
    address = request.getfixturevalue("object_storage")
    return ObjectContentStore("logs", f"archive/{tmp_path.name}", address, LOG_ARCHIVE)


@pytest.fixture
def directory_store(tmp_path: Path) -> ContentStore:
    """An empty archive in a directory, for what is the same with any."""
    return DirectoryContentStore(tmp_path, LOG_ARCHIVE)


@contextmanager
def filled(url: str, store: ContentStore) -> Iterator[Adapters]:
    """An installation with that archive, two full partitions and a snapshot after them."""
    with on_postgres(url, store) as found:
        record(found.log, *cluster("gpu"))
        record(found.log, *submitted_many("gpu", 30))
        follow(found)
        keep_state(found)
        yield found


def follow(adapters: Adapters) -> None:
    while adapters.followers.advance(*adapters.followers.names()):
        pass


def archive_of(
    adapters: Adapters, pool: Pool, store: ContentStore, rule: ArchiveRule = EVERYTHING
) -> tuple[AutomaticArchive, Clock]:
    clock = {"now": 0.0}
    log = PostgresLogArchiver(pool, store)
    archive = AutomaticArchive(log, adapters.log, adapters.state_cache, rule, lambda: clock["now"])
    return archive, clock


def events_in_database(pool: Pool) -> int:
    with connection_of(pool) as connection:
        row = connection.execute("SELECT count(*) FROM event_whole").fetchone()
    assert row is not None
    return int(row[0])


READS: dict[str, Callable[[Adapters], object]] = {
    "all": lambda it: list(it.log.read_all()),
    "some": lambda it: it.log.read(3, limit=12, up_to=27),
    "across the end": lambda it: it.log.read(17, limit=6),
    "chain": lambda it: it.log.read_chain(2, limit=30),
    "on": lambda it: it.log.read_on(it.point(4), limit=25),
    "stream": lambda it: it.log.read_stream("workload/team/job-gpu-3"),
    "later part of a stream": lambda it: it.log.read_stream("clusterqueue/gpu", 1),
    "no stream": lambda it: it.log.read_stream("workload/team/none"),
    "page of a stream": lambda it: it.log.stream_page("namespace/team", before=None, limit=3),
    "newest": lambda it: it.log.page(EventFilter(), before=25, limit=9),
    "type": lambda it: it.log.page(
        EventFilter(types=("cluster_queue.created",)), before=None, limit=9
    ),
    "streams": lambda it: it.log.page(
        EventFilter(streams=("workload/team/", "localqueue/team/gpu")), before=None, limit=99
    ),
    "one stream": lambda it: it.log.page(
        EventFilter(streams=("workload/team/job-gpu-1",)), before=None, limit=9
    ),
    "actor": lambda it: it.log.page(EventFilter(actor="user:ada"), before=None, limit=99),
    "another actor": lambda it: it.log.page(EventFilter(actor="user:bob"), before=None, limit=9),
    "range": lambda it: it.log.page(EventFilter(after=4, up_to=23), before=22, limit=99),
    "instants": lambda it: it.log.page(
        EventFilter(since=1, until=it.log.now()), before=None, limit=99
    ),
    "counts": lambda it: it.log.histogram(EventFilter(), width=60_000_000_000),
    "counts of a type": lambda it: it.log.histogram(
        EventFilter(types=("workload.submitted",)), width=60_000_000_000
    ),
    "positions": lambda it: it.log.positions_of(
        [(one.stream, one.version) for one in it.log.read(0, limit=31)] + [("workload/team/x", 1)]
    ),
    "past": lambda it: HistoricalStates(it.log, it.state_cache).at(13).dump(),
    "fold": lambda it: folded(it.log).dump(),
}


def test_what_is_in_the_archive_is_read_as_before(
    database_of_small_parts: str, pool: Pool, store: ContentStore
) -> None:
    with filled(database_of_small_parts, store) as adapters:
        before = {name: read(adapters) for name, read in READS.items()}
        found = [name for name, answer in before.items() if answer]
        assert len(found) == len(READS) - 3, "three ask for what there is not"
        archive, _ = archive_of(adapters, pool, store)

        archive.run()

        assert events_in_database(pool) == adapters.log.head() - ARCHIVED
        for name, read in READS.items():
            assert read(adapters) == before[name], name
        assert audit_chain(adapters.log) == ChainAudit(first=1, last=adapters.log.head())
        for name in adapters.followers.names():
            adapters.followers.rebuild(name)
        archived = ArchivedEvents(store)
        followers = PostgresFollowers(pool, archived=archived)
        verification = Verifier(adapters.log, adapters.models, followers).verify(lambda *_: None)
        assert verification.holds
        assert verification.starts_at == 1


def test_a_stream_goes_on_after_its_beginning_was_archived(
    database_of_small_parts: str, pool: Pool, directory_store: ContentStore
) -> None:
    with filled(database_of_small_parts, directory_store) as adapters:
        archive, _ = archive_of(adapters, pool, directory_store)
        archive.run()
        record(adapters.log, *submitted_many("gpu", 3, "later"))

        assert [one.position for one in adapters.log.read(18, limit=4)] == [19, 20, 21, 22]
        assert len(adapters.log.page(EventFilter(), before=None, limit=99)) == adapters.log.head()
        assert archive.run() == 0


def test_without_the_store_it_is_said_that_events_are_archived(
    database_of_small_parts: str, pool: Pool, directory_store: ContentStore
) -> None:
    with filled(database_of_small_parts, directory_store) as adapters:
        archive_of(adapters, pool, directory_store)[0].run()
        at_13 = HistoricalStates(adapters.log, adapters.state_cache).at(13)
    with on_postgres(database_of_small_parts) as adapters, pytest.raises(Archived):
        HistoricalStates(adapters.log, adapters.state_cache).at(13)
    with on_postgres(database_of_small_parts, directory_store) as adapters:
        again = HistoricalStates(adapters.log, adapters.state_cache).at(13)
        assert again.dump() == at_13.dump()


def test_what_a_read_model_or_a_start_needs_stays(
    database_of_small_parts: str, pool: Pool, directory_store: ContentStore
) -> None:
    with on_postgres(database_of_small_parts, directory_store) as adapters:
        record(adapters.log, *cluster("gpu"))
        record(adapters.log, *submitted_many("gpu", 30))
        archive, clock = archive_of(adapters, pool, directory_store)
        follow(adapters)
        assert archive.run() == 0, "no process could start without the whole log"
        keep_state(adapters)
        with connection_of(pool) as connection:
            connection.execute(
                "UPDATE follower SET position = 12, chain = log_chain_at(12)"
                " WHERE name = 'queue_history'"
            )
        clock["now"] += ARCHIVED_EVERY_SECONDS

        assert archive.run() == 1, "a read model has seen twelve events"
        assert events_in_database(pool) == adapters.log.head() - 9
        assert archive.run() == 0, "it looks again later"
        clock["now"] += ARCHIVED_EVERY_SECONDS
        follow(adapters)
        assert archive.run() == 1


def test_one_process_archives_at_a_time_and_the_next_begins_where_it_stopped(
    database_of_small_parts: str, pool: Pool, directory_store: ContentStore
) -> None:
    with filled(database_of_small_parts, directory_store) as adapters:
        first, _ = archive_of(adapters, pool, directory_store)
        second, clock = archive_of(adapters, pool, directory_store)
        work = first.archive_due()
        for _ in range(2):
            next(work)
        assert second.run() == 0, "another process archives"
        assert events_in_database(pool) == adapters.log.head()
        work.close()
        clock["now"] += ARCHIVED_EVERY_SECONDS

        assert second.run() == 2
        assert events_in_database(pool) == adapters.log.head() - ARCHIVED
        assert len(list(adapters.log.read_all())) == adapters.log.head()


def test_a_process_that_has_no_time_to_archive_leaves_it_to_another(
    database_of_small_parts: str,
    pool: Pool,
    directory_store: ContentStore,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with filled(database_of_small_parts, directory_store) as adapters:
        starved, _ = archive_of(adapters, pool, directory_store)
        other, clock = archive_of(adapters, pool, directory_store)
        work = starved.archive_due()
        with monkeypatch.context() as brief:
            brief.setattr(log_archiver, "MAX_STARVED_SECONDS", 0.05)
            for _ in range(2):
                next(work)
        give_up_at = time.monotonic() + 60
        while not (archived := other.run()) and time.monotonic() < give_up_at:
            clock["now"] += ARCHIVED_EVERY_SECONDS
        assert archived == 2
        with pytest.raises(Unavailable):
            list(work)
        assert len(list(adapters.log.read_all())) == adapters.log.head()


class _Slow(DirectoryContentStore):
    """Has a file only when it is told to go on."""

    def __init__(self, root: Path) -> None:
        super().__init__(root, LOG_ARCHIVE)
        self.begun, self.goes_on = Event(), Event()

    def put(self, key: ContentKey, source: Path) -> None:
        self.begun.set()
        assert self.goes_on.wait(60)
        super().put(key, source)


def test_other_upkeep_goes_on_while_a_partition_is_put_into_the_store(
    database_of_small_parts: str, pool: Pool, tmp_path: Path
) -> None:
    store = _Slow(tmp_path)
    with filled(database_of_small_parts, store) as adapters:
        archive, _ = archive_of(adapters, pool, store)
        work = archive.archive_due()
        try:
            while not store.begun.is_set():
                next(work)
            for _ in range(3):
                next(work)
        finally:
            store.goes_on.set()
        for _ in work:
            pass
        assert events_in_database(pool) == adapters.log.head() - ARCHIVED


def one_archived(archive: AutomaticArchive, status: ArchiveStatus) -> Cooperative[int]:
    """The work of an archive, done until the first of two partitions is archived."""
    work = archive.archive_due()
    while not status.status().position:
        next(work)
    return work


def test_a_partition_that_is_archived_during_a_read_is_read_all_the_same(
    database_of_small_parts: str,
    pool: Pool,
    directory_store: ContentStore,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with filled(database_of_small_parts, directory_store) as adapters:
        archive, _ = archive_of(adapters, pool, directory_store)
        work = one_archived(archive, PostgresLogArchiver(pool, directory_store))
        read = ArchivedEvents.rows_after
        ends: list[int] = []

        def and_archive(archived: ArchivedEvents, *asked: Any, **more: Any) -> list[EventRow]:
            rows = read(archived, *asked, **more)
            ends.append(rows[-1][0] if rows else 0)
            for _ in work:
                pass
            return rows

        monkeypatch.setattr(ArchivedEvents, "rows_after", and_archive)
        found = adapters.log.read(0, limit=1_000)
        assert [each.position for each in found] == list(range(1, adapters.log.head() + 1))
        assert ends[0] < ARCHIVED, "the first look into the archive found one partition"
        assert [each.position for each in adapters.log.read(0, limit=1_000, up_to=ARCHIVED)] == [
            *range(1, ARCHIVED + 1)
        ]


def test_pods_are_those_of_before_while_their_events_are_archived(
    database_of_small_parts: str,
    pool: Pool,
    directory_store: ContentStore,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with filled(database_of_small_parts, directory_store) as adapters:
        archive, _ = archive_of(adapters, pool, directory_store)
        work = one_archived(archive, PostgresLogArchiver(pool, directory_store))
        archived_next = [
            each.stream.removeprefix("workload/")
            for each in adapters.log.read(9, limit=10)
            if each.stream.startswith("workload/")
        ]
        query = PodFilter(workload=archived_next[0])
        before = FollowerReads(pool, ArchivedEvents(directory_store)).pods(query)
        read = rows_of_stream

        def archived_first(*asked: Any, **more: Any) -> list[EventRow]:
            for _ in work:
                pass
            return read(*asked, **more)

        monkeypatch.setattr(followers, "rows_of_stream", archived_first)
        reads = FollowerReads(pool, ArchivedEvents(directory_store))
        assert reads.pods(query) == before
        assert PostgresLogArchiver(pool, directory_store).status().position == ARCHIVED


def test_a_failure_is_recorded_and_the_partition_stays_until_it_can_be_archived(
    database_of_small_parts: str, pool: Pool, tmp_path: Path
) -> None:
    place = tmp_path / "archive"
    place.write_text("no directory")
    store = DirectoryContentStore(place, LOG_ARCHIVE)
    status = PostgresLogArchiver(pool, store).status
    with filled(database_of_small_parts, store) as adapters:
        archive, clock = archive_of(adapters, pool, store)
        assert archive.run() == 0
        assert "Not a directory" in status().failure
        assert status().position == 0
        assert len(list(adapters.log.read_all())) == adapters.log.head()
        place.unlink()
        clock["now"] += ARCHIVED_EVERY_SECONDS

        assert archive.run() == 2
        assert (status().failure, status().position) == ("", ARCHIVED)
        assert 0 < status().archived_bytes < 10_000


class _Forging(DirectoryContentStore):
    """Keeps another content than it was given."""

    def read_range(self, key: ContentKey, start: int, length: int) -> bytes | None:
        found = super().read_range(key, start, length)
        return None if found is None else found[:-1] + bytes([found[-1] ^ 1])


def test_a_partition_stays_where_the_store_does_not_hold_what_it_was_given(
    database_of_small_parts: str, pool: Pool, tmp_path: Path
) -> None:
    store = _Forging(tmp_path, LOG_ARCHIVE)
    with filled(database_of_small_parts, store) as adapters:
        archive, _ = archive_of(adapters, pool, store)

        assert archive.run() == 0

        assert "damaged" in PostgresLogArchiver(pool, store).status().failure
        assert events_in_database(pool) == adapters.log.head()


def test_what_was_moved_aside_by_hand_is_archived_too(
    database_of_small_parts: str, pool: Pool, directory_store: ContentStore
) -> None:
    with filled(database_of_small_parts, directory_store) as adapters:
        archive_all(pool, 10)
        archive, _ = archive_of(adapters, pool, directory_store)
        assert archive.run() == 2
        assert len(list(adapters.log.read_all())) == adapters.log.head()
        followers = PostgresFollowers(pool)
        assert set(followers.positions().values()) == {adapters.log.head()}


DAY = 86_400_000_000


def partition(number: int, newest_at: int, stored_bytes: int) -> LogPartition:
    return LogPartition(
        name=f"event_{number}",
        first=10 * number,
        end=10 * number + 10,
        newest_at=newest_at,
        stored_bytes=stored_bytes,
    )


def test_partitions_are_due_by_age_and_by_size() -> None:
    parts = [partition(n, newest_at=n * DAY, stored_bytes=100) for n in range(5)]
    now, total = 10 * DAY, 700
    assert ArchiveRule.of(0, 0).due(parts, now, total) == 0
    assert ArchiveRule.of(8, 0).due(parts, now, total) == 2
    assert ArchiveRule.of(10, 0).due(parts, now, total) == 0
    by_size = ArchiveRule(after_seconds=0, max_bytes=450)
    assert by_size.due(parts, now, total) == 3
    assert ArchiveRule(after_seconds=6 * 86_400, max_bytes=650).due(parts, now, total) == 4


@given(
    sizes=st.lists(st.integers(1, 100), max_size=8),
    rest=st.integers(0, 100),
    limit=st.integers(1, 500),
)
def test_by_size_no_more_is_archived_than_is_too_much(
    sizes: list[int], rest: int, limit: int
) -> None:
    parts = [partition(n, newest_at=0, stored_bytes=size) for n, size in enumerate(sizes)]
    total = sum(sizes) + rest
    count = ArchiveRule(after_seconds=0, max_bytes=limit).due(parts, 0, total)
    left = total - sum(sizes[:count])
    assert left <= limit or count == len(sizes)
    assert count == 0 or left + sizes[count - 1] > limit
