"""What executors are to run, and what they report of it."""

from typing import Annotated, NamedTuple

from litestar import Controller, Router, get, post
from litestar.handlers import HTTPRouteHandler
from litestar.params import JSONBody, PathParameter, QueryParameter

from headgate.api.answers import Answer, response
from headgate.api.callers import Caller
from headgate.api.executors.assignments import assignments, evictions, pod_places
from headgate.api.executors.reports import batch, report
from headgate.api.executors.schemas import (
    AssignmentPage,
    EvictionPage,
    EvictionReport,
    FinishedReport,
    ObservedPods,
    PodPlaces,
    PodsGoneReport,
    PodsReadyReport,
    ReclaimableReport,
    Report,
    ReportBatch,
    ReportOutcomes,
    ReportType,
)
from headgate.api.pages import Continue, Limit
from headgate.api.parameters import IdempotencyHeader
from headgate.api.workloads.schemas import WorkloadObject

Name = Annotated[str, PathParameter(description="The workload's name", max_length=253)]
EvictionId = Annotated[
    str, PathParameter(description="The eviction, as assignments name it", max_length=200)
]
HandlerName = Annotated[
    str | None, QueryParameter(description="Only evictions that are for this handler")
]
WORKLOAD = "/namespaces/{namespace:str}/workloads/{name:str}"
REPORTS = {"right": "report"}


class Executors(Controller):
    """Assignments and reports."""

    path = "/"
    tags = ["Executors"]

    @get(
        "/assignments",
        operation_id="listAssignments",
        summary="All workloads that have quota now, and where their pods go",
        responses=response(AssignmentPage),
    )
    async def assignments(
        self, request: Caller, limit: Limit = 500, after: Continue = None
    ) -> Answer:
        """By name; what changes afterwards comes over the stream."""
        return await assignments(request, limit=limit, after=after)

    @get(
        "/evictions",
        operation_id="listEvictions",
        summary="List evictions in progress with their deadlines",
        responses=response(EvictionPage),
    )
    async def evictions(
        self,
        request: Caller,
        handler: HandlerName = None,
        limit: Limit = 500,
        after: Continue = None,
    ) -> Answer:
        """For handlers that save work first: theirs alone, if they name themselves."""
        return await evictions(request, handler, limit=limit, after=after)

    @post(
        f"{WORKLOAD}/pods-ready",
        operation_id="reportPodsReady",
        summary="Report whether every pod is ready",
        status_code=200,
        responses=response(WorkloadObject),
        opt=REPORTS,
    )
    async def pods_ready(
        self, request: Caller, namespace: Name, name: Name, data: JSONBody[PodsReadyReport]
    ) -> Answer:
        """Saying the same twice is one fact."""
        kind: ReportType = "podsReady" if data.ready else "podsNotReady"
        key = f"{namespace}/{name}"
        told = Report(workload=key, uid=data.uid, type=kind, message=data.message)
        return await report(request, told)

    @post(
        f"{WORKLOAD}/pods-gone",
        operation_id="reportPodsGone",
        summary="Report hosts on which no pod is alive any more",
        status_code=200,
        responses=response(WorkloadObject),
        opt=REPORTS,
    )
    async def pods_gone(
        self, request: Caller, namespace: Name, name: Name, data: JSONBody[PodsGoneReport]
    ) -> Answer:
        """On a host that fails, is cordoned or expels pods, others are sought at once then."""
        key = f"{namespace}/{name}"
        told = Report(workload=key, uid=data.uid, type="podsGone", hosts=data.hosts)
        return await report(request, told)

    @post(
        f"{WORKLOAD}/pod-places",
        operation_id="placePods",
        summary="Ask which pod goes where, in order of rank where pods tell theirs",
        status_code=200,
        responses=response(PodPlaces),
        opt=REPORTS,
    )
    async def pod_places(
        self, request: Caller, namespace: Name, name: Name, data: JSONBody[ObservedPods]
    ) -> Answer:
        """No domain gets more pods than assigned; nothing is recorded."""
        return await pod_places(request, f"{namespace}/{name}", data)

    @post(
        f"{WORKLOAD}/reclaimable",
        operation_id="reportReclaimable",
        summary="Report how many pods have ended and are not started again",
        status_code=200,
        responses=response(WorkloadObject),
        opt=REPORTS,
    )
    async def reclaimable(
        self, request: Caller, namespace: Name, name: Name, data: JSONBody[ReclaimableReport]
    ) -> Answer:
        """Their quota is free from then on, their hosts with the end of the whole workload."""
        key = f"{namespace}/{name}"
        told = Report(workload=key, uid=data.uid, type="reclaimable", pods=data.pods)
        return await report(request, told)

    @post(
        f"{WORKLOAD}/finished",
        operation_id="reportFinished",
        summary="Report that the pods have ended for good",
        status_code=200,
        responses=response(WorkloadObject),
        opt=REPORTS,
    )
    async def finished(
        self, request: Caller, namespace: Name, name: Name, data: JSONBody[FinishedReport]
    ) -> Answer:
        """Quota and hosts are free from then on."""
        kind: ReportType = "finished" if data.succeeded else "failed"
        key = f"{namespace}/{name}"
        told = Report(workload=key, uid=data.uid, type=kind, message=data.message)
        return await report(request, told)


