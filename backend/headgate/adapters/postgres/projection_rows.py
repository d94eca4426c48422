"""Changes of a followed read model as statements, all within one generation of its rows."""

from collections import Counter
from collections.abc import Iterable, Iterator, MutableMapping
from hashlib import sha256
from typing import Any

from psycopg import sql
from psycopg.types.json import Jsonb

from headgate.adapters.postgres.append_encoding import document_of, stored_form
from headgate.adapters.postgres.connections import Connection, dictionary_of, stored_rows
from headgate.application.projections import Amend, Count, Put, Remove, RowChange

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
