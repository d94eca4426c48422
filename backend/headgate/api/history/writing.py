"""Making an object what it was."""

from headgate.adapters.manifests.render import KIND_OF_STREAM
from headgate.api.answers import Answer
from headgate.api.callers import Caller, origin_of, services_of
from headgate.api.command_requests import CommandOptions, answer_command, command_request
from headgate.api.history.schemas import RevertRequest
from headgate.api.manifests import object_writer
from headgate.api.simulations.trying import tried
from headgate.application.commands.execute import execute
from headgate.application.config_history import reverting
from headgate.domain.streams import kind_and_key


async def revert(
    request: Caller, asked: RevertRequest, key: str | None, dry_run: str | None
) -> Answer:
    """A new change with the old content, or what it would lead to."""
    services = services_of(request)
    actor = origin_of(request).actor
    change = await reverting(services, actor, asked.stream, asked.position)
    if dry_run == "Admission":
        return await tried(request, [change], None)
    kind, _ = kind_and_key(asked.stream)
    options = CommandOptions(reason=asked.reason, key=key, is_dry_run=dry_run == "All")
    call = await command_request(request, object_writer(request, KIND_OF_STREAM[kind]), options)
    return answer_command(await execute(services, call.command(change)))
