"""Filters and orders of workloads as SQL on the columns of their rows, and filters of events.

`WorkloadFilter.matches` and `comes_after` say the same of states.
"""

import json
from collections.abc import Iterable, Sequence
from itertools import product
from typing import Any, TypeAlias, get_args

from msgspec.structs import replace

from headgate.application.ports import EventFilter, WorkloadQuery
from headgate.application.workload_filter import (
    NEWEST_FIRST,
    FieldCondition,
    NumberCondition,
    TextCondition,
    folded,
)
from headgate.domain.recorded_event import workload_stream
from headgate.domain.values.instants import Instant
from headgate.domain.values.selectors import LabelSelector
from headgate.domain.workloads.events import EndPhase
from headgate.domain.workloads.explanation import UNSCHEDULABLE
from headgate.domain.workloads.state import Phase

# A workload without a place belongs to the queue its door leads to.
_IN_CLUSTER_QUEUE = """(cluster_queue = %s OR (cluster_queue = '' AND (namespace, local_queue) IN (
    SELECT o.namespace, o.name FROM object AS o
    WHERE o.kind = 'localqueue' AND o.cluster_queue = %s)))"""
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
FIELDS = {
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
ORDERS = FIELDS | {
    "submitted": "created_at",
    "ended": "coalesce(finished_at, 0)",
    "stuck": "stuck_since",
}
_COMPARED = {"is": "=", ">": ">", ">=": ">=", "<": "<", "<=": "<="}


def at_instant(expression: str, at: Instant) -> str:
    """The expression of a field with the instant up to which its times run."""
    return expression.replace("%(at)s", str(int(at)))


class Where:
    """Conditions on a table, with the values of their placeholders."""

    def __init__(self) -> None:
        self.conditions = ["true"]
        self.values: list[Any] = []

    def add(self, condition: str, *values: Any) -> None:  # noqa: ANN401 - any value of a column
        """Require one more condition, with the values of its placeholders."""
        self.conditions.append(condition)
        self.values.extend(values)

    @property
    def condition(self) -> str:
        """All of them as one condition."""
        return " AND ".join(self.conditions)

    def select(self, table: str, order: str, limit: int) -> tuple[str, list[Any]]:
        """The statement that loads the first rows of a table that match."""
        condition = self.condition
        columns = "stream, version, position, state"
        query = f"SELECT {columns} FROM {table} WHERE {condition} ORDER BY {order} LIMIT %s"
        return query, [*self.values, limit]


PHASES: tuple[str, ...] = get_args(Phase)
ENDED: tuple[str, ...] = get_args(EndPhase)
WORKLOAD_TABLES = ("workload_live", "workload_ended")
"""Those of all rows; the second has those of the phases `ENDED`."""
MAX_INSTANT = 2**63 - 1
_NEWEST = "created_at DESC, stream DESC"
_ORDERED_PAGE = """
    SELECT w.stream, w.version, w.position, w.state
    FROM ({page}) AS page JOIN {rows} AS w USING (stream)
    ORDER BY page.value {direction}, page.created_at DESC, stream DESC
"""
# With `namespace = ANY(…)` or `phase = ANY(…)` Postgres sorts all rows that match, or walks through
# all others; in the order of an index it reads those of the page from each place. Equality of both
# would let it take the index of phases, as it does not know how many of a phase a namespace has.
_NEWEST_OF_EACH = """
    (SELECT found.stream, found.created_at, found.name
     FROM unnest({places}) AS place({columns}) CROSS JOIN LATERAL (
         SELECT stream, created_at, name FROM {rows} AS workload
         WHERE ({own}, created_at) >= ({of_it}, 0)
             AND ({own}, created_at) <= ({of_it}, {up_to}) AND {of_place}
         ORDER BY {newest} LIMIT %s) AS found)
"""
# Names of one phase lie together in an index, those of several do not: each phase is read in order.
# The index has the phase as an expression, so that it is not taken for newest pages.
_NAMES_OF_EACH = """
    (SELECT found.stream, found.created_at, found.name
     FROM unnest(%s::text[]) AS place(phase) CROSS JOIN LATERAL (
         SELECT stream, created_at, name FROM {rows} AS workload
         WHERE workload.phase || '' = place.phase AND {condition}
         ORDER BY {order} LIMIT %s) AS found)
"""
_MERGED_PAGE = """
    SELECT w.stream, w.version, w.position, w.state
    FROM (SELECT stream, created_at, name FROM ({parts} UNION ALL
            (SELECT stream, created_at, name FROM workload
             WHERE stream = ANY(%s) AND phase <> ALL(%s) AND {anywhere}
             ORDER BY {order} LIMIT %s)) AS both_kinds
          ORDER BY {order} LIMIT %s) AS page
        JOIN {rows} AS w USING (stream)
    ORDER BY {of_page}
"""

Statement: TypeAlias = tuple[str, list[Any]]
"""A text, and the values of its placeholders."""


def list_statement(query: WorkloadQuery) -> Statement:
    """Loads a page of workloads; as many rows are read of any number where an index has the order.

    That is so of the newest, of a filter by namespaces and phases too, of the longest stuck, and of
    names. Every other order reads all that match.
    """
    where = matching(query)
    if query.order == NEWEST_FIRST and (query.where.namespaces or phases_of(query)):
        return _of_places(query)
    if query.order == NEWEST_FIRST:
        columns = "stream, version, position, state, created_at"
        return first_of(WORKLOAD_TABLES, columns, where, _NEWEST, query.limit)
    if query.order.field == "name" and query.where.namespaces is None:
        return _by_name(query)
    direction = "DESC" if query.order.descending else "ASC"
    value = at_instant(ORDERS[query.order.field], query.order.at)
    columns, order = f"stream, created_at, {value} AS value", f"value {direction}, {_NEWEST}"
    page, values = first_of(_tables_of(query), columns, where, order, query.limit)
    return _ORDERED_PAGE.format(page=page, rows=table_of(query), direction=direction), values


def table_of(query: WorkloadQuery) -> str:
    """The table that has the rows of all workloads that match."""
    tables = _tables_of(query)
    return tables[0] if len(tables) == 1 else "workload"


def first_of(
    tables: Sequence[str], columns: str, where: Where, order: str, limit: int
) -> Statement:
    """Reads the first rows of these tables, of each in the order of its own index."""
    parts = [
        f"(SELECT {columns} FROM {table} AS workload "
        f"WHERE {where.condition} ORDER BY {order} LIMIT %s)"
        for table in tables
    ]
    values = [*where.values, limit] * len(parts)
    if len(parts) == 1:
        return parts[0], values
    merged = f"SELECT * FROM ({' UNION ALL '.join(parts)}) AS parts ORDER BY {order} LIMIT %s"
    return merged, [*values, limit]


def _of_places(query: WorkloadQuery) -> Statement:
    """The newest of each namespace and phase, read in the order of an index, then merged."""
    namespaces, phases, limit = query.where.namespaces, phases_of(query), query.limit
    columns = ("namespace", "phase") if namespaces else ("phase",)
    inside = replace(query, where=replace(query.where, namespaces=None, phases=()))
    of_place = matching(inside if namespaces else query)
    parts, values = list[str](), list[Any]()
    for table, of_table in _by_table(phases or PHASES).items():
        places = list(zip(*product(namespaces or ("",), of_table), strict=True))
        parts.append(
            _NEWEST_OF_EACH.format(
                places=", ".join("%s::text[]" for _ in columns),
                columns=", ".join(columns),
                rows=table,
                own=", ".join(f"workload.{name}" for name in columns),
                of_it=", ".join(f"place.{name}" for name in columns),
                up_to=MAX_INSTANT if query.after is None else int(query.after[0]),
                newest=", ".join((*(f"{name} DESC" for name in columns), _NEWEST)),
                of_place=of_place.condition,
            )
        )
        values += [*map(list, places[-len(columns) :]), *of_place.values, limit]
    return _merged(query, parts, values, _NEWEST)


def _by_name(query: WorkloadQuery) -> Statement:
    """Those of each phase, read in the order of an index, then merged."""
    where, limit = matching(query), query.limit
    order = f"name {'DESC' if query.order.descending else 'ASC'}, {_NEWEST}"
    parts, values = list[str](), list[Any]()
    for table, of_table in _by_table(phases_of(query) or PHASES).items():
        parts.append(_NAMES_OF_EACH.format(rows=table, condition=where.condition, order=order))
        values += [of_table, *where.values, limit]
    return _merged(query, parts, values, order)


def _merged(query: WorkloadQuery, parts: list[str], values: list[Any], order: str) -> Statement:
    """The first rows of the parts, and of workloads of these keys, which match in any phase."""
    anywhere, phases = matching(query), phases_of(query)
    streams = [workload_stream(key) for key in query.keys] if phases else []
    text = _MERGED_PAGE.format(
        parts=" UNION ALL ".join(parts),
        anywhere=anywhere.condition,
        order=order,
        rows=table_of(query),
        of_page=", ".join(f"page.{term}" for term in order.split(", ")),
    )
    of_keys = (streams, list(phases), *anywhere.values, query.limit)
    return text, [*values, *of_keys, query.limit]


def _tables_of(query: WorkloadQuery) -> tuple[str, ...]:
    return WORKLOAD_TABLES if query.keys else tuple(_by_table(phases_of(query) or PHASES))


def _by_table(phases: Iterable[str]) -> dict[str, list[str]]:
    """The phases by the table of `WORKLOAD_TABLES` that has their rows."""
    found: dict[str, list[str]] = {}
    for phase in phases:
        found.setdefault(WORKLOAD_TABLES[phase in ENDED], []).append(phase)
    return found


def phases_of(query: WorkloadQuery) -> tuple[str, ...]:
    """The phases of which all workloads are that match, but for `keys`; none where any may be."""
    named = (
        tuple(each.texts)
        for each in query.where.conditions
        if isinstance(each, TextCondition) and each.field == "phase" and not each.excludes
    )
    return query.where.phases or next(named, ())


def matching(query: WorkloadQuery) -> Where:
    """`WorkloadFilter.matches` in SQL, and the place of the page."""
    where, wanted = Where(), query.where
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
    where: Where, condition: FieldCondition, unschedulable: list[str], at: Instant
) -> None:
    """`WorkloadFilter.matches` of one condition; what a workload lacks makes it false."""
    text, values = _condition_of(condition, unschedulable, at)
    where.add(f"NOT coalesce({text}, false)" if condition.excludes else f"({text})", *values)


