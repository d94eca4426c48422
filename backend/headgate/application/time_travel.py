"""Time travel: the installation as it was at a past position, its inline read models included."""

import heapq
from collections.abc import Collection, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from typing import Any

import msgspec

from headgate.application.application_services import ApplicationServices
from headgate.application.historical_ports import (
    FixedClock,
    FixedReader,
    HistoricalFollowers,
    HistoricalLog,
    ResolvedPoint,
    point_at_instant,
    point_at_position,
)
from headgate.application.historical_states import HistoricalStates, archived_gaps_reported
from headgate.application.ports import (
    EventFilter,
    EventLog,
    Loaded,
    ReadModels,
    Replayed,
    WorkloadQuery,
    page_of,
)
from headgate.application.workload_filter import (
    NEWEST_FIRST,
    CountedField,
    WaitCounts,
    Waits,
    WorkloadFilter,
    WorkloadGroup,
    grouped,
    listed_cluster_queue,
    waits_between,
    waits_like,
)
from headgate.domain.cluster_state import ClusterState
from headgate.domain.kinds.configured_object import Absent
from headgate.domain.recorded_event import (
    evolve_state,
    kind_and_key,
    stream_of,
    with_owner_of_actor,
    workload_stream,
)
from headgate.domain.rejection import InvalidRequest
from headgate.domain.values.instants import MICROSECONDS_PER_SECOND, Instant
from headgate.domain.workload_index import Age
from headgate.domain.workloads.ended import ENDED_PHASES, has_ended
from headgate.domain.workloads.events import WorkloadDeleted
from headgate.domain.workloads.state import Workload
from headgate.event_log.codec import name_of


@dataclass(frozen=True, slots=True)
class PointInTime:
    """A position, or an instant; exactly one is given."""

    position: int | None = None
    at: Instant | None = None


async def services_at(services: ApplicationServices, requested: PointInTime) -> ApplicationServices:
    """The installation at a past moment; reads of it answer as they would have answered then.

    Raises `InvalidRequest` for what lies in the future, `Archived` for what was taken away,
    `Overloaded` when too many ask.
    """
    history = services.history

    def go() -> tuple[ResolvedPoint, ClusterState]:
        with archived_gaps_reported(services.log):
            return _go(services, history.states, requested)

    point, cluster_state = await history.executor.do(go)
    version_of = partial(version_at, cluster_state, services.log)
    log = HistoricalLog(services.log, point, version_of)
    return replace(
        services,
        log=log,
        models=HistoricalReadModels(cluster_state, point, services.log, services.models),
        followers=HistoricalFollowers(services.followers, point, log),
        clock=FixedClock(point.at),
        reader=FixedReader(cluster_state),
        # Leases are rows beside the log: of the past none is known.
        known_leases={},
    )


def _go(
    services: ApplicationServices, states: HistoricalStates, requested: PointInTime
) -> tuple[ResolvedPoint, ClusterState]:
    head = services.log.head()
    if requested.position is not None:
        if requested.position > head:
            raise InvalidRequest.at("/at", "PositionInFuture", head=head)
        point = point_at_position(services.log, requested.position)
    else:
        assert requested.at is not None, "a wish names a position or an instant"
        if requested.at > services.log.now():
            raise InvalidRequest.at("/at", "TimeInFuture")
        point = point_at_instant(services.log, requested.at)
    return point, states.at(point.position)


DAY = 86_400 * MICROSECONDS_PER_SECOND


@dataclass(frozen=True, slots=True)
class SampledPeriod:
    """From when to when, at how many instants, two at least; until now, and a day, without."""

    since: Instant | None
    until: Instant | None
    points: int


def bounds_of(services: ApplicationServices, period: SampledPeriod) -> tuple[Instant, Instant]:
    """The first and the last instant of a stretch.

    Raises `InvalidRequest` for a stretch that has no length or lies in the future.
    """
    now = services.log.now()
    until = now if period.until is None else period.until
    since = until - DAY if period.since is None else period.since
    if until > now:
        raise InvalidRequest.at("/until", "TimeInFuture")
    if since >= until:
        raise InvalidRequest.at("/since", "TimeRangeEmpty")
    return since, until


