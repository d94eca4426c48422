"""The event catalogue, and events to the JSON that is stored and back.

The catalogue has the stored name and the current schema version of every event, and its class.
"""

import re
from collections.abc import Mapping
from itertools import compress
from typing import cast, get_args

import msgspec

from headgate.domain.kinds.registry import KINDS
from headgate.domain.recorded_event import DomainEvent, EventIgnored, LogEvent
from headgate.domain.rounds.state import RoundEvent
from headgate.domain.starts import PredictionEvent
from headgate.domain.workloads.events import WorkloadEvent
from headgate.event_log.upcasters import ALWAYS_WRITTEN, UPCASTERS, Fields, Step

EVENT_CLASSES: tuple[type[DomainEvent], ...] = (
    *(event for kind in KINDS for event in kind.events),
    *get_args(WorkloadEvent),
    *get_args(RoundEvent),
    *get_args(PredictionEvent),
    *get_args(LogEvent),
)


def name_of(event_class: type[DomainEvent]) -> str:
    """The stored name of an event class, for ever the same."""
    return str(event_class.__struct_config__.tag)


def stored_name_of(event: DomainEvent) -> str:
    """The name an event is stored under; of an ignored event that of the later release."""
    return event.name if isinstance(event, EventIgnored) else name_of(type(event))


SCHEMA_VERSIONS: dict[str, int] = {
    "round.aborted": 2,
    "round.committed": 3,
    "workload.eviction_cancelled": 2,
    "workload.explained": 3,
    "workload.submitted": 9,
    "workload.spec_changed": 8,
    "workload.evicted": 2,
    "workload.pods_evicted": 3,
    "workload.shrunk": 2,
    "workload.reservation_dropped": 2,
    "workload.deactivated": 3,
    "workload.finished": 2,
    "workload.eviction_forced": 2,
    "workload.scaled_down": 2,
    "workload.deleted": 2,
    "workload.imported": 2,
    **{
        name_of(event): 2
        for kind in KINDS
        if kind.name not in ALWAYS_WRITTEN
        for event in (kind.created, kind.changed)
    },
    "node.created": 4,
    "node.changed": 4,
    "executor.created": 6,
    "executor.changed": 6,
    "executor.orphans_reported": 3,
    "configuration.created": 11,
    "configuration.changed": 11,
    "cluster_queue.created": 4,
    "cluster_queue.changed": 4,
}
"""The current schema version by stored name; names that are absent are at version 1.

Version 2 of the creation and change of a configured object names what its author wrote, version 3
of those of the Configuration the limit of objects in a namespace, version 4 its rules of submission
and version 5 whether nodes below topologies are checked, version 4 of a workload's submission and
version 3 of its change the pod templates that stand beside the log.
The versions after these have what executors say of nodes and of themselves, and a workload's own
nodeLossPolicy; then a workload's spec has its retries and completions, then what its pods need of
executors and require of the pods around them, and an Executor its orphaned pods. Version 3 of
a pending reason has what is free of what an unschedulable workload lacks. Version 3 of a
deactivation may be for an invalid topology request. Version 2 of a scale-down says whether indices
come again with their next run, and that of an import the attempts before it. Version 5 of an
Executor and version 2 of its report have the uids of orphaned pods; the version after these counts
the losses of the log that the report knows. Version 3 of a partial eviction and of a round, and
version 2 of its end, name the pods that leave. Version 2 of a deletion tells phase, LocalQueue,
creation and end of a workload that had ended. Version 4 of a node has the errors of its devices.
"""

