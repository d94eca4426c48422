"""Read models that follow the log on Postgres: rows and checkpoint move in one transaction."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import msgspec

from headgate.adapters.postgres.archived_events import ArchivedEvents, rows_after
from headgate.adapters.postgres.connections import Connection, Pool, connection_of, point_at
from headgate.adapters.postgres.event_log import gapless, recorded_of, rows_of_stream
from headgate.adapters.postgres.projection_rows import ProjectionRows, preemption_sums
from headgate.application.failures import Archived
from headgate.application.historical_ports import KeptPods, folded_pods, selected_pods
from headgate.application.projections import Projection, RowChange
from headgate.application.projections.followers import (
    PROJECTIONS,
    Admissions,
    PreemptionQuery,
    PreemptionSums,
    QueueHistory,
    QueueMinute,
)
from headgate.application.projections.workload_pods import (
    AttemptCounts,
    PodFilter,
    PodRow,
    PodRows,
)
from headgate.domain.recorded_event import RecordedEvent, workload_stream
from headgate.domain.values.instants import Instant
from headgate.domain.workloads.events import WorkloadSubmitted
from headgate.event_log.chain import LogPoint, PastLost
from headgate.event_log.codec import EVENT_CLASSES, name_of

RowType = TypeVar("RowType", bound=msgspec.Struct)


class FollowerReads:
    """The reading half of the port `Followers`."""

    def __init__(self, pool: Pool, archived: ArchivedEvents | None = None) -> None:
        self._reads = pool
        self._archived = archived
        self._kept_pods = KeptPods()

    def queue_history(
        self, *, since: Instant, until: Instant, cluster_queue: str = ""
    ) -> QueueHistory:
        """What happened in one or all ClusterQueues, minute by minute, oldest first."""
        conditions = ["minute >= %s", "minute < %s", "(%s = '' OR cluster_queue = %s)"]
        position, minutes = self._read(
            QueueMinute,
            "queue_history",
            (conditions, "minute, cluster_queue"),
            [since, until, cluster_queue, cluster_queue],
        )
        return QueueHistory(position=position, minutes=minutes)

    def admissions(self, since: Instant) -> Admissions:
        """The admissions of each minute from the one that begins then."""
        with self._snapshot("queue_history") as (connection, generation, position):
            rows = connection.execute(_ADMISSIONS, (generation, since)).fetchall()
        return Admissions(position=position, by_minute=dict(rows))

    def preemption_sums(self, query: PreemptionQuery) -> PreemptionSums:
        """What preemptions cost; of preemptors, pairs and repeats the first `MAX_SUMS`."""
        with self._snapshot("preemption_victim") as (connection, generation, position):
            return preemption_sums(connection, generation, position, query)

    def pods(self, query: PodFilter) -> PodRows:
        """A page of the pods of one attempt, and the counts of all attempts.

        Those of a workload that has ended are folded from its events. Raises `Archived` where these
        were archived and removed.
        """
        try:
            return self._pods(query)
        except Archived:
            # A partition that goes into the archive is gone from a snapshot of before, which does
            # not see yet where it went.
            return self._pods(query)

    def _pods(self, query: PodFilter) -> PodRows:
        with self._snapshot("workload_pod") as (connection, generation, position):
            of_workload = (generation, query.workload)
            if connection.execute(_HAS_PODS, of_workload).fetchone() is None:
                return self._pods_in_log(connection, query, position)
            return _pods_in_rows(connection, query, generation, position)

    def _pods_in_log(self, connection: Connection, query: PodFilter, position: int) -> PodRows:
        """The pods of a workload after its events up to a position, kept for the next page."""
        stream = workload_stream(query.workload)
        last, chain = connection.execute(_LAST_EVENT, (stream,)).fetchone() or (0, None)
        place = None if chain is None or last > position else (stream, chain)
        pods = self._kept_pods.get(place)
        if pods is None:
            rows = rows_of_stream(connection, stream, archived=self._archived)
            events = [recorded_of(row) for row in rows if row[0] <= position]
            _raise_if_archived(connection, events)
            pods = folded_pods(events)
            self._kept_pods.put(place, pods)
        return selected_pods(pods, query, position)

    def _read(
        self,
        kind: type[RowType],
        table: str,
        clauses: tuple[list[str], str],
        values: Sequence[Any],
    ) -> tuple[int, list[RowType]]:
        """Rows of the live generation and its position, of one moment even during a swap."""
        conditions, order = clauses
        rows_query = (
            f"SELECT {_columns(kind)} FROM {table} WHERE generation = %s "
            f"AND {' AND '.join(conditions)} ORDER BY {order}"
        )
        with self._snapshot(table) as (connection, generation, position):
            rows = connection.execute(rows_query, (generation, *values)).fetchall()
        return position, _as_structs(kind, rows)

    @contextmanager
    def _snapshot(self, table: str) -> Iterator[tuple[Connection, int, int]]:
        """A connection that sees one moment, with the live generation and position of a table."""
        with connection_of(self._reads) as connection, connection.transaction():
            connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            live = connection.execute(
                "SELECT generation, position FROM follower WHERE name = %s", (table,)
            ).fetchone()
            generation, position = (0, 0) if live is None else live
            yield connection, generation, position


_ADMISSIONS = """
    SELECT minute, sum(admitted)::bigint FROM queue_history
    WHERE generation = %s AND minute >= %s AND admitted > 0 GROUP BY minute
