"""Create, replace and delete configured objects, stop queues, cordon nodes, take heartbeats."""

from collections.abc import Sequence
from typing import Any

import msgspec

from headgate.application.application_services import ApplicationServices
from headgate.application.commands.decide import catch_up
from headgate.application.commands.execute import execute
from headgate.application.commands.requests import (
    CommandRequest,
    CommandResponse,
    DecisionContext,
    DesiredObject,
    StreamCommand,
)
from headgate.application.commands.workload_commands import change_of_spec, submission
from headgate.application.cooperative import each, run_yielding
from headgate.domain.facts import DomainEvent
from headgate.domain.kinds.admission_check import ReportCheck
from headgate.domain.kinds.configured_object import Absent
from headgate.domain.kinds.object_commands import Change as ChangeObject
from headgate.domain.kinds.object_commands import Create, RequestDeletion
from headgate.domain.kinds.queue_stop import ResumeQueue, StopQueue
from headgate.domain.kinds.references import referrers_of
from headgate.domain.kinds.registry import KINDS_BY_STREAM
from headgate.domain.nodes.commands import CordonNode, DrainNode, ReportNode, UncordonNode
from headgate.domain.streams import kind_and_key

NodeOrder = ReportNode | CordonNode | DrainNode | UncordonNode


async def create(
    services: ApplicationServices, call: CommandRequest, wanted: DesiredObject
) -> CommandResponse:
    """Make an object that does not exist."""
    return await execute(services, call.command(creation(services, call.origin.actor, wanted)))


async def replace(
    services: ApplicationServices, call: CommandRequest, wanted: DesiredObject, version: int | None
) -> CommandResponse:
    """Give an object that exists another spec."""
    return await execute(services, call.command(replacement(call.origin.actor, wanted, version)))


async def delete(
    services: ApplicationServices, call: CommandRequest, stream: str, version: int | None
) -> CommandResponse:
    """Delete an object; one in use waits until nothing uses it any more."""
    await catch_up(services)
    change = msgspec.structs.replace(object_deletion(stream), version=version)
    return await execute(services, call.command(change))


async def stop_queue(
    services: ApplicationServices,
    call: CommandRequest,
    stream: str,
    command: StopQueue | ResumeQueue,
) -> CommandResponse:
    """Let a queue admit nothing more, or admit again."""
    return await execute(services, call.command(command_on_object(stream, command)))


async def tell_node(
    services: ApplicationServices,
    call: CommandRequest,
    stream: str,
    command: NodeOrder,
) -> CommandResponse:
    """Cordon, drain or uncordon a node, or take its heartbeat."""
    return await execute(services, call.command(command_on_object(stream, command)))


async def tell_check(
    services: ApplicationServices, call: CommandRequest, name: str, command: ReportCheck
) -> CommandResponse:
    """Take what the controller of an admission check says of itself."""
    return await execute(
        services, call.command(command_on_object(f"admissioncheck/{name}", command))
    )


def object_deletion(stream: str) -> StreamCommand:
    """The change that asks for an object to go."""

    def decide(situation: DecisionContext) -> tuple[DomainEvent, ...]:
        cell = situation.cell
        users = referrers_of(cell.config, cell.workloads, *kind_and_key(stream))
        return _decided(stream, situation, RequestDeletion(users=users))

    return StreamCommand(stream=stream, decide=decide, reads_config=True)


def creation(services: ApplicationServices, actor: str, wanted: DesiredObject) -> StreamCommand:
    """The change that makes an object."""
    command: Create[Any] = Create(
        uid=services.ids.new(),
        name=wanted.name,
        namespace=wanted.namespace,
        labels=wanted.labels,
        annotations=wanted.annotations,
        spec=wanted.spec,
        by=actor,
    )
    return command_on_object(wanted.stream, command)


def replacement(actor: str, wanted: DesiredObject, version: int | None) -> StreamCommand:
    """The change that gives an object another spec."""
    command: ChangeObject[Any] = ChangeObject(
        labels=wanted.labels,
        annotations=wanted.annotations,
        spec=wanted.spec,
        keeps=wanted.keeps,
        by=actor,
    )
    change = command_on_object(wanted.stream, command)
    return msgspec.structs.replace(change, version=version, position=wanted.position)


def command_on_object(stream: str, command: object) -> StreamCommand:
    """The change that a command makes to a configured object."""

    def decide(situation: DecisionContext) -> tuple[DomainEvent, ...]:
        return _decided(stream, situation, command)

    return StreamCommand(stream=stream, decide=decide)


def _decided(stream: str, situation: DecisionContext, command: object) -> tuple[DomainEvent, ...]:
    kind, _ = kind_and_key(stream)
    return KINDS_BY_STREAM[kind].decide(situation.state, command, situation.at)


async def apply(
    services: ApplicationServices, call: CommandRequest, wanted: Sequence[DesiredObject]
) -> CommandResponse:
    """All accepted objects in one append, so that nobody sees half of a configuration."""
    actor = call.origin.actor
    changes = await run_yielding(each(change_to(services, actor, one) for one in wanted))
    return await execute(services, call.command(*changes))


def change_to(services: ApplicationServices, actor: str, wanted: DesiredObject) -> StreamCommand:
    """The change that creates an object, or changes it if it is there."""
    if wanted.kind == "workload":
        new = submission(services, wanted)
        other = change_of_spec(services, wanted, None)
    else:
        new, other = creation(services, actor, wanted), replacement(actor, wanted, None)

    def decide(situation: DecisionContext) -> tuple[DomainEvent, ...]:
        change = new if isinstance(situation.state, Absent) else other
        return change.decide(situation)

    return StreamCommand(stream=wanted.stream, decide=decide, position=wanted.position)
