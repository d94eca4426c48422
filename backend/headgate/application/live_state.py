"""The cluster state that a process keeps in memory: loaded, caught up and cached.

It is folded anew where the log has lost events, by a restored backup or a failover.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import structlog

from headgate.application.cooperative import (
    Cooperative,
    Result,
    collect_dropped,
    collect_seldom,
    never_paused,
    run_yielding,
    without_collection,
)
from headgate.application.failures import GapInLog, ReleaseTooOld
from headgate.application.ports import EventLog, Tail, Unavailable
from headgate.application.snapshot_store import (
    Snapshot,
    SnapshotOptions,
    SnapshotRule,
    SnapshotStore,
    StateCache,
)
from headgate.domain.cluster_state import ClusterState
from headgate.domain.recorded_event import RecordedEvent
from headgate.domain.scheduling.partition.partition_layout import Scope
from headgate.event_log.chain import LogBatch, LogPoint, PastLost
from headgate.event_log.folds import follows, reader_of, restrict

READ_LIMIT = 2_000
NEVER_SYNCED = -1
"""In place of the position of the configuration that the rows of partitions match."""


@dataclass(frozen=True, slots=True)
class LostPast:
    """A fold that was dropped as the log had lost events of it: its position and known rewinds."""

    position: int
    known_rewinds: int


@dataclass(slots=True)
class LiveState:
    """One fold for one process. One thread may use it (ADR 0009); any thread may call `mark_stale`.

    `elapsed` counts seconds from any start, `observer` names the process. `lost` is set from `lose`
    until the process has recovered from a rewound log. `share` has the partitions of which the fold
    has the workloads, as far as they are enough (`Scope`), None for all.
    """

    event_log: EventLog
    state_cache: StateCache
    elapsed: Callable[[], float]
    keep_rule: SnapshotRule = field(default_factory=SnapshotRule)
    observer: str = "headgate"
    synced_at: int = NEVER_SYNCED
    lost: LostPast | None = None
    share: frozenset[str] | None = None
    _state: ClusterState | None = None
    _point: LogPoint | None = None
    _is_stale: bool = False
    _has_dropped: bool = False
    _kept_position: int = 0
    _kept_at: float = 0.0
    _keeper: SnapshotStore = field(init=False)

    def __post_init__(self) -> None:
        options = SnapshotOptions(observer=self.observer)
        self._keeper = SnapshotStore(self.state_cache, self.event_log, options)

    @property
    def cluster_state(self) -> ClusterState:
        """Returns the present fold; loads it from the cache and the log at the first use."""
        if self._is_stale:
            self._verify()
        if self._state is None:
            self._begin()
        assert self._state is not None
        return self._state

    def mark_stale(self) -> None:
        """The log may be another one than before: compare before the fold is used again."""
        self._is_stale = True

    def compared_point(self) -> LogPoint | None:
        """The point to compare new connections with; None while the fold is to be compared."""
        return None if self._is_stale else self._point

    @property
    def point(self) -> LogPoint:
        """The point of the log that the fold stands at."""
        assert self.cluster_state is not None
        assert self._point is not None
        return self._point

    def keep_share(self, share: frozenset[str] | None) -> None:
        """Says which partitions the process schedules from now on; others leave the fold."""
        if share == self.share:
            return
        self.share, state = share, self._state
        if state is None or not follows(state, share):
            self.drop()

    @property
    def is_lacking(self) -> bool:
        """Whether the fold must be loaded again, as its partitions need more than it has kept."""
        state = self._state
        return state is not None and state.scope is not None and state.scope.lacks(state.layout)

    def drop(self) -> None:
        """Forgets the fold; the next use loads it again."""
        self._has_dropped = self._has_dropped or self._state is not None
        self._state = None
        self._point = None
        self.synced_at = NEVER_SYNCED

    def lose(self) -> None:
        """Forgets a fold with events that the log does not have, and remembers that it had them."""
        if self.lost is None and self._state is not None:
            history = self._state.log_history
            self.lost = LostPast(self._state.position, history.count if history else 0)
        self.drop()
        self._is_stale = False

    def catch_up(self, batch: LogBatch) -> int:
        """Folds the next events and returns their last position. A failed fold is dropped."""
        cluster_state = self.cluster_state
        try:
            for recorded in batch.events:
                cluster_state.apply(recorded)
        except Exception:
            self.drop()
            raise
        self._point = batch.point
        return cluster_state.position

    def catch_up_with_log(self) -> None:
        """Folds everything that the log has by now; raises `PastLost`."""
        while (batch := self._next(self.point, self.cluster_state)).events:
            self.catch_up(batch)

    def stand_at(self, point: LogPoint) -> None:
        """Says at which point of the log the fold stands, after it kept what it appended."""
        assert point.position == self.cluster_state.position
        self._point = point

    def keep(self) -> bool:
        """Writes the fold to the state cache if the rule says so; returns whether it did."""
        cluster_state = self._state
        if cluster_state is None or cluster_state.scope is not None:
            return False
        grown = cluster_state.position - self._kept_position
        if not self.keep_rule.is_due(events=grown, seconds=self.elapsed() - self._kept_at):
            return False
        self._keeper.put(Snapshot(cluster_state, self.point))
        self._kept_position, self._kept_at = cluster_state.position, self.elapsed()
        return True

    def _verify(self) -> None:
        if (point := self._point) and self.event_log.point_at(point.position) != point:
            raise PastLost(point)
        self._is_stale = False

    def _begin(self) -> None:
        if self._has_dropped:
            collect_dropped()
        with without_collection():
            cluster_state, kept_position, point = self._loaded(self.share)
            if (scope := cluster_state.scope) is not None and scope.lacks(cluster_state.layout):
                cluster_state, kept_position, point = self._loaded(None)
            if self.share is not None:
                if cluster_state.scope is None:
                    restrict(cluster_state, Scope(self.share))
                # What it has decoded is more than what the fold keeps.
                self._keeper.forget_parts()
        self._state, self._point = cluster_state, point
        self._is_stale = self._has_dropped = False
        self._kept_position, self._kept_at = kept_position, self.elapsed()
        collect_seldom()

    def _loaded(self, share: frozenset[str] | None) -> tuple[ClusterState, int, LogPoint]:
        """The latest snapshot, folded on to the end of the log; and the position of the former."""
        cluster_state, point = self._keeper.first(share)
        kept_position = point.position
        while (batch := self._next(point, cluster_state)).events:
            for recorded in batch.events:
                cluster_state.apply(recorded)
            point = batch.point
        return cluster_state, kept_position, point

    def _next(self, point: LogPoint, cluster_state: ClusterState) -> LogBatch:
        return self.event_log.read_on(point, limit=READ_LIMIT, reader=reader_of(cluster_state))


LOG = structlog.get_logger()
RETRY_SECONDS = 0.5
UPGRADE_RETRY_SECONDS = 5.0
"""How often a release that is too old looks whether the log can be read after all (a rewind)."""
Listener = Callable[[Sequence[RecordedEvent]], None]


class LiveReader:
    """A `ClusterState` that follows the log: all tasks of the process read it, only this writes.

    `point` is the point of the log that it stands at. `ready` is false until the log has been read,
    and again while it is read anew because it has lost events. `too_old` says which event of a
    later release keeps this one from reading on; nothing is answered while there is one.
    """

    def __init__(
        self,
        live: LiveState,
        tail: Tail,
        recover: Callable[[LiveState], ClusterState],
        broken: Callable[[BaseException], None],
    ) -> None:
        self.cluster_state = ClusterState()
        self.point: LogPoint | None = None
        self._live = live
        self._tail = tail
        self._recover = recover
        self._broken = broken
        self._listeners: list[Listener] = []
        self._rewind_listeners: list[Callable[[], None]] = []
        self._waiting: list[tuple[int, asyncio.Future[None]]] = []
        self._following: asyncio.Task[None] | None = None
        self._reading: asyncio.Timeout | None = None
        self._still = asyncio.Lock()
        self.ready = False
        self.too_old: ReleaseTooOld | None = None

    @property
    def position(self) -> int:
        """The last position that has been seen."""
        return self.cluster_state.position

    def on_rewind(self, listener: Callable[[], None]) -> None:
        """Tell `listener` each time that the fold was replaced, as the log had lost events."""
        self._rewind_listeners.append(listener)

    def listen(self, listener: Listener) -> None:
        """Tell `listener` of every batch of new events, after they have been folded."""
        self._listeners.append(listener)

    async def start(self) -> None:
        """Fold what there is, then go on following in the background."""
        try:
            await self._load()
        except ReleaseTooOld as failure:
            self._wait_for_upgrade(failure)
        self._following = asyncio.create_task(self._follow())
        self._following.add_done_callback(self._ended)

    async def stop(self) -> None:
        """Stop following."""
        self.ready = False
        if self._following is not None:
            self._following.cancel()
            await asyncio.gather(self._following, return_exceptions=True)

    def compared_point(self) -> LogPoint | None:
        """The point to compare new connections with; None while the log is read anew."""
        return self.point if self.ready else None

    def past_lost(self) -> None:
        """A connection has found that the log lost what was read; may be called in any thread."""
        self.ready = False
        if self._following is not None:
            self._following.get_loop().call_soon_threadsafe(self._compare_again)

    async def reached(self, position: int, *, within_seconds: float) -> bool:
        """Whether everything up to `position` has been seen, waiting a while for it."""
        if self.cluster_state.position >= position:
            return True
        seen: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(entry := (position, seen))
        try:
            await asyncio.wait_for(seen, within_seconds)
        except TimeoutError:
            return False
        finally:
            if entry in self._waiting:
                self._waiting.remove(entry)
        return True

    async def while_still(self, steps: Cooperative[Result]) -> Result:
        """The result of work in slices, between which nothing is folded: it is of one position.

        Others read meanwhile, and may change an overlay of the cell and drop it: what is iterated
        over must not be a container of the cell itself.
        """
        async with self._still:
            with never_paused():
                return await run_yielding(steps)

    async def _load(self) -> None:
        self.cluster_state = await asyncio.to_thread(lambda: self._live.cluster_state)
        self.point = self._live.point
        self.ready, self.too_old = True, None

    def _wait_for_upgrade(self, failure: ReleaseTooOld) -> None:
        """Answers nothing more from the log; told once in the process's log, and by `/readyz`."""
        if self.too_old is None:
            LOG.error("this release is too old for the log", reason=str(failure))
        self.ready, self.too_old = False, failure

    async def _follow(self) -> None:
        while True:
            try:
                if self.too_old is not None:
                    await asyncio.sleep(UPGRADE_RETRY_SECONDS)
                    await self._load()
                    for listener in self._rewind_listeners:
                        listener()
                await self._follow_tail()
            except PastLost:
                await self._replace()
            except ReleaseTooOld as failure:
                self._live.mark_stale()
                self._wait_for_upgrade(failure)
            except Unavailable:
                await asyncio.sleep(RETRY_SECONDS)

    async def _follow_tail(self) -> None:
        """Returns where a connection has told of a loss; the next call compares before it reads."""
        point = await asyncio.to_thread(lambda: self._live.point)
        self.ready = True
        try:
            async with asyncio.timeout(None) as self._reading:
                async for batch in self._tail.follow(point):
                    async with self._still:
                        self._fold(batch)
        except TimeoutError:
            self._live.mark_stale()
        finally:
            self._reading = None

    def _compare_again(self) -> None:
        """Ends what is being read from the tail, so that the fold is compared before more is."""
        reading, self._reading = self._reading, None
        if reading is None:
            self._live.mark_stale()
        else:
            reading.reschedule(asyncio.get_running_loop().time())

    async def _replace(self) -> None:
        """Replaces a fold of events that the log has lost; nothing is answered meanwhile."""
        self.ready = False
        self._live.lose()
        cluster_state = await self._recovered()
        async with self._still:
            self.cluster_state, self.point = cluster_state, self._live.point
        self.ready = True
        for listener in self._rewind_listeners:
            listener()

    async def _recovered(self) -> ClusterState:
        while True:
            try:
                return await asyncio.to_thread(self._recover, self._live)
            except PastLost:
                self._live.lose()
            except Unavailable:
                await asyncio.sleep(RETRY_SECONDS)

    def _fold(self, batch: LogBatch) -> None:
        if batch.events and batch.events[0].position != self.cluster_state.position + 1:
            came = batch.events[0].position
            raise GapInLog(f"{came} follows {self.cluster_state.position}", came)
        self._live.catch_up(batch)
        self.point = batch.point
        self._tell(batch.events)

    def _tell(self, batch: Sequence[RecordedEvent]) -> None:
        for listener in self._listeners:
            listener(batch)
        for position, seen in self._waiting:
            if position <= self.cluster_state.position and not seen.done():
                seen.set_result(None)

    def _ended(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (failure := task.exception()) is not None:
            self.ready = False
            self._broken(failure)
