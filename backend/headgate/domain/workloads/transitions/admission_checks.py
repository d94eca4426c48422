"""Transitions of admission check states, and what checks add to pod sets (queueing.md §3.11)."""

from msgspec.structs import replace

from headgate.domain.values.instants import Instant
from headgate.domain.workloads.events import (
    WorkloadCheckReported,
    WorkloadChecksRequired,
)
from headgate.domain.workloads.pods.pod_set_updates import (
    PodSetUpdate,
    PodSetUpdateConflict,
    merged_updates,
)
from headgate.domain.workloads.specs import NO_ENTRIES, PodSet
from headgate.domain.workloads.state import (
    AdmissionCheckState,
    Workload,
    condition,
    is_admitted,
)


def check_state_of(workload: Workload, check: str) -> AdmissionCheckState:
    """The state of a check since quota was reserved; Pending until the check reports."""
    known = workload.check_states.get(check)
    if known is not None:
        return known
    reserved = condition(workload, "QuotaReserved")
    since = reserved.last_transition_at if reserved else workload.created_at
    return AdmissionCheckState(last_transition_at=since)


def merged_pod_set_updates(workload: Workload) -> tuple[PodSetUpdate, ...]:
    """The merged podSetUpdates of all checks; raises `PodSetUpdateConflict` if they contradict."""
    told = {name: check_state_of(workload, name).pod_set_updates for name in workload.checks}
    return merged_updates(workload.spec.pod_sets, told)


def apply_check_reported(workload: Workload, event: WorkloadCheckReported, at: Instant) -> Workload:
    """The workload with the reported check state; its time moves only when the state changes."""
    before, admitted = check_state_of(workload, event.check), is_admitted(workload)
    now = AdmissionCheckState(
        state=event.state,
        message=event.message,
        last_transition_at=at if before.state != event.state else before.last_transition_at,
        requeue_after_seconds=event.requeue_after_seconds,
        retry_count=before.retry_count,
        pod_set_updates=before.pod_set_updates if admitted else event.pod_set_updates,
    )
    return replace(workload, check_states={**workload.check_states, event.check: now})


def apply_checks_required(workload: Workload, event: WorkloadChecksRequired) -> Workload:
    """The workload with the checks its ClusterQueue now requires; states of kept checks stay."""
    return replace(
        workload, checks=event.checks, check_states=_only(workload.check_states, event.checks)
    )


def retained_check_states(
    workload: Workload, checks: tuple[str, ...]
) -> dict[str, AdmissionCheckState]:
    """The check states kept at a quota reservation: the retry counts of its checks."""
    return _only(workload.check_states, checks) or NO_ENTRIES


def reset_check_states(workload: Workload, at: Instant) -> dict[str, AdmissionCheckState]:
    """The check states kept when a reservation ends: retry counts only (ResetChecksOnEviction).

    A check that was Ready must agree again to the next reservation.
    """
    return {
        name: AdmissionCheckState(
            last_transition_at=at if check.state != "Pending" else check.last_transition_at,
            retry_count=check.retry_count + (check.state == "Retry"),
        )
        for name, check in workload.check_states.items()
        if check.state == "Retry" or check.retry_count
    }


def _only(
    states: dict[str, AdmissionCheckState], checks: tuple[str, ...]
) -> dict[str, AdmissionCheckState]:
    return {name: state for name, state in states.items() if name in checks}


def pod_sets_after_checks(workload: Workload) -> dict[str, PodSet]:
    """The pod sets by name with the node selectors and tolerations of podSetUpdates added.

    Contradicting updates add nothing: such a workload finishes as FailedToStart.
    """
    if not workload.checks:
        return {pod_set.name: pod_set for pod_set in workload.spec.pod_sets}
    try:
        updates = {update.name: update for update in merged_pod_set_updates(workload)}
    except PodSetUpdateConflict:
        updates = {}
    return {
        pod_set.name: _with_update(pod_set, updates.get(pod_set.name))
        for pod_set in workload.spec.pod_sets
    }


def _with_update(pod_set: PodSet, update: PodSetUpdate | None) -> PodSet:
    if update is None:
        return pod_set
    scheduling = replace(
        pod_set.scheduling,
        node_selector={**pod_set.scheduling.node_selector, **update.node_selector},
        tolerations=(*pod_set.scheduling.tolerations, *update.tolerations),
    )
    return replace(pod_set, scheduling=scheduling)
