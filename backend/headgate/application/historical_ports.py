"""The log, its followers, the clock and the fold of a past position."""

from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Any, TypeAlias

import msgspec
from msgspec.structs import replace

from headgate.application.cooperative import Cooperative, Result, run_yielding
from headgate.application.failures import ReleaseTooOld
from headgate.application.ports import (
    AppendUnit,
    EventFilter,
    EventLog,
    Verdict,
)
from headgate.application.projections import Amend, Put
from headgate.application.projections import followers as followed
from headgate.application.projections.workload_pods import (
    FOLDED,
    AttemptCounts,
    PodFilter,
    PodPlace,
    PodRow,
    PodRows,
    PodState,
    WorkloadPods,
    pods_after,
)
from headgate.domain.cluster_state import ClusterState
from headgate.domain.recorded_event import (
    Correlation,
    EventCount,
    RecordedEvent,
    workload_stream,
)
from headgate.domain.values.instants import Instant
from headgate.event_log.chain import EventReader, LogBatch, LogPoint


@dataclass(frozen=True, slots=True)
class ResolvedPoint:
    """A place in the past: everything up to `position` has happened, and it is `at`."""

    position: int
    at: Instant


def point_at_position(log: EventLog, position: int) -> ResolvedPoint:
    """The moment right after that event; 0 is before the first."""
    return ResolvedPoint(position, _decided_at(log, position))


def point_at_instant(
    log: EventLog, at: Instant, low: int = 0, high: int | None = None
) -> ResolvedPoint:
    """A position with an event decided by that instant, while the next one was not.

    Instants grow with positions but for the length of a plan; the search halves what is left
    between two positions that are known to enclose it, the whole log without.
    """
    high = log.head() if high is None else high
    while low < high:
        middle = (low + high + 1) // 2
        if _decided_at(log, middle) <= at:
            low = middle
        else:
            high = middle - 1
    return ResolvedPoint(low, at)


def _decided_at(log: EventLog, position: int) -> Instant:
    (found,) = log.read(position - 1, limit=1) if position else log.read(0, limit=1) or (None,)
    return found.at if found is not None else log.now()


@dataclass(frozen=True, slots=True)
class HistoricalLog:
    """Fills the port `EventLog`; nothing can be appended to the past.

    `version_of` tells how many events a stream had at the moment.
    """

    live: EventLog
    point: ResolvedPoint
    version_of: Callable[[str], int]

    def append(self, units: Sequence[AppendUnit]) -> list[Verdict]:
        """Raises: appends go to the live log alone."""
        raise AssertionError(f"{len(units)} units were to be appended to the past")

    def erase(self, unit: AppendUnit, digests: Collection[str]) -> Verdict:
        """Raises: content is erased at the present alone."""
        raise AssertionError(f"{len(digests)} bodies were to be erased at {unit.at} in the past")

    def head(self) -> int:
        """The position it ends at."""
        return self.point.position

    def log_id(self) -> str:
        """The identity of this log."""
        return self.live.log_id()

    def point_at(self, position: int) -> LogPoint | None:
        """The point of the log at a position."""
        return self.live.point_at(position)

    def now(self) -> Instant:
        """The instant of the moment."""
        return self.point.at

    def read(self, after: int, *, limit: int, up_to: int | None = None) -> list[RecordedEvent]:
        """Up to `limit` events after that position in order."""
        return self.live.read(after, limit=limit, up_to=self._end(up_to))

    def read_on(
        self, point: LogPoint, *, limit: int, reader: EventReader | None = None
    ) -> LogBatch:
        """A bug: nothing goes on from a past."""
        what = f"{limit} events were to follow on {point.position} in the past"
        raise AssertionError(what if reader is None else f"{what}, some not decoded")

    def forget_lost_past(self) -> None:
        """A bug: nothing is deleted in the past."""
        raise AssertionError("answers were to be deleted in the past")

    def read_all(self, after: int = 0, up_to: int | None = None) -> Iterator[RecordedEvent]:
        """Every event after that position in order, streamed."""
        return self.live.read_all(after, self._end(up_to))

    def read_stream(self, stream: str, after_version: int = 0) -> list[RecordedEvent]:
        """One stream from its beginning, or after a version."""
        found = self.live.read_stream(stream, after_version)
        return [recorded for recorded in found if recorded.position <= self.point.position]

    def stream_page(self, stream: str, *, before: int | None, limit: int) -> list[RecordedEvent]:
        """The newest events of one stream, before a version, newest first."""
        end = self.version_of(stream) + 1
        first = end if before is None else min(before, end)
        return self.live.stream_page(stream, before=first, limit=limit)

    def positions_of(self, places: Sequence[tuple[str, int]]) -> list[int]:
        """The position of each event, given by stream and version."""
        return self.live.positions_of(places)

    def page(self, where: EventFilter, *, before: int | None, limit: int) -> list[RecordedEvent]:
        """The newest events matching `where`, before a position, newest first."""
        end = self.point.position + 1
        return self.live.page(where, before=min(before or end, end), limit=limit)

    def histogram(self, where: EventFilter, *, width: int) -> list[EventCount]:
        """How many events match `where` by time and type, oldest first; empty ones left out."""
        return self.live.histogram(replace(where, up_to=self._end(where.up_to)), width=width)

    def correlations(self, ids: Sequence[str], where: EventFilter, limit: int) -> list[Correlation]:
        """The events of each that match `where`, `limit` at most."""
        return self.live.correlations(ids, replace(where, up_to=self._end(where.up_to)), limit)

    def _end(self, up_to: int | None) -> int:
        position = self.point.position
        return position if up_to is None else min(up_to, position)


