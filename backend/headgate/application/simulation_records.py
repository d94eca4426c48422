"""Simulations as they are kept: what-ifs that were run, and backtests with their progress."""

from collections.abc import Collection
from typing import Literal, Protocol, get_args

import msgspec

from headgate.application.queries.views import (
    Position,
    Schema,
    Timestamp,
    Whole,
    timestamp,
    timestamp_or_none,
    view_from,
)
from headgate.domain.backtest.outcome import (
    BacktestOutcome,
    DifferenceKind,
    OutcomeDifference,
    QueueOutcome,
    WaitTimes,
)
from headgate.domain.starts import (
    ObservedWaits,
    PredictedWait,
    Prediction,
    PredictionVerdict,
    verdict_on,
)
from headgate.domain.values.instants import Instant
from headgate.domain.values.message import Message

BacktestState = Literal["Waiting", "Running", "Done", "Failed", "Cancelled"]
UNFINISHED: tuple[BacktestState, ...] = ("Waiting", "Running")
SimulationKind = Literal["Workload", "Change", "Backtest"]
"""What was simulated: changes of workloads alone, other changes, or a time range of the log."""
SIMULATION_KINDS: tuple[SimulationKind, ...] = get_args(SimulationKind)
MAX_KEPT = 100
"""So many backtests, and so many other simulations of each author; the oldest go first."""


class OverlayFact(msgspec.Struct, frozen=True, kw_only=True):
    """An event of the overridden configuration, as the codec writes it."""

    stream: str
    name: str
    schema_version: int
    fields: bytes


class OtherChanges(msgspec.Struct, frozen=True, kw_only=True):
    """What a simulation changes beside its manifests, each as in the request, by comma."""

    delete: str = ""
    priority: str = ""
    cordon: str = ""


class SimulationRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One simulation. `revision` counts its changes; saving it needs the latest.

    A backtest is a job: its time range lies after `from_position` up to `to_position`, `overlay` is
    what its manifests change, and `steps_done` of `steps` were taken. A what-if is over when it is
    recorded, and both positions are that of its state. `documents` are the manifests as they were
    sent, `changes` the streams that a what-if changes, `result` what came of it in one line.
    """

    id: str
    kind: SimulationKind = "Backtest"
    title: str = ""
    created_at: Instant
    created_by: str
    state: BacktestState = "Waiting"
    revision: int = 0
    from_position: int
    to_position: int
    begin_at: Instant
    end_at: Instant
    documents: str = ""
    others: OtherChanges = OtherChanges()
    changes: tuple[str, ...] = ()
    overlay: tuple[OverlayFact, ...] = ()
    steps: int = 0
    steps_done: int = 0
    working_milliseconds: int = 0
    finished_at: Instant | None = None
    failure: str = ""
    result: Message | None = None
    outcome: BacktestOutcome | None = None


class ClaimedBacktest(msgspec.Struct, frozen=True, kw_only=True):
    """A job that is one worker's to go on with for a while, and how far it had come."""

    job: SimulationRecord
    progress: bytes | None = None


class SimulationStore(Protocol):
    """Simulations, with the progress of backtests."""

    def add(self, job: SimulationRecord) -> None:
        """Keep a new one; one with `finished_at` is over."""

    def find(self, job_id: str) -> SimulationRecord | None:
        """The one of that id, if it is kept."""

    def page(
        self,
        *,
        before: tuple[Instant, str] | None,
        limit: int,
        kinds: Collection[SimulationKind] = SIMULATION_KINDS,
        author: str = "",
    ) -> list[SimulationRecord]:
        """Those of some kinds without their outcome, newest first, keyset paged.

        An author is the actor of events; without one they are those of all.
        """

    def unfinished(self) -> int:
        """How many are waiting or running."""

    def claim(self, owner: str, *, lease_seconds: int) -> ClaimedBacktest | None:
        """Claims the oldest unclaimed unfinished job, for a time or until it is saved."""

    def save(self, job: SimulationRecord, progress: bytes | None) -> bool:
        """Keep it as it is now, one revision on; False if it has changed since it was read.

        No one works on it from then on until it is claimed again.
        """

    def forget(self, *, keep: int) -> int:
        """Deletes finished ones but the newest so many backtests, and what-ifs of each author.

        Returns how many. So what-ifs of one author push out no others, nor a backtest.
        """

    def forget_what_ifs(self) -> int:
        """Deletes all that are no backtests, as they may repeat erased content; how many went."""


