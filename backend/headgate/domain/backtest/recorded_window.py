"""A time range of the log: external events, executor behavior, scheduler runs and outcomes.

Decisions of the scheduler are left out, for a backtest makes them anew. The instants of its runs
are kept, so that a backtest plans at the recorded times.
"""

from collections.abc import Iterable
from typing import NamedTuple

import msgspec

from headgate.domain.backtest.workload_traces import QueueUsage, WorkloadTraces
from headgate.domain.cluster_state import ClusterState
from headgate.domain.kinds.configured_object import StatusEvent
from headgate.domain.kinds.registry import KINDS_BY_STREAM
from headgate.domain.recorded_event import DomainEvent, RecordedEvent, kind_and_key
from headgate.domain.values.instants import Instant
from headgate.domain.workloads.events import (
    EvictionAcknowledged,
    EvictionProgressed,
    ReservationDropped,
    WorkloadAdmitted,
    WorkloadCancellationRequested,
    WorkloadCheckReported,
    WorkloadDeleted,
    WorkloadDeletionRequested,
    WorkloadEvicted,
    WorkloadFinished,
    WorkloadPodsNotReady,
    WorkloadPodsReady,
    WorkloadPodsReclaimed,
    WorkloadQuotaReserved,
    WorkloadStopped,
    WorkloadSubmitted,
)
from headgate.domain.workloads.preemption_events import (
    EvictionCancelled,
    WorkloadPodsEvicted,
    WorkloadShrunk,
    WorkloadStopping,
)
from headgate.domain.workloads.state import Workload, condition
from headgate.domain.workloads.transitions.preemption import ongoing_evictions

RESERVED, ADMITTED, EVICTED = 0, 1, 2
"""The transitions that begin a lifecycle phase."""


LATER_THAN_ALL = 2**62


RUNNING = (WorkloadPodsReady, WorkloadPodsNotReady, WorkloadPodsReclaimed)


GONE = (WorkloadStopped, WorkloadShrunk)


LEAVING = (EvictionAcknowledged, EvictionProgressed, WorkloadStopping, *GONE)


ENDED = ("Succeeded", "Failed", "FailedToStart")


class DelayedReport(msgspec.Struct, frozen=True, kw_only=True):
    """A recorded report, and its delay in microseconds after the event that it follows."""

    after: int
    position: int
    event: DomainEvent


class LifecyclePhase(msgspec.Struct, kw_only=True):
    """The reports after one reservation, admission or eviction; `until` is how long it lasted.

    `eviction` names the eviction that began the phase.
    """

    began_at: Instant
    eviction: str = ""
    reports: list[DelayedReport] = []
    until: int = 0


class PodBehavior(msgspec.Struct, kw_only=True):
    """All lifecycle phases of one workload by kind; `run` is its end after its last start, if any.

    `in_flight` are the kinds of phases that had begun before the window did.
    """

    phases: tuple[list[LifecyclePhase], list[LifecyclePhase], list[LifecyclePhase]]
    in_flight: list[int] = []
    run: DelayedReport | None = None


