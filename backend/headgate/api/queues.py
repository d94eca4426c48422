"""The queue tree, usage and pending workloads of queues, and stop, drain and resume."""

import asyncio
from collections.abc import Mapping
from typing import Annotated, Literal

import msgspec
from litestar import Controller, Router, get, post
from litestar.handlers import HTTPRouteHandler
from litestar.params import JSONBody, PathParameter, QueryParameter

from headgate.adapters.manifests.cluster_queue import ClusterQueueObject
from headgate.adapters.manifests.local_queue import LocalQueueObject
from headgate.api.answers import (
    Answer,
    CommandOptions,
    answer,
    answer_command,
    answer_view,
    command_request,
    response,
)
from headgate.api.bodies import RequestBody, Timestamp
from headgate.api.callers import Caller, services_of
from headgate.api.manifests import object_writer
from headgate.api.parameters import (
    MAX_ACTION_BYTES,
    IdempotencyHeader,
    Owner,
    Points,
    RangeEnd,
    RangeStart,
    instant_or_none,
    owner_named,
)
from headgate.application import time_travel
from headgate.application.access.redaction import cluster_queues_of
from headgate.application.access.rights import Right
from headgate.application.commands.object_commands import stop_queue
from headgate.application.queries.capacity_history import (
    CapacityHistory,
    UsageGrouping,
    WaitHistogram,
    capacity_history,
    wait_times,
)
from headgate.application.queries.expected_start import WaitKey, past_waits
from headgate.application.queries.queue_tree import queue_summary, queue_tree, usage_over_time
from headgate.application.queries.queue_views import (
    PendingPageRequest,
    PendingWorkloadsSummary,
    QueueSummary,
    QueueTree,
    UsageOverTime,
    pending_in_cluster_queue,
    pending_in_local_queue,
)
from headgate.application.workload_filter import Waits
from headgate.domain.kinds.queue_stop import ResumeQueue, StopQueue
from headgate.domain.recorded_event import stream_of
from headgate.domain.rejection import NotAllowed


class StopRequest(RequestBody, kw_only=True, frozen=True):
    """Why the queue stops, whether what runs is evicted, and until when."""

    reason: Annotated[str, msgspec.Meta(max_length=1024)] = ""
    policy: Literal["Hold", "HoldAndDrain"] = "Hold"
    expires_at: Timestamp | None = None


Name = Annotated[str, PathParameter(description="The queue's name", max_length=253)]
ResourceName = Annotated[
    str, QueryParameter(description="Such as `nvidia.com/gpu` or `cpu`", max_length=253)
]
ExpectedStarts = Annotated[
    bool,
    QueryParameter(name="expectedStarts", description="Whether to tell when each may start"),
]
Verb = Literal["stop", "drain", "resume"]
VERBS: tuple[Verb, ...] = ("stop", "drain", "resume")
SUMMARIES: dict[Verb, str] = {
    "stop": "Let nothing more through; what runs runs on unless the policy is HoldAndDrain",
    "drain": "Let nothing more through and evict what runs",
    "resume": "Let workloads through again",
}


READ_CLUSTER_QUEUES = Right("read", "clusterqueues")


