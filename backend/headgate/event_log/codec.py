"""Events to the JSON that is stored and back, by stored name and schema version."""

import re
from collections.abc import Mapping
from typing import cast

import msgspec

from headgate.domain.recorded_event import DomainEvent, EventIgnored
from headgate.event_log.catalogue import (
    CLASSES_BY_NAME,
    IGNORABLE,
    LATER_FIELDS,
    READABLE_SINCE,
    READABLE_SINCE_RETRIES,
    schema_version_of,
)
from headgate.event_log.upcasters import UPCASTERS, Fields, Step

IGNORABLE_FIELD = "ignorable"
"""In the body of an event: releases that do not know it may go on without it."""
SINCE_FIELD = "readable_since"
"""In the body of an event: the least schema version of its name that can read it."""

_NUL = re.compile(rb"(?<!\\)(?:\\\\)*\\u0000")


class UnknownEvent(LookupError):
    """The log holds an event that this program is too old to read, or that was never an event."""


class Unstorable(ValueError):
    """A text holds a character that no text in the database may hold."""


def _decoder_of(event_class: type[DomainEvent]) -> msgspec.json.Decoder[DomainEvent]:
    return msgspec.json.Decoder(event_class)


_ENCODER = msgspec.json.Encoder()
_DECODERS = {name: _decoder_of(event_class) for name, event_class in CLASSES_BY_NAME.items()}
_TAGS = {
    event_class: (name, len(f'{{"type":"{name}"')) for name, event_class in CLASSES_BY_NAME.items()
}


def encode(event: DomainEvent) -> tuple[str, int, bytes]:
    """The stored name, schema version and JSON fields of an event.

    Raises `Unstorable` where a text holds U+0000.
    """
    if isinstance(event, EventIgnored):
        return event.name, event.schema_version, event.body
    name, tag_length = _TAGS[type(event)]
    written = _ENCODER.encode(event)
    if b"\\u0000" in written and _NUL.search(written):
        raise Unstorable(f"{name} holds the character U+0000 in a text")
    # The name has a column of its own; msgspec writes it first, as `{"type":"<name>"`.
    rest = written[tag_length:]
    fields = b"{" + (rest[1:] if rest[:1] == b"," else rest)
    return name, schema_version_of(name), _declared(name, fields)


def _declared(name: str, fields: bytes) -> bytes:
    """The fields with what releases before this one need to know about the event (ADR 0028)."""
    since = READABLE_SINCE.get(name)
    if since is not None and LATER_FIELDS.search(fields):
        since = READABLE_SINCE_RETRIES.get(name)
    if name not in IGNORABLE and since is None:
        return fields
    said = b'"ignorable":true' if name in IGNORABLE else b'"readable_since":%d' % (since or 0)
    return b"{" + said + (b"," if len(fields) > len(b"{}") else b"") + fields[1:]


def decode(name: str, schema_version: int, fields: bytes | str) -> DomainEvent:
    """The event that was stored; unknown fields are ignored.

    An event of a later release is read as far as its body says that it can be (ADR 0028): it is
    `EventIgnored` if it may be ignored. Raises `UnknownEvent` for all others.
    """
    decoder = _DECODERS.get(name)
    current = schema_version_of(name)
    if decoder is None or not 1 <= schema_version <= current:
        return _decode_later(name, schema_version, fields)
    if schema_version == current:
        return decoder.decode(fields)
    old = cast("Fields", msgspec.json.decode(fields))
    return msgspec.convert(upcast(name, schema_version, current, old), CLASSES_BY_NAME[name])


def _decode_later(name: str, schema_version: int, fields: bytes | str) -> DomainEvent:
    decoder = _DECODERS.get(name)
    body = msgspec.json.decode(fields)
    declared: Fields = body if isinstance(body, dict) else {}
    since = declared.get(SINCE_FIELD)
    if decoder is not None and isinstance(since, int) and 1 <= since <= schema_version_of(name):
        return decoder.decode(fields)
    if declared.get(IGNORABLE_FIELD) is True and schema_version > 0:
        stored = fields if isinstance(fields, bytes) else fields.encode()
        return EventIgnored(name=name, schema_version=schema_version, body=stored)
    raise UnknownEvent(f"no event {name!r} of schema version {schema_version} is known")


def upcast(
    name: str,
    schema_version: int,
    target: int,
    fields: Fields,
    steps: Mapping[tuple[str, int], Step] = UPCASTERS,
) -> Fields:
    """The fields as they would have been written in schema version `target`."""
    for version in range(schema_version, target):
        step = steps.get((name, version))
        if step is None:
            raise UnknownEvent(f"{name!r} cannot be brought from schema version {version} on")
        fields = step(fields)
    return fields
