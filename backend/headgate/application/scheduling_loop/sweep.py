"""Every partition that is due, one turn each, and how long to rest afterwards."""

from collections.abc import Callable
from dataclasses import dataclass

from headgate.application.scheduling_loop.run_partition import (
    Scheduler,
    run_partition,
    sync_partitions,
)
from headgate.domain.values.instants import MICROSECONDS_PER_SECOND

OUTCOMES_WITH_WORK_LEFT = ("more", "contended")

MIN_IDLE_SECONDS = 0.02
"""A timer that has come, of a partition another worker holds, must not keep this one spinning."""


@dataclass(frozen=True, slots=True)
class SweepResult:
    """What a sweep did: decisions made, and whether a partition still has work to do at once."""

    decisions: int
    has_more: bool


def sweep(
    scheduler: Scheduler, nudged: frozenset[str], is_stopping: Callable[[], bool]
) -> SweepResult:
    """Give every partition that is due its turn, those somebody has just asked for first.

    Whether a partition is due is a comparison in the database, never a flag (architecture §4).
    Raises `Unavailable` while the database cannot be reached.
    """
    sync_partitions(scheduler)
    decisions, has_more = 0, False
    for key in sorted(scheduler.partitions.due(), key=lambda due: (due not in nudged, due)):
        if is_stopping():
            break
        turn = run_partition(scheduler, key)
        decisions += turn.decisions
        has_more = has_more or turn.outcome in OUTCOMES_WITH_WORK_LEFT
    return SweepResult(decisions, has_more)


def idle_seconds(scheduler: Scheduler) -> float:
    """Until the next timer of any partition, at most one sweep interval."""
    next_due = scheduler.partitions.next_due()
    if next_due is None:
        return scheduler.budget.sweep_seconds
    until_due = (next_due - scheduler.live.event_log.now()) / MICROSECONDS_PER_SECOND
    return min(max(until_due, MIN_IDLE_SECONDS), scheduler.budget.sweep_seconds)
