"""Connections to the database: pools that recover, and outages under one name.

Each knows the dictionary that documents which are written through it are compressed with.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from select import POLLIN, poll
from typing import Any, TypeVar
from zlib import crc32

import psycopg
import zstandard
from psycopg.abc import PQGen
from psycopg.conninfo import conninfo_to_dict
from psycopg_pool import ConnectionPool, PoolTimeout

from headgate.adapters.postgres.append_encoding import (
    Dictionary,
    document_of,
    meet_dictionary,
    met_dictionary,
    stored_form,
    unknown_dictionaries,
)
from headgate.application.failures import OutageCause
from headgate.application.ports import Unavailable
from headgate.event_log.chain import LogPoint, PastLost
from headgate.event_log.codec import Unstorable

CONNECT_TIMEOUT_SECONDS = 5
POOL_TIMEOUT_SECONDS = 5.0
MAX_NAME_BYTES = 63
INTERRUPT_SECONDS = 0.1
"""Between two looks whether a wait for the server was interrupted."""
TCP_LIMITS = {
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 15_000,
}
"""In seconds, the last one in milliseconds: a peer that has gone is noticed within 25 s."""
Answer = TypeVar("Answer")

Connection = psycopg.Connection[tuple[Any, ...]]
Pool = ConnectionPool[Connection]

OUTAGE_CLASSES = ("08", "53", "57P", "58")
"""SQLSTATE of lost connections, full servers, shutdowns and failing systems."""

CAUSES: dict[str, OutageCause] = {"53100": "DiskFull", "25006": "ReadOnly"}

OUTAGE_STATES = ("25P03", "25P04", "25006", "40001", "40P01", "55P03")
"""Sessions ended for hanging, a server that is a replica now, and lost races for locks."""


class LimitedConnection(psycopg.Connection[tuple[Any, ...]]):
    """A connection that is closed when the server takes too long over one statement.

    TCP alone does not notice a server, or a balancer before it, that accepts data and never
    answers.
    """

    answer_seconds: float | None = None
    dictionary: Dictionary | None = None
    uses_of_dictionary = 0

    def wait(
        self,
        gen: PQGen[Answer],
        interval: float = INTERRUPT_SECONDS,
        timeout: float | None = None,
    ) -> Answer:
        """Waits for the server; raises `OperationalError` after `answer_seconds`."""
        limit = self.answer_seconds if timeout is None else timeout
        try:
            return super().wait(gen, interval, limit)
        except psycopg.errors._WaitTimeout:  # noqa: SLF001 - it has no public name
            self.pgconn.finish()
            raise


class LimitedAsyncConnection(psycopg.AsyncConnection[tuple[Any, ...]]):
    """As `LimitedConnection`, for the event loop."""

    answer_seconds: float | None = None

    async def wait(
        self,
        gen: PQGen[Answer],
        interval: float = INTERRUPT_SECONDS,
        timeout: float | None = None,  # noqa: ASYNC109 - as its base has it
    ) -> Answer:
        """Waits for the server; raises `OperationalError` after `answer_seconds`."""
        limit = self.answer_seconds if timeout is None else timeout
        try:
            return await super().wait(gen, interval, limit)
        except psycopg.errors._WaitTimeout:  # noqa: SLF001 - it has no public name
            self.pgconn.finish()
            raise


def connection_options(url: str, name: str = "headgate") -> dict[str, Any]:
    """How connections are made; what the URL itself says of TCP stands."""
    given = conninfo_to_dict(url)
    return {
        "autocommit": True,
        "connect_timeout": CONNECT_TIMEOUT_SECONDS,
        "application_name": name[:MAX_NAME_BYTES],
        **{option: value for option, value in TCP_LIMITS.items() if option not in given},
    }


def open_pool(  # noqa: PLR0913 - what a pool is
    url: str,
    *,
    most: int = 8,
    name: str = "headgate",
    answer_seconds: float | None = None,
    min_size: int = 1,
    on_connect: Callable[[Connection], None] = lambda _: None,
) -> Pool:
    """Connections that commit each statement individually; broken ones are replaced on the way out.

    `name` is the application name that the database shows for them. A statement that the server
    has not answered after `answer_seconds` ends its connection; None waits for ever. A connection
    that cannot be made is given up after `POOL_TIMEOUT_SECONDS` and tried again by the next use:
    the growing pauses of the pool would go on long after an outage. `on_connect` is called with
    each new connection, in a thread of the pool, before anything else uses it.
    """

    def configure(connection: Connection) -> None:
        assert isinstance(connection, LimitedConnection)
        connection.answer_seconds = answer_seconds
        on_connect(connection)

    return ConnectionPool(
        url,
        connection_class=LimitedConnection,
        kwargs=connection_options(url, name),
        configure=configure,
        min_size=min_size,
        max_size=most,
        timeout=POOL_TIMEOUT_SECONDS if answer_seconds is None else min(answer_seconds, 5.0),
        reconnect_timeout=POOL_TIMEOUT_SECONDS,
        num_workers=1 if min_size == 0 else 3,
        check=_check,
        open=True,
    )


@contextmanager
def connection_of(pool: Pool) -> Iterator[Connection]:
    """A connection for the while; raises `Unavailable` where there is none or it breaks."""
    with outages(), pool.connection() as connection:
        yield connection


@contextmanager
def outages() -> Iterator[None]:
    """Turns the many faces of a lost connection into `Unavailable`.

    What was sent before may or may not have been done: only an idempotency key or the expected
    versions tell on the next try. A value with U+0000, which no text of the database can be
    compared with, raises `Unstorable`, and nothing was done.
    """
    try:
        yield
    except psycopg.DataError as failure:
        if not _is_about_nul(failure):
            raise
        raise Unstorable("A value holds the character U+0000.") from failure
    except (psycopg.Error, PoolTimeout) as failure:
        if not is_outage(failure):
            raise
        raise Unavailable(str(failure)) from failure


USES_OF_DICTIONARY, USES_OF_NONE = 16, 4
"""Appends between two looks for a newer dictionary."""
_NEWEST_DICTIONARY = "SELECT id FROM dictionary ORDER BY trained_at DESC, id LIMIT 1"
DICTIONARIES = "SELECT body FROM dictionary WHERE id = ANY(%s)"


def dictionary_of(connection: Connection) -> Dictionary | None:
    """The dictionary that an append by this connection compresses with; None before there is one.

    It was read by this very connection, so that it is there whatever server the connection leads
    to.
    """
    assert isinstance(connection, LimitedConnection)
    uses = USES_OF_NONE if connection.dictionary is None else USES_OF_DICTIONARY
    if connection.uses_of_dictionary % uses == 0:
        newest = connection.execute(_NEWEST_DICTIONARY).fetchone()
        if newest is None:
            connection.dictionary = None
        else:
            _meet(connection, [key for key in newest if met_dictionary(key) is None])
            connection.dictionary = met_dictionary(newest[0])
    connection.uses_of_dictionary += 1
    return connection.dictionary


def stored_rows(
    connection: Connection,
    query: str,
    values: Sequence[Any] | Mapping[str, Any],
    column: int,
    *,
    binary: bool = False,
) -> list[tuple[Any, ...]]:
    """The rows of a query with the dictionaries met that the stored forms in a column need."""
    rows = connection.execute(query, values, binary=binary).fetchall()
    _meet(connection, unknown_dictionaries(row[column] for row in rows))
    return rows


def _meet(connection: Connection, keys: Sequence[int]) -> None:
    if keys:
        for (body,) in connection.execute(DICTIONARIES, (list(keys),), binary=True):
            meet_dictionary(body)


DICTIONARY_BYTES, TRAINING_LEVEL = 112 * 1024, 9
SAMPLED_EVENTS = 2_000
SAMPLED_POSITIONS = 200_000
SCATTER = 7_919
MIN_SAMPLES = 500
WORTH_KEEPING = 0.8
"""A dictionary is kept if bodies become so small by it, as a share of what they are without it."""
_SAMPLED_EVENTS = "SELECT stream, {1} FROM {0} WHERE position = ANY(%s) ORDER BY position"
_SAMPLED_STATES = "SELECT stream, {1} FROM {0} WHERE stream = ANY(%s) ORDER BY stream"
_KEEP_DICTIONARY = """
    INSERT INTO dictionary (id, body, position) SELECT %s, %s, position FROM log_head
    ON CONFLICT (id) DO NOTHING
