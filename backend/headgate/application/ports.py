"""What the use cases need from the world, as protocols; `adapters` fills them.

Stream names are `kind/name` or `kind/namespace/name` in lower case (`workload/team-a/train-7`,
`clusterqueue/gpu`, `round/<id>`); `headgate.domain.recorded_event` makes them.
"""

from collections.abc import AsyncIterator, Collection, Iterable, Iterator, Sequence
from typing import Any, Protocol, Self

import msgspec

from headgate.application.workload_filter import (
    NEWEST_FIRST,
    CountedField,
    ListOrder,
    StartedSizes,
    WaitCounts,
    Waits,
    WorkloadFilter,
    WorkloadGroup,
    comes_after,
    ordered,
)
from headgate.domain.recorded_event import (
    Correlation,
    DomainEvent,
    EventCount,
    EventMetadata,
    RecordedEvent,
)
from headgate.domain.values.instants import Instant
from headgate.domain.workloads.state import Workload
from headgate.event_log.chain import EventReader, LogBatch, LogPoint


class NewEvent(msgspec.Struct, frozen=True, kw_only=True):
    """An event to append; `wakes` names the partitions that must look at it, `*` means all.

    `guards` says that it can make a plan stale that was made without it (quota, hosts, holds,
    cancellations): it moves the guard of the partitions it wakes. `configures` says that it changes
    configuration: units decided under an earlier configuration are refused from then on.
    """

    stream: str
    event: DomainEvent
    wakes: tuple[str, ...] = ()
    guards: bool = False
    configures: bool = False


class Fence(msgspec.Struct, frozen=True, kw_only=True):
    """What a worker saw of its partition before planning; the append fails if that has changed."""

    partition: str
    epoch: int
    guard: int


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One row of an inline read model, written in the append's transaction.

    `columns` are the table's columns by name; `position` and `version` are filled in by the append
    from the last event of `stream` in the same unit. `columns` of None deletes the row.
    """

    table: str
    stream: str
    columns: dict[str, Any] | None


class IdempotencyKey(msgspec.Struct, frozen=True, kw_only=True):
    """A caller's key for one command, and what the first answer was."""

    key: str
    actor: str
    request_hash: str
    status: int = 200
    answer: bytes = b""


class WrittenObject(msgspec.Struct, frozen=True, kw_only=True):
    """An object as its author wrote it, without what the server owns: canonical JSON.

    `digest` is the SHA-256 of the body in hexadecimal, by which events refer to it.
    """

    digest: str
    body: bytes


class AppendUnit(msgspec.Struct, frozen=True, kw_only=True):
    """All the appends of one decision: recorded together or not at all.

    `expected` gives the version each touched stream must be at (0: never used). `config_position`
    is the position of the configuration the decision was made under; a later change of
    configuration refuses the unit. None skips that check. `past` is the point of the log that the
    decision was made at; a log that does not have it refuses the unit. `written` has the objects as
    written that the events refer to.
    """

    at: Instant
    metadata: EventMetadata
    expected: dict[str, int]
    events: tuple[NewEvent, ...]
    rows: tuple[Row, ...] = ()
    fence: Fence | None = None
    config_position: int | None = None
    past: LogPoint | None = None
    idempotency: IdempotencyKey | None = None
    written: tuple[WrittenObject, ...] = ()


class Appended(msgspec.Struct, frozen=True, kw_only=True):
    """The unit is in the log, with its events at these positions."""

    first_position: int
    last_position: int


class AppendConflict(msgspec.Struct, frozen=True, kw_only=True):
    """The unit was refused: what it was decided on has changed. Load, decide and try again.

    `is_past_lost` says that the log does not have the point that the unit was decided at.
    """

    reason: str
    is_past_lost: bool = False


class Replayed(msgspec.Struct, frozen=True, kw_only=True):
    """The idempotency key was used before for an equal request: this is the stored response."""

    key: IdempotencyKey
    position: int


class KeyReused(msgspec.Struct, frozen=True, kw_only=True):
    """The idempotency key was used before for a different request."""

    key: str


Verdict = Appended | AppendConflict | Replayed | KeyReused


class Loaded(msgspec.Struct, frozen=True, kw_only=True):
    """An object from its inline read model, with its version and its position in the log."""

    stream: str
    version: int
    position: int
    state: Any


