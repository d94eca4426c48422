"""The fold of the whole log: everything a cycle, a command or a read needs, at one position."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import msgspec

from headgate.domain.kinds.configured_object import Absent, StatusEvent
from headgate.domain.kinds.queue_activity import (
    ACTIVITY_KINDS,
    active_since_after,
    queue_activities,
)
from headgate.domain.kinds.registry import KINDS_BY_STREAM, evolve_state
from headgate.domain.object_set import ObjectSet
from headgate.domain.recorded_event import DomainEvent, RecordedEvent
from headgate.domain.rounds.state import Round, is_open
from headgate.domain.scheduling.partition.partition import Partition
from headgate.domain.scheduling.partition.partition_index import PartitionIndex, PendingIndexUpdates
from headgate.domain.scheduling.partition.partition_layout import (
    INSTALLATION,
    PartitionLayout,
    partition_layout,
)
from headgate.domain.scheduling.queueing.local_queue_usage import UsageHistory, UsageUndo
from headgate.domain.streams import kind_and_key, workload_stream
from headgate.domain.values.instants import Instant
from headgate.domain.workloads.state import Workload

KEPT_ENDED_ROUNDS = 1_000
"""Ended rounds that are still kept here; older ones are in their streams and read models."""

ABSENT = Absent()


class _Dump(msgspec.Struct, kw_only=True):
    position: int
    config_position: int
    config: ObjectSet
    workloads: dict[str, Workload]
    rounds: dict[str, Round]
    versions: dict[str, int]
    quarantined: dict[str, str]
    changed_at: Instant
    used: bytes


class _Assumed(msgspec.Struct, frozen=True, gc=False):
    """What was there before an assumed event."""

    stream: str
    state: Any
    version: int
    config_position: int
    changed_at: Instant
    active_since: dict[str, Instant]
    used: UsageUndo


class Overlay:
    """Events assumed for the moment; undone on leaving unless they are kept."""

    def __init__(self, cluster_state: "ClusterState") -> None:
        self.base_position = cluster_state.position
        self.kept = False
        self._cell = cluster_state

    def keep(self, last_position: int, between: Sequence[RecordedEvent] = ()) -> None:
        """Make what was assumed the truth: it was appended in this order, up to `last_position`.

        `between` are facts of others that came before it, all `may_come_after`: folding them last
        leads where the order of the log does.
        """
        for recorded in between:
            self._cell.fold(recorded)
        assert last_position == self._cell.position, "kept events must be the next of the log"
        self.kept = True


class ClusterState:
    """Mutable container of frozen states, changed by events alone; deterministic.

    `quarantined` names streams with an event or a state that could not be taken into account, with
    the reason; everything else goes on without them.
    """

    def __init__(self) -> None:
        self.position = 0
        self.config_position = 0
        self.config = ObjectSet()
        self.workloads: dict[str, Workload] = {}
        self.rounds: dict[str, Round] = {}
        self.versions: dict[str, int] = {}
        self.quarantined: dict[str, str] = {}
        self.base_position = 0
        self.changed_at: Instant = 0
        self.usage_history = UsageHistory()
        self._journal: list[_Assumed] | None = None
        self._partition_index: PartitionIndex | None = None
        self._layout: PartitionLayout | None = None
        self._pending_index = PendingIndexUpdates()

    def apply(self, recorded: RecordedEvent) -> None:
        """Fold the next event of the log; a gap, or a step back, is a bug and crashes."""
        assert self._journal is None, "the log cannot be followed during a trial"
        expected = self.position + 1
        assert recorded.position == expected, f"expected {expected}, got {recorded.position}"
        self.fold(recorded)

    def fold(self, recorded: RecordedEvent) -> None:
        """Fold a fact whose place in the order somebody else has looked at; see `apply`, `keep`."""
        self._change(recorded.stream, recorded.event, recorded.at)
        self.versions[recorded.stream] = recorded.version
        self._forget_old_rounds(recorded.stream)

    def may_come_after(self, recorded: RecordedEvent) -> bool:
        """Whether folding it after what was assumed leads where folding it before does.

        A fact of a workload changes that workload alone, and nothing was assumed of it where the
        log has taken both. What LocalQueues have used fades with time, and its order matters.
        """
        return recorded.stream.startswith("workload/") and self.usage_history.rules is None

    def assume(self, stream: str, event: DomainEvent, at: Instant) -> None:
        """Fold an event that is not in the log yet, as if it came next; only inside a trial."""
        assert self._journal is not None, "events are assumed only inside a trial"
        state, version = self.state_of(stream), self.versions.get(stream, 0)
        here = (self.config_position, self.changed_at, self.config.active_since)
        used = self._change(stream, event, at)
        self._journal.append(_Assumed(stream, state, version, *here, used))
        self.versions[stream] = version + 1

    @contextmanager
    def overlay(self) -> Iterator[Overlay]:
        """A stretch of events on approval: everything assumed inside is undone on leaving."""
        assert self._journal is None, "trials do not nest"
        overlay = Overlay(self)
        self.flush_index()
        self._journal = []
        self.base_position = self.position
        try:
            yield overlay
        finally:
            journal, self._journal = self._journal, None
            if not overlay.kept:
                self._undo(journal)
            self.base_position = self.position

    @property
    def partition_index(self) -> PartitionIndex:
        """All partitions, up to date; built anew after a change of configuration."""
        if self._pending_index.before:
            self.flush_index()
        return self._partition_index or self._build()

    @property
    def layout(self) -> PartitionLayout:
        """What of them follows from configuration alone; no workload is looked at for it."""
        if self._partition_index is not None:
            return self._partition_index.layout
        self._layout = self._layout or partition_layout(self.config)
        return self._layout

    def flush_index(self) -> None:
        """Bring the partitions up to date, for those who go on with the one they have."""
        for key, before in self._pending_index.take().items():
            after = self.workloads.get(key)
            if before is not after:
                self._index_now("workload", key, before, after)

    def partition(self, key: str) -> Partition:
        """One partition, up to date."""
        return self.partition_index.partitions[key]

    def partition_keys(self) -> tuple[str, ...]:
        """The partitions of the present configuration, `installation` among them."""
        return self.layout.keys

    def quarantine(self, stream: str, reason: str) -> None:
        """Leave an object out of account until its next event; everything else goes on."""
        self.quarantined[stream] = reason
        self._partition_index = None

    def partition_of_workload(self, workload: Workload) -> str:
        """The partition that schedules it; empty if it has no queue."""
        return key if (key := self.layout.key_of(workload)) != INSTALLATION else ""

    @property
    def has_overlay(self) -> bool:
        """Whether events may be assumed now."""
        return self._journal is not None

    def version_of(self, stream: str) -> int:
        """How many events the stream has; 0 for one that was never used."""
        return self.versions.get(stream, 0)

    def state_of(self, stream: str) -> Any:  # noqa: ANN401 - one of the aggregates' states, by kind
        """The state of any object or round; `Absent` where there is none now."""
        kind, key = kind_and_key(stream)
        return self._states(kind).get(key, ABSENT)

    def dump(self) -> bytes:
        """Everything folded; indices are built anew from it."""
        return self._dumped(self.workloads)

    def dump_beside_workloads(self) -> bytes:
        """The same without the workloads, which are kept in another way."""
        return self._dumped({})

    def _dumped(self, workloads: dict[str, Workload]) -> bytes:
        assert self._journal is None, "what is only assumed is not kept"
        self.flush_index()
        folded = _Dump(
            position=self.position,
            config_position=self.config_position,
            config=self.config,
            workloads=workloads,
            rounds=self.rounds,
            versions=self.versions,
            quarantined=self.quarantined,
            changed_at=self.changed_at,
            used=self.usage_history.dump(),
        )
        return msgspec.msgpack.encode(folded)

    def fork(self) -> "ClusterState":
        """Another cell with the same states, going its own way; cheap, as states are shared."""
        assert self._journal is None, "what is only assumed is not forked"
        self.flush_index()
        forked = ClusterState()
        forked.position = forked.base_position = self.position
        forked.config_position = self.config_position
        forked.config = self.config.copied()
        forked.workloads = dict(self.workloads)
        forked.rounds = dict(self.rounds)
        forked.versions = dict(self.versions)
        forked.quarantined = dict(self.quarantined)
        forked.changed_at = self.changed_at
        forked.usage_history = self.usage_history.copied()
        return forked

    @classmethod
    def load(cls, body: bytes) -> "ClusterState":
        """The cell that `dump` wrote down."""
        folded = msgspec.msgpack.decode(body, type=_Dump)
        cluster_state = cls()
        cluster_state.position = cluster_state.base_position = folded.position
        cluster_state.config_position = folded.config_position
        cluster_state.config = folded.config
        cluster_state.workloads = folded.workloads
        cluster_state.rounds = folded.rounds
        cluster_state.versions = folded.versions
        cluster_state.quarantined = folded.quarantined
        cluster_state.changed_at = folded.changed_at
        rules = folded.config.configuration.admission_fair_sharing
        cluster_state.usage_history = UsageHistory.load(rules, folded.used)
        return cluster_state

    def _build(self) -> PartitionIndex:
        self._pending_index.take()
        self._partition_index = built = PartitionIndex(self.layout, self.quarantined)
        for key, reason in built.fill(self.workloads, self.rounds).items():
            self.quarantined[workload_stream(key)] = reason
        return built

    def _change(self, stream: str, event: DomainEvent, at: Instant) -> UsageUndo:
        self.position += 1
        self.changed_at = max(at, self.changed_at)
        kind, key = kind_and_key(stream)
        if kind in KINDS_BY_STREAM and not isinstance(event, StatusEvent):
            self.config_position, self._layout = self.position, None
        states = self._states(kind)
        before = ABSENT if (found := states.get(key)) is None else found
        was_active = queue_activities(self.config, kind, key) if kind in ACTIVITY_KINDS else {}
        try:
            after = evolve_state(kind, before, event, at)
        except Exception as error:  # noqa: BLE001 - one poison event must not stop all others
            self.quarantined[stream] = f"{type(event).__name__} could not be applied: {error}"
            return {}
        if self.quarantined.pop(stream, None) is not None:
            self._partition_index = None
        if isinstance(after, Absent):
            states.pop(key, None)
            after = None
        else:
            states[key] = after
        if kind in ACTIVITY_KINDS:
            self.config.active_since = active_since_after(self.config, kind, key, was_active, at)
        if after is not found and self._partition_index is not None:
            self._index(kind, key, found)
        return self._account(kind, found, after, at)

    def _account(self, kind: str, before: Any, after: Any, at: Instant) -> UsageUndo:  # noqa: ANN401 - by kind
        """Keep what LocalQueues have used; it is a fold of its own, beside the states."""
        history = self.usage_history
        if kind == "configuration":
            rules = self.config.configuration.admission_fair_sharing
            return history.configure(rules, self.workloads.values(), at)
        if kind != "workload" or history.rules is None:
            return {}
        return history.replace(before, after, at)

    def _replace(self, kind: str, key: str, after: Any) -> None:  # noqa: ANN401 - same
        states = self._states(kind)
        before = states.get(key)
        if isinstance(after, Absent):
            states.pop(key, None)
        else:
            states[key] = after
        if self._partition_index is not None and before is not states.get(key):
            self._index(kind, key, before)

    def _index(self, kind: str, key: str, before: Any) -> None:  # noqa: ANN401 - same
        """Of workloads the partitions are told when somebody asks, or before anything else."""
        after = self._states(kind).get(key)
        if kind == "workload":
            first = self._pending_index.put(key, before, after)
            if first is not None:
                self._index_now(kind, key, first, before)
            if self._pending_index.is_full:
                self.flush_index()
            return
        if kind == "node" or self._journal is not None:
            self.flush_index()
        self._index_now(kind, key, before, after)

    def _index_now(self, kind: str, key: str, before: Any, after: Any) -> None:  # noqa: ANN401 - same
        partition_index = self._partition_index
        if partition_index is None:
            return
        try:
            if kind == "workload":
                partition_index.replace_workload(before, after)
            elif kind == "round":
                partition_index.replace_round(before, after)
            elif not self._node_reported(kind, key, before):
                self._partition_index = None
        except Exception as error:  # noqa: BLE001 - one poison object must not stop all others
            self.quarantined[f"{kind}/{key}"] = f"{type(error).__name__}: {error}"
            self._partition_index = None

    def _node_reported(self, kind: str, key: str, before: Any) -> bool:  # noqa: ANN401 - same
        node = self.config.nodes.get(key) if kind == "node" else None
        if node is None or before is None:
            return False
        same = (node.labels, node.spec.taints) == (before.labels, before.spec.taints)
        return same and self.partition_index.node_changed(node)

    def _undo(self, journal: list[_Assumed]) -> None:
        self._layout = None
        for assumed in reversed(journal):
            self._replace(*kind_and_key(assumed.stream), assumed.state)
            self.usage_history.restore(assumed.used)
            self.config_position, self.changed_at = assumed.config_position, assumed.changed_at
            self.config.active_since = assumed.active_since
            self.position -= 1
            if assumed.version:
                self.versions[assumed.stream] = assumed.version
            else:
                self.versions.pop(assumed.stream, None)
        self.usage_history.rules = self.config.configuration.admission_fair_sharing
        if journal and self._partition_index is not None:
            # What did not fit beside assumed admissions may fit without them.
            self.partition_index.requeue_inadmissible()

    def _states(self, kind: str) -> dict[str, Any]:
        if kind == "workload":
            return self.workloads
        if kind == "round":
            return self.rounds
        return self.config.of_kind(kind)

    def _forget_old_rounds(self, stream: str) -> None:
        if not stream.startswith("round/") or len(self.rounds) <= KEPT_ENDED_ROUNDS:
            return
        ended = [found.id for found in self.rounds.values() if not is_open(found)]
        for round_id in ended[: len(self.rounds) - KEPT_ENDED_ROUNDS]:
            self._replace("round", round_id, Absent())
