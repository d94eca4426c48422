"""Projections: read models that follow the log as pure folds from events to rows."""

from collections.abc import MutableMapping
from typing import Any, Protocol

import msgspec

from headgate.domain.recorded_event import DomainEvent, RecordedEvent

ProjectionState = MutableMapping[str, str]
"""The state of a fold from one event to the next, by key; stored with the rows."""


class Put(msgspec.Struct, frozen=True):
    """The row with this key now has these values; others of its values stay as they are."""

    key: dict[str, Any]
    values: dict[str, Any]


class Amend(msgspec.Struct, frozen=True):
    """All rows that have these values now have those values as well."""

    where: dict[str, Any]
    values: dict[str, Any]


class Count(msgspec.Struct, frozen=True):
    """One more of something in the row with this key."""

    key: dict[str, Any]
    counter: str


class Remove(msgspec.Struct, frozen=True):
    """All rows that have these values are gone."""

    where: dict[str, Any]


RowChange = Put | Amend | Count | Remove


class Projection(Protocol):
    """One followed read model; its rows are in the table of its name."""

    @property
    def name(self) -> str:
        """The name of the read model and of its table."""

    def folds(self, event_class: type[DomainEvent]) -> bool:
        """Whether an event of this class may change rows or state; others are not even read."""

    def state_keys(self, recorded: RecordedEvent) -> tuple[str, ...]:
        """Returns the keys of the state that the fold of this event may read."""

    def changes(self, recorded: RecordedEvent, memory: ProjectionState) -> list[RowChange]:
        """Returns the changes of rows by an event; may change the state."""