class EventFilter(msgspec.Struct, frozen=True, kw_only=True):
    """Which events to read; empty means all.

    `streams` ending in `/` are prefixes; positions are those after `after`, up to `up_to`.
    """

    types: tuple[str, ...] = ()
    streams: tuple[str, ...] = ()
    actor: str = ""
    correlation: str = ""
    since: Instant | None = None
    until: Instant | None = None
    after: int = 0
    up_to: int | None = None


class EventLog(Protocol):
    """The log itself. Blocking; safe to use from several threads."""

    def append(self, units: Sequence[AppendUnit]) -> list[Verdict]:
        """Append each unit with its own verdict, all in one transaction, in order."""

    def erase(self, unit: AppendUnit, digests: Collection[str]) -> Verdict:
        """Delete what was written, by digest, and append the event of it, in one transaction.

        Nothing is deleted unless the unit is appended. No append is under way meanwhile that keeps
        one of these bodies for its events.
        """

    def head(self) -> int:
        """The last position, 0 while empty."""

    def log_id(self) -> str:
        """The identity of this log, given at its creation (ADR 0025)."""

    def point_at(self, position: int) -> LogPoint | None:
        """The point of this log at a position; None where it has none."""

    def now(self) -> Instant:
        """The database's clock."""

    def read(self, after: int, *, limit: int, up_to: int | None = None) -> list[RecordedEvent]:
        """Up to `limit` events after that position in order; raises `GapInLog` at a gap."""

    def read_on(
        self, point: LogPoint, *, limit: int, reader: EventReader | None = None
    ) -> LogBatch:
        """Up to `limit` events after a point, or `PastLost`; `NOT_READ` for those not needed."""

    def forget_lost_past(self) -> None:
        """Delete idempotency answers and cached folds of positions that the log does not have."""

    def read_all(self, after: int = 0, up_to: int | None = None) -> Iterator[RecordedEvent]:
        """Every event after that position in order, streamed."""

    def read_stream(self, stream: str, after_version: int = 0) -> list[RecordedEvent]:
        """One stream from its beginning, or after a version."""

    def stream_page(self, stream: str, *, before: int | None, limit: int) -> list[RecordedEvent]:
        """The newest events of one stream, before a version, newest first; no more is read."""

    def positions_of(self, places: Sequence[tuple[str, int]]) -> list[int]:
        """The position of each event, given by stream and version; 0 where there is none."""

    def page(self, where: EventFilter, *, before: int | None, limit: int) -> list[RecordedEvent]:
        """The newest events matching `where`, before a position, newest first."""

    def histogram(self, where: EventFilter, *, width: int) -> list[EventCount]:
        """Events that match `where`, counted by type and by buckets of `width` microseconds."""

    def correlations(self, ids: Sequence[str], where: EventFilter, limit: int) -> list[Correlation]:
        """The events of each that match `where`, `limit` at most; not those archived to a store."""


class Unavailable(Exception):
    """The database or broker cannot be reached; the same call may succeed later."""


class WorkloadQuery(msgspec.Struct, frozen=True, kw_only=True):
    """One page of the workloads that match a filter.

    `after` is (created_at, key) of the last row of the page before, `after_value` its value in the
    order unless that is the age. `keys` match whatever their phase, if all else holds. A count that
    has to read rows reads `counted_rows` of them at most, or all.
    """

    where: WorkloadFilter = WorkloadFilter()
    keys: tuple[str, ...] = ()
    order: ListOrder = NEWEST_FIRST
    after: tuple[Instant, str] | None = None
    after_value: int | str | None = None
    limit: int = 100
    counted_rows: int | None = None


class ReadModels(StartedSizes, Protocol):
    """The inline read models; `ended_by` leaves what ended and did not change after a position."""

    def load(self, streams: Sequence[str]) -> list[Loaded]:
        """Returns the objects of these streams, in their order."""

    def objects(
        self, kind: str, *, namespace: str | None = None, after: str = "", limit: int = 500
    ) -> list[Loaded]:
        """Objects of one configured kind in order of stream name, keyset paged by stream."""

    def workloads(self, query: WorkloadQuery) -> list[Loaded]:
        """Workloads that match, in the order of the query, keyset paged."""

    def workload_groups(self, query: WorkloadQuery, by: CountedField | None) -> list[WorkloadGroup]:
        """Matching workloads by a field, most GPUs first; without one a single group, or none."""

    def waits_like(
        self, cluster_queue: str, size: str, *, limit: int, ended_by: int | None = None
    ) -> Waits:
        """The latest waits of workloads of a size class, in the order they started."""

    def waits_between(
        self, since: Instant, until: Instant, *, ended_by: int | None = None
    ) -> WaitCounts:
        """By ClusterQueue the numbers of waits that ended from `since` to before `until`."""

    def rounds(
        self,
        *,
        after: tuple[Instant, str] | None = None,
        limit: int = 100,
        workload: str = "",
        cluster_queue: str = "",
    ) -> list[Loaded]:
        """Preemption rounds, newest first, optionally those that touch a workload or queue."""

    def replay_of(self, key: str, actor: str) -> Replayed | None:
        """The first answer given under this idempotency key, if any."""

    def written(self, digests: Collection[str]) -> dict[str, bytes]:
        """The bodies of objects as they were written, by digest; those that are kept."""


