"""How long workloads waited for what, from the facts that end the waiting."""

from collections.abc import Iterator

from headgate.domain.facts import Recorded
from headgate.domain.values.instants import MICROSECONDS_PER_SECOND, Instant
from headgate.domain.workloads.events import (
    WorkloadAdmitted,
    WorkloadPodsReady,
    WorkloadQuotaReserved,
)
from headgate.domain.workloads.state import ConditionType, Workload, condition
from headgate.domain.workloads.waited import waited_seconds

UNTIL: dict[str, str] = {
    "quota_reserved_wait_time_seconds": "From creation or requeue to the reservation of quota",
    "admission_wait_time_seconds": "From creation or requeue to admission",
    "admission_checks_wait_time_seconds": "From the reservation of quota to admission, with checks",
    "ready_wait_time_seconds": "From creation or requeue to the readiness of all pods",
    "admitted_until_ready_wait_time_seconds": "From admission to the readiness of all pods",
}
"""Kueue's figures of what workloads wait for, with what each says."""


def waits_ended(recorded: Recorded, workload: Workload) -> Iterator[tuple[str, int]]:
    """Figures with seconds that a fact adds to them; `workload` is as it is after it.

    A workload that has gone on to something else by the time its fact is seen adds nothing where
    its state no longer tells since when it waited.
    """
    match recorded.event:
        case WorkloadQuotaReserved():
            if _began(workload, "QuotaReserved") == recorded.at:
                waited = waited_seconds(workload, recorded.at)
                yield "quota_reserved_wait_time_seconds", waited
        case WorkloadAdmitted(waited_seconds=waited):
            yield "admission_wait_time_seconds", waited
            reserved_at = _began(workload, "QuotaReserved")
            if workload.checks and reserved_at is not None:
                checking = _seconds(reserved_at, recorded.at)
                yield "admission_checks_wait_time_seconds", checking
        case WorkloadPodsReady(recovered=False):
            admitted_at = _began(workload, "Admitted")
            if admitted_at is not None and _began(workload, "PodsReady") == recorded.at:
                yield "ready_wait_time_seconds", waited_seconds(workload, recorded.at)
                starting = _seconds(admitted_at, recorded.at)
                yield "admitted_until_ready_wait_time_seconds", starting
        case _:
            return


def _began(workload: Workload, kind: ConditionType) -> Instant | None:
    """Since when a condition holds; None if it does not."""
    found = condition(workload, kind)
    return found.last_transition_at if found is not None and found.status else None


def _seconds(begin: Instant, end: Instant) -> int:
    return max(0, end - begin) // MICROSECONDS_PER_SECOND
