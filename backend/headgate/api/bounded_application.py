"""The application that Granian serves: the API with limits on open requests and slow bodies."""

import asyncio
import sys
import time
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

import msgspec
from litestar.exceptions import HTTPException

from headgate.api.app import create_app
from headgate.api.bodies import Problem
from headgate.api.problems import MEDIA_TYPE, RETRY
from headgate.application.application_services import ApplicationServices
from headgate.application.metrics_durations import RequestDurations
from headgate.settings import from_environment

BODY_SECONDS = 60.0
"""For the whole body of a request, 10 MB at most."""
UPLOAD_SECONDS = 900.0
"""For the whole body of an upload."""
BODY_PAUSE_SECONDS = 15.0
"""Between two parts of a body."""
SWITCH_SECONDS = 0.0002
"""So long a thread that computes keeps the interpreter while another waits for it. A submit waits
for it a dozen times: on the event loop, in the server and in the threads that write and read."""
REQUEST_TIMEOUT = 408
ALWAYS_ANSWERED = ("/healthz", "/readyz")
BEGUN_AT_ONCE = 4
"""Requests that begin in one turn of the event loop, so that health checks come between many."""

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]
Application = Callable[[Any, Any, Any], Awaitable[None]]


class BoundedApplication:
    """An application that serves at most so many requests and streams at once.

    One more is answered with 503 and Retry-After, except for health checks. A body that comes too
    slowly ends its request with 408. An answer without a read of the whole body closes the
    connection and announces it, so that no client reuses it. `durations` counts the answers.
    """

    def __init__(self, app: Application, max_requests: int, durations: RequestDurations) -> None:
        self._app = app
        self._max_requests = max_requests
        self._durations = durations
        self._in_progress = 0
        self._begins = asyncio.Semaphore(BEGUN_AT_ONCE)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serves one request, or answers that there are too many."""
        if scope["type"] != "http" or scope["path"] in ALWAYS_ANSWERED:
            await self._app(scope, receive, send)
            return
        body = _Body(scope, receive)
        answer = body.closing_unless_read(self._counting(scope, send))
        if self._in_progress >= self._max_requests:
            await _refuse(scope["path"], answer)
            return
        self._in_progress += 1
        self._durations.in_progress.inc()
        try:
            async with self._begins:
                await asyncio.sleep(0)
            await self._app(scope, body.receive, answer)
        finally:
            self._in_progress -= 1
            self._durations.in_progress.dec()

    def _counting(self, scope: Scope, send: Send) -> Send:
        """Sends as `send` does, and counts the answer when it begins."""
        began = time.monotonic()

        async def counted(message: Any) -> None:  # noqa: ANN401 - messages of ASGI
            if message["type"] == "http.response.start":
                seconds, route = time.monotonic() - began, scope.get("path_template")
                self._durations.count(scope["method"], route, message["status"], seconds)
            await send(message)

        return counted


def _body_seconds(path: str) -> float:
    """An upload may be large and come through a slow line."""
    return UPLOAD_SECONDS if "/uploads/" in path else BODY_SECONDS


class _Body:
    """The body of a request as it comes; one that stalls raises a failure with status 408."""

    def __init__(self, scope: Scope, receive: Receive) -> None:
        self._receive = receive
        self._ends_at = time.monotonic() + _body_seconds(scope["path"])
        self._is_complete = False
        self._is_announced = any(
            name == b"transfer-encoding" or (name == b"content-length" and value != b"0")
            for name, value in scope["headers"]
        )

    async def receive(self) -> Any:  # noqa: ANN401 - messages of ASGI
        """Receives the next part, in time."""
        if self._is_complete:
            return await self._receive()
        seconds = min(BODY_PAUSE_SECONDS, self._ends_at - time.monotonic())
        try:
            message = await asyncio.wait_for(self._receive(), max(0.0, seconds))
        except TimeoutError as failure:
            raise HTTPException(
                status_code=REQUEST_TIMEOUT, detail="The body of the request came too slowly."
            ) from failure
        more = message["type"] == "http.request" and message.get("more_body", False)
        self._is_complete = not more
        return message

    def closing_unless_read(self, send: Send) -> Send:
        """Sends as `send` does; the answer closes the connection where a body was left unread."""

        async def closing(message: Any) -> None:  # noqa: ANN401 - messages of ASGI
            if message["type"] == "http.response.start" and self._is_unread():
                message["headers"] = [*message.get("headers", ()), (b"connection", b"close")]
            await send(message)

        return closing

    def _is_unread(self) -> bool:
        return self._is_announced and not self._is_complete


async def _refuse(path: str, send: Send) -> None:
    body = msgspec.json.encode(
        Problem(
            type="/problems/too-many-connections",
            title="Too many open requests",
            status=503,
            code="TooManyConnections",
            detail="This process serves as many requests and streams at once as it may.",
            remedy=RETRY,
            instance=path,
        )
    )
    headers = [
        (b"content-type", MEDIA_TYPE.encode()),
        (b"content-length", str(len(body)).encode()),
        (b"retry-after", b"5"),
    ]
    await send({"type": "http.response.start", "status": 503, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def create_bounded_app() -> BoundedApplication:
    """The application as the environment says, with its limits; what Granian calls."""
    # Threads that compute would keep the event loop waiting for 5 ms each time by default.
    sys.setswitchinterval(SWITCH_SECONDS)
    app = create_app()
    services: ApplicationServices = app.state["services"]
    return BoundedApplication(app, from_environment().max_requests, services.request_durations)
