"""The inline read models as they were: the same questions, answered from a past fold."""

from collections.abc import Sequence
from dataclasses import dataclass
from heapq import nlargest
from typing import Any

from headgate.application.past.moments import Moment
from headgate.application.ports import EventLog, Loaded, ReadModels, Replayed, WorkloadQuery
from headgate.domain.cell import Cell
from headgate.domain.configured import Absent
from headgate.domain.rounds.evolve import evolve as evolve_round
from headgate.domain.rounds.state import RoundState
from headgate.domain.scheduling.lines.standing import cluster_queue_of
from headgate.domain.streams import kind_and_key, stream_of, workload_stream
from headgate.domain.values.instants import MICROSECONDS_PER_SECOND, Instant
from headgate.domain.workloads.state import Workload, phase_of

LONGEST_PLAN = 600 * MICROSECONDS_PER_SECOND
"""By so much the instants of neighbouring events may disagree with their order at most."""


@dataclass(frozen=True, slots=True)
class PastModels:
    """Fills the port `ReadModels` from a fold; `live` tells only which rounds there ever were."""

    cell: Cell
    moment: Moment
    log: EventLog
    live: ReadModels

    def load(self, streams: Sequence[str]) -> list[Loaded]:
        """The objects of these streams, in the same order."""
        return self._loaded([(stream, self._state_of(stream)) for stream in streams])

    def objects(
        self, kind: str, *, namespace: str | None = None, after: str = "", limit: int = 500
    ) -> list[Loaded]:
        """Objects of one configured kind in order of stream name, keyset paged by stream."""
        named = (
            (stream_of(kind, state.name, state.namespace), state)
            for state in self.cell.config.of_kind(kind).values()
            if namespace in (None, state.namespace)
        )
        found = sorted((one for one in named if one[0] > after), key=lambda one: one[0])
        return self._loaded(found[:limit])

    def workloads(self, query: WorkloadQuery) -> list[Loaded]:
        """Workloads that match, newest submission first, keyset paged."""
        found = (w for w in self.cell.workloads.values() if _matches(self.cell, query, w))
        newest = nlargest(query.limit, found, key=_age)
        return self._loaded([(workload_stream(w.key), w) for w in newest])

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
        start: tuple[Instant, str] = after or (self.moment.at + LONGEST_PLAN, "")
        while len(found) < limit:
            page = self.live.rounds(
                after=start, limit=limit, workload=workload, cluster_queue=cluster_queue
            )
            known = [one.stream for one in page if self.cell.version_of(one.stream)]
            found += self.load(known[: limit - len(found)])
            if len(page) < limit:
                break
            start = (page[-1].state.committed_at, page[-1].state.id)
        return found

    def replay_of(self, key: str, actor: str) -> Replayed | None:
        """Answers to commands are not read in the past."""
        return self.live.replay_of(key, actor)

    def _state_of(self, stream: str) -> Any:  # noqa: ANN401 - one of the aggregates' states
        found = self.cell.state_of(stream)
        kind, _ = kind_and_key(stream)
        if kind == "round" and isinstance(found, Absent):
            return self._old_round(stream)
        return found

    def _old_round(self, stream: str) -> RoundState:
        """One that ended so long before that the fold has let go of it."""
        state: RoundState = Absent()
        for recorded in self.log.read_stream(stream)[: self.cell.version_of(stream)]:
            state = evolve_round(state, recorded.event, recorded.at)  # type: ignore[arg-type]
        return state

    def _loaded(self, found: Sequence[tuple[str, Any]]) -> list[Loaded]:
        places = [(stream, self.cell.version_of(stream)) for stream, _ in found]
        positions = self.log.positions_of(places)
        return [
            Loaded(stream=stream, version=version, position=position, state=state)
            for (stream, version), (_, state), position in zip(
                places, found, positions, strict=True
            )
        ]


def _age(workload: Workload) -> tuple[Instant, str]:
    return workload.created_at, workload.key


def _matches(cell: Cell, query: WorkloadQuery, workload: Workload) -> bool:
    return (
        (query.namespaces is None or workload.namespace in query.namespaces)
        and (not query.local_queue or workload.spec.queue_name == query.local_queue)
        and query.name_contains in workload.name
        and query.labels.items() <= workload.labels.items()
        and (not query.phases or phase_of(workload) in query.phases)
        and (not query.cluster_queue or _belongs(cell, query.cluster_queue, workload))
        and (query.after is None or _age(workload) < query.after)
    )


def _belongs(cell: Cell, cluster_queue: str, workload: Workload) -> bool:
    """A workload without a place belongs to the queue its door leads to."""
    given = workload.admission or workload.nomination
    found = given.cluster_queue if given else cluster_queue_of(cell.config, workload)
    return found == cluster_queue
