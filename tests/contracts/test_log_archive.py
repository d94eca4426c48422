"""Archived parts of the log are whole, protected, readable, and out of the way of new facts."""

from collections.abc import Iterator

import psycopg
import pytest
from psycopg import sql

from headgate.adapters.postgres.archive import LogArchive
from headgate.adapters.postgres.connections import Pool, open_pool
from headgate.adapters.postgres.followers import PostgresFollowers
from headgate.application.failures import Archived
from headgate.application.historical_states import HistoricalStates
from headgate.application.maintenance import LogPartition
from headgate.application.ports import EventFilter
from headgate.application.verify.verify import Verifier
from headgate.messages.catalogue import text_of
from tests.contracts.adapters import Adapters, on_postgres
from tests.workers.cluster import cluster, folded, record, submitted_many

SMALL = (("event_0", 0, 10), ("event_1", 10, 20), ("event_2", 20, 2_000_000))


@pytest.fixture
def database_of_small_parts(fresh_database_url: str) -> str:
    """A log with ten positions in each of its first partitions."""
    with psycopg.connect(fresh_database_url, autocommit=True) as connection:
        connection.execute("DROP TABLE event_0, event_1")
        for name, first, end in SMALL:
            bounds = (sql.Identifier(name), sql.Literal(first), sql.Literal(end))
            text = "CREATE TABLE {} PARTITION OF event FOR VALUES FROM ({}) TO ({})"
            connection.execute(sql.SQL(text).format(*bounds))
            connection.execute("SELECT protect_from_change(%s::regclass)", (name,))
    return fresh_database_url


@pytest.fixture
def adapters(database_of_small_parts: str) -> Iterator[Adapters]:
    """The installation over it, with thirty events and more."""
    with on_postgres(database_of_small_parts) as found:
        record(found.log, *cluster("gpu"))
        record(found.log, *submitted_many("gpu", 30))
        yield found


@pytest.fixture
def pool(database_of_small_parts: str) -> Iterator[Pool]:
    """Connections of the command."""
    opened = open_pool(database_of_small_parts)
    yield opened
    opened.close()


def archive_all(pool: Pool, before: int) -> list[LogPartition]:
    archive = LogArchive(pool)
    parts = archive.archivable(before)
    for part in parts:
        archive.archive(part)
    return parts


def test_only_full_parts_before_the_position_are_archived(adapters: Adapters, pool: Pool) -> None:
    assert adapters.log.head() > 30
    assert [part.name for part in LogArchive(pool).archivable(19)] == ["event_0"]
    assert [part.name for part in archive_all(pool, 5_000_000)] == ["event_0", "event_1"]
    assert LogArchive(pool).archivable(5_000_000) == []
    assert [part.name for part in LogArchive(pool).archived()] == ["event_0", "event_1"]


def test_what_is_archived_is_read_as_before(adapters: Adapters, pool: Pool) -> None:
    log = adapters.log
    everything = list(log.read_all())
    some, one = log.read(3, limit=9, up_to=12), log.read_stream(everything[0].stream)
    newest = log.page(EventFilter(), before=15, limit=5)
    state = folded(log)
    archive_all(pool, 20)
    assert list(log.read_all()) == everything
    assert log.read(3, limit=9, up_to=12) == some
    assert log.read(2, limit=5, up_to=9) == everything[2:7]
    assert log.read_stream(everything[0].stream) == one
    assert log.page(EventFilter(), before=15, limit=5) == newest
    assert folded(log).dump() == state.dump()


def test_the_log_continues_and_everything_holds(
    adapters: Adapters, pool: Pool, database_of_small_parts: str
) -> None:
    archive_all(pool, 20)
    before = adapters.log.head()
    record(adapters.log, *submitted_many("gpu", 5, prefix="later"))
    assert adapters.log.head() == before + 5
    with psycopg.connect(database_of_small_parts, autocommit=True) as connection:
        connection.execute("SELECT extend_log(1000000)")
    followers = PostgresFollowers(pool)
    for name in followers.names():
        followers.rebuild(name)
    verifier = Verifier(adapters.log, adapters.models, followers)
    assert verifier.verify(lambda *_: None).findings == ()


def test_of_what_was_archived_and_taken_away_that_is_said(
    adapters: Adapters, pool: Pool, database_of_small_parts: str
) -> None:
    archive_all(pool, 10)
    with psycopg.connect(database_of_small_parts, autocommit=True) as connection:
        connection.execute("DROP TABLE event_0")
    past = HistoricalStates(adapters.log, adapters.state_cache)
    for position in (3, 9, 10, 25):
        with pytest.raises(Archived) as failure:
            past.at(position)
        assert "begins at position 10" in text_of(failure.value.message)


def test_archived_facts_cannot_be_changed(
    adapters: Adapters, pool: Pool, database_of_small_parts: str
) -> None:
    archive_all(pool, 20)
    assert adapters.log.head() > 30
    with (
        psycopg.connect(database_of_small_parts, autocommit=True) as connection,
        pytest.raises(psycopg.errors.RestrictViolation),
    ):
        connection.execute("DELETE FROM event_archive WHERE position = 3")
