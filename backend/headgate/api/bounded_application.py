"""The application that Granian serves: the API with limits on open requests and slow bodies."""

import asyncio
import sys
import time
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
from litestar.exceptions import HTTPException

from headgate.api.app import create_app
from headgate.api.bodies import Problem
from headgate.api.problems import MEDIA_TYPE, RETRY
from headgate.settings import from_environment

BODY_SECONDS = 60.0
"""For the whole body of a request, 10 MB at most."""
UPLOAD_SECONDS = 900.0
"""For the whole body of an upload."""
BODY_PAUSE_SECONDS = 15.0
"""Between two parts of a body."""
SWITCH_SECONDS = 0.001
"""So long a thread that computes keeps the interpreter while the event loop waits for it."""
REQUEST_TIMEOUT = 408
ALWAYS_ANSWERED = ("/healthz", "/readyz")
BEGUN_AT_ONCE = 4
"""Requests that begin in one turn of the event loop, so that health checks come between many."""

Scope = dict[str, Any]
Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]
Application = Callable[[Any, Any, Any], Awaitable[None]]


class BoundedApplication:
    """An application that serves at most so many requests and streams at once.

    One more is answered with 503 and Retry-After, except for health checks. A body that comes too
    slowly ends its request with 408.
    """

    def __init__(self, app: Application, max_requests: int) -> None:
        self._app = app
        self._max_requests = max_requests
        self._in_progress = 0
        self._begins = asyncio.Semaphore(BEGUN_AT_ONCE)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serves one request, or answers that there are too many."""
        if scope["type"] != "http" or scope["path"] in ALWAYS_ANSWERED:
            await self._app(scope, receive, send)
            return
        if self._in_progress >= self._max_requests:
            await _refuse(scope["path"], send)
            return
        self._in_progress += 1
        try:
            async with self._begins:
                await asyncio.sleep(0)
            await self._app(scope, _timed(receive, _body_seconds(scope["path"])), send)
        finally:
            self._in_progress -= 1


def _body_seconds(path: str) -> float:
    """An upload may be large and come through a slow line."""
    return UPLOAD_SECONDS if "/uploads/" in path else BODY_SECONDS


def _timed(receive: Receive, within_seconds: float) -> Receive:
    """Receives as `receive` does, but raises a failure with status 408 where a body stalls."""
    ends_at = time.monotonic() + within_seconds
    is_complete = False

    async def receive_in_time() -> Any:  # noqa: ANN401 - messages of ASGI
        nonlocal is_complete
        if is_complete:
            return await receive()
        seconds = min(BODY_PAUSE_SECONDS, ends_at - time.monotonic())
        try:
            message = await asyncio.wait_for(receive(), max(0.0, seconds))
        except TimeoutError as failure:
            raise HTTPException(
                status_code=REQUEST_TIMEOUT, detail="The body of the request came too slowly."
            ) from failure
        is_complete = message["type"] != "http.request" or not message.get("more_body", False)
        return message

    return receive_in_time


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
    # Threads that compute would keep the event loop waiting five times as long by default.
    sys.setswitchinterval(SWITCH_SECONDS)
    return BoundedApplication(create_app(), from_environment().max_requests)
