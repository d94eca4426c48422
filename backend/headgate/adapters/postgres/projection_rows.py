"""Rows of followed read models, within one generation: changes as statements, and sums of them."""

from collections import Counter
from collections.abc import Iterable, Iterator, MutableMapping, Sequence
from hashlib import sha256
from typing import Any, get_args

from psycopg import sql
from psycopg.types.json import Jsonb

from headgate.adapters.postgres.append_encoding import document_of, stored_form
from headgate.adapters.postgres.connections import Connection, dictionary_of, stored_rows
from headgate.application.projections import Amend, Count, Put, Remove, RowChange
from headgate.application.projections.followers import (
    MAX_SUMS,
    MIN_REPEATS,
    PreemptionQuery,
    PreemptionSum,
    PreemptionSums,
)
from headgate.domain.rounds.state import PreemptionReason

_RECALL = "SELECT key, value FROM follower_memory WHERE key = ANY(%b)"
_REMEMBER = """
    INSERT INTO follower_memory (follower, generation, key, value)
    SELECT %s, %s, given.key, given.value FROM unnest(%b::bytea[], %b::bytea[]) AS given(key, value)
    ON CONFLICT (key) DO UPDATE SET value = excluded.value
"""
"""The arrays are binary: as text, each quote of each value is escaped by a regular expression."""
_FORGET = "DELETE FROM follower_memory WHERE key = ANY(%b)"
DIGEST_BYTES = 15
"""With its length in the row 16, so that an entry of the index is not rounded up."""


RowKey = tuple[tuple[str, Any], ...]
"""The columns of a key with their values."""


class LoadedState(MutableMapping[str, str]):
    """The part of a fold's memory that one batch needs, and what it changed of it."""

    def __init__(self, known: dict[str, str]) -> None:
        self._known = known
        self._changed: set[str] = set()

    def __getitem__(self, key: str) -> str:
        return self._known[key]

    def __setitem__(self, key: str, value: str) -> None:
        self._known[key] = value
        self._changed.add(key)

    def __delitem__(self, key: str) -> None:
        del self._known[key]
        self._changed.add(key)

    def __iter__(self) -> Iterator[str]:
        return iter(self._known)

    def __len__(self) -> int:
        return len(self._known)

    def changes(self) -> tuple[dict[str, str], list[str]]:
        """What is to be remembered, and what to be forgotten."""
        kept = {key: self._known[key] for key in sorted(self._changed) if key in self._known}
        return kept, [key for key in sorted(self._changed) if key not in self._known]


