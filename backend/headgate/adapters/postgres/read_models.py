"""The inline read models on Postgres."""

import json
from collections.abc import Collection, Sequence
from typing import Any, TypeAlias

import msgspec

from headgate.adapters.postgres.connections import Pool, connection_of
from headgate.application.cooperative import in_steps
from headgate.application.ports import IdempotencyKey, Loaded, Replayed, WorkloadQuery
from headgate.domain.kinds.configured_object import Absent, Configured
from headgate.domain.kinds.registry import KINDS_BY_STREAM
from headgate.domain.recorded_event import LogHistory, kind_and_key, workload_stream
from headgate.domain.rounds.state import Round
from headgate.domain.values.instants import Instant
from headgate.domain.values.selectors import LabelSelector
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


class _Where:
    """Conditions on a table, with the values of their placeholders."""

    def __init__(self) -> None:
        self.conditions = ["true"]
        self.values: list[Any] = []

    def add(self, condition: str, *values: Any) -> None:  # noqa: ANN401 - any value of a column
        self.conditions.append(condition)
        self.values.extend(values)

    def select(self, table: str, order: str, limit: int) -> tuple[str, list[Any]]:
        condition = " AND ".join(self.conditions)
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
        """Workloads that match, newest submission first, keyset paged."""
        where = _matching(query)
        return self._loaded(*where.select("workload", "created_at DESC, stream DESC", query.limit))

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
    if wanted.namespaces is not None:
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
    if wanted.selector is not None:
        _add_labels(where, wanted.selector)
    if query.after is not None:
        created_at, key = query.after
        where.add("(created_at, stream) < (%s, %s)", created_at, workload_stream(key))
    return where


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
