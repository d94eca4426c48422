"""What follows for one workload from its state, its queues and the time, without anyone asking.

Firing twice is harmless: each consequence ends the state it follows from.
"""

from headgate.domain.object_set import ObjectSet
from headgate.domain.scheduling.lifecycle.admission_checks import checks_events, checks_outcome
from headgate.domain.scheduling.lifecycle.pods_ready import (
    backoff_microseconds,
    is_past_limit,
    pods_ready_deadline,
    requeue_count_reset_at,
    retry_deadline,
    waits_for_pods_ready,
)
from headgate.domain.scheduling.lifecycle.timers import (
    eviction_deadline,
    execution_deadline,
    is_requeue_due,
    missing_queue_reason,
    next_soft_eviction,
    retention_deadline,
    stop_reason,
)
from headgate.domain.values.instants import Instant
from headgate.domain.workloads.commands import ReleaseWorkload
from headgate.domain.workloads.decide.hold import release
from headgate.domain.workloads.events import (
    DeactivationCause,
    EvictionReason,
    RequeueCountReset,
    RequeueReason,
    ReservationDropped,
    WorkloadDeactivated,
    WorkloadDeleted,
    WorkloadEvent,
    WorkloadEvicted,
    WorkloadFinished,
    WorkloadRequeued,
    WorkloadStopped,
)
from headgate.domain.workloads.predicates import has_quota_reservation
from headgate.domain.workloads.preemption_events import EvictionForced, EvictionStalled
from headgate.domain.workloads.state import Workload, condition, is_admitted
from headgate.domain.workloads.transitions.eviction import (
    EXECUTION_TIME_EXCEEDED,
    has_no_execution_time_left,
)

Events = tuple[WorkloadEvent, ...]

STOP_MESSAGES: dict[EvictionReason, str] = {
    "ClusterQueueStopped": "The ClusterQueue is stopped",
    "LocalQueueStopped": "The LocalQueue is stopped",
}


def consequences(config: ObjectSet, workload: Workload, at: Instant, eviction_id: str) -> Events:
    """The next facts about a workload that is due; `eviction_id` names an eviction if it is one."""
    return _wish_for_its_end(workload, eviction_id) or _while_alive(
        config, workload, at, eviction_id
    )


def _wish_for_its_end(workload: Workload, eviction_id: str) -> Events:
    if workload.terminating_at is not None:
        if not has_quota_reservation(workload):
            return (WorkloadDeleted(),)
        return _sent_away(workload, "Deleted", "It is being deleted", eviction_id)
    if workload.cancelling_at is not None and workload.finished_at is None:
        if not has_quota_reservation(workload):
            return (WorkloadFinished(reason="Cancelled", message="It was cancelled"),)
        return _sent_away(workload, "Cancelled", "It is being cancelled", eviction_id)
    return ()


def _while_alive(config: ObjectSet, workload: Workload, at: Instant, eviction_id: str) -> Events:
    if _is_past(retention_deadline(config, workload), at):
        return (WorkloadDeleted(),)
    if workload.finished_at is not None:
        return ()
    if _is_past(eviction_deadline(workload), at):
        return _time_to_leave_is_up(workload)
    if has_quota_reservation(workload) and workload.eviction is None:
        found = _while_it_has_a_place(config, workload, at, eviction_id)
        if found:
            return found
    if workload.hold is not None and _is_past(workload.hold.expires_at, at):
        return release(workload, ReleaseWorkload(expired=True), at)
    if not has_quota_reservation(workload):
        return _may_come_back(config, workload, at)
    return ()


def _time_to_leave_is_up(workload: Workload) -> Events:
    """Force tells the executor to kill, Wait leaves it to the round's time to live (§6.8)."""
    eviction = next_soft_eviction(workload)
    assert eviction is not None, "a deadline that has passed is an eviction's"
    assert eviction.soft is not None, "only a soft eviction has a deadline"
    if eviction.soft.on_deadline == "Wait":
        return (EvictionStalled(eviction=eviction.id),)
    was_taken_over = eviction.acknowledged_at is not None
    cause = "It did not stop in time" if was_taken_over else "Nobody acknowledged it in time"
    return (EvictionForced(eviction=eviction.id, cause=cause),)


