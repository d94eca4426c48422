"""The output of a workload's pods, resumed without a repeat, their ends, and sessions into pods.

Frames come as server-sent events; frames of a session are sent by requests.
"""

import contextlib
import threading
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import httpx
import msgspec
from httpx_sse import connect_sse

from headgate.adapters.system.clocks_and_randomness import elapsed_seconds, pause
from headgate.client.client import PAGE_SIZE, HeadgateClient
from headgate.client.transport import (
    Body,
    Connection,
    Request,
    ServerProblem,
    ServerUnreachable,
    Transport,
    problem_of,
)

Object = dict[str, Any]

QUIET_SECONDS = 40.0
RECONNECT_SECONDS = 0.5


class PodView(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One run of a pod; `rank` is None for a pod that has left its attempt. Times are RFC 3339."""

    pod_set: str
    index: int
    rank: int | None
    run: int
    state: str
    node: str
    exit_code: int | None = None
    signal: int | None = None
    reason: str | None = None
    message: str = ""
    started_at: str | None = None
    ready_at: str | None = None
    finished_at: str | None = None
    result: str = ""


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


SECONDS_FOR_THE_REST = 10.0
"""How long the rest of the output of a workload is awaited once it has ended."""


@contextlib.contextmanager
def passed_on(output: PodLogStream, on_output: Callable[[PodOutput], object]) -> Iterator[None]:
    """Passes output on beside the caller's work in a thread, and the rest of it after that.

    A failure of the server (`ServerProblem`) or of `on_output` is raised after the caller's work.
    """
    failures: list[Exception] = []

    def pass_on() -> None:
        try:
            for each in output.follow():
                on_output(each)
        except Exception as failure:  # noqa: BLE001 - raised in the caller's thread
            failures.append(failure)

    thread = threading.Thread(target=pass_on, name="headgate-output", daemon=True)
    thread.start()
    try:
        yield
        thread.join(SECONDS_FOR_THE_REST)
        if failures:
            raise failures[0]
    finally:
        output.close()


TIMED_OUT = 124
"""The exit code where the maximum execution time is over (as of timeout)."""
OWN_FAILURE = 125
"""The exit code where the command did not run or its end is not known (as of docker run)."""
SIGNALLED = 128
PODS_REPORTED = "workload.pods_reported"


def exit_code_of(client: HeadgateClient, found: Object) -> int:
    """Returns the exit code of a workload that runs no more: 0 where it has succeeded.

    Else it is the highest code of the pods that ended without an order, as srun has it.
    """
    metadata, status = found["metadata"], found["status"]
    if status["phase"] == "Succeeded":
        return 0
    if status["phase"] == "Inactive":
        return TIMED_OUT if _is_out_of_time(status) else OWN_FAILURE
    ended = _finished_pods(client, f"workload/{metadata['namespace']}/{metadata['name']}")
    return max(map(_code_of, ended), default=0) or OWN_FAILURE


def _finished_pods(client: HeadgateClient, stream: str) -> Iterator[Object]:
    """Returns what was reported of pods that finished in the newest attempt."""
    query = {"stream": stream, "type": PODS_REPORTED, "limit": str(PAGE_SIZE)}
    attempt = 0
    while True:
        page = client.read("/v1/events", query)
        for event in page["items"]:
            attempt = attempt or event["data"]["attempt"]
            if event["data"]["attempt"] != attempt:
                return
            yield from (each for each in event["data"]["pods"] if each["type"] == "finished")
        if not page.get("next"):
            return
        query["before"] = str(page["next"])


def _is_out_of_time(status: Object) -> bool:
    return any(
        condition["reason"] == "DeactivatedDueToMaximumExecutionTimeExceeded"
        for condition in status.get("conditions", [])
    )


def _code_of(pods: Object) -> int:
    """Returns the exit code of pods; those that never ran are a failure of the run."""
    if pods.get("signal"):
        return SIGNALLED + int(pods["signal"])
    code = pods.get("exitCode", pods.get("exit_code"))
    if code is not None:
        return int(code)
    return OWN_FAILURE if pods.get("reason") in {"StartFailed", "NodeLost"} else 0


SESSION_QUIET_SECONDS = 20.0
INPUT_BYTES = 16_384
PAUSE_SECONDS = 0.05
SECONDS_FOR_ROOM = 30.0


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
        timeout = httpx.Timeout(SESSION_QUIET_SECONDS, connect=5.0)
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
        except httpx.TransportError as failure:
            raise SessionLost(f"connection lost: {failure}") from failure
        except RuntimeError as failure:
            if not self._reader.http.is_closed:
                raise
            raise SessionLost("connection closed") from failure
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


class CommandEnd(msgspec.Struct, frozen=True, kw_only=True):
    """How a command in a pod ended; `message` says why it could not be started (code 126)."""

    exit_code: int
    output: bytes
    error_output: bytes
    message: str = ""


def begin_in_pod(
    client: HeadgateClient, path: str, pod: str, command: Sequence[str]
) -> SessionConnection:
    """Opens a session with a command in a pod of the workload at `path`."""
    asked = {"pod": pod, "command": list(command), "hasTerminal": False}
    session = client.act(f"{path}/sessions", asked)["session"]
    return SessionConnection(client.connection, f"{path}/sessions/{session}")


def end_of_command(remote: SessionConnection, content: bytes) -> CommandEnd:
    """Returns the end of the command of a session, which has `content` as its input.

    Closes the session, and so ends a command that still runs. Raises `SessionLost`.
    """
    threading.Thread(target=_send_input, args=(remote, content), daemon=True).start()
    written: dict[str, bytearray] = {"output": bytearray(), "error": bytearray()}
    try:
        for frame in remote.frames():
            if frame.type == "exit":
                return CommandEnd(
                    exit_code=frame.exit_code,
                    output=bytes(written["output"]),
                    error_output=bytes(written["error"]),
                    message=frame.message,
                )
            if frame.type in written:
                written[frame.type] += frame.payload
    finally:
        remote.close()
    raise SessionLost("connection lost")


def _send_input(remote: SessionConnection, content: bytes) -> None:
    """Sends all input and its end; a session that has ended needs none."""
    with contextlib.suppress(SessionLost, ServerProblem, ServerUnreachable):
        for begin in range(0, len(content), INPUT_BYTES):
            remote.send(frame_with("input", content[begin : begin + INPUT_BYTES]))
        remote.send(Frame(type="endOfInput"))
