"""Cycle after cycle planned within a budget, as one unit to commit, and the record of them.

A record has the input of one plan, what came of it, and how long it took. And which partitions a
worker plans.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Literal, Protocol

import msgspec
from msgspec import structs
from msgspec.structs import replace

from headgate.application.commands.append_unit import unit_of
from headgate.application.ports import (
    AppendConflict,
    Appended,
    AppendUnit,
    Fence,
    Partitions,
    Verdict,
)
from headgate.domain.cluster_state import ClusterState
from headgate.domain.recorded_event import EventMetadata
from headgate.domain.scheduling.cycle import plan_cycles
from headgate.domain.scheduling.cycle_context import Decision
from headgate.domain.scheduling.ordering.pending_queue import InadmissibleSnapshot
from headgate.domain.scheduling.partition.partition_layout import shared_out
from headgate.domain.values.instants import Instant
from headgate.domain.workloads.events import WorkloadEvicted, WorkloadQuotaReserved

SCHEDULER = "scheduler"
ALL_PARTITIONS = "*"


@dataclass(frozen=True, slots=True)
class PlanRequest:
    """What is planned, and when to stop.

    All its cycles share the instant `at`; `run_id` is what their events have in common. After each
    cycle `is_spent` is asked, with the number of decisions so far.
    """

    fence: Fence
    at: Instant
    run_id: str
    is_spent: Callable[[int], bool]


@dataclass(frozen=True, slots=True)
class PlannedBatch:
    """The decisions as one unit, if there were any; `is_settled` if nothing is left to do.

    `cycles` were planned, and `heads` evaluated in them.
    """

    unit: AppendUnit | None
    decisions: int
    next_due: Instant | None
    is_settled: bool
    cycles: int = 0
    heads: int = 0


def plan_batch(cluster_state: ClusterState, planning: PlanRequest) -> PlannedBatch:
    """Plan cycles on top of each other until there is nothing to do or the budget is spent.

    `cluster_state` must be in a trial; what was decided stays assumed in it.
    """
    config_position = cluster_state.config_position
    planned = plan_cycles(
        cluster_state,
        planning.fence.partition,
        planning.at,
        planning.run_id,
        planning.is_spent,
    )
    decisions = planned.decisions
    return PlannedBatch(
        unit=_unit(cluster_state, decisions, planning, config_position) if decisions else None,
        decisions=len(decisions),
        next_due=planned.next_due,
        is_settled=planned.is_settled,
        cycles=planned.cycles,
        heads=planned.evaluation_count,
    )


def _unit(
    cluster_state: ClusterState,
    decisions: Sequence[Decision],
    planning: PlanRequest,
    config_position: int,
) -> AppendUnit:
    # As asked before each fact: afterwards a deleted workload, for one, has no queue any more.
    wakes = iter([wake for decision in decisions for wake in decision.wakes])
    unit = unit_of(
        decisions,
        cluster_state.state_of,
        lambda _stream, _event: _with(planning.fence.partition, *next(wakes)),
        at=planning.at,
        metadata=EventMetadata(actor=SCHEDULER, correlation=planning.run_id),
    )
    return structs.replace(unit, fence=planning.fence, config_position=config_position)


def _with(partition: str, woken: tuple[str, ...], guards: bool) -> tuple[tuple[str, ...], bool]:  # noqa: FBT001 - as wakes_of answers
    """Every decision leaves its own partition due until it was seen that nothing is left to do."""
    is_woken = partition in woken or ALL_PARTITIONS in woken
    return (woken if is_woken else (*woken, partition)), guards


CycleOutcome = Literal["Committed", "Conflict"]


class CycleRecord(msgspec.Struct, frozen=True, kw_only=True):
    """Cycles planned on top of each other and committed together, or refused together.

    `id` is the correlation of the events; they lie from `first_position` to `last_position`, both 0
    after a conflict. Input were the log up to `input_position`, the instant `at` and
    `inadmissible`. `heads` counts evaluations, `cycles` plans, `reservations` quota reservations,
    `preemptions` workloads evicted for others; the durations are those of planning and committing.
    """

    id: str
    partition: str
    worker: str
    at: Instant
    input_position: int
    outcome: CycleOutcome
    first_position: int = 0
    last_position: int = 0
    cycles: int = 0
    heads: int = 0
    decisions: int = 0
    reservations: int = 0
    preemptions: int = 0
    planning_microseconds: int = 0
    commit_microseconds: int = 0
    conflicts: int = 0
    conflict: str = ""
    inadmissible: dict[str, InadmissibleSnapshot] = msgspec.field(default={}, name="parking")


class CycleTiming(msgspec.Struct, frozen=True, kw_only=True):
    """The durations of a record."""

    id: str
    at: Instant
    outcome: CycleOutcome
    reservations: int = 0
    planning_microseconds: int = 0
    commit_microseconds: int = 0


class CycleQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which records, newest first; `before` is (at, id) of the last one of the page before."""

    partition: str = ""
    up_to: int | None = None
    before: tuple[Instant, str] | None = None
    since: Instant | None = None
    until: Instant | None = None
    limit: int = 100


