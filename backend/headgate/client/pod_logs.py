"""Reads or follows the output of a workload's pods, and resumes without a repeat."""

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
    at: str = ""
    content: str


class PodOutput(msgspec.Struct, frozen=True, kw_only=True):
    """Bytes of a stream of a pod, each once; `missing` counts dropped bytes before them.

    `at` is when the server received them, in RFC 3339.
    """

    rank: int
    attempt: int
    run: int
    stream: str
    content: bytes
    missing: int = 0
    at: str = ""


_Stream = tuple[str, int, int, int, str]


class PodLogStream:
    """The output of a workload, or of the pods, attempt or lines that `query` selects.

    `query` has the parameters of `GET …/logs`; with `tail` or `since` the output that they leave
    out does not count as missing.
    """

    def __init__(
        self,
        connection: Connection,
        namespace: str,
        name: str,
        query: dict[str, str] | None = None,
    ) -> None:
        self._transport = Transport(connection)
        self._query = query or {}
        self._begins_late = "tail" in self._query or "since" in self._query
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
                yield from self._connected(follow=True)
            if not self._has_ended:
                # What follows may be more lines than `tail`; offsets tell what is known.
                self._query.pop("tail", None)
                pause(RECONNECT_SECONDS)

    def read(self) -> Iterator[PodOutput]:
        """Returns the output that is kept. Raises `ServerProblem` and `httpx.TransportError`."""
        yield from self._connected(follow=False)

    def _connected(self, *, follow: bool) -> Iterator[PodOutput]:
        timeout = httpx.Timeout(QUIET_SECONDS, connect=5.0)
        with connect_sse(
            self._transport.http,
            "GET",
            self._path,
            params={**self._query, "follow": str(follow).lower()},
            timeout=timeout,
        ) as source:
            answer = source.response
            is_busy = answer.status_code == httpx.codes.TOO_MANY_REQUESTS
            if follow and (answer.is_server_error or is_busy):
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
        is_selected = stream not in self._ends and self._begins_late
        self._ends[stream] = frame.offset + len(content)
        yield PodOutput(
            rank=frame.rank,
            attempt=frame.attempt,
            run=frame.run,
            stream=frame.stream,
            content=fresh,
            missing=0 if is_selected else max(0, frame.offset - end),
            at=frame.at,
        )
