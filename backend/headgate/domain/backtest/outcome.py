"""The differences between a time range of the log and its backtest, by workload and queue."""

from typing import Literal

import msgspec

from headgate.domain.backtest.recorded_window import RecordedWindow
from headgate.domain.backtest.replay_run import ReplayProgress
from headgate.domain.backtest.workload_traces import QueueUsage, WorkloadTrace, WorkloadTraces
from headgate.domain.values.instants import MICROSECONDS_PER_SECOND, Instant

SAME_START_TOLERANCE = MICROSECONDS_PER_SECOND
"""Starts that differ by at most this count as equal: planning times of workers vary so much."""

MAX_LISTED = 1_000
PERCENT = 100

DifferenceKind = Literal[
    "StartsEarlier",
    "StartsLater",
    "StartsOnlyInBacktest",
    "DoesNotStart",
    "PreemptedMore",
    "PreemptedLess",
    "PlacedElsewhere",
]


class WorkloadOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """The starts, preemptions, evictions and end of a workload on one side."""

    started_at: Instant | None = None
    starts: int = 0
    preempted: int = 0
    evicted: int = 0
    finished_at: Instant | None = None


class OutcomeDifference(msgspec.Struct, frozen=True, kw_only=True):
    """A workload with another outcome; `places_differ` counts starts with another placement."""

    key: str
    cluster_queue: str
    what: tuple[DifferenceKind, ...]
    actual: WorkloadOutcome = msgspec.field(name="then")
    backtest: WorkloadOutcome = msgspec.field(name="rehearsed")
    places_differ: int = 0


class WaitTimes(msgspec.Struct, frozen=True, kw_only=True):
    """Waiting times of the workloads that started, in milliseconds, and how many never started."""

    started: int = 0
    still_waiting: int = 0
    mean: int = 0
    p50: int = 0
    p95: int = 0


class UsageComparison(msgspec.Struct, frozen=True, kw_only=True):
    """The average amount of one resource in use, for each bucket of time and each side."""

    resource: str
    actual: tuple[int, ...] = msgspec.field(name="then")
    backtest: tuple[int, ...] = msgspec.field(name="rehearsed")


class QueueOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """The waits, preemptions and usage of one ClusterQueue on both sides."""

    cluster_queue: str
    actual: WaitTimes = msgspec.field(name="then")
    backtest: WaitTimes = msgspec.field(name="rehearsed")
    preempted_actual: int = msgspec.field(default=0, name="preempted_then")
    preempted_backtest: int = msgspec.field(default=0, name="preempted_rehearsed")
    usage: tuple[UsageComparison, ...] = msgspec.field(default=(), name="use")


class BacktestTotals(msgspec.Struct, frozen=True, kw_only=True):
    """Counts of workloads; of events read, skipped and decided; of scheduler runs and cycles."""

    workloads: int = 0
    same: int = 0
    earlier: int = 0
    later: int = 0
    only_backtest: int = msgspec.field(default=0, name="only_rehearsed")
    only_actual: int = msgspec.field(default=0, name="only_then")
    preemptions_actual: int = msgspec.field(default=0, name="preemptions_then")
    preemptions_backtest: int = msgspec.field(default=0, name="preemptions_rehearsed")
    places_differ: int = 0
    starts_compared: int = 0
    unknown_run_times: int = 0
    events: int = 0
    passed_over: int = 0
    decided_events: int = msgspec.field(default=0, name="facts")
    scheduler_runs: int = msgspec.field(default=0, name="looks")
    cycles: int = 0


class BacktestOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a backtest; `bucket_microseconds` is the time that one average covers.

    `workloads` are the first that differ, by key; `listed_all` says whether those are all.
    """

    begin_at: Instant
    end_at: Instant
    bucket_microseconds: int
    totals: BacktestTotals
    queues: tuple[QueueOutcome, ...]
    workloads: tuple[OutcomeDifference, ...]
    listed_all: bool


def backtest_outcome(window: RecordedWindow, progress: ReplayProgress) -> BacktestOutcome:
    """Compares the recorded window with the finished replay."""
    actual, backtest = window.traces, progress.traces
    found = [
        _difference(workload_id, trace, backtest.by_id.get(workload_id))
        for workload_id, trace in sorted(actual.by_id.items())
    ]
    differing = tuple(one for one in found if one.what)
    return BacktestOutcome(
        begin_at=window.begin_at,
        end_at=window.end_at,
        bucket_microseconds=window.usage.bucket_microseconds,
        totals=_totals(window, progress, found),
        queues=_queues(window, progress),
        workloads=differing[:MAX_LISTED],
        listed_all=len(differing) <= MAX_LISTED,
    )


def _difference(
    workload_id: str, actual: WorkloadTrace, found: WorkloadTrace | None
) -> OutcomeDifference:
    # One that could not even be submitted in the rehearsal never starts there.
    backtest = found or WorkloadTrace(
        waited_from=actual.waited_from, cluster_queue=actual.cluster_queue
    )
    places = sum(one != other for one, other in zip(actual.places, backtest.places, strict=False))
    what: list[DifferenceKind] = []
    moved = _start(actual, backtest)
    if moved is not None:
        what.append(moved)
    if actual.preempted != backtest.preempted:
        more = backtest.preempted > actual.preempted
        what.append("PreemptedMore" if more else "PreemptedLess")
    if places:
        what.append("PlacedElsewhere")
    return OutcomeDifference(
        key=workload_id.partition(" ")[0],
        cluster_queue=backtest.cluster_queue or actual.cluster_queue,
        what=tuple(what),
        actual=_outcome(actual),
        backtest=_outcome(backtest),
        places_differ=places,
    )


def _start(actual: WorkloadTrace, backtest: WorkloadTrace) -> DifferenceKind | None:
    if actual.started_at is None or backtest.started_at is None:
        if actual.started_at == backtest.started_at:
            return None
        return "DoesNotStart" if backtest.started_at is None else "StartsOnlyInBacktest"
    if abs(backtest.started_at - actual.started_at) <= SAME_START_TOLERANCE:
        return None
    return "StartsEarlier" if backtest.started_at < actual.started_at else "StartsLater"


def _outcome(trace: WorkloadTrace) -> WorkloadOutcome:
    return WorkloadOutcome(
        started_at=trace.started_at,
        starts=trace.starts,
        preempted=trace.preempted,
        evicted=trace.evicted,
        finished_at=trace.finished_at,
    )


def _totals(
    window: RecordedWindow, progress: ReplayProgress, found: list[OutcomeDifference]
) -> BacktestTotals:
    def count(what: DifferenceKind) -> int:
        return sum(what in one.what for one in found)

    observed = window.observed.by_id
    unknown = [
        workload_id
        for workload_id, trace in progress.traces.by_id.items()
        if trace.starts and (one := observed.get(workload_id)) is not None and one.run is None
    ]
    return BacktestTotals(
        workloads=len(found),
        same=sum(not one.what for one in found),
        earlier=count("StartsEarlier"),
        later=count("StartsLater"),
        only_backtest=count("StartsOnlyInBacktest"),
        only_actual=count("DoesNotStart"),
        preemptions_actual=sum(one.actual.preempted for one in found),
        preemptions_backtest=sum(one.backtest.preempted for one in found),
        places_differ=sum(one.places_differ for one in found),
        starts_compared=sum(min(one.actual.starts, one.backtest.starts) for one in found),
        unknown_run_times=len(unknown),
        events=window.events,
        passed_over=progress.passed_over,
        decided_events=progress.decided_events,
        scheduler_runs=progress.scheduler_runs,
        cycles=progress.cycles,
    )


def _queues(window: RecordedWindow, progress: ReplayProgress) -> tuple[QueueOutcome, ...]:
    sides = (window.traces, progress.traces)
    names = sorted({trace.cluster_queue for side in sides for trace in side.by_id.values()})
    use = _use(window.usage, progress.usage)
    return tuple(
        QueueOutcome(
            cluster_queue=name,
            actual=_waits(window.traces, name),
            backtest=_waits(progress.traces, name),
            preempted_actual=_preempted(window.traces, name),
            preempted_backtest=_preempted(progress.traces, name),
            usage=tuple(one for queue, one in use if queue == name),
        )
        for name in names
    )


def _waits(traces: WorkloadTraces, queue: str) -> WaitTimes:
    waiting = [
        trace
        for trace in traces.by_id.values()
        if trace.cluster_queue == queue and trace.waited_from is not None
    ]
    waits = sorted(
        (trace.started_at - trace.waited_from) // 1_000
        for trace in waiting
        if trace.started_at is not None and trace.waited_from is not None
    )
    left = sum(trace.started_at is None and trace.finished_at is None for trace in waiting)
    if not waits:
        return WaitTimes(still_waiting=left)
    return WaitTimes(
        started=len(waits),
        still_waiting=left,
        mean=sum(waits) // len(waits),
        p50=_percentile(waits, 50),
        p95=_percentile(waits, 95),
    )


def _percentile(ordered: list[int], percent: int) -> int:
    return ordered[min(len(ordered) - 1, len(ordered) * percent // PERCENT)]


def _preempted(traces: WorkloadTraces, queue: str) -> int:
    return sum(trace.preempted for trace in traces.by_id.values() if trace.cluster_queue == queue)


def _use(actual: QueueUsage, backtest: QueueUsage) -> list[tuple[str, UsageComparison]]:
    before, after = actual.averages(), backtest.averages()
    found = []
    for name in sorted({*before, *after}):
        queue, _, resource = name.partition("/")
        sides = (tuple(side.get(name, ())) for side in (before, after))
        shown = UsageComparison(resource=resource, actual=next(sides), backtest=next(sides))
        found.append((queue, shown))
    return found