@dataclass(frozen=True, slots=True)
class HistoricalFollowers:
    """Fills the port `Followers` for reading; they follow the live log only."""

    live: followed.Followers
    point: ResolvedPoint
    log: HistoricalLog

    def names(self) -> tuple[str, ...]:
        """The read models there are."""
        return self.live.names()

    def positions(self) -> dict[str, int]:
        """Returns the position of each projection; that of pods is folded from the log itself."""
        found = {n: min(at, self.point.position) for n, at in self.live.positions().items()}
        return {**found, WorkloadPods.name: self.point.position}

    def advance(self, *names: str, limit: int = 5_000) -> int:
        """Folds the log into the live read models, which then show all of this past."""
        return self.live.advance(*names, limit=limit)

    def rebuild(self, name: str) -> None:
        """A bug: the past is not rebuilt."""
        raise AssertionError(f"{name} was to be rebuilt in the past")

    def queue_history(
        self, *, since: Instant, until: Instant, cluster_queue: str = ""
    ) -> followed.QueueHistory:
        """What happened minute by minute up to the moment, oldest first."""
        end = min(until, self.point.at + 1)
        found = self.live.queue_history(since=since, until=end, cluster_queue=cluster_queue)
        return replace(found, position=min(found.position, self.point.position))

    def admissions(self, since: Instant) -> followed.Admissions:
        """The admissions of each minute up to the moment, counted in the log."""
        by_minute = followed.admissions_in_log(self.log, since)
        return followed.Admissions(position=self.point.position, by_minute=by_minute)

    def pods(self, query: PodFilter) -> PodRows:
        """The pods of a workload, folded from its events up to the moment."""
        events = self.log.read_stream(workload_stream(query.workload))
        return selected_pods(folded_pods(events), query, self.point.position)

    def preemption_sums(self, query: followed.PreemptionQuery) -> followed.PreemptionSums:
        """What the preemptions up to the moment cost."""
        position = self.point.position
        found = self.live.preemption_sums(replace(query, up_to=position))
        return replace(found, position=min(found.position, position))


def folded_pods(events: Iterable[RecordedEvent]) -> list[PodRow]:
    """The rows after the events of one workload, which stay when it ends."""
    rows: dict[tuple[Any, ...], dict[str, Any]] = {}
    memory: dict[str, str] = {}
    for recorded in events:
        if type(recorded.event) not in FOLDED:
            continue
        _, changes = pods_after(recorded, memory)
        for change in changes:
            match change:
                case Put(key=key, values=values):
                    rows.setdefault(tuple(key.values()), dict(key)).update(values)
                case Amend(where=where, values=values):
                    for row in rows.values():
                        row.update(values if where.items() <= row.items() else {})
                case _:
                    rows.clear()
    return [msgspec.convert(row, PodRow) for row in rows.values()]


