"""The inline read models on Postgres, and records of scheduling cycles that pages read."""

from collections.abc import Collection, Sequence
from typing import Any

import msgspec

from headgate.adapters.postgres.append_encoding import document_of, state_of
from headgate.adapters.postgres.connections import Pool, connection_of, stored_rows
from headgate.adapters.postgres.workload_conditions import (
    FIELDS,
    WORKLOAD_TABLES,
    Where,
    first_of,
    list_statement,
    matching,
    table_of,
)
from headgate.application.commands.append_unit import READ_COLUMNS
from headgate.application.cooperative import in_steps
from headgate.application.ports import IdempotencyKey, Loaded, Replayed, WorkloadQuery
from headgate.application.scheduling_cycles import (
    CycleBin,
    CycleQuery,
    CycleRange,
    CycleRecord,
    CycleSums,
    CycleTiming,
)
from headgate.application.workload_filter import (
    MAX_SIZES,
    WAIT_SLOT,
    CountedField,
    WaitCounts,
    Waits,
    WorkloadGroup,
    compares_tallied_fields,
)
from headgate.domain.values.instants import Instant

_LOAD = """
    SELECT wanted.name, coalesce(live.version, ended.version, s.version, 0),
           coalesce(live.position, ended.position, s.position, 0),
           coalesce(live.state, ended.state, o.state, r.state)
    FROM unnest(%s::text[]) WITH ORDINALITY AS wanted(name, nth)
        LEFT JOIN stream_version AS s ON s.name = wanted.name
        LEFT JOIN workload_live AS live ON live.stream = wanted.name
        LEFT JOIN workload_ended AS ended ON ended.stream = wanted.name
        LEFT JOIN object AS o ON o.stream = wanted.name
        LEFT JOIN round AS r ON r.stream = wanted.name
    ORDER BY wanted.nth
"""
_REPLAY = (
    "SELECT request_hash, status, answer, position FROM idempotency WHERE key = %s AND actor = %s"
)
_WRITTEN = "SELECT digest, body FROM written_object WHERE digest = ANY(%s)"
_TOUCHES_WORKLOAD = """(preemptor = %s OR stream IN (
    SELECT v.stream FROM round_victim AS v WHERE v.workload = %s))"""
_TOUCHES_QUEUE = """(cluster_queue = %s OR stream IN (
    SELECT v.stream FROM round_victim AS v WHERE v.cluster_queue = %s))"""

SIZES_STARTED = """
    WITH RECURSIVE size(name) AS (
        SELECT min(size_class) FROM workload WHERE cluster_queue = %s AND reserved_at IS NOT NULL
        UNION ALL
        SELECT (SELECT min(size_class) FROM workload
            WHERE cluster_queue = %s AND reserved_at IS NOT NULL AND size_class > size.name)
        FROM size WHERE size.name IS NOT NULL)
    SELECT name FROM size WHERE name IS NOT NULL LIMIT %s
"""
"""Each size costs one look into the index, however many workloads have it."""
WAITS_ENDED = """
    SELECT cluster_queue, rounded_wait(reserved_at - created_at), count(*) FROM workload_ended
    WHERE reserved_at >= %s AND reserved_at < %s AND position <= %s GROUP BY 1, 2
"""
_WAITS_IN_ROWS = """
    SELECT cluster_queue, rounded_wait(reserved_at - created_at), 1 FROM workload
    WHERE reserved_at >= %s AND reserved_at < %s
"""
WAITS_TALLIED = f"""
    SELECT cluster_queue, wait_seconds, sum(workloads)::bigint FROM (
        SELECT cluster_queue, wait_seconds, workloads FROM wait_tally WHERE slot >= %s AND slot < %s
        UNION ALL {_WAITS_IN_ROWS} UNION ALL {_WAITS_IN_ROWS}) AS waits
    GROUP BY 1, 2 HAVING sum(workloads) > 0
"""
"""Those of whole slots, and of the times before the first and after the last."""

