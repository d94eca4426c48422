"""Cordoning nodes and taking their heartbeats."""

from headgate.api.answers import Answer
from headgate.api.callers import Caller, services_of
from headgate.api.command_requests import CommandOptions, answer_command, command_request
from headgate.api.executors.schemas import Heartbeat
from headgate.api.manifests import object_writer
from headgate.api.nodes.amounts import read_amounts
from headgate.api.workloads.schemas import Action
from headgate.application.commands.configure_objects import NodeOrder, tell_node
from headgate.domain.streams import stream_of
from headgate.domain.topology.commands import CordonNode, DrainNode, ReportNode, UncordonNode

KIND = "Node"


async def cordon(request: Caller, name: str, data: Action, key: str | None) -> Answer:
    """Let the node take no new pods."""
    return await _tell(request, name, CordonNode(), CommandOptions(reason=data.reason, key=key))


async def drain(request: Caller, name: str, data: Action, key: str | None) -> Answer:
    """Let the node take no new pods, and find another place for those it has."""
    return await _tell(request, name, DrainNode(), CommandOptions(reason=data.reason, key=key))


async def uncordon(request: Caller, name: str, data: Action, key: str | None) -> Answer:
    """Let the node take pods again."""
    return await _tell(request, name, UncordonNode(), CommandOptions(reason=data.reason, key=key))


async def heartbeat(request: Caller, name: str, data: Heartbeat) -> Answer:
    """Take what the node says of itself."""
    allocatable, others = read_amounts(data.allocatable, data.used_by_others)
    report = ReportNode(
        ready=data.ready,
        allocatable=allocatable,
        used_by_others=others,
        lease_seconds=data.lease_seconds,
    )
    return await _tell(request, name, report, CommandOptions())


async def _tell(request: Caller, name: str, command: NodeOrder, options: CommandOptions) -> Answer:
    call = await command_request(request, object_writer(request, KIND), options)
    stream = stream_of("node", name)
    return answer_command(await tell_node(services_of(request), call, stream, command))
