"""Follows the log as it grows: a notification says look, and a slow poll stands behind it.

What a process has read is compared with the log at each look, and on each new connection.
"""

import asyncio
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing
from typing import Any

import psycopg
import structlog

from headgate.adapters.postgres.append_encoding import meet_dictionary, unknown_dictionaries
from headgate.adapters.postgres.archived_events import BODY, COLUMNS
from headgate.adapters.postgres.connections import (
    DICTIONARIES,
    NEXT_POINT,
    Connection,
    LimitedAsyncConnection,
    Pool,
    connection_options,
    is_outage,
    next_point,
    point_at,
)
from headgate.adapters.postgres.event_log import gapless
from headgate.event_log.chain import LogBatch, LogPoint

CHANNEL = "headgate_log"
BATCH = 250
"""Events decoded and folded at once, while no other task of the event loop runs."""
POLL_SECONDS = 1.0
RECONNECT_SECONDS = 0.5
SERVER_LIMITS = """
    SELECT set_config('tcp_keepalives_idle', '10', false),
           set_config('tcp_keepalives_interval', '5', false),
           set_config('tcp_keepalives_count', '3', false),
           set_config('tcp_user_timeout', '15000', false)
"""
"""The database ends the session of a host that has vanished within 25 s, not within hours."""
CONNECT_SECONDS = 2.0
"""So long a process waits for its listener, so that others see it before it shares with them."""
ANSWER_SECONDS = 10.0
BUSY_BATCH = 4
BUSY_SECONDS = 0.01
_READ = f"SELECT {COLUMNS} FROM event WHERE position > %s ORDER BY position LIMIT {BATCH}"

log = structlog.get_logger()


class PostgresTail:
    """Fills the port `Tail`; an outage of the database only makes it wait."""

    def __init__(self, url: str, *, poll_seconds: float = POLL_SECONDS) -> None:
        self._url = url
        self._poll_seconds = poll_seconds

    async def follow(self, point: LogPoint) -> AsyncIterator[LogBatch]:
        """Batches of new events in order, for ever; raises `GapInLog` at a gap, and `PastLost`.

        The point that was read last is compared with the log at each look, and so on each new
        connection before anything else.
        """
        while True:
            try:
                # Else a reader that stops leaves the connection to the garbage collector.
                async with aclosing(self._connected(point)) as batches:
                    async for batch in batches:
                        point = batch.point
                        yield batch
            except psycopg.Error as failure:
                if not is_outage(failure):
                    raise
                # The database is away: what was missed is read by position once it is back.
                await asyncio.sleep(RECONNECT_SECONDS)

    async def _connected(self, point: LogPoint) -> AsyncGenerator[LogBatch]:
        async with await LimitedAsyncConnection.connect(
            self._url, **connection_options(self._url, "headgate-tail")
        ) as connection:
            connection.answer_seconds = ANSWER_SECONDS
            await connection.execute(f"LISTEN {CHANNEL}")
            while True:
                batch = await _batch(connection, point)
                count = len(batch.events)
                if count:
                    point = batch.point
                    yield batch
                if count < BATCH:
                    await _more(connection, self._poll_seconds, is_busy=count >= BUSY_BATCH)


async def _batch(connection: psycopg.AsyncConnection[tuple[Any, ...]], point: LogPoint) -> LogBatch:
    rows = await (await connection.execute(_READ, (point.position,), binary=True)).fetchall()
    missing = unknown_dictionaries(row[BODY] for row in rows)
    if missing:
        found = await connection.execute(DICTIONARIES, (missing,), binary=True)
        for (body,) in await found.fetchall():
            meet_dictionary(body)
    last = rows[-1][0] if rows else point.position
    asked = await connection.execute(NEXT_POINT, (point.position, last), binary=True)
    after = next_point(await asked.fetchone(), point, last)
    return LogBatch(events=list(gapless(rows, point.position)), point=after)


async def _more(
    connection: psycopg.AsyncConnection[tuple[Any, ...]], seconds: float, *, is_busy: bool
) -> None:
    """Return at the next notification, or after a while without one.

    While events come many at once the next ones gather for a moment: reading each group alone
    would cost more than folding it.
    """
    if is_busy:
        await asyncio.sleep(BUSY_SECONDS)
    async for _ in connection.notifies(timeout=seconds, stop_after=1):
        return


class AppendListener:
    """Calls back after each append of any process, in a thread of its own (ADR 0064).

    `appended` gets the last position, or None where appends may have been missed. `name` is the
    application name that the database shows for its connection.
    """

    def __init__(self, url: str, appended: Callable[[int | None], None], name: str) -> None:
        self._url = url
        self._name = name
        self._appended = appended
        self._is_closed = threading.Event()
        self._is_told = False
        self._is_connected = threading.Event()
        self._thread = threading.Thread(target=self._run, name="listener", daemon=True)

    def start(self) -> None:
        """Starts the thread; it connects, and connects again after an outage.

        Returns once it has connected, or after a while.
        """
        self._thread.start()
        self._is_connected.wait(CONNECT_SECONDS)

    def close(self) -> None:
        """Ends the thread, within `POLL_SECONDS` unless the database hangs."""
        self._is_closed.set()
        self._thread.join(2 * POLL_SECONDS)

    def _run(self) -> None:
        while not self._is_closed.is_set():
            try:
                self._listen()
            except psycopg.Error as failure:
                # Whatever the failure, sweeps find what was appended meanwhile.
                self._tell(failure)
            self._is_closed.wait(RECONNECT_SECONDS)

    def _tell(self, failure: psycopg.Error) -> None:
        """Writes the cause to the process's log, once until it listens again."""
        if not self._is_told:
            log.warning("not told of appends, connecting again", outage=str(failure))
        self._is_told = True

    def _listen(self) -> None:
        options = connection_options(self._url, self._name)
        with psycopg.connect(self._url, **options) as connection:
            connection.execute(SERVER_LIMITS)
            connection.execute(f"LISTEN {CHANNEL}")
            self._is_told = False
            self._is_connected.set()
            self._appended(None)
            while not self._is_closed.is_set():
                for notification in connection.notifies(timeout=POLL_SECONDS):
                    self._appended(int(notification.payload))


class PastComparison:
    """Compares what a process has read with the log, on each new connection of its pools.

    A connection that is made anew may lead to a promoted standby or a restored backup. Where that
    has another past, the other connections of the pools are replaced, as they may lead elsewhere.
    """

    def __init__(self) -> None:
        self.pools: tuple[Pool, ...] = ()
        self._point: Callable[[], LogPoint | None] = lambda: None
        self._lost: Callable[[], None] = lambda: None

    def begin(self, point: Callable[[], LogPoint | None], lost: Callable[[], None]) -> None:
        """Compares from now on; both are called in threads of the pools.

        `point` gives the point that the process has read up to, None while it is read anew;
        `lost` is told that the log does not have it.
        """
        self._point, self._lost = point, lost

    def compare(self, connection: Connection) -> None:
        """Tells `lost` and replaces all connections if the log does not have the point."""
        point = self._point()
        if point is None or point_at(connection, point.position) == point:
            return
        self._lost()
        for pool in self.pools:
            pool.drain()
