"""The inline read models on Postgres."""

import json
from collections.abc import Collection, Sequence
from typing import Any, TypeAlias

import msgspec

from headgate.adapters.postgres.connections import Pool, connection_of
from headgate.application.commands.append_unit import READ_COLUMNS
from headgate.application.cooperative import in_steps
from headgate.application.ports import IdempotencyKey, Loaded, Replayed, WorkloadQuery
from headgate.application.workload_filter import (
    NEWEST_FIRST,
    CountedField,
    FieldCondition,
    NumberCondition,
    TextCondition,
    Waits,
    WorkloadGroup,
    folded,
)
from headgate.domain.kinds.configured_object import Absent, Configured
from headgate.domain.kinds.registry import KINDS_BY_STREAM
from headgate.domain.recorded_event import LogHistory, kind_and_key, workload_stream
from headgate.domain.rounds.state import Round
from headgate.domain.values.instants import Instant
from headgate.domain.values.selectors import LabelSelector
from headgate.domain.workloads.explanation import UNSCHEDULABLE
from headgate.domain.workloads.state import Workload

Decoder: TypeAlias = msgspec.json.Decoder[Any]


DECODERS: dict[str, Decoder] = {
    "workload": msgspec.json.Decoder(Workload),
    "round": msgspec.json.Decoder(Round),
    "log": msgspec.json.Decoder(LogHistory),
    **{
        name: msgspec.json.Decoder(Configured[kind.spec])  # type: ignore[name-defined]
        for name, kind in KINDS_BY_STREAM.items()
    },
}


def state_of(stream: str, written: str | None) -> Any:  # noqa: ANN401 - by kind of stream
    """The state that was written for a stream; `Absent` where there is none."""
    if written is None:
        return Absent()
    kind, _ = kind_and_key(stream)
    return DECODERS[kind].decode(written)


_LOAD = """
    SELECT wanted.name, coalesce(s.version, 0), coalesce(s.position, 0),
           coalesce(w.state, o.state, r.state)::text
    FROM unnest(%s::text[]) WITH ORDINALITY AS wanted(name, nth)
        LEFT JOIN stream AS s ON s.name = wanted.name
        LEFT JOIN workload AS w ON w.stream = wanted.name
        LEFT JOIN object AS o ON o.stream = wanted.name
        LEFT JOIN round AS r ON r.stream = wanted.name
    ORDER BY wanted.nth
"""
_REPLAY = (
    "SELECT request_hash, status, answer, position FROM idempotency WHERE key = %s AND actor = %s"
)
_WRITTEN = "SELECT digest, body FROM written_object WHERE digest = ANY(%s)"
# A workload without a place belongs to the queue its door leads to.
_IN_CLUSTER_QUEUE = """(cluster_queue = %s OR (cluster_queue = '' AND (namespace, local_queue) IN (
    SELECT o.namespace, o.name FROM object AS o
    WHERE o.kind = 'localqueue' AND o.cluster_queue = %s)))"""
_TOUCHES_WORKLOAD = """(preemptor = %s OR stream IN (
    SELECT v.stream FROM round_victim AS v WHERE v.workload = %s))"""
_TOUCHES_QUEUE = """(cluster_queue = %s OR stream IN (
    SELECT v.stream FROM round_victim AS v WHERE v.cluster_queue = %s))"""

_LISTED_CLUSTER_QUEUE = """coalesce(nullif(cluster_queue, ''), (
    SELECT o.cluster_queue FROM object AS o
    WHERE o.stream = 'localqueue/' || workload.namespace || '/' || workload.local_queue), '')"""
# Whole seconds up to an instant, as `run_seconds` and `wait_seconds` count them.
_RUN = """(executed_seconds + CASE WHEN admitted_at IS NULL THEN 0 ELSE
    greatest(0, coalesce(finished_at, %(at)s) - admitted_at) / 1000000 END)"""
_WAIT = f"greatest(0, (coalesce(finished_at, %(at)s) - created_at) / 1000000 - {_RUN})"
# Of a workload that has not ended, greatest() alone would say that it ended just now.
_ENDED = """CASE WHEN finished_at IS NOT NULL
    THEN greatest(0, %(at)s - finished_at) / 1000000 END"""
