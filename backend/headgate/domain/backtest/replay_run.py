"""The replay of a backtest: a cluster state, a virtual clock, and the pending steps.

Recorded steps and scheduled reports are applied in order of time. Partitions that they wake are
planned at the recorded instants of scheduler runs, at the latest `MAX_EVALUATION_DELAY` after being
woken.
"""

import heapq
from collections.abc import Iterable, Mapping

import msgspec

from headgate.domain.backtest.command_replay import redecide_command, redecide_report
from headgate.domain.backtest.recorded_window import (
    ADMITTED,
    EVICTED,
    DelayedReport,
    RecordedStep,
    RecordedWindow,
    phase_begun_by,
)
from headgate.domain.backtest.workload_traces import QueueUsage, WorkloadTraces
from headgate.domain.cluster_state import ClusterState
from headgate.domain.kinds.configured_object import Absent
from headgate.domain.kinds.registry import KINDS_BY_STREAM
from headgate.domain.recorded_event import DomainEvent, kind_and_key, workload_stream
from headgate.domain.scheduling.cycle import plan_cycle, plan_cycles
from headgate.domain.scheduling.ordering.pending_queue import InadmissibleSnapshot
from headgate.domain.scheduling.partition.wakes import wakes_of
from headgate.domain.values.instants import MICROSECONDS_PER_SECOND, Instant
from headgate.domain.workloads.events import WorkloadDeleted

MAX_EVALUATION_DELAY = MICROSECONDS_PER_SECOND // 2
"""The longest delay until a woken or due partition is planned: the polling interval of a worker."""

ALL_PARTITIONS = "*"
ScheduledReport = tuple[Instant, int, str, int, int, int]
"""Instant, recorded position, workload id, kind of phase, its number, and the report in it."""


class ReplayProgress(msgspec.Struct, kw_only=True):
    """The whole state of a replay, which can be stored and continued.

    `next_step` is the first pending step of the window, `schedule` holds the pending reports,
    `phases` counts the phases of each kind by workload, `woken` and `dues` hold when a partition
    was woken and when it is due, `passed_over` counts commands that were accepted in the log and
    are rejected here.
    """

    cluster_state: bytes
    now: Instant
    next_step: int = 0
    schedule: list[ScheduledReport] = []
    phases: dict[str, list[int]] = {}
    woken: dict[str, Instant] = {}
    dues: dict[str, Instant] = {}
    inadmissible: dict[str, dict[str, InadmissibleSnapshot]] = {}
    traces: WorkloadTraces
    usage: QueueUsage
    passed_over: int = 0
    scheduler_runs: int = 0
    cycles: int = 0
    decided_events: int = 0


def start_replay(
    cluster_state: ClusterState,
    window: RecordedWindow,
    changes: Iterable[tuple[str, DomainEvent]],
) -> ReplayProgress:
    """Returns the progress at the first instant: the recorded state with the replaced objects."""
    begun = window.begin_at
    traces, use = WorkloadTraces(), QueueUsage(begin_at=begun, end_at=window.end_at, now=begun)
    traces.begin(cluster_state.config, cluster_state.workloads)
    use.begin(cluster_state.workloads)
    progress = ReplayProgress(
        cluster_state=cluster_state.dump(), now=begun, traces=traces, usage=use
    )
    run = ReplayRun(progress, window)
    with run.cluster_state.overlay() as overlay:
        run.load_in_flight()
        run.wake(run.cluster_state.partition_keys())
        for stream, event in changes:
            run.apply_event(stream, event)
        overlay.keep(run.cluster_state.position)
    return run.saved_progress()


def advance(
    progress: ReplayProgress, window: RecordedWindow, steps: int
) -> tuple[ReplayProgress, bool]:
    """Takes up to a number of steps; returns whether the replay ended. Equal steps, equal bytes."""
    run = ReplayRun(progress, window)
    with run.cluster_state.overlay() as overlay:
        is_over = not all(run.step() for _ in range(steps))
        overlay.keep(run.cluster_state.position)
    if is_over:
        run.progress.usage.pass_time(window.end_at)
    return run.saved_progress(), is_over


