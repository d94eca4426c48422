"""Events to the JSON that is stored and back, by stored name and schema version."""

import re
from collections.abc import Mapping
from typing import cast

import msgspec

from headgate.domain.recorded_event import DomainEvent
from headgate.event_log.catalogue import CLASSES_BY_NAME, schema_version_of
from headgate.event_log.upcasters import UPCASTERS, Fields, Step

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
    name, tag_length = _TAGS[type(event)]
    written = _ENCODER.encode(event)
    if b"\\u0000" in written and _NUL.search(written):
        raise Unstorable(f"{name} holds the character U+0000 in a text")
    # The name has a column of its own; msgspec writes it first, as `{"type":"<name>"`.
    rest = written[tag_length:]
    return name, schema_version_of(name), b"{" + (rest[1:] if rest[:1] == b"," else rest)


def decode(name: str, schema_version: int, fields: bytes | str) -> DomainEvent:
    """The event that was stored; raises `UnknownEvent` for what this program does not know."""
    decoder = _DECODERS.get(name)
    current = schema_version_of(name)
    if decoder is None or not 1 <= schema_version <= current:
        raise UnknownEvent(f"no event {name!r} of schema version {schema_version} is known")
    if schema_version == current:
        return decoder.decode(fields)
    old = cast("Fields", msgspec.json.decode(fields))
    return msgspec.convert(upcast(name, schema_version, current, old), CLASSES_BY_NAME[name])


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
