"""Noting down what a worker planned, as it does it."""

from collections.abc import Callable

from msgspec.structs import replace

from headgate.application.cycles.records import CycleRecord
from headgate.application.ports import Appended, Conflict, Verdict
from headgate.application.scheduling_loop.plan_batch import PlannedBatch, PlanRequest
from headgate.domain.scheduling.partition.parking import Parked
from headgate.domain.workloads.events import WorkloadQuotaReserved

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
        """The record with its times, by whom, and after how many conflicts in a row."""
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
    parking: dict[str, Parked],
) -> CycleRecord:
    """What was planned on which input, and what the log said to it."""
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
        conflict=verdict.reason if isinstance(verdict, Conflict) else "",
        parking=parking,
    )


def _reservations(planned: PlannedBatch) -> int:
    events = planned.unit.events if planned.unit else ()
    return sum(isinstance(new.event, WorkloadQuotaReserved) for new in events)
