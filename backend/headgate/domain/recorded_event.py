"""An event with what the log keeps beside it, counts, names of streams, events about the log."""

from collections.abc import Mapping
from typing import Any, TypeAlias

import msgspec

from headgate.domain.kinds.configured_object import Absent, ObjectEvent
from headgate.domain.kinds.registry import KINDS_BY_STREAM
from headgate.domain.rounds.state import RoundEvent
from headgate.domain.rounds.state import evolve as evolve_round
from headgate.domain.starts import PredictionEvent, evolve_prediction
from headgate.domain.values.instants import Instant
from headgate.domain.values.message import ObjectReference
from headgate.domain.workloads.events import WorkloadEvent, WorkloadOwner, WorkloadSubmitted
from headgate.domain.workloads.evolve import evolve as evolve_workload


def stream_of(kind: str, name: str, namespace: str = "") -> str:
    """The stream of an object: `kind/name`, in a namespace `kind/namespace/name`."""
    return f"{kind}/{namespace}/{name}" if namespace else f"{kind}/{name}"


LOG_STREAM = "log/history"
"""The stream of what happened to the log itself."""


ERASURE_STREAM = "log/erasures"
"""The stream of erasures of what was written."""


SNAPSHOT_STREAM = "log/snapshots"
"""The stream of snapshots that were found to differ from the log."""


def workload_stream(key: str) -> str:
    """The stream of the workload with that key (`namespace/name`)."""
    return f"workload/{key}"


def round_stream(round_id: str) -> str:
    """The stream of a preemption round."""
    return f"round/{round_id}"


def kind_and_key(stream: str) -> tuple[str, str]:
    """The kind, and the name or `namespace/name`, that a stream is about."""
    kind, _, key = stream.partition("/")
    return kind, key


class LogRewound(msgspec.Struct, frozen=True, kw_only=True, tag="log.rewound"):
    """The log lost events that a process had read: a backup was restored or a standby promoted.

    `read_up_to` is the last position that the process had read, `head` the last position of the log
    when the process read it again; `observer` names the process. The lost events lie somewhere up
    to `read_up_to`; where they begin, the log does not tell.
    """

    read_up_to: int
    head: int
    observer: str


class ContentErased(msgspec.Struct, frozen=True, kw_only=True, tag="log.content_erased"):
    """Pod templates or objects as written were deleted, by their digests; the content is nowhere.

    `object` is the owner of the content; None where only a digest was given.
    """

    digests: tuple[str, ...]
    object: ObjectReference | None = None


class SnapshotDiscarded(msgspec.Struct, frozen=True, kw_only=True, tag="log.snapshot_discarded"):
    """A snapshot was found to differ from what the log folds to, and no snapshot is read any more.

    `snapshot` is its position. `stream` names the first stream of a sample with a state that
    differs; it is empty where folds were compared as a whole or the snapshot could not be read.
    `observer` names the process.
    """

    snapshot: int
    stream: str
    observer: str


class EventIgnored(msgspec.Struct, frozen=True, kw_only=True, tag="log.event_ignored"):
    """An event of a later release, which says that releases before it may ignore it.

    It is never written: `name`, `schema_version` and `body` are those of the stored event.
    """

    name: str
    schema_version: int
    body: bytes


NOT_READ = EventIgnored(name="", schema_version=0, body=b"")
"""In the place of an event of which nothing but its place in the log was read."""


class LogHistory(msgspec.Struct, frozen=True, kw_only=True, tag="log_history"):
    """The last loss of events, its time, and the number of recorded losses."""

    last: LogRewound
    at: Instant
    count: int = 1


class DiscardedSnapshots(msgspec.Struct, frozen=True, kw_only=True, tag="discarded_snapshots"):
    """The last snapshot that was discarded, the time of that, and the number of such events."""

    last: SnapshotDiscarded
    at: Instant
    count: int = 1


LogState: TypeAlias = LogHistory | DiscardedSnapshots
LogEvent: TypeAlias = LogRewound | ContentErased | SnapshotDiscarded


def evolve(state: Absent | LogState, event: LogEvent, at: Instant) -> Absent | LogState:
    """The state of a stream about the log after an event; an erasure leaves none."""
    count = 1 if isinstance(state, Absent) else state.count + 1
    match event:
        case LogRewound():
            return LogHistory(last=event, at=at, count=count)
        case SnapshotDiscarded():
            return DiscardedSnapshots(last=event, at=at, count=count)
        case ContentErased():
            return state


def evolve_state(kind: str, state: Any, event: Any, at: Instant) -> Any:  # noqa: ANN401 - by kind
    """The state of a stream after an event; `kind` as in the name of the stream."""
    if isinstance(event, EventIgnored):
        return state
    if kind == "workload":
        return evolve_workload(state, event, at)
    if kind == "round":
        return evolve_round(state, event, at)
    if kind == "log":
        return evolve(state, event, at)
    if kind == "prediction":
        return evolve_prediction(state, event, at)
    return KINDS_BY_STREAM[kind].evolve(state, event, at)


DomainEvent: TypeAlias = (
    ObjectEvent | WorkloadEvent | RoundEvent | PredictionEvent | LogEvent | EventIgnored
)


class EventMetadata(msgspec.Struct, frozen=True, kw_only=True):
    """The actor, cause and correlation of an event.

    `actor` is `user:<name>`, `executor:<name>` or `scheduler`; `causation` the position or request
    that led here, `correlation` what belongs together (a request, a cycle), `trace` a traceparent.
    """

    actor: str
    reason: str = ""
    causation: str = ""
    correlation: str = ""
    trace: str = ""


class RecordedEvent(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One event as read from the log.

    `position` is its place in the whole log, without gaps from 1; `version` its place in `stream`,
    from 1. `at` is the instant of the decision, on the database's clock.
    """

    position: int
    stream: str
    version: int
    event: DomainEvent
    at: Instant
    metadata: EventMetadata


NO_METADATA = EventMetadata(actor="")


def not_read(position: int, stream: str, version: int, at: Instant) -> RecordedEvent:
    """Stands for an event that a reader does not need: a scoped fold skips it (`Scope`)."""
    return RecordedEvent(
        position=position,
        stream=stream,
        version=version,
        event=NOT_READ,
        at=at,
        metadata=NO_METADATA,
    )


class EventCount(msgspec.Struct, frozen=True, kw_only=True):
    """How many events of one type were decided in the bucket of time that begins at `at`."""

    at: Instant
    type: str
    count: int


class Correlation(msgspec.Struct, frozen=True, kw_only=True):
    """How many events of each type a correlation ID has, and of how many streams they are."""

    id: str
    types: Mapping[str, int]
    streams: int


USER = "user:"


def with_owner_of_actor(recorded: RecordedEvent) -> DomainEvent:
    """Returns the event; a submission without an owner has the user who submitted it as one.

    Events from before owners were recorded name the user only as their actor.
    """
    event, actor = recorded.event, recorded.metadata.actor
    if not isinstance(event, WorkloadSubmitted) or event.owner is not None:
        return event
    if not actor.startswith(USER):
        return event
    return msgspec.structs.replace(event, owner=WorkloadOwner(user=actor.removeprefix(USER)))


StreamEvent = tuple[str, DomainEvent]
