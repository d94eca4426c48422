"""Stopping, draining and resuming queues."""

from typing import Literal

import msgspec

from headgate.api.answers import Answer
from headgate.api.callers import Caller, services_of
from headgate.api.command_requests import CommandOptions, answer_command, command_request
from headgate.api.instants import instant_or_none
from headgate.api.manifests import object_writer
from headgate.api.queues.schemas import StopRequest
from headgate.application.commands.configure_objects import stop_queue
from headgate.domain.queues.commands import ResumeQueue, StopQueue
from headgate.domain.streams import stream_of

Verb = Literal["stop", "drain", "resume"]


class Target(msgspec.Struct, frozen=True):
    """What is done to which queue; a namespace says that it is a LocalQueue."""

    verb: Verb
    name: str
    namespace: str = ""

    @property
    def kind(self) -> str:
        """The kind of queue, as in manifests."""
        return "LocalQueue" if self.namespace else "ClusterQueue"


async def act(request: Caller, target: Target, data: StopRequest, key: str | None) -> Answer:
    """Stop, drain or resume a queue."""
    call = await command_request(
        request, object_writer(request, target.kind), CommandOptions(reason=data.reason, key=key)
    )
    stream = stream_of(target.kind.lower(), target.name, target.namespace)
    command = _command(request, target.verb, data)
    return answer_command(await stop_queue(services_of(request), call, stream, command))


def _command(request: Caller, verb: Verb, data: StopRequest) -> StopQueue | ResumeQueue:
    if verb == "resume":
        return ResumeQueue()
    return StopQueue(
        policy="HoldAndDrain" if verb == "drain" else data.policy,
        owner=request.user.actor,
        reason=data.reason,
        expires_at=instant_or_none(data.expires_at, "/expiresAt"),
    )