def _condition_of(
    condition: FieldCondition, unschedulable: list[str], at: Instant
) -> tuple[str, list[Any]]:
    match condition:
        case NumberCondition(field=field, comparison=comparison, number=number):
            return f"({at_instant(FIELDS[field], at)}) {_COMPARED[comparison]} %s", [number]
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
            return f"{FIELDS[field]} = ANY(%s)", [list(texts)]
        case TextCondition(field=field, texts=texts):
            part = f"position(%s IN lower({FIELDS[field]})) > 0"
            return f"({' OR '.join([part] * len(texts))})", [folded(text) for text in texts]


def _add_page(where: Where, query: WorkloadQuery) -> None:
    """`comes_after` in SQL."""
    if query.after is None:
        return
    created_at, key = query.after
    age = (created_at, workload_stream(key))
    if query.after_value is None:
        where.add("(created_at, stream) < (%s, %s)", *age)
        return
    value = at_instant(ORDERS[query.order.field], query.order.at)
    behind = "<" if query.order.descending else ">"
    # The first comparison is where an index begins to be read.
    where.add(
        f"{value} {behind}= %s AND ({value} {behind} %s OR (created_at, stream) < (%s, %s))",
        query.after_value,
        query.after_value,
        *age,
    )


def _add_labels(where: Where, selector: LabelSelector) -> None:
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


