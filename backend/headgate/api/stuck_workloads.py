"""`/v1/stuck-workloads` and `/v1/batches`: stuck workloads, and one action on many workloads."""

from collections.abc import Sequence
from typing import Annotated, Literal

import msgspec
from litestar import Controller, get, post
from litestar.params import JSONBody, PathParameter, QueryParameter

from headgate.api.answers import (
    Answer,
    CommandOptions,
    answer,
    answer_command,
    answer_view,
    command_request,
    response,
)
from headgate.api.bodies import RequestBody, ShortText, Timestamp
from headgate.api.callers import Caller, services_of
from headgate.api.parameters import (
    MAX_SELECTOR_LENGTH,
    IdempotencyHeader,
    Limit,
    Owner,
    Selector,
    instant_or_none,
    label_selector,
    listed,
    owner_named,
)
from headgate.api.workloads.queries import loaded_workload, named_phases
from headgate.application.bulk_actions import (
    Batch,
    BulkRequest,
    BulkResult,
    BulkSelection,
    BulkTarget,
    act_on_all,
    act_on_all_once,
    preview,
)
from headgate.application.commands.execute import catch_up
from headgate.application.commands.requests import CommandRequest, CommandResponse, CommandResult
from headgate.application.commands.workload_commands import WorkloadVerb
from headgate.application.cooperative import Cooperative
from headgate.application.queries.stuck_workloads import (
    StuckWorkloads,
    StuckWorkloadView,
    batch_of,
    stuck_workload_with_forecast,
    stuck_workloads,
    undo,
    undo_action,
)
from headgate.application.workload_filter import WorkloadFilter
from headgate.domain.rejection import InvalidObject
from headgate.domain.workloads.state import Phase


class BulkQuery(RequestBody, kw_only=True, frozen=True):
    """A filter of workloads: every condition that is given must hold."""

    namespace: ShortText = ""
    phases: list[Phase] = []
    queue_name: ShortText = ""
    cluster_queue: ShortText = ""
    name: ShortText = ""
    causes: list[ShortText] = []
    owner: Annotated[str, msgspec.Meta(max_length=63)] = ""
    label_selector: Annotated[str, msgspec.Meta(max_length=MAX_SELECTOR_LENGTH)] = ""
    since: Timestamp | None = None


class ChosenWorkload(RequestBody, kw_only=True, frozen=True):
    """A workload (`namespace/name`); with `uid`, no later workload of that name."""

    workload: ShortText
    uid: ShortText = ""


class BulkAction(RequestBody, kw_only=True, frozen=True):
    """An action on the workloads that match `query`, or on those in `workloads`.

    `position` is the position of a preview: a workload that has changed since is rejected.
    """

    verb: WorkloadVerb
    reason: Annotated[str, msgspec.Meta(min_length=1, max_length=1024, examples=["quota is back"])]
    expires_at: Timestamp | None = None
    query: BulkQuery | None = None
    workloads: Annotated[list[ChosenWorkload], msgspec.Meta(max_length=10_000)] = []
    position: int | None = None
    dry_run: Literal["All"] | None = None


class Undo(RequestBody, kw_only=True, frozen=True):
    """The reason for undoing a bulk action."""

    reason: Annotated[str, msgspec.Meta(max_length=1024)] = ""


Name = Annotated[str, PathParameter(description="The workload's name", max_length=253)]
BatchId = Annotated[str, PathParameter(description="The id of the batch", max_length=64)]
Causes = Annotated[
    str | None, QueryParameter(name="cause", description="Causes to show, separated by commas")
]
Phases = Annotated[
    str | None, QueryParameter(name="phase", description="Inactive, Retrying or OnHold")
]
Place = Annotated[str, QueryParameter(name="namespace")]
ClusterQueueName = Annotated[str, QueryParameter(name="clusterQueue")]
Since = Annotated[
    str | None, QueryParameter(name="since", description="Only those stuck since then (RFC 3339)")
]
Contains = Annotated[str, QueryParameter(name="name", description="A part of the name")]