TALLIED_COLUMNS = "namespace, local_queue, cluster_queue, owner, phase, priority, stuck_cause"
"""The columns of a workload's row by which `workload_tally` counts; `TALLIED_FIELDS` read them."""
_TALLIED_WAIT = "wait_slot(reserved_at), cluster_queue, rounded_wait(reserved_at - created_at)"
MISCOUNTED = f"""
    SELECT count(*) FROM (
        SELECT 1 FROM (
            SELECT {TALLIED_COLUMNS}, workloads, gpus, pods FROM workload_tally
            UNION ALL SELECT {TALLIED_COLUMNS}, -1, -gpus, -pods FROM workload) AS counted
        GROUP BY {TALLIED_COLUMNS}
        HAVING sum(workloads) <> 0 OR sum(gpus) <> 0 OR sum(pods) <> 0
        UNION ALL
        SELECT 1 FROM (
            SELECT slot, cluster_queue, wait_seconds, workloads FROM wait_tally
            UNION ALL SELECT {_TALLIED_WAIT}, -1 FROM workload
            WHERE reserved_at IS NOT NULL) AS waits
        GROUP BY slot, cluster_queue, wait_seconds HAVING sum(workloads) <> 0) AS differing
"""
_COLUMNS = f"SELECT stream, {', '.join(READ_COLUMNS)} FROM workload WHERE stream = ANY(%s)"
STATE = 3
"""The column of stored states in what loads them."""
_GROUPS = """
    SELECT value, sum(number)::bigint, sum(gpus)::bigint, sum(pods)::bigint,
        jsonb_object_agg(phase, number)
    FROM (SELECT value, phase, sum(number)::bigint AS number, sum(gpus) AS gpus, sum(pods) AS pods
          FROM (SELECT {value} AS value, phase, {number} AS number, gpus, pods FROM {rows}
                WHERE {condition} {bound}) AS found
          GROUP BY value, phase HAVING sum(number) > 0) AS by_phase
    GROUP BY value
    ORDER BY 3 DESC, 2 DESC, value COLLATE "C" LIMIT %s
"""