class CycleRange(msgspec.Struct, frozen=True, kw_only=True):
    """Records from `since` until before `until`, in bins that begin at multiples of `step`."""

    since: Instant
    until: Instant
    step: int
    partition: str = ""
    up_to: int | None = None


class CycleSums(msgspec.Struct, frozen=True):
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


class CycleBin(msgspec.Struct, frozen=True, kw_only=True):
    """The sums of the bin that begins at an instant; of the whole range without one."""

    at: Instant | None
    sums: CycleSums


def discard_record(_record: CycleRecord) -> None:
    """Keeps nothing."""


class CycleStore(Protocol):
    """What workers planned, for people; losing some of it loses no truth."""

    def put(self, record: CycleRecord) -> None:
        """Keep a record."""

    def find(self, cycle_id: str) -> CycleRecord | None:
        """The record of that id, if it is kept."""

    def page(self, query: CycleQuery) -> list[CycleRecord]:
        """Records that match, newest first, keyset paged."""

    def timings(self, since: Instant, *, limit: int) -> list[CycleTiming]:
        """How long those took that were planned at `since` or later, oldest first."""

    def sums(self, wanted: CycleRange) -> list[CycleBin]:
        """The sums of each bin that has records, oldest first, and of all; none without records."""

    def oldest(self) -> Instant | None:
        """When the oldest record that is kept was planned."""

    def forget(self, *, keep: int) -> int:
        """Delete all but the newest so many; how many went."""


MICROSECONDS = 1_000_000


class Stopwatch:
    """Takes the time of planning and of committing; `elapsed` counts seconds."""

    def __init__(self, elapsed: Callable[[], float]) -> None:
        self._elapsed = elapsed
        self._began = self._planned = self._committed = elapsed()

    def planned(self) -> None:
        """The plan is made."""
        self._planned = self._elapsed()

    def committed(self) -> None:
        """The log has answered."""
        self._committed = self._elapsed()

    def noted(self, record: CycleRecord, *, worker: str, conflicts: int) -> CycleRecord:
        """Returns the record with durations, worker, and number of conflicts in a row."""
        return replace(
            record,
            worker=worker,
            conflicts=conflicts,
            planning_microseconds=round((self._planned - self._began) * MICROSECONDS),
            commit_microseconds=round((self._committed - self._planned) * MICROSECONDS),
        )


def record_of(
    planning: PlanRequest,
    planned: PlannedBatch,
    verdict: Verdict,
    *,
    input_position: int,
    inadmissible: dict[str, InadmissibleSnapshot],
) -> CycleRecord:
    """Returns the record of a plan with its input and the verdict of the log."""
    appended = verdict if isinstance(verdict, Appended) else None
    events = [new.event for new in planned.unit.events] if planned.unit else []
    return CycleRecord(
        id=planning.run_id,
        partition=planning.fence.partition,
        worker="",
        at=planning.at,
        input_position=input_position,
        outcome="Committed" if appended else "Conflict",
        first_position=appended.first_position if appended else 0,
        last_position=appended.last_position if appended else 0,
        cycles=planned.cycles,
        heads=planned.heads,
        decisions=planned.decisions,
        reservations=sum(isinstance(each, WorkloadQuotaReserved) for each in events),
        preemptions=sum(
            isinstance(each, WorkloadEvicted) and each.reason == "Preempted" for each in events
        ),
        conflict=verdict.reason if isinstance(verdict, AppendConflict) else "",
        inadmissible=inadmissible,
    )


