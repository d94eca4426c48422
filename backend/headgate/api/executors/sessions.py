"""The executor's side of sessions into pods: those to begin, their input and what they write."""

import time
from typing import Annotated

from litestar import Controller, get, post
from litestar.params import JSONBody, QueryParameter
from litestar.response import Stream

from headgate.api.answers import Answer, answer, response
from headgate.api.bodies import Position, Schema
from headgate.api.callers import STREAMED, Caller, services_of
from headgate.api.executors.protocol import REPORTS, Epoch, required_epoch
from headgate.api.executors.protocol import Name as ExecutorName
from headgate.api.pod_sessions import (
    EVENTS,
    HEADERS,
    FrameOutcome,
    SessionFrame,
    SessionId,
    SessionRelay,
    found_session,
    send_frame,
    session_frames,
)
from headgate.application.commands import executor_commands
from headgate.application.executor_stores import PodSession
from headgate.application.queries.views import view_from
from headgate.domain.rejection import NotFound

MAX_WAIT_SECONDS = 25


class WantedSession(Schema, kw_only=True, frozen=True):
    """A session that an executor is to begin."""

    session: str
    workload: str
    uid: str
    attempt: int
    pod_set: str
    index: int
    run: int
    command: list[str]
    has_terminal: bool
    columns: int
    rows: int
    terminal: str


class WantedSessions(Schema, kw_only=True, frozen=True):
    """Sessions that an executor is to begin, each told once."""

    position: Position
    items: list[WantedSession]


class ExecutorSessions(Controller):
    """The executor's side of sessions."""

    path = "/executors/{name:str}/sessions"
    tags = ["Executors"]
    opt = REPORTS

    @get(
        operation_id="takeSessions",
        summary="Sessions that an executor is to begin",
        responses=response(WantedSessions),
        opt={"live": STREAMED},
    )
    async def take(
        self,
        request: Caller,
        name: ExecutorName,
        epoch: Epoch = None,
        wait: Annotated[
            int, QueryParameter(ge=0, le=MAX_WAIT_SECONDS, description="Seconds to wait for one")
        ] = 0,
    ) -> Answer:
        """Answers at once where there are any, otherwise as soon as there is one."""
        services = services_of(request)
        own = required_epoch(epoch)
        relay: SessionRelay = request.app.state["session_relay"]
        give_up_at = time.monotonic() + wait
        found: list[PodSession] = []
        while not relay.is_closed:
            more = relay.more
            # Each time: a request of a process that was killed waits on and is to be refused.
            await executor_commands.require_newest(services, name, own)
            found = await services.writing.do(lambda: services.sessions.take(name, own))
            left = give_up_at - time.monotonic()
            if found or left <= 0:
                break
            await relay.wait(more, left)
        position = services.reader.position
        body = WantedSessions(
            position=position,
            items=[view_from(WantedSession, each, session=each.id) for each in found],
        )
        return answer(body, position=position)

    @get(
        "/{session:str}/frames",
        operation_id="watchExecutorSession",
        summary="Input of a session, until its end",
        opt={"live": STREAMED},
        media_type="text/event-stream",
        responses={200: EVENTS},
    )
    async def frames(
        self, request: Caller, name: ExecutorName, session: SessionId, epoch: Epoch = None
    ) -> Stream:
        """The command is to be killed at the end of this stream."""
        await _executors_session(request, name, session, epoch)
        return Stream(
            session_frames(request, session, by_executor=True),
            media_type="text/event-stream",
            headers=HEADERS,
        )

    @post(
        "/{session:str}/frames",
        operation_id="writeExecutorSession",
        summary="Send what a session writes, and how it ended",
        status_code=200,
        responses=response(FrameOutcome),
    )
    async def send(
        self,
        request: Caller,
        name: ExecutorName,
        session: SessionId,
        data: JSONBody[SessionFrame],
        epoch: Epoch = None,
    ) -> Answer:
        """A frame that is not accepted is to be sent again."""
        await _executors_session(request, name, session, epoch)
        return await send_frame(request, session, data, to_executor=False)


async def _executors_session(request: Caller, name: str, session: str, epoch: int | None) -> None:
    services = services_of(request)
    await executor_commands.require_newest(services, name, required_epoch(epoch))
    found = await found_session(services, session)
    if found is None or found.executor != name:
        raise NotFound("ObjectNotFound", kind="Session", name=session)
