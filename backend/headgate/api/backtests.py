"""`/v1/backtests`, their predictions, and the list of all that was simulated."""

from collections.abc import Sequence
from typing import Annotated, NamedTuple

import msgspec
from litestar import Controller, get, post
from litestar.params import JSONBody, PathParameter, QueryParameter, RawBody

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
    listed,
    point_in_time,
    start_of,
)
from headgate.api.problems import INVALID_REQUEST, ApiFailure
from headgate.api.simulations import Title, entries_of
from headgate.application import backtest_runs
from headgate.application.access.identity import Identity
from headgate.application.access.rights import Right, refusal
from headgate.application.backtest_runs import PredictionRequest, cancel, find
from headgate.application.commands.object_commands import change_to
from headgate.application.commands.requests import CommandResponse, CommandResult, StreamCommand
from headgate.application.cooperative import Cooperative
from headgate.application.queries.views import Position, Schema
from headgate.application.simulation_records import (
    SIMULATION_KINDS,
    BacktestPage,
    BacktestView,
    PredictionList,
    SimulationKind,
    SimulationRecord,
    prediction_view,
    view_of,
)
from headgate.application.simulations import RecordView, record_view
from headgate.domain.field_rules import shown
from headgate.domain.recorded_event import kind_and_key
from headgate.domain.rejection import InvalidRequest, NotFound, Rejection
from headgate.domain.values.instants import Instant

DAY_SECONDS = 86_400
BACKTESTS: tuple[SimulationKind, ...] = ("Backtest",)
NO_WORKLOADS = "What is configured otherwise is tried; workloads come from the log."


class BacktestRequest(NamedTuple):
    """From where to where, and the manifests as they were sent."""

    body: bytes
    begin: str
    end: str | None
    title: str = ""


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
        title=question.title,
    )
    try:
        return await backtest_runs.request_backtest(services, asked)
    except Rejection as rejection:
        only = entries[0].desired if len(entries) == 1 else None
        raise with_written_pointers(rejection, only) if only else rejection from rejection


async def page(request: Caller, before: tuple[Instant, str] | None, limit: int) -> BacktestPage:
    """A page of jobs, newest first."""
    services = services_of(request)
    found = await services.reading.do(
        lambda: services.simulations.page(before=before, limit=limit, kinds=BACKTESTS)
    )
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
        title: Title = "",
    ) -> Answer:
        """Manifests are laid over the state at the beginning; none: as it was, by today's rules.

        A worker works it off bit by bit; nothing is written to the log.
        """
        job = await ask(request, BacktestRequest(body, begin, end, title))
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


KindFilter = Annotated[
    str | None, QueryParameter(description="Kinds, by comma: Workload, Change, Backtest")
]
SimulationId = Annotated[str, PathParameter(description="The simulation", max_length=100)]
ME = "me"
READ_BACKTESTS = Right("read", "backtests")
READ_SIMULATIONS = {"right": "read simulations", "live": PRESENT_ONLY}


class RecordPage(Schema, kw_only=True, frozen=True):
    """Simulations, newest first; `next` is the `before` of the page after it."""

    position: Position
    items: list[RecordView]
    next: str | None = None


class RecordedSimulations(Controller):
    """What was simulated: what-ifs that were recorded, and backtests."""

    path = "/simulations"
    tags = ["Simulations"]

    @get(
        operation_id="listSimulations",
        summary="Simulations that were recorded and backtests, newest first",
        responses=response(RecordPage),
        opt=READ_SIMULATIONS,
    )
    async def list_simulations(
        self,
        request: Caller,
        kind: KindFilter = None,
        author: Annotated[str, QueryParameter(description="As events name it, or `me`")] = "",
        before: Annotated[
            str | None, QueryParameter(description="The `next` of the page before")
        ] = None,
        limit: Annotated[int, QueryParameter(ge=1, le=200)] = 50,
    ) -> Answer:
        """Those of all with the right to read backtests, else one's own, as with `author=me`."""
        services, me = services_of(request), origin_of(request).actor
        kinds, own = _kinds(request.user, kind), _author(request.user, me, author)
        found = await services.reading.do(
            lambda: services.simulations.page(
                before=start_of(before), limit=limit, kinds=kinds, author=own
            )
        )
        last = found[-1] if len(found) == limit else None
        page = RecordPage(
            position=services.reader.position,
            items=[record_view(services, each, whole=False) for each in found],
            next=f"{last.created_at}:{last.id}" if last else None,
        )
        return answer_view(page)

    @get(
        "/{simulation:str}",
        operation_id="readSimulation",
        summary="One recorded simulation with its manifests",
        responses=response(RecordView),
        opt=READ_SIMULATIONS,
    )
    async def read(self, request: Caller, simulation: SimulationId) -> Answer:
        """Simulated again with `at` its position it gives the whole result."""
        services, user = services_of(request), request.user
        found = await services.reading.do(lambda: services.simulations.find(simulation))
        mine = found is not None and found.created_by == origin_of(request).actor
        if found is None or found.kind not in _kinds(user, None) or not (mine or _sees_all(user)):
            raise NotFound("ObjectNotFound", kind="Simulation", name=simulation)
        view = record_view(services, found, whole=True)
        return answer(view, position=services.reader.position)


SIMULATION_ROUTES = (Backtests, Predictions, RecordedSimulations)


def _sees_all(user: Identity) -> bool:
    return user.may(READ_BACKTESTS)


def _kinds(user: Identity, asked: str | None) -> tuple[SimulationKind, ...]:
    """The kinds that are asked for, without backtests for users who may not read them."""
    words = listed(asked)
    for word in words:
        if word not in SIMULATION_KINDS:
            choices = SIMULATION_KINDS
            raise InvalidRequest.at("/kind", "NotOneOf", value=shown(word), choices=choices)
    return tuple(
        kind
        for kind in SIMULATION_KINDS
        if (not words or kind in words) and (kind != "Backtest" or _sees_all(user))
    )


def _author(user: Identity, me: str, asked: str) -> str:
    """The author whose simulations are listed; empty for those of all."""
    if asked in ("", ME):
        return "" if _sees_all(user) and not asked else me
    if not _sees_all(user) and asked != me:
        raise refusal(user.name, user.grants, READ_BACKTESTS)
    return asked