class ObservedBehavior(msgspec.Struct, kw_only=True):
    """The pod behavior of every workload by key and uid, and the sorted delays of all of them."""

    by_id: dict[str, PodBehavior] = {}
    ready_delays: list[int] = []
    stop_delays: list[int] = []

    def begin(self, workload_id: str, workload: Workload | None) -> None:
        """Adds a workload that exists; its present phases began before."""
        behavior = PodBehavior(phases=([], [], []))
        self.by_id[workload_id] = behavior
        if workload is None or workload.finished_at is not None:
            return
        reserved, admitted = condition(workload, "QuotaReserved"), condition(workload, "Admitted")
        for kind, found in ((RESERVED, reserved), (ADMITTED, admitted)):
            if found is not None and found.status:
                behavior.phases[kind].append(LifecyclePhase(began_at=found.last_transition_at))
        for eviction in ongoing_evictions(workload):
            phase = LifecyclePhase(began_at=eviction.started_at, eviction=eviction.id)
            behavior.phases[EVICTED].append(phase)
        behavior.in_flight = [kind for kind, phases in enumerate(behavior.phases) if phases]

    def observe(
        self, workload_id: str, position: int, event: DomainEvent, at: Instant, *, outside: bool
    ) -> bool:
        """Adds the next event of a workload; returns whether it is a report of a phase."""
        behavior = self.by_id.get(workload_id)
        if behavior is None:
            return False
        kind = phase_begun_by(event)
        if kind is not None:
            if not isinstance(event, WorkloadPodsEvicted):
                # Asked for single pods first and then for all, it has kept them at least so long.
                _close(behavior.phases[kind], at)
            name = getattr(event, "eviction", "")
            behavior.phases[kind].append(LifecyclePhase(began_at=at, eviction=name))
            return False
        follows = _follows_from(event) if outside else None
        if isinstance(event, EvictionCancelled | WorkloadShrunk):
            _close(_of_eviction(behavior.phases[EVICTED], event), at)
        if isinstance(event, WorkloadStopped | WorkloadFinished):
            for phases in behavior.phases:
                _close(phases, at)
        if follows is None or not behavior.phases[follows]:
            return False
        self._note(behavior, follows, position, event, at)
        return True

    def end(self, at: Instant) -> None:
        """Ends the window: phases that still last count up to here."""
        for behavior in self.by_id.values():
            for phases in behavior.phases:
                _close(phases, at)
        self.ready_delays.sort()
        self.stop_delays.sort()

    def following(self, workload_id: str, kind: int, number: int) -> tuple[DelayedReport, ...]:
        """Returns the reports after the reservation, admission or eviction of a number, from 0."""
        behavior = self.by_id[workload_id]
        phases = behavior.phases[kind]
        phase = phases[min(number, len(phases) - 1)] if phases else None
        if kind == RESERVED:
            return tuple(phase.reports) if phase else ()
        if kind == ADMITTED:
            return self._run(behavior, phase)
        return self._stop(phase)

    def _note(
        self, behavior: PodBehavior, kind: int, position: int, event: DomainEvent, at: Instant
    ) -> None:
        phase = _of_eviction(behavior.phases[kind], event)[-1]
        report = DelayedReport(after=max(0, at - phase.began_at), position=position, event=event)
        if isinstance(event, WorkloadFinished):
            behavior.run = report
            return
        if isinstance(event, WorkloadPodsReady) and not phase.reports:
            self.ready_delays.append(report.after)
        if isinstance(event, GONE):
            self.stop_delays.append(report.after)
        phase.reports.append(report)

    def _run(
        self, behavior: PodBehavior, phase: LifecyclePhase | None
    ) -> tuple[DelayedReport, ...]:
        """Returns readiness as recorded or by the median, and the end after the run time."""
        if phase is None:
            ready = WorkloadPodsReady()
            return (
                DelayedReport(
                    after=median(self.ready_delays), position=LATER_THAN_ALL, event=ready
                ),
            )
        if behavior.run is None:
            return tuple(phase.reports)
        run = behavior.run
        if phase is not behavior.phases[ADMITTED][-1] and phase.until >= run.after:
            # It is known to have run longer than its last run took, and not to have ended.
            run = DelayedReport(after=phase.until + 1, position=LATER_THAN_ALL, event=run.event)
        return (*phase.reports, run)

    def _stop(self, phase: LifecyclePhase | None) -> tuple[DelayedReport, ...]:
        reports = tuple(phase.reports) if phase else ()
        if any(isinstance(report.event, GONE) for report in reports):
            return reports
        after = max(median(self.stop_delays), phase.until + 1 if phase else 0)
        stopped = WorkloadStopped(eviction="")
        return (*reports, DelayedReport(after=after, position=LATER_THAN_ALL, event=stopped))


def phase_begun_by(event: DomainEvent) -> int | None:
    """Returns the kind of phase that an event begins; None for other events."""
    match event:
        case WorkloadQuotaReserved():
            return RESERVED
        case WorkloadAdmitted():
            return ADMITTED
        case WorkloadEvicted() | WorkloadPodsEvicted():
            return EVICTED
        case _:
            return None


