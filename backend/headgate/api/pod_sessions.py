"""Sessions into pods: a user's terminal on one side, an executor's on the other (ADR 0031).

Each side reads frames as server-sent events and sends frames by requests, so that an agent opens no
port and any API process can serve either side.
"""

import asyncio
import time
from base64 import b64decode
from collections.abc import AsyncIterator, Sequence
from typing import Annotated, Literal

import msgspec
from litestar import Controller, get, post
from litestar.openapi import ResponseSpec
from litestar.params import JSONBody, PathParameter
from litestar.response import Stream

from headgate.api.answers import Answer, answer, response
from headgate.api.bodies import Position, RequestBody, Schema
from headgate.api.callers import STREAMED, Caller, is_still_authorized, origin_of, services_of
from headgate.api.workloads.pods import pod_named
from headgate.api.workloads.queries import loaded_workload
from headgate.application.application_services import ApplicationServices
from headgate.application.commands import workload_commands
from headgate.application.executor_stores import (
    MAX_IDLE_SECONDS,
    MAX_SILENT_SECONDS,
    MAX_UNTAKEN_SECONDS,
    PodSession,
)
from headgate.application.live_state import LiveReader
from headgate.domain.recorded_event import RecordedEvent
from headgate.domain.rejection import IllegalNow, NotFound
from headgate.domain.workloads.pod_events import WorkloadSessionOpened

MAX_FRAME_BYTES = 262_144
MIN_POLL_SECONDS = 0.015
MAX_POLL_SECONDS = 0.3
SECONDS_BETWEEN_TOUCHES = 2.0
SECONDS_BETWEEN_CHECKS = 5.0
HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
EVENTS = ResponseSpec(
    str,
    description="`frame` with one frame as JSON, and `end` with the reason",
    media_type="text/event-stream",
    generate_examples=False,
)

WorkloadName = Annotated[str, PathParameter(description="The workload's name", max_length=253)]
SessionId = Annotated[str, PathParameter(description="The session", max_length=64)]


class SessionRequest(RequestBody, kw_only=True, frozen=True):
    """A command to run in a pod that is named by rank or as `main/0`, with or without terminal."""

    pod: Annotated[str, msgspec.Meta(max_length=253)] = "0"
    command: Annotated[
        list[Annotated[str, msgspec.Meta(max_length=65_536)]],
        msgspec.Meta(min_length=1, max_length=1000),
    ]
    has_terminal: bool = False
    columns: Annotated[int, msgspec.Meta(ge=1, le=10_000)] = 80
    rows: Annotated[int, msgspec.Meta(ge=1, le=10_000)] = 24
    terminal: Annotated[str, msgspec.Meta(max_length=63)] = "xterm"


class SessionView(Schema, kw_only=True, frozen=True):
    """A session as it was opened."""

    position: Position
    session: str
    pod_set: str
    index: int
    attempt: int
    run: int


