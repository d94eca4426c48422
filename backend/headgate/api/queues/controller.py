"""The queue tree, the waiting lines, and stopping, draining and resuming queues."""

from typing import Annotated, Literal

from litestar import Controller, Router, get, post
from litestar.handlers import HTTPRouteHandler
from litestar.params import JSONBody, PathParameter, QueryParameter

from headgate.api.answers import Answer, response
from headgate.api.callers import Caller
from headgate.api.objects.queue_shapes import ClusterQueueObject, LocalQueueObject
from headgate.api.parameters import IdempotencyHeader, Points, RangeEnd, RangeStart
from headgate.api.queues import reading, writing
from headgate.api.queues.schemas import StopRequest
from headgate.application.queries.queues.views import (
    PendingWorkloadsSummary,
    QueueTree,
    UsageHistory,
)

Name = Annotated[str, PathParameter(description="The queue's name", max_length=253)]
Verb = Literal["stop", "drain", "resume"]
VERBS: tuple[Verb, ...] = ("stop", "drain", "resume")
SUMMARIES: dict[Verb, str] = {
    "stop": "Let nothing more through; what runs runs on unless the policy is HoldAndDrain",
    "drain": "Let nothing more through and evict what runs",
    "resume": "Let workloads through again",
}


class Queues(Controller):
    """What waits where."""

    path = "/"
    tags = ["Queues"]

    @get(
        "/queues",
        operation_id="readQueueTree",
        summary="Cohorts and ClusterQueues with what is used, borrowed and lent",
        responses=response(QueueTree),
    )
    async def tree(self, request: Caller) -> Answer:
        """Standalone ClusterQueues are roots as well."""
        return await reading.tree(request)

    @get(
        "/clusterqueues/{name:str}/usage",
        operation_id="readUsage",
        summary="What a ClusterQueue used, borrowed and lent at instants of the past",
        responses=response(UsageHistory),
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
        return await reading.usage(request, name, since, until, points)

    @get(
        "/clusterqueues/{name:str}/pendingworkloads",
        operation_id="listPendingWorkloadsOfClusterQueue",
        summary="Who waits in a ClusterQueue, in order",
        responses=response(PendingWorkloadsSummary),
    )
    async def pending_in_cluster_queue(
        self,
        request: Caller,
        name: Name,
        limit: Annotated[int, QueryParameter(ge=1, le=5000)] = 1000,
        offset: Annotated[int, QueryParameter(ge=0)] = 0,
    ) -> Answer:
        """Kueue's visibility API, with why each one waits."""
        return await reading.pending(request, name, "", reading.Stretch(offset, limit))

    @get(
        "/namespaces/{namespace:str}/localqueues/{name:str}/pendingworkloads",
        operation_id="listPendingWorkloadsOfLocalQueue",
        summary="Who waits in a LocalQueue, in order",
        responses=response(PendingWorkloadsSummary),
    )
    async def pending_in_local_queue(
        self,
        request: Caller,
        namespace: Name,
        name: Name,
        limit: Annotated[int, QueryParameter(ge=1, le=5000)] = 1000,
        offset: Annotated[int, QueryParameter(ge=0)] = 0,
    ) -> Answer:
        """Kueue's visibility API, with why each one waits."""
        return await reading.pending(request, name, namespace, reading.Stretch(offset, limit))


def _cluster_queue_handler(verb: Verb) -> HTTPRouteHandler:
    @post(
        f"/clusterqueues/{{name:str}}/{verb}",
        operation_id=f"{verb}ClusterQueue",
        summary=SUMMARIES[verb],
        status_code=200,
        responses=response(ClusterQueueObject),
        opt={"right": "configure"},
    )
    async def act(
        request: Caller,
        name: Name,
        data: JSONBody[StopRequest],
        idempotency_key: IdempotencyHeader = None,
    ) -> Answer:
        return await writing.act(request, writing.Target(verb, name), data, idempotency_key)

    return act


def _local_queue_handler(verb: Verb) -> HTTPRouteHandler:
    @post(
        f"/namespaces/{{namespace:str}}/localqueues/{{name:str}}/{verb}",
        operation_id=f"{verb}LocalQueue",
        summary=SUMMARIES[verb],
        status_code=200,
        responses=response(LocalQueueObject),
        opt={"right": "configure"},
    )
    async def act(
        request: Caller,
        namespace: Name,
        name: Name,
        data: JSONBody[StopRequest],
        idempotency_key: IdempotencyHeader = None,
    ) -> Answer:
        target = writing.Target(verb, name, namespace)
        return await writing.act(request, target, data, idempotency_key)

    return act


def actions() -> Router:
    """One handler for each verb and kind of queue."""
    makers = (_cluster_queue_handler, _local_queue_handler)
    handlers = [maker(verb) for maker in makers for verb in VERBS]
    return Router(path="/", tags=["Queues"], route_handlers=handlers)