class ProjectionRows:
    """The rows and the memory of one read model in one generation, inside a transaction."""

    def __init__(self, connection: Connection, name: str, generation: int) -> None:
        self._connection = connection
        self._name = name
        self._generation = generation

    def recall(self, keys: Iterable[str]) -> LoadedState:
        """The memory under these keys."""
        wanted = {self._digest(key): key for key in keys}
        rows = stored_rows(self._connection, _RECALL, (sorted(wanted),), 1, binary=True)
        return LoadedState({wanted[digest]: document_of(value).decode() for digest, value in rows})

    def remember(self, memory: LoadedState) -> None:
        """Keep what a batch changed of the memory."""
        kept, forgotten = memory.changes()
        if kept:
            digests = [self._digest(key) for key in kept]
            dictionary = dictionary_of(self._connection)
            values = [stored_form(value.encode(), dictionary) for value in kept.values()]
            place = (self._name, self._generation)
            self._connection.execute(_REMEMBER, (*place, digests, values))
        if forgotten:
            self._connection.execute(_FORGET, ([self._digest(key) for key in forgotten],))

    def _digest(self, key: str) -> bytes:
        """What a key stands for in the table, in this generation of this read model."""
        named = f"{self._name}\n{self._generation}\n{key}"
        return sha256(named.encode()).digest()[:DIGEST_BYTES]

    def apply(self, changes: Iterable[RowChange]) -> None:
        """Make these changes in order; counts, which commute, come last and summed up."""
        counted: dict[str, Counter[RowKey]] = {}
        waiting = _WaitingRows()
        for change in changes:
            match change:
                case Put(key=key, values=values):
                    waiting.put(tuple(key.items()), values)
                case Count(key=key, counter=counter):
                    counted.setdefault(counter, Counter())[tuple(key.items())] += 1
                case Amend():
                    self._write(waiting)
                    self._amend(change)
                case Remove(where=where) if waiting.can_remove(where):
                    waiting.remove(where)
                case Remove(where=where):
                    self._write(waiting)
                    self._remove(where)
        self._write(waiting)
        for counter, numbers in counted.items():
            self._count(counter, numbers)

    def _write(self, waiting: "_WaitingRows") -> None:
        """Make the changes that wait; none are left."""
        for column, values in waiting.removed.items():
            query = sql.SQL("DELETE FROM {} WHERE generation = %s AND {} = ANY(%s)").format(
                sql.Identifier(self._name), sql.Identifier(column)
            )
            self._connection.execute(query, (self._generation, list(values)))
        self._put(waiting.rows())
        waiting.clear()

    def _put(self, rows: Iterable[tuple[RowKey, dict[str, Any]]]) -> None:
        """In one statement for all rows with values in the same columns."""
        groups: dict[tuple[tuple[str, ...], tuple[str, ...]], list[dict[str, Any]]] = {}
        for key, values in rows:
            row = {"generation": self._generation, **dict(key), **values}
            names = tuple(name for name, _ in key), tuple(sorted(values))
            groups.setdefault(names, []).append(row)
        for (key_names, columns), given in groups.items():
            query = sql.SQL(
                "INSERT INTO {0} ({1}) SELECT {1} FROM jsonb_populate_recordset(NULL::{0}, %s) "
                "ON CONFLICT ({2}) DO UPDATE SET {3}"
            ).format(
                sql.Identifier(self._name),
                _names(["generation", *key_names, *columns]),
                _names(["generation", *key_names]),
                sql.SQL(", ").join(
                    sql.SQL("{0} = excluded.{0}").format(sql.Identifier(name)) for name in columns
                ),
            )
            self._connection.execute(query, (Jsonb(given),))

    def _remove(self, where: dict[str, Any]) -> None:
        found = {"generation": self._generation, **where}
        query = sql.SQL("DELETE FROM {} WHERE {}").format(
            sql.Identifier(self._name), _assignments(found, " AND ")
        )
        self._connection.execute(query, [_stored(value) for value in found.values()])

    def _amend(self, change: Amend) -> None:
        where = {"generation": self._generation, **change.where}
        query = sql.SQL("UPDATE {} SET {} WHERE {}").format(
            sql.Identifier(self._name),
            _assignments(change.values, ", "),
            _assignments(where, " AND "),
        )
        values = [_stored(value) for value in (*change.values.values(), *where.values())]
        self._connection.execute(query, values)

    def _count(self, counter: str, numbers: Counter[RowKey]) -> None:
        """In one statement: a thousand queues in a minute would be a thousand of them."""
        rows = [
            {"generation": self._generation, **dict(key), counter: number}
            for key, number in numbers.items()
        ]
        columns = _names(rows[0])
        query = sql.SQL(
            "INSERT INTO {0} AS known ({1}) "
            "SELECT {1} FROM jsonb_populate_recordset(NULL::{0}, %s) "
            "ON CONFLICT ({2}) DO UPDATE SET {3} = known.{3} + excluded.{3}"
        ).format(
            sql.Identifier(self._name),
            columns,
            _names(name for name in rows[0] if name != counter),
            sql.Identifier(counter),
        )
        self._connection.execute(query, (Jsonb(rows),))


