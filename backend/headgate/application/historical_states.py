"""Folds of the log at past positions, found fast: the nearest known one, and on from there.

A fold is shared by all its readers and never changed; the next position is reached on a fork of it,
which shares all states. Known are a few folds in memory and those of the state cache.
"""

import time
from collections import OrderedDict
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from threading import Lock

import msgspec

from headgate.application.cooperative import BoundedExecutor, stop_if_cancelled, without_collection
from headgate.application.failures import Archived, GapInLog
from headgate.application.historical_ports import ResolvedPoint, point_at_instant
from headgate.application.ports import EventLog
from headgate.application.snapshot_store import (
    Snapshot,
    SnapshotOptions,
    SnapshotStore,
    StateCache,
)
from headgate.domain.cluster_state import ClusterState
from headgate.domain.recorded_event import RecordedEvent
from headgate.domain.values.instants import MICROSECONDS_PER_SECOND, Instant
from headgate.domain.values.quantities import FlavorResource
from headgate.event_log.chain import LogPoint


def first_position(log: EventLog) -> int:
    """The first position that can be read."""
    try:
        log.read(0, limit=1)
    except GapInLog as gap:
        return gap.came
    return 1


@contextmanager
def archived_gaps_reported(log: EventLog) -> Iterator[None]:
    """Let reads of what was taken away fail as `Archived`; any other gap stays a bug."""
    try:
        yield
    except GapInLog as gap:
        first = first_position(log)
        if first <= 1:
            raise
        raise Archived("EventsArchived", first=first) from gap


DECODE_COST_EVENTS = 2_000
"""Reading a fold from the state cache takes as long as folding about so many events."""


@dataclass(frozen=True, slots=True)
class HistoryCacheLimits:
    """How much is kept: folds in memory, their workloads in all, and how far apart caches are.

    `decoded` is how many workloads of caches stay decoded; each takes a few kilobytes. `sample` is
    how many streams of each are compared with the log when it is first read.
    """

    states: int = 12
    workloads: int = 2_000_000
    decoded: int = 200_000
    cache_events: int = 5_000
    sample: int = 24


@dataclass(slots=True)
class HistoricalStates:
    """Reaches any position; one caller at a time works, the others wait."""

    event_log: EventLog
    state_cache: StateCache
    bounds: HistoryCacheLimits = field(default_factory=HistoryCacheLimits)
    _known: OrderedDict[int, ClusterState] = field(default_factory=OrderedDict)
    _point: LogPoint | None = None
    _lock: Lock = field(default_factory=Lock)
    _keeper: SnapshotStore = field(init=False)

    def __post_init__(self) -> None:
        options = SnapshotOptions(max_workloads=self.bounds.decoded, sample=self.bounds.sample)
        self._keeper = SnapshotStore(self.state_cache, self.event_log, options)

    def at(self, position: int) -> ClusterState:
        """The fold of the first `position` events, with its partitions; not to be changed.

        `position` must not lie past the head of the log. Raises `Archived` where neither the log
        from its beginning nor a cached fold leads there.
        """
        with self._lock, archived_gaps_reported(self.event_log):
            self._forget_another_past()
            # Read before the fold, so that a rewind in between shows at the next call.
            point = self.event_log.point_at(position)
            found = self._known.get(position)
            if found is None:
                found = self._reach(position)
            self._remember(found)
            if self._point is None or self._point.position < position:
                self._point = point
            return found

    def passing(self, positions: Sequence[int]) -> Generator[ClusterState, None, None]:
        """The fold at each of some positions, which do not descend, on one way through the log.

        Each may be read only until the next is asked for: it is the same fold, gone on. Only the
        first is remembered, so that looking over a long time displaces nothing others look at.
        """
        cluster_state = self.at(positions[0]).fork() if positions else ClusterState()
        for position in positions:
            with self._lock, archived_gaps_reported(self.event_log):
                after = cluster_state.position + DECODE_COST_EVENTS
                nearer = self._keeper.newest(at_most=position, after=after)
                start = nearer.cluster_state if nearer else cluster_state
                cluster_state = self._go_on(start, position)
            yield cluster_state

    def _forget_another_past(self) -> None:
        """Forgets all folds if the log does not have the last point that one was folded up to."""
        point = self._point
        if point is not None and self.event_log.point_at(point.position) != point:
            self._known.clear()
            self._point = None

    def _reach(self, position: int) -> ClusterState:
        return self._go_on(self._nearest(position), position)

    def _go_on(self, cluster_state: ClusterState, position: int) -> ClusterState:
        with without_collection():
            for recorded in self.event_log.read_all(cluster_state.position, up_to=position):
                stop_if_cancelled()
                cluster_state.apply(recorded)
                self._cache_on_the_way(cluster_state, recorded)
            if cluster_state.position != position:
                raise GapInLog(
                    f"the log can be read up to {cluster_state.position}, not to {position}"
                )
            # Built here, in the caller's thread, for whoever reads it must not wait for it.
            for _ in cluster_state.build_partitions():
                stop_if_cancelled()
        return cluster_state

    def _nearest(self, position: int) -> ClusterState:
        """A fold of one's own to go on with: of memory or the cache, whichever is less work."""
        warm = max((known for known in self._known if known <= position), default=0)
        cached = self._keeper.newest(at_most=position, after=warm + DECODE_COST_EVENTS)
        if cached is not None:
            return cached.cluster_state
        return self._known[warm].fork() if warm else ClusterState()

    def _cache_on_the_way(self, cluster_state: ClusterState, recorded: RecordedEvent) -> None:
        if recorded.position % self.bounds.cache_events == 0:
            point = self.event_log.point_at(recorded.position)
            if point is not None:
                self._keeper.put(Snapshot(cluster_state, point))

    def _remember(self, cluster_state: ClusterState) -> None:
        self._known[cluster_state.position] = cluster_state
        self._known.move_to_end(cluster_state.position)
        while len(self._known) > 1 and self._is_too_much():
            self._known.popitem(last=False)

    def _is_too_much(self) -> bool:
        workloads = sum(len(cluster_state.workloads) for cluster_state in self._known.values())
        return len(self._known) > self.bounds.states or workloads > self.bounds.workloads


