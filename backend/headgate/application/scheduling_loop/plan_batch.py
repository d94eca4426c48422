"""Cycle after cycle planned in one trial, within a budget, as one unit to commit."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from msgspec import structs

from headgate.application.commands.append_unit import unit_of
from headgate.application.ports import AppendUnit, Fence
from headgate.domain.cluster_state import ClusterState
from headgate.domain.recorded_event import EventMetadata
from headgate.domain.scheduling.cycle import plan_cycles
from headgate.domain.scheduling.cycle_context import Decision
from headgate.domain.values.instants import Instant

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

    `cycles` were planned, and `heads` looked at in them.
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
