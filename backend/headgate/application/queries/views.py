"""What the views have in common: camelCase names, integers in base units, RFC 3339 instants."""

from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Annotated, Any, TypeVar

import msgspec

from headgate.application.access.redaction import message_json
from headgate.domain.values.instants import Instant
from headgate.domain.values.message import Message
from headgate.messages.rendering import IsVisible, everything_visible

Timestamp = Annotated[
    str,
    msgspec.Meta(description="RFC 3339, UTC", examples=["2026-09-24T12:03:11Z"], max_length=64),
]
Position = Annotated[int, msgspec.Meta(ge=0, description="A place in the log", examples=[182233])]
Free = dict[str, Any]
"""A JSON object with fields of another definition."""

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Schema(msgspec.Struct, rename="camel", kw_only=True, frozen=True, omit_defaults=True):
    """A view that leaves out what is empty."""


class Whole(msgspec.Struct, rename="camel", kw_only=True, frozen=True):
    """A view with all fields always present."""


class MessageView(Whole, kw_only=True, frozen=True):
    """The code and arguments of a message, of which the text stands beside it."""

    code: str
    arguments: Free


def message_view(found: Message, is_visible: IsVisible = everything_visible) -> MessageView:
    """Returns a message redacted for a reader."""
    shown = message_json(found, is_visible)
    return MessageView(code=shown["code"], arguments=shown["arguments"])


def timestamp(at: Instant) -> str:
    """The instant as RFC 3339 in UTC, with a fraction only where there is one."""
    written = (EPOCH + timedelta(microseconds=at)).isoformat()
    return written.replace("+00:00", "Z")


def timestamp_or_none(at: Instant | None) -> str | None:
    """The same for an instant that may be missing."""
    return None if at is None else timestamp(at)


View = TypeVar("View", bound=msgspec.Struct)


def view_from(schema: type[View], source: object, **others: object) -> View:
    """Returns a view with the attributes of `source` of the same names, or those in `others`.

    Instants become timestamps, and tuples lists.
    """
    values = {
        name: _shown(getattr(source, name), is_timestamp=is_timestamp)
        for name, is_timestamp in _fields_of(schema)
        if name not in others
    }
    return schema(**values, **others)


def _shown(value: Any, *, is_timestamp: bool) -> Any:  # noqa: ANN401 - of any field
    if is_timestamp:
        return timestamp_or_none(value)
    return list(value) if isinstance(value, tuple) else value


@cache
def _fields_of(schema: type[msgspec.Struct]) -> tuple[tuple[str, bool], ...]:
    """The names of the fields of a view, and whether each is a timestamp."""
    timestamps = (Timestamp, Timestamp | None)
    return tuple((each.name, each.type in timestamps) for each in msgspec.structs.fields(schema))