def events_matching(asked: EventFilter, before: int | None) -> Where:
    """The conditions of a filter on events in the database."""
    found = Where()
    if before is not None:
        found.add("position < %s", before)
    if asked.types:
        found.add("type = ANY(%s)", list(asked.types))
    if asked.streams:
        _add_streams(found, asked.streams)
    named = ((asked.types, "workload."), (asked.streams, "workload/"))
    if any(names and not any(each.startswith(of) for each in names) for names, of in named):
        # Nothing of a workload: as the index of all others has it.
        found.add("NOT starts_with(stream, 'workload/')")
    if asked.actor:
        found.add("actor = %s", asked.actor)
    if asked.correlation:
        found.add("correlation = %s", asked.correlation)
    if asked.after:
        found.add("position > %s", asked.after)
    times = (("at >= %s", asked.since), ("at < %s", asked.until))
    for condition, bound in (*times, ("position <= %s", asked.up_to)):
        if bound is not None:
            found.add(condition, bound)
    return found


def _add_streams(found: Where, streams: Iterable[str]) -> None:
    alternatives: list[str] = []
    values: list[str] = []
    for stream in streams:
        if stream.endswith("/"):
            # "0" follows "/": everything in between begins with the prefix.
            alternatives.append("stream >= %s AND stream < %s")
            values.extend((stream, stream[:-1] + "0"))
        else:
            alternatives.append("stream = %s")
            values.append(stream)
    found.add("(" + " OR ".join(alternatives) + ")", *values)