class Queues(Controller):
    """What waits where."""

    path = "/"
    tags = ["Queues"]
    opt = {"right": "read clusterqueues"}

    @get(
        "/queues",
        operation_id="readQueueTree",
        summary="Cohorts and ClusterQueues with what is used, borrowed and lent",
        responses=response(QueueTree),
    )
    async def tree(self, request: Caller) -> Answer:
        """Standalone ClusterQueues are roots as well."""
        return answer_view(queue_tree(services_of(request), request.user.namespaces))

    @get(
        "/queues/summary",
        operation_id="readQueueSummary",
        summary="Each ClusterQueue in one row: use, borrowed, pending demand and waits",
        responses=response(QueueSummary),
    )
    async def summary(self, request: Caller, resource: ResourceName = "") -> Answer:
        """Of one resource; the first that has quota, GPUs before all others, without a name."""
        services = services_of(request)
        return answer_view(await queue_summary(services, resource, request.user.namespaces))

    @get(
        "/usage",
        operation_id="readCapacityHistory",
        summary="Use, capacity and pending demand of one resource over time, by ClusterQueue",
        responses=response(CapacityHistory),
    )
    async def capacity(
        self,
        request: Caller,
        resource: ResourceName = "",
        by: Annotated[
            UsageGrouping, QueryParameter(description="The groups to tell use of")
        ] = "clusterQueue",
        since: RangeStart = None,
        until: RangeEnd = None,
        points: Points = 96,
    ) -> Answer:
        """At instants that are multiples of an even distance, and now where there is no end."""
        period = time_travel.SampledPeriod(
            instant_or_none(since, "/since"), instant_or_none(until, "/until"), points
        )
        services, scope = services_of(request), request.user.namespaces
        return answer_view(await capacity_history(services, resource, by, period, scope))

    @get(
        "/waits",
        operation_id="readWaitHistogram",
        summary="How long workloads were pending until they got quota, by length",
        responses=response(WaitHistogram),
    )
    async def waits(
        self,
        request: Caller,
        cluster_queue: Annotated[
            str, QueryParameter(name="clusterQueue", max_length=253, description="All without")
        ] = "",
        since: RangeStart = None,
        until: RangeEnd = None,
    ) -> Answer:
        """Of workloads that got quota in a stretch, the last day without one."""
        period = time_travel.SampledPeriod(
            instant_or_none(since, "/since"), instant_or_none(until, "/until"), points=2
        )
        services, scope = services_of(request), request.user.namespaces
        if scope is not None and cluster_queue:
            require_cluster_queue(request, cluster_queue, scope)
        return answer_view(await wait_times(services, cluster_queue, period, scope))

    @get(
        "/clusterqueues/{name:str}/usage",
        operation_id="readUsage",
        summary="What a ClusterQueue used, borrowed and lent at instants of the past",
        responses=response(UsageOverTime),
    )
    async def usage(
        self,
        request: Caller,
        name: Name,
        since: RangeStart = None,
        until: RangeEnd = None,
        points: Points = 25,
    ) -> Answer:
        """At equal distances, both ends too, with what came and went between one and the next."""
        period = time_travel.SampledPeriod(
            instant_or_none(since, "/since"), instant_or_none(until, "/until"), points
        )
        services, scope = services_of(request), request.user.namespaces
        if scope is not None:
            require_cluster_queue(request, name, scope)
        return answer_view(await usage_over_time(services, name, period))

    @get(
        "/clusterqueues/{name:str}/pendingworkloads",
        operation_id="listPendingWorkloadsOfClusterQueue",
        summary="List the pending workloads of a ClusterQueue in scheduling order",
        responses=response(PendingWorkloadsSummary),
    )
    async def pending_in_cluster_queue(
        self,
        request: Caller,
        name: Name,
        limit: Annotated[int, QueryParameter(ge=1, le=5000)] = 1000,
        offset: Annotated[int, QueryParameter(ge=0)] = 0,
        owner: Owner = None,
        expected_starts: ExpectedStarts = False,
    ) -> Answer:
        """Kueue's visibility API, with why each one waits."""
        waits = await waits_for(request, name) if expected_starts else None
        wanted = PendingPageRequest(offset, limit, owner_named(request, owner), waits)
        return await pending(request, name, "", wanted)

    @get(
        "/namespaces/{namespace:str}/localqueues/{name:str}/pendingworkloads",
        operation_id="listPendingWorkloadsOfLocalQueue",
        summary="List the pending workloads of a LocalQueue in scheduling order",
        responses=response(PendingWorkloadsSummary),
        opt={"right": "read localqueues"},
    )
    async def pending_in_local_queue(
        self,
        request: Caller,
        namespace: Name,
        name: Name,
        limit: Annotated[int, QueryParameter(ge=1, le=5000)] = 1000,
        offset: Annotated[int, QueryParameter(ge=0)] = 0,
        owner: Owner = None,
        expected_starts: ExpectedStarts = False,
    ) -> Answer:
        """Kueue's visibility API, with why each one waits."""
        waits = await waits_for(request, name, namespace) if expected_starts else None
        wanted = PendingPageRequest(offset, limit, owner_named(request, owner), waits)
        return await pending(request, name, namespace, wanted)


