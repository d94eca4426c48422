"""A record of one plan of a worker: its input, what came of it, and how long it took."""

from collections.abc import Callable
from typing import Literal, Protocol

import msgspec
from msgspec.structs import replace

from headgate.application.ports import AppendConflict, Appended, Verdict
from headgate.application.scheduling_loop.plan_batch import PlannedBatch, PlanRequest
from headgate.domain.scheduling.ordering.pending_queue import InadmissibleSnapshot
from headgate.domain.values.instants import Instant
from headgate.domain.workloads.events import WorkloadQuotaReserved

CycleOutcome = Literal["Committed", "Conflict"]


class CycleRecord(msgspec.Struct, frozen=True, kw_only=True):
    """Cycles planned on top of each other and committed together, or refused together.

    `id` is the correlation of the events; they lie from `first_position` to `last_position`, both 0
    after a conflict. Input were the log up to `input_position`, the instant `at` and
    `inadmissible`. `heads` counts evaluations, `cycles` plans, `reservations` quota reservations;
    the durations are those of planning and committing.
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
    limit: int = 100


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
        reservations=_reservations(planned),
        conflict=verdict.reason if isinstance(verdict, AppendConflict) else "",
        inadmissible=inadmissible,
    )


def _reservations(planned: PlannedBatch) -> int:
    events = planned.unit.events if planned.unit else ()
    return sum(isinstance(new.event, WorkloadQuotaReserved) for new in events)