class EvictionStep(NamedTuple):
    """One report on an eviction: its address, its type in a batch, and its description."""

    path: str
    type: ReportType
    operation: str
    summary: str
    description: str


EVICTION_STEPS = (
    EvictionStep(
        "acknowledge",
        "acknowledged",
        "acknowledgeEviction",
        "Take an eviction over, for instance to save a checkpoint first",
        "The first acknowledgement counts.",
    ),
    EvictionStep(
        "progress",
        "progressed",
        "reportEvictionProgress",
        "Report that an eviction is still going on",
        "The message is kept in the log.",
    ),
    EvictionStep(
        "stopping",
        "stopping",
        "reportStopping",
        "Report that an evicted workload's pods are being killed",
        "Quota is free from then on where the Configuration says OnTerminating, hosts never.",
    ),
    EvictionStep(
        "stopped",
        "stopped",
        "reportStopped",
        "Report that an evicted workload's pods are gone",
        "Quota and hosts are free from then on.",
    ),
)


def report_routes() -> Router:
    """One handler for each report on an eviction, and one for many reports at once."""
    handlers = [_eviction_handler(step) for step in EVICTION_STEPS]
    return Router(path="/", tags=["Executors"], route_handlers=[*handlers, report_many])


def _eviction_handler(step: EvictionStep) -> HTTPRouteHandler:
    @post(
        f"{WORKLOAD}/evictions/{{eviction:str}}/{step.path}",
        operation_id=step.operation,
        summary=step.summary,
        description=step.description,
        status_code=200,
        responses=response(WorkloadObject),
        opt=REPORTS,
    )
    async def tell(
        request: Caller,
        namespace: Name,
        name: Name,
        eviction: EvictionId,
        data: JSONBody[EvictionReport],
    ) -> Answer:
        told = Report(
            workload=f"{namespace}/{name}",
            uid=data.uid,
            type=step.type,
            eviction=eviction,
            message=data.message,
            handler=data.handler,
            expected_end_at=data.expected_end_at,
        )
        return await report(request, told)

    return tell


@post(
    "/reports:batch",
    operation_id="reportMany",
    summary="Report of many workloads at once",
    status_code=200,
    responses=response(ReportOutcomes),
    opt=REPORTS,
)
async def report_many(
    request: Caller,
    data: JSONBody[ReportBatch],
    idempotency_key: IdempotencyHeader = None,
) -> Answer:
    """Taken in order, each by itself: 200 if none was rejected, 207 if some, 422 if all."""
    return await batch(request, data, idempotency_key)
