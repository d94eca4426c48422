"""Bodies and states are compressed with dictionaries that the database keeps for ever."""

import asyncio
from collections.abc import Iterator

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.adapters.postgres import append_encoding
from headgate.adapters.postgres.append_encoding import (
    document_of,
    meet_dictionary,
    unknown_dictionaries,
)
from headgate.adapters.postgres.connections import MIN_SAMPLES, Pool, open_pool
from headgate.adapters.postgres.event_log import PostgresEventLog
from headgate.adapters.postgres.maintenance import PostgresMaintenance
from headgate.adapters.postgres.read_models import PostgresReadModels
from headgate.adapters.postgres.tail import PostgresTail
from headgate.application.ports import Unavailable, WrittenObject
from headgate.application.verify.verify import audit_chain
from tests.contracts.events import event, shown, unit
from tests.contracts.test_read_models import workload

NOTE = "the node n-{} has not reported for {} seconds, so that its pods count as lost"
STORED_BYTES = "SELECT sum(octet_length(body)) FROM event WHERE position > %s"
TEMPLATE = WrittenObject(digest="d" * 64, body=b'{"spec":{"containers":[]}}' * 9)
DICTIONARY = meet_dictionary(b'{"message":"the node has not reported"}')


@pytest.fixture
def pool(fresh_database_url: str) -> Iterator[Pool]:
    opened = open_pool(fresh_database_url, most=1)
    yield opened
    opened.close()


def fill(pool: Pool, first: int, count: int = MIN_SAMPLES) -> None:
    """Appends so many events that differ little, each on a stream of its own."""
    numbers = range(first, first + count)
    units = [unit(event(f"workload/a/{n}", NOTE.format(n, n * 7919))) for n in numbers]
    PostgresEventLog(pool).append(units)


def train(pool: Pool) -> None:
    """Trains a dictionary, which the next connection finds when it is made."""
    assert PostgresMaintenance(pool).train_dictionary() == 1
    with pool.connection() as connection:
        connection.close()


def stored_bytes(pool: Pool, after: int) -> int:
    with pool.connection() as connection:
        row = connection.execute(STORED_BYTES, (after,)).fetchone()
    assert row is not None
    return int(row[0])


def test_a_trained_dictionary_makes_bodies_smaller_and_changes_nothing_else(pool: Pool) -> None:
    log, models = PostgresEventLog(pool), PostgresReadModels(pool)
    fill(pool, 0)
    plain = stored_bytes(pool, 0)

    train(pool)
    fill(pool, 10_000)
    state = workload("seen", labels={"team": "vision"})
    log.append([shown("workload/team/seen", state)])

    assert stored_bytes(pool, MIN_SAMPLES) < 0.5 * plain
    assert audit_chain(log).differs_at is None
    notes = [each.event for each in log.read_all()][:-1]
    assert notes == [
        unit(event("s", NOTE.format(n, n * 7919))).events[0].event
        for first in (0, 10_000)
        for n in range(first, first + MIN_SAMPLES)
    ]
    (loaded,) = models.load(["workload/team/seen"])
    assert loaded.state == state


def test_another_process_reads_what_is_compressed(
    pool: Pool, fresh_database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has met no dictionary before; each way of reading asks the database for it."""
    fill(pool, 0)
    train(pool)
    other = open_pool(fresh_database_url)
    PostgresEventLog(other).append(
        [unit(event("workload/b/1", NOTE.format(1, 2)), written=(TEMPLATE,))]
    )
    state = workload("seen", labels={"team": "vision"})
    PostgresEventLog(other).append([shown("workload/team/seen", state)])
    log, models = PostgresEventLog(other), PostgresReadModels(other)
    head = log.head()

    async def tailed() -> list[int]:
        point = log.point_at(head - 2)
        assert point is not None
        batches = PostgresTail(fresh_database_url).follow(point)
        batch = await anext(batches)
        await batches.aclose()  # type: ignore[attr-defined]
        return [each.position for each in batch.events]

    def forget() -> None:
        monkeypatch.setattr(append_encoding, "_DICTIONARIES", {})

    forget()
    assert [each.position for each in log.read(head - 2, limit=9)] == [head - 1, head]
    forget()
    assert len(log.read_stream("workload/b/1")) == 1
    forget()
    assert [each.stored.position for each in log.read_chain(head - 1, limit=9)] == [head]
    forget()
    assert [each.state for each in models.load(["workload/team/seen"])] == [state]
    forget()
    assert models.written([TEMPLATE.digest]) == {TEMPLATE.digest: TEMPLATE.body}
    forget()
    assert asyncio.run(tailed()) == [head - 1, head]
    other.close()


def test_a_dictionary_is_left_until_the_log_is_twice_as_long(pool: Pool) -> None:
    maintained = PostgresMaintenance(pool)
    fill(pool, 0, MIN_SAMPLES // 2)
    assert maintained.train_dictionary() == 0, "there are too few bodies"
    fill(pool, 1_000)
    assert maintained.train_dictionary() == 1
    fill(pool, 10_000)
    assert maintained.train_dictionary() == 0, "the log is not twice as long"
    fill(pool, 20_000)
    assert maintained.train_dictionary() == 0, "another one would be no better"


def test_nothing_is_appended_with_a_dictionary_that_the_database_lacks(
    pool: Pool, fresh_database_url: str
) -> None:
    """As after a failover to a standby that lagged: what it lacks could never be read."""
    fill(pool, 0)
    train(pool)
    fill(pool, 10_000, 9)
    head = PostgresEventLog(pool).head()
    with psycopg.connect(fresh_database_url, autocommit=True) as connection:
        connection.execute("SET session_replication_role = replica")
        connection.execute("DELETE FROM dictionary")
    refused = 0
    for number in range(40):
        try:
            fill(pool, 20_000 + number, 1)
        except Unavailable:
            refused += 1

    log = PostgresEventLog(pool)
    assert refused > 0
    assert log.head() == head + 40 - refused, "each is appended plainly once it has looked again"
    assert len(log.read(head, limit=99)) == 40 - refused


def test_a_dictionary_cannot_be_deleted(pool: Pool) -> None:
    fill(pool, 0)
    assert PostgresMaintenance(pool).train_dictionary() == 1

    with pool.connection() as connection, pytest.raises(psycopg.errors.RestrictViolation):
        connection.execute("DELETE FROM dictionary")


@given(st.binary())
def test_a_stored_form_gives_the_document_back(document: bytes) -> None:
    stored = DICTIONARY.stored(document)

    assert document_of(stored) == document
    assert unknown_dictionaries([stored, None]) == []