class RecordedCycle(msgspec.Struct, frozen=True, kw_only=True):
    """One run of cycles of a worker: what it planned at which instant, and when it stopped.

    `inadmissible` is what its partition knew to be inadmissible, by ClusterQueue.
    """

    partition: str
    at: Instant
    run_id: str
    decisions: int
    inadmissible: Mapping[str, InadmissibleSnapshot]


def replay_cycle(
    cluster_state: ClusterState, cycle: RecordedCycle
) -> tuple[tuple[str, DomainEvent], ...]:
    """The events that a recorded cycle decides again on the state it was planned on.

    A backtest of one cycle: nothing comes from outside, and the plan stops after as many decisions
    as the recorded one. `cluster_state` is left as it was.
    """
    with cluster_state.overlay():
        cluster_state.partition(cycle.partition).restore_inadmissible(cycle.inadmissible)
        planned = plan_cycles(
            cluster_state,
            cycle.partition,
            cycle.at,
            cycle.run_id,
            lambda made: made >= cycle.decisions,
        )
    return tuple(event for decision in planned.decisions for event in decision.events)


class ReplayRun:
    """A replay in progress; `progress` is owned and changed."""

    def __init__(self, progress: ReplayProgress, window: RecordedWindow) -> None:
        self.progress = progress
        self.window = window
        self.cluster_state = ClusterState.load(progress.cluster_state)
        for key, inadmissible in progress.inadmissible.items():
            self.cluster_state.partition(key).restore_inadmissible(inadmissible)

    def saved_progress(self) -> ReplayProgress:
        """Returns the progress with the present state."""
        progress, cluster_state = self.progress, self.cluster_state
        progress.cluster_state = cluster_state.dump()
        memories = {
            key: cluster_state.partition(key).inadmissible_snapshot()
            for key in cluster_state.partition_keys()
        }
        progress.inadmissible = {key: memory for key, memory in memories.items() if memory}
        return progress

    def load_in_flight(self) -> None:
        """Schedules the reports of reservations, admissions and evictions before the window."""
        for workload_id, behavior in self.window.observed.by_id.items():
            key = workload_id.partition(" ")[0]
            if self.progress.traces.ids.get(key) != workload_id:
                continue
            for kind in behavior.in_flight:
                self._schedule_reports(workload_id, kind, behavior.phases[kind][0].began_at)

    def step(self) -> bool:
        """Takes the next step, report or scheduler run, by time; False when none is left."""
        step, scheduled, look = self._step(), self._first_scheduled(), self._next_run_by()
        ends = [(step.at, step.position)] if step else []
        ends += [(scheduled[0], scheduled[1])] if scheduled else []
        ends += [(look, -1)] if look is not None else []
        first = min(ends, default=None)
        if first is None or first[0] > self.window.end_at:
            return False
        self.progress.now = max(self.progress.now, first[0])
        if look is not None and first == (look, -1):
            self._run_scheduler()
        elif scheduled is not None and first == (scheduled[0], scheduled[1]):
            heapq.heappop(self.progress.schedule)
            self._act(scheduled)
        else:
            assert step is not None, "what comes first is one of the three"
            self.progress.next_step += 1
            self._take(step)
        if self.cluster_state.ended.is_due:
            # At once, as the saved state has none either.
            self.cluster_state.forget_what_ended(max_whole=0)
        return True

    def apply_event(self, stream: str, event: DomainEvent) -> None:
        """Applies an event that does not come from the scheduler."""
        woken, _ = wakes_of(self.cluster_state, stream, event)
        self.cluster_state.assume(stream, event, self.progress.now)
        self._wake_all(woken)
        self._observe(stream, event)

    def wake(self, keys: tuple[str, ...]) -> None:
        """Notes that partitions must be planned from now on."""
        for key in keys:
            self.progress.woken.setdefault(key, self.progress.now)

    def _wake_all(self, woken: tuple[str, ...]) -> None:
        self.wake(self.cluster_state.partition_keys() if ALL_PARTITIONS in woken else woken)

    def _step(self) -> RecordedStep | None:
        steps, number = self.window.steps, self.progress.next_step
        return steps[number] if number < len(steps) else None

    def _first_scheduled(self) -> ScheduledReport | None:
        return self.progress.schedule[0] if self.progress.schedule else None

    def _next_run_by(self) -> Instant | None:
        waiting = (*self.progress.woken.values(), *self.progress.dues.values())
        return max(min(waiting) + MAX_EVALUATION_DELAY, self.progress.now) if waiting else None

    def _take(self, step: RecordedStep) -> None:
        if step.event is None:
            self._run_scheduler()
            return
        kind, _ = kind_and_key(step.stream)
        state = self.cluster_state.state_of(step.stream)
        if kind in KINDS_BY_STREAM:
            # An object that is there, or is not, only in the rehearsal is left as it is.
            is_first = hasattr(step.event, "uid")
            if is_first == isinstance(state, Absent):
                self.apply_event(step.stream, step.event)
            else:
                self.progress.passed_over += 1
            return
        if isinstance(state, Absent) and isinstance(step.event, WorkloadDeleted):
            # Most likely it has ended here too; then it is counted no longer.
            self.apply_event(step.stream, step.event)
            return
        eviction = f"backtest.{step.position}"
        events = redecide_command(state, step.event, self.progress.now, eviction)
        if events is None:
            self.progress.passed_over += 1
        for event in events or ():
            self.apply_event(step.stream, event)

    def _act(self, scheduled: ScheduledReport) -> None:
        """Applies a scheduled report, unless its phase is over."""
        _, _, workload_id, kind, number, report_index = scheduled
        key = workload_id.partition(" ")[0]
        workload = self.cluster_state.workloads.get(key)
        is_present = self.progress.traces.ids.get(key) == workload_id
        if workload is None or not is_present:
            return
        if self._phases(workload_id)[kind] != number + 1:
            return
        report = self._reports(workload_id, kind, number)[report_index]
        for event in redecide_report(workload, report.event, self.progress.now):
            self.apply_event(workload_stream(key), event)

    def _run_scheduler(self) -> None:
        """Plans every woken or due partition until no more decisions follow."""
        progress = self.progress
        progress.scheduler_runs += 1
        while keys := self._partitions_to_plan():
            for key in keys:
                progress.woken.pop(key, None)
                progress.dues.pop(key, None)
                if key in self.cluster_state.partition_keys():
                    self._plan(key)

    def _partitions_to_plan(self) -> list[str]:
        due = {key for key, at in self.progress.dues.items() if at <= self.progress.now}
        return sorted({*self.progress.woken, *due})

    def _plan(self, key: str) -> None:
        progress = self.progress
        progress.cycles += 1
        plan = plan_cycle(
            self.cluster_state,
            key,
            progress.now,
            f"backtest.{progress.cycles}",
        )
        for decision in plan.decisions:
            for woken, _ in decision.wakes:
                self._wake_all(woken)
            for stream, event in decision.events:
                self._observe(stream, event)
        if plan.decisions:
            self.wake((key,))
        if plan.next_due is not None and plan.next_due > progress.now:
            progress.dues[key] = plan.next_due

    def _observe(self, stream: str, event: DomainEvent) -> None:
        progress = self.progress
        progress.decided_events += 1
        kind, key = kind_and_key(stream)
        if kind != "workload":
            return
        progress.traces.observe(stream, event, progress.now, self.cluster_state.config)
        progress.usage.observe(stream, event, progress.now, self.cluster_state.workloads.get(key))
        phase, workload_id = phase_begun_by(event), progress.traces.ids.get(key)
        if phase is not None and workload_id is not None:
            self._schedule_reports(workload_id, phase, progress.now)

    def _schedule_reports(self, workload_id: str, kind: int, began_at: Instant) -> None:
        """Schedules the reports of a phase that has begun."""
        if workload_id not in self.window.observed.by_id:
            return
        phases = self._phases(workload_id)
        number = phases[kind]
        phases[kind] += 1
        for report_index, report in enumerate(self._reports(workload_id, kind, number)):
            at = began_at + report.after
            scheduled = (at, report.position, workload_id, kind, number, report_index)
            heapq.heappush(self.progress.schedule, scheduled)

    def _phases(self, workload_id: str) -> list[int]:
        return self.progress.phases.setdefault(workload_id, [0] * (max(ADMITTED, EVICTED) + 1))

    def _reports(self, workload_id: str, kind: int, number: int) -> tuple[DelayedReport, ...]:
        return self.window.observed.following(workload_id, kind, number)
