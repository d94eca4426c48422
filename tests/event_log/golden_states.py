"""Golden states: what logs that never change fold to, and snapshots of it in every state version.

The logs are the golden files of events, each after the first event of its stream; the logs that an
earlier commit wrote; and kept ones, of tests and of `golden_histories`, so that all of them go
through every line of the code that folds. `python -m tests.event_log.golden_states` records new
histories and the fingerprints of new logs, and once `STATE_VERSIONS.current` was raised those of
all logs with a snapshot of each.
"""

import lzma
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import cast

import msgspec

from headgate.adapters.memory.stores import MemoryStateCache
from headgate.application.ports import EventLog
from headgate.application.snapshot_store import CachedFold, NewFold, Snapshot, SnapshotStore
from headgate.domain.cluster_state import ClusterState
from headgate.domain.recorded_event import DomainEvent, EventMetadata, RecordedEvent
from headgate.event_log.codec import decode, encode
from headgate.event_log.folds import STATE_VERSIONS, fold_digest
from tests.builders.world import HistoryLog, World
from tests.event_log import golden_files
from tests.event_log.golden_histories import HISTORIES
from tests.event_log.stored_logs import recorded_events, stored_logs

DIRECTORY = Path(__file__).parent / "stored"
LOGS = DIRECTORY / "golden_logs.json.xz"
FINGERPRINTS = DIRECTORY / "fingerprints.json"
FIRST_EVENTS = ("submitted", "created", "committed", "recorded")
"""What is first in a stream: version 1 of it stands before the event of a golden file."""
FIRST_AT = 1_800_000_000_000_000
SECOND = 1_000_000
KEPT_LOG = "a_scaled_down_job_with_indices_that_come_again"
"""The golden log of which a snapshot is kept as a store writes it."""

StoredRow = tuple[str, int, str, int, str, int, str]
"""Stream, version, stored name, schema version, body, time and actor of an event."""


class Fingerprints(msgspec.Struct, frozen=True):
    """The digests of all golden logs by their names, and the state version that they hold for."""

    state_version: int
    digests: dict[str, str]


@cache
def golden_logs() -> dict[str, tuple[RecordedEvent, ...]]:
    """Every golden log by name."""
    logs = {path.name: tuple(_events_up_to(path)) for path in sorted(_golden_files())}
    logs |= {f"stored {name}": tuple(recorded_events(log)) for name, log in stored_logs().items()}
    logs |= {name: tuple(_recorded(rows)) for name, rows in _kept_logs().items()}
    return logs


def folded_log(events: Iterable[RecordedEvent]) -> ClusterState:
    """The fold of a log that begins at position 1."""
    cluster_state = ClusterState()
    for recorded in events:
        cluster_state.apply(recorded)
    return cluster_state


def fingerprints(names: Iterable[str] | None = None) -> Fingerprints:
    """What the golden logs, or those of some names, fold to now."""
    logs = golden_logs()
    chosen = logs if names is None else names
    digests = {name: fold_digest(folded_log(logs[name])) for name in chosen}
    return Fingerprints(STATE_VERSIONS.current, digests)


def recorded_fingerprints() -> Fingerprints:
    """What the golden logs folded to when the state version was last raised, or the log was new."""
    return msgspec.json.decode(FINGERPRINTS.read_bytes(), type=Fingerprints)


def changed(now: Fingerprints, recorded: Fingerprints) -> list[str]:
    """The logs that fold to another state though the state version is the recorded one."""
    if now.state_version != recorded.state_version:
        return []
    return [
        name
        for name, digest in recorded.digests.items()
        if name in now.digests and now.digests[name] != digest
    ]


def remedy(names: list[str]) -> str:
    """What to do where golden logs fold to another state."""
    version = STATE_VERSIONS.current
    return (
        f"{len(names)} golden logs fold to another state than that of state version {version}: "
        f"{', '.join(names[:5])}. If that is not meant, mend the fold. If it is, raise "
        f"STATE_VERSIONS.current in headgate/event_log/folds.py to {version + 1}, add the step "
        f"from {version} (StateStep() for fields with defaults; none where earlier events now mean "
        "something else), and run python -m tests.event_log.golden_states."
    )


def snapshot_path(version: int) -> Path:
    """Where the snapshots of the golden logs in a state version lie."""
    return DIRECTORY / f"snapshots_v{version}.xz"


def stored_snapshots(version: int) -> dict[str, tuple[bytes, bytes]]:
    """By golden log, all but the workloads, and the workloads, as that version stored them."""
    packed = lzma.decompress(snapshot_path(version).read_bytes())
    return msgspec.msgpack.decode(packed, type=dict[str, tuple[bytes, bytes]])


class StoredCache(msgspec.Struct, frozen=True):
    """A state cache with one snapshot of a golden log, as a store keeps it in a state version."""

    log: str
    fold: CachedFold
    parts: dict[str, bytes]


