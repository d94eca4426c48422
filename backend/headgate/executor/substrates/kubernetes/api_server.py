"""Requests to a Kubernetes API server, from a thread with an event loop.

An answer that says to try again is as no answer (`ServerAway`), any other refusal has the status
that the server gives it (`Refused`).
"""

import asyncio
import contextlib
import socket
import threading
from collections.abc import AsyncIterator, Coroutine, Mapping
from typing import Any, TypeVar

import httpx
import msgspec

from headgate.adapters.system.clocks_and_randomness import elapsed_seconds
from headgate.executor.substrate import Object
from headgate.executor.substrates.kubernetes.access import Access, NoAccess

MERGE_PATCH = "application/merge-patch+json"
JSON = "application/json"
SECONDS_TO_ANSWER = 15.0
CONFLICT, GONE, TOO_MANY, UNPROCESSABLE, NOT_FOUND = 409, 410, 429, 422, 404
BAD_REQUEST, UNAUTHORIZED, SERVER_ERROR = 400, 401, 500
MAX_RETRY_AFTER_SECONDS = 60.0
PARALLEL_REQUESTS = 16

Answer = TypeVar("Answer")
_KEEPALIVE = [
    (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
    (socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 30),
    (socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, 10),
]


class ServerAway(Exception):
    """The server gave no answer, or one that says to ask again."""


class Refused(Exception):
    """The server refused a request: its status, reason and message are those of a `Status`."""

    def __init__(self, status: int, reason: str, message: str) -> None:
        super().__init__(message)
        self.status, self.reason, self.message = status, reason, message


class Status(msgspec.Struct):
    """What the server says of a request that failed."""

    code: int = 0
    reason: str = ""
    message: str = ""


class ApiServer:
    """One API server; the coroutines run in the loop of the thread that `LoopThread` is.

    Streams have connections of their own: a pool with many busy ones keeps none for the next
    request, and looks at each of them for every request.
    """

    def __init__(self, access: Access) -> None:
        self._access = access
        auth = access.auth()
        self._client = _client(access, auth)
        self._streams = _client(access, auth)
        self._places = asyncio.Semaphore(PARALLEL_REQUESTS)
        self.retry_at = 0.0

    async def get(self, path: str, params: Mapping[str, Any] | None = None) -> bytes:
        """Returns an object or a page of a list."""
        return await self._send("GET", path, params=params)

    async def create(self, path: str, body: Object) -> bytes:
        """Creates an object in a collection."""
        return await self._send("POST", path, content=msgspec.json.encode(body))

    async def patch(self, path: str, body: Object) -> bytes:
        """Changes an object by a merge patch."""
        content = msgspec.json.encode(body)
        return await self._send("PATCH", path, content=content, media_type=MERGE_PATCH)

    async def delete(
        self, path: str, options: Object, params: Mapping[str, Any] | None = None
    ) -> bytes:
        """Deletes an object, or those of a collection; `options` are DeleteOptions."""
        body = {"apiVersion": "v1", "kind": "DeleteOptions", **options}
        return await self._send("DELETE", path, params=params, content=msgspec.json.encode(body))

    @contextlib.asynccontextmanager
    async def stream(
        self, path: str, params: Mapping[str, Any], *, silence_seconds: float | None
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        """Yields what the server sends, until it ends. Raises as requests do."""
        timeout = httpx.Timeout(SECONDS_TO_ANSWER, read=silence_seconds, pool=None)
        request = self._streams.build_request(
            "GET",
            path,
            params=dict(params),
            timeout=timeout,
            headers={"Accept-Encoding": "identity"},
            extensions=self._extensions(),
        )
        try:
            response = await self._streams.send(request, stream=True)
            try:
                if response.status_code >= BAD_REQUEST:
                    self._note_retry_after(response)
                    _raise_refusal(response.status_code, await response.aread())
                yield response.aiter_raw()
            finally:
                await response.aclose()
        except (httpx.TransportError, httpx.StreamError, NoAccess) as failure:
            raise ServerAway(f"{type(failure).__name__}: {failure}") from failure

    async def close(self) -> None:
        """Closes all connections."""
        await self._client.aclose()
        await self._streams.aclose()

    async def _send(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, Any] | None = None,
        content: bytes | None = None,
        media_type: str = JSON,
    ) -> bytes:
        headers = {"Content-Type": media_type} if content is not None else {}
        async with self._places:
            try:
                response = await self._client.request(
                    method,
                    path,
                    params=dict(params or {}),
                    content=content,
                    headers=headers,
                    extensions=self._extensions(),
                )
            except (httpx.TransportError, NoAccess) as failure:
                raise ServerAway(f"{type(failure).__name__}: {failure}") from failure
        if response.status_code >= BAD_REQUEST:
            self._note_retry_after(response)
            _raise_refusal(response.status_code, response.content)
        return response.content

    def _note_retry_after(self, response: httpx.Response) -> None:
        """Notes until when a server that is overloaded wants to be left alone."""
        told = response.headers.get("Retry-After", "")
        if told.isdecimal():
            seconds = min(float(told), MAX_RETRY_AFTER_SECONDS)
            self.retry_at = max(self.retry_at, elapsed_seconds() + seconds)

    def _extensions(self) -> dict[str, Any]:
        name = self._access.server_name
        return {"sni_hostname": name} if name else {}


def _client(access: Access, auth: httpx.Auth | None) -> httpx.AsyncClient:
    transport = httpx.AsyncHTTPTransport(
        verify=access.tls,
        limits=httpx.Limits(max_connections=None, max_keepalive_connections=PARALLEL_REQUESTS),
        socket_options=_KEEPALIVE,
    )
    return httpx.AsyncClient(
        base_url=access.url,
        transport=transport,
        auth=auth,
        headers={"User-Agent": "headgate-executor", "Accept": JSON},
        timeout=httpx.Timeout(SECONDS_TO_ANSWER, pool=None),
    )


def _raise_refusal(code: int, content: bytes) -> None:
    """Raises what an answer means; servers and proxies on the way may send no `Status`.

    A token that is not valid now is the executor's trouble, and no verdict on what it asked for.
    """
    try:
        status = msgspec.json.decode(content, type=Status)
    except msgspec.DecodeError:
        status = Status(message=content[:200].decode(errors="replace"))
    told = status.message or f"the server answered {code}"
    if code in {UNAUTHORIZED, TOO_MANY} or code >= SERVER_ERROR:
        raise ServerAway(told)
    raise Refused(code, status.reason, told)


class LoopThread:
    """A thread with an event loop, for the connections of one executor."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="kubernetes", daemon=True)
        self._thread.start()

    def call(self, work: Coroutine[Any, Any, Answer]) -> Answer:
        """Runs a coroutine in the loop, and returns what it returns; from another thread."""
        return asyncio.run_coroutine_threadsafe(work, self.loop).result()

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        """Begins a coroutine that runs until the loop ends; from any thread."""

        def begin() -> None:
            task = self.loop.create_task(work)
            self._tasks.add(task)
            task.add_done_callback(self._note_end)

        self.loop.call_soon_threadsafe(begin)

    def end(self, last: Coroutine[Any, Any, None]) -> None:
        """Cancels what was begun, runs `last`, and ends the thread."""
        self.call(self._cancel())
        self.call(last)
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join()
        self.loop.close()

    def raise_failure(self) -> None:
        """Raises what ended a coroutine that was to run on."""
        if self._failure is not None:
            raise self._failure

    def _note_end(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and task.exception() is not None:
            self._failure = task.exception()

    async def _cancel(self) -> None:
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _run(self) -> None:
        asyncio.set_event_loop(self.loop)
        self.loop.run_forever()
