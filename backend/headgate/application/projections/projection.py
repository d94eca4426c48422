"""The shape of a followed read model: facts in, changes of rows out."""

from collections.abc import MutableMapping
from typing import Any, Protocol

import msgspec

from headgate.domain.recorded_event import RecordedEvent

ProjectionState = MutableMapping[str, str]
"""What a fold remembers from one fact to the next, by key; kept with the rows."""


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


RowChange = Put | Amend | Count


class Projection(Protocol):
    """One followed read model; its rows are in the table of its name."""

    @property
    def name(self) -> str:
        """The name of the read model and of its table."""

    def state_keys(self, recorded: RecordedEvent) -> tuple[str, ...]:
        """The keys of memory that the fold of this fact may look at."""

    def changes(self, recorded: RecordedEvent, memory: ProjectionState) -> list[RowChange]:
        """How a fact changes the rows; may change the memory."""
