"""The inline read models, and those that follow the log, in memory."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from headgate.adapters.memory.database import Columns, MemoryDatabase
from headgate.application.commands.append_unit import READ_COLUMNS, table_of
from headgate.application.historical_ports import folded_pods, selected_pods
from headgate.application.ports import Loaded, Replayed, WorkloadQuery, page_of
from headgate.application.projections import (
    Amend,
    Count,
    Projection,
    Put,
    Remove,
    RowChange,
)
from headgate.application.projections.followers import (
    MAX_SUMS,
    MIN_REPEATS,
    PROJECTIONS,
    Admissions,
    PreemptionQuery,
    PreemptionSum,
    PreemptionSums,
    QueueHistory,
    QueueMinute,
)
from headgate.application.projections.workload_pods import (
    PodFilter,
    PodRow,
    PodRows,
)
from headgate.application.workload_filter import (
    CountedField,
    WaitCounts,
    Waits,
    WorkloadGroup,
    grouped,
    sizes_started,
    waits_between,
    waits_like,
)
from headgate.domain.kinds.configured_object import Absent
from headgate.domain.recorded_event import workload_stream
from headgate.domain.values.instants import Instant
from headgate.domain.workloads.state import Workload
from headgate.event_log.chain import LogPoint, PastLost


class MemoryReadModels:
    """Fills the port `ReadModels`."""

    def __init__(self, database: MemoryDatabase) -> None:
        self._database = database

    def load(self, streams: Sequence[str]) -> list[Loaded]:
        """The objects of these streams, in the same order."""
        with self._database.lock:
            return [self._load(stream) for stream in streams]

    def objects(
        self, kind: str, *, namespace: str | None = None, after: str = "", limit: int = 500
    ) -> list[Loaded]:
        """Objects of one configured kind in order of stream name, keyset paged by stream."""
        with self._database.lock:
            found = [
                row
                for row in self._database.rows["object"].values()
                if row["kind"] == kind
                and row["stream"] > after
                and namespace in (None, row["namespace"])
            ]
        return loaded_rows(sorted(found, key=lambda row: row["stream"])[:limit])

    def workloads(self, query: WorkloadQuery) -> list[Loaded]:
        """Workloads that match, in the order of the query, keyset paged."""
        with self._database.lock:
            return [
                self._load(workload_stream(workload.key))
                for workload in page_of(self._matching(query), query)
            ]

    def workload_groups(self, query: WorkloadQuery, by: CountedField | None) -> list[WorkloadGroup]:
        """All workloads that match, counted by a field, most GPUs first."""
        with self._database.lock:
            return grouped(list(self._matching(query))[: query.counted_rows], by)[: query.limit]

    def waits_like(
        self, cluster_queue: str, size: str, *, limit: int, ended_by: int | None = None
    ) -> Waits:
        """The latest waits of workloads of a size class, in the order they started."""
        return waits_like(self._workloads(ended_by), cluster_queue, size, limit)

    def sizes_started(self, cluster_queue: str) -> list[str]:
        """The size classes of workloads that got quota in a ClusterQueue; the first by name."""
        return sizes_started(self._workloads(None), cluster_queue)

    def waits_between(
        self, since: Instant, until: Instant, *, ended_by: int | None = None
    ) -> WaitCounts:
        """By ClusterQueue how many got quota between instants after each rounded wait."""
        return waits_between(self._workloads(ended_by), since, until)

    def columns(self, streams: Sequence[str]) -> dict[str, dict[str, Any]]:
        """The columns of workload rows that `read_columns` gives, for verification."""
        with self._database.lock:
            rows = self._database.rows["workload"]
            found = {stream: rows[stream,] for stream in streams if (stream,) in rows}
        return {stream: {name: row[name] for name in READ_COLUMNS} for stream, row in found.items()}

    def miscounted(self) -> int:
        """None: here workloads are counted when they are asked for."""
        return 0

    def _workloads(self, ended_by: int | None) -> list[Workload]:
        """All workloads, or those that have ended and did not change after a position."""
        with self._database.lock:
            return [
                row["state"]
                for row in self._database.rows["workload"].values()
                if ended_by is None
                or (row["finished_at"] is not None and row["position"] <= ended_by)
            ]

    def _matching(self, query: WorkloadQuery) -> Iterator[tuple[Workload, str]]:
        """The workloads that match, with the ClusterQueues they are listed under."""
        queues = self._cluster_queues()
        for row in self._database.rows["workload"].values():
            place = (row["namespace"], row["local_queue"])
            queue = row["cluster_queue"] or queues.get(place, "")
            if query.where.matches(row["state"], queue, query.keys):
                yield row["state"], queue

    def rounds(
        self,
        *,
        after: tuple[Instant, str] | None = None,
        limit: int = 100,
        workload: str = "",
        cluster_queue: str = "",
    ) -> list[Loaded]:
        """Preemption rounds, newest first, optionally those that touch a workload or queue."""
        with self._database.lock:
            rows = sorted(
                self._database.rows["round"].values(),
                key=lambda row: (row["committed_at"], row["stream"]),
                reverse=True,
            )
        before = None if after is None else (after[0], f"round/{after[1]}")
        found = [
            row
            for row in rows
            if (before is None or (row["committed_at"], row["stream"]) < before)
            and _touches(row, "preemptor", "workload", workload)
            and _touches(row, "cluster_queue", "cluster_queue", cluster_queue)
        ]
        return loaded_rows(found[:limit])

    def replay_of(self, key: str, actor: str) -> Replayed | None:
        """The first answer given under this idempotency key, if any."""
        return self._database.keys.get((key, actor))

    def written(self, digests: Collection[str]) -> dict[str, bytes]:
        """The bodies of objects as they were written, by digest; those that are kept."""
        with self._database.lock:
            kept = self._database.written
            return {digest: kept[digest] for digest in digests if digest in kept}

    def _load(self, stream: str) -> Loaded:
        row = self._database.rows[table_of(stream)].get((stream,))
        known = self._database.by_stream.get(stream, [])
        return Loaded(
            stream=stream,
            version=len(known),
            position=known[-1].position if known else 0,
            state=Absent() if row is None else row["state"],
        )

    def _cluster_queues(self) -> dict[tuple[str, str], str]:
        """The ClusterQueue of each LocalQueue."""
        return {
            (row["namespace"], row["name"]): row["cluster_queue"]
            for row in self._database.rows["object"].values()
            if row["kind"] == "localqueue"
        }


def _touches(row: Columns, own: str, of_victim: str, wanted: str) -> bool:
    if not wanted or row[own] == wanted:
        return True
    return any(getattr(victim, of_victim) == wanted for victim in row["state"].victims)


def loaded_rows(rows: Iterable[Columns]) -> list[Loaded]:
    """Rows as the port `ReadModels` returns them."""
    return [
        Loaded(
            stream=row["stream"],
            version=row["version"],
            position=row["position"],
            state=row["state"],
        )
        for row in rows
    ]


class _Followed:
    """One read model as it stands."""

    def __init__(self) -> None:
        self.position = 0
        self.chain: bytes | None = None
        self.rows: dict[tuple[Any, ...], dict[str, Any]] = {}
        self.memory: dict[str, str] = {}

    def apply(self, change: RowChange) -> None:
        match change:
            case Put(key=key, values=values):
                self.rows.setdefault(tuple(key.values()), dict(key)).update(values)
            case Amend(where=where, values=values):
                for row in self.rows.values():
                    if where.items() <= row.items():
                        row.update(values)
            case Count(key=key, counter=counter):
                row = self.rows.setdefault(tuple(key.values()), dict(key))
                row[counter] = row.get(counter, 0) + 1
            case Remove(where=where):
                self.rows = {k: r for k, r in self.rows.items() if not where.items() <= r.items()}


class MemoryFollowers:
    """Fills the port `Followers`."""

    def __init__(
        self, database: MemoryDatabase, projections: Iterable[Projection] = PROJECTIONS
    ) -> None:
        self._database = database
        self._projections = {projection.name: projection for projection in projections}
        self._followed = {name: _Followed() for name in self._projections}

    def names(self) -> tuple[str, ...]:
        """The read models there are."""
        return tuple(self._projections)

    def positions(self) -> dict[str, int]:
        """Where each stands."""
        return {name: followed.position for name, followed in self._followed.items()}

    def advance(self, *names: str, limit: int = 5_000) -> int:
        """Fold the next events into those of these read models that stand farthest behind."""
        with self._database.lock:
            followed = {name: self._followed[name] for name in names}
            for each in followed.values():
                self._require_past(each)
            position = min(each.position for each in followed.values())
            ahead = [each.position for each in followed.values() if each.position > position]
            most = min([limit, *(other - position for other in ahead)])
            behind = {n: each for n, each in followed.items() if each.position == position}
            return max(self._advance(name, each, most) for name, each in behind.items())

    def _require_past(self, followed: _Followed) -> None:
        found = self._database.point_at(followed.position)
        if found is None or followed.chain not in (None, found.chain):
            raise PastLost(
                LogPoint(log_id="", position=followed.position, chain=followed.chain or b"")
            )

    def rebuild(self, name: str) -> None:
        """Build it anew from position 0, then swap."""
        with self._database.lock:
            anew = _Followed()
            self._advance(name, anew, self._database.head)
            self._followed[name] = anew

    def queue_history(
        self, *, since: Instant, until: Instant, cluster_queue: str = ""
    ) -> QueueHistory:
        """What happened in one or all ClusterQueues, minute by minute, oldest first."""
        with self._database.lock:
            followed = self._followed["queue_history"]
            minutes = [msgspec.convert(row, QueueMinute) for row in followed.rows.values()]
            position = followed.position
        found = [
            minute
            for minute in minutes
            if since <= minute.minute < until and cluster_queue in ("", minute.cluster_queue)
        ]
        found.sort(key=lambda minute: (minute.minute, minute.cluster_queue))
        return QueueHistory(position=position, minutes=found)

    def admissions(self, since: Instant) -> Admissions:
        """The admissions of each minute from the one that begins then."""
        history, counts = self.queue_history(since=since, until=2**63 - 1), Counter[Instant]()
        for minute in history.minutes:
            counts[minute.minute] += minute.admitted
        return Admissions(position=history.position, by_minute=dict(+counts))

    def pods(self, query: PodFilter) -> PodRows:
        """A page of the pods of one attempt, and the counts of all attempts."""
        with self._database.lock:
            followed = self._followed["workload_pod"]
            rows = [msgspec.convert(row, PodRow) for row in followed.rows.values()]
            if not any(row.workload == query.workload for row in rows):
                stream, events = workload_stream(query.workload), self._database.events
                past = events[: followed.position]
                rows = folded_pods(each for each in past if each.stream == stream)
            return selected_pods(rows, query, followed.position)

    def preemption_sums(self, query: PreemptionQuery) -> PreemptionSums:
        """What preemptions cost; of preemptors, pairs and repeats the first `MAX_SUMS`."""
        with self._database.lock:
            followed = self._followed["preemption_victim"]
            rows, position = [dict(row) for row in followed.rows.values()], followed.position
        rounds: dict[str, list[Columns]] = {}
        for row in rows:
            rounds.setdefault(row["round"], []).append(row)
        found = [row for each in rounds.values() if _is_summed(each, query) for row in each]
        repeats = _sums(found, lambda row: tuple(sorted((row["preemptor"], row["victim"]))))
        repeated = [replace(one, rounds=one.victims) for one in repeats]
        repeated.sort(key=lambda one: (-one.rounds, one.names))
        pairs = _sums(
            found, lambda row: (row["preemptor_queue"], row["victim_queue"]), "is_first_of_queue"
        )
        return PreemptionSums(
            position=position,
            total=next(iter(_sums(found, lambda _: ())), PreemptionSum()),
            preemptors=_sums(found, lambda row: (row["preemptor"],))[:MAX_SUMS],
            pairs=pairs[:MAX_SUMS],
            queues=_sums(found, lambda row: (row["preemptor_queue"],))[:MAX_SUMS],
            rules=_sums(found, lambda row: (row["rule"],), "is_first_of_rule"),
            repeated=[one for one in repeated if one.rounds >= MIN_REPEATS][:MAX_SUMS],
        )

    def _advance(self, name: str, followed: _Followed, limit: int) -> int:
        batch = self._database.events[followed.position : followed.position + limit]
        projection = self._projections[name]
        for recorded in batch:
            if projection.folds(type(recorded.event)):
                for change in projection.changes(recorded, followed.memory):
                    followed.apply(change)
            followed.position = recorded.position
            followed.chain = self._database.chain[recorded.position]
        return len(batch)


def _is_summed(victims: Sequence[Columns], query: PreemptionQuery) -> bool:
    """Whether a round, given by its victims, is among those of a query."""
    first, since, until = victims[0], query.since, query.until

    def has(wanted: str, *columns: str) -> bool:
        return not wanted or any(wanted == row[column] for row in victims for column in columns)

    return (
        (since is None or first["committed_at"] >= since)
        and (until is None or first["committed_at"] <= until)
        and (query.up_to is None or first["position"] <= query.up_to)
        and has(query.workload, "preemptor", "victim")
        and has(query.cluster_queue, "preemptor_queue", "victim_queue")
        and has(query.preemptor_queue, "preemptor_queue")
        and has(query.victim_queue, "victim_queue")
        and has(query.cohort, "preemptor_cohort", "victim_cohort")
        and has(query.rule, "rule")
        and (
            query.namespaces is None
            or any(
                row[column].partition("/")[0] in query.namespaces
                for row in victims
                for column in ("preemptor", "victim")
            )
        )
    )


def _sums(
    rows: Iterable[Columns], names_of: Callable[[Columns], tuple[str, ...]], flag: str = "is_first"
) -> list[PreemptionSum]:
    """Sums of rows by what names them, most GPU-seconds first; rounds are the rows with a flag."""
    groups: dict[tuple[str, ...], list[Columns]] = {}
    for row in rows:
        groups.setdefault(names_of(row), []).append(row)
    found = [
        PreemptionSum(
            names=names,
            rounds=sum(row[flag] for row in group),
            victims=len(group),
            gpu_seconds=sum(row["gpu_seconds"] for row in group),
            cluster_queue=max(row["preemptor_queue"] for row in group),
            priority=max(row["preemptor_priority"] for row in group),
            rules=tuple(sorted({row["rule"] for row in group})),
            first_at=min(row["committed_at"] for row in group),
            last_at=max(row["committed_at"] for row in group),
        )
        for names, group in groups.items()
    ]
    return sorted(found, key=lambda each: (-each.gpu_seconds, -each.victims, each.names))
