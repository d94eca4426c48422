"""The cycles of workers: listed, opened, and run again."""

import asyncio
import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import msgspec

from headgate.application.access.redaction import NamespaceScope, allows, diagnostic
from headgate.application.application_services import ApplicationServices
from headgate.application.historical_ports import FixedReader
from headgate.application.queries.capacity_history import readable_step
from headgate.application.queries.events import EventView, shown
from headgate.application.queries.views import (
    Position,
    Schema,
    Timestamp,
    Whole,
    timestamp,
    timestamp_or_none,
    view_from,
)
from headgate.application.scheduling_cycles import (
    CycleOutcome,
    CycleQuery,
    CycleRange,
    CycleRecord,
    CycleSums,
)
from headgate.application.time_travel import SampledPeriod, bounds_of
from headgate.domain.backtest.replay_run import RecordedCycle, replay_cycle
from headgate.domain.cluster_state import ClusterState
from headgate.domain.recorded_event import RecordedEvent, StreamEvent
from headgate.domain.rejection import NotFound
from headgate.domain.values.instants import MICROSECONDS_PER_SECOND, Instant
from headgate.event_log.codec import encode


@dataclass(frozen=True, slots=True)
class RerunResult:
    """What a cycle decides when it is run again, and what it had decided."""

    replayed: tuple[StreamEvent, ...]
    recorded: tuple[StreamEvent, ...]
    digest_replayed: str
    digest_recorded: str

    @property
    def is_same(self) -> bool:
        """Whether both are equal to the byte."""
        return self.digest_replayed == self.digest_recorded


def rerun_cycle(
    cluster_state: ClusterState, record: CycleRecord, recorded: Sequence[RecordedEvent]
) -> RerunResult:
    """Replay a cycle on the fold at its input position, which stays as it was."""
    assert cluster_state.position == record.input_position, "a cycle runs again on its own input"
    cycle = RecordedCycle(
        partition=record.partition,
        at=record.at,
        run_id=record.id,
        decisions=record.decisions,
        inadmissible=record.inadmissible,
    )
    replayed = replay_cycle(cluster_state, cycle)
    expected = tuple((one.stream, one.event) for one in recorded)
    return RerunResult(replayed, expected, digest(replayed), digest(expected))


def digest(stream_events: Iterable[StreamEvent]) -> str:
    """Returns SHA-256 over the stored bytes of events.

    Stream, name, schema version and fields of each count.
    """
    found = hashlib.sha256()
    for stream, event in stream_events:
        name, version, fields = encode(event)
        for part in (stream.encode(), name.encode(), str(version).encode(), fields):
            found.update(len(part).to_bytes(8, "big") + part)
    return found.hexdigest()


class CycleView(Whole, kw_only=True, frozen=True):
    """Cycles planned on top of each other by one worker, and committed together or refused.

    `input_position` is what they were planned on, `heads` how many workloads were evaluated,
    `reservations` how many got quota, `preemptions` how many were evicted for others, `conflicts`
    how many plans in a row had been refused before.
    """

    id: str
    partition: str
    worker: str
    at: Timestamp
    input_position: Position
    first_position: Position
    last_position: Position
    outcome: CycleOutcome
    conflict: str
    cycles: int
    heads: int
    decisions: int
    reservations: int
    preemptions: int
    conflicts: int
    inadmissible: int
    planning_microseconds: int
    commit_microseconds: int


class CyclePage(Schema, kw_only=True, frozen=True):
    """Records, newest first; `next` is the `before` of the page after it."""

    position: Position
    items: list[CycleView]
    next: str | None = None


class CycleDetail(Whole, kw_only=True, frozen=True):
    """One record with the events it led to, in order."""

    position: Position
    cycle: CycleView
    events: list[EventView]


class CycleRerun(Whole, kw_only=True, frozen=True):
    """The result of a rerun on the recorded input; digests are over the stored bytes."""

    position: Position
    id: str
    is_same: bool
    events: int
    digest_recorded: str
    digest_replayed: str
    first_difference: str


class CycleSumsView(Whole, kw_only=True, frozen=True):
    """Sums of records, and the durations that half and 95 of 100 of them did not exceed.

    `plans` counts records, `conflicts` those that the log refused; decisions are of the others. A
    duration is that of planning and commit together where its name says nothing else.
    """

    plans: int
    conflicts: int
    cycles: int
    heads: int
    decisions: int
    longest_microseconds: int
    p50_microseconds: int
    p95_microseconds: int
    planning_p50_microseconds: int
    planning_p95_microseconds: int
    commit_p50_microseconds: int
    commit_p95_microseconds: int


class CycleSumsPoint(CycleSumsView, kw_only=True, frozen=True):
    """The sums of the records from an instant until the next one."""

    at: Timestamp


class CycleSummary(Whole, kw_only=True, frozen=True):
    """Sums of records over time, oldest first; instants without records are left out.

    Records of before `dataSince` are kept no more, or have no sums.
    """

    position: Position
    since: Timestamp
    until: Timestamp
    step_seconds: int
    data_since: Timestamp | None
    total: CycleSumsView
    points: list[CycleSumsPoint]


