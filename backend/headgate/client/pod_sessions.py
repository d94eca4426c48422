"""Sessions into pods over HTTP: frames read as server-sent events, and frames sent by requests.

Both sides use it: the user's terminal and the executor, each under its own path.
"""

from base64 import b64decode, b64encode
from collections.abc import Iterator
from typing import Any

import httpx
import msgspec
from httpx_sse import connect_sse

from headgate.adapters.system.stopwatch import elapsed_seconds, pause
from headgate.client.connection import Connection
from headgate.client.problems import ServerProblem, problem_of
from headgate.client.transport import Body, Request, Transport

QUIET_SECONDS = 20.0
PAUSE_SECONDS = 0.05
SECONDS_FOR_ROOM = 30.0
MAX_CONTENT_BYTES = 65_536

Object = dict[str, Any]


class Frame(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """What one side tells the other; `content` is base64."""

    type: str
    number: int = 0
    content: str = ""
    columns: int = 80
    rows: int = 24
    exit_code: int = 0
    message: str = ""

    @property
    def payload(self) -> bytes:
        """The bytes of the content."""
        return b64decode(self.content)


def frame_with(kind: str, payload: bytes) -> Frame:
    """Returns a frame with bytes."""
    return Frame(type=kind, content=b64encode(payload).decode())


class SessionLost(Exception):
    """The other side has ended or is gone; the message says why."""


class SessionConnection:
    """One side of a session; frames are read by one thread and sent by another."""

    def __init__(
        self, connection: Connection, path: str, headers: dict[str, str] | None = None
    ) -> None:
        self._reader = Transport(connection)
        self._sender = Transport(connection)
        self._path = f"{path}/frames"
        self._headers = headers or {}
        self._sent = 0

    def close(self) -> None:
        """Closes both connections, which ends the session."""
        self._reader.close()
        self._sender.close()

    def frames(self) -> Iterator[Frame]:
        """Returns frames as they come. Raises `SessionLost` at the end of the session."""
        timeout = httpx.Timeout(QUIET_SECONDS, connect=5.0)
        try:
            with connect_sse(
                self._reader.http, "GET", self._path, headers=self._headers, timeout=timeout
            ) as source:
                answer = source.response
                if answer.is_error:
                    raise ServerProblem(problem_of(answer.status_code, answer.read(), ""))
                for sent in source.iter_sse():
                    if sent.event == "frame":
                        yield msgspec.json.decode(sent.data, type=Frame)
                    elif sent.event == "end":
                        raise SessionLost(str(msgspec.json.decode(sent.data)["reason"]))
        except (httpx.TransportError, RuntimeError) as failure:
            raise SessionLost(f"connection lost: {failure}") from failure
        raise SessionLost("connection lost")

    def send(self, frame: Frame) -> None:
        """Sends a frame once the other side has room for it. Raises `SessionLost`."""
        self._sent += 1
        content = msgspec.json.encode(msgspec.structs.replace(frame, number=self._sent))
        request = Request(
            method="POST", path=self._path, body=Body(content=content), headers=self._headers
        )
        give_up_at = elapsed_seconds() + SECONDS_FOR_ROOM
        while not self._sender.send(request).json()["accepted"]:
            if elapsed_seconds() > give_up_at:
                raise SessionLost("the other side does not read")
            pause(PAUSE_SECONDS)