READABLE_SINCE: dict[str, int] = {
    "round.committed": 2,
    "workload.explained": 2,
    "workload.submitted": 5,
    "workload.spec_changed": 4,
    "workload.deactivated": 2,
    "workload.scaled_down": 1,
    "workload.deleted": 1,
    "workload.imported": 1,
    "cluster_queue.created": 2,
    "cluster_queue.changed": 2,
    "executor.created": 3,
    "executor.changed": 3,
    "node.created": 3,
    "node.changed": 3,
}
"""By stored name the least schema version that reads an event written now, if it is a lower one.

A release of that version finds all it needs, unless the event `has_later_fields`: what was
added since are fields that it may ignore.
"""
_OF_A_SPEC = re.compile(
    rb'"(?:completions|retry_policy|ttl_seconds_after_finished)":(?!null)|"success_rules":\[(?!\])'
)
_OF_A_QUEUE = re.compile(
    rb'"partial_admission":"B|"backoff_limit_counts":"T|"retry_limit_from":"Q'
    rb'|"unscheduled_timeout_seconds":[1-9]|"workload_timeouts":true'
)
_OF_AROUND_PODS = re.compile(rb'"pod_constraints":\{')
"""Releases without it would place such pods anywhere."""
_OF_UNITS = (b'"disruption_mode":"R', b'"pod_set_protections":{"')
"""Releases without either would preempt other pods."""
_OF_A_DEACTIVATION = b'"cause":"TopologyRequestInvalid"'
_OF_A_SCALE_DOWN = b'"next_runs":true'
_OF_AN_ADOPTION = re.compile(rb'"attempts":[1-9]')
READABLE_WITH_LATER_FIELDS: dict[str, tuple[int, int, int]] = {
    "workload.submitted": (9, 8, 6),
    "workload.spec_changed": (8, 7, 5),
}
"""The least schema version that reads an event with fields of each of the three, newest first."""
IGNORABLE: frozenset[str] = frozenset(
    {
        *("workload.session_opened", "executor.orphans_reported", "executor.orphans_decided"),
        *("prediction.recorded", "prediction.checked", "log.snapshot_discarded"),
        *(name_of(event) for kind in KINDS if kind.name in ALWAYS_WRITTEN for event in kind.events),
    }
)
"""Stored names of events without effect on any state that releases before them fold."""

CLASSES_BY_NAME: dict[str, type[DomainEvent]] = {name_of(known): known for known in EVENT_CLASSES}


def schema_version_of(name: str) -> int:
    """The version in which events of that name are written now."""
    return SCHEMA_VERSIONS.get(name, 1)


IGNORABLE_FIELD = "ignorable"
"""In the body of an event: releases that do not know it may go on without it."""
SINCE_FIELD = "readable_since"
"""In the body of an event: the least schema version of its name that can read it."""

_SINCE = re.compile(rb'\A\{"readable_since":\d{1,9},?')
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


def has_later_fields(name: str, fields: bytes) -> bool:
    """Whether an event has fields, other than their defaults, that releases before them need."""
    if name.startswith("cluster_queue."):
        return _OF_A_QUEUE.search(fields) is not None
    if name == "workload.deactivated":
        return _OF_A_DEACTIVATION in fields
    if name == "workload.scaled_down":
        return _OF_A_SCALE_DOWN in fields
    if name == "workload.imported":
        return _OF_AN_ADOPTION.search(fields) is not None
    return any(_kinds_of_later_fields(fields))


def _kinds_of_later_fields(fields: bytes) -> tuple[bool, bool, bool]:
    """Whether a workload's event has such fields, in the order of `READABLE_WITH_LATER_FIELDS`."""
    return (
        any(each in fields for each in _OF_UNITS),
        _OF_AROUND_PODS.search(fields) is not None,
        _OF_A_SPEC.search(fields) is not None,
    )


def _declared(name: str, fields: bytes) -> bytes:
    """The fields with what releases before this one need to know about the event (ADR 0028)."""
    since = READABLE_SINCE.get(name)
    if since is not None and has_later_fields(name, fields):
        versions = READABLE_WITH_LATER_FIELDS.get(name, ())
        since = next(compress(versions, _kinds_of_later_fields(fields)), None)
    if name not in IGNORABLE and since is None:
        return fields
    said = b'"ignorable":true' if name in IGNORABLE else b'"readable_since":%d' % (since or 0)
    return b"{" + said + (b"," if len(fields) > len(b"{}") else b"") + fields[1:]


def without_since(fields: bytes) -> bytes:
    """The fields without the note for releases before this one, which stands first."""
    return _SINCE.sub(b"{", fields, count=1)


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