MAX_EVENTS = 5_000
NOTHING = CycleSums(*(0 for _ in CycleSums.__struct_fields__))


class CyclePageRequest(msgspec.Struct, frozen=True):
    """So many of the records, after the last one of the page before, within a range."""

    limit: int
    before: tuple[Instant, str] | None = None
    since: Instant | None = None
    until: Instant | None = None


async def page(
    services: ApplicationServices,
    partition: str,
    page_request: CyclePageRequest,
    scope: NamespaceScope,
) -> CyclePage:
    """The newest records of one or all partitions, redacted for a scope."""
    reader = services.reader
    query = CycleQuery(
        partition=partition,
        up_to=reader.position if isinstance(reader, FixedReader) else None,
        before=page_request.before,
        since=page_request.since,
        until=page_request.until,
        limit=page_request.limit,
    )
    found = await asyncio.to_thread(services.cycles.page, query)
    last = found[-1] if len(found) == page_request.limit else None
    return CyclePage(
        position=reader.position,
        items=[_view(record, scope) for record in found],
        next=f"{last.at}:{last.id}" if last else None,
    )


async def summary(
    services: ApplicationServices, partition: str, period: SampledPeriod
) -> CycleSummary:
    """The records of one or all partitions in sums; raises `InvalidRequest` for no range."""
    (since, until), step = bounds_of(services, period), readable_step(services, period)
    reader = services.reader
    wanted = CycleRange(
        since=since,
        until=until,
        step=step,
        partition=partition,
        up_to=reader.position if isinstance(reader, FixedReader) else None,
    )
    found = await asyncio.to_thread(services.cycles.sums, wanted)
    oldest = await asyncio.to_thread(services.cycles.oldest)
    total = next((each.sums for each in found if each.at is None), NOTHING)
    return CycleSummary(
        position=reader.position,
        since=timestamp(since),
        until=timestamp(until),
        step_seconds=step // MICROSECONDS_PER_SECOND,
        data_since=timestamp_or_none(oldest),
        total=view_from(CycleSumsView, total),
        points=[
            view_from(CycleSumsPoint, each.sums, at=timestamp(each.at))
            for each in found
            if each.at is not None
        ],
    )


async def detail(
    services: ApplicationServices, cycle_id: str, scope: NamespaceScope
) -> CycleDetail:
    """One record with its events, redacted for a scope."""
    record = await _found(services, cycle_id)
    events = await asyncio.to_thread(_recorded, services, record)
    seen = [one for one in events if allows(scope, one.stream)]
    return CycleDetail(
        position=services.reader.position,
        cycle=_view(record, scope),
        events=shown(seen, scope),
    )


async def rerun(services: ApplicationServices, cycle_id: str, scope: NamespaceScope) -> CycleRerun:
    """Plans the recorded input again by the present rules, and compares byte by byte."""
    record = await _found(services, cycle_id)
    if record.outcome == "Conflict":
        raise NotFound(
            "CycleNotCommitted", cycle=cycle_id, reason=diagnostic(record.conflict, scope)
        )
    history = services.history

    def again() -> RerunResult:
        cluster_state = history.states.at(record.input_position).fork()
        return rerun_cycle(cluster_state, record, _recorded(services, record))

    found = await history.executor.do(again)
    difference = "" if found.is_same else _difference(found)
    return CycleRerun(
        position=services.reader.position,
        id=cycle_id,
        is_same=found.is_same,
        events=len(found.recorded),
        digest_recorded=found.digest_recorded,
        digest_replayed=found.digest_replayed,
        first_difference=diagnostic(difference, scope),
    )


def _difference(found: RerunResult) -> str:
    pairs = enumerate(zip(found.recorded, found.replayed, strict=False))
    number = next((n for n, (old, new) in pairs if old != new), None)
    if number is None:
        return f"there were {len(found.recorded)} facts, now there are {len(found.replayed)}"
    (stream, old), (other, new) = found.recorded[number], found.replayed[number]
    return (
        f"fact {number + 1} was {type(old).__name__} of {stream}, "
        f"now it is {type(new).__name__} of {other}"
    )


async def _found(services: ApplicationServices, cycle_id: str) -> CycleRecord:
    record = await asyncio.to_thread(services.cycles.find, cycle_id)
    if record is None:
        raise NotFound("CycleNotRecorded", cycle=cycle_id)
    return record


def _recorded(services: ApplicationServices, record: CycleRecord) -> list[RecordedEvent]:
    if not record.first_position:
        return []
    count = record.last_position - record.first_position + 1
    return services.log.read(record.first_position - 1, limit=min(count, MAX_EVENTS))


def _view(record: CycleRecord, scope: NamespaceScope) -> CycleView:
    return view_from(
        CycleView,
        record,
        conflict=diagnostic(record.conflict, scope),
        inadmissible=sum(len(each.keys) for each in record.inadmissible.values()),
    )
