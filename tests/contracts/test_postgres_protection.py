"""What only Postgres can promise: facts stay, and an outage is an outage."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import aclosing
from random import Random
from typing import Any

import psycopg
import pytest
import structlog

from headgate.adapters.postgres.connections import open_pool
from headgate.adapters.postgres.event_log import PostgresEventLog
from headgate.adapters.postgres.maintenance import migrate
from headgate.adapters.postgres.partitions import PostgresPartitions
from headgate.adapters.postgres.tail import AppendListener, PostgresTail
from headgate.application.failures import GapInLog
from headgate.application.ports import Unavailable
from headgate.embedded.servers import EmbeddedPostgres
from headgate.event_log.chain import LogPoint
from headgate.event_log.codec import Unstorable
from tests.conftest import new_database
from tests.contracts.adapters import Adapters, on_postgres
from tests.contracts.events import are_appended, event, unit

PATIENCE_SECONDS = 60
CHANGES = (
    "UPDATE {} SET actor = 'none'",
    "DELETE FROM {}",
    "TRUNCATE {}",
)
END_OF_LISTENERS = """
    SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE application_name = 'headgate-share test' AND datname = current_database()
"""


@pytest.fixture
def adapters(fresh_database_url: str) -> Iterator[Adapters]:
    with on_postgres(fresh_database_url) as opened:
        opened.log.append([unit(event())])
        yield opened


@pytest.mark.parametrize("table", ["event", "event_0"])
@pytest.mark.parametrize("change", CHANGES)
def test_even_a_superuser_cannot_change_what_happened(
    adapters: Adapters, fresh_database_url: str, change: str, table: str
) -> None:
    with (
        psycopg.connect(fresh_database_url) as connection,
        pytest.raises(psycopg.errors.RestrictViolation),
    ):
        connection.execute(change.format(table))

    assert adapters.log.head() == len(adapters.log.read(0, limit=9)) == 1


@pytest.mark.parametrize("table", ["event", "event_0"])
@pytest.mark.parametrize("change", CHANGES)
def test_an_ordinary_owner_has_no_right_to_change_what_happened(
    owned_url: str, change: str, table: str
) -> None:
    with (
        psycopg.connect(owned_url) as connection,
        pytest.raises(psycopg.errors.InsufficientPrivilege),
    ):
        connection.execute(change.format(table))


def test_an_ordinary_owner_can_do_everything_else(owned_url: str) -> None:
    with on_postgres(owned_url) as adapters:
        assert are_appended(adapters.log.append([unit(event())])) == [True]
        session = adapters.partitions.try_lock("installation", "w")
        assert session is not None
        with session:
            session.commit_idle(idle_position=1, next_due=None)
        adapters.followers.rebuild("queue_history")


@pytest.fixture
def owned_url(postgres_server: EmbeddedPostgres) -> Iterator[str]:
    """A database with an owner without superuser rights."""
    with (
        new_database(postgres_server, "template0") as url,
        psycopg.connect(url, autocommit=True) as connection,
    ):
        name = connection.info.dbname
        # Roles belong to the whole server, which other processes of the run use as well.
        owner = f"owner_of_{name}"
        connection.execute(f"CREATE ROLE {owner} LOGIN")
        connection.execute(f"ALTER DATABASE {name} OWNER TO {owner}")
        owned = url.replace("headgate@", f"{owner}@", 1)
        migrate(owned)
        yield owned
        connection.execute(f"ALTER DATABASE {name} OWNER TO headgate")
        connection.execute(f"DROP OWNED BY {owner}")
        connection.execute(f"DROP ROLE {owner}")


def test_the_log_grows_into_its_next_partition(adapters: Adapters, fresh_database_url: str) -> None:
    with psycopg.connect(fresh_database_url, autocommit=True) as connection:
        connection.execute("UPDATE log_head SET position = 1499998")
        for n in range(4):
            adapters.log.append([unit(event(f"workload/b/{n}"))])
        connection.execute("UPDATE log_head SET position = 1999998")
        for n in range(4):
            adapters.log.append([unit(event(f"workload/c/{n}"))])
        children = connection.execute(
            "SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhparent = 'event'::regclass "
            "ORDER BY 1"
        ).fetchall()

    assert children == [("event_0",), ("event_1",), ("event_2",), ("event_3",)]
    assert [r.position for r in adapters.log.read(1_999_998, limit=9)] == [
        1_999_999, 2_000_000, 2_000_001, 2_000_002,
    ]  # fmt: skip


def test_a_gap_is_never_passed_over(adapters: Adapters, fresh_database_url: str) -> None:
    with psycopg.connect(fresh_database_url, autocommit=True) as connection:
        connection.execute("UPDATE log_head SET position = 2")
    adapters.log.append([unit(event("workload/a/2"))])

    with pytest.raises(GapInLog):
        adapters.log.read(0, limit=9)
    with pytest.raises(GapInLog):
        list(adapters.log.read_all(1))
    with pytest.raises(GapInLog):
        asyncio.run(_positions(adapters.tail, adapters.point(0), 3))  # type: ignore[arg-type]


def test_a_text_that_cannot_be_stored_is_refused_before_it_is_sent(adapters: Adapters) -> None:
    with pytest.raises(Unstorable):
        adapters.log.append([unit(event("workload/a/9", "a\0b"))])

    assert adapters.log.head() == 1


def test_connections_that_break_are_replaced(adapters: Adapters, fresh_database_url: str) -> None:
    assert adapters.log.head() == 1
    terminate_all(fresh_database_url)

    outcomes = [_head_or_outage(adapters) for _ in range(4)]

    assert outcomes[-1] == 1
    assert set(outcomes) <= {1, "unavailable"}


def test_a_restart_is_not_even_noticed_by_idle_connections(
    adapters: Adapters, fresh_database_url: str
) -> None:
    terminate_all(fresh_database_url)

    assert adapters.log.head() == 1


def test_a_worker_that_hangs_loses_its_session(fresh_database_url: str) -> None:
    pool = open_pool(fresh_database_url)
    start = PostgresEventLog(pool).chain_start()
    partitions = PostgresPartitions(pool, hang_seconds=0.05)
    session = partitions.try_lock("installation", "sleeper")
    assert session is not None
    with session:
        _wait_until_gone(fresh_database_url)
        with pytest.raises(Unavailable):
            session.commit_decisions([unit(event("workload/a/2"))], next_due=None)
    again = PostgresPartitions(pool).try_lock("installation", "successor")

    assert again is not None
    with again:
        assert again.catch_up(start).events == []
    pool.close()


def test_what_is_too_large_is_not_an_outage(adapters: Adapters) -> None:
    with pytest.raises(psycopg.errors.ProgramLimitExceeded):
        adapters.log.append([unit(event("workload/a/" + random_text(9_000)))])


def random_text(length: int) -> str:
    """Text that does not compress."""
    return Random(5).randbytes(length).hex()[:length]


def test_a_database_that_is_not_there_is_unavailable(postgres_server: EmbeddedPostgres) -> None:
    with on_postgres(postgres_server.url_of("nowhere")) as adapters, pytest.raises(Unavailable):
        adapters.log.head()


def test_the_tail_continues_after_its_connection_was_ended(
    adapters: Adapters, fresh_database_url: str
) -> None:
    async def scenario() -> list[int]:
        tail = PostgresTail(fresh_database_url, poll_seconds=0.05)
        reading = asyncio.create_task(_positions(tail, adapters.point(0), 5))
        await asyncio.sleep(0)
        for n in range(2, 6):
            await asyncio.to_thread(adapters.log.append, [unit(event(f"workload/a/{n}"))])
            await asyncio.to_thread(terminate_tails, fresh_database_url)
        return await reading

    assert asyncio.run(scenario()) == [1, 2, 3, 4, 5]


def test_the_tail_finds_what_no_notification_told_it_of(
    adapters: Adapters, fresh_database_url: str
) -> None:
    async def scenario() -> list[int]:
        tail = PostgresTail(fresh_database_url, poll_seconds=0.05)
        reading = asyncio.create_task(_positions(tail, adapters.point(0), 2))
        async with await psycopg.AsyncConnection.connect(
            fresh_database_url, autocommit=True
        ) as silent:
            await silent.execute(
                "WITH quiet AS (UPDATE log_head SET position = 2), chained AS "
                "(INSERT INTO log_chain VALUES (2, 2, sha256(''))) INSERT INTO event "
                "SELECT 2, at, 2, schema_version, type, stream, actor, reason, causation, "
                "correlation, trace, body FROM event"
            )
            return await reading

    assert asyncio.run(scenario()) == [1, 2]


def test_a_listener_tells_the_cause_of_an_outage_once(
    fresh_database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    refusals = ["refused", "refused again"]
    heard = threading.Semaphore(0)
    connect = psycopg.connect

    def connect_later(*given: Any, **options: Any) -> psycopg.Connection[Any]:
        if refusals:
            raise psycopg.OperationalError(refusals.pop(0))
        return connect(*given, **options)

    monkeypatch.setattr("headgate.adapters.postgres.tail.RECONNECT_SECONDS", 0.01)
    monkeypatch.setattr("headgate.adapters.postgres.tail.psycopg.connect", connect_later)
    listener = AppendListener(fresh_database_url, lambda _: heard.release(), "headgate-share test")
    with structlog.testing.capture_logs() as told:
        listener.start()
        assert heard.acquire(timeout=PATIENCE_SECONDS), "it listens"
        with connect(fresh_database_url, autocommit=True) as connection:
            refusals.append("refused later")
            connection.execute(END_OF_LISTENERS)
        assert heard.acquire(timeout=PATIENCE_SECONDS), "it listens again"
        listener.close()

    first, second = [each["outage"] for each in told]
    assert first == "refused"
    assert "connection" in second, "not what later attempts met"


async def _positions(tail: PostgresTail, after: LogPoint, up_to: int) -> list[int]:
    positions: list[int] = []
    batches = tail.follow(after)
    async with asyncio.timeout(PATIENCE_SECONDS), aclosing(batches):  # type: ignore[type-var]
        async for batch in batches:
            positions.extend(recorded.position for recorded in batch.events)
            if positions[-1] >= up_to:
                break
    return positions


def _head_or_outage(adapters: Adapters) -> int | str:
    try:
        return adapters.log.head()
    except Unavailable:
        return "unavailable"


def _wait_until_gone(url: str) -> None:
    """Return once no session holds an advisory lock any more."""
    query = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'"
    with psycopg.connect(url, autocommit=True) as connection:
        for _ in range(PATIENCE_SECONDS * 100):
            if connection.execute(query).fetchone() == (0,):
                return
            connection.execute("SELECT pg_sleep(0.01)")
    raise AssertionError("the session is still there")


def terminate_all(url: str) -> None:
    """End every other connection to the database."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )


def terminate_tails(url: str) -> None:
    """End the connections that listen."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid() "
            "AND (query LIKE 'LISTEN%' OR query LIKE '%ORDER BY position LIMIT 1000%')"
        )