"""
_HAS_PODS = "SELECT FROM workload_pod WHERE generation = %s AND workload = %s LIMIT 1"
_FIRST_POSITION = "SELECT position FROM event_whole ORDER BY position LIMIT 1"
_NEWEST_ATTEMPT = """
    SELECT max(newest.attempt) FROM workload_pod AS newest
    WHERE newest.generation = pod.generation AND newest.workload = %s
"""
_ATTEMPTS = """
    SELECT attempt, state, count(*), sum(run - 1)::bigint, min(started_at), max(finished_at)
    FROM workload_pod WHERE generation = %s AND workload = %s AND is_newest
    GROUP BY attempt, state ORDER BY attempt, state
"""


def _pods_in_rows(
    connection: Connection, query: PodFilter, generation: int, position: int
) -> PodRows:
    conditions, values = ["workload = %s"], list[Any]([query.workload])
    if query.attempt is None:
        conditions.append(f"attempt = ({_NEWEST_ATTEMPT})")
        values.append(query.workload)
    else:
        conditions.append("attempt = %s")
        values.append(query.attempt)
    for column, wanted in (("pod_set", query.pod_set), ("node", query.node)):
        if wanted:
            conditions.append(f"{column} = %s")
            values.append(wanted)
    if query.states:
        conditions.append("state = ANY(%s)")
        values.append(list(query.states))
    if not query.all_runs:
        conditions.append("is_newest")
    if query.after is not None:
        conditions.append("(pod_set, pod_index, run) > (%s, %s, %s)")
        values += query.after
    rows_query = (
        f"SELECT {_columns(PodRow)} FROM workload_pod AS pod WHERE generation = %s AND "
        f"{' AND '.join(conditions)} ORDER BY pod_set, pod_index, run LIMIT %s"
    )
    pods = connection.execute(rows_query, (generation, *values, query.limit)).fetchall()
    counts: list[Any] = []
    if query.after is None:
        counts = connection.execute(_ATTEMPTS, (generation, query.workload)).fetchall()
    return PodRows(
        position=position,
        pods=_as_structs(PodRow, pods),
        counts=_as_structs(AttemptCounts, counts),
    )


def _raise_if_archived(connection: Connection, events: Sequence[RecordedEvent]) -> None:
    if not any(isinstance(each.event, WorkloadSubmitted) for each in events):
        found = connection.execute(_FIRST_POSITION).fetchone()
        if found is not None and found[0] > 1:
            raise Archived("EventsArchived", first=found[0])


_LAST_EVENT = "SELECT position, log_chain_at(position) FROM stream WHERE name = %s"


def _columns(kind: type[msgspec.Struct]) -> str:
    return ", ".join(kind.__struct_fields__)


def _as_structs(kind: type[RowType], rows: Sequence[tuple[Any, ...]]) -> list[RowType]:
    fields = kind.__struct_fields__
    return [msgspec.convert(dict(zip(fields, row, strict=True)), kind) for row in rows]


REBUILD_BATCH = 5_000
_BEGIN = "INSERT INTO follower (name) SELECT unnest(%s::text[]) ON CONFLICT DO NOTHING"
# Rows without their generation, those that stand on one side alone.
_DIFFERENCES = """
    WITH live AS (SELECT to_jsonb(t) - 'generation' AS shown FROM {table} AS t
                  WHERE generation = %(live)s),
         rebuilt AS (SELECT to_jsonb(t) - 'generation' AS shown FROM {table} AS t
                     WHERE generation = %(rebuilt)s)
    SELECT (SELECT count(*) FROM (SELECT shown FROM live EXCEPT ALL SELECT shown FROM rebuilt) AS a)
         + (SELECT count(*) FROM (SELECT shown FROM rebuilt EXCEPT ALL SELECT shown FROM live) AS b)
