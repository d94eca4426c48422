"""What being deactivated and activated does to a workload (reference queueing.md §5.7, trap T1)."""

from typing import Final

from msgspec.structs import replace

from headgate.domain.values.instants import Instant
from headgate.domain.workloads.events import WorkloadDeactivated
from headgate.domain.workloads.state import (
    ConditionChange,
    Deactivation,
    RequeueState,
    Workload,
    condition,
    is_condition_true,
    with_conditions,
)
from headgate.domain.workloads.transitions.eviction import (
    evicted_condition_reason,
    eviction_counts_with,
)

EXECUTION_TIME_EXCEEDED: Final = "MaximumExecutionTimeExceeded"


def apply_deactivated(workload: Workload, event: WorkloadDeactivated, at: Instant) -> Workload:
    """Out of the queues; why, by whom and after how many requeues is kept for people.

    One without a place is evicted by that, and counted so, unless it was evicted before and had no
    place since (queueing.md §5.7); one with a place is when it is told to stop.
    """
    cause = "" if event.cause == "Requested" else event.cause
    reason = evicted_condition_reason("Deactivated", cause)
    changes = [ConditionChange("Requeued", status=False, reason=reason, message=event.message)]
    evictions = workload.evictions
    if workload.admission is None and not is_condition_true(workload, "Evicted"):
        why = event.message or "The workload is deactivated"
        changes.append(ConditionChange("Evicted", status=True, reason=reason, message=why))
        evictions = eviction_counts_with(workload, "Deactivated", cause)
    return replace(
        workload,
        spec=replace(workload.spec, active=False),
        generation=workload.generation + 1,
        deactivation=Deactivation(
            cause=event.cause,
            message=event.message,
            by=event.by,
            deactivated_at=at,
            requeues=workload.requeue.count,
        ),
        requeue=RequeueState(),
        not_ready_since=None,
        evictions=evictions,
        conditions=with_conditions(workload, at, *changes),
    )


def apply_activated(workload: Workload, at: Instant) -> Workload:
    """Back with nothing left of what may have made it inactive.

    The time it ran is forgotten only if none of what it may run was left.
    """
    back = ConditionChange(
        "Requeued", status=True, reason="Reactivated", message="The workload was activated"
    )
    return replace(
        workload,
        spec=replace(workload.spec, active=True),
        generation=workload.generation + 1,
        deactivation=None,
        accumulated_execution_seconds=(
            0 if resets_execution_time(workload) else workload.accumulated_execution_seconds
        ),
        conditions=with_conditions(workload, at, back),
    )


def resets_execution_time(workload: Workload) -> bool:
    """Whether activating it gives it all the time again that it may run."""
    return exceeded_execution_time(workload) or has_no_execution_time_left(workload)


def has_no_execution_time_left(workload: Workload) -> bool:
    """Whether it ran as long as it may before it stopped, so that a start would end at once.

    It runs on while it is being evicted (queueing.md §5.8), so its last run may be longer than it
    may be.
    """
    most = workload.spec.maximum_execution_time_seconds
    return most is not None and workload.accumulated_execution_seconds >= most


def exceeded_execution_time(workload: Workload) -> bool:
    """Whether it is inactive because it ran as long as it may."""
    if workload.deactivation is not None:
        return workload.deactivation.cause == EXECUTION_TIME_EXCEEDED
    last = condition(workload, "Requeued")
    return (
        last is not None
        and not last.status
        and last.reason == f"DeactivatedDueTo{EXECUTION_TIME_EXCEEDED}"
    )