HISTORY_BUSY = "HistoryOverloaded"


@dataclass(frozen=True, slots=True)
class HistoricalReads:
    """What it takes to see the past and to try the future.

    `elapsed` counts seconds, `worked` those that the present thread had a processor; a read may
    take `seconds` of the one, a trial of the other, as it gives way to the requests of others.
    """

    states: HistoricalStates
    elapsed: Callable[[], float]
    worked: Callable[[], float] = time.thread_time
    seconds: float = 10.0
    executor: BoundedExecutor = field(default_factory=lambda: BoundedExecutor("past", HISTORY_BUSY))

    def is_late(self) -> Callable[[], bool]:
        """Tells from its first call on whether the time for one read is over."""
        return partial(self._is_over, [], self.elapsed)

    def is_trial_over(self) -> Callable[[], bool]:
        """Tells from its first call in a thread on whether the time for one trial is over."""
        return partial(self._is_over, [], self.worked)

    def _is_over(self, begun: list[float], elapsed: Callable[[], float]) -> bool:
        begun[:] = begun or [elapsed()]
        return elapsed() - begun[0] > self.seconds


class CapacitySample(msgspec.Struct, frozen=True):
    """All resources at one position: by resource, and by ClusterQueue and resource.

    `by_flavor` is what a ClusterQueue uses by flavor and resource, `own_nominal` its own quota.
    """

    nominal: dict[str, int]
    offered: dict[str, int]
    used: dict[str, dict[str, int]]
    by_flavor: dict[str, dict[FlavorResource, int]]
    own_nominal: dict[str, dict[str, int]]
    pending: dict[str, dict[str, int]]
    pending_workloads: dict[str, int]


SETTLED_SECONDS = 60
"""From that age on the position of an instant is final: no plan takes so long."""
MAX_SAMPLES = 1_000


@dataclass(slots=True)
class CapacitySamples:
    """Samples by position and positions by instant; those that were not used for longest go."""

    _samples: OrderedDict[int, CapacitySample] = field(default_factory=OrderedDict)
    _moments: OrderedDict[Instant, ResolvedPoint] = field(default_factory=OrderedDict)
    _newest: LogPoint | None = None
    _lock: Lock = field(default_factory=Lock)

    def moments(self, log: EventLog, instants: Sequence[Instant]) -> list[ResolvedPoint]:
        """The place in the log of each of some ascending instants.

        What another past has left is forgotten first. A quiet time costs two searches, however
        many instants lie in it.
        """
        self._forget_another_past(log)
        found: dict[Instant, ResolvedPoint] = {}
        if instants:
            head = log.head()
            first = self._moment(log, instants[0], 0, head)
            last = self._moment(log, instants[-1], first.position, head)
            self._fill(log, instants, first, last, found)
        return [found[instant] for instant in instants]

    def _fill(
        self,
        log: EventLog,
        instants: Sequence[Instant],
        first: ResolvedPoint,
        last: ResolvedPoint,
        found: dict[Instant, ResolvedPoint],
    ) -> None:
        """Finds what lies between the first and the last of some instants, halving them."""
        found[instants[0]], found[instants[-1]] = first, last
        if first.position == last.position:
            found.update((each, ResolvedPoint(first.position, each)) for each in instants)
        elif len(instants) > 2:  # noqa: PLR2004 - there is one between both ends
            half = len(instants) // 2
            middle = self._moment(log, instants[half], first.position, last.position)
            self._fill(log, instants[: half + 1], first, middle, found)
            self._fill(log, instants[half:], middle, last, found)

    def _moment(self, log: EventLog, instant: Instant, low: int, high: int) -> ResolvedPoint:
        known = self._moments.get(instant)
        if known is None:
            known = point_at_instant(log, instant, low, high)
            if instant <= log.now() - SETTLED_SECONDS * MICROSECONDS_PER_SECOND:
                self._put_moment(instant, known)
        return known

    def sample(self, position: int) -> CapacitySample | None:
        """The sample of a position, if it is known."""
        with self._lock:
            found = self._samples.get(position)
            if found is not None:
                self._samples.move_to_end(position)
            return found

    def put(self, position: int, sample: CapacitySample) -> None:
        """Keep a sample."""
        with self._lock:
            self._samples[position] = sample
            while len(self._samples) > MAX_SAMPLES:
                self._samples.popitem(last=False)

    def _put_moment(self, instant: Instant, found: ResolvedPoint) -> None:
        with self._lock:
            self._moments[instant] = found
            while len(self._moments) > MAX_SAMPLES:
                self._moments.popitem(last=False)

    def _forget_another_past(self, log: EventLog) -> None:
        head = log.head()
        with self._lock:
            known = self._newest
            if known is not None and log.point_at(known.position) != known:
                self._samples.clear()
                self._moments.clear()
            if known is None or head > known.position:
                self._newest = log.point_at(head)
