"""A stretch of the log taken apart: what came from outside, when was decided, and what became.

Whatever the scheduler decided is left out, for it is decided anew; but the instants at which it
looked are kept, so that a rehearsal looks when it really looked.
"""

from collections.abc import Iterable
from typing import NamedTuple

import msgspec

from headgate.domain.backtest.command_replay import CONSEQUENTIAL_EVENTS
from headgate.domain.backtest.observed_behavior import ObservedBehavior
from headgate.domain.backtest.queue_usage import QueueUsage
from headgate.domain.backtest.workload_traces import WorkloadTraces
from headgate.domain.cluster_state import ClusterState
from headgate.domain.kinds.configured_object import StatusEvent
from headgate.domain.kinds.registry import KINDS_BY_STREAM
from headgate.domain.recorded_event import DomainEvent, RecordedEvent
from headgate.domain.streams import kind_and_key
from headgate.domain.values.instants import Instant
from headgate.domain.workloads.events import (
    WorkloadCancellationRequested,
    WorkloadDeleted,
    WorkloadDeletionRequested,
    WorkloadFinished,
    WorkloadSubmitted,
)

SCHEDULER = "scheduler"


class RecordedStep(NamedTuple):
    """Something that came from outside, or a look of the scheduler where there is no `event`."""

    at: Instant
    position: int
    stream: str = ""
    event: DomainEvent | None = None


class RecordedWindow(msgspec.Struct, kw_only=True):
    """What happened from one position to another, and how it would be asked for again.

    `steps` are in order; `traces` and `use` say what became of it; `events` were read.
    """

    begin_at: Instant
    end_at: Instant
    steps: list[RecordedStep]
    observed: ObservedBehavior
    traces: WorkloadTraces
    use: QueueUsage
    events: int = 0


class ReplacedObjects(NamedTuple):
    """What is configured otherwise in the rehearsal: what was configured then does not count."""

    streams: frozenset[str] = frozenset()

    def covers(self, stream: str, event: DomainEvent) -> bool:
        """Whether a fact of the log is to be passed over; stops and reports of nodes never are."""
        return stream in self.streams and not isinstance(event, StatusEvent)


def read_window(
    cluster_state: ClusterState,
    recorded: Iterable[RecordedEvent],
    period: tuple[Instant, Instant],
    replaced: ReplacedObjects,
) -> RecordedWindow:
    """The stretch that begins at the state of `cluster_state`, which is folded to its end."""
    reading = _WindowReader(cluster_state, period, replaced)
    for one in recorded:
        reading.take(one)
    return reading.finished()


class _WindowReader:
    """A stretch as far as it has been read."""

    def __init__(
        self,
        cluster_state: ClusterState,
        period: tuple[Instant, Instant],
        replaced: ReplacedObjects,
    ) -> None:
        begin, end = period
        self._cell = cluster_state
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
            use=QueueUsage(begin_at=begin, end_at=end, now=begin),
        )
        self._begin()

    def take(self, one: RecordedEvent) -> None:
        window, event = self._window, one.event
        self._now = max(self._now, one.at)
        self._cell.apply(one)
        window.events += 1
        window.traces.observe(one.stream, event, one.at, self._cell.config)
        kind, key = kind_and_key(one.stream)
        after = self._cell.workloads.get(key) if kind == "workload" else None
        window.use.observe(one.stream, event, one.at, after)
        self._note(one, kind, key)

    def finished(self) -> RecordedWindow:
        window = self._window
        window.use.pass_time(window.end_at)
        window.observed.end(window.end_at)
        return window

    def _begin(self) -> None:
        window, cluster_state = self._window, self._cell
        window.traces.begin(cluster_state.config, cluster_state.workloads)
        window.use.begin(cluster_state.workloads)
        for key, workload_id in window.traces.ids.items():
            window.observed.begin(workload_id, cluster_state.workloads[key])

    def _note(self, one: RecordedEvent, kind: str, key: str) -> None:
        window, event = self._window, one.event
        outside = one.origin.actor != SCHEDULER
        workload_id = window.traces.ids.get(key, "") if kind == "workload" else ""
        if isinstance(event, WorkloadSubmitted):
            window.observed.begin(workload_id, None)
            self._asked_to_end.pop(key, None)
        is_followed = window.observed.observe(
            workload_id, one.position, event, one.at, outside=outside
        )
        if not outside:
            self._note_look(one)
        elif not is_followed and not self._is_consequence(kind, key, event):
            self._looked = ""
            if not self._replaced.covers(one.stream, event):
                window.steps.append(RecordedStep(self._now, one.position, one.stream, event))

    def _note_look(self, one: RecordedEvent) -> None:
        """All that was decided together was decided in one look."""
        if one.origin.correlation != self._looked:
            self._looked = one.origin.correlation
            self._window.steps.append(RecordedStep(self._now, one.position))

    def _is_consequence(self, kind: str, key: str, event: DomainEvent) -> bool:
        """Whether it followed by itself from something that is noted already."""
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
