"""Transitions that end or prevent an admission: eviction, stop, release, deactivation, activation.

Sources: queueing.md §5.3, §5.4, §5.7 and trap Q1; KEP-1282 for the requeue state after a pods-ready
timeout.
"""

from msgspec.structs import replace

from headgate.domain.values.instants import Instant
from headgate.domain.values.message import Message, MessageOrText, message, workload_reference
from headgate.domain.workloads.events import (
    EvictionReason,
    ReservationDropped,
    WorkloadDeactivated,
    WorkloadEvicted,
)
from headgate.domain.workloads.pods.completions import with_completions
from headgate.domain.workloads.predicates import resets_execution_time
from headgate.domain.workloads.preemption_events import PreemptorReference
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

PODS_STOPPED = message("PodsStopped")
NO_RESERVATION = message("NoReservation")
DEACTIVATED = message("WorkloadDeactivated")
ACTIVATED = message("WorkloadActivated")
POD_SCHEDULING_ENDED = ConditionChange(
    "PodsScheduled", status=False, reason="WaitForStart", message=message("NotAllPodsReady")
)

IMMEDIATELY_REQUEUED = ("Preempted", "NodeFailures", "Requeued")
"""Reasons of evictions after which a workload competes again as soon as its pods have stopped."""


def apply_evicted(workload: Workload, event: WorkloadEvicted, at: Instant) -> Workload:
    """On its way out: it must stop, and still holds its quota and hosts."""
    reason = evicted_condition_reason(event.reason, event.underlying_cause)
    why = _evicted_message(event)
    changes = [ConditionChange("Evicted", status=True, reason=reason, message=why)]
    if event.reason == "Preempted":
        cause = event.underlying_cause
        changes.append(ConditionChange("Preempted", status=True, reason=cause, message=why))
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
        gates_changed_at={**workload.gates_changed_at, **dict.fromkeys(workload.opened_gates, at)},
        requeue=requeue,
        check_states=reset_check_states(workload, at),
        evictions=eviction_counts_with(workload, event.reason, event.underlying_cause),
        conditions=with_conditions(workload, at, *changes),
    )


def _evicted_message(event: WorkloadEvicted) -> MessageOrText:
    """The message of Evicted and Preempted: Kueue's for a preemption, else that of the event."""
    found = event.accommodates
    return event.message if found is None else preemption_message(found, event.underlying_cause)


def evicted_condition_reason(reason: EvictionReason, underlying_cause: str) -> str:
    """The reason of the condition Evicted; a deactivation adds its cause (queueing.md §5.3)."""
    because = reason == "Deactivated" and underlying_cause
    return f"{reason}DueTo{underlying_cause}" if because else reason


def apply_stopped(workload: Workload, at: Instant) -> Workload:
    """The workload without quota and hosts, requeued at once or later.

    Kueue: SetRequeuedCondition.
    """
    reason = workload.eviction.reason if workload.eviction else "Requeued"
    waits = "PendingEvaluation" if workload.spec.active else "Deactivated"
    changes = list(_reservation_ended(workload, waits, PODS_STOPPED))
    if workload.spec.active:
        at_once = reason in IMMEDIATELY_REQUEUED or (
            reason in {"AdmissionCheck", "Retried"} and workload.requeue.requeue_at is None
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
        retry=replace(workload.retry, delayed=()),
        reclaimable=_reclaimable_kept(workload) if reason == "Retried" else workload.reclaimable,
        not_ready_cause=None,
        accumulated_execution_seconds=_accumulated_execution_seconds(workload, at),
        conditions=with_conditions(workload, at, *changes),
    )


def _reclaimable_kept(workload: Workload) -> dict[str, int]:
    """Pods that need not run again in a retried workload: of sets where each index completes once.

    All pods of the other sets start together again.
    """
    names = {pod_set.name for pod_set in with_completions(workload.spec)}
    return {name: count for name, count in workload.reclaimable.items() if name in names}


def apply_reservation_dropped(
    workload: Workload, event: ReservationDropped, at: Instant
) -> Workload:
    """The workload without its reservation; that counts as no eviction (trap Q30)."""
    changes = _reservation_ended(workload, "Suspended", event.reason)
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
    """The execution time that counts from now on: 0 once the maximum was reached (trap Q8)."""
    eviction = workload.eviction
    if eviction is not None and eviction.underlying_cause == "MaximumExecutionTimeExceeded":
        return 0
    return executed_seconds(workload, at)


def _reservation_ended(
    workload: Workload, reason: str, why: Message
) -> tuple[ConditionChange, ...]:
    was_observed = condition(workload, "PodsScheduled") is not None
    return (
        ConditionChange("QuotaReserved", status=False, reason=reason, message=why),
        ConditionChange("Admitted", status=False, reason="NoReservation", message=NO_RESERVATION),
        ConditionChange("PodsReady", status=False, reason="WaitForStart"),
        *((POD_SCHEDULING_ENDED,) if was_observed else ()),
    )


def eviction_counts_with(
    workload: Workload, reason: EvictionReason, underlying_cause: str
) -> tuple[EvictionCount, ...]:
    """The eviction counts of the workload with one more for the reason and cause."""
    cause = (reason, underlying_cause)
    counts = {(c.reason, c.underlying_cause): c.count for c in workload.evictions}
    counts[cause] = counts.get(cause, 0) + 1
    return tuple(
        EvictionCount(reason=reason, underlying_cause=underlying, count=count)
        for (reason, underlying), count in counts.items()
    )


def apply_deactivated(workload: Workload, event: WorkloadDeactivated, at: Instant) -> Workload:
    """The inactive workload, with cause, user and number of requeues of the deactivation.

    A workload without an admission is evicted and counted by that, unless it was evicted before and
    not admitted since (queueing.md §5.7); an admitted one is when its own eviction is recorded.
    """
    cause = "" if event.cause == "Requested" else event.cause
    reason = evicted_condition_reason("Deactivated", cause)
    changes = [ConditionChange("Requeued", status=False, reason=reason, message=event.message)]
    evictions = workload.evictions
    if workload.admission is None and not is_condition_true(workload, "Evicted"):
        why = event.message or DEACTIVATED
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
    """The active workload; its execution time restarts only if the maximum was used up."""
    back = ConditionChange("Requeued", status=True, reason="Reactivated", message=ACTIVATED)
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


JOB_UID = "kueue.x-k8s.io/job-uid"
"""The label with the uid of the job that a workload stands for."""

UNKNOWN = "UNKNOWN"
RULES = {
    "InClusterQueue": "prioritization in the ClusterQueue",
    "InCohortReclamation": "reclamation within the cohort",
    "InCohortFairSharing": "Fair Sharing within the cohort",
    "InCohortReclaimWhileBorrowing": "reclamation within the cohort while borrowing",
}


def preemptor_reference(preemptor: Workload, path: str, victim_path: str) -> PreemptorReference:
    """The reference to the preemptor; paths lead from the root Cohort to both ClusterQueues."""
    return PreemptorReference(
        workload=preemptor.key,
        uid=preemptor.uid,
        job_uid=preemptor.labels.get(JOB_UID, ""),
        path=path,
        victim_path=victim_path,
    )


def preemption_message(found: PreemptorReference, rule: str) -> Message:
    """The message of Evicted and Preempted; unknown parts are UNKNOWN as in Kueue."""
    return message(
        "PreemptedToAccommodate",
        preemptor=workload_reference(found.workload),
        uid=found.uid,
        job_uid=found.job_uid,
        rule=RULES.get(rule, UNKNOWN),
        path=found.path or UNKNOWN,
        victim_path=found.victim_path or UNKNOWN,
    )