def sample_instants(services: ApplicationServices, period: SampledPeriod) -> list[Instant]:
    """The instants, at equal distances, with both ends.

    Raises `InvalidRequest` for a stretch that has no length or lies in the future.
    """
    since, until = bounds_of(services, period)
    steps = period.points - 1
    return [since + (until - since) * step // steps for step in range(period.points)]


BATCH, MAX_BATCH = 200, 2_000
"""So many ended workloads are read at once where a past list may need them: first, and later."""
DELETED = name_of(WorkloadDeleted)

MAX_PLAN_MICROSECONDS = 600 * MICROSECONDS_PER_SECOND
"""By so much the instants of neighbouring events may disagree with their order at most."""


@dataclass(frozen=True, slots=True)
class HistoricalReadModels:
    """Fills the port `ReadModels` from a fold and, for what has left it, from rows and streams.

    The row of an ended workload holds unless something has happened since; what was deleted since
    is named by the log. `live` tells of rounds only which there ever were.
    """

    cluster_state: ClusterState
    point: ResolvedPoint
    log: EventLog
    live: ReadModels
    _versions: dict[str, int] = field(default_factory=dict)

    def load(self, streams: Sequence[str]) -> list[Loaded]:
        """Returns the objects of these streams, in their order."""
        named = (stream for stream in streams if stream.startswith("workload/"))
        gone = [s for s in named if isinstance(self.cluster_state.state_of(s), Absent)]
        ended = {row.stream: row.state for row in self.live.load(gone) if self._stands(row)}
        for stream in gone:
            if stream not in ended:
                ended[stream] = self._from_stream(stream)
        return self._loaded(
            [(stream, ended.get(stream) or self._state_of(stream)) for stream in streams]
        )

    def objects(
        self, kind: str, *, namespace: str | None = None, after: str = "", limit: int = 500
    ) -> list[Loaded]:
        """Objects of one configured kind in order of stream name, keyset paged by stream."""
        named = (
            (stream_of(kind, state.name, state.namespace), state)
            for state in self.cluster_state.config.of_kind(kind).values()
            if namespace in (None, state.namespace)
        )
        found = sorted((one for one in named if one[0] > after), key=lambda one: one[0])
        return self._loaded(found[:limit])

    def workloads(self, query: WorkloadQuery) -> list[Loaded]:
        """Workloads that match, in the order of the query, keyset paged."""
        limit = query.limit if query.order == NEWEST_FIRST else None
        found = page_of(islice(self._matching(query), limit), query)
        return self._loaded([(workload_stream(workload.key), workload) for workload in found])

    def workload_groups(self, query: WorkloadQuery, by: CountedField | None) -> list[WorkloadGroup]:
        """All workloads that match, counted by a field, most GPUs first."""
        return grouped(islice(self._matching(query), query.counted_rows), by)[: query.limit]

    def waits_like(
        self, cluster_queue: str, size: str, *, limit: int, ended_by: int | None = None
    ) -> Waits:
        """The latest waits of workloads of a size class, in the order they started."""
        assert ended_by is None, "it is the past that is asked, and not its past"
        position = self.point.position
        ended = self.live.waits_like(cluster_queue, size, limit=limit, ended_by=position)
        found = [*waits_like(self._without_rows(cluster_queue), cluster_queue, size, limit), *ended]
        return sorted(found)[max(0, len(found) - limit) :]

    def sizes_started(self, cluster_queue: str) -> list[str]:
        """The size classes of workloads that have started by now; some may have none yet."""
        return self.live.sizes_started(cluster_queue)

    def waits_between(
        self, since: Instant, until: Instant, *, ended_by: int | None = None
    ) -> WaitCounts:
        """By ClusterQueue how many got quota between instants after each rounded wait."""
        assert ended_by is None, "it is the past that is asked, and not its past"
        ended = self.live.waits_between(since, until, ended_by=self.point.position)
        return waits_between(self._without_rows(""), since, until, ended)

    def _without_rows(self, cluster_queue: str) -> Iterator[Workload]:
        """Those that had not ended, and those deleted since; other ClusterQueues are left out."""
        yield from (each for each in self.cluster_state.workloads.values() if not has_ended(each))
        doors, deletions = self.cluster_state.config.local_queues, self._deletions(None)
        for stream, event in tuple(deletions.items()):
            door = doors.get(f"{stream.split('/')[1]}/{event.queue_name}")
            if cluster_queue and door is not None and door.spec.cluster_queue != cluster_queue:
                del deletions[stream]
        yield from self._deleted(deletions, None)

    def _matching(self, query: WorkloadQuery) -> Iterator[tuple[Workload, str]]:
        """The workloads that match, with the ClusterQueues they are listed under; newest first."""
        after = query.after if query.order == NEWEST_FIRST else None
        known = self.cluster_state.workloads
        of_fold = (known[key] for key in self.cluster_state.reads.newest(after))
        ended = self._ended(query.where, after)
        for workload in heapq.merge(of_fold, ended, key=_age_of, reverse=True):
            cluster_queue = listed_cluster_queue(self.cluster_state.config, workload)
            if query.where.matches(workload, cluster_queue, query.keys):
                yield workload, cluster_queue

    def _ended(self, where: WorkloadFilter, after: Age | None) -> Iterator[Workload]:
        """The ended workloads that the fold has no longer and that may match, newest first."""
        phases = tuple(each for each in ENDED_PHASES if not where.phases or each in where.phases)
        if not phases or not self.cluster_state.ended.number_of(where.namespaces):
            return
        deletions = self._deletions(where.namespaces)
        gone = self._deleted(deletions, after)
        latest = (self.point.at + MAX_PLAN_MICROSECONDS, "")
        query = WorkloadQuery(
            # What may have been changed after the end is compared with the state of the moment.
            where=WorkloadFilter(
                namespaces=where.namespaces,
                phases=phases,
                local_queue=where.local_queue,
                name_contains=where.name_contains,
                owner=where.owner,
            ),
            after=latest if after is None else min(after, latest),
            limit=BATCH,
        )
        others = self._of_rows(query, deletions)
        yield from heapq.merge(gone, others, key=_age_of, reverse=True)

    def _of_rows(self, query: WorkloadQuery, skipped: Container[str]) -> Iterator[Workload]:
        """The ended workloads of rows, as they were at the moment."""
        known = self.cluster_state.workloads
        while page := self.live.workloads(query):
            for row in page:
                if row.state.key in known or row.stream in skipped:
                    continue
                state = row.state if self._stands(row) else self._from_stream(row.stream)
                if isinstance(state, Workload):
                    yield state
            if len(page) < query.limit:
                return
            last = page[-1].state
            query = msgspec.structs.replace(query, after=_age_of(last), limit=MAX_BATCH)

    def _deletions(self, namespaces: Collection[str] | None) -> dict[str, WorkloadDeleted]:
        """The first deletion since of each workload that had ended at the moment, by stream."""
        streams = () if namespaces is None else tuple(f"workload/{each}/" for each in namespaces)
        if namespaces is not None and not streams:
            return {}
        where = EventFilter(types=(DELETED,), streams=streams, after=self.point.position)
        latest, before = self.point.at + MAX_PLAN_MICROSECONDS, None
        known, found = self.cluster_state.workloads, dict[str, WorkloadDeleted]()
        while page := self.log.page(where, before=before, limit=MAX_BATCH):
            for recorded in page:
                event = recorded.event
                assert isinstance(event, WorkloadDeleted), "the log was asked for nothing else"
                is_late = event.finished_at is not None and event.finished_at > latest
                if not is_late and kind_and_key(recorded.stream)[1] not in known:
                    found[recorded.stream] = event
            before = page[-1].position
        return found

    def _deleted(
        self, deletions: Mapping[str, WorkloadDeleted], after: Age | None
    ) -> Iterator[Workload]:
        """The workloads of deletions as they were at the moment, newest first, from an age on."""
        ages: list[tuple[Age, str]] = []
        for stream, event in deletions.items():
            created_at = event.created_at
            if created_at is None and isinstance(state := self._from_stream(stream), Workload):
                created_at = state.created_at
            if created_at is not None:
                ages.append(((created_at, kind_and_key(stream)[1]), stream))
        for age, stream in sorted(ages, reverse=True):
            if after is None or age < after:
                state = self._from_stream(stream)
                if isinstance(state, Workload):
                    yield state

    def _stands(self, row: Loaded) -> bool:
        """Whether nothing has happened to an object of a row since the moment."""
        is_same = 0 < row.position <= self.point.position
        if is_same:
            self._versions[row.stream] = row.version
        return is_same

    def rounds(
        self,
        *,
        after: tuple[Instant, str] | None = None,
        limit: int = 100,
        workload: str = "",
        cluster_queue: str = "",
    ) -> list[Loaded]:
        """Preemption rounds, newest first, optionally those that touch a workload or queue."""
        found: list[Loaded] = []
        start: tuple[Instant, str] = after or (self.point.at + MAX_PLAN_MICROSECONDS, "")
        while len(found) < limit:
            page = self.live.rounds(
                after=start, limit=limit, workload=workload, cluster_queue=cluster_queue
            )
            known = [one.stream for one in page if self.cluster_state.version_of(one.stream)]
            found += self.load(known[: limit - len(found)])
            if len(page) < limit:
                break
            start = (page[-1].state.committed_at, page[-1].state.id)
        return found

    def replay_of(self, key: str, actor: str) -> Replayed | None:
        """Answers to commands are not read in the past."""
        return self.live.replay_of(key, actor)

    def written(self, digests: Collection[str]) -> dict[str, bytes]:
        """The bodies of objects as they were written; a digest has had the same body for ever."""
        return self.live.written(digests)

    def _state_of(self, stream: str) -> Any:  # noqa: ANN401 - one of the aggregates' states
        found = self.cluster_state.state_of(stream)
        kind, _ = kind_and_key(stream)
        if kind == "round" and isinstance(found, Absent):
            return self._from_stream(stream)
        return found

    def _from_stream(self, stream: str) -> Any:  # noqa: ANN401 - same
        """The state of an object that the fold has let go of, as it was at the moment."""
        kind, state = kind_and_key(stream)[0], Absent()
        for recorded in self.log.read_stream(stream):
            if recorded.position > self.point.position:
                break
            state = evolve_state(kind, state, with_owner_of_actor(recorded), recorded.at)
            self._versions[stream] = recorded.version
        return state

    def _loaded(self, found: Sequence[tuple[str, Any]]) -> list[Loaded]:
        places = [(stream, self._version_of(stream)) for stream, _ in found]
        positions = self.log.positions_of(places)
        return [
            Loaded(stream=stream, version=version, position=position, state=state)
            for (stream, version), (_, state), position in zip(
                places, found, positions, strict=True
            )
        ]

    def _version_of(self, stream: str) -> int:
        return self.cluster_state.version_of(stream) or self._versions.get(stream, 0)


def _age_of(workload: Workload) -> Age:
    return workload.created_at, workload.key


def version_at(cluster_state: ClusterState, log: EventLog, stream: str) -> int:
    """How many events a stream had at the position of a fold, which has not all workloads."""
    known = cluster_state.version_of(stream)
    if known or not stream.startswith("workload/"):
        return known
    before = [each for each in log.read_stream(stream) if each.position <= cluster_state.position]
    return before[-1].version if before else 0
