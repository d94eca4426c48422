"""Decisions and the states they lead to, as one unit for the log; units of one process are grouped.

Appends share transactions: one is in flight, the rest pile up behind it. Measured at eight to
thirteen times a commit each where the disk is slow (ADR 0007).
"""

import asyncio
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from typing import Any, Protocol

from headgate.application.cooperative import Cooperative, at_once
from headgate.application.failures import Overloaded
from headgate.application.ports import (
    AppendConflict,
    Appended,
    AppendUnit,
    EventLog,
    NewEvent,
    Row,
    Unavailable,
    Verdict,
)
from headgate.application.workload_filter import (
    admitted_since,
    owner_of,
    reserved_at,
    size_class,
    total_pods,
)
from headgate.domain.kinds.configured_object import Absent, Configured, StatusEvent
from headgate.domain.kinds.local_queue import LocalQueueSpec
from headgate.domain.kinds.registry import KINDS_BY_STREAM
from headgate.domain.recorded_event import (
    DiscardedSnapshots,
    DomainEvent,
    EventMetadata,
    LogHistory,
    LogState,
    kind_and_key,
)
from headgate.domain.rounds.state import Round
from headgate.domain.starts import Prediction
from headgate.domain.stuck_workloads import STUCK_PHASES, stuck_cause, stuck_since
from headgate.domain.values.instants import Instant, seconds_after
from headgate.domain.workloads.specs import gpus_requested
from headgate.domain.workloads.state import Workload, phase_of

StateOf = Callable[[str], Any]
"""The state of a stream after everything decided."""

WakesOf = Callable[[str, DomainEvent], tuple[tuple[str, ...], bool]]
"""Returns the partitions that an event wakes, and whether it moves their guard."""


class Decided(Protocol):
    """The decision on commands: events by stream, and the versions they were decided on."""

    @property
    def expected(self) -> Mapping[str, int]:
        """The version of each stream that was read, those of `events` among them."""
        ...

    @property
    def events(self) -> Sequence[tuple[str, DomainEvent]]:
        """The events, each with its stream, in order."""
        ...


def unit_of(
    decisions: Iterable[Decided],
    state_of: StateOf,
    wakes_of: WakesOf,
    *,
    at: Instant,
    metadata: EventMetadata,
) -> AppendUnit:
    """One unit of all these decisions, each made after the ones before it.

    Add a fence, a configuration position or a key with `msgspec.structs.replace`.
    """
    return at_once(unit_in_steps(decisions, state_of, wakes_of, at=at, metadata=metadata))


def unit_in_steps(
    decisions: Iterable[Decided],
    state_of: StateOf,
    wakes_of: WakesOf,
    *,
    at: Instant,
    metadata: EventMetadata,
) -> Cooperative[AppendUnit]:
    """The same in steps, for very many decisions."""
    expected: dict[str, int] = {}
    versions: dict[str, int] = {}
    events: list[NewEvent] = []
    for decision in decisions:
        for stream, version in decision.expected.items():
            known = versions.setdefault(stream, version)
            assert known == version, f"{stream} is at {known} by now, decided on {version}"
            expected.setdefault(stream, version)
        for stream, event in decision.events:
            versions[stream] += 1
            events.append(_new_event(stream, event, wakes_of))
        yield
    rows = yield from _rows(events, state_of)
    return AppendUnit(
        at=at,
        metadata=metadata,
        expected=expected,
        events=tuple(events),
        rows=rows,
    )


def configures(stream: str, event: DomainEvent) -> bool:
    """Whether an event changes configuration, which refuses decisions under the old one."""
    kind, _ = kind_and_key(stream)
    return kind in KINDS_BY_STREAM and not isinstance(event, StatusEvent)


def _new_event(stream: str, event: DomainEvent, wakes_of: WakesOf) -> NewEvent:
    wakes, guards = wakes_of(stream, event)
    return NewEvent(
        stream=stream,
        event=event,
        wakes=wakes,
        guards=guards,
        configures=configures(stream, event),
    )


def _rows(events: Iterable[NewEvent], state_of: StateOf) -> Cooperative[tuple[Row, ...]]:
    rows: list[Row] = []
    for stream in dict.fromkeys(new.stream for new in events):
        rows += rows_of(stream, state_of(stream))
        yield
    return tuple(rows)


TABLE_OF_KIND = {"workload": "workload", "round": "round"}


