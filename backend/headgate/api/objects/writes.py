"""Creating, replacing and deleting configured objects."""

from typing import Literal

import msgspec

from headgate.adapters.manifests.codec import Codec
from headgate.api.answers import Answer
from headgate.api.callers import Caller, origin_of, services_of
from headgate.api.command_requests import CommandOptions, answer_command, command_request
from headgate.api.manifests import object_writer, read_wanted, with_written_pointers
from headgate.api.simulations import simulated
from headgate.application.commands import object_commands
from headgate.application.commands.object_commands import change_to
from headgate.domain.rejection import Rejection
from headgate.domain.streams import stream_of


class Target(msgspec.Struct, frozen=True):
    """Which object, at which version, why, and whether it is only tried."""

    codec: Codec
    name: str = ""
    expected: int | None = None
    reason: str = ""
    dry_run: Literal["All", "Admission"] | None = None

    def options(self, key: str | None = None) -> CommandOptions:
        """What the request says of itself."""
        return CommandOptions(reason=self.reason, key=key, is_dry_run=self.dry_run == "All")


async def create(request: Caller, target: Target, body: bytes, key: str | None) -> Answer:
    """Make the object a body asks for."""
    wanted, desired = await read_wanted(request, body, target.codec.kind.name)
    if target.dry_run == "Admission":
        change = change_to(services_of(request), origin_of(request).actor, wanted)
        return await simulated(request, [change], desired)
    call = await command_request(
        request, object_writer(target.codec.kind.name, 201), target.options(key)
    )
    try:
        handled = await object_commands.create(services_of(request), call, wanted)
    except Rejection as rejection:
        raise with_written_pointers(rejection, desired) from rejection
    location = f"{request.url.path.rstrip('/')}/{wanted.name}"
    return answer_command(handled, location=location)


async def replace(request: Caller, target: Target, body: bytes) -> Answer:
    """Give the object the spec a body asks for."""
    wanted, desired = await read_wanted(request, body, target.codec.kind.name)
    services = services_of(request)
    if target.dry_run == "Admission":
        change = change_to(services, origin_of(request).actor, wanted)
        return await simulated(request, [change], desired)
    call = await command_request(request, object_writer(target.codec.kind.name), target.options())
    try:
        handled = await object_commands.replace(services, call, wanted, target.expected)
    except Rejection as rejection:
        raise with_written_pointers(rejection, desired) from rejection
    return answer_command(handled)


async def delete(request: Caller, target: Target) -> Answer:
    """Delete the object, or have it go when nothing uses it any more."""
    namespace = str(request.path_params.get("namespace", ""))
    stream = stream_of(target.codec.kind.stream_kind, target.name, namespace)
    services = services_of(request)
    if target.dry_run == "Admission":
        return await simulated(request, [object_commands.object_deletion(stream)], None)
    call = await command_request(request, object_writer(target.codec.kind.name), target.options())
    handled = await object_commands.delete(services, call, stream, target.expected)
    return answer_command(handled)
