"""Logs that an earlier commit wrote, with its read models and its answers.

The fixture holds one database for each log, as `COPY` writes its tables, and beside it what the API
of that commit answered: phases of workloads, counts of ClusterQueues, and timelines, at several
positions. Phases that have been renamed since have their present names. A later commit with stored
shapes that must be read gets a fixture of its own; a fixture never changes.
"""

import lzma
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from headgate.domain.recorded_event import EventMetadata, RecordedEvent
from headgate.event_log.codec import decode

WRITTEN_BY = "3e2eab1b496562d0c71efef084fb7f3019d910b8"
"""The commit that wrote the logs, the last one before the rename of the domain's terms."""

SCHEMA_REVISION = "0005"
"""The revision of the database schema that this commit knew."""

DIRECTORY = Path(__file__).parent / "stored"


class StoredLog(msgspec.Struct, frozen=True):
    """One log: its last position, its tables by name, and the answers of that commit."""

    head: int
    tables: dict[str, str]
    answers: dict[str, dict[str, Any]]


@cache
def stored_logs() -> dict[str, StoredLog]:
    """Every log of the fixture by name."""
    packed = (DIRECTORY / f"{WRITTEN_BY[:7]}.json.xz").read_bytes()
    return msgspec.json.decode(lzma.decompress(packed), type=dict[str, StoredLog])


def stored_rows(log: StoredLog) -> Iterator[list[str]]:
    """The columns of each event as they were stored."""
    for line in log.tables["event"].splitlines():
        yield [column.replace("\\\\", "\\") for column in line.split("\t")]


def recorded_events(log: StoredLog) -> Iterator[RecordedEvent]:
    """Each event as the present code reads it."""
    for row in stored_rows(log):
        position, stream, version, name, schema_version, fields, at, *said, _ = row
        actor, reason, causation, correlation, trace = said
        yield RecordedEvent(
            position=int(position),
            stream=stream,
            version=int(version),
            event=decode(name, int(schema_version), fields),
            at=int(at),
            metadata=EventMetadata(
                actor=actor,
                reason=reason,
                causation=causation,
                correlation=correlation,
                trace=trace,
            ),
        )