class SessionFrame(RequestBody, kw_only=True, frozen=True):
    """What one side tells the other; frames are numbered from 1, and a repeated one is ignored.

    `content` is base64; `exitCode` and `message` are those of `exit`, the size is that of `resize`.
    """

    number: Annotated[int, msgspec.Meta(ge=1)]
    type: Literal["input", "endOfInput", "resize", "output", "error", "exit"]
    content: Annotated[str, msgspec.Meta(max_length=MAX_FRAME_BYTES * 4 // 3 + 4)] = ""
    columns: Annotated[int, msgspec.Meta(ge=1, le=10_000)] = 80
    rows: Annotated[int, msgspec.Meta(ge=1, le=10_000)] = 24
    exit_code: int = 0
    message: Annotated[str, msgspec.Meta(max_length=4096)] = ""


class FrameOutcome(Schema, kw_only=True, frozen=True):
    """Whether a frame was taken; otherwise it is to be sent again once the other side has read."""

    position: Position
    accepted: bool


class WorkloadSessions(Controller):
    """The user's side of sessions."""

    path = "/namespaces/{namespace:str}/workloads/{name:str}/sessions"
    tags = ["Workload"]
    opt = {"right": "operate workloads"}

    @post(
        operation_id="openSession",
        summary="Run a command in a pod, with or without a terminal",
        status_code=200,
        responses=response(SessionView),
    )
    async def open(
        self, request: Caller, name: WorkloadName, data: JSONBody[SessionRequest]
    ) -> Answer:
        """For the workload's owner and administrators; the user is recorded, no content."""
        services = services_of(request)
        loaded = await loaded_workload(request, name)
        pod_set, index = pod_named(loaded.state, data.pod)
        wanted = workload_commands.WantedPod(
            workload=f"{request.path_params['namespace']}/{name}",
            pod_set=pod_set,
            index=index,
            command=tuple(data.command),
            has_terminal=data.has_terminal,
            columns=data.columns,
            rows=data.rows,
            terminal=data.terminal,
        )
        found, position = await workload_commands.open_session(
            services, origin_of(request), request.user, wanted
        )
        relay: SessionRelay = request.app.state["session_relay"]
        relay.wake()
        body = SessionView(
            position=position,
            session=found.id,
            pod_set=found.pod_set,
            index=found.index,
            attempt=found.attempt,
            run=found.run,
        )
        return answer(body, position=position)

    @get(
        "/{session:str}/frames",
        operation_id="watchSession",
        summary="What a session writes, until its end",
        opt={"live": STREAMED},
        media_type="text/event-stream",
        responses={200: EVENTS},
    )
    async def frames(self, request: Caller, name: WorkloadName, session: SessionId) -> Stream:
        """The session ends with this connection."""
        await _own_session(request, name, session)
        return Stream(
            session_frames(request, session, by_executor=False),
            media_type="text/event-stream",
            headers=HEADERS,
        )

    @post(
        "/{session:str}/frames",
        operation_id="writeSession",
        summary="Send input to a session, or the size of its terminal",
        status_code=200,
        responses=response(FrameOutcome),
    )
    async def send(
        self, request: Caller, name: WorkloadName, session: SessionId, data: JSONBody[SessionFrame]
    ) -> Answer:
        """A frame that is not accepted is to be sent again."""
        await _own_session(request, name, session)
        return await send_frame(request, session, data, to_executor=True)


class SessionRelay:
    """Wakes readers of this process; what other processes have sent is found by looking again."""

    def __init__(self) -> None:
        self.more = asyncio.Event()
        self.is_closed = False

    def wake(self) -> None:
        """Has every reader look for frames and sessions."""
        self.more.set()
        self.more = asyncio.Event()

    async def wait(self, more: asyncio.Event, seconds: float) -> None:
        """Returns once there may be more, at the latest after `seconds`."""
        try:
            await asyncio.wait_for(more.wait(), seconds)
        except TimeoutError:
            return

    def close(self) -> None:
        """Ends every stream."""
        self.is_closed = True
        self.wake()


def relay_of(services: ApplicationServices) -> SessionRelay:
    """The relay of a process; sessions that other processes open wake it through the log."""
    relay, reader = SessionRelay(), services.reader
    assert isinstance(reader, LiveReader), "a session is of the present"

    def publish(batch: Sequence[RecordedEvent]) -> None:
        if any(isinstance(recorded.event, WorkloadSessionOpened) for recorded in batch):
            relay.wake()

    reader.listen(publish)
    return relay


async def _own_session(request: Caller, name: str, session: str) -> None:
    """Raises `NotFound` for a session of another user or workload."""
    found = await found_session(services_of(request), session)
    key = f"{request.path_params['namespace']}/{name}"
    if found is None or found.user != request.user.name or found.workload != key:
        raise NotFound("ObjectNotFound", kind="Session", name=session)


async def found_session(services: ApplicationServices, session: str) -> PodSession | None:
    """A session that goes on or ended a short time ago."""
    return await services.writing.do(lambda: services.sessions.find(session))


async def send_frame(
    request: Caller, session: str, frame: SessionFrame, *, to_executor: bool
) -> Answer:
    """Adds a frame for the other side."""
    services = services_of(request)
    try:
        b64decode(frame.content, validate=True)
    except ValueError as error:
        raise IllegalNow("LogContentNotBase64") from error
    content = msgspec.json.encode(frame)
    accepted = await services.writing.do(
        lambda: services.sessions.send(
            session, to_executor=to_executor, number=frame.number, content=content
        )
    )
    relay: SessionRelay = request.app.state["session_relay"]
    relay.wake()
    position = services.reader.position
    return answer(FrameOutcome(position=position, accepted=accepted), position=position)


async def session_frames(
    request: Caller, session: str, *, by_executor: bool
) -> AsyncIterator[bytes]:
    """Frames for one side as they come; the session ends with the stream of either side."""
    services = services_of(request)
    relay: SessionRelay = request.app.state["session_relay"]
    wait, touch_at, check_at = MIN_POLL_SECONDS, 0.0, time.monotonic() + SECONDS_BETWEEN_CHECKS
    reason = ""
    try:
        yield b"retry: 1000\n: session\n\n"
        while not relay.is_closed:
            more, now = relay.more, time.monotonic()
            ended = ""
            if now >= touch_at:
                touch_at = now + SECONDS_BETWEEN_TOUCHES
                ended = await _why_ended(services, session, by_executor=by_executor)
                yield b": heartbeat\n\n"
            if now >= check_at:
                check_at = now + SECONDS_BETWEEN_CHECKS
                if not await is_still_authorized(request):
                    return
            found = await services.writing.do(
                lambda: services.sessions.receive(session, by_executor=by_executor)
            )
            for content in found:
                yield b"event: frame\ndata: %b\n\n" % content
            if found:
                wait = MIN_POLL_SECONDS
                continue
            if ended:
                reason = ended
                break
            await relay.wait(more, wait)
            wait = min(MAX_POLL_SECONDS, wait * 1.3)
        yield b"event: end\ndata: %b\n\n" % msgspec.json.encode({"reason": reason})
    finally:
        await asyncio.shield(_end(services, relay, session))


async def _end(services: ApplicationServices, relay: SessionRelay, session: str) -> None:
    """Ends a session with its stream; with the process its readers notice the silence."""
    if relay.is_closed:
        return
    await services.writing.do(lambda: services.sessions.end(session))
    relay.wake()


async def _why_ended(services: ApplicationServices, session: str, *, by_executor: bool) -> str:
    """Why a session does not go on; empty while it does."""
    found = await services.writing.do(
        lambda: services.sessions.touch(session, by_executor=by_executor)
    )
    if found is None or not found.is_open:
        return "ended"
    if found.silent_seconds is None:
        return "no answer" if found.age_seconds > MAX_UNTAKEN_SECONDS else ""
    if found.silent_seconds > MAX_SILENT_SECONDS:
        return "connection lost"
    return "idle" if found.idle_seconds > MAX_IDLE_SECONDS else ""