class PostgresReadModels:
    """Fills the port `ReadModels`."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    def load(self, streams: Sequence[str]) -> list[Loaded]:
        """The objects of these streams, in the same order."""
        return self._loaded(_LOAD, [list(streams)])

    def objects(
        self, kind: str, *, namespace: str | None = None, after: str = "", limit: int = 500
    ) -> list[Loaded]:
        """Objects of one configured kind in order of stream name, keyset paged by stream."""
        where = Where()
        where.add("kind = %s AND stream > %s", kind, after)
        if namespace is not None:
            where.add("namespace = %s", namespace)
        return self._loaded(*where.select("object", "stream", limit))

    def workloads(self, query: WorkloadQuery) -> list[Loaded]:
        """Workloads that match, in the order of the query, keyset paged."""
        return self._loaded(*list_statement(query))

    def workload_groups(self, query: WorkloadQuery, by: CountedField | None) -> list[WorkloadGroup]:
        """The workloads that match, counted by a field, most GPUs first.

        Where counts that are kept beside the rows suffice, no row of a workload is read.
        """
        where, is_tallied = matching(query), compares_tallied_fields(query.where)
        text = _GROUPS.format(
            value="''" if by is None else f"({FIELDS[by]})::text",
            number="workloads" if is_tallied else "1",
            rows=f"{'workload_tally' if is_tallied else table_of(query)} AS workload",
            condition=where.condition,
            bound="" if is_tallied or query.counted_rows is None else "LIMIT %s",
        )
        bounds = [] if is_tallied or query.counted_rows is None else [query.counted_rows]
        return [
            WorkloadGroup(value=value, count=count, gpus=gpus, pods=pods, phases=phases)
            for value, count, gpus, pods, phases in self._rows(
                text, [*where.values, *bounds, query.limit]
            )
        ]

    def waits_like(
        self, cluster_queue: str, size: str, *, limit: int, ended_by: int | None = None
    ) -> Waits:
        """The latest waits of workloads of a size class, in the order they started."""
        where, tables = Where(), WORKLOAD_TABLES if ended_by is None else WORKLOAD_TABLES[1:]
        where.add("cluster_queue = %s AND size_class = %s", cluster_queue, size)
        where.add("reserved_at IS NOT NULL")
        if ended_by is not None:
            where.add("position <= %s", ended_by)
        columns, order = "stream, reserved_at, created_at", "reserved_at DESC, stream DESC"
        found = self._rows(*first_of(tables, columns, where, order, limit))
        return [(start, start - created_at) for _, start, created_at in reversed(found)]

    def sizes_started(self, cluster_queue: str) -> list[str]:
        """The size classes of workloads that got quota in a ClusterQueue; the first by name."""
        return [name for (name,) in self._rows(SIZES_STARTED, [cluster_queue] * 2 + [MAX_SIZES])]

    def waits_between(
        self, since: Instant, until: Instant, *, ended_by: int | None = None
    ) -> WaitCounts:
        """By ClusterQueue how many got quota between instants after each rounded wait."""
        found: WaitCounts = {}
        values = [since, until, ended_by]
        if ended_by is None:
            first, end = -(-since // WAIT_SLOT), until // WAIT_SLOT
            if end <= first:
                first = end = until // WAIT_SLOT
                edges = [since, until, until, until]
            else:
                edges = [since, first * WAIT_SLOT, end * WAIT_SLOT, until]
            values = [first, end, *edges]
        text = WAITS_TALLIED if ended_by is None else WAITS_ENDED
        for queue, seconds, count in self._rows(text, values):
            found.setdefault(queue, {})[seconds] = count
        return found

    def columns(self, streams: Sequence[str]) -> dict[str, dict[str, Any]]:
        """The columns of workload rows that `read_columns` gives, for verification."""
        with connection_of(self._pool) as connection:
            rows = connection.execute(_COLUMNS, (list(streams),)).fetchall()
        return {row[0]: dict(zip(READ_COLUMNS, row[1:], strict=True)) for row in rows}

    def miscounted(self) -> int:
        """The number of kept counts of workloads that differ from their rows."""
        with connection_of(self._pool) as connection:
            row = connection.execute(MISCOUNTED).fetchone()
        return int(row[0]) if row else 0

    def rounds(
        self,
        *,
        after: tuple[Instant, str] | None = None,
        limit: int = 100,
        workload: str = "",
        cluster_queue: str = "",
    ) -> list[Loaded]:
        """Preemption rounds, newest first, optionally those that touch a workload or queue."""
        where = Where()
        if after is not None:
            where.add("(committed_at, stream) < (%s, %s)", after[0], f"round/{after[1]}")
        if workload:
            where.add(_TOUCHES_WORKLOAD, workload, workload)
        if cluster_queue:
            where.add(_TOUCHES_QUEUE, cluster_queue, cluster_queue)
        return self._loaded(*where.select("round", "committed_at DESC, stream DESC", limit))

    def replay_of(self, key: str, actor: str) -> Replayed | None:
        """The first answer given under this idempotency key, if any."""
        with connection_of(self._pool) as connection:
            row = connection.execute(_REPLAY, (key, actor)).fetchone()
        if row is None:
            return None
        request_hash, status, answer, position = row
        first = IdempotencyKey(
            key=key, actor=actor, request_hash=request_hash, status=status, answer=answer
        )
        return Replayed(key=first, position=position)

    def written(self, digests: Collection[str]) -> dict[str, bytes]:
        """The bodies of objects as they were written, by digest; those that are kept."""
        if not digests:
            return {}
        with connection_of(self._pool) as connection:
            rows = stored_rows(connection, _WRITTEN, (list(digests),), 1)
        return {digest: document_of(body) for digest, body in rows}

    def _loaded(self, query: str, values: Sequence[Any]) -> list[Loaded]:
        return [
            Loaded(
                stream=stream, version=version, position=position, state=state_of(stream, stored)
            )
            for stream, version, position, stored, *_ in in_steps(self._states(query, values))
        ]

    def _states(self, query: str, values: Sequence[Any]) -> list[Any]:
        with connection_of(self._pool) as connection:
            return stored_rows(connection, query, values, STATE)

    def _rows(self, query: str, values: Sequence[Any]) -> list[Any]:
        with connection_of(self._pool) as connection:
            return connection.execute(query, values).fetchall()


_PUT_CYCLE = """
    INSERT INTO cycle_record (
        id, partition, at, input_position, body,
        is_committed, cycles, heads, decisions, planning_microseconds, commit_microseconds
    ) VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)
    ON CONFLICT (id) DO UPDATE SET body = excluded.body, is_committed = excluded.is_committed,
        cycles = excluded.cycles, heads = excluded.heads, decisions = excluded.decisions,
        planning_microseconds = excluded.planning_microseconds,
        commit_microseconds = excluded.commit_microseconds
"""
_FORGET_CYCLES = """
    DELETE FROM cycle_record WHERE (at, id) < (
        SELECT at, id FROM cycle_record ORDER BY at DESC, id DESC OFFSET %s - 1 LIMIT 1)
