"""Create, replace and delete configured objects, stop queues, cordon nodes, take heartbeats."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from headgate.application.access.identity import Identity
from headgate.application.access.rights import Right
from headgate.application.application_services import ApplicationServices
from headgate.application.commands.execute import catch_up, execute
from headgate.application.commands.requests import (
    CommandRequest,
    CommandResponse,
    DecisionContext,
    DesiredObject,
    StreamCommand,
)
from headgate.application.commands.submission_commands import change_of_spec, submission
from headgate.application.cooperative import each, run_yielding
from headgate.application.ports import WorkloadQuery
from headgate.application.workload_filter import WorkloadFilter
from headgate.domain.kinds.admission_check import ReportCheck
from headgate.domain.kinds.configured_object import Absent, Configured
from headgate.domain.kinds.executor_nodes import known_nodes
from headgate.domain.kinds.local_queue import LocalQueueSpec
from headgate.domain.kinds.object_commands import Change as ChangeObject
from headgate.domain.kinds.object_commands import Create, RequestDeletion
from headgate.domain.kinds.queue_stop import ResumeQueue, Stop, StopQueue
from headgate.domain.kinds.registry import KINDS_BY_STREAM
from headgate.domain.kinds.webhook import WebhookSpec
from headgate.domain.nodes.decide import CordonNode, DrainNode, ReportNode, UncordonNode
from headgate.domain.recorded_event import DomainEvent, kind_and_key, stream_of
from headgate.domain.rejection import IllegalNow, InvalidObject
from headgate.domain.scheduling.reconcile import ended_in, known_referrers
from headgate.domain.workloads.ended import ENDED_PHASES
from headgate.domain.workloads.state import (
    Authority,
    authority_of_order,
    authority_rank,
    ordered_by,
)

CONFIGURE_CLUSTER_QUEUES = Right("configure", "clusterqueues")
NodeOrder = ReportNode | CordonNode | DrainNode | UncordonNode


async def create(
    services: ApplicationServices, request: CommandRequest, desired: DesiredObject
) -> CommandResponse:
    """Make an object that does not exist."""
    return await execute(services, request, [creation(services, request.identity, desired)])


async def replace(
    services: ApplicationServices,
    request: CommandRequest,
    desired: DesiredObject,
    version: int | None,
) -> CommandResponse:
    """Give an object that exists another spec."""
    return await execute(
        services, request, [replacement(services, request.identity, desired, version)]
    )


async def delete(
    services: ApplicationServices, request: CommandRequest, stream: str, version: int | None
) -> CommandResponse:
    """Deletes an object; one in use is deleted once nothing refers to it."""
    await catch_up(services)
    kind, key = kind_and_key(stream)
    ended = await _ended_streams(services, key) if kind == "namespace" else ()
    change = msgspec.structs.replace(object_deletion(stream, ended), version=version)

    def decide(context: DecisionContext) -> tuple[DomainEvent, ...]:
        if kind == "localqueue":
            require_authority_over_stop(request.identity, key.partition("/")[0], context.state)
        return change.decide(context)

    return await execute(services, request, [msgspec.structs.replace(change, decide=decide)])


async def stop_queue(
    services: ApplicationServices,
    request: CommandRequest,
    stream: str,
    command: StopQueue | ResumeQueue,
) -> CommandResponse:
    """Let a queue admit nothing more, or admit again; its stop names the authority of the user."""
    identity, (kind, key) = request.identity, kind_and_key(stream)
    namespace = key.partition("/")[0] if kind == "localqueue" else ""

    def decide(context: DecisionContext) -> tuple[DomainEvent, ...]:
        told, authority = command, require_authority_over_stop(identity, namespace, context.state)
        if isinstance(told, StopQueue) and authority != "Admin":
            told = msgspec.structs.replace(told, owner=ordered_by(authority, identity.name))
        return _decided(stream, context, told)

    return await execute(services, request, [StreamCommand(stream=stream, decide=decide)])


async def tell_node(
    services: ApplicationServices,
    request: CommandRequest,
    stream: str,
    command: NodeOrder,
) -> CommandResponse:
    """Cordon, drain or uncordon a node, or take its heartbeat."""
    return await execute(services, request, [command_on_object(stream, command)])


async def tell_nodes(
    services: ApplicationServices,
    request: CommandRequest,
    executor: str,
    command: CordonNode | DrainNode | UncordonNode,
) -> CommandResponse:
    """Cordon, drain or uncordon all nodes that an executor has registered, as one unit.

    Raises `IllegalNow` where it has registered none.
    """
    await catch_up(services)
    nodes = known_nodes(services.reader.cluster_state.config, executor)
    if not nodes:
        raise IllegalNow("ExecutorHasNoNodes", name=executor)
    orders = [command_on_object(stream_of("node", node), command) for node in nodes]
    return await execute(services, request, orders)


async def tell_check(
    services: ApplicationServices, request: CommandRequest, name: str, command: ReportCheck
) -> CommandResponse:
    """Records the status that the controller of an admission check reports."""
    return await execute(services, request, [command_on_object(f"admissioncheck/{name}", command)])


MAX_ENDED_NAMED = 100


async def _ended_streams(services: ApplicationServices, namespace: str) -> tuple[str, ...]:
    """The newest ended workloads of a namespace, which the live state need not have."""
    where = WorkloadFilter(namespaces=(namespace,), phases=ENDED_PHASES)
    query = WorkloadQuery(where=where, limit=MAX_ENDED_NAMED)
    rows = await asyncio.to_thread(services.models.workloads, query)
    return tuple(row.stream for row in rows)


def object_deletion(stream: str, ended: Sequence[str] = ()) -> StreamCommand:
    """Returns the command that requests the deletion of an object.

    `ended` names workloads of a Namespace that the fold cannot name.
    """

    def decide(context: DecisionContext) -> tuple[DomainEvent, ...]:
        kind, key = kind_and_key(stream)
        users = known_referrers(context.cluster_state, kind, key)
        if ended and ended_in(key) in users:
            users = (*(each for each in users if each not in {ended_in(key), *ended}), *ended)
        return _decided(stream, context, RequestDeletion(users=users))

    return StreamCommand(stream=stream, decide=decide, reads_config=True)


def creation(
    services: ApplicationServices, identity: Identity, desired: DesiredObject
) -> StreamCommand:
    """The change that makes an object."""
    command: Create[Any] = Create(
        uid=services.ids.new(),
        name=desired.name,
        namespace=desired.namespace,
        labels=desired.labels,
        annotations=desired.annotations,
        spec=desired.spec,
        written=_digest(desired),
        by=identity.actor,
    )
    change = command_on_object(desired.stream, command)
    return msgspec.structs.replace(
        change, written=desired.written, decide=_if_granted(services, identity, desired, change)
    )


def replacement(
    services: ApplicationServices, identity: Identity, desired: DesiredObject, version: int | None
) -> StreamCommand:
    """The change that gives an object another spec."""
    command: ChangeObject[Any] = ChangeObject(
        labels=desired.labels,
        annotations=desired.annotations,
        spec=desired.spec,
        keeps=desired.keeps,
        written=_digest(desired),
        by=identity.actor,
    )
    change = command_on_object(desired.stream, command)
    return msgspec.structs.replace(
        change,
        version=version,
        position=desired.position,
        written=desired.written,
        decide=_if_granted(services, identity, desired, change),
    )


def _if_granted(
    services: ApplicationServices,
    identity: Identity,
    desired: DesiredObject,
    change: StreamCommand,
) -> Callable[[DecisionContext], tuple[DomainEvent, ...]]:
    """Returns the rule of a change that raises `NotAllowed` where the user may not make it."""
    right = Right("configure", KINDS_BY_STREAM[desired.kind].path)

    def decide(context: DecisionContext) -> tuple[DomainEvent, ...]:
        identity.require(right, namespace=desired.namespace)
        if isinstance(desired.spec, LocalQueueSpec):
            _require_local_queue_rights(identity, desired, context.state)
        if isinstance(desired.spec, WebhookSpec):
            _require_allowed_address(services, desired.spec, context.state)
        return change.decide(context)

    return decide


def _require_local_queue_rights(
    identity: Identity, desired: DesiredObject, state: Absent | Configured[LocalQueueSpec]
) -> None:
    """Raises where the change would take a share of others, or undo the stop of an administrator.

    The weight of a LocalQueue counts against those of other namespaces in the ClusterQueue.
    """
    wanted: LocalQueueSpec = desired.spec
    before = LocalQueueSpec(cluster_queue="") if isinstance(state, Absent) else state.spec
    if wanted.fair_weight_milli != before.fair_weight_milli:
        identity.require(CONFIGURE_CLUSTER_QUEUES)
    if wanted.stop_policy != before.stop_policy and "stop_policy" not in desired.keeps:
        require_authority_over_stop(identity, desired.namespace, state)


def _require_allowed_address(
    services: ApplicationServices, wanted: WebhookSpec, state: Absent | Configured[WebhookSpec]
) -> None:
    """Raises `InvalidObject` where deliveries to a new URL would be refused for its address."""
    if isinstance(state, Configured) and state.spec.url == wanted.url:
        return
    host = services.alerts.sender.forbidden_address(wanted.url)
    if host:
        raise InvalidObject.at("/spec/url", "WebhookAddressNotAllowed", host=host)


def require_authority_over_stop(
    identity: Identity, namespace: str, state: Absent | Configured[Any]
) -> Authority:
    """Returns the authority over a queue; raises `IllegalNow` where a higher one stopped it.

    A stop names the authority of a namespace or queue administrator; others are of an admin.
    """
    if isinstance(state, Absent):
        return "NamespaceAdmin"
    if isinstance(state.spec, LocalQueueSpec):
        right, queue = Right("operate", "localqueues"), state.spec.cluster_queue
    else:
        right, queue = Right("operate", "clusterqueues"), state.name
    authority = identity.authority(right, namespace, queue)
    stop = state.spec.stop
    if stop is not None and _rank_of_stop(stop) > authority_rank(authority):
        raise IllegalNow("StoppedByAdmin", owner=stop.owner)
    return authority


def _rank_of_stop(stop: Stop) -> int:
    found = authority_of_order(stop.owner)
    return authority_rank("Admin" if found == "User" else found)


def _digest(desired: DesiredObject) -> str:
    return desired.written.digest if desired.written is not None else ""


def command_on_object(stream: str, command: object) -> StreamCommand:
    """The change that a command makes to a configured object."""

    def decide(context: DecisionContext) -> tuple[DomainEvent, ...]:
        return _decided(stream, context, command)

    return StreamCommand(stream=stream, decide=decide)


def _decided(stream: str, context: DecisionContext, command: object) -> tuple[DomainEvent, ...]:
    kind, _ = kind_and_key(stream)
    return KINDS_BY_STREAM[kind].decide(context.state, command, context.at)


async def apply(
    services: ApplicationServices, request: CommandRequest, desired: Sequence[DesiredObject]
) -> CommandResponse:
    """Appends all accepted objects as one unit, so that no reader sees half of a configuration."""
    identity = request.identity
    changes = await run_yielding(each(change_to(services, identity, one) for one in desired))
    return await execute(services, request, changes)


def change_to(
    services: ApplicationServices, identity: Identity, desired: DesiredObject
) -> StreamCommand:
    """The change that creates an object, or changes it if it is there."""
    if desired.kind == "workload":
        new = submission(services, desired, identity)
        other = change_of_spec(services, desired, identity)
    else:
        new = creation(services, identity, desired)
        other = replacement(services, identity, desired, None)

    def decide(context: DecisionContext) -> tuple[DomainEvent, ...]:
        is_taken_over = desired.imported is not None or desired.adopts_orphans
        change = new if isinstance(context.state, Absent) or is_taken_over else other
        return change.decide(context)

    return StreamCommand(
        stream=desired.stream,
        decide=decide,
        position=desired.position,
        written=new.written,
        templates=new.templates,
    )
