"""Follows the output of a workload's pods over server-sent events, and resumes without a repeat."""

import contextlib
from base64 import b64decode
from collections.abc import Iterator

import httpx
import msgspec
from httpx_sse import connect_sse

from headgate.adapters.system.stopwatch import pause
from headgate.client.connection import Connection
from headgate.client.problems import ServerProblem, problem_of
from headgate.client.transport import Transport

QUIET_SECONDS = 40.0
RECONNECT_SECONDS = 0.5


class LogFrame(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Output of one run of a pod; `content` is base64, `offset` counts the bytes of its stream."""

    pod_set: str
    index: int
    rank: int
    attempt: int
    run: int
    stream: str
    offset: int
    content: str


class PodOutput(msgspec.Struct, frozen=True, kw_only=True):
    """Bytes of a stream of a pod, each once; `missing` counts dropped bytes before them."""

    rank: int
    attempt: int
    run: int
    stream: str
    content: bytes
    missing: int = 0


_Stream = tuple[str, int, int, int, str]


class PodLogStream:
    """The output of a workload from its beginning to its end."""

    def __init__(self, connection: Connection, namespace: str, name: str) -> None:
        self._transport = Transport(connection)
        self._path = f"/v1/namespaces/{namespace}/workloads/{name}/logs"
        self._ends: dict[_Stream, int] = {}
        self._has_ended = False

    def close(self) -> None:
        """Closes the connection; `follow` ends with the next reconnect."""
        self._has_ended = True
        self._transport.close()

    def follow(self) -> Iterator[PodOutput]:
        """Returns output as it comes, until the workload has ended. Raises `ServerProblem`."""
        while not self._has_ended:
            with contextlib.suppress(httpx.TransportError):
                yield from self._connected()
            if not self._has_ended:
                pause(RECONNECT_SECONDS)

    def _connected(self) -> Iterator[PodOutput]:
        timeout = httpx.Timeout(QUIET_SECONDS, connect=5.0)
        with connect_sse(
            self._transport.http,
            "GET",
            self._path,
            params={"follow": "true"},
            timeout=timeout,
        ) as source:
            answer = source.response
            if answer.is_server_error or answer.status_code == httpx.codes.TOO_MANY_REQUESTS:
                return
            if answer.is_error:
                raise ServerProblem(problem_of(answer.status_code, answer.read(), ""))
            for sent in source.iter_sse():
                if sent.event == "end":
                    self._has_ended = True
                    return
                if sent.event == "log":
                    yield from self._new(msgspec.json.decode(sent.data, type=LogFrame))

    def _new(self, frame: LogFrame) -> Iterator[PodOutput]:
        """Returns the part of a frame that has not come before."""
        stream = (frame.pod_set, frame.index, frame.attempt, frame.run, frame.stream)
        content = b64decode(frame.content)
        end = self._ends.get(stream, 0)
        fresh = content[max(0, end - frame.offset) :]
        if not fresh:
            return
        self._ends[stream] = frame.offset + len(content)
        yield PodOutput(
            rank=frame.rank,
            attempt=frame.attempt,
            run=frame.run,
            stream=frame.stream,
            content=fresh,
            missing=max(0, frame.offset - end),
        )