def require_cluster_queue(request: Caller, name: str, scope: frozenset[str]) -> None:
    """Raises `NotAllowed` for a ClusterQueue that no LocalQueue of these namespaces leads to.

    What a ClusterQueue used in the past is the usage of the tenants that it serves.
    """
    if name not in cluster_queues_of(services_of(request).reader.cluster_state.config, scope):
        user, (verb, resource) = request.user.name, READ_CLUSTER_QUEUES
        raise NotAllowed(
            "ClusterQueueNotGranted", user=user, verb=verb, resource=resource, queue=name
        )


def _cluster_queue_handler(verb: Verb) -> HTTPRouteHandler:
    @post(
        f"/clusterqueues/{{name:str}}/{verb}",
        operation_id=f"{verb}ClusterQueue",
        summary=SUMMARIES[verb],
        status_code=200,
        responses=response(ClusterQueueObject),
        opt={"right": "operate clusterqueues"},
    )
    async def act(
        request: Caller,
        name: Name,
        data: JSONBody[StopRequest],
        idempotency_key: IdempotencyHeader = None,
    ) -> Answer:
        return await act_on_queue(request, QueueTarget(verb, name), data, idempotency_key)

    return act


def _local_queue_handler(verb: Verb) -> HTTPRouteHandler:
    @post(
        f"/namespaces/{{namespace:str}}/localqueues/{{name:str}}/{verb}",
        operation_id=f"{verb}LocalQueue",
        summary=SUMMARIES[verb],
        status_code=200,
        responses=response(LocalQueueObject),
        opt={"right": "operate localqueues"},
    )
    async def act(
        request: Caller,
        namespace: Name,
        name: Name,
        data: JSONBody[StopRequest],
        idempotency_key: IdempotencyHeader = None,
    ) -> Answer:
        target = QueueTarget(verb, name, namespace)
        return await act_on_queue(request, target, data, idempotency_key)

    return act


def actions() -> Router:
    """One handler for each verb and kind of queue."""
    makers = (_cluster_queue_handler, _local_queue_handler)
    handlers = [maker(verb) for maker in makers for verb in VERBS]
    return Router(
        path="/",
        tags=["Queues"],
        route_handlers=handlers,
        request_max_body_size=MAX_ACTION_BYTES,
    )


class QueueTarget(msgspec.Struct, frozen=True):
    """What is done to which queue; a namespace says that it is a LocalQueue."""

    verb: Verb
    name: str
    namespace: str = ""

    @property
    def kind(self) -> str:
        """The kind of queue, as in manifests."""
        return "LocalQueue" if self.namespace else "ClusterQueue"


async def act_on_queue(
    request: Caller, target: QueueTarget, data: StopRequest, key: str | None
) -> Answer:
    """Stop, drain or resume a queue."""
    call = await command_request(
        request, object_writer(target.kind), CommandOptions(reason=data.reason, key=key)
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


async def waits_for(request: Caller, name: str, namespace: str = "") -> Mapping[WaitKey, Waits]:
    """The past waits of a ClusterQueue, or of the one that a LocalQueue leads to."""
    services = services_of(request)
    if namespace:
        queue = services.reader.cluster_state.config.local_queues.get(f"{namespace}/{name}")
        name = queue.spec.cluster_queue if queue else ""
    sizes = await asyncio.to_thread(services.models.sizes_started, name)
    return await asyncio.to_thread(past_waits, services.models, [(name, size) for size in sizes])


async def pending(
    request: Caller, name: str, namespace: str, stretch: PendingPageRequest
) -> Answer:
    """A waiting line, of a LocalQueue where there is a namespace."""
    services = services_of(request)
    scope = request.user.namespaces
    if namespace:
        key = f"{namespace}/{name}"
        steps = pending_in_local_queue(services, key, scope, stretch)
    else:
        steps = pending_in_cluster_queue(services, name, scope, stretch)
    view = await services.reader.while_still(steps)
    return answer(view, position=int(view.metadata.resource_version))