class _WaitingRows:
    """Changes that are not yet made: rows to be removed, by a column, and then rows to be put.

    Rows that are put and then removed are not written at all: workloads come and go in a batch.
    """

    def __init__(self) -> None:
        self.removed: dict[str, dict[Any, None]] = {}
        self._put: dict[tuple[str, Any], dict[RowKey, dict[str, Any]]] = {}

    def put(self, key: RowKey, values: dict[str, Any]) -> None:
        """A row has these values."""
        self._put.setdefault(key[0], {}).setdefault(key, {}).update(values)

    def can_remove(self, where: dict[str, Any]) -> bool:
        """Whether the rows that wait and are to be removed are found by the first of their key."""
        column, _ = next(iter(self._put), (next(iter(where)), None))
        return list(where) == [column]

    def remove(self, where: dict[str, Any]) -> None:
        """All rows that have this value are gone, whatever was put before."""
        ((column, value),) = where.items()
        self.removed.setdefault(column, {})[value] = None
        self._put.pop((column, value), None)

    def rows(self) -> Iterator[tuple[RowKey, dict[str, Any]]]:
        """The rows to be put."""
        return (row for rows in self._put.values() for row in rows.items())

    def clear(self) -> None:
        """The changes are made."""
        self.removed.clear()
        self._put.clear()


def _names(columns: Iterable[str]) -> sql.Composed:
    return sql.SQL(", ").join(sql.Identifier(column) for column in columns)


def _assignments(values: Iterable[str], separator: str) -> sql.Composed:
    return sql.SQL(separator).join(
        sql.SQL("{} = {}").format(sql.Identifier(name), sql.Placeholder()) for name in values
    )


def _stored(value: Any) -> Any:  # noqa: ANN401 - any value of a column
    return Jsonb(value) if isinstance(value, dict) else value


_RULES = sorted(get_args(PreemptionReason))
# A bit for each: with `array_agg(DISTINCT rule)` all rows would be sorted for each sum.
_RULE_BITS = " ".join(f"WHEN '{rule}' THEN {1 << nth}" for nth, rule in enumerate(_RULES))
_FOUND = """
    SELECT * FROM preemption_victim WHERE generation = %(generation)s
        AND committed_at >= %(since)s AND committed_at <= %(until)s AND position <= %(up_to)s
"""
_FIGURES = f"""
    count(*) FILTER (WHERE is_first) AS of_all,
    count(*) FILTER (WHERE is_first_of_queue) AS of_queue,
    count(*) FILTER (WHERE is_first_of_rule) AS of_rule, count(*) AS victims,
    sum(gpu_seconds) AS gpu_seconds, max(preemptor_priority) AS priority,
    bit_or(CASE rule {_RULE_BITS} ELSE 0 END) AS rules,
    min(committed_at) AS first_at, max(committed_at) AS last_at
"""
# Rows are gone through three times; sums of queues and rules, which are few, are sums of these.
_GROUPS = {
    "of_queues": (
        f"SELECT preemptor_queue, victim_queue, rule, {_FIGURES} FROM found GROUP BY 1, 2, 3"
    ),
    "of_preemptors": (
        f"SELECT preemptor, max(preemptor_queue) AS preemptor_queue, {_FIGURES}"
        " FROM found GROUP BY 1"
    ),
    "of_workloads": (
        "SELECT least(preemptor, victim) AS one, greatest(preemptor, victim) AS other,"
        f" max(preemptor_queue) AS preemptor_queue, {_FIGURES}"
        f" FROM found GROUP BY 1, 2 HAVING count(*) >= {MIN_REPEATS}"
    ),
}
_SUM = """
    SELECT '{kind}', ARRAY[{names}]::text[], coalesce(sum({rounds}), 0)::bigint AS rounds,
        coalesce(sum(victims), 0)::bigint AS victims,
        coalesce(sum(gpu_seconds), 0)::bigint AS gpu_seconds,
        coalesce(max(preemptor_queue), ''), coalesce(max(priority), 0),
        coalesce(bit_or(rules), 0), coalesce(min(first_at), 0), coalesce(max(last_at), 0)
    FROM {rows} GROUP BY {groups} ORDER BY {order}, 2 LIMIT {limit}
"""
_COSTLY_FIRST = "gpu_seconds DESC, victims DESC"
_SUMS_OF = (
    ("total", "", "of_all", "of_queues", _COSTLY_FIRST),
    ("preemptors", "preemptor", "of_all", "of_preemptors", _COSTLY_FIRST),
    ("pairs", "preemptor_queue, victim_queue", "of_queue", "of_queues", _COSTLY_FIRST),
    ("queues", "preemptor_queue", "of_all", "of_queues", _COSTLY_FIRST),
    ("rules", "rule", "of_rule", "of_queues", _COSTLY_FIRST),
    ("repeated", "one, other", "victims", "of_workloads", "rounds DESC"),
)
"""What each sum is of: its names, what counts its rounds, the rows it is of, and its order."""
_SUMS = (
    "WITH found AS MATERIALIZED ({found}), "
    + ", ".join(f"{name} AS ({query})" for name, query in _GROUPS.items())
) + " UNION ALL ".join(
    "("
    + _SUM.format(
        kind=kind,
        names=names,
        rounds=rounds,
        rows=rows,
        groups=names or "()",
        order=order,
        limit=MAX_SUMS,
    )
    + ")"
    for kind, names, rounds, rows, order in _SUMS_OF
)
_MEMORY_OF_SUMS = "SET LOCAL work_mem = '64MB'"
_HAVING = {
    "workload": "bool_or(%(workload)s IN (preemptor, victim))",
    "cluster_queue": "bool_or(%(cluster_queue)s IN (preemptor_queue, victim_queue))",
    "preemptor_queue": "bool_or(preemptor_queue = %(preemptor_queue)s)",
    "victim_queue": "bool_or(victim_queue = %(victim_queue)s)",
    "cohort": "bool_or(%(cohort)s IN (preemptor_cohort, victim_cohort))",
    "rule": "bool_or(rule = %(rule)s)",
    "namespaces": "bool_or(split_part(preemptor, '/', 1) = ANY(%(namespaces)s)"
    " OR split_part(victim, '/', 1) = ANY(%(namespaces)s))",
}
_END = 2**63 - 1