"""
_TIMINGS = "SELECT body FROM cycle_record WHERE at >= %s ORDER BY at, id LIMIT %s"
_RANKS = ", ".join(
    f"percentile_disc({share}) WITHIN GROUP (ORDER BY {duration})"
    for duration in ("planning + commit", "planning", "commit")
    for share in (0.5, 0.95)
)
_SUMS = f"""
    SELECT (at - at %% %(step)s), grouping(at - at %% %(step)s), count(*),
        count(*) FILTER (WHERE NOT is_committed), sum(cycles), sum(heads),
        coalesce(sum(decisions) FILTER (WHERE is_committed), 0), max(planning + commit), {_RANKS}
    FROM cycle_record, LATERAL (
        SELECT planning_microseconds AS planning, commit_microseconds AS commit) AS took
    WHERE at >= %(since)s AND at < %(until)s AND is_committed IS NOT NULL
        AND (%(partition)s = '' OR partition = %(partition)s)
        AND (%(up_to)s::bigint IS NULL OR input_position < %(up_to)s)
    GROUP BY GROUPING SETS ((at - at %% %(step)s), ())
    ORDER BY 2, 1
"""
_OLDEST_CYCLE = "SELECT min(at) FROM cycle_record WHERE is_committed IS NOT NULL"
_CYCLE_DECODER = msgspec.msgpack.Decoder(CycleRecord)
_TIMING = msgspec.msgpack.Decoder(CycleTiming)


class PostgresCycleStore:
    """Fills the port `CycleStore`."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    def put(self, record: CycleRecord) -> None:
        """Keep a record; one that is lost in a crash is no loss of truth, and is not waited for."""
        values = (
            record.id,
            record.partition,
            record.at,
            record.input_position,
            msgspec.msgpack.encode(record),
            record.outcome == "Committed",
            record.cycles,
            record.heads,
            record.decisions,
            record.planning_microseconds,
            record.commit_microseconds,
        )
        with connection_of(self._pool) as connection, connection.transaction():
            connection.execute("SET LOCAL synchronous_commit = off")
            connection.execute(_PUT_CYCLE, values)

    def find(self, cycle_id: str) -> CycleRecord | None:
        """The record of that id, if it is kept."""
        found = self._read("id = %s", [cycle_id], 1)
        return found[0] if found else None

    def page(self, query: CycleQuery) -> list[CycleRecord]:
        """Records that match, newest first, keyset paged."""
        conditions, values = ["true"], list[Any]()
        if query.partition:
            conditions.append("partition = %s")
            values.append(query.partition)
        if query.up_to is not None:
            conditions.append("input_position < %s")
            values.append(query.up_to)
        if query.before is not None:
            conditions.append("(at, id) < (%s, %s)")
            values.extend(query.before)
        if query.since is not None:
            conditions.append("at >= %s")
            values.append(query.since)
        if query.until is not None:
            conditions.append("at < %s")
            values.append(query.until)
        return self._read(" AND ".join(conditions), values, query.limit)

    def timings(self, since: Instant, *, limit: int) -> list[CycleTiming]:
        """How long those took that were planned at `since` or later, oldest first."""
        with connection_of(self._pool) as connection:
            rows = connection.execute(_TIMINGS, (since, limit)).fetchall()
        return [_TIMING.decode(row[0]) for row in rows]

    def sums(self, wanted: CycleRange) -> list[CycleBin]:
        """The sums of each bin that has records, oldest first, and of all; none without records."""
        with connection_of(self._pool) as connection:
            rows = connection.execute(_SUMS, msgspec.structs.asdict(wanted)).fetchall()
        return [
            CycleBin(at=at, sums=CycleSums(*map(int, sums))) for at, _, *sums in rows if sums[0] > 0
        ]

    def oldest(self) -> Instant | None:
        """When the oldest record that is kept was planned."""
        with connection_of(self._pool) as connection:
            (found,) = connection.execute(_OLDEST_CYCLE).fetchall()
        return None if found[0] is None else int(found[0])

    def forget(self, *, keep: int) -> int:
        """Delete all but the newest so many; how many went."""
        with connection_of(self._pool) as connection:
            return connection.execute(_FORGET_CYCLES, (keep,)).rowcount

    def _read(self, condition: str, values: list[Any], limit: int) -> list[CycleRecord]:
        query = (
            f"SELECT body FROM cycle_record WHERE {condition} ORDER BY at DESC, id DESC LIMIT %s"
        )
        with connection_of(self._pool) as connection:
            rows = connection.execute(query, [*values, limit]).fetchall()
        return [_CYCLE_DECODER.decode(row[0]) for row in rows]