def page_of(found: Iterable[tuple[Workload, str]], query: WorkloadQuery) -> list[Workload]:
    """One page of matching workloads, given with the ClusterQueues they are listed under."""
    if query.after is not None:
        after, value = query.after, query.after_value
        found = (one for one in found if comes_after(query.order, *one, after, value))
    return ordered(found, query.order)[: query.limit]


class PartitionRow(msgspec.Struct, frozen=True, kw_only=True):
    """The state of a partition that a worker reads before it plans (ADR 0003)."""

    key: str
    last_position: int
    idle_position: int
    guard: int
    epoch: int
    next_due: Instant | None
    owner: str = ""
    failures: int = 0
    failure: str = ""
    halted_position: int | None = None
    retry_at: Instant | None = None


class Agenda(msgspec.Struct, frozen=True, kw_only=True):
    """What there is to do in partitions at `now`, an instant of the database's clock.

    `due` are those with events past their idle position or a timer that has come, by key; a halted
    partition is due again only when its `retry_at` has come. `next_due` is the earliest timer or
    retry of any, and `synced_position` that of the configuration that the rows match.
    """

    now: Instant
    due: list[str]
    next_due: Instant | None
    synced_position: int


class PartitionSession(Protocol):
    """The time one worker holds a partition: one transaction from lock to commit.

    Used as a context manager; leaving without `commit` gives everything up.
    """

    row: PartitionRow

    def catch_up(
        self, point: LogPoint, *, limit: int = 5_000, reader: EventReader | None = None
    ) -> LogBatch:
        """As `EventLog.read_on`, in the session, also after a commit."""

    def point_at(self, position: int) -> LogPoint:
        """The point of the log at a position that the session has appended or read."""

    def now(self) -> Instant:
        """The database's clock, read afresh."""

    def expired(self, at: Instant, after_seconds: int | None, *, limit: int) -> list[Loaded]:
        """Workloads with a `retention_deadline` not after `at`, the first finished first."""

    def next_expiry(self, after_seconds: int | None) -> Instant | None:
        """The earliest instant from which `expired` finds a workload."""

    def commit_decisions(
        self, units: Sequence[AppendUnit], *, next_due: Instant | None
    ) -> list[Verdict]:
        """Append under the fence and commit; any conflict rolls everything back."""

    def commit_idle(self, *, idle_position: int, next_due: Instant | None) -> None:
        """Record "seen everything up to here, nothing to do" and commit."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *details: object) -> None: ...


class Partitions(Protocol):
    """Which partitions there are, which are due, and the right to work on one."""

    def agenda(self) -> Agenda:
        """Returns what there is to do, read at once."""

    def rows(self) -> list[PartitionRow]:
        """Returns every partition, by key."""

    def halt(self, key: str, *, position: int, failure: str, retry_at: Instant) -> None:
        """Quarantines a partition after a failed plan at that position; counts the failure."""

    def sync_partitions(self, keys: Sequence[str], config_position: int, past: LogPoint) -> None:
        """Make the rows match the configuration of `past`; new ones start due; or `PastLost`."""

    def try_lock(self, key: str, owner: str) -> PartitionSession | None:
        """The right to work on a partition now, or None while another worker has it."""


class Ids(Protocol):
    """The only source of new ids."""

    def new(self) -> str:
        """A new time-ordered UUID."""


class Tail(Protocol):
    """Follows the log as it grows, for API processes: a notification, and slow polling."""

    def follow(self, point: LogPoint) -> AsyncIterator[LogBatch]:
        """Batches of new events, for ever, through restarts of the database; or `PastLost`."""
