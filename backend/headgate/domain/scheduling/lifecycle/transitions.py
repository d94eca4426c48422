"""Transitions of one workload that follow from its state, its queues and time alone.

Each transition is listed once, with the instant at which it is due and the events that it then
records. Timers and reconciliation both take it from `next_transition`, so that a due workload
always has a transition (Kueue: the workload controller's `Reconcile`). A transition ends the state
that it follows from: firing it twice records nothing twice.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Literal, NamedTuple, TypeAlias

from headgate.domain.kinds.wait_for_pods_ready import backoff_microseconds
from headgate.domain.object_set import ObjectSet
from headgate.domain.scheduling.flavors.eligibility import invalid_topology_request
from headgate.domain.scheduling.lifecycle.admission_checks import (
    awaits_unblocked_admission,
    checks_events,
    checks_outcome,
)
from headgate.domain.scheduling.lifecycle.pods_ready import (
    awaits_pods_scheduled,
    is_admitted_and_not_evicting,
    pods_ready_deadline,
    requeue_count_reset_at,
    retry_deadline,
    waits_for_pods_ready,
)
from headgate.domain.scheduling.queueing.queue_checks import local_queue_of, missing_queue
from headgate.domain.values.instants import Instant, seconds_after
from headgate.domain.values.message import Message, message
from headgate.domain.workloads.commands import ReleaseWorkload
from headgate.domain.workloads.decide.decider import release
from headgate.domain.workloads.decide.termination import CANCELLATION_REQUESTED, DELETION_REQUESTED
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
from headgate.domain.workloads.pod_events import WorkloadPodsReleased
from headgate.domain.workloads.predicates import (
    EXECUTION_TIME_EXCEEDED,
    has_no_execution_time_left,
    has_quota_reservation,
)
from headgate.domain.workloads.preemption_events import EvictionForced, EvictionStalled
from headgate.domain.workloads.priority import class_value_change
from headgate.domain.workloads.state import Eviction, Workload, condition, is_admitted
from headgate.domain.workloads.transitions.preemption import ongoing_evictions
from headgate.domain.workloads.transitions.retry import due_pods

IMMEDIATELY: Instant = 0
"""The due instant of a transition that waits for no time."""

Events: TypeAlias = tuple[WorkloadEvent, ...]

TransitionEvents: TypeAlias = Callable[[Instant, str], Events]
"""The events of a transition at an instant; the text is the id of the eviction it may begin."""

PodsReadyTimeoutCause = Literal["WaitForStart", "WaitForRecovery", "WaitForScheduling"]

StopReason = Literal["ClusterQueueStopped", "LocalQueueStopped"]

STOP_MESSAGES: dict[str, Message] = {
    "ClusterQueueStopped": message("ClusterQueueIsStopped"),
    "LocalQueueStopped": message("LocalQueueIsStopped"),
}
CANCELLED = message("WorkloadCancelled")
DEACTIVATED = message("WorkloadDeactivated")
NOT_STOPPED = message("NotStoppedInTime")
NOT_ACKNOWLEDGED = message("NotAcknowledgedInTime")


class Transition(NamedTuple):
    """A change of a workload that no command asks for, and the instant from which it is due."""

    due_at: Instant
    events: TransitionEvents


def next_transition(
    config: ObjectSet, workload: Workload, at: Instant = IMMEDIATELY
) -> Transition | None:
    """The first transition in order of precedence that is due at `at`, or else the earliest one."""
    earliest: Transition | None = None
    for due_at, events in _transitions(config, workload):
        if due_at <= at:
            return Transition(due_at, events)
        if earliest is None or due_at < earliest.due_at:
            earliest = Transition(due_at, events)
    return earliest


def next_due_at(config: ObjectSet, workload: Workload) -> Instant | None:
    """The instant of the next transition; `IMMEDIATELY` for one that is due already."""
    transition = next_transition(config, workload)
    return transition.due_at if transition else None


def due_events(config: ObjectSet, workload: Workload, at: Instant, eviction_id: str) -> Events:
    """The events of the transition that is due at `at`, if one is."""
    transition = next_transition(config, workload, at)
    return transition.events(at, eviction_id) if transition and transition.due_at <= at else ()


def _transitions(
    config: ObjectSet, workload: Workload
) -> Iterator[tuple[Instant, TransitionEvents]]:
    """All transitions of a workload that are ever due, in order of precedence."""
    if workload.terminating_at is not None or workload.cancelling_at is not None:
        yield from _requested_end(workload)
    if workload.finished_at is not None:
        return
    is_reserved = has_quota_reservation(workload)
    if (due := deactivation_deadline(config, workload)) is not None:
        yield due, partial(_record, WorkloadDeleted())
    edited = class_value_change(workload, config.workload_priority_classes)
    if edited is not None:
        yield IMMEDIATELY, partial(_record, edited)
    if (due := eviction_deadline(workload)) is not None:
        yield due, partial(_soft_eviction_expired, workload)
    if is_reserved and workload.eviction is None:
        yield from _while_reserved(config, workload)
    if workload.hold is not None and (due := workload.hold.expires_at) is not None:
        yield due, partial(_hold_expired, workload)
    if not is_reserved:
        yield from _while_pending(config, workload)


def _requested_end(workload: Workload) -> Iterator[tuple[Instant, TransitionEvents]]:
    """Deletion or cancellation; a workload with a quota reservation is evicted first."""
    is_reserved = has_quota_reservation(workload)
    if workload.terminating_at is not None:
        if not is_reserved:
            yield IMMEDIATELY, partial(_record, WorkloadDeleted())
        elif workload.eviction is None:
            yield IMMEDIATELY, partial(_evict, workload, "Deleted", DELETION_REQUESTED)
    elif workload.cancelling_at is not None and workload.finished_at is None:
        if not is_reserved:
            cancelled = WorkloadFinished(reason="Cancelled", message=CANCELLED)
            yield IMMEDIATELY, partial(_record, cancelled)
        elif workload.eviction is None:
            yield IMMEDIATELY, partial(_evict, workload, "Cancelled", CANCELLATION_REQUESTED)


def _while_reserved(
    config: ObjectSet, workload: Workload
) -> Iterator[tuple[Instant, TransitionEvents]]:
    """Transitions of a workload that has a quota reservation and is not being evicted."""
    if not workload.spec.active:
        yield IMMEDIATELY, partial(_evict, workload, "Deactivated", DEACTIVATED)
    outcome = checks_outcome(config, workload)
    if outcome in {"Rejected", "Retry"}:
        yield IMMEDIATELY, partial(checks_events, config, workload)
    stop = stop_reason(config, workload)
    if stop is not None:
        yield IMMEDIATELY, partial(_evict, workload, stop, STOP_MESSAGES[stop])
    missing = missing_queue(config, workload)
    if missing is not None:
        yield IMMEDIATELY, partial(_record, ReservationDropped(reason=missing))
    if outcome and not awaits_unblocked_admission(config, workload):
        yield IMMEDIATELY, partial(checks_events, config, workload)
    if (due := execution_deadline(workload)) is not None:
        yield due, partial(_execution_time_exceeded, workload)
    if (due := pod_backoff_end(workload)) is not None:
        yield due, partial(_pod_backoff_over, workload)
    if waits_for_pods_ready(config, workload) is not None:
        if (due := retry_deadline(config, workload)) is not None:
            yield due, partial(_retry_limit_exceeded, config, workload)
        if (due := pods_ready_deadline(config, workload)) is not None:
            yield due, partial(_pods_ready_timeout, config, workload)
        if (due := requeue_count_reset_at(config, workload)) is not None:
            yield due, partial(_record, RequeueCountReset())


def _while_pending(
    config: ObjectSet, workload: Workload
) -> Iterator[tuple[Instant, TransitionEvents]]:
    """Transitions of a workload without a quota reservation: deactivation or requeueing."""
    if workload.spec.active:
        if has_no_execution_time_left(workload):
            yield IMMEDIATELY, partial(_execution_time_exceeded, workload)
        if (due := retry_deadline(config, workload)) is not None:
            yield due, partial(_retry_limit_exceeded, config, workload)
        why = invalid_topology_request(config, workload)
        if why is not None:
            deactivated = WorkloadDeactivated(cause="TopologyRequestInvalid", message=why)
            yield IMMEDIATELY, partial(_record, deactivated)
    if (due := workload.requeue.requeue_at) is not None:
        yield due, partial(_record, WorkloadRequeued(reason="BackoffFinished"))
    if is_requeue_due(config, workload):
        yield IMMEDIATELY, partial(_record, WorkloadRequeued(reason=_requeue_reason(workload)))


def eviction_deadline(workload: Workload) -> Instant | None:
    """The earliest deadline of a soft eviction that is neither stopping, forced nor stalled."""
    if workload.eviction is None and not workload.pod_evictions:
        return None
    found = _next_soft_eviction(workload)
    return found.soft.deadline_at if found is not None and found.soft is not None else None


def pod_backoff_end(workload: Workload) -> Instant | None:
    """The instant at which the first backoff of failed pods is over."""
    delayed = workload.retry.delayed
    return min(each.until for each in delayed) if delayed else None


def execution_deadline(workload: Workload) -> Instant | None:
    """The instant at which `maximumExecutionTimeSeconds` is used up (queueing.md §5.8).

    All runs of the workload count.
    """
    limit = workload.spec.maximum_execution_time_seconds
    if limit is None or not is_admitted_and_not_evicting(workload):
        return None
    admitted = condition(workload, "Admitted")
    assert admitted is not None, "a running workload is admitted"
    left = limit - workload.accumulated_execution_seconds
    return seconds_after(admitted.last_transition_at, left)


def deactivation_deadline(config: ObjectSet, workload: Workload) -> Instant | None:
    """The instant at which a deactivated workload is deleted by retention (§5.9)."""
    found = workload.deactivation
    if found is None or found.cause == "Requested" or has_quota_reservation(workload):
        return None
    after = config.configuration.retention.after_deactivated_seconds
    if after is None:
        return None
    return seconds_after(found.deactivated_at, after)


def stop_reason(config: ObjectSet, workload: Workload) -> StopReason | None:
    """The stopped queue that takes the quota reservation away; None if neither queue does.

    HoldAndDrain evicts admitted workloads; Hold takes only reservations without an admission.
    """
    policies = ("HoldAndDrain",) if is_admitted(workload) else ("Hold", "HoldAndDrain")
    queue = config.cluster_queues.get(
        workload.admission.cluster_queue if workload.admission else ""
    )
    if queue is not None and queue.spec.stop_policy in policies:
        return "ClusterQueueStopped"
    local = local_queue_of(config, workload)
    if local is not None and local.spec.stop_policy in policies:
        return "LocalQueueStopped"
    return None


def is_requeue_due(config: ObjectSet, workload: Workload) -> bool:
    """Whether Requeued is false although neither a backoff nor a stop holds it (traps Q1, Q10)."""
    requeued = condition(workload, "Requeued")
    if requeued is None or requeued.status or not workload.spec.active:
        return False
    if workload.requeue.requeue_at is not None:
        return False
    return requeued.reason not in STOP_MESSAGES or not _is_stopped(config, workload)


def _is_stopped(config: ObjectSet, workload: Workload) -> bool:
    local = local_queue_of(config, workload)
    if local is None:
        return True
    queue = config.cluster_queues.get(local.spec.cluster_queue)
    return local.spec.stop_policy != "None" or queue is None or queue.spec.stop_policy != "None"


def _next_soft_eviction(workload: Workload) -> Eviction | None:
    waiting = [
        (eviction.soft.deadline_at, number, eviction)
        for number, eviction in enumerate(ongoing_evictions(workload))
        if eviction.soft is not None
        and (eviction.forced_at, eviction.stalled_at, eviction.stopping_at) == (None, None, None)
    ]
    return min(waiting)[2] if waiting else None


def _record(event: WorkloadEvent, _at: Instant, _eviction_id: str) -> Events:
    return (event,)


def _evict(
    workload: Workload, reason: EvictionReason, why: Message, _at: Instant, eviction_id: str
) -> Events:
    """Evict an admitted workload; a reservation without an admission has no pods to stop."""
    evicted = WorkloadEvicted(eviction=eviction_id, reason=reason, message=why)
    if is_admitted(workload):
        return (evicted,)
    if reason == "Deactivated":
        return (evicted, WorkloadStopped(eviction=eviction_id))
    return (ReservationDropped(reason=why),)


def _deactivate(
    workload: Workload, cause: DeactivationCause, why: Message, eviction_id: str
) -> Events:
    deactivated = WorkloadDeactivated(cause=cause, message=why)
    if not has_quota_reservation(workload):
        return (deactivated,)
    evicted = WorkloadEvicted(
        eviction=eviction_id, reason="Deactivated", underlying_cause=cause, message=why
    )
    return deactivated, evicted


def _soft_eviction_expired(workload: Workload, _at: Instant, _eviction_id: str) -> Events:
    """Force lets the executor kill the pods; Wait leaves it to the expiry of the round (§6.8)."""
    eviction = _next_soft_eviction(workload)
    assert eviction is not None, "a deadline that has passed belongs to an eviction"
    assert eviction.soft is not None, "only a soft eviction has a deadline"
    if eviction.soft.on_deadline == "Wait":
        return (EvictionStalled(eviction=eviction.id),)
    is_acknowledged = eviction.acknowledged_at is not None
    cause = NOT_STOPPED if is_acknowledged else NOT_ACKNOWLEDGED
    return (EvictionForced(eviction=eviction.id, cause=cause),)


def _hold_expired(workload: Workload, at: Instant, _eviction_id: str) -> Events:
    return release(workload, ReleaseWorkload(expired=True), at)


def _pod_backoff_over(workload: Workload, at: Instant, _eviction_id: str) -> Events:
    return (WorkloadPodsReleased(pods=due_pods(workload.retry, at)),)


def _execution_time_exceeded(workload: Workload, _at: Instant, eviction_id: str) -> Events:
    seconds = workload.spec.maximum_execution_time_seconds
    why = message("ExecutionTimeReached", limit=seconds)
    return _deactivate(workload, EXECUTION_TIME_EXCEEDED, why, eviction_id)


def _retry_limit_exceeded(
    config: ObjectSet, workload: Workload, _at: Instant, eviction_id: str
) -> Events:
    waits = waits_for_pods_ready(config, workload)
    limit = waits.requeuing_strategy.retry_limit_seconds if waits else None
    why = message("PodsNotReadyOverAllAttempts", limit=limit)
    return _deactivate(workload, "RequeuingTimeExceeded", why, eviction_id)


def _pods_ready_timeout(
    config: ObjectSet, workload: Workload, at: Instant, eviction_id: str
) -> Events:
    """Evict with a backoff, or deactivate past `backoffLimitCount` (queueing.md §5.5)."""
    waits = waits_for_pods_ready(config, workload)
    assert waits is not None, "a deadline that has passed was set by a configuration"
    strategy = waits.requeuing_strategy
    count = workload.requeue.count + 1
    if strategy.is_past_limit(count):
        why = message("PodsNotReadyAfterAttempts", attempts=count)
        return _deactivate(workload, "RequeuingLimitExceeded", why, eviction_id)
    again = at + backoff_microseconds(strategy, count, workload.uid)
    cause: PodsReadyTimeoutCause = workload.not_ready_cause or "WaitForStart"
    why = message("PodsNotReadyInTime", limit=waits.timeout_seconds)
    if cause == "WaitForRecovery":
        why = message("PodsNotReadyInTime", limit=waits.recovery_limit_seconds)
    elif awaits_pods_scheduled(waits, workload):
        cause = "WaitForScheduling"
        why = message("PodsNotScheduledInTime", limit=waits.unscheduled_timeout_seconds)
    evicted = WorkloadEvicted(
        eviction=eviction_id,
        reason="PodsReadyTimeout",
        underlying_cause=cause,
        message=why,
        count=count,
        requeue_at=max(again, workload.requeue.requeue_at or 0),
    )
    return (evicted,)


def _requeue_reason(workload: Workload) -> RequeueReason:
    requeued = condition(workload, "Requeued")
    match requeued.reason if requeued else "":
        case "ClusterQueueStopped":
            return "ClusterQueueRestarted"
        case "LocalQueueStopped":
            return "LocalQueueRestarted"
        case "PodsReadyTimeout" | "AdmissionCheck" | "Retried":
            return "BackoffFinished"
        case _:
            return "Reactivated"
