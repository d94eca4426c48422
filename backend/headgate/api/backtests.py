"""`/v1/cycles` and `/v1/backtests`: what workers planned, the rerun of a cycle, and backtests."""

import asyncio
from collections.abc import Sequence
from typing import Annotated, NamedTuple

import msgspec
from litestar import Controller, get, post
from litestar.params import FromQuery, JSONBody, PathParameter, QueryParameter, RawBody

from headgate.api.answers import (
    Answer,
    CommandOptions,
    answer,
    answer_command,
    answer_view,
    command_request,
    response,
)
from headgate.api.bodies import RequestBody, request_documents
from headgate.api.callers import Caller, origin_of, services_of
from headgate.api.manifests import Entry, with_written_pointers
from headgate.api.parameters import (
    PRESENT_ONLY,
    IdempotencyHeader,
    Points,
    RangeEnd,
    RangeStart,
    instant_or_none,
    point_in_time,
    start_of,
)
from headgate.api.problems import INVALID_REQUEST, ApiFailure
from headgate.api.simulations import entries_of
from headgate.application import backtest_runs
from headgate.application.backtest_runs import PredictionRequest, cancel, find
from headgate.application.commands.object_commands import change_to
from headgate.application.commands.requests import CommandResponse, CommandResult, StreamCommand
from headgate.application.cooperative import Cooperative
from headgate.application.queries import cycles
from headgate.application.queries.cycles import CycleDetail, CyclePage, CycleRerun, CycleSummary
from headgate.application.simulation_records import (
    BacktestPage,
    BacktestView,
    PredictionList,
    SimulationRecord,
    prediction_view,
    view_of,
)
from headgate.application.time_travel import SampledPeriod
from headgate.domain.recorded_event import kind_and_key
from headgate.domain.rejection import Rejection
from headgate.domain.values.instants import Instant

DAY_SECONDS = 86_400
NO_WORKLOADS = "What is configured otherwise is tried; workloads come from the log."


class BacktestRequest(NamedTuple):
    """From where to where, and the manifests as they were sent."""

    body: bytes
    begin: str
    end: str | None


async def ask(request: Caller, question: BacktestRequest) -> SimulationRecord:
    """A new job; raises what is wrong with it."""
    services = services_of(request)
    entries = await entries_of(request, question.body)
    asked = backtest_runs.BacktestRequest(
        begin=point_in_time(question.begin),
        end=point_in_time(question.end) if question.end else None,
        changes=[_change_of(request, entry) for entry in entries],
        documents=question.body.decode(errors="replace"),
        actor=origin_of(request).actor,
    )
    try:
        return await backtest_runs.request_backtest(services, asked)
    except Rejection as rejection:
        only = entries[0].desired if len(entries) == 1 else None
        raise with_written_pointers(rejection, only) if only else rejection from rejection


async def page(request: Caller, before: tuple[Instant, str] | None, limit: int) -> BacktestPage:
    """A page of jobs, newest first."""
    services = services_of(request)
    found = await asyncio.to_thread(services.simulations.page, before=before, limit=limit)
    last = found[-1] if len(found) == limit else None
    return BacktestPage(
        position=services.reader.position,
        items=[view_of(job, whole=False) for job in found],
        next=f"{last.created_at}:{last.id}" if last else None,
    )


def _change_of(request: Caller, entry: Entry) -> StreamCommand:
    assert entry.wanted is not None, "an entry without a failure says what is wanted"
    if entry.wanted.kind == "workload":
        raise ApiFailure(INVALID_REQUEST, NO_WORKLOADS, remedy="Leave the workloads out.")
    return change_to(services_of(request), request.user, entry.wanted)


EXAMPLE = {
    "apiVersion": "kueue.x-k8s.io/v1beta2",
    "kind": "Cohort",
    "metadata": {"name": "research"},
    "spec": {},
}


class PredictionOrder(RequestBody, kw_only=True, frozen=True):
    """When the prediction is checked, how much longer than predicted is tolerated, and why."""

    check_after_seconds: Annotated[int, msgspec.Meta(ge=1, le=30 * DAY_SECONDS)] = DAY_SECONDS
    tolerance_percent: Annotated[int, msgspec.Meta(ge=0, le=1_000)] = 20
    reason: Annotated[str, msgspec.Meta(max_length=1024)] = ""


BacktestId = Annotated[str, PathParameter(description="The backtest", max_length=100)]
RIGHT = {"right": "configure backtests"}
READ = {**RIGHT, "live": PRESENT_ONLY}


