"""What happened to the log itself, in a stream of its own."""

import msgspec

from headgate.domain.kinds.configured_object import Absent
from headgate.domain.values.instants import Instant
from headgate.domain.values.message import ObjectReference


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


class EventIgnored(msgspec.Struct, frozen=True, kw_only=True, tag="log.event_ignored"):
    """An event of a later release, which says that releases before it may ignore it.

    It is never written: `name`, `schema_version` and `body` are those of the stored event.
    """

    name: str
    schema_version: int
    body: bytes


class LogHistory(msgspec.Struct, frozen=True, kw_only=True, tag="log_history"):
    """The last loss of events, its time, and the number of recorded losses."""

    last: LogRewound
    at: Instant
    count: int = 1


LogHistoryState = Absent | LogHistory


def evolve(
    state: LogHistoryState, event: LogRewound | ContentErased, at: Instant
) -> LogHistoryState:
    """The history after an event; an erasure has its own stream and leaves no state."""
    if isinstance(event, ContentErased):
        return state
    count = state.count if isinstance(state, LogHistory) else 0
    return LogHistory(last=event, at=at, count=count + 1)