def _while_it_has_a_place(
    config: ObjectSet, workload: Workload, at: Instant, eviction_id: str
) -> Events:
    if not workload.spec.active:
        return _sent_away(workload, "Deactivated", "It was deactivated", eviction_id)
    if checks_outcome(config, workload) in {"Rejected", "Retry"}:
        return checks_events(config, workload, at, eviction_id)
    stop = stop_reason(config, workload)
    if stop is not None:
        return _sent_away(workload, stop, STOP_MESSAGES[stop], eviction_id)
    lost = missing_queue_reason(config, workload)
    if lost:
        return (ReservationDropped(reason=lost),)
    checked = checks_events(config, workload, at, eviction_id)
    if checked:
        return checked
    if _is_past(execution_deadline(workload), at):
        return _deactivated(
            workload, EXECUTION_TIME_EXCEEDED, _ran_as_long_as_it_may(workload), eviction_id
        )
    if _is_past(retry_deadline(config, workload), at):
        message = _tried_too_long(config, workload)
        return _deactivated(workload, "RequeuingTimeExceeded", message, eviction_id)
    if _is_past(pods_ready_deadline(config, workload), at):
        return _not_ready_in_time(config, workload, at, eviction_id)
    if _is_past(requeue_count_reset_at(config, workload), at):
        return (RequeueCountReset(),)
    return ()


def _not_ready_in_time(
    config: ObjectSet, workload: Workload, at: Instant, eviction_id: str
) -> Events:
    waits = waits_for_pods_ready(config, workload)
    assert waits is not None, "a deadline that has passed was set by someone"
    strategy = waits.requeuing_strategy
    count = workload.requeue.count + 1
    if is_past_limit(strategy, count):
        message = (
            f"Its pods were not ready in time, {'once' if count == 1 else f'{count} times in all'}"
        )
        return _deactivated(workload, "RequeuingLimitExceeded", message, eviction_id)
    again = at + backoff_microseconds(strategy, count, workload.uid)
    limit = (
        waits.recovery_timeout_seconds
        if workload.not_ready_cause == "WaitForRecovery"
        else waits.timeout_seconds
    )
    evicted = WorkloadEvicted(
        eviction=eviction_id,
        reason="PodsReadyTimeout",
        underlying_cause=workload.not_ready_cause or "WaitForStart",
        message=f"Its pods were not ready within {limit} s",
        count=count,
        requeue_at=max(again, workload.requeue.requeue_at or 0),
    )
    return (evicted,)


def _tried_too_long(config: ObjectSet, workload: Workload) -> str:
    waits = waits_for_pods_ready(config, workload)
    limit = waits.requeuing_strategy.retry_limit_seconds if waits else None
    return f"Its pods were not ready within {limit} s over all its attempts"


def _ran_as_long_as_it_may(workload: Workload) -> str:
    return f"It ran for {workload.spec.maximum_execution_time_seconds} s, as long as it may"


def _may_come_back(config: ObjectSet, workload: Workload, at: Instant) -> Events:
    if workload.spec.active and has_no_execution_time_left(workload):
        return (
            WorkloadDeactivated(
                cause=EXECUTION_TIME_EXCEEDED, message=_ran_as_long_as_it_may(workload)
            ),
        )
    if workload.spec.active and _is_past(retry_deadline(config, workload), at):
        message = _tried_too_long(config, workload)
        return (WorkloadDeactivated(cause="RequeuingTimeExceeded", message=message),)
    if _is_past(workload.requeue.requeue_at, at):
        return (WorkloadRequeued(reason="BackoffFinished"),)
    if is_requeue_due(config, workload):
        return (WorkloadRequeued(reason=_why_again(workload)),)
    return ()


def _why_again(workload: Workload) -> RequeueReason:
    requeued = condition(workload, "Requeued")
    match requeued.reason if requeued else "":
        case "ClusterQueueStopped":
            return "ClusterQueueRestarted"
        case "LocalQueueStopped":
            return "LocalQueueRestarted"
        case "PodsReadyTimeout" | "AdmissionCheck":
            return "BackoffFinished"
        case _:
            return "Reactivated"


def _deactivated(
    workload: Workload, cause: DeactivationCause, message: str, eviction_id: str
) -> Events:
    evicted = WorkloadEvicted(
        eviction=eviction_id, reason="Deactivated", underlying_cause=cause, message=message
    )
    assert workload.eviction is None, "what is leaving already is not made to leave again"
    return WorkloadDeactivated(cause=cause, message=message), evicted


def _sent_away(
    workload: Workload, reason: EvictionReason, message: str, eviction_id: str
) -> Events:
    if workload.eviction is not None:
        return ()
    evicted = WorkloadEvicted(eviction=eviction_id, reason=reason, message=message)
    if is_admitted(workload):
        return (evicted,)
    if reason == "Deactivated":
        return (evicted, WorkloadStopped(eviction=eviction_id))
    return (ReservationDropped(reason=message),)


def _is_past(due: Instant | None, at: Instant) -> bool:
    return due is not None and due <= at