def preemption_sums(
    connection: Connection, generation: int, position: int, query: PreemptionQuery
) -> PreemptionSums:
    """The sums over the rounds of a query; those of no other time are read."""
    conditions = {
        name: sorted(value) if isinstance(value, frozenset) else value
        for name in _HAVING
        if (value := getattr(query, name)) not in ("", None)
    }
    found = _FOUND
    if conditions:
        having = " AND ".join(_HAVING[name] for name in conditions)
        found = (
            f"WITH chosen AS MATERIALIZED ({_FOUND}) SELECT * FROM chosen WHERE round IN"
            f" (SELECT round FROM chosen GROUP BY round HAVING {having})"
        )
    values = {
        **conditions,
        "generation": generation,
        "since": 0 if query.since is None else query.since,
        "until": _END if query.until is None else query.until,
        "up_to": _END if query.up_to is None else query.up_to,
    }
    connection.execute(_MEMORY_OF_SUMS)
    rows = connection.execute(_SUMS.format(found=found), values).fetchall()
    sums: dict[str, list[PreemptionSum]] = {}
    for kind, *columns in rows:
        sums.setdefault(kind, []).append(_as_sum(columns))
    (total,) = sums.pop("total")
    return PreemptionSums(position=position, total=total, **sums)


def _as_sum(columns: Sequence[Any]) -> PreemptionSum:
    names, rounds, victims, gpu_seconds, queue, priority, rules, first_at, last_at = columns
    return PreemptionSum(
        names=tuple(names),
        rounds=rounds,
        victims=victims,
        gpu_seconds=gpu_seconds,
        cluster_queue=queue,
        priority=priority,
        rules=tuple(rule for nth, rule in enumerate(_RULES) if rules & 1 << nth),
        first_at=first_at,
        last_at=last_at,
    )
