"""What the memory adapters share: one log, all kept beside it, and how it is appended to."""

import threading
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from msgspec.structs import replace

from headgate.application.access.identity import ServiceAccount, Token
from headgate.application.ports import (
    AppendConflict,
    Appended,
    AppendUnit,
    Fence,
    IdempotencyKey,
    KeyReused,
    NewEvent,
    PartitionRow,
    Replayed,
    Row,
    Verdict,
)
from headgate.domain.recorded_event import RecordedEvent, not_read
from headgate.domain.values.instants import Instant
from headgate.event_log.chain import (
    EventReader,
    LogBatch,
    LogPoint,
    PastLost,
    StoredEvent,
    chain_after,
    first_chain,
)
from headgate.event_log.codec import encode, stored_name_of

Columns = dict[str, Any]
TABLES = ("object", "workload", "round", "round_victim")


class MemoryDatabase:
    """The whole database of one installation; `clock` is its clock.

    Safe to use from several threads: every method of an adapter holds `lock`.
    """

    def __init__(self, clock: Callable[[], Instant], log_id: str = "memory") -> None:
        self.clock = clock
        self.log_id = log_id
        self.lock = threading.RLock()
        self.events: list[RecordedEvent] = []
        self.by_stream: dict[str, list[RecordedEvent]] = {}
        self.chain = [first_chain(log_id)]
        self.config_position = 0
        self.reshaped_position = -1
        self.rows: dict[str, dict[tuple[str, ...], Columns]] = {name: {} for name in TABLES}
        self.written: dict[str, bytes] = {}
        self.keys: dict[tuple[str, str], Replayed] = {}
        self.partitions = {"installation": new_partition("installation", 0)}
        self.sessions: dict[str, object] = {}
        self.tokens: dict[str, Token] = {}
        self.accounts: dict[str, ServiceAccount] = {}
        self.listeners: list[Callable[[], None]] = []

    @property
    def head(self) -> int:
        """The last position, 0 while empty."""
        return len(self.events)

    def point_at(self, position: int) -> LogPoint | None:
        """The point of the log at a position; None past its end."""
        if position > self.head:
            return None
        return LogPoint(log_id=self.log_id, position=position, chain=self.chain[position])

    def batch_after(
        self, point: LogPoint, limit: int, reader: EventReader | None = None
    ) -> LogBatch:
        """Up to `limit` events after a point; raises `PastLost` if the log does not have it."""
        with self.lock:
            if self.point_at(point.position) != point:
                raise PastLost(point)
            events = self.events[point.position : point.position + limit]
            after = self.point_at(point.position + len(events))
        assert after is not None
        if reader is not None:
            events = [
                each
                if reader(each.stream, stored_name_of(each.event))
                else not_read(each.position, each.stream, each.version, each.at)
                for each in events
            ]
        return LogBatch(events=events, point=after)

    def version_of(self, stream: str) -> int:
        """How many events the stream has."""
        return len(self.by_stream.get(stream, ()))

    def append(self, units: Sequence[AppendUnit], session: object = None) -> list[Verdict]:
        """Append each unit with its own verdict; `session` is the lock the caller holds."""
        with self.lock:
            before = self.head
            verdicts = [self._append_one(unit, session) for unit in units]
            grown = self.head > before
        if grown:
            for wake_up in tuple(self.listeners):
                wake_up()
        return verdicts

    def refusal(
        self, unit: AppendUnit, session: object, ahead: Sequence[AppendUnit] = ()
    ) -> Verdict | None:
        """What is wrong with a unit once those `ahead` are appended; None if it may be as well."""
        if unit.past is not None and self.point_at(unit.past.position) != unit.past:
            return AppendConflict(
                reason="the log has lost events that this was decided on", is_past_lost=True
            )
        if unit.idempotency is not None:
            earlier = self.keys.get((unit.idempotency.key, unit.idempotency.actor))
            if earlier is not None:
                return _replay(earlier, unit.idempotency)
        reason = self._fence_conflict(unit.fence, session) or self._conflict(unit, ahead)
        return AppendConflict(reason=reason) if reason else None

    def _append_one(self, unit: AppendUnit, session: object) -> Verdict:
        refused = self.refusal(unit, session)
        if refused is not None:
            return refused
        first = self.head + 1
        for new in unit.events:
            self._record(unit, new)
        for row in unit.rows:
            self._write_row(row)
        for written in unit.written:
            self.written.setdefault(written.digest, written.body)
        if unit.idempotency is not None:
            key = (unit.idempotency.key, unit.idempotency.actor)
            self.keys[key] = Replayed(key=unit.idempotency, position=self.head)
        self._wake(unit, first)
        return Appended(first_position=first, last_position=self.head)

    def _fence_conflict(self, fence: Fence | None, session: object) -> str:
        if fence is None:
            return ""
        row = self.partitions.get(fence.partition)
        if row is None:
            return "the partition is no more"
        holder = self.sessions.get(fence.partition)
        if row.epoch != fence.epoch or (holder is not None and holder is not session):
            return "another worker has taken the partition"
        if row.guard != fence.guard:
            return "something has moved the guard of the partition"
        return ""

    def _conflict(self, unit: AppendUnit, ahead: Sequence[AppendUnit]) -> str:
        coming = [new for other in ahead for new in other.events]
        configured = self.config_position
        for position, new in enumerate(coming, start=self.head + 1):
            configured = position if new.configures else configured
        if unit.config_position is not None and unit.config_position < configured:
            return "the configuration has changed"
        more = Counter(new.stream for new in coming)
        for stream, version in sorted(unit.expected.items()):
            actual = self.version_of(stream) + more[stream]
            if actual != version:
                return f"{stream} is at version {actual}, not {version}"
        return ""

    def _record(self, unit: AppendUnit, new: NewEvent) -> None:
        recorded = RecordedEvent(
            position=self.head + 1,
            stream=new.stream,
            version=self.version_of(new.stream) + 1,
            event=new.event,
            at=unit.at,
            metadata=unit.metadata,
        )
        self.keep(recorded)
        if new.configures:
            self.config_position = recorded.position

    def keep(self, recorded: RecordedEvent) -> None:
        """Hold an event as the last of its stream and of the log, chained to the one before."""
        self.by_stream.setdefault(recorded.stream, []).append(recorded)
        self.events.append(recorded)
        self.chain.append(chain_after(self.chain[-1], stored_event(recorded)))

    def _write_row(self, row: Row) -> None:
        table = self.rows[row.table]
        if row.columns is None:
            table.pop((row.stream,), None)
            return
        last = self.by_stream[row.stream][-1]
        victim = (row.columns["workload"],) if row.table == "round_victim" else ()
        table[row.stream, *victim] = {
            **row.columns,
            "stream": row.stream,
            "version": last.version,
            "position": last.position,
        }

    def _wake(self, unit: AppendUnit, first: int) -> None:
        fenced = unit.fence.partition if unit.fence else ""
        moved: set[str] = set()
        for position, new in enumerate(unit.events, start=first):
            for key in self._addressed(new.wakes):
                row = self.partitions[key]
                self.partitions[key] = replace(row, last_position=position)
                if new.guards and key != fenced:
                    moved.add(key)
        for key in moved:
            row = self.partitions[key]
            self.partitions[key] = replace(row, guard=row.guard + 1)

    def _addressed(self, wakes: Sequence[str]) -> Sequence[str]:
        """A name that is no partition (any more) means all of them, as `*` does."""
        if any(key not in self.partitions for key in wakes):
            return tuple(self.partitions)
        return wakes


def stored_event(recorded: RecordedEvent) -> StoredEvent:
    """The event as a database would store it."""
    name, schema_version, body = encode(recorded.event)
    return StoredEvent(
        position=recorded.position,
        stream=recorded.stream,
        version=recorded.version,
        type=name,
        schema_version=schema_version,
        body=body,
    )


def new_partition(key: str, head: int) -> PartitionRow:
    """A partition that no worker has planned yet: it is due."""
    return PartitionRow(
        key=key, last_position=head, idle_position=-1, guard=0, epoch=0, next_due=None
    )


def _replay(earlier: Replayed, key: IdempotencyKey) -> Verdict:
    same = earlier.key.request_hash == key.request_hash
    return earlier if same else KeyReused(key=key.key)