"""
_STANDS = "SELECT generation, position, chain FROM follower WHERE name = %s"
_FREE = """
    SELECT name, generation, position, chain FROM follower WHERE name = ANY(%s)
    ORDER BY position, name FOR UPDATE SKIP LOCKED
"""
_NOT_DURABLE_AT_ONCE = "SET LOCAL synchronous_commit = off"
"""A crash of the database may lose the newest batches, checkpoint and rows: they are folded again.

So no follower waits for the disk, nor makes appends wait behind its own flush.
"""
_CHECKPOINT = """
    UPDATE follower SET position = %s, chain = log_chain_at(%s) WHERE name = ANY(%s)
"""


class PostgresFollowers(FollowerReads):
    """Fills the port `Followers`."""

    def __init__(
        self,
        pool: Pool,
        projections: Iterable[Projection] = PROJECTIONS,
        archived: ArchivedEvents | None = None,
    ) -> None:
        super().__init__(pool, archived)
        self._pool = pool
        self._projections = {projection.name: projection for projection in projections}

    def names(self) -> tuple[str, ...]:
        """The read models there are."""
        return tuple(self._projections)

    def positions(self) -> dict[str, int]:
        """Where each stands."""
        with connection_of(self._pool) as connection:
            rows = connection.execute("SELECT name, position FROM follower").fetchall()
        known: dict[str, int] = dict(rows)
        return {name: known.get(name, 0) for name in self._projections}

    def advance(self, *names: str, limit: int = 5_000) -> int:
        """Fold the next events into those that stand farthest behind; how many there were.

        They never fold past one that is ahead, so that all meet and each event is then decoded
        once. Those that another process is at are left out; without any left there are 0.
        """
        with connection_of(self._pool) as connection, connection.transaction():
            connection.execute(_NOT_DURABLE_AT_ONCE)
            connection.execute(_BEGIN, (sorted(names),))
            stands = connection.execute(_FREE, (list(names),)).fetchall()
            if not stands:
                return 0
            _, _, position, chain = stands[0]
            behind = {each[0]: each[1] for each in stands if each[2:] == (position, chain)}
            ahead = [each[2] for each in stands if each[2] > position]
            _require_past(connection, position, chain)
            most = min([limit, *(other - position for other in ahead)])
            count = self._fold(connection, behind, (position, most))
            if count:
                reached = position + count
                connection.execute(_CHECKPOINT, (reached, reached, list(behind)))
            return count

    def rebuild(self, name: str) -> None:
        """Build it anew from position 0 beside the live one, then swap; reads go on meanwhile."""
        with connection_of(self._pool) as connection:
            connection.execute(_BEGIN, ([name],))
            # Held by the session: two rebuilds would write the same generation.
            connection.execute("SELECT pg_advisory_lock(hashtextextended(%s, 7306))", (name,))
            try:
                self._rebuild(connection, name)
            finally:
                connection.execute("SELECT pg_advisory_unlock(hashtextextended(%s, 7306))", (name,))

    def differences(self, name: str) -> tuple[int, int]:
        """Its position, and how many rows differ from rows rebuilt up to there.

        The rebuilt rows are never visible: their transaction is rolled back.
        """
        with (
            connection_of(self._pool) as connection,
            connection.transaction(force_rollback=True),
        ):
            connection.execute(_BEGIN, ([name],))
            stands = connection.execute(f"{_STANDS} FOR UPDATE", (name,)).fetchone()
            assert stands is not None
            generation, stop, _ = stands
            position, count = 0, 1
            # A checkpoint that lies beyond the log is never reached.
            while position < stop and count:
                batch = (position, min(REBUILD_BATCH, stop - position))
                count = self._fold(connection, {name: generation + 1}, batch)
                position += count
            query = _DIFFERENCES.format(table=name)
            generations = {"live": generation, "rebuilt": generation + 1}
            found = connection.execute(query, generations).fetchone()
            assert found is not None
            return stop, int(found[0])

    def _rebuild(self, connection: Connection, name: str) -> None:
        stands = connection.execute(_STANDS, (name,)).fetchone()
        assert stands is not None
        generation = stands[0] + 1
        _drop_others(connection, name, keep=stands[0])
        position = 0
        count = REBUILD_BATCH
        while count == REBUILD_BATCH:
            with connection.transaction():
                count = self._fold(connection, {name: generation}, (position, REBUILD_BATCH))
            position += count
        with connection.transaction():
            live = connection.execute(f"{_STANDS} FOR UPDATE", (name,)).fetchone()
            assert live is not None
            # The live one may have gone on meanwhile; a reader must never be taken back.
            missing = max(live[1] - position, 0)
            position += self._fold(connection, {name: generation}, (position, missing))
            _stand_at(connection, name, generation, position)
        _drop_others(connection, name, keep=generation)

    def _fold(
        self, connection: Connection, generations: Mapping[str, int], batch: tuple[int, int]
    ) -> int:
        """Fold up to so many events after a position into read models; how many there were."""
        after, limit = batch
        projections = [self._projections[name] for name in generations]
        skipped = skipped_types(projections)
        rows = rows_after(connection, after, limit, skipped=skipped, archived=self._archived)
        recorded = list(gapless(rows, after))
        for projection in projections:
            own = [fact for fact in recorded if projection.folds(type(fact.event))]
            if own:
                _fold_into(connection, projection, generations[projection.name], own)
        return len(rows)


def skipped_types(projections: Iterable[Projection]) -> list[str]:
    """Returns the stored names of the events that none of the projections folds."""
    folding = list(projections)
    return [
        name_of(event_class)
        for event_class in EVENT_CLASSES
        if not any(projection.folds(event_class) for projection in folding)
    ]


def _fold_into(
    connection: Connection, projection: Projection, generation: int, own: list[RecordedEvent]
) -> None:
    rows = ProjectionRows(connection, projection.name, generation)
    memory = rows.recall(key for fact in own for key in projection.state_keys(fact))
    changes: list[RowChange] = []
    for fact in own:
        changes.extend(projection.changes(fact, memory))
    rows.apply(changes)
    rows.remember(memory)


def _stand_at(connection: Connection, name: str, generation: int, position: int) -> None:
    connection.execute(
        "UPDATE follower SET generation = %s, position = %s, chain = log_chain_at(%s)"
        " WHERE name = %s",
        (generation, position, position, name),
    )


def _require_past(connection: Connection, position: int, chain: bytes | None) -> None:
    """Raises `PastLost` where the log does not have a checkpoint.

    A checkpoint of a release before has no chain value and is compared by its position alone.
    """
    found = point_at(connection, position)
    if found is None or chain not in (None, found.chain):
        raise PastLost(LogPoint(log_id="", position=position, chain=chain or b""))


def _drop_others(connection: Connection, name: str, *, keep: int) -> None:
    """Delete the rows of other generations: replaced ones, and those of a rebuild broken off."""
    connection.execute(f"DELETE FROM {name} WHERE generation <> %s", (keep,))
    connection.execute(
        "DELETE FROM follower_memory WHERE follower = %s AND generation <> %s", (name, keep)
    )
