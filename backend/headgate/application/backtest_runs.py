"""Backtests: requested with their bounds, cancelled, and run in slices, each by any free worker."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import msgspec

from headgate.application.application_services import ApplicationServices
from headgate.application.commands.decide import decide_on_state
from headgate.application.commands.execute import catch_up, execute
from headgate.application.commands.requests import (
    CommandRequest,
    CommandResponse,
    DecisionContext,
    StreamCommand,
)
from headgate.application.failures import LimitExceeded
from headgate.application.historical_ports import ResolvedPoint
from headgate.application.historical_states import HistoricalStates
from headgate.application.ports import EventLog, Unavailable
from headgate.application.simulation_records import (
    MAX_KEPT,
    UNFINISHED,
    ClaimedBacktest,
    OverlayFact,
    PredictionList,
    SimulationRecord,
    SimulationStore,
    prediction_view,
)
from headgate.application.time_travel import PointInTime, services_at
from headgate.domain.backtest.outcome import BacktestOutcome, backtest_outcome
from headgate.domain.backtest.recorded_window import RecordedWindow, ReplacedObjects, read_window
from headgate.domain.backtest.replay_run import ReplayProgress, advance, start_replay
from headgate.domain.cluster_state import ClusterState
from headgate.domain.recorded_event import DomainEvent, stream_of
from headgate.domain.rejection import IllegalNow, InvalidRequest, NotFound
from headgate.domain.starts import (
    PredictedWait,
    PredictionRecorded,
    decide_prediction,
    tolerated_seconds,
)
from headgate.domain.values.instants import Instant, seconds_after
from headgate.domain.values.message import Message, message
from headgate.event_log.codec import decode, encode
from headgate.messages.catalogue import text_of

MAX_EVENTS = 200_000
MAX_WORKLOADS = 50_000
MAX_UNFINISHED = 10
MAX_UNCHECKED = 20


@dataclass(frozen=True, slots=True)
class BacktestRequest:
    """The time range, the changes with their documents, and the user of a backtest request.

    Without an end it ends with the newest event of the log.
    """

    begin: PointInTime
    end: PointInTime | None
    changes: Sequence[StreamCommand]
    documents: str
    actor: str
    title: str = ""


async def request_backtest(
    services: ApplicationServices, asked: BacktestRequest
) -> SimulationRecord:
    """A new job, to be worked off by some worker.

    Raises the `Rejection` of a change that is refused, of a stretch that has no end or of too many
    jobs, and `LimitExceeded` for what is larger than the bounds.
    """
    if await asyncio.to_thread(services.simulations.unfinished) >= MAX_UNFINISHED:
        raise IllegalNow("BacktestsUnfinished", maximum=MAX_UNFINISHED)
    begin, cluster_state = await _moment(services, asked.begin)
    if begin.position == 0:
        begin = await asyncio.to_thread(_first_moment, services, begin)
    head = await asyncio.to_thread(services.log.head)
    end, _ = await _moment(services, asked.end or PointInTime(position=head))
    _refuse_bounds(begin, end, cluster_state)
    overlay = _overlay(cluster_state, asked.changes, begin.at)
    job = SimulationRecord(
        id=services.ids.new(),
        title=asked.title,
        created_at=services.clock.now(),
        created_by=asked.actor,
        from_position=begin.position,
        to_position=end.position,
        begin_at=begin.at,
        end_at=end.at,
        documents=asked.documents,
        overlay=tuple(_written(stream, event) for stream, event in overlay),
        steps=end.position - begin.position,
    )
    await asyncio.to_thread(services.simulations.forget, keep=MAX_KEPT)
    await asyncio.to_thread(services.simulations.add, job)
    return job


@dataclass(frozen=True, slots=True)
class PredictionRequest:
    """How long after now a prediction is checked, and by how much a wait may exceed it."""

    backtest: str
    after_seconds: int
    tolerance_percent: int


async def record_prediction(
    services: ApplicationServices, request: CommandRequest, asked: PredictionRequest
) -> CommandResponse:
    """Records what a backtest predicts of the waits from now on, to be checked when it is due.

    Raises `NotFound`, and `IllegalNow` for a backtest that has no result or predicts no wait of a
    ClusterQueue that exists, or for too many unchecked predictions.
    """
    job = await find(services, asked.backtest)
    outcome = job.outcome
    if outcome is None:
        raise IllegalNow("BacktestWithoutResult")
    predicted = {
        queue.cluster_queue: -(-queue.backtest.p95 // MILLISECONDS)
        for queue in outcome.queues
        if queue.backtest.started
    }

    def decide(context: DecisionContext) -> tuple[DomainEvent, ...]:
        unchecked = context.cluster_state.recent_starts.unchecked()
        if len(unchecked) >= MAX_UNCHECKED:
            raise IllegalNow("PredictionsUnchecked", maximum=MAX_UNCHECKED)
        queues = context.config.cluster_queues
        waits = tuple(
            PredictedWait(
                cluster_queue=name,
                generation=queues[name].generation,
                p95_seconds=seconds,
                limit_seconds=tolerated_seconds(seconds, asked.tolerance_percent),
            )
            for name, seconds in predicted.items()
            if name in queues
        )
        if not waits:
            raise IllegalNow("NothingPredicted")
        due_at = seconds_after(context.at, asked.after_seconds)
        recorded = PredictionRecorded(backtest=job.id, due_at=due_at, waits=waits)
        return decide_prediction(context.state, recorded)

    stream = stream_of("prediction", services.ids.new())
    await catch_up(services)
    command = StreamCommand(stream=stream, decide=decide, reads_config=True)
    return await execute(services, request, [command])


def predictions(services: ApplicationServices) -> PredictionList:
    """All predictions, newest first."""
    cluster_state = services.reader.cluster_state
    found = sorted(
        cluster_state.recent_starts.predictions.items(),
        key=lambda each: (each[1].recorded_at, each[0]),
        reverse=True,
    )
    return PredictionList(
        position=cluster_state.position, items=[prediction_view(*each) for each in found]
    )


async def find(services: ApplicationServices, job_id: str) -> SimulationRecord:
    """The job of that id; raises `NotFound`."""
    found = await asyncio.to_thread(services.simulations.find, job_id)
    if found is None or found.kind != "Backtest":
        raise NotFound("ObjectNotFound", kind="Backtest", name=job_id)
    return found


async def cancel(services: ApplicationServices, job_id: str) -> SimulationRecord:
    """Cancels a job; one that has ended is unchanged."""
    while (job := await find(services, job_id)).state in UNFINISHED:
        now = services.clock.now()
        ended = msgspec.structs.replace(job, state="Cancelled", finished_at=now)
        await asyncio.to_thread(services.simulations.save, ended, None)
    return job


async def _moment(
    services: ApplicationServices, wish: PointInTime
) -> tuple[ResolvedPoint, ClusterState]:
    past = await services_at(services, wish)
    cluster_state = past.reader.cluster_state
    return ResolvedPoint(cluster_state.position, past.clock.now()), cluster_state


def _first_moment(services: ApplicationServices, begin: ResolvedPoint) -> ResolvedPoint:
    """The instant of the first event, for a time range that begins before it."""
    first = services.log.read(0, limit=1)
    return ResolvedPoint(0, max(begin.at, first[0].at - 1)) if first else begin


def _refuse_bounds(begin: ResolvedPoint, end: ResolvedPoint, cluster_state: ClusterState) -> None:
    events = end.position - begin.position
    if events <= 0 or end.at <= begin.at:
        raise InvalidRequest.at("/to", "TimeRangeEmpty")
    if events > MAX_EVENTS:
        raise LimitExceeded("TooManyEvents", count=events, maximum=MAX_EVENTS)
    ended = cluster_state.ended
    workloads = len(cluster_state.workloads) - len(ended.whole) + ended.number_of()
    if workloads > MAX_WORKLOADS:
        raise LimitExceeded("TooManyWorkloads", count=workloads, maximum=MAX_WORKLOADS)


def _overlay(
    cluster_state: ClusterState, changes: Sequence[StreamCommand], at: Instant
) -> list[tuple[str, DomainEvent]]:
    """Returns the events of all changes, each decided after those before it."""
    fork = cluster_state.fork()
    found: list[tuple[str, DomainEvent]] = []
    with fork.overlay():
        for change in changes:
            for stream, event in decide_on_state(fork, change, at).events:
                fork.assume(stream, event, at)
                found.append((stream, event))
    return found


def _written(stream: str, event: DomainEvent) -> OverlayFact:
    name, version, fields = encode(event)
    return OverlayFact(stream=stream, name=name, schema_version=version, fields=fields)


MILLISECONDS = 1_000
MAX_FAILURE_CHARACTERS = 500


@dataclass(frozen=True, slots=True)
class BacktestLimits:
    """How much is done at a time, how long one job may take in all, and how long a claim holds."""

    moves: int = 500
    seconds: int = 1_800
    lease_seconds: int = 120


@dataclass(slots=True)
class BacktestRunner:
    """What a worker works backtests off with; the stretch last read is kept.

    `elapsed` counts seconds; `report` is told of every job that failed.
    """

    store: SimulationStore
    event_log: EventLog
    states: HistoricalStates
    owner: str
    elapsed: Callable[[], float]
    report: Callable[[str, Exception], None]
    rules: BacktestLimits = field(default_factory=BacktestLimits)
    _known: tuple[str, RecordedWindow] | None = None


def run_backtest_slice(runner: BacktestRunner) -> bool:
    """Go on with the oldest job by one slice; whether there was one.

    Raises `Unavailable`; any other failure ends the job, and it says why.
    """
    claimed = runner.store.claim(runner.owner, lease_seconds=runner.rules.lease_seconds)
    if claimed is None:
        return False
    began = runner.elapsed()
    try:
        job, progress = _go_on(runner, claimed)
    except Unavailable:
        raise
    except Exception as failure:  # noqa: BLE001 - one job that cannot be done must not stop the others
        runner.report(claimed.job.id, failure)
        found = getattr(failure, "message", None)
        other = f"{type(failure).__name__}: {failure}"
        detail = text_of(found) if isinstance(found, Message) else other
        job, progress = _failed(runner, claimed.job, detail), None
    took = round((runner.elapsed() - began) * MILLISECONDS)
    worked = claimed.job.working_milliseconds + took
    job = msgspec.structs.replace(job, working_milliseconds=worked)
    if job.state == "Running" and worked > runner.rules.seconds * MILLISECONDS:
        detail = f"It took longer than {runner.rules.seconds} seconds; choose a shorter stretch."
        job, progress = _failed(runner, job, detail), None
    if job.state != "Running":
        runner._known = None  # noqa: SLF001 - functions of this file go on with it
    runner.store.save(job, progress)
    return True


def _go_on(
    runner: BacktestRunner, claimed: ClaimedBacktest
) -> tuple[SimulationRecord, bytes | None]:
    job = claimed.job
    overlay = [
        (one.stream, decode(one.name, one.schema_version, one.fields)) for one in job.overlay
    ]
    window = _window(runner, job)
    if claimed.progress is None:
        progress = start_replay(_state(runner, job), window, overlay)
    else:
        progress = msgspec.msgpack.decode(claimed.progress, type=ReplayProgress)
    progress, is_over = advance(progress, window, runner.rules.moves)
    running = msgspec.structs.replace(
        job, state="Running", steps=len(window.steps), steps_done=progress.next_step
    )
    if not is_over:
        return running, msgspec.msgpack.encode(progress)
    outcome = backtest_outcome(window, progress)
    done = msgspec.structs.replace(
        running,
        state="Done",
        steps_done=len(window.steps),
        finished_at=runner.event_log.now(),
        result=_result_of(outcome),
        outcome=outcome,
    )
    return done, None


def _result_of(outcome: BacktestOutcome) -> Message:
    """What differs in one line, with the largest change of a 95th percentile of waits.

    Of equal changes it is that of the first ClusterQueue.
    """
    totals = outcome.totals
    if totals.same == totals.workloads:
        return message("BacktestUnchanged", workloads=totals.workloads)
    most = max(outcome.queues, key=lambda one: abs(one.backtest.p95 - one.actual.p95), default=None)
    before, after = (most.actual.p95, most.backtest.p95) if most else (0, 0)
    changed = None
    if most and before // MILLISECONDS != after // MILLISECONDS:
        changed = message(
            "BacktestWait",
            queue=most.cluster_queue,
            before=before // MILLISECONDS,
            after=after // MILLISECONDS,
        )
    earlier = totals.earlier + totals.only_backtest
    later, lost = totals.later, totals.only_actual
    if changed is None and not earlier + later + lost:
        return message("BacktestPlacesDiffer", workloads=totals.workloads - totals.same)
    return message("BacktestDiffers", wait=changed, earlier=earlier, later=later, lost=lost)


def _window(runner: BacktestRunner, job: SimulationRecord) -> RecordedWindow:
    known = runner._known  # noqa: SLF001 - see above
    if known is not None and known[0] == job.id:
        return known[1]
    recorded = runner.event_log.read_all(job.from_position, job.to_position)
    replaced = ReplacedObjects(frozenset(one.stream for one in job.overlay))
    period = (job.begin_at, job.end_at)
    window = read_window(_state(runner, job), recorded, period, replaced)
    runner._known = (job.id, window)  # noqa: SLF001 - see above
    return window


def _state(runner: BacktestRunner, job: SimulationRecord) -> ClusterState:
    return runner.states.at(job.from_position).fork()


def _failed(runner: BacktestRunner, job: SimulationRecord, detail: str) -> SimulationRecord:
    return msgspec.structs.replace(
        job,
        state="Failed",
        failure=detail[:MAX_FAILURE_CHARACTERS],
        finished_at=runner.event_log.now(),
    )
