"""Yes/no questions that the state of one workload answers (Kueue: pkg/workload)."""

from typing import Final

from headgate.domain.workloads.specs import ADMISSION_GATES, admission_gates
from headgate.domain.workloads.state import (
    Workload,
    condition,
    is_condition_true,
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