_FIELDS = {
    "name": "name",
    "namespace": "namespace",
    "queue": "namespace || '/' || local_queue",
    "clusterQueue": _LISTED_CLUSTER_QUEUE,
    "owner": "owner",
    "phase": "phase",
    "cause": "stuck_cause",
    "gpu": "gpus",
    "pods": "pods",
    "priority": "priority",
    "run": _RUN,
    "wait": _WAIT,
    "submitted": "greatest(0, %(at)s - created_at) / 1000000",
    "ended": _ENDED,
}
_ORDERS = _FIELDS | {
    "submitted": "created_at",
    "ended": "coalesce(finished_at, 0)",
    "stuck": "stuck_since",
}
_COMPARED = {"is": "=", ">": ">", ">=": ">=", "<": "<", "<=": "<="}
_ORDERED_PAGE = """
    SELECT w.stream, w.version, w.position, w.state::text
    FROM (SELECT stream, created_at, {value} AS value FROM workload WHERE {condition}
          ORDER BY value {direction}, created_at DESC, stream DESC LIMIT %s) AS page
        JOIN workload AS w USING (stream)
    ORDER BY page.value {direction}, page.created_at DESC, stream DESC
"""
WAITS_LIKE = """
    SELECT reserved_at, reserved_at - created_at FROM workload
    WHERE cluster_queue = %s AND size_class = %s AND reserved_at IS NOT NULL
    ORDER BY reserved_at DESC, stream DESC LIMIT %s
"""
_WAITS_SINCE = """
    SELECT cluster_queue, (reserved_at - created_at) / 1000000 FROM workload
    WHERE reserved_at >= %s ORDER BY 1, 2
"""
_COLUMNS = f"SELECT stream, {', '.join(READ_COLUMNS)} FROM workload WHERE stream = ANY(%s)"
# With `namespace = ANY(…)` alone Postgres reads all rows of the namespaces and sorts them.
_NEWEST_OF_EACH = """
    SELECT w.stream, w.version, w.position, w.state::text
    FROM (SELECT found.stream, found.created_at
          FROM unnest(%s::text[]) AS place(name) CROSS JOIN LATERAL (
              SELECT stream, created_at FROM workload
              WHERE workload.namespace = place.name AND {condition}
              ORDER BY created_at DESC, stream DESC LIMIT %s) AS found
          ORDER BY found.created_at DESC, found.stream DESC LIMIT %s) AS page
        JOIN workload AS w USING (stream)
    ORDER BY page.created_at DESC, stream DESC
"""
_GROUPS = """
    SELECT value, count(*), sum(gpus)::bigint, sum(pods)::bigint
    FROM (SELECT {value} AS value, gpus, pods FROM workload WHERE {condition}) AS found
    GROUP BY value ORDER BY 3 DESC, 2 DESC, value COLLATE "C" LIMIT %s
"""


def _at(expression: str, at: Instant) -> str:
    """The expression of a field with the instant up to which its times run."""
    return expression.replace("%(at)s", str(int(at)))


