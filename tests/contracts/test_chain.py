"""The log chains its events: each value covers an event and all that came before it."""

import psycopg
import pytest

from headgate.adapters.postgres.append_encoding import meet_dictionary
from headgate.application.verify.verify import audit_chain
from headgate.event_log.chain import LogPoint, chain_after, first_chain
from tests.contracts.adapters import Adapters
from tests.contracts.events import event, key, unit

ONE, TWO = "workload/a/1", "workload/ä/😀"


def test_an_empty_log_begins_with_the_value_of_its_identity(adapters: Adapters) -> None:
    log = adapters.log

    assert log.point_at(0) == LogPoint(
        log_id=log.log_id(), position=0, chain=first_chain(log.log_id())
    )
    assert log.point_at(1) is None
    assert audit_chain(log).differs_at is None


def test_each_event_has_the_chain_value_that_the_definition_gives(adapters: Adapters) -> None:
    log = adapters.log
    log.append([unit(event(ONE, "ä\\😀"), event(TWO)), unit(event("workload/a/3"), event(ONE))])
    log.append([unit(event("workload/a/4"))])
    log.append(
        [
            unit(event(TWO), expected={TWO: 1}),
            unit(event(TWO), expected={TWO: 7}),
            unit(event(TWO), event(TWO), expected={TWO: 2}),
        ]
    )

    start = log.chain_start()
    chain = start.chain
    for chained in log.read_chain(0, limit=99):
        chain = chain_after(chain, chained.stored)
        assert chained.chain == chain
        assert log.point_at(chained.stored.position) == LogPoint(
            log_id=start.log_id, position=chained.stored.position, chain=chain
        )
    assert log.head() == 6
    assert audit_chain(log).last == 6
    assert audit_chain(log).differs_at is None


def test_what_is_refused_or_answered_again_leaves_the_chain(adapters: Adapters) -> None:
    log = adapters.log
    log.append([unit(event(ONE), idempotency=key())])
    before = log.point_at(1)

    log.append([unit(event(ONE), idempotency=key()), unit(event(ONE))])

    assert log.head() == 1
    assert log.point_at(1) == before


def test_a_page_of_the_chain_ends_anywhere(adapters: Adapters) -> None:
    for number in range(5):
        adapters.log.append([unit(event(f"workload/a/{number}"), event(f"workload/b/{number}"))])
    whole = adapters.log.read_chain(0, limit=99)

    assert [one.stored.position for one in whole] == list(range(1, 11))
    assert adapters.log.read_chain(3, limit=4) == whole[3:7]


@pytest.mark.parametrize(
    ("change", "differs_at"),
    [
        ('UPDATE event SET body = \'{"message":"other"}\' WHERE position = 4', 4),
        ("UPDATE event SET type = 'workload.activated' WHERE position = 2", 2),
        ("UPDATE event SET version = 9 WHERE position = 3", 3),
        ("UPDATE event SET stream = 'workload/a/9' WHERE position = 1", 1),
        ("UPDATE event SET schema_version = 2 WHERE position = 6", 6),
        ("DELETE FROM event WHERE position = 5", 5),
        ("DELETE FROM event WHERE position >= 5", 5),
        ("DELETE FROM log_chain WHERE position = 6", 4),
        ("DELETE FROM event; DELETE FROM log_chain WHERE position > 0", 1),
    ],
)
def test_the_first_position_that_differs_is_found(
    on_postgres_log: tuple[Adapters, str], change: str, differs_at: int
) -> None:
    adapters, url = on_postgres_log
    for number in range(3):
        events = [event(f"workload/{name}/{number}", "this") for name in "abc"]
        adapters.log.append([unit(*events)])
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("SET session_replication_role = replica")
        connection.execute(change)

    assert audit_chain(adapters.log).differs_at == differs_at


def test_what_is_no_part_of_an_event_leaves_the_chain(
    on_postgres_log: tuple[Adapters, str],
) -> None:
    """Another compression of the body rewrites rows and not what they hold."""
    adapters, url = on_postgres_log
    adapters.log.append([unit(event(ONE, "long " * 9_000))])
    dictionary = meet_dictionary(b"long " * 99)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("SET session_replication_role = replica")
        connection.execute("ALTER TABLE event ALTER COLUMN body SET STORAGE EXTERNAL")
        connection.execute("ALTER TABLE event_0 ALTER COLUMN body SET STORAGE EXTERNAL")
        (body,) = connection.execute("SELECT body FROM event").fetchone() or (b"",)
        values = (dictionary.stored(body),)
        connection.execute("UPDATE event SET body = %s, trace = 'other'", values)

    assert dictionary.stored(body) != body
    assert audit_chain(adapters.log).differs_at is None
