"""Connections to the database: pools that recover, and outages under one name."""

from collections.abc import Iterator
from contextlib import contextmanager
from select import select
from typing import Any

import psycopg
from psycopg_pool import ConnectionPool, PoolTimeout

from headgate.application.ports import Unavailable
from headgate.event_log.codec import Unstorable

CONNECT_TIMEOUT_SECONDS = 5
POOL_TIMEOUT_SECONDS = 5.0
MAX_NAME_BYTES = 63

Connection = psycopg.Connection[tuple[Any, ...]]
Pool = ConnectionPool[Connection]

OUTAGE_CLASSES = ("08", "53", "57P", "58")
"""SQLSTATE of lost connections, full servers, shutdowns and failing systems."""

OUTAGE_STATES = ("25P03", "25P04", "25006", "40001", "40P01", "55P03")
"""Sessions ended for hanging, a server that is a replica now, and lost races for locks."""


def open_pool(url: str, *, most: int = 8, name: str = "headgate") -> Pool:
    """Connections that commit each statement by itself; broken ones are replaced on the way out.

    `name` is the application name that the database shows for them.
    """
    return ConnectionPool(
        url,
        kwargs={
            "autocommit": True,
            "connect_timeout": CONNECT_TIMEOUT_SECONDS,
            "application_name": name[:MAX_NAME_BYTES],
        },
        min_size=1,
        max_size=most,
        timeout=POOL_TIMEOUT_SECONDS,
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
        while select([connection.fileno()], [], [], 0)[0]:
            connection.pgconn.consume_input()
    except psycopg.OperationalError:
        # Otherwise the pool would take it for a good one and offer it again.
        connection.close()
        raise