class _Where:
    """Conditions on a table, with the values of their placeholders."""

    def __init__(self) -> None:
        self.conditions = ["true"]
        self.values: list[Any] = []

    def add(self, condition: str, *values: Any) -> None:  # noqa: ANN401 - any value of a column
        self.conditions.append(condition)
        self.values.extend(values)

    @property
    def condition(self) -> str:
        return " AND ".join(self.conditions)

    def select(self, table: str, order: str, limit: int) -> tuple[str, list[Any]]:
        condition = self.condition
        columns = "stream, version, position, state::text"
        query = f"SELECT {columns} FROM {table} WHERE {condition} ORDER BY {order} LIMIT %s"
        return query, [*self.values, limit]


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
        where = _Where()
        where.add("kind = %s AND stream > %s", kind, after)
        if namespace is not None:
            where.add("namespace = %s", namespace)
        return self._loaded(*where.select("object", "stream", limit))

    def workloads(self, query: WorkloadQuery) -> list[Loaded]:
        """Workloads that match, in the order of the query, keyset paged."""
        where = _matching(query)
        if query.order == NEWEST_FIRST and len(query.where.namespaces or ()) > 1:
            return self._of_namespaces(query)
        if query.order == NEWEST_FIRST:
            newest = "created_at DESC, stream DESC"
            return self._loaded(*where.select("workload", newest, query.limit))
        text = _ORDERED_PAGE.format(
            value=_at(_ORDERS[query.order.field], query.order.at),
            condition=where.condition,
            direction="DESC" if query.order.descending else "ASC",
        )
        return self._loaded(text, [*where.values, query.limit])

    def _of_namespaces(self, query: WorkloadQuery) -> list[Loaded]:
        """The newest of each namespace are read in the order of its index, and then merged."""
        where = _matching(query)
        text = _NEWEST_OF_EACH.format(condition=where.condition)
        names = list(query.where.namespaces or ())
        return self._loaded(text, [names, *where.values, query.limit, query.limit])

    def workload_groups(self, query: WorkloadQuery, by: CountedField | None) -> list[WorkloadGroup]:
        """All workloads that match, counted by a field, most GPUs first."""
        where = _matching(query)
        value = "''" if by is None else f"({_FIELDS[by]})::text"
        text = _GROUPS.format(value=value, condition=where.condition)
        with connection_of(self._pool) as connection:
            rows = connection.execute(text, [*where.values, query.limit]).fetchall()
        return [
            WorkloadGroup(value=value, count=count, gpus=gpus, pods=pods)
            for value, count, gpus, pods in rows
        ]

    def waits_like(self, cluster_queue: str, size: str, *, limit: int) -> Waits:
        """The latest waits of workloads of a size class, in the order they started."""
        with connection_of(self._pool) as connection:
            rows = connection.execute(WAITS_LIKE, (cluster_queue, size, limit)).fetchall()
        return rows[::-1]

    def waits_since(self, since: Instant) -> dict[str, list[int]]:
        """By ClusterQueue the waits in seconds of all that got quota since an instant, sorted."""
        found: dict[str, list[int]] = {}
        with connection_of(self._pool) as connection:
            for queue, seconds in connection.execute(_WAITS_SINCE, (since,)):
                found.setdefault(queue, []).append(seconds)
        return found

    def columns(self, streams: Sequence[str]) -> dict[str, dict[str, Any]]:
        """The columns of workload rows that `read_columns` gives, for verification."""
        with connection_of(self._pool) as connection:
            rows = connection.execute(_COLUMNS, (list(streams),)).fetchall()
        return {row[0]: dict(zip(READ_COLUMNS, row[1:], strict=True)) for row in rows}

    def rounds(
        self,
        *,
        after: tuple[Instant, str] | None = None,
        limit: int = 100,
        workload: str = "",
        cluster_queue: str = "",
    ) -> list[Loaded]:
        """Preemption rounds, newest first, optionally those that touch a workload or queue."""
        where = _Where()
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
            return dict(connection.execute(_WRITTEN, (list(digests),)).fetchall())

    def _loaded(self, query: str, values: Sequence[Any]) -> list[Loaded]:
        with connection_of(self._pool) as connection:
            rows = connection.execute(query, values).fetchall()
        return [
            Loaded(
                stream=stream, version=version, position=position, state=state_of(stream, written)
            )
            for stream, version, position, written in in_steps(rows)
        ]


