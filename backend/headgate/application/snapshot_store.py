"""Folds in the state cache: what changes with every event whole, workloads in shared parts.

Most workloads are the same in one fold as in the next. Each fold that is kept brings one part with
those that are in no part yet, and names the parts the others are in. Parts stay decoded in memory,
so that folds near each other share their workloads there as well.
"""

import hashlib
import zlib
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import msgspec
import structlog

from headgate.application.commands.append_unit import rows_of
from headgate.application.failures import GapInLog
from headgate.application.ports import AppendUnit, EventLog, NewEvent, Unavailable
from headgate.domain.cluster_state import ClusterState
from headgate.domain.recorded_event import (
    SNAPSHOT_STREAM,
    DiscardedSnapshots,
    EventMetadata,
    SnapshotDiscarded,
)
from headgate.domain.scheduling.partition.partition_layout import Scope
from headgate.domain.workloads.specs import replaced_key
from headgate.domain.workloads.state import Workload, with_shared_parts
from headgate.event_log.chain import LogPoint
from headgate.event_log.folds import STATE_VERSIONS, StateVersions, differing_stream, restrict

Parts = Mapping[str, bytes | None]
"""Parts of a fold by name; None for one that is there already."""


NO_PARTS: Parts = {}


class CachedFold(NamedTuple):
    """A fold as it is cached: its position, the state version it is written in, and its body."""

    position: int
    version: str
    body: bytes


class NewFold(NamedTuple):
    """A fold to be cached at its position, and the parts it names."""

    position: int
    body: bytes
    parts: Parts = NO_PARTS


class StateCache(Protocol):
    """Folds kept at a position so that starting is fast; always safe to delete."""

    def newest(
        self, name: str, versions: Sequence[str], *, at_most: int | None = None
    ) -> CachedFold | None:
        """The latest cached fold of any of the versions that is not past `at_most`.

        Of several at one position that of the first of the versions.
        """

    def put(self, name: str, versions: Sequence[str], fold: NewFold) -> bool:
        """Keep a fold of the first of the versions, of which a process reads all.

        Returns false, and keeps nothing, if a part is neither given nor there.
        """

    def forget(self, name: str) -> None:
        """Delete every cached fold of the name, of whatever version."""

    def part(self, name: str) -> bytes | None:
        """A part of some fold that is kept."""


CACHE_NAME = "cell"
UNREADABLE = (msgspec.MsgspecError, zlib.error, LookupError, TypeError, ValueError)
"""What reading a fold raises that is not what its version says, or that a step cannot read."""

LOG = structlog.get_logger()
MIN_REUSE_DIVISOR = 3
"""A part is written anew as far as it is needed once only one in so many of it is."""

PART_WORKLOADS = 5_000  # at most, so that what is encoded and decoded at once stays small
WorkloadChunk = dict[str, Workload]
WORKLOADS = msgspec.msgpack.Decoder(Workload)
Share = frozenset[str] | None  # the partitions of which a fold is to have the workloads


class _Kept(msgspec.Struct, kw_only=True):
    """A fold: all but its workloads, and by workload, in order, which part it is in.

    All of it, the parts included, is of the state version under which it is cached. Its own shape
    has no steps: a later one must read what each readable version wrote.
    """

    log_id: str
    chain: bytes
    rest: bytes
    parts: list[str]
    workloads: list[str]
    part_of: list[int]


@dataclass(frozen=True, slots=True)
class SnapshotRule:
    """When the live state is written to the state cache: after so many events, or so much later."""

    events: int = 50_000
    seconds: float = 600.0

    def is_due(self, *, events: int, seconds: float) -> bool:
        """Whether a fold that has grown by so many events since so long is to be kept."""
        return events >= self.events or (events > 0 and seconds >= self.seconds)


class Snapshot(NamedTuple):
    """A fold, and the point of the log that it was folded up to."""

    cluster_state: ClusterState
    point: LogPoint


class SnapshotOptions(NamedTuple):
    """How many decoded workloads of parts a store keeps, and what it compares and records.

    Without `max_workloads` only those of the fold at hand stay. `sample` is how many streams of a
    fold are compared with the log, `observer` names the process that records a difference.
    """

    max_workloads: int = 0
    sample: int = 200
    observer: str = "headgate"
    versions: StateVersions = STATE_VERSIONS


DEFAULT_OPTIONS = SnapshotOptions()