SHARE_PREFIX = "headgate-share"
SHARE_SECONDS = 1.0
NEGLECTED_SECONDS, STARVED_SECONDS = 30.0, 300.0
"""After so long with work and without a plan, the worker of a partition is taken for absent.

It takes the longer time if it plans other partitions, as one does that has many with much work. One
that goes on plans what it takes for its share, and is present again. What passes between two looks
counts as `MAX_LOOK_SECONDS` at most: a worker that loads its fold does not see whether others plan.
"""
MAX_LOOK_SECONDS = 2.0
RECONNECT_SECONDS = 5.0


def presence_of(owner: str) -> str:
    """The name of a connection that a worker holds as long as it shares out partitions."""
    return f"{SHARE_PREFIX} {sha256(owner.encode()).hexdigest()[:16]}"


@dataclass(slots=True)
class Shares:
    """Which partitions a worker schedules; it asks once a second, and where one is new.

    `present` gives the presences of workers that are connected. All compute the same shares from
    them and from the rows of partitions, which name the worker that had each last. That two differ
    for a moment does no harm, as the lock of a partition decides, nor that one hangs: its
    partitions go to others once they are neglected. Without its own presence a worker keeps its
    share for the time in which it connects again.
    """

    present: Callable[[], Collection[str]] = tuple
    _asked_at: float = float("-inf")
    _seen_at: float = float("-inf")
    _looked: float = 0.0
    _share: frozenset[str] | None = None
    _epochs: dict[str, int] = field(default_factory=dict)
    _planned_at: dict[str, float] = field(default_factory=dict)
    _of_others: dict[str, str] = field(default_factory=dict)
    _waiting: dict[str, float] = field(default_factory=dict)
    _absent: set[str] = field(default_factory=set)
    _to_claim: frozenset[str] = frozenset()

    def share_of(
        self, owner: str, partitions: Partitions, now: float, due: Collection[str] = ()
    ) -> frozenset[str] | None:
        """The partitions of a worker at a time in seconds; None for all, if it is the only one."""
        is_new = self._share is not None and not self._epochs.keys() >= set(due)
        if is_new or now - self._asked_at >= SHARE_SECONDS:
            self._looked += min(now - self._asked_at, MAX_LOOK_SECONDS)
            self._asked_at, own = now, presence_of(owner)
            present = set(self.present())
            if own in present and len(present) > 1:
                self._seen_at, self._share = now, self._shared_out(partitions, present, own)
            elif own in present or now - self._seen_at >= RECONNECT_SECONDS:
                self._share, self._to_claim = None, frozenset()
                self._waiting.clear()
        return self._share

    def own(self, due: Collection[str]) -> Collection[str]:
        """Those of some partitions that the worker schedules by its latest share."""
        return due if self._share is None else self._share.intersection(due)

    def to_plan(self, due: Collection[str]) -> Collection[str]:
        """Those of the share that are due, and once those that another worker had last.

        Their rows name this one from then on, so that they stay when the next worker comes or goes.
        """
        claimed, self._to_claim = self._to_claim, frozenset()
        return claimed.union(self.own(due)) if claimed else self.own(due)

    def _shared_out(self, partitions: Partitions, present: set[str], own: str) -> frozenset[str]:
        rows, due, now = partitions.rows(), set(partitions.agenda().due), self._looked
        owners = {row.key: presence_of(row.owner or "") for row in rows}
        for row in rows:
            if self._epochs.get(row.key, row.epoch) != row.epoch:
                self._planned_at[owners[row.key]] = now
                self._absent.discard(owners[row.key])
                self._waiting.pop(row.key, None)
        self._epochs = {row.key: row.epoch for row in rows}
        for key in owners:
            self._note_neglect(key, now, is_due=key in due)
        self._absent &= present
        shares = shared_out(list(owners), owners, (present - self._absent) | {own})
        retried = {row.key for row in rows if row.retry_at is not None}
        self._to_claim = frozenset(k for k in shares[own] - retried if owners[k] != own)
        others = shares.keys() - {own}
        self._of_others = {key: worker for worker in others for key in shares[worker]}
        return shares[own]

    def _note_neglect(self, key: str, now: float, *, is_due: bool) -> None:
        """Take the worker of a partition for absent that has had work for long without a plan."""
        worker = self._of_others.get(key)
        if worker is None or not is_due:
            self._waiting.pop(key, None)
            return
        since = self._waiting.setdefault(key, now)
        alive_at = max(since, self._planned_at.get(worker, since))
        if now - alive_at >= NEGLECTED_SECONDS or now - since >= STARVED_SECONDS:
            self._absent.add(worker)
            del self._waiting[key]