def cache_path(version: int) -> Path:
    """Where the state cache of a state version lies."""
    return DIRECTORY / f"state_cache_v{version}.msgpack"


def stored_cache(version: int) -> StoredCache:
    """The state cache that a state version wrote."""
    return msgspec.msgpack.decode(cache_path(version).read_bytes(), type=StoredCache)


def _cache() -> StoredCache:
    events, cache = golden_logs()[KEPT_LOG], RecordingCache()
    store = SnapshotStore(cache, cast("EventLog", HistoryLog(events)))
    state, point = folded_log(events), HistoryLog(events).point_at(len(events))
    assert point is not None
    store.put(Snapshot(state, point))
    ((_, version), fold), *_ = cache.given.items()
    parts = {name: body for name, body in fold.parts.items() if body is not None}
    return StoredCache(KEPT_LOG, CachedFold(fold.position, version, fold.body), parts)


class RecordingCache(MemoryStateCache):
    """Remembers what it was given, by name and version."""

    def __init__(self) -> None:
        super().__init__()
        self.given: dict[tuple[str, str], NewFold] = {}

    def put(self, name: str, versions: Sequence[str], fold: NewFold) -> bool:
        self.given[name, versions[0]] = fold
        return super().put(name, versions, fold)


def write_missing() -> None:
    """Record what is new; raises where the fold has changed and the state version has not."""
    _keep_new_histories()
    now = fingerprints()
    if FINGERPRINTS.exists():
        recorded = recorded_fingerprints()
        names = changed(now, recorded)
        assert not names, remedy(names)
    FINGERPRINTS.write_bytes(msgspec.json.format(msgspec.json.encode(now), indent=1) + b"\n")
    if not snapshot_path(now.state_version).exists():
        snapshot_path(now.state_version).write_bytes(lzma.compress(_snapshots()))
    if not cache_path(now.state_version).exists():
        cache_path(now.state_version).write_bytes(msgspec.msgpack.encode(_cache()))


def _snapshots() -> bytes:
    found = {}
    for name, events in golden_logs().items():
        cluster_state = folded_log(events)
        rest = cluster_state.dump(with_workloads=False)
        found[name] = (rest, msgspec.msgpack.encode(cluster_state.workloads))
    return msgspec.msgpack.encode(found)


def _golden_files() -> Iterable[Path]:
    return golden_files.DIRECTORY.glob("*.json")


def _events_up_to(path: Path) -> Iterator[RecordedEvent]:
    """The first event of a stream, where there is another one, and the event of a golden file."""
    name, _ = _name_and_version(path)
    kind = name.partition(".")[0]
    firsts = (golden_files.path_of(f"{kind}.{first}", 1) for first in FIRST_EVENTS)
    places = [first for first in firsts if first.exists() and not first.name.startswith(f"{name}.")]
    stream = f"{kind.replace('_', '')}/golden/{name}"
    for number, place in enumerate((*places, path), start=1):
        event = decode(*_name_and_version(place), place.read_bytes())
        yield RecordedEvent(
            position=number,
            stream=stream,
            version=number,
            event=event,
            at=FIRST_AT + number * SECOND,
            metadata=EventMetadata(actor="user:golden"),
        )


def _name_and_version(path: Path) -> tuple[str, int]:
    name, _, version = path.name.removesuffix(".json").rpartition(".v")
    return name, int(version)


def _recorded(rows: Iterable[StoredRow]) -> Iterator[RecordedEvent]:
    for position, row in enumerate(rows, start=1):
        stream, version, name, schema_version, body, at, actor = row
        yield RecordedEvent(
            position=position,
            stream=stream,
            version=version,
            event=decode(name, schema_version, body),
            at=at,
            metadata=EventMetadata(actor=actor),
        )


def rows_of(events: Iterable[RecordedEvent]) -> list[StoredRow]:
    """A log as it is kept."""
    return [
        (each.stream, each.version, *_stored(each.event), each.at, each.metadata.actor)
        for each in events
    ]


def _stored(event: DomainEvent) -> tuple[str, int, str]:
    name, schema_version, body = encode(event)
    return name, schema_version, body.decode()


def _kept_logs() -> dict[str, list[StoredRow]]:
    packed = lzma.decompress(LOGS.read_bytes())
    return msgspec.json.decode(packed, type=dict[str, list[StoredRow]])


def _keep_new_histories() -> None:
    logs = _kept_logs()
    for history in HISTORIES:
        if history.__name__ not in logs:
            world = World()
            history(world)
            logs[history.__name__] = rows_of(world.history)
    LOGS.write_bytes(lzma.compress(msgspec.json.encode(logs), preset=9))


if __name__ == "__main__":
    write_missing()