def _matching(query: WorkloadQuery) -> _Where:
    """`WorkloadFilter.matches` in SQL, and the place of the page."""
    where, wanted = _Where(), query.where
    if wanted.namespaces is not None and len(wanted.namespaces) == 1:
        where.add("namespace = %s", *wanted.namespaces)
    elif wanted.namespaces is not None:
        where.add("namespace = ANY(%s)", list(wanted.namespaces))
    if wanted.phases and query.keys:
        streams = [workload_stream(key) for key in query.keys]
        where.add("(phase = ANY(%s) OR stream = ANY(%s))", list(wanted.phases), streams)
    elif wanted.phases:
        where.add("phase = ANY(%s)", list(wanted.phases))
    if wanted.local_queue:
        where.add("local_queue = %s", wanted.local_queue)
    if wanted.cluster_queue:
        where.add(_IN_CLUSTER_QUEUE, wanted.cluster_queue, wanted.cluster_queue)
    if wanted.name_contains:
        where.add("position(%s IN name) > 0", wanted.name_contains)
    if wanted.owner:
        where.add("owner = %s", wanted.owner)
    if wanted.causes:
        where.add("stuck_cause = ANY(%s)", list(wanted.causes))
    if wanted.stuck_since is not None:
        where.add("stuck_since >= %s", wanted.stuck_since)
    if query.order.field == "stuck":
        where.add("stuck_cause <> ''")
    if wanted.selector is not None:
        _add_labels(where, wanted.selector)
    streams = [workload_stream(key) for key in query.keys]
    for condition in wanted.conditions:
        _add_condition(where, condition, streams, wanted.at)
    _add_page(where, query)
    return where


def _add_condition(
    where: _Where, condition: FieldCondition, unschedulable: list[str], at: Instant
) -> None:
    """`WorkloadFilter.matches` of one condition; what a workload lacks makes it false."""
    text, values = _condition_of(condition, unschedulable, at)
    where.add(f"NOT coalesce({text}, false)" if condition.excludes else f"({text})", *values)


def _condition_of(
    condition: FieldCondition, unschedulable: list[str], at: Instant
) -> tuple[str, list[Any]]:
    match condition:
        case NumberCondition(field=field, comparison=comparison, number=number):
            return f"({_at(_FIELDS[field], at)}) {_COMPARED[comparison]} %s", [number]
        case TextCondition(field="label", texts=texts):
            pairs = [text.partition("=") for text in texts]
            parts = [
                "labels @> %s::jsonb" if is_valued else "jsonb_exists(labels, %s)"
                for _, is_valued, _ in pairs
            ]
            values = [json.dumps({k: v}) if valued else k for k, valued, v in pairs]
            return f"({' OR '.join(parts)})", values
        case TextCondition(field="phase", texts=texts) if UNSCHEDULABLE in texts:
            return "(phase = ANY(%s) OR stream = ANY(%s))", [list(texts), unschedulable]
        case TextCondition(field=field, comparison="is", texts=texts):
            return f"{_FIELDS[field]} = ANY(%s)", [list(texts)]
        case TextCondition(field=field, texts=texts):
            part = f"position(%s IN lower({_FIELDS[field]})) > 0"
            return f"({' OR '.join([part] * len(texts))})", [folded(text) for text in texts]


def _add_page(where: _Where, query: WorkloadQuery) -> None:
    """`comes_after` in SQL."""
    if query.after is None:
        return
    created_at, key = query.after
    age = (created_at, workload_stream(key))
    if query.after_value is None:
        where.add("(created_at, stream) < (%s, %s)", *age)
        return
    value = _at(_ORDERS[query.order.field], query.order.at)
    behind = "<" if query.order.descending else ">"
    where.add(
        f"({value} {behind} %s OR ({value} = %s AND (created_at, stream) < (%s, %s)))",
        query.after_value,
        query.after_value,
        *age,
    )


def _add_labels(where: _Where, selector: LabelSelector) -> None:
    """`matches_selector` in SQL; NotIn and DoesNotExist accept a missing key."""
    if selector.match_labels:
        where.add("labels @> %s::jsonb", json.dumps(selector.match_labels))
    for requirement in selector.match_expressions:
        key, values = requirement.key, list(requirement.values)
        match requirement.operator:
            case "In" if len(values) == 1:
                where.add("labels @> %s::jsonb", json.dumps({key: values[0]}))
            case "In":
                where.add("labels ->> %s = ANY(%s)", key, values)
            case "NotIn":
                where.add("coalesce(labels ->> %s <> ALL(%s), true)", key, values)
            case "Exists":
                where.add("jsonb_exists(labels, %s)", key)
            case "DoesNotExist":
                where.add("NOT jsonb_exists(labels, %s)", key)
            case "Gt" | "Lt":
                raise AssertionError("label selectors compare no numbers")
