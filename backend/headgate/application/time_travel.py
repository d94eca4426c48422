"""Time travel: the installation as it was at a past position, its inline read models included."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, islice, repeat
from typing import Any

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
from headgate.application.historical_states import (
    EndedStates,
    HistoricalStates,
    archived_gaps_reported,
)
from headgate.application.ports import (
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
    Waits,
    WorkloadGroup,
    grouped,
    listed_cluster_queue,
    waits_like,
    waits_since,
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
from headgate.domain.workloads.state import Workload


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
    point, cluster_state = await history.executor.do(
        lambda: _tell(services, history.states, requested)
    )
    version_of = partial(version_at, cluster_state, services.log)
    log = HistoricalLog(services.log, point, version_of)
    return replace(
        services,
        log=log,
        models=HistoricalReadModels(
            cluster_state, point, services.log, services.models, history.ended
        ),
        followers=HistoricalFollowers(services.followers, point, log),
        clock=FixedClock(point.at),
        reader=FixedReader(cluster_state),
        # Leases are rows beside the log: of the past none is known.
        known_leases={},
    )


def _tell(
    services: ApplicationServices, states: HistoricalStates, requested: PointInTime
) -> tuple[ResolvedPoint, ClusterState]:
    with archived_gaps_reported(services.log):
        return _go(services, states, requested)


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

MAX_PLAN_MICROSECONDS = 600 * MICROSECONDS_PER_SECOND
"""By so much the instants of neighbouring events may disagree with their order at most."""


@dataclass(frozen=True, slots=True)
class HistoricalReadModels:
    """Fills the port `ReadModels` from a fold; `live` tells only which rounds there ever were."""

    cluster_state: ClusterState
    point: ResolvedPoint
    log: EventLog
    live: ReadModels
    known: EndedStates

    def load(self, streams: Sequence[str]) -> list[Loaded]:
        """Returns the objects of these streams, in their order."""
        named = [stream for stream in streams if stream.startswith("workload/")]
        ended = self._ended([kind_and_key(stream)[1] for stream in named])
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
        return grouped(self._matching(query), by)[: query.limit]

    def waits_like(self, cluster_queue: str, size: str, *, limit: int) -> Waits:
        """The latest waits of workloads of a size class, in the order they started."""
        found = list(self.cluster_state.workloads.values())
        for batch in self._by_end(cluster_queue):
            latest = waits_like(found, cluster_queue, size, limit)
            first, _ = batch[0]
            if len(latest) == limit and latest[0][0] > first:
                break
            found += self._ended([key for _, key in batch]).values()
        return waits_like(found, cluster_queue, size, limit)

    def waits_since(self, since: Instant) -> dict[str, list[int]]:
        """By ClusterQueue the waits in seconds of all that got quota since an instant, sorted."""
        found = list(self.cluster_state.workloads.values())
        for batch in self._by_end(""):
            if batch[0][0] < since:
                break
            found += self._ended([key for _, key in batch]).values()
        return waits_since(found, since)

    def _matching(self, query: WorkloadQuery) -> Iterator[tuple[Workload, str]]:
        """The workloads that match, with the ClusterQueues they are listed under."""
        after = query.after if query.order == NEWEST_FIRST else None
        keys = (
            key for key in self.cluster_state.reads.newest(after) if self._may_match(key, query)
        )
        sizes = chain((BATCH,), repeat(MAX_BATCH))
        while batch := list(islice(keys, next(sizes))):
            ended = self._ended(batch)
            for key in batch:
                workload = ended.get(workload_stream(key)) or self.cluster_state.workloads[key]
                cluster_queue = listed_cluster_queue(self.cluster_state.config, workload)
                if query.where.matches(workload, cluster_queue, query.keys):
                    yield workload, cluster_queue

    def _may_match(self, key: str, query: WorkloadQuery) -> bool:
        """Whether the record of a workload, where there is no more of it, lets it match."""
        record = self.cluster_state.ended.records.get(key)
        if record is None:
            return True
        where, (namespace, _, name) = query.where, key.partition("/")
        return (
            (where.namespaces is None or namespace in where.namespaces)
            and (not where.phases or record.phase in where.phases or key in query.keys)
            and where.local_queue in {"", record.queue_name}
            and where.name_contains in name
        )

    def _by_end(self, cluster_queue: str) -> Iterator[list[tuple[Instant, str]]]:
        """The workloads with no more than a record, the latest end first, with its instant.

        Those are left out that came through a LocalQueue of another ClusterQueue.
        """
        doors = self.cluster_state.config.local_queues
        ends = []
        for key, record in self.cluster_state.ended.records.items():
            door = doors.get(f"{key.partition('/')[0]}/{record.queue_name}")
            if not cluster_queue or door is None or door.spec.cluster_queue == cluster_queue:
                ends.append((record.finished_at, key))
        ends.sort(reverse=True)
        for start in range(0, len(ends), MAX_BATCH):
            yield ends[start : start + MAX_BATCH]

    def _ended(self, keys: Iterable[str]) -> dict[str, Workload]:
        """By stream, the states of those workloads of which the fold has only records.

        They are those of the rows where nothing has happened since, else of the streams.
        """
        records = self.cluster_state.ended.records
        found: dict[str, Workload] = {}
        unread: list[str] = []
        for key in keys:
            if (record := records.get(key)) is not None:
                state = self.known.get(key, record)
                if state is None:
                    unread.append(workload_stream(key))
                else:
                    found[workload_stream(key)] = state
        for loaded in self.live.load(unread):
            is_unchanged = loaded.version == self.cluster_state.version_of(loaded.stream)
            state = loaded.state if is_unchanged else self._from_stream(loaded.stream)
            if isinstance(state, Workload):
                found[loaded.stream] = state
                self.known.put(records[state.key], state)
        return found

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
        """The state of an object that ended so long before that the fold has let go of it."""
        kind, state = kind_and_key(stream)[0], Absent()
        for recorded in self.log.read_stream(stream)[: self.cluster_state.version_of(stream)]:
            state = evolve_state(kind, state, with_owner_of_actor(recorded), recorded.at)
        return state

    def _loaded(self, found: Sequence[tuple[str, Any]]) -> list[Loaded]:
        places = [(stream, version_at(self.cluster_state, self.log, stream)) for stream, _ in found]
        positions = self.log.positions_of(places)
        return [
            Loaded(stream=stream, version=version, position=position, state=state)
            for (stream, version), (_, state), position in zip(
                places, found, positions, strict=True
            )
        ]


def version_at(cluster_state: ClusterState, log: EventLog, stream: str) -> int:
    """How many events a stream had at the position of a fold, which keeps none of deleted ones."""
    known = cluster_state.version_of(stream)
    if known or not stream.startswith("workload/"):
        return known
    before = [each for each in log.read_stream(stream) if each.position <= cluster_state.position]
    return before[-1].version if before else 0
