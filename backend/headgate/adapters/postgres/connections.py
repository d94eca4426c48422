"""Connections to the database: pools that recover, and outages under one name."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from psycopg_pool import ConnectionPool, PoolTimeout

from headgate.application.ports import Unavailable

CONNECT_TIMEOUT_SECONDS = 5
POOL_TIMEOUT_SECONDS = 5.0
LONGEST_NAME = 63

Connection = psycopg.Connection[tuple[Any, ...]]
Pool = ConnectionPool[Connection]

OUTAGES = (psycopg.OperationalError, psycopg.InterfaceError, PoolTimeout)


def open_pool(url: str, *, most: int = 8, name: str = "headgate") -> Pool:
    """Connections that commit each statement by itself; broken ones are replaced on the way out.

    `name` is what the database shows of whoever holds them.
    """
    return ConnectionPool(
        url,
        kwargs={
            "autocommit": True,
            "connect_timeout": CONNECT_TIMEOUT_SECONDS,
            "application_name": name[:LONGEST_NAME],
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
    versions tell on the next try.
    """
    try:
        yield
    except OUTAGES as outage:
        if isinstance(outage, psycopg.errors.QueryCanceled):
            raise
        raise Unavailable(str(outage)) from outage


def _check(connection: Connection) -> None:
    # A round trip at each checkout would double the cost of small reads; a socket that the server
    # has closed is seen without one.
    if connection.closed or connection.pgconn.status != psycopg.pq.ConnStatus.OK:
        raise psycopg.OperationalError("the connection is closed")
