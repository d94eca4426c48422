"""Cordon, drain and uncordon nodes, and take their heartbeats."""

from typing import Annotated

from litestar import Controller, get, post
from litestar.params import JSONBody, PathParameter

from headgate.api.answers import Answer, answer_view, response
from headgate.api.callers import Caller, services_of
from headgate.api.executors.schemas import Heartbeat
from headgate.api.nodes import writing
from headgate.api.objects.place_shapes import NodeObject
from headgate.api.parameters import IdempotencyHeader
from headgate.api.workloads.schemas import Action
from headgate.application.queries.topology.drains import DrainPreview, drain_preview

Name = Annotated[str, PathParameter(description="The node's name", max_length=253)]


class NodeActions(Controller):
    """What is done to nodes, and what they report."""

    path = "/nodes/{name:str}"
    tags = ["Node"]

    @post(
        "/cordon",
        operation_id="cordonNode",
        summary="Let a node take no new pods",
        status_code=200,
        responses=response(NodeObject),
        opt={"right": "configure"},
    )
    async def cordon(
        self,
        request: Caller,
        name: Name,
        data: JSONBody[Action],
        idempotency_key: IdempotencyHeader = None,
    ) -> Answer:
        """What runs there runs on."""
        return await writing.cordon(request, name, data, idempotency_key)

    @post(
        "/drain",
        operation_id="drainNode",
        summary="Let a node take no new pods, and find another place for those it has",
        status_code=200,
        responses=response(NodeObject),
        opt={"right": "configure"},
    )
    async def drain(
        self,
        request: Caller,
        name: Name,
        data: JSONBody[Action],
        idempotency_key: IdempotencyHeader = None,
    ) -> Answer:
        """Whoever finds no other place is evicted; `drain-preview` tells who that would be."""
        return await writing.drain(request, name, data, idempotency_key)

    @get(
        "/drain-preview",
        operation_id="previewDrain",
        summary="Who stands on a node, and what would become of each if it were drained",
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
        opt={"right": "configure"},
    )
    async def uncordon(
        self,
        request: Caller,
        name: Name,
        data: JSONBody[Action],
        idempotency_key: IdempotencyHeader = None,
    ) -> Answer:
        """The end of a cordon or a drain."""
        return await writing.uncordon(request, name, data, idempotency_key)

    @post(
        "/heartbeat",
        operation_id="reportNode",
        summary="What a node says of itself",
        status_code=200,
        responses=response(NodeObject),
        opt={"right": "report"},
    )
    async def heartbeat(self, request: Caller, name: Name, data: JSONBody[Heartbeat]) -> Answer:
        """Recorded only if it differs from the last one."""
        return await writing.heartbeat(request, name, data)