ASSUMPTIONS = (
    "Unchanged: started within 1 s of the actual start, preempted as often, on the same hosts.",
    "Pods take as long to become ready, to run and to stop as they actually took.",
    "A run that had not ended at the end of the time range is replayed to its actual end.",
    "A workload that never started is ready after the median delay of all, and does not end.",
    "Scheduling cycles run at their actual times, and at most 0.5 s after a change.",
    "Priorities are those that were resolved when workloads were submitted.",
)


class OutcomeView(Schema, kw_only=True, frozen=True):
    """What became of a workload on one side."""

    started_at: Timestamp | None = None
    starts: int = 0
    preempted: int = 0
    evicted: int = 0
    finished_at: Timestamp | None = None


class DifferingView(Whole, kw_only=True, frozen=True):
    """A workload with another outcome."""

    workload: str
    cluster_queue: str
    what: list[DifferenceKind]
    actual: OutcomeView
    backtest: OutcomeView
    places_differ: int


class WaitsView(Whole, kw_only=True, frozen=True):
    """Waiting times of the workloads that started, and how many never started."""

    started: int
    still_waiting: int
    mean_milliseconds: int
    p50_milliseconds: int
    p95_milliseconds: int


class UseView(Whole, kw_only=True, frozen=True):
    """The average amount of a resource in use in each bucket of time."""

    resource: str
    actual: list[int]
    backtest: list[int]


class QueueOutcomeView(Whole, kw_only=True, frozen=True):
    """One ClusterQueue as it was and as it would have been."""

    cluster_queue: str
    actual: WaitsView
    backtest: WaitsView
    preempted_actual: int
    preempted_backtest: int
    usage: list[UseView]


class TotalsView(Whole, kw_only=True, frozen=True):
    """Counts of workloads, preemptions and starts; of events read, skipped and decided."""

    workloads: int
    same: int
    earlier: int
    later: int
    only_backtest: int
    only_actual: int
    preemptions_actual: int
    preemptions_backtest: int
    places_differ: int
    starts_compared: int
    unknown_run_times: int
    events: int
    passed_over: int
    decided_events: int
    scheduler_runs: int
    cycles: int


class BacktestResult(Whole, kw_only=True, frozen=True):
    """What differs; `workloads` are the first thousand of them by name."""

    bucket_seconds: int
    totals: TotalsView
    queues: list[QueueOutcomeView]
    workloads: list[DifferingView]
    lists_all: bool
    assumptions: list[str]


class BacktestView(Schema, kw_only=True, frozen=True):
    """One job with its request, progress and result."""

    id: str
    title: str = ""
    state: BacktestState
    created_at: Timestamp
    created_by: str
    from_position: Position
    to_position: Position
    begin_at: Timestamp
    end_at: Timestamp
    changes: list[str] = []
    documents: str = ""
    percent: int
    working_milliseconds: int
    finished_at: Timestamp | None = None
    failure: str = ""
    result: BacktestResult | None = None


class PredictedWaitView(Whole, kw_only=True, frozen=True):
    """The predicted wait of one ClusterQueue, and what was observed once it was checked.

    95 of 100 workloads are predicted to start within `p95Seconds`, and tolerated to start within
    `limitSeconds`. Of the `started` workloads `startedLater` had waited longer; `pendingLonger` are
    pending and have waited longer as well. `verdict` is null until the check.
    """

    cluster_queue: str
    p95_seconds: int
    limit_seconds: int
    started: int
    started_later: int
    pending_longer: int
    verdict: PredictionVerdict | None


