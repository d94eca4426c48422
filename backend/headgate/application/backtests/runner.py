"""Backtest jobs run in slices, each by any free worker.

What is kept after a slice is all that the next one begins with, so that it comes out the same to
the byte however often it is interrupted.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import msgspec

from headgate.application.backtests.jobs import Backtest, BacktestStore, ClaimedBacktest
from headgate.application.ports import EventLog, Unavailable
from headgate.application.time_travel.historical_states import HistoricalStates
from headgate.domain.backtest.outcome import backtest_outcome
from headgate.domain.backtest.recorded_window import RecordedWindow, ReplacedObjects, read_window
from headgate.domain.backtest.replay_run import ReplayProgress, advance, start_replay
from headgate.domain.cluster_state import ClusterState
from headgate.domain.values.message import Message
from headgate.event_log.codec import decode
from headgate.messages.catalogue import text_of

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

    store: BacktestStore
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


def _go_on(runner: BacktestRunner, claimed: ClaimedBacktest) -> tuple[Backtest, bytes | None]:
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
    done = msgspec.structs.replace(
        running,
        state="Done",
        steps_done=len(window.steps),
        finished_at=runner.event_log.now(),
        outcome=backtest_outcome(window, progress),
    )
    return done, None


def _window(runner: BacktestRunner, job: Backtest) -> RecordedWindow:
    known = runner._known  # noqa: SLF001 - see above
    if known is not None and known[0] == job.id:
        return known[1]
    recorded = runner.event_log.read_all(job.from_position, job.to_position)
    replaced = ReplacedObjects(frozenset(one.stream for one in job.overlay))
    period = (job.begin_at, job.end_at)
    window = read_window(_state(runner, job), recorded, period, replaced)
    runner._known = (job.id, window)  # noqa: SLF001 - see above
    return window


def _state(runner: BacktestRunner, job: Backtest) -> ClusterState:
    return runner.states.at(job.from_position).fork()


def _failed(runner: BacktestRunner, job: Backtest, detail: str) -> Backtest:
    return msgspec.structs.replace(
        job,
        state="Failed",
        failure=detail[:MAX_FAILURE_CHARACTERS],
        finished_at=runner.event_log.now(),
    )