class Backtests(Controller):
    """A stretch of the log once more, through another configuration or through today's rules."""

    path = "/backtests"
    tags = ["Backtests"]

    @post(
        operation_id="askForBacktest",
        summary="Replay a stretch of the log through another configuration",
        status_code=202,
        operation_class=request_documents(EXAMPLE, required=False),
        responses=response(BacktestView, status=202),
        opt=RIGHT,
    )
    async def ask(
        self,
        request: Caller,
        body: RawBody,
        begin: Annotated[str, QueryParameter(name="from", description="A position or a time")],
        end: Annotated[
            str | None, QueryParameter(name="to", description="A position or a time; now without")
        ] = None,
    ) -> Answer:
        """Manifests are laid over the state at the beginning; none: as it was, by today's rules.

        A worker works it off bit by bit; nothing is written to the log.
        """
        job = await ask(request, BacktestRequest(body, begin, end))
        position = services_of(request).reader.position
        location = {"Location": f"/v1/backtests/{job.id}"}
        view = view_of(job, whole=True)
        return answer(view, position=position, status=202, headers=location)

    @get(
        operation_id="listBacktests",
        summary="Backtests, newest first",
        responses=response(BacktestPage),
        opt=READ,
    )
    async def list_backtests(
        self,
        request: Caller,
        before: Annotated[
            str | None, QueryParameter(description="The `next` of the page before")
        ] = None,
        limit: Annotated[int, QueryParameter(ge=1, le=200)] = 50,
    ) -> Answer:
        """Each with its progress, without its result."""
        return answer_view(await page(request, start_of(before), limit))

    @get(
        "/{backtest:str}",
        operation_id="readBacktest",
        summary="One backtest with its result",
        responses=response(BacktestView),
        opt=READ,
    )
    async def read(self, request: Caller, backtest: BacktestId) -> Answer:
        """The result is there when its state is Done."""
        services = services_of(request)
        job = await find(services, backtest)
        return answer(view_of(job, whole=True), position=services.reader.position)

    @post(
        "/{backtest:str}/cancel",
        operation_id="cancelBacktest",
        summary="Do not go on with it",
        status_code=200,
        responses=response(BacktestView),
        opt=RIGHT,
    )
    async def cancel(self, request: Caller, backtest: BacktestId) -> Answer:
        """One that has ended stays as it is."""
        services = services_of(request)
        job = await cancel(services, backtest)
        return answer(view_of(job, whole=True), position=services.reader.position)

    @post(
        "/{backtest:str}/prediction",
        operation_id="recordPrediction",
        summary="Record what it predicts of waits from now on, to be checked",
        status_code=201,
        responses=response(PredictionList, status=201),
        opt=RIGHT,
    )
    async def predict(
        self,
        request: Caller,
        backtest: BacktestId,
        data: JSONBody[PredictionOrder],
        idempotency_key: IdempotencyHeader = None,
    ) -> Answer:
        """For the time after its change was applied; a worker records what came of it when due.

        An alert tells where more than 5 of 100 workloads waited longer than tolerated.
        """
        options = CommandOptions(reason=data.reason, key=idempotency_key)
        call = await command_request(request, _written, options)
        asked = PredictionRequest(backtest, data.check_after_seconds, data.tolerance_percent)
        return answer_command(
            await backtest_runs.record_prediction(services_of(request), call, asked)
        )


def _written(results: Sequence[CommandResult]) -> Cooperative[CommandResponse]:
    """The new prediction, as a list of one."""
    yield
    (made,) = results
    _, key = kind_and_key(made.stream)
    content = {"position": None, "items": [msgspec.to_builtins(prediction_view(key, made.after))]}
    return CommandResponse(status=201, content=content)


class Predictions(Controller):
    """What backtests predicted of waits, and whether that held."""

    path = "/predictions"
    tags = ["Backtests"]

    @get(
        operation_id="listPredictions",
        summary="Predictions of waits and their checks, newest first",
        responses=response(PredictionList),
        opt=RIGHT,
    )
    async def list_predictions(self, request: Caller) -> Answer:
        """Those that are not due yet among them."""
        return answer_view(backtest_runs.predictions(services_of(request)))


FirstInstant = Annotated[
    str | None, QueryParameter(max_length=40, description="RFC 3339; the first instant")
]
LastInstant = Annotated[
    str | None, QueryParameter(max_length=40, description="RFC 3339; the instant after the last")
]
CycleId = Annotated[str, PathParameter(description="The cycle, as events name it", max_length=100)]


class Cycles(Controller):
    """What was planned, when, on what, and how long it took."""

    path = "/cycles"
    tags = ["Cycles"]
    opt = {"right": "read cycles"}

    @get(
        operation_id="listCycles",
        summary="What workers planned, newest first",
        responses=response(CyclePage),
    )
    async def list_cycles(
        self,
        request: Caller,
        partition: FromQuery[str] = "",
        before: Annotated[
            str | None, QueryParameter(description="The `next` of the page before")
        ] = None,
        limit: Annotated[int, QueryParameter(ge=1, le=1000)] = 100,
        since: FirstInstant = None,
        until: LastInstant = None,
    ) -> Answer:
        """Plans that decided something, or that the log refused because something had changed."""
        page_request = cycles.CyclePageRequest(
            limit,
            start_of(before),
            instant_or_none(since, "/since"),
            instant_or_none(until, "/until"),
        )
        scope = request.user.namespaces
        return answer_view(await cycles.page(services_of(request), partition, page_request, scope))

    @get(
        "/summary",
        operation_id="readCycleSummary",
        summary="Sums and durations of plans over time",
        responses=response(CycleSummary),
    )
    async def summary(
        self,
        request: Caller,
        partition: FromQuery[str] = "",
        since: RangeStart = None,
        until: RangeEnd = None,
        points: Points = 60,
    ) -> Answer:
        """Of all partitions without one; durations are in microseconds."""
        period = SampledPeriod(
            instant_or_none(since, "/since"), instant_or_none(until, "/until"), points
        )
        return answer_view(await cycles.summary(services_of(request), partition, period))

    @get(
        "/{cycle:str}",
        operation_id="readCycle",
        summary="One plan with its input and its decisions in order",
        responses=response(CycleDetail),
    )
    async def read(self, request: Caller, cycle: CycleId) -> Answer:
        """The id is the `correlation` of the events it led to."""
        scope = request.user.namespaces
        return answer_view(await cycles.detail(services_of(request), cycle, scope))

    @get(
        "/{cycle:str}/replay",
        operation_id="replayCycle",
        summary="Run it again on the same input and compare",
        responses=response(CycleRerun),
    )
    async def replay(self, request: Caller, cycle: CycleId) -> Answer:
        """Nothing is written; the same input gives the same bytes."""
        scope = request.user.namespaces
        return answer_view(await cycles.rerun(services_of(request), cycle, scope))
