"""Submitting and changing workloads, and acting on them."""

from collections.abc import Sequence
from typing import Literal

import msgspec

from headgate.adapters.manifests.desired import Desired
from headgate.api.answers import Answer
from headgate.api.callers import Caller, origin_of, services_of
from headgate.api.command_requests import CommandOptions, answer_command, command_request
from headgate.api.instants import instant_or_none
from headgate.api.manifests import object_writer, read_wanted, with_written_pointers
from headgate.api.simulations.trying import tried
from headgate.api.workloads.schemas import Action
from headgate.application.commands import act_on_workloads, submit_workloads
from headgate.application.commands.act_on_workloads import Verb
from headgate.application.commands.apply_objects import change_to
from headgate.application.commands.requests import CommandResult, Writer, Written
from headgate.application.cooperative import Cooperative
from headgate.application.queries.workloads.warnings import warnings_about
from headgate.application.simulations.changes import deletion
from headgate.domain.rejection import Rejection
from headgate.domain.streams import workload_stream

KIND = "Workload"


class Target(msgspec.Struct, frozen=True):
    """Which workload, at which version, why, and whether it is only tried."""

    name: str
    expected: int | None = None
    reason: str = ""
    dry_run: Literal["All", "Admission"] | None = None

    def options(self) -> CommandOptions:
        """What the request says of itself."""
        return CommandOptions(reason=self.reason, is_dry_run=self.dry_run == "All")


def workload_writer(request: Caller, desired: Desired, status: int = 200) -> Writer:
    """Answers with the workload, and with warnings where its queues keep it out."""
    write_workload = object_writer(request, KIND, status)

    def write(results: Sequence[CommandResult]) -> Cooperative[Written]:
        written = yield from write_workload(results)
        places = [(changed, desired.places) for changed in results]
        cell = services_of(request).reader.cell
        warnings = yield from warnings_about(cell, places, request.user.namespaces)
        if not warnings:
            return written
        told = b',"warnings":' + msgspec.json.encode(warnings) + b"}"
        return Written(status=status, body=written.body.removesuffix(b"}") + told)

    return write


async def submit(request: Caller, body: bytes, key: str | None, *, dry_run: bool) -> Answer:
    """Submit the workload a body asks for."""
    wanted, desired = await read_wanted(request, body, KIND)
    call = await command_request(
        request, workload_writer(request, desired, 201), CommandOptions(key=key, is_dry_run=dry_run)
    )
    try:
        handled = await submit_workloads.submit(services_of(request), call, wanted)
    except Rejection as rejection:
        raise with_written_pointers(rejection, desired) from rejection
    return answer_command(handled, location=f"{request.scope['path'].rstrip('/')}/{wanted.name}")


async def replace(request: Caller, target: Target, body: bytes) -> Answer:
    """Give the workload the spec a body asks for."""
    wanted, desired = await read_wanted(request, body, KIND)
    services = services_of(request)
    if target.dry_run == "Admission":
        change = change_to(services, origin_of(request).actor, wanted)
        return await tried(request, [change], desired)
    call = await command_request(request, workload_writer(request, desired), target.options())
    try:
        handled = await submit_workloads.replace(services, call, wanted, target.expected)
    except Rejection as rejection:
        raise with_written_pointers(rejection, desired) from rejection
    return answer_command(handled)


async def delete(request: Caller, target: Target) -> Answer:
    """Delete the workload, stopping it first if it runs."""
    key = f"{request.path_params['namespace']}/{target.name}"
    services = services_of(request)
    if target.dry_run == "Admission":
        return await tried(request, [deletion(services, workload_stream(key))], None)
    call = await command_request(request, object_writer(request, KIND), target.options())
    handled = await act_on_workloads.delete(services, call, key, target.expected)
    return answer_command(handled)


async def act(
    request: Caller, name: str, verb: Verb, data: Action, options: CommandOptions
) -> Answer:
    """Do something to the workload, or see what it would be then."""
    call = await command_request(request, object_writer(request, KIND), options)
    action = act_on_workloads.Action(
        workload=f"{request.path_params['namespace']}/{name}",
        verb=verb,
        reason=data.reason,
        expires_at=instant_or_none(data.expires_at, "/expiresAt"),
    )
    return answer_command(await act_on_workloads.act(services_of(request), call, action))
