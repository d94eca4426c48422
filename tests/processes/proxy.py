"""A TCP proxy before Postgres that stops passing anything on and still accepts."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from psycopg.conninfo import conninfo_to_dict

from tests.processes.listening import end_server

CHUNK_BYTES = 65_536


class Proxy:
    """Leads from a port of this machine to the socket of a server, in a thread of its own."""

    def __init__(self, database_url: str) -> None:
        found = conninfo_to_dict(database_url)
        self._path = str(Path(str(found["host"])) / ".s.PGSQL.5432")
        self._database = found["dbname"]
        self._loop = asyncio.new_event_loop()
        self._passing = asyncio.Event()
        self._passing.set()
        self._server = self._loop.run_until_complete(
            asyncio.start_server(self._serve, "127.0.0.1", 0)
        )
        self.port = int(self._server.sockets[0].getsockname()[1])
        self.accepted = 0
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        """The database behind the proxy."""
        return f"postgresql://headgate@127.0.0.1:{self.port}/{self._database}"

    def stall(self) -> None:
        """Pass nothing on any more, in both directions; connections are accepted and kept."""
        self._loop.call_soon_threadsafe(self._passing.clear)

    def resume(self) -> None:
        """Pass everything on again, also what was held back."""
        self._loop.call_soon_threadsafe(self._passing.set)

    def end(self) -> None:
        """Close everything."""
        asyncio.run_coroutine_threadsafe(end_server(self._server), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.accepted += 1
        writers = [writer]
        try:
            await self._passing.wait()
            there_reader, there_writer = await asyncio.open_unix_connection(self._path)
            writers.append(there_writer)
            await asyncio.gather(
                self._pass_on(reader, there_writer), self._pass_on(there_reader, writer)
            )
        except (OSError, asyncio.CancelledError):
            return
        finally:
            for each in writers:
                each.transport.abort()

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while data := await reader.read(CHUNK_BYTES):
                await self._passing.wait()
                writer.write(data)
                await writer.drain()
        writer.close()


@contextmanager
def proxy_to(database_url: str) -> Iterator[Proxy]:
    """A proxy for the while."""
    proxy = Proxy(database_url)
    try:
        yield proxy
    finally:
        proxy.end()