OBJECT_TABLE = "object"


def table_of(stream: str) -> str:
    """The inline read model that shows a stream."""
    kind, _ = kind_and_key(stream)
    return TABLE_OF_KIND.get(kind, OBJECT_TABLE)


def row_of(stream: str, state: Any) -> Row:  # noqa: ANN401 - any aggregate's state
    """The row that shows the state of a stream; for `Absent` the one that takes it away."""
    match state:
        case Absent():
            columns = None
        case Workload():
            columns = _workload_columns(state)
        case Round():
            columns = _round_columns(state)
        case Configured():
            columns = _object_columns(stream, state)
        case LogHistory() | DiscardedSnapshots() | Prediction():
            columns = _own_columns(stream, state)
        case _:
            raise AssertionError(f"{type(state).__name__} is no state of an aggregate")
    return Row(table=table_of(stream), stream=stream, columns=columns)


def rows_of(stream: str, state: Any) -> tuple[Row, ...]:  # noqa: ANN401 - any aggregate's state
    """All rows that show the state of a stream: its own, and for a round one for each victim."""
    own = row_of(stream, state)
    return (own, *_victim_rows(stream, state)) if isinstance(state, Round) else (own,)


def _workload_columns(workload: Workload) -> dict[str, Any]:
    given = workload.admission or workload.nomination
    return {
        "namespace": workload.namespace,
        "name": workload.name,
        "local_queue": workload.spec.queue_name,
        "owner": owner_of(workload),
        "cluster_queue": given.cluster_queue if given else "",
        "phase": phase_of(workload),
        "priority": workload.spec.priority,
        "created_at": workload.created_at,
        "labels": workload.labels,
        "due_at": workload_due(workload),
        "gpus": gpus_requested(workload.spec),
        "pods": total_pods(workload),
        "executed_seconds": workload.accumulated_execution_seconds,
        "admitted_at": admitted_since(workload),
        "finished_at": workload.finished_at,
        **read_columns(workload),
        "state": workload,
    }


READ_COLUMNS = ("stuck_since", "stuck_cause", "reserved_at", "size_class")


def read_columns(workload: Workload) -> dict[str, Any]:
    """The columns by which stuck workloads and past waits are found; empty for most workloads."""
    start, is_stuck = reserved_at(workload), phase_of(workload) in STUCK_PHASES
    return {
        "stuck_since": stuck_since(workload) if is_stuck else None,
        "stuck_cause": stuck_cause(workload) if is_stuck else "",
        "reserved_at": start,
        "size_class": "" if start is None else size_class(workload),
    }


def workload_due(workload: Workload) -> Instant | None:
    """The next instant at which the workload changes by its own state.

    One that has finished is deleted when its own time to live is over.
    """
    if workload.finished_at is not None:
        seconds = workload.spec.ttl_seconds_after_finished
        return None if seconds is None else seconds_after(workload.finished_at, seconds)
    hold_ends = workload.hold.expires_at if workload.hold else None
    return _earliest(workload.requeue.requeue_at, hold_ends)


def _round_columns(found: Round) -> dict[str, Any]:
    return {
        "stage": found.stage,
        "preemptor": found.preemptor,
        "cluster_queue": found.cluster_queue,
        "committed_at": found.committed_at,
        "due_at": None if found.ended_at is not None else found.expires_at,
        "state": found,
    }


def _victim_rows(stream: str, found: Round) -> tuple[Row, ...]:
    return tuple(
        Row(
            table="round_victim",
            stream=stream,
            columns={
                "workload": victim.workload,
                "cluster_queue": victim.cluster_queue,
                "reason": victim.reason,
                "released": victim.workload in found.released,
            },
        )
        for victim in found.victims
    )


def _object_columns(stream: str, found: Configured[Any]) -> dict[str, Any]:
    kind, _ = kind_and_key(stream)
    is_door = isinstance(found.spec, LocalQueueSpec)
    stop = getattr(found.spec, "stop", None)
    return {
        "kind": kind,
        "namespace": found.namespace,
        "name": found.name,
        "uid": found.uid,
        "cluster_queue": found.spec.cluster_queue if is_door else "",
        "labels": found.labels,
        "due_at": stop.expires_at if stop else None,
        "state": found,
    }


