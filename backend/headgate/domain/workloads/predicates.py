"""Yes/no questions that the state of one workload answers (Kueue: pkg/workload), and preconditions.

Preconditions of commands return the workload or raise a `Rejection`.
"""

from typing import Final

from headgate.domain.rejection import IllegalNow, NotFound
from headgate.domain.values.message import workload_reference
from headgate.domain.workloads.specs import ADMISSION_GATES, admission_gates
from headgate.domain.workloads.state import (
    Workload,
    WorkloadState,
    condition,
    is_condition_true,
    phase_of,
)


def is_evicting(workload: Workload) -> bool:
    """Whether an eviction is ongoing while the workload still has its quota reservation."""
    return workload.eviction is not None and has_quota_reservation(workload)


def has_quota_reservation(workload: Workload) -> bool:
    """Whether quota and hosts are charged to the workload (Kueue: HasQuotaReservation).

    A finished workload keeps its admission as a record and is not charged.
    """
    return workload.admission is not None and workload.finished_at is None


def is_admissible(workload: Workload) -> bool:
    """Whether the workload's own state lets it compete for quota (Kueue: workload.IsAdmissible).

    Its queues are a second condition that is not asked here (trap Q10: two gates).
    """
    requeued = condition(workload, "Requeued")
    return (
        workload.admission is None
        and workload.finished_at is None
        and workload.terminating_at is None
        and workload.cancelling_at is None
        and workload.spec.active
        and workload.hold is None
        and workload.requeue.requeue_at is None
        and not has_admission_gates(workload)
        and (requeued is None or is_condition_true(workload, "Requeued"))
    )


def has_admission_gates(workload: Workload) -> bool:
    """Whether an admission gate keeps the workload from being evaluated."""
    return ADMISSION_GATES in workload.annotations and bool(admission_gates(workload.annotations))


def closed_preemption_gates(workload: Workload) -> tuple[str, ...]:
    """The preemption gates of the spec that have not been opened; each keeps it from preempting."""
    return tuple(
        gate for gate in workload.spec.preemption_gates if gate not in workload.opened_gates
    )


def has_released_quota(workload: Workload) -> bool:
    """Whether quota was released while pods are being killed (`quotaRelease: OnTerminating`)."""
    return workload.eviction is not None and workload.eviction.quota_released


def resets_execution_time(workload: Workload) -> bool:
    """Whether activation restarts the execution time of the workload."""
    return exceeded_execution_time(workload) or has_no_execution_time_left(workload)


def has_no_execution_time_left(workload: Workload) -> bool:
    """Whether the maximum execution time is used up, so that a start would end at once.

    Time during an eviction counts (queueing.md §5.8), so the sum may exceed the maximum.
    """
    most = workload.spec.maximum_execution_time_seconds
    return most is not None and workload.accumulated_execution_seconds >= most


def exceeded_execution_time(workload: Workload) -> bool:
    """Whether the workload is inactive because it reached its maximum execution time."""
    if workload.deactivation is not None:
        return workload.deactivation.cause == EXECUTION_TIME_EXCEEDED
    last = condition(workload, "Requeued")
    return (
        last is not None
        and not last.status
        and last.reason == f"DeactivatedDueTo{EXECUTION_TIME_EXCEEDED}"
    )


EXECUTION_TIME_EXCEEDED: Final = "MaximumExecutionTimeExceeded"


def require_exists(state: WorkloadState) -> Workload:
    """The workload; raises `NotFound` if the stream has none."""
    if not isinstance(state, Workload):
        raise NotFound("ObjectNotFound", kind="Workload")
    return state


def require_unfinished(state: WorkloadState) -> Workload:
    """The workload; raises `IllegalNow` if it has finished."""
    workload = require_exists(state)
    if workload.finished_at is not None:
        found, phase = workload_reference(workload.key), phase_of(workload)
        raise IllegalNow("WorkloadHasEnded", workload=found, phase=phase)
    return workload


def require_not_terminating(state: WorkloadState) -> Workload:
    """The workload; raises `IllegalNow` if it has finished or is being deleted or cancelled."""
    workload = require_unfinished(state)
    found = workload_reference(workload.key)
    if workload.terminating_at is not None:
        raise IllegalNow("WorkloadTerminating", workload=found)
    if workload.cancelling_at is not None:
        raise IllegalNow("WorkloadCancelling", workload=found)
    return workload


def require_reported(state: WorkloadState, uid: str, attempt: int | None) -> Workload:
    """The workload; raises `IllegalNow` if the report carries another uid or attempt.

    A report without an attempt passes: `require_attempt` refuses it before it changes anything.
    """
    workload = require_same_uid(state, uid)
    if attempt is not None and attempt != workload.attempt:
        raise IllegalNow(
            "StaleAttempt",
            workload=workload_reference(workload.key),
            attempt=attempt,
            present_attempt=workload.attempt,
        )
    return workload


def require_attempt(workload: Workload, attempt: int | None) -> None:
    """Raises `IllegalNow` for a report that may be of an earlier attempt, as it names none."""
    if attempt is None and workload.attempt > 1:
        found = workload_reference(workload.key)
        raise IllegalNow("AttemptMissing", workload=found, present_attempt=workload.attempt)


def require_same_uid(state: WorkloadState, uid: str) -> Workload:
    """The workload; raises `IllegalNow` if the report carries the uid of an earlier workload."""
    workload = require_exists(state)
    if workload.uid != uid:
        found = workload_reference(workload.key)
        raise IllegalNow("EarlierWorkload", workload=found, uid=uid, present_uid=workload.uid)
    return workload