class PredictionView(Whole, kw_only=True, frozen=True):
    """What a backtest predicts of waits after a change, and the check when it was due."""

    id: str
    backtest: str
    recorded_at: Timestamp
    due_at: Timestamp
    checked_at: Timestamp | None
    waits: list[PredictedWaitView]


class PredictionList(Whole, kw_only=True, frozen=True):
    """All predictions, newest first."""

    position: Position
    items: list[PredictionView]


class BacktestPage(Schema, kw_only=True, frozen=True):
    """Jobs, newest first; `next` is the `before` of the page after it."""

    position: Position
    items: list[BacktestView]
    next: str | None = None


def view_of(job: SimulationRecord, *, whole: bool) -> BacktestView:
    """The job; `whole` with its documents and its result."""
    return view_from(
        BacktestView,
        job,
        changes=list(changes_of(job)),
        documents=job.documents if whole else "",
        percent=percent_of(job),
        result=_result(job) if whole else None,
    )


def prediction_view(prediction_id: str, found: Prediction) -> PredictionView:
    """One prediction with its check, if there was one."""
    observed = found.observed or (None,) * len(found.waits)
    return PredictionView(
        id=prediction_id,
        backtest=found.backtest,
        recorded_at=timestamp(found.recorded_at),
        due_at=timestamp(found.due_at),
        checked_at=timestamp_or_none(found.checked_at),
        waits=[_predicted(*pair) for pair in zip(found.waits, observed, strict=True)],
    )


def _predicted(wait: PredictedWait, observed: ObservedWaits | None) -> PredictedWaitView:
    known = observed or ObservedWaits(cluster_queue=wait.cluster_queue)
    return PredictedWaitView(
        cluster_queue=wait.cluster_queue,
        p95_seconds=wait.p95_seconds,
        limit_seconds=wait.limit_seconds,
        started=known.started,
        started_later=known.started_later,
        pending_longer=known.pending_longer,
        verdict=None if observed is None else verdict_on(observed),
    )


def changes_of(job: SimulationRecord) -> tuple[str, ...]:
    """The streams of the changed objects, each once."""
    return job.changes or tuple(dict.fromkeys(one.stream for one in job.overlay))


def percent_of(job: SimulationRecord) -> int:
    """How much of it is done."""
    if job.state == "Done":
        return 100
    return 0 if job.state == "Waiting" else min(99, job.steps_done * 100 // max(1, job.steps))


def _result(job: SimulationRecord) -> BacktestResult | None:
    outcome = job.outcome
    if outcome is None:
        return None
    return BacktestResult(
        bucket_seconds=outcome.bucket_microseconds // 1_000_000,
        totals=view_from(TotalsView, outcome.totals),
        queues=[_queue(one) for one in outcome.queues],
        workloads=[_differing(one) for one in outcome.workloads],
        lists_all=outcome.listed_all,
        assumptions=list(ASSUMPTIONS),
    )


def _queue(one: QueueOutcome) -> QueueOutcomeView:
    return view_from(
        QueueOutcomeView,
        one,
        actual=_waits(one.actual),
        backtest=_waits(one.backtest),
        usage=[view_from(UseView, use) for use in one.usage],
    )


def _waits(waits: WaitTimes) -> WaitsView:
    return view_from(
        WaitsView,
        waits,
        mean_milliseconds=waits.mean,
        p50_milliseconds=waits.p50,
        p95_milliseconds=waits.p95,
    )


def _differing(one: OutcomeDifference) -> DifferingView:
    return view_from(
        DifferingView,
        one,
        workload=one.key,
        actual=view_from(OutcomeView, one.actual),
        backtest=view_from(OutcomeView, one.backtest),
    )