def _own_columns(stream: str, found: LogState | Prediction) -> dict[str, Any]:
    kind, name = kind_and_key(stream)
    return {
        "kind": kind,
        "namespace": "",
        "name": name,
        "uid": "",
        "cluster_queue": "",
        "labels": {},
        "due_at": None,
        "state": found,
    }


def _earliest(*instants: Instant | None) -> Instant | None:
    return min((instant for instant in instants if instant is not None), default=None)


Traced = Callable[[Sequence[AppendUnit]], AbstractContextManager[None]]
QueuedAppend = tuple[AppendUnit, asyncio.Future[Verdict]]


class GroupCommit:
    """Takes units one at a time and gives each its own verdict.

    `committed` is told of the units that are in the log, after their callers. `traced`, where there
    is one, has the time of each append as its span.
    """

    def __init__(
        self,
        log: EventLog,
        committed: Callable[[Sequence[AppendUnit]], None],
        *,
        max_in_group: int = 400,
        max_waiting: int = 20_000,
        traced: Traced | None = None,
    ) -> None:
        self._log = log
        self._committed = committed
        self._traced = traced
        self._max_in_group = max_in_group
        self._max_waiting = max_waiting
        self._waiting: deque[QueuedAppend] = deque()
        self._writer: asyncio.Task[None] | None = None
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="headgate-append")
        self.has_failed = False
        """Whether the last append found the database away; reset by the next look."""
        self.succeeded_at = float("-inf")
        """When the last append succeeded, on the monotonic clock, in seconds."""

    async def append(self, unit: AppendUnit) -> Verdict:
        """The verdict on one unit; raises `Unavailable` or `Overloaded`."""
        if self._traced is not None:
            return (await self.append_each([unit]))[0]
        (answer,) = self._enqueued([unit])
        return await answer

    async def append_each(self, units: Sequence[AppendUnit]) -> list[Verdict]:
        """The verdicts on several units, in order; each is independent of the others."""
        if self._traced is None:
            return list(await asyncio.gather(*self._enqueued(units)))
        with self._traced(units):
            return list(await asyncio.gather(*self._enqueued(units)))

    def close(self) -> None:
        """Takes no more units."""
        self._thread.shutdown(wait=False, cancel_futures=True)

    def _enqueued(self, units: Sequence[AppendUnit]) -> list[asyncio.Future[Verdict]]:
        if len(self._waiting) + len(units) > self._max_waiting:
            raise Overloaded("WritesOverloaded")
        loop = asyncio.get_running_loop()
        answers: list[asyncio.Future[Verdict]] = [loop.create_future() for _ in units]
        self._waiting.extend(zip(units, answers, strict=True))
        if self._writer is None and units:
            self._writer = asyncio.create_task(self._write())
        return answers

    async def _write(self) -> None:
        try:
            while self._waiting:
                size = min(len(self._waiting), self._max_in_group)
                await self._write_group([self._waiting.popleft() for _ in range(size)])
        finally:
            self._writer = None

    async def _write_group(self, group: list[QueuedAppend]) -> None:
        try:
            loop, units = asyncio.get_running_loop(), [unit for unit, _ in group]
            verdicts = await loop.run_in_executor(self._thread, self._log.append, units)
        except Unavailable as outage:
            self.has_failed = True
            _fail(group, outage)
        except Exception as failure:  # noqa: BLE001 - it is one unit's fault, and its caller's to hear
            await self._write_one_by_one(group, failure)
        else:
            self.has_failed, self.succeeded_at = False, time.monotonic()
            self._answer(group, verdicts)

    async def _write_one_by_one(self, group: list[QueuedAppend], failure: Exception) -> None:
        if len(group) == 1:
            _fail(group, failure)
            return
        for waiting in group:
            await self._write_group([waiting])

    def _answer(self, group: list[QueuedAppend], verdicts: Sequence[Verdict]) -> None:
        appended = []
        for (unit, answer), verdict in zip(group, verdicts, strict=True):
            if isinstance(verdict, Appended):
                appended.append(unit)
            if answer.done():
                continue
            if isinstance(verdict, AppendConflict) and verdict.is_past_lost:
                answer.set_exception(Unavailable("The log has lost events and is read again."))
            else:
                answer.set_result(verdict)
        if appended:
            self._committed(appended)


def _fail(group: list[QueuedAppend], failure: Exception) -> None:
    for _, answer in group:
        if not answer.done():
            answer.set_exception(failure)