def median(delays: list[int]) -> int:
    """Returns the middle of sorted delays; 0 where there are none."""
    return delays[len(delays) // 2] if delays else 0


def _follows_from(event: DomainEvent) -> int | None:
    if isinstance(event, WorkloadCheckReported):
        return RESERVED
    if isinstance(event, RUNNING):
        return ADMITTED
    if isinstance(event, WorkloadFinished) and event.reason in ENDED:
        return ADMITTED
    return EVICTED if isinstance(event, LEAVING) else None


def _of_eviction(phases: list[LifecyclePhase], event: DomainEvent) -> list[LifecyclePhase]:
    """Returns the phases of the eviction that an event names; all if it names none."""
    name = getattr(event, "eviction", "")
    return [phase for phase in phases if name and phase.eviction == name] or phases


def _close(phases: list[LifecyclePhase], at: Instant) -> None:
    """Sets the duration of phases that are still open."""
    for phase in phases:
        if not phase.until:
            phase.until = max(0, at - phase.began_at)


SCHEDULER = "scheduler"


class RecordedStep(NamedTuple):
    """An external event, or a run of the scheduler where there is no `event`."""

    at: Instant
    position: int
    stream: str = ""
    event: DomainEvent | None = None


class RecordedWindow(msgspec.Struct, kw_only=True):
    """The external events between two positions, the behavior of executors, and the outcomes.

    `steps` are in order; `traces` and `usage` hold the outcomes; `events` counts the events read.
    """

    begin_at: Instant
    end_at: Instant
    steps: list[RecordedStep]
    observed: ObservedBehavior
    traces: WorkloadTraces
    usage: QueueUsage
    events: int = 0


class ReplacedObjects(NamedTuple):
    """The objects that a backtest configures otherwise: their recorded changes do not count."""

    streams: frozenset[str] = frozenset()

    def covers(self, stream: str, event: DomainEvent) -> bool:
        """Whether an event of the log is skipped; stops and reports of nodes never are."""
        return stream in self.streams and not isinstance(event, StatusEvent)


def read_window(
    cluster_state: ClusterState,
    recorded: Iterable[RecordedEvent],
    period: tuple[Instant, Instant],
    replaced: ReplacedObjects,
) -> RecordedWindow:
    """Reads the window that begins at the state of `cluster_state`, which is folded to its end."""
    reading = _WindowReader(cluster_state, period, replaced)
    for one in recorded:
        reading.take(one)
    return reading.finished()


class _WindowReader:
    """Reads a window event by event."""

    def __init__(
        self,
        cluster_state: ClusterState,
        period: tuple[Instant, Instant],
        replaced: ReplacedObjects,
    ) -> None:
        begin, end = period
        self._state = cluster_state
        self._replaced = replaced
        self._now = begin
        self._looked = ""
        self._asked_to_end: dict[str, None] = {
            key: None for key, workload in cluster_state.workloads.items() if _must_end(workload)
        }
        self._window = RecordedWindow(
            begin_at=begin,
            end_at=end,
            steps=[],
            observed=ObservedBehavior(),
            traces=WorkloadTraces(),
            usage=QueueUsage(begin_at=begin, end_at=end, now=begin),
        )
        self._begin()

    def take(self, one: RecordedEvent) -> None:
        window, event = self._window, one.event
        # The clock of its writer may have been ahead of that of the event which ends the window.
        self._now = max(self._now, min(one.at, window.end_at))
        self._state.apply(one)
        window.events += 1
        window.traces.observe(one.stream, event, one.at, self._state.config)
        kind, key = kind_and_key(one.stream)
        after = self._state.workloads.get(key) if kind == "workload" else None
        window.usage.observe(one.stream, event, one.at, after)
        self._note(one, kind, key)

    def finished(self) -> RecordedWindow:
        window = self._window
        window.usage.pass_time(window.end_at)
        window.observed.end(window.end_at)
        return window

    def _begin(self) -> None:
        window, cluster_state = self._window, self._state
        window.traces.begin(cluster_state.config, cluster_state.workloads)
        window.usage.begin(cluster_state.workloads)
        for key, workload_id in window.traces.ids.items():
            window.observed.begin(workload_id, cluster_state.workloads[key])

    def _note(self, one: RecordedEvent, kind: str, key: str) -> None:
        window, event = self._window, one.event
        outside = one.metadata.actor != SCHEDULER
        workload_id = window.traces.ids.get(key, "") if kind == "workload" else ""
        if isinstance(event, WorkloadSubmitted):
            window.observed.begin(workload_id, None)
            self._asked_to_end.pop(key, None)
        is_followed = window.observed.observe(
            workload_id, one.position, event, one.at, outside=outside
        )
        if not outside:
            self._note_scheduler_run(one)
        elif not is_followed and not self._is_consequence(kind, key, event):
            self._looked = ""
            if not self._replaced.covers(one.stream, event):
                window.steps.append(RecordedStep(self._now, one.position, one.stream, event))

    def _note_scheduler_run(self, one: RecordedEvent) -> None:
        """Notes one scheduler run for all events with one correlation."""
        if one.metadata.correlation != self._looked:
            self._looked = one.metadata.correlation
            self._window.steps.append(RecordedStep(self._now, one.position))

    def _is_consequence(self, kind: str, key: str, event: DomainEvent) -> bool:
        """Whether an event follows from a command that is noted already."""
        if kind in KINDS_BY_STREAM:
            return False
        if kind != "workload":
            return True
        if isinstance(event, CONSEQUENTIAL_EVENTS):
            return getattr(event, "reason", "") != "Requeued"
        if isinstance(event, WorkloadFinished | WorkloadDeleted):
            return key in self._asked_to_end
        if isinstance(event, WorkloadCancellationRequested | WorkloadDeletionRequested):
            self._asked_to_end[key] = None
        return False


def _must_end(workload: object) -> bool:
    return any(getattr(workload, name) is not None for name in ("cancelling_at", "terminating_at"))


CONSEQUENTIAL_EVENTS = (WorkloadEvicted, ReservationDropped, WorkloadStopped)
"""From outside these only follow from a command recorded beside them, except a requeue."""
