"""The fold of the whole log: everything that a cycle, a command or a read needs, at one position.

Three parts: the states of all objects (here), what an overlay assumes on top of them (here), and
the index that follows from them (`partition_index.py`).
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final, TypeAlias

import msgspec

from headgate.domain.kinds.configured_object import Absent, StatusEvent
from headgate.domain.kinds.queue_activity import (
    ACTIVITY_KINDS,
    active_since_after,
    queue_activities,
)
from headgate.domain.kinds.registry import KINDS_BY_STREAM
from headgate.domain.object_set import NamespaceCounts, ObjectSet
from headgate.domain.recorded_event import (
    LOG_STREAM,
    DomainEvent,
    EventIgnored,
    LogHistory,
    LogState,
    RecordedEvent,
    evolve_state,
    kind_and_key,
    with_owner_of_actor,
    workload_stream,
)
from headgate.domain.rounds.state import Round, named_while_open, oldest_ended_rounds
from headgate.domain.scheduling.partition.partition import Partition
from headgate.domain.scheduling.partition.partition_index import ClusterIndex, PartitionIndex
from headgate.domain.scheduling.partition.partition_layout import PartitionLayout, Scope
from headgate.domain.scheduling.queueing.local_queue_usage import UsageHistory, UsageUndo
from headgate.domain.starts import FoldedStarts, RecentStarts, StartUndo
from headgate.domain.values.instants import Instant
from headgate.domain.values.message import Message, error_message
from headgate.domain.workload_index import WorkloadReads
from headgate.domain.workloads.ended import EndedWorkloads, EndUndo, FoldedEnds
from headgate.domain.workloads.events import EndPhase
from headgate.domain.workloads.state import Workload, WorkloadsByKey, with_shared_parts

ABSENT = Absent()
FoldUndo: TypeAlias = tuple[UsageUndo, StartUndo, EndUndo]
"""What undoes an event in the folds beside the states: of usage, recent starts and ends."""

NOTHING_TO_UNDO: FoldUndo = ({}, None, None)


class _Snapshot(msgspec.Struct, kw_only=True):
    position: int
    config_position: int
    config: ObjectSet
    workloads: dict[str, Workload]
    ended: FoldedEnds
    rounds: dict[str, Round]
    versions: dict[str, int]
    quarantined: dict[str, Message]
    changed_at: Instant
    used: bytes
    recent_starts: FoldedStarts
    log_history: dict[str, LogState]


class _Assumed(msgspec.Struct, frozen=True, gc=False):
    """What stood before an assumed event."""

    stream: str
    state: Any
    version: int
    config_position: int
    changed_at: Instant
    active_since: dict[str, Instant]
    undo: FoldUndo


class Overlay:
    """Events assumed on a cluster state, and undone on leaving unless they are kept.

    Kueue assumes admissions in its cache and forgets them if they cannot be written.
    """

    def __init__(self, cluster_state: "ClusterState") -> None:
        self.base_position = cluster_state.position
        self.kept = False
        self.assumed: list[_Assumed] = []
        self._cluster_state = cluster_state

    def keep(self, last_position: int, between: Sequence[RecordedEvent] = ()) -> None:
        """Keep what was assumed, as it was appended in this order, up to `last_position`.

        `between` are events of other writers that came before, all of which `may_come_after`:
        folding them last gives the state that folding in the order of the log gives.
        """
        for recorded in between:
            self._cluster_state.fold(recorded)
        self._cluster_state.forget_what_ended()
        assert last_position == self._cluster_state.position, "kept events are the next of the log"
        self.kept = True


class ClusterState:
    """Mutable container of frozen states, changed by events alone; deterministic.

    `workloads` are those that have not ended, and the latest that have; `ended` counts all that
    have until they are deleted (ADR 0058). `versions` are those of streams with a state.
    `quarantined` names streams with an event or a state that could not be folded or indexed, with
    the reason; everything else goes on without them. `open_overlay` has what is assumed. With a
    `scope` the workloads are those of some partitions (ADR 0067).
    """

    def __init__(self, config: ObjectSet | None = None) -> None:
        self.position = self.config_position = self.base_position = 0
        # The index reads the same dictionaries, so they are filled and never replaced.
        self.config: Final = ObjectSet() if config is None else config
        self.workloads: Final[dict[str, Workload]] = {}
        self.rounds: Final[dict[str, Round]] = {}
        self.quarantined: Final[dict[str, Message]] = {}
        self._log_history: Final[dict[str, LogState]] = {}
        self._own: dict[str, dict[str, Any]] = {"workload": self.workloads, "round": self.rounds}
        self._own["log"] = self._log_history
        self.versions: dict[str, int] = {}
        self.changed_at: Instant = 0
        self.usage_history = UsageHistory()
        self.recent_starts = RecentStarts()
        self.reads: Final = WorkloadReads(self.workloads, self.quarantined)
        self.open_overlay: Overlay | None = None
        self.scope: Scope | None = None
        self._deleted: list[str] = []
        counts: dict[str, dict[EndPhase, int]] = {}
        self._index = ClusterIndex(
            self.config, self.workloads, counts, self.rounds, self.quarantined
        )
        self.ended: Final = EndedWorkloads(counts, self._index.count_ended)
        self._objects = NamespaceCounts(self.config, self.workloads, self.ended)

    def apply(self, recorded: RecordedEvent) -> None:
        """Fold the next event of the log; a gap, or a step back, is a bug and crashes."""
        assert self.open_overlay is None, "the log is not followed in an overlay"
        expected = self.position + 1
        assert recorded.position == expected, f"expected {expected}, got {recorded.position}"
        self.fold(recorded)

    def fold(self, recorded: RecordedEvent) -> None:
        """Fold an event whose position the caller has checked; see `apply` and `keep`."""
        if self.scope is not None and not self.scope.takes(recorded, self.workloads, self._index):
            self.position, self.changed_at = self.position + 1, max(recorded.at, self.changed_at)
            return
        self._change(recorded.stream, with_owner_of_actor(recorded), recorded.at)
        self.versions[recorded.stream] = recorded.version
        if recorded.stream.startswith("round/"):
            for round_id in oldest_ended_rounds(self.rounds):
                self._replace("round", round_id, ABSENT)
        self.forget_what_ended()

    def forget_what_ended(self, max_whole: int | None = None) -> None:
        """Keep nothing of deleted workloads, nor of those that ended before the latest."""
        for key in self._deleted:
            if key not in self.workloads:
                self.versions.pop(workload_stream(key), None)
        self._deleted.clear()
        if max_whole is None and not self.ended.is_due:
            return
        for key in self.ended.surplus(max_whole):
            self._index.settle(key)
            if (stream := workload_stream(key)) not in self.quarantined:
                self.reads.forget(self.workloads.pop(key))
                self.versions.pop(stream, None)

    def may_come_after(self, recorded: RecordedEvent) -> bool:
        """Whether folding it after what was assumed gives the state that folding it before gives.

        An event of a workload changes that workload alone, and nothing was assumed of it where the
        log has taken both. The usage of LocalQueues decays with time, and there the order matters.
        """
        return recorded.stream.startswith("workload/") and self.usage_history.rules is None

    @contextmanager
    def overlay(self) -> Iterator[Overlay]:
        """Undo on leaving every event assumed inside, unless the overlay is kept."""
        assert self.open_overlay is None, "overlays do not nest"
        overlay = Overlay(self)
        self.open_overlay = overlay
        self.base_position = self.position
        try:
            yield overlay
        finally:
            self.open_overlay = None
            if not overlay.kept:
                self._undo(overlay.assumed)
            self.base_position = self.position

    def assume(self, stream: str, event: DomainEvent, at: Instant) -> None:
        """Fold an event that is not in the log yet, as if it came next; only in an overlay."""
        assert self.open_overlay is not None, "events are assumed only in an overlay"
        version = self.version_of(stream)
        here = (self.config_position, self.changed_at, self.config.active_since)
        state, undo = self._change(stream, event, at)
        self.open_overlay.assumed.append(_Assumed(stream, state, version, *here, undo))
        self.versions[stream] = version + 1

    @property
    def partition_index(self) -> PartitionIndex:
        """All partitions, up to date."""
        return self._index.partitions()

    def build_partitions(self) -> Iterator[None]:
        """Build the partitions if there are none, in steps between which nothing may change."""
        return self._index.build()

    @property
    def layout(self) -> PartitionLayout:
        """What of the partitions follows from configuration alone; read without building them."""
        return self._index.layout

    def partition(self, key: str) -> Partition:
        """Return one partition, up to date."""
        return self._index.partitions().partitions[key]

    def configured_partition(self, key: str) -> Partition:
        """Return one partition of which only what configuration and nodes decide is up to date."""
        return self._index.configured_partition(key)

    def partition_keys(self) -> tuple[str, ...]:
        """Return the partitions of the present configuration, `installation` among them."""
        return self.layout.keys

    def partition_of_workload(self, workload: Workload) -> str:
        """Return the partition that schedules a workload; empty if it has no queue."""
        return self.layout.queued_key_of(workload)

    def quarantine(self, stream: str, reason: Message) -> None:
        """Leave an object out of account until its next event."""
        self.quarantined[stream] = reason
        self._index.forget_partitions()

    def objects_in(self, namespace: str) -> int:
        """The number of workloads and configured objects of a namespace."""
        return self._objects.of(namespace)

    @property
    def log_history(self) -> LogHistory | None:
        """What happened to the log itself; None where nothing is recorded."""
        found = self._log_history.get(kind_and_key(LOG_STREAM)[1])
        return found if isinstance(found, LogHistory) else None

    def version_of(self, stream: str) -> int:
        """Return how many events the stream has; 0 where it has no state."""
        return self.versions.get(stream, 0)

    def state_of(self, stream: str) -> Any:  # noqa: ANN401 - one of the aggregates' states, by kind
        """Return the state of any object, workload or round; `Absent` where there is none."""
        kind, key = kind_and_key(stream)
        return self._states(kind).get(key, ABSENT)

    def dump(self, *, with_workloads: bool = True) -> bytes:
        """Encode everything folded; the index is built anew from it."""
        assert self.open_overlay is None, "assumed events are not dumped"
        self.forget_what_ended(max_whole=0)
        snapshot = _Snapshot(
            position=self.position,
            config_position=self.config_position,
            config=self.config,
            workloads=self.workloads if with_workloads else {},
            ended=self.ended.dump(),
            rounds=self.rounds,
            versions=self.versions,
            quarantined=self.quarantined,
            changed_at=self.changed_at,
            used=self.usage_history.dump(),
            recent_starts=self.recent_starts.dump(),
            log_history=self._log_history,
        )
        return msgspec.msgpack.encode(snapshot)

    def fork(self) -> "ClusterState":
        """Return a copy that changes independently; cheap, as the states are shared."""
        assert self.open_overlay is None, "assumed events are not forked"
        forked = ClusterState(self.config.copied())
        forked.position = forked.base_position = self.position
        forked.config_position, forked.changed_at = self.config_position, self.changed_at
        for own in ("workloads", "rounds", "versions", "quarantined", "_log_history"):
            getattr(forked, own).update(getattr(self, own))
        forked.ended.copy_of(self.ended)
        forked.usage_history = self.usage_history.copied()
        forked.recent_starts = RecentStarts(self.recent_starts.dump())
        return forked

    @classmethod
    def load(cls, body: bytes, workloads: WorkloadsByKey | None = None) -> "ClusterState":
        """Decode what `dump` has encoded; `workloads` are given that it has left out."""
        snapshot = msgspec.msgpack.decode(body, type=_Snapshot)
        loaded = cls(snapshot.config)
        loaded.position = loaded.base_position = snapshot.position
        loaded.config_position, loaded.changed_at = snapshot.config_position, snapshot.changed_at
        loaded.ended.update(snapshot.ended)
        known = {key: with_shared_parts(each) for key, each in snapshot.workloads.items()}
        loaded.workloads.update(known if workloads is None else workloads)
        loaded.ended.take(loaded.workloads.values())
        loaded.rounds.update(snapshot.rounds)
        for found in snapshot.rounds.values():
            loaded.ended.note_named((), named_while_open(found))
        loaded.versions = snapshot.versions
        loaded.quarantined.update(snapshot.quarantined)
        loaded._log_history.update(snapshot.log_history)
        rules = snapshot.config.configuration.admission_fair_sharing
        loaded.usage_history = UsageHistory.load(rules, snapshot.used)
        loaded.recent_starts = RecentStarts(snapshot.recent_starts)
        return loaded

    def _change(self, stream: str, event: DomainEvent, at: Instant) -> tuple[Any, FoldUndo]:
        """Fold an event; return the state before it and what undoes the folds beside it."""
        self.position += 1
        self.changed_at = max(at, self.changed_at)
        kind, key = kind_and_key(stream)
        is_workload = kind == "workload"
        states = self.workloads if is_workload else self._states(kind)
        found = states.get(key)
        before = ABSENT if found is None else found
        if not is_workload:
            if isinstance(event, EventIgnored):
                return before, NOTHING_TO_UNDO
            if kind in KINDS_BY_STREAM and not isinstance(event, StatusEvent):
                self.config_position = self.position
                self._index.forget_layout()
        was_active = queue_activities(self.config, kind, key) if kind in ACTIVITY_KINDS else {}
        try:
            after = evolve_state(kind, before, event, at)
        except Exception as error:  # noqa: BLE001 - one poison event must not stop all others
            self.quarantined[stream] = error_message(error)
            if is_workload:
                self._deleted.append(key)
            return before, NOTHING_TO_UNDO
        if self.quarantined and self.quarantined.pop(stream, None) is not None:
            self._index.forget_partitions()
            self.reads.forget_index()
        undo_end = self._replace(kind, key, after, event)
        if is_workload:
            new, history = states.get(key), self.usage_history
            used = {} if history.rules is None else history.replace(found, new, at)
            return before, (used, self.recent_starts.replace(found, new), undo_end)
        if kind in ACTIVITY_KINDS:
            self.config.active_since = active_since_after(self.config, kind, key, was_active, at)
        if kind == "configuration":
            rules = self.config.configuration.admission_fair_sharing
            used = self.usage_history.configure(rules, self.workloads.values(), at)
            return before, (used, None, None)
        return before, NOTHING_TO_UNDO

    def _replace(self, kind: str, key: str, after: Any, event: object = None) -> EndUndo:  # noqa: ANN401 - by kind
        """Put the state of an object in the place of the one before; count, note and index it."""
        states = self._states(kind)
        before, found = states.get(key), None if isinstance(after, Absent) else after
        if found is not None:
            states[key] = found
        else:
            states.pop(key, None)
        self._objects.replace(kind, key, before, found)
        if kind == "workload":
            if found is None:
                self._deleted.append(key)
            undo = self.ended.note(key, before, found, event)
            self._index.replace_workload(key, before, found)
            self.reads.replace(before, found)
            return undo
        if kind == "round":
            self.ended.note_named(named_while_open(before), named_while_open(found))
        self._index.replace(kind, key, before, found, is_assumed=self.open_overlay is not None)
        return None

    def _undo(self, journal: Sequence[_Assumed]) -> None:
        self._index.forget_layout()
        for assumed in reversed(journal):
            self._replace(*kind_and_key(assumed.stream), assumed.state)
            self.usage_history.restore(assumed.undo[0])
            for undo in filter(None, assumed.undo[1:]):
                undo()
            self.config_position, self.changed_at = assumed.config_position, assumed.changed_at
            self.config.active_since = assumed.active_since
            self.position -= 1
            if assumed.version:
                self.versions[assumed.stream] = assumed.version
            else:
                self.versions.pop(assumed.stream, None)
        self.forget_what_ended()
        self.usage_history.rules = self.config.configuration.admission_fair_sharing
        if journal:
            # What did not fit beside assumed admissions may fit without them.
            self._index.requeue_inadmissible()

    def _states(self, kind: str) -> dict[str, Any]:
        if kind == "prediction":
            return self.recent_starts.predictions
        if kind in self._own:
            return self._own[kind]
        return self.config.of_kind(kind) if kind in KINDS_BY_STREAM else {}
