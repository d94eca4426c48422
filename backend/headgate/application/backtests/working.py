"""Working backtests off slice by slice: whoever is free goes on where another left off.

What is kept after a slice is all that the next one begins with, so that it comes out the same to
the byte however often it is interrupted.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import msgspec

from headgate.application.backtests.book import BacktestBook
from headgate.application.backtests.jobs import Backtest, Claimed
from headgate.application.ports import EventLog, Unavailable
from headgate.application.time_travel.historical_states import HistoricalStates
from headgate.domain.cell import Cell
from headgate.domain.rehearsal.outcome import outcome_of
from headgate.domain.rehearsal.stage import Progress, begin, go_on
from headgate.domain.rehearsal.stretch import Replaced, Stretch, take_apart
from headgate.event_log.codec import decode

MILLISECONDS = 1_000
FAILURE_LENGTH = 500


@dataclass(frozen=True, slots=True)
class SliceRules:
    """How much is done at a time, how long one job may take in all, and how long a claim holds."""

    moves: int = 500
    seconds: int = 1_800
    lease_seconds: int = 120


@dataclass(slots=True)
class Rehearsing:
    """What a worker works backtests off with; the stretch last read is kept.

    `elapsed` counts seconds; `report` is told of every job that failed.
    """

    book: BacktestBook
    event_log: EventLog
    cells: HistoricalStates
    owner: str
    elapsed: Callable[[], float]
    report: Callable[[str, Exception], None]
    rules: SliceRules = field(default_factory=SliceRules)
    _known: tuple[str, Stretch] | None = None


def rehearse_slice(rehearsing: Rehearsing) -> bool:
    """Go on with the oldest job by one slice; whether there was one.

    Raises `Unavailable`; any other failure ends the job, and it says why.
    """
    claimed = rehearsing.book.claim(rehearsing.owner, lease_seconds=rehearsing.rules.lease_seconds)
    if claimed is None:
        return False
    began = rehearsing.elapsed()
    try:
        job, progress = _go_on(rehearsing, claimed)
    except Unavailable:
        raise
    except Exception as failure:  # noqa: BLE001 - one job that cannot be done must not stop the others
        rehearsing.report(claimed.job.id, failure)
        job, progress = (
            _failed(rehearsing, claimed.job, f"{type(failure).__name__}: {failure}"),
            None,
        )
    took = round((rehearsing.elapsed() - began) * MILLISECONDS)
    worked = claimed.job.working_milliseconds + took
    job = msgspec.structs.replace(job, working_milliseconds=worked)
    if job.state == "Running" and worked > rehearsing.rules.seconds * MILLISECONDS:
        detail = (
            f"It took longer than {rehearsing.rules.seconds} seconds; choose a shorter stretch."
        )
        job, progress = _failed(rehearsing, job, detail), None
    if job.state != "Running":
        rehearsing._known = None  # noqa: SLF001 - functions of this file go on with it
    rehearsing.book.save(job, progress)
    return True


def _go_on(rehearsing: Rehearsing, claimed: Claimed) -> tuple[Backtest, bytes | None]:
    job = claimed.job
    overlay = [
        (one.stream, decode(one.name, one.schema_version, one.fields)) for one in job.overlay
    ]
    stretch = _stretch(rehearsing, job)
    if claimed.progress is None:
        progress = begin(_state(rehearsing, job), stretch, overlay)
    else:
        progress = msgspec.msgpack.decode(claimed.progress, type=Progress)
    progress, is_over = go_on(progress, stretch, rehearsing.rules.moves)
    running = msgspec.structs.replace(
        job, state="Running", steps=len(stretch.steps), steps_done=progress.next_step
    )
    if not is_over:
        return running, msgspec.msgpack.encode(progress)
    done = msgspec.structs.replace(
        running,
        state="Done",
        steps_done=len(stretch.steps),
        finished_at=rehearsing.event_log.now(),
        outcome=outcome_of(stretch, progress),
    )
    return done, None


def _stretch(rehearsing: Rehearsing, job: Backtest) -> Stretch:
    known = rehearsing._known  # noqa: SLF001 - see above
    if known is not None and known[0] == job.id:
        return known[1]
    recorded = rehearsing.event_log.read_all(job.from_position, job.to_position)
    replaced = Replaced(frozenset(one.stream for one in job.overlay))
    period = (job.begin_at, job.end_at)
    stretch = take_apart(_state(rehearsing, job), recorded, period, replaced)
    rehearsing._known = (job.id, stretch)  # noqa: SLF001 - see above
    return stretch


def _state(rehearsing: Rehearsing, job: Backtest) -> Cell:
    return rehearsing.cells.at(job.from_position).fork()


def _failed(rehearsing: Rehearsing, job: Backtest, detail: str) -> Backtest:
    return msgspec.structs.replace(
        job,
        state="Failed",
        failure=detail[:FAILURE_LENGTH],
        finished_at=rehearsing.event_log.now(),
    )
