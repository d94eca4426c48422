"""What executors are to run, and what they report of it."""

from collections.abc import Iterator, Sequence
from typing import Annotated, Any, NamedTuple

from litestar import Controller, Router, get, post
from litestar.handlers import HTTPRouteHandler
from litestar.params import JSONBody, PathParameter, QueryParameter

from headgate.api.answers import (
    Answer,
    CommandOptions,
    answer,
    answer_command,
    command_request,
    response,
)
from headgate.api.callers import Caller, services_of
from headgate.api.executors.assignments import assignments, evictions, pod_places
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
from headgate.api.manifests import answer_workload, batch_status, object_writer
from headgate.api.parameters import Continue, IdempotencyHeader, Limit, instant_or_none
from headgate.api.problems import problem_of, visible_to
from headgate.api.workloads.schemas import WorkloadObject
from headgate.application.commands import workload_commands
from headgate.application.commands.requests import CommandResponse, CommandResult
from headgate.application.commands.workload_commands import ReportCommand
from headgate.application.cooperative import Cooperative, each, run_yielding
from headgate.domain.workloads.commands import (
    AcknowledgeEviction,
    ReportEvictionProgress,
    ReportFinished,
    ReportPodsGone,
    ReportPodsReady,
    ReportReclaimable,
    ReportStopped,
    ReportStopping,
)
from headgate.messages.rendering import IsVisible

Name = Annotated[str, PathParameter(description="The workload's name", max_length=253)]
EvictionId = Annotated[
    str, PathParameter(description="The eviction, as assignments name it", max_length=200)
]
HandlerName = Annotated[
    str | None, QueryParameter(description="Only evictions that are for this handler")
]
WORKLOAD = "/namespaces/{namespace:str}/workloads/{name:str}"
REPORTS = {"right": "report workloads"}


class Executors(Controller):
    """Assignments and reports."""

    path = "/"
    tags = ["Executors"]
    opt = {"right": "read workloads"}

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
        told = Report(
            workload=key, uid=data.uid, attempt=data.attempt, type=kind, message=data.message
        )
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
        told = Report(
            workload=key, uid=data.uid, attempt=data.attempt, type="podsGone", hosts=data.hosts
        )
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
        """Their quota is free from then on, their hosts once all pods of the pod set have ended."""
        key = f"{namespace}/{name}"
        told = Report(
            workload=key, uid=data.uid, attempt=data.attempt, type="reclaimable", pods=data.pods
        )
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
        told = Report(
            workload=key, uid=data.uid, attempt=data.attempt, type=kind, message=data.message
        )
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
            attempt=data.attempt,
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
    opt={**REPORTS, "large": True},
)
async def report_many(
    request: Caller,
    data: JSONBody[ReportBatch],
    idempotency_key: IdempotencyHeader = None,
) -> Answer:
    """Taken in order, each individually: 200 if none was rejected, 207 if some, 422 if all."""
    free_early = releases_quota(request)
    new_id = services_of(request).ids.new
    told = [
        (report.workload, _command(report, new_id(), releases_quota=free_early))
        for report in data.reports
    ]

    def write(results: Sequence[CommandResult]) -> Cooperative[CommandResponse]:
        outcomes = yield from each(_outcomes(request, data.reports, results))
        content = {"position": None, "results": outcomes}
        return CommandResponse(status=batch_status(outcomes), content=content)

    services = services_of(request)
    call = await command_request(
        request, write, CommandOptions(key=idempotency_key, tells_failures=True)
    )
    if idempotency_key is not None:
        return answer_command(await workload_commands.report_together(services, call, told))
    results, position = await workload_commands.report_each(services, call, told)
    outcomes = await run_yielding(each(_outcomes(request, data.reports, results)))
    content = {"position": position, "results": outcomes}
    return answer(content, position=position, status=batch_status(outcomes))


KIND = "Workload"


async def report(request: Caller, told: Report) -> Answer:
    """Record one report, and answer with the workload as it stands then."""
    call = await command_request(request, object_writer(KIND), CommandOptions())
    eviction = services_of(request).ids.new()
    command = _command(told, eviction, releases_quota=releases_quota(request))
    handled = await workload_commands.report(services_of(request), call, (told.workload, command))
    return await answer_workload(request, handled)


def releases_quota(request: Caller) -> bool:
    """Whether quota is free as soon as pods are being killed."""
    configuration = services_of(request).reader.cluster_state.config.configuration
    return configuration.quota_release == "OnTerminating"


def _command(report: Report, eviction: str, *, releases_quota: bool) -> ReportCommand:
    """The command of a report; `eviction` is the id of the eviction that a failure may begin."""
    match report.type:
        case "podsReady" | "podsNotReady":
            ready = report.type == "podsReady"
            return ReportPodsReady(
                uid=report.uid, attempt=report.attempt, ready=ready, message=report.message
            )
        case "podsGone":
            return ReportPodsGone(uid=report.uid, attempt=report.attempt, hosts=tuple(report.hosts))
        case "reclaimable":
            return ReportReclaimable(uid=report.uid, attempt=report.attempt, pods=report.pods)
        case "finished" | "failed":
            succeeded = report.type == "finished"
            return ReportFinished(
                uid=report.uid,
                attempt=report.attempt,
                succeeded=succeeded,
                message=report.message,
                eviction=eviction,
            )
        case "stopping":
            return ReportStopping(
                uid=report.uid,
                attempt=report.attempt,
                eviction=report.eviction,
                releases_quota=releases_quota,
            )
        case "stopped":
            return ReportStopped(uid=report.uid, attempt=report.attempt, eviction=report.eviction)
        case "acknowledged":
            return AcknowledgeEviction(
                uid=report.uid,
                attempt=report.attempt,
                eviction=report.eviction,
                handler=report.handler,
                expected_end_at=instant_or_none(report.expected_end_at, "/expectedEndAt"),
            )
        case "progressed":
            return ReportEvictionProgress(
                uid=report.uid,
                attempt=report.attempt,
                eviction=report.eviction,
                note=report.message,
            )


def _outcomes(
    request: Caller, told: Sequence[Report], results: Sequence[CommandResult]
) -> Iterator[dict[str, Any]]:
    is_visible = visible_to(request.user)
    return (
        _outcome(each, changed, is_visible) for each, changed in zip(told, results, strict=True)
    )


def _outcome(report: Report, changed: CommandResult, is_visible: IsVisible) -> dict[str, Any]:
    if changed.failure is not None:
        problem = problem_of(changed.failure, is_visible)
        return {"workload": report.workload, "outcome": "rejected", "problem": problem}
    word = "recorded" if changed.events else "unchanged"
    return {"workload": report.workload, "outcome": word}
