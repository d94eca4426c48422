"""The inline read models in memory."""

from collections.abc import Collection, Iterable, Sequence

from headgate.adapters.memory.database import Columns, MemoryDatabase
from headgate.application.commands.append_unit import table_of
from headgate.application.ports import Loaded, Replayed, WorkloadQuery
from headgate.domain.kinds.configured_object import Absent
from headgate.domain.streams import workload_stream
from headgate.domain.values.instants import Instant


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
        return _loaded(sorted(found, key=lambda row: row["stream"])[:limit])

    def workloads(self, query: WorkloadQuery) -> list[Loaded]:
        """Workloads that match, newest submission first, keyset paged."""
        with self._database.lock:
            queues = self._cluster_queues()
            rows = self._database.rows["workload"].values()
            found = [row for row in rows if _matches(query, row, queues)]
        found.sort(key=lambda row: (row["created_at"], row["stream"]), reverse=True)
        return _loaded(found[: query.limit])

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
        return _loaded(found[:limit])

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


def _matches(query: WorkloadQuery, row: Columns, queues: dict[tuple[str, str], str]) -> bool:
    after = None if query.after is None else (query.after[0], workload_stream(query.after[1]))
    queue = row["cluster_queue"] or queues.get((row["namespace"], row["local_queue"]), "")
    return query.where.matches(row["state"], queue) and (
        after is None or (row["created_at"], row["stream"]) < after
    )


def _touches(row: Columns, own: str, of_victim: str, wanted: str) -> bool:
    if not wanted or row[own] == wanted:
        return True
    return any(getattr(victim, of_victim) == wanted for victim in row["state"].victims)


def _loaded(rows: Iterable[Columns]) -> list[Loaded]:
    return [
        Loaded(
            stream=row["stream"],
            version=row["version"],
            position=row["position"],
            state=row["state"],
        )
        for row in rows
    ]
