"""How a workload loses its place: evicted, stopped, or its reservation dropped.

Reference queueing.md §5.3 and §5.4.
"""

from typing import Final

from msgspec.structs import replace

from headgate.domain.values.instants import Instant
from headgate.domain.workloads.events import (
    EvictionReason,
    ReservationDropped,
    WorkloadDeactivated,
    WorkloadEvicted,
)
from headgate.domain.workloads.preemption_message import preemption_message
from headgate.domain.workloads.priority import with_full_boost
from headgate.domain.workloads.state import (
    ConditionChange,
    Deactivation,
    Eviction,
    EvictionCount,
    RequeueState,
    Workload,
    condition,
    executed_seconds,
    is_condition_true,
    with_conditions,
)
from headgate.domain.workloads.transitions.admission_checks import reset_check_states

IMMEDIATELY_REQUEUED = ("Preempted", "NodeFailures", "Requeued")
"""Evictions after which a workload competes again as soon as it has stopped."""


def apply_evicted(workload: Workload, event: WorkloadEvicted, at: Instant) -> Workload:
    """On its way out: it must stop, and still holds its quota and hosts."""
    reason = evicted_condition_reason(event.reason, event.underlying_cause)
    message, about = _evicted_message(event)
    changes = [ConditionChange("Evicted", status=True, reason=reason, message=message, about=about)]
    if event.reason == "Preempted":
        cause = event.underlying_cause
        changes.append(
            ConditionChange("Preempted", status=True, reason=cause, message=message, about=about)
        )
    requeue = workload.requeue
    if event.count or event.requeue_at is not None:
        again = max(requeue.requeue_at or 0, event.requeue_at or 0) or None
        requeue = RequeueState(count=event.count or requeue.count, requeue_at=again)
    return replace(
        workload,
        eviction=Eviction(
            id=event.eviction,
            reason=event.reason,
            underlying_cause=event.underlying_cause,
            started_at=at,
            handler=event.soft.handler if event.soft else "",
            soft=event.soft,
        ),
        opened_gates=(),
        requeue=requeue,
        check_states=reset_check_states(workload, at),
        evictions=eviction_counts_with(workload, event.reason, event.underlying_cause),
        conditions=with_conditions(workload, at, *changes),
    )


def _evicted_message(event: WorkloadEvicted) -> tuple[str, str]:
    """The message of its conditions, and whom that is about: of a preemption as Kueue puts it."""
    found = event.accommodates
    if found is None:
        return event.message, ""
    return preemption_message(found, event.underlying_cause), found.workload


def evicted_condition_reason(reason: EvictionReason, underlying_cause: str) -> str:
    """How the condition Evicted names it: of a deactivation it says why (queueing.md §5.3)."""
    because = reason == "Deactivated" and underlying_cause
    return f"{reason}DueTo{underlying_cause}" if because else reason


def apply_stopped(workload: Workload, at: Instant) -> Workload:
    """Its pods are gone: quota and hosts are free, and it may compete again now or later."""
    reason = workload.eviction.reason if workload.eviction else "Requeued"
    waits = "PendingEvaluation" if workload.spec.active else "Deactivated"
    changes = list(_reservation_ended(waits, "Its pods have stopped"))
    if workload.spec.active:
        at_once = reason in IMMEDIATELY_REQUEUED or (
            reason == "AdmissionCheck" and workload.requeue.requeue_at is None
        )
        changes.append(ConditionChange("Requeued", status=at_once, reason=reason))
    was_not_ready = reason == "PodsReadyTimeout"
    return replace(
        workload,
        not_ready_since=workload.not_ready_since if was_not_ready else None,
        spec=with_full_boost(workload.spec),
        admission=None,
        checks=(),
        unhealthy_nodes={},
        pods_gone=(),
        eviction=None,
        pod_evictions=(),
        not_ready_cause=None,
        accumulated_execution_seconds=_accumulated_execution_seconds(workload, at),
        conditions=with_conditions(workload, at, *changes),
    )


def apply_reservation_dropped(
    workload: Workload, event: ReservationDropped, at: Instant
) -> Workload:
    """Its quota is free again; that is no eviction (trap T30), and it waits as before."""
    changes = _reservation_ended("Suspended", event.reason)
    return replace(
        workload,
        spec=with_full_boost(workload.spec),
        admission=None,
        checks=(),
        unhealthy_nodes={},
        pods_gone=(),
        check_states=reset_check_states(workload, at),
        eviction=None,
        pod_evictions=(),
        not_ready_cause=None,
        conditions=with_conditions(workload, at, *changes),
    )


def _accumulated_execution_seconds(workload: Workload, at: Instant) -> int:
    """What counts against its limit from now on: nothing once the limit itself stopped it (T8)."""
    eviction = workload.eviction
    if eviction is not None and eviction.underlying_cause == "MaximumExecutionTimeExceeded":
        return 0
    return executed_seconds(workload, at)


def _reservation_ended(reason: str, message: str) -> tuple[ConditionChange, ...]:
    return (
        ConditionChange("QuotaReserved", status=False, reason=reason, message=message),
        ConditionChange(
            "Admitted", status=False, reason="NoReservation", message="It has no reservation"
        ),
        ConditionChange("PodsReady", status=False, reason="WaitForStart"),
    )


def eviction_counts_with(
    workload: Workload, reason: EvictionReason, underlying_cause: str
) -> tuple[EvictionCount, ...]:
    """Its counts of evictions with one more of this kind."""
    cause = (reason, underlying_cause)
    counts = {(c.reason, c.underlying_cause): c.count for c in workload.evictions}
    counts[cause] = counts.get(cause, 0) + 1
    return tuple(
        EvictionCount(reason=reason, underlying_cause=underlying, count=count)
        for (reason, underlying), count in counts.items()
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