"""


def keep_dictionary(
    connection: Connection,
    *,
    events: tuple[str, str],
    states: tuple[str, str],
    present: Dictionary | None = None,
) -> Dictionary | None:
    """Trains a dictionary and keeps it if bodies become a fifth smaller by it; else None.

    `events` and `states` name a table and what reads its documents. Trained is on every other
    one, and the rest is compared. What authors wrote is no part of it, as that may be erased.
    """
    documents = _sampled(connection, events, states)
    trained = _trained(documents[::2])
    if trained is None:
        return None
    compared = documents[1::2]
    before = sum(len(stored_form(each, present)) for each in compared)
    if sum(len(trained.stored(each)) for each in compared) > WORTH_KEEPING * before:
        return None
    connection.execute(_KEEP_DICTIONARY, (trained.id, trained.body))
    return meet_dictionary(trained.body)


def _trained(documents: Sequence[bytes]) -> Dictionary | None:
    if len(documents) < MIN_SAMPLES // 2:
        return None
    try:
        body = zstandard.train_dictionary(
            DICTIONARY_BYTES, list(documents), level=TRAINING_LEVEL
        ).as_bytes()
    except zstandard.ZstdError:
        # Too few differ.
        return None
    return Dictionary(body)


def _sampled(
    connection: Connection, events: tuple[str, str], states: tuple[str, str]
) -> list[bytes]:
    """Bodies of events spread over the end of the log, and the states of their workloads."""
    row = connection.execute("SELECT position FROM log_head").fetchone()
    head = int(row[0]) if row else 0
    step = max(1, min(head, SAMPLED_POSITIONS) // SAMPLED_EVENTS)
    numbers = range(min(head, SAMPLED_EVENTS))
    # Not evenly: workloads of a batch have their events at even distances.
    positions = [head - number * step - number * SCATTER % step for number in numbers]
    found = stored_rows(connection, _SAMPLED_EVENTS.format(*events), (positions,), 1, binary=True)
    streams = sorted({stream for stream, _ in found})
    found += stored_rows(connection, _SAMPLED_STATES.format(*states), (streams,), 1, binary=True)
    # Training takes the first documents and tries the last ones, so that they are mixed.
    return sorted((document_of(stored) for _, stored in found), key=crc32)


def outage_cause(failure: BaseException | None) -> OutageCause:
    """The cause of an outage as far as the server has told it."""
    state = failure.sqlstate if isinstance(failure, psycopg.Error) else None
    return CAUSES.get(state or "", "Unreachable")


def is_outage(failure: Exception) -> bool:
    """Whether a failure says that the database cannot be used now, and may be again later."""
    if not isinstance(failure, psycopg.Error) or failure.sqlstate is None:
        return isinstance(failure, (psycopg.OperationalError, psycopg.InterfaceError, PoolTimeout))
    return failure.sqlstate.startswith(OUTAGE_CLASSES) or failure.sqlstate in OUTAGE_STATES


def _is_about_nul(failure: psycopg.DataError) -> bool:
    """The driver refuses it in a text; the server, where it is escaped in JSON."""
    if failure.sqlstate is None:
        return "NUL" in str(failure)
    return isinstance(failure, psycopg.errors.UntranslatableCharacter)


def _check(connection: Connection) -> None:
    """Raise if the server has ended the connection, without a round trip to it."""
    try:
        # Not select(), which fails where a process has more than 1,024 connections.
        arrived = poll()
        arrived.register(connection.fileno(), POLLIN)
        while arrived.poll(0):
            connection.pgconn.consume_input()
    except psycopg.OperationalError:
        # Otherwise the pool would take it for a good one and offer it again.
        connection.close()
        raise


NEXT_POINT = "SELECT log_id::text, log_chain_at(%s), log_chain_at(%s) FROM log_head"
"""Identity, and the chain values at a point that was read before and at the one to go on from."""


_POINT = "SELECT log_id::text, log_chain_at(%s) FROM log_head"
_CHAINS = """
    SELECT first, chain FROM log_chain WHERE position >= %s AND first <= %s ORDER BY position
"""
CHAIN_BYTES = 32


def point_at(connection: Connection, position: int) -> LogPoint | None:
    """The point of the log at a position; None where it has none."""
    row = connection.execute(_POINT, (position,), binary=True).fetchone()
    if row is None or row[1] is None:
        return None
    return LogPoint(log_id=row[0], position=position, chain=row[1])


def chain_values(connection: Connection, first: int, last: int) -> dict[int, bytes]:
    """The values of the chain from a position to another one, and of some around them."""
    rows = connection.execute(_CHAINS, (first, last), binary=True)
    return {
        begin + number: chain[number * CHAIN_BYTES : (number + 1) * CHAIN_BYTES]
        for begin, chain in rows
        for number in range(len(chain) // CHAIN_BYTES)
    }


def next_point(row: Sequence[Any] | None, point: LogPoint, last: int) -> LogPoint:
    """The point at `last` from the row of `NEXT_POINT`; raises `PastLost` if `point` is not there.

    What was read between the two belongs to the past of `point` only if it does not raise.
    """
    if row is None or row[0] != point.log_id or row[1] != point.chain:
        raise PastLost(point)
    assert row[2] is not None, f"the event at {last} was written without a chain value"
    return LogPoint(log_id=point.log_id, position=last, chain=row[2])