class StuckWorkloadsPage(Controller):
    """Stuck workloads, and bulk actions on workloads."""

    path = "/"
    tags = ["Stuck workloads"]
    opt = {"right": "read workloads"}

    @get(
        "/stuck-workloads",
        operation_id="listStuckWorkloads",
        summary="List inactive, retrying and held workloads with the recommended action",
        responses=response(StuckWorkloads),
    )
    async def read(
        self,
        request: Caller,
        limit: Limit = 100,
        namespace: Place = "",
        phases: Phases = None,
        cluster_queue: ClusterQueueName = "",
        contains: Contains = "",
        causes: Causes = None,
        selector: Selector = None,
        since: Since = None,
        owner: Owner = None,
    ) -> Answer:
        """The longest stuck workload comes first."""
        query = BulkSelection(
            where=WorkloadFilter(
                namespaces=(namespace,) if namespace else None,
                phases=named_phases(phases),
                cluster_queue=cluster_queue,
                name_contains=contains,
                selector=label_selector(selector),
                owner=owner_named(request, owner),
            ),
            causes=listed(causes),
            since=instant_or_none(since.replace(" ", "+") if since else None, "/since"),
        )
        services = services_of(request)
        await catch_up(services)
        found = await stuck_workloads(services, query, request.user.namespaces, limit=limit)
        return answer_view(found)

    @get(
        "/namespaces/{namespace:str}/workloads/{name:str}/stuck",
        operation_id="readStuckWorkload",
        summary="Explain why a workload is stuck, and predict the recommended action",
        responses=response(StuckWorkloadView),
    )
    async def read_one(self, request: Caller, name: Name) -> Answer:
        """`next` is simulated on the present state; nothing is written."""
        services = services_of(request)
        loaded = await loaded_workload(request, name)
        await services.reader.reached(loaded.position, within_seconds=5.0)
        found = stuck_workload_with_forecast(services, loaded.state, request.user.namespaces)
        return answer(found, position=services.reader.position)

    @post(
        "/batches",
        operation_id="actOnWorkloads",
        summary="Run an action on many workloads, or preview it with dryRun",
        status_code=200,
        responses=response(BulkResult),
        opt={"right": "operate workloads", "large": True},
    )
    async def act(
        self,
        request: Caller,
        data: JSONBody[BulkAction],
        idempotency_key: IdempotencyHeader = None,
    ) -> Answer:
        """The set of workloads is fixed at the request; each is decided separately."""
        services, bulk = services_of(request), _bulk(request, data)
        call = await _call(request, data.reason, idempotency_key)
        if data.dry_run:
            return answer_view(await preview(services, call, bulk))
        if call.key is not None:
            return answer_command(await act_on_all_once(services, call, bulk))
        done = await act_on_all(services, call, bulk)
        return answer(done, position=services.reader.position)

    @get(
        "/batches/{batch:str}",
        operation_id="readBatch",
        summary="Show the results of a bulk action and the present phase of each workload",
        responses=response(Batch),
    )
    async def batch(self, request: Caller, batch: BatchId) -> Answer:
        """Only workloads in the namespaces of the caller."""
        return answer_view(await batch_of(services_of(request), batch, request.user.namespaces))

    @post(
        "/batches/{batch:str}/undo",
        operation_id="undoBatch",
        summary="Undo a bulk action",
        status_code=200,
        responses=response(BulkResult),
        opt={"right": "operate workloads"},
    )
    async def undo(
        self,
        request: Caller,
        batch: BatchId,
        data: JSONBody[Undo],
        idempotency_key: IdempotencyHeader = None,
    ) -> Answer:
        """Workloads that have changed since the action are skipped."""
        call = await _call(request, data.reason, idempotency_key)
        services = services_of(request)
        if call.key is not None:
            bulk = await undo_action(services, call, batch, data.reason)
            return answer_command(await act_on_all_once(services, call, bulk))
        undone = await undo(services, call, batch, data.reason)
        return answer(undone, position=services.reader.position)


async def _call(request: Caller, reason: str, key: str | None) -> CommandRequest:
    """The command request of a bulk action, which renders its own response."""
    options = CommandOptions(reason=reason, key=key)
    return await command_request(request, _nothing_written, options)


def _nothing_written(_: Sequence[CommandResult]) -> Cooperative[CommandResponse]:
    yield
    return CommandResponse(content=None)


def _bulk(request: Caller, data: BulkAction) -> BulkRequest:
    if (data.query is None) == (not data.workloads):
        raise InvalidObject.at("/query", "NotExactlyOne", fields=("query", "workloads"))
    return BulkRequest(
        verb=data.verb,
        reason=data.reason,
        expires_at=instant_or_none(data.expires_at, "/expiresAt"),
        query=_query(request, data.query) if data.query is not None else None,
        chosen=tuple(BulkTarget(one.workload, one.uid) for one in data.workloads),
        position=data.position,
    )


def _query(request: Caller, data: BulkQuery) -> BulkSelection:
    return BulkSelection(
        where=WorkloadFilter(
            namespaces=(data.namespace,) if data.namespace else None,
            phases=tuple(data.phases),
            local_queue=data.queue_name,
            cluster_queue=data.cluster_queue,
            name_contains=data.name,
            selector=label_selector(data.label_selector),
            owner=owner_named(request, data.owner),
        ),
        causes=tuple(data.causes),
        since=instant_or_none(data.since, "/query/since"),
    )