class SnapshotStore:
    """Keeps folds in the state cache and gets them back; one thread at a time may use it.

    Folds of earlier state versions are read as far as steps lead on from them; what is kept is of
    the current one.
    """

    def __init__(
        self,
        state_cache: StateCache,
        event_log: EventLog,
        options: SnapshotOptions = DEFAULT_OPTIONS,
    ) -> None:
        self._cache = state_cache
        self._event_log = event_log
        self._max_workloads, self._sample, self._observer, self._versions = options
        self._compared: set[tuple[int, str]] = set()
        self._parts: OrderedDict[str, WorkloadChunk] = OrderedDict()
        self._sizes: dict[str, int] = {}

    def first(self, share: Share = None) -> Snapshot:
        """The fold to go on from at the start of a process: the latest one, or that of no event."""
        found = self.newest(at_most=self._event_log.head(), share=share)
        start = self._event_log.point_at(0) if found is None else found.point
        if start is None:
            raise GapInLog("the chain of the log does not begin at its first position")
        if found is None and share is not None:
            restrict(empty := ClusterState(), Scope(share))
            return Snapshot(empty, start)
        return found or Snapshot(ClusterState(), start)

    def newest(self, *, at_most: int, after: int = 0, share: Share = None) -> Snapshot | None:
        """The latest fold that is whole, past `after` and not past `at_most`.

        With a share it has the workloads of these partitions only, where that is enough.
        A fold of another past than the log has is passed over. At its first use a sample of its
        streams is folded anew: if one differs, or the fold cannot be read, no snapshot is read.
        """
        while True:
            found = self._cache.newest(CACHE_NAME, self._versions.readable, at_most=at_most)
            if found is None or found.position <= after:
                return None
            try:
                snapshot = self._read(found, share)
            except UNREADABLE:
                self.discard(found.position)
                return None
            if snapshot is None:
                at_most = found.position - 1
            elif (differing := self._differing_stream(found, snapshot)) is not None:
                self.discard(found.position, differing)
                return None
            else:
                return snapshot

    def discard(self, position: int, stream: str = "") -> None:
        """Delete all snapshots, and record that the one at a position differs from the log.

        What is wrong in one may be wrong in those that were folded on from it, and in those before.
        They stay where the log lacks its beginning, as no state could be folded without them.
        """
        LOG.error("snapshot differs from the log", position=position, stream=stream)
        event = SnapshotDiscarded(snapshot=position, stream=stream, observer=self._observer)
        # While nothing can be written they stay, are not read now, and are found again later.
        with suppress(Unavailable):
            record_discarded(self._event_log, event)
            self._event_log.read(0, limit=1)
            self._cache.forget(CACHE_NAME)
        self.forget_parts()

    def _read(self, found: CachedFold, share: Share) -> Snapshot | None:
        """The fold, or None if parts of it are gone or the log has another past."""
        kept = _unpacked(found.body, _Kept)
        point = LogPoint(log_id=kept.log_id, position=found.position, chain=kept.chain)
        if self._event_log.point_at(point.position) != point:
            return None
        cluster_state = None if share is None else self._load_share(kept, found.version, share)
        cluster_state = cluster_state or self._load(kept, found.version)
        return None if cluster_state is None else Snapshot(cluster_state, point)

    def _differing_stream(self, found: CachedFold, snapshot: Snapshot) -> str | None:
        compared = found.position, found.version
        if compared in self._compared:
            return None
        read = self._event_log.read_stream
        differing = differing_stream(snapshot.cluster_state, self._sample, read)
        if differing is None:
            self._compared.add(compared)
        return differing

    def put(self, snapshot: Snapshot) -> None:
        """Keep a fold with what of it is not kept yet."""
        if not self._put(snapshot):
            # Another process has deleted a part since: write everything.
            self.forget_parts()
            self._put(snapshot)

    def forget_parts(self) -> None:
        """Keep nothing that was decoded; what was compared with the log is not compared again."""
        self._parts.clear()
        self._sizes.clear()

    def _put(self, snapshot: Snapshot) -> bool:
        cluster_state, point = snapshot
        cluster_state.forget_what_ended(max_whole=0)
        known, fresh = self._divided(cluster_state.workloads)
        keys, bodies = list(fresh), {}
        for start in range(0, len(keys), PART_WORKLOADS):
            part = {key: fresh[key] for key in keys[start : start + PART_WORKLOADS]}
            body = zlib.compress(msgspec.msgpack.encode(part), 1)
            name = self._name_of(body, self._current)
            self._parts[name], self._sizes[name] = part, len(part)
            known[name], bodies[name] = list(part), body
        self._let_go(known)
        place = {key: number for number, keys in enumerate(known.values()) for key in keys}
        kept = _Kept(
            log_id=point.log_id,
            chain=point.chain,
            rest=cluster_state.dump(with_workloads=False),
            parts=list(known),
            workloads=list(cluster_state.workloads),
            part_of=[place[key] for key in cluster_state.workloads],
        )
        whole = zlib.compress(msgspec.msgpack.encode(kept), 1)
        fold = NewFold(cluster_state.position, whole, {**dict.fromkeys(known), **bodies})
        return self._cache.put(CACHE_NAME, self._versions.readable, fold)

    @property
    def _current(self) -> str:
        return str(self._versions.current)

    def _name_of(self, body: bytes, version: str) -> str:
        """The name of a part: its state version and the digest of its body."""
        return f"{version}-{hashlib.sha256(body).hexdigest()}"

    def _divided(
        self, workloads: dict[str, Workload]
    ) -> tuple[dict[str, list[str]], WorkloadChunk]:
        """Parts with the workloads of theirs that are still the same, and those in no part."""
        fresh, known = dict(workloads), {}
        for name, part in reversed(self._parts.items()):
            if not name.startswith(f"{self._current}-"):
                continue
            same = [key for key, workload in part.items() if fresh.get(key) is workload]
            if same and len(same) * MIN_REUSE_DIVISOR >= self._sizes[name]:
                known[name] = same
                for key in same:
                    del fresh[key]
        for name in known:
            self._parts.move_to_end(name)
        return known, fresh

    def _load(self, kept: _Kept, version: str) -> ClusterState | None:
        if not self._max_workloads:
            # They lack what the fold before did not use.
            self.forget_parts()
        used: dict[str, list[str]] = {name: [] for name in kept.parts}
        for key, number in zip(kept.workloads, kept.part_of, strict=True):
            used[kept.parts[number]].append(key)
        if any(self._part(name, version, used[name]) is None for name in kept.parts):
            return None
        places = zip(kept.workloads, kept.part_of, strict=True)
        workloads = {key: self._parts[kept.parts[number]][key] for key, number in places}
        self._let_go(used)
        return ClusterState.load(self._versions.rest(kept.rest, version), workloads)

    def _load_share(self, kept: _Kept, version: str, share: frozenset[str]) -> ClusterState | None:
        """A fold with the workloads of a share; None if that is not enough, or parts are gone.

        Each is decoded, and dropped at once if it is of others: what stays lies together in memory.
        """
        loaded, scope = ClusterState.load(self._versions.rest(kept.rest, version), {}), Scope(share)
        if not scope.is_enough(loaded.layout):
            return None
        keys_of: dict[int, list[str]] = {}
        for key, number in zip(kept.workloads, kept.part_of, strict=True):
            keys_of.setdefault(number, []).append(key)
        named = scope.named_by(loaded.rounds.values(), loaded.layout)
        known, is_complete = loaded.workloads, False
        while not is_complete:
            for number, keys in keys_of.items():
                if (stored := self._stored_part(kept.parts[number], version)) is None:
                    return None
                bodies = msgspec.msgpack.decode(stored, type=dict[str, msgspec.Raw])
                for key in keys:
                    found = WORKLOADS.decode(bodies[key])
                    if key in named or scope.keeps(loaded.layout, found):
                        known[key] = with_shared_parts(found)
            replaced = {replaced_key(each.annotations) for each in known.values()}
            is_complete = replaced <= named | known.keys() | {""}
            named |= replaced
        loaded.ended.take(known.values())
        restrict(loaded, scope)
        return None if loaded.scope is None else loaded

    def _stored_part(self, name: str, version: str) -> bytes | None:
        body = self._cache.part(name)
        if body is None or self._name_of(body, version) != name:
            return None
        return self._versions.workloads(zlib.decompress(body), version)

    def _part(self, name: str, version: str, keys: Sequence[str]) -> WorkloadChunk | None:
        """A part with these workloads, or all for other folds; None if it is not as written."""
        found = self._parts.get(name)
        if found is None:
            stored = self._stored_part(name, version)
            if stored is None:
                return None
            bodies = msgspec.msgpack.decode(stored, type=dict[str, msgspec.Raw])
            # Decoded one by one, what stays lies together in memory.
            found = {
                key: with_shared_parts(WORKLOADS.decode(bodies[key]))
                for key in (bodies if self._max_workloads else keys)
            }
            self._parts[name], self._sizes[name] = found, len(bodies)
        self._parts.move_to_end(name)
        return found

    def _let_go(self, used: Mapping[str, list[str]]) -> None:
        """Of what the fold at hand does not use: all, or the parts not used for longest."""
        if not self._max_workloads:
            self._parts = OrderedDict(
                (name, {key: self._parts[name][key] for key in keys}) for name, keys in used.items()
            )
            self._sizes = {name: self._sizes[name] for name in used}
            return
        held = sum(len(part) for part in self._parts.values())
        needed = sum(len(keys) for keys in used.values())
        most = max(self._max_workloads, MIN_REUSE_DIVISOR * needed)
        while held > most and len(self._parts) > 1:
            name, part = self._parts.popitem(last=False)
            del self._sizes[name]
            held -= len(part)


def record_discarded(event_log: EventLog, event: SnapshotDiscarded) -> None:
    """Appends the event unless it is the last of its stream; another process may be first."""
    known = event_log.stream_page(SNAPSHOT_STREAM, before=None, limit=1)
    version = known[0].version if known else 0
    if known and known[0].event == event:
        return
    at = event_log.now()
    state = DiscardedSnapshots(last=event, at=at, count=version + 1)
    unit = AppendUnit(
        at=at,
        metadata=EventMetadata(actor="system"),
        expected={SNAPSHOT_STREAM: version},
        events=(NewEvent(stream=SNAPSHOT_STREAM, event=event),),
        rows=rows_of(SNAPSHOT_STREAM, state),
    )
    event_log.append([unit])


def _unpacked(body: bytes, shape: type[Any]) -> Any:  # noqa: ANN401 - what `shape` says
    return msgspec.msgpack.decode(zlib.decompress(body), type=shape)
