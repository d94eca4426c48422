"""Actions on nodes: cordon, drain, uncordon, the preview of a drain, and heartbeats."""

from typing import Annotated, Any

from litestar import Controller, get, post
from litestar.params import JSONBody, PathParameter

from headgate.adapters.manifests.fields import Fields, Problems
from headgate.adapters.manifests.node import NodeObject
from headgate.api.answers import (
    Answer,
    CommandOptions,
    answer_command,
    answer_view,
    command_request,
    response,
)
from headgate.api.bodies import Free, RequestBody
from headgate.api.callers import Caller, services_of
from headgate.api.manifests import object_writer
from headgate.api.parameters import IdempotencyHeader
from headgate.api.workloads.schemas import Action
from headgate.application.commands.object_commands import NodeOrder, tell_node
from headgate.application.simulations import DrainPreview, drain_preview
from headgate.domain.field_rules import raise_if_invalid
from headgate.domain.nodes.decide import CordonNode, DrainNode, ReportNode, UncordonNode
from headgate.domain.recorded_event import stream_of


def read_amounts(
    allocatable: dict[str, Any], others: dict[str, Any]
) -> tuple[dict[str, int], dict[str, int]]:
    """Both as amounts; raises `InvalidObject` with every quantity that is none."""
    problems = Problems()
    fields = Fields({"allocatable": allocatable, "usedByOthers": others}, "", problems)
    found = (fields.amounts("allocatable"), fields.amounts("usedByOthers"))
    raise_if_invalid("Node", "", problems)
    return found


class Heartbeat(RequestBody, kw_only=True, frozen=True):
    """What a node says of itself; quantities are Kubernetes quantities.

    After `leaseSeconds` without another heartbeat it counts as not ready; 0 is never.
    """

    ready: bool
    allocatable: Free
    used_by_others: Free = {}
    lease_seconds: int = 0


Name = Annotated[str, PathParameter(description="The node's name", max_length=253)]


class NodeActions(Controller):
    """What is done to nodes, and what they report."""

    path = "/nodes/{name:str}"
    tags = ["Node"]
    opt = {"right": "read nodes"}

    @post(
        "/cordon",
        operation_id="cordonNode",
        summary="Let a node take no new pods",
        status_code=200,
        responses=response(NodeObject),
        opt={"right": "operate nodes"},
    )
    async def cordon(
        self,
        request: Caller,
        name: Name,
        data: JSONBody[Action],
        idempotency_key: IdempotencyHeader = None,
    ) -> Answer:
        """What runs there runs on."""
        return await _tell(
            request, name, CordonNode(), CommandOptions(reason=data.reason, key=idempotency_key)
        )

    @post(
        "/drain",
        operation_id="drainNode",
        summary="Let a node take no new pods, and find another place for those it has",
        status_code=200,
        responses=response(NodeObject),
        opt={"right": "operate nodes"},
    )
    async def drain(
        self,
        request: Caller,
        name: Name,
        data: JSONBody[Action],
        idempotency_key: IdempotencyHeader = None,
    ) -> Answer:
        """Workloads without another placement are evicted; `drain-preview` lists them."""
        return await _tell(
            request, name, DrainNode(), CommandOptions(reason=data.reason, key=idempotency_key)
        )

    @get(
        "/drain-preview",
        operation_id="previewDrain",
        summary="Preview a drain: the workloads on a node, and the effect on each",
        responses=response(DrainPreview),
    )
    async def drain_preview(self, request: Caller, name: Name) -> Answer:
        """Nothing is changed; other teams' workloads are not named for submitters."""
        scope = request.user.namespaces
        return answer_view(drain_preview(services_of(request), name, scope))

    @post(
        "/uncordon",
        operation_id="uncordonNode",
        summary="Let a node take pods again",
        status_code=200,
        responses=response(NodeObject),
        opt={"right": "operate nodes"},
    )
    async def uncordon(
        self,
        request: Caller,
        name: Name,
        data: JSONBody[Action],
        idempotency_key: IdempotencyHeader = None,
    ) -> Answer:
        """The end of a cordon or a drain."""
        return await _tell(
            request, name, UncordonNode(), CommandOptions(reason=data.reason, key=idempotency_key)
        )

    @post(
        "/heartbeat",
        operation_id="reportNode",
        summary="What a node says of itself",
        status_code=200,
        responses=response(NodeObject),
        opt={"right": "report nodes"},
    )
    async def heartbeat(self, request: Caller, name: Name, data: JSONBody[Heartbeat]) -> Answer:
        """Recorded only if it differs from the last one."""
        allocatable, others = read_amounts(data.allocatable, data.used_by_others)
        report = ReportNode(
            ready=data.ready,
            allocatable=allocatable,
            used_by_others=others,
            lease_seconds=data.lease_seconds,
        )
        return await _tell(request, name, report, CommandOptions())


KIND = "Node"


async def _tell(request: Caller, name: str, command: NodeOrder, options: CommandOptions) -> Answer:
    call = await command_request(request, object_writer(KIND), options)
    stream = stream_of("node", name)
    return answer_command(await tell_node(services_of(request), call, stream, command))
