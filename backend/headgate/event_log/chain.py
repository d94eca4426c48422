"""The hash chain of the log: the chain value of an event covers it and every event before it.

A value is the SHA-256 of the value before it, and of position, version, schema version, stream,
type and body of the event. The body is the stored text, uncompressed, so that compression,
archives and migrations leave every value as it is. The database computes the values where it
gives out the positions (`migrations/sql/log_chain_v9.sql`); this definition verifies them.
"""

import struct
from collections.abc import Callable
from hashlib import sha256
from typing import TypeAlias

import msgspec

from headgate.domain.recorded_event import RecordedEvent

_NUMBERS = struct.Struct(">qihi")
_LENGTH = struct.Struct(">i")


class LogPoint(msgspec.Struct, frozen=True, kw_only=True):
    """A position of one log, with the chain value there: the whole past up to it.

    `log_id` is the identity of the log. Two logs that share a point are equal up to its position.
    """

    log_id: str
    position: int
    chain: bytes


EventReader: TypeAlias = Callable[[str, str], bool]
"""Whether an event needs to be decoded, by stream and type; asked of each event in order."""


class LogBatch(msgspec.Struct, frozen=True, kw_only=True):
    """Events that follow on a point of the log, and the point after the last of them."""

    events: list[RecordedEvent]
    point: LogPoint


class PastLost(Exception):
    """The log does not have a point that was read before: newer events of it were lost.

    What was folded up to there holds events that never happened as far as the log goes.
    """

    def __init__(self, point: LogPoint) -> None:
        super().__init__(f"the log has another past than the one read up to {point.position}")
        self.point = point


class StoredEvent(msgspec.Struct, frozen=True, kw_only=True):
    """What the chain covers of an event; `body` is the stored text in UTF-8."""

    position: int
    stream: str
    version: int
    type: str
    schema_version: int
    body: bytes


class ChainedEvent(msgspec.Struct, frozen=True, kw_only=True):
    """What the chain covers of an event, and the chain value that is kept for it."""

    stored: StoredEvent
    chain: bytes | None


def first_chain(log_id: str) -> bytes:
    """The chain value before the first event of a log."""
    return sha256(log_id.encode()).digest()


def chain_after(chain: bytes, stored: StoredEvent) -> bytes:
    """The chain value of an event; `chain` is the value of the event before it."""
    stream, name = stored.stream.encode(), stored.type.encode()
    numbers = _NUMBERS.pack(stored.position, stored.version, stored.schema_version, len(stream))
    parts = (chain, numbers, stream, _LENGTH.pack(len(name)), name, stored.body)
    return sha256(b"".join(parts)).digest()