MAX_PODS_KEPT = 20_000
KeptPlace: TypeAlias = tuple[str, bytes] | None
"""A stream, and the chain value at its last event; None for what is not kept."""


class KeptPods:
    """The pods of the ended workloads that were read last, so that a page folds nothing anew.

    They are kept by the chain value at the last event of the workload, which no other past has.
    """

    def __init__(self) -> None:
        self._pods: OrderedDict[KeptPlace, list[PodRow]] = OrderedDict()
        self._lock = Lock()

    def get(self, place: KeptPlace) -> list[PodRow] | None:
        """The pods of a workload with this last event, if they are kept."""
        with self._lock:
            found = self._pods.get(place)
            if found is not None:
                self._pods.move_to_end(place)
            return found

    def put(self, place: KeptPlace, pods: list[PodRow]) -> None:
        """Keeps pods, and of those read before as many as are within the limit."""
        if place is None or len(pods) > MAX_PODS_KEPT:
            return
        with self._lock:
            self._pods[place] = pods
            while sum(map(len, self._pods.values())) > MAX_PODS_KEPT:
                self._pods.popitem(last=False)


def selected_pods(rows: Iterable[PodRow], query: PodFilter, position: int) -> PodRows:
    """The page of pods that a query asks for, and the counts of the workload's attempts."""
    own = sorted((row for row in rows if row.workload == query.workload), key=_place_of)
    newest = max((row.attempt for row in own), default=0)
    attempt = newest if query.attempt is None else query.attempt
    found = [row for row in own if row.attempt == attempt and _matches(query, row)]
    counts = _counts(own) if query.after is None else []
    return PodRows(position=position, pods=found[: query.limit], counts=counts)


def _place_of(row: PodRow) -> PodPlace:
    return row.pod_set, row.pod_index, row.run


def _matches(query: PodFilter, row: PodRow) -> bool:
    return (
        query.pod_set in ("", row.pod_set)
        and query.node in ("", row.node)
        and (not query.states or row.state in query.states)
        and (query.all_runs or row.is_newest)
        and (query.after is None or _place_of(row) > query.after)
    )


def _counts(rows: Iterable[PodRow]) -> list[AttemptCounts]:
    groups: dict[tuple[int, PodState], list[PodRow]] = {}
    for row in rows:
        if row.is_newest:
            groups.setdefault((row.attempt, row.state), []).append(row)
    return [_counted(attempt, state, groups[attempt, state]) for attempt, state in sorted(groups)]


def _counted(attempt: int, state: PodState, rows: list[PodRow]) -> AttemptCounts:
    return AttemptCounts(
        attempt=attempt,
        state=state,
        pods=len(rows),
        restarts=sum(row.run - 1 for row in rows),
        started_at=min((r.started_at for r in rows if r.started_at is not None), default=None),
        finished_at=max((r.finished_at for r in rows if r.finished_at is not None), default=None),
    )


@dataclass(frozen=True, slots=True)
class FixedClock:
    """A clock that always returns one instant."""

    at: Instant
    is_set: bool = True

    def now(self) -> Instant:
        """The instant of the moment."""
        return self.at


@dataclass(frozen=True, slots=True)
class FixedReader:
    """A fold that nothing is added to."""

    cluster_state: ClusterState
    ready: bool = True
    point: LogPoint | None = None
    too_old: ReleaseTooOld | None = None

    @property
    def position(self) -> int:
        """The position of the moment."""
        return self.cluster_state.position

    async def while_still(self, steps: Cooperative[Result]) -> Result:
        """Runs work in slices; a past state does not change anyway."""
        return await run_yielding(steps)

    async def reached(self, position: int, *, within_seconds: float) -> bool:
        """Whether that position lies in this past; waiting would not help."""
        del within_seconds
        return position <= self.cluster_state.position
