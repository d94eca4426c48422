"""The second phase of admission: transitions that follow from admission checks (queueing.md §3.11).

Until a workload is admitted, its checks are those that its ClusterQueue requires now, and it is
admitted only when each of them is there and Ready (trap Q33). An admitted workload keeps the checks
that it passed; one of them may still evict it.
"""

from collections.abc import Iterable
from typing import Literal

from headgate.domain.object_set import ObjectSet
from headgate.domain.values.instants import Instant, seconds_after
from headgate.domain.values.message import Message, message
from headgate.domain.workloads.admission import Admission, awaits_topology
from headgate.domain.workloads.events import (
    WorkloadAdmitted,
    WorkloadChecksRequired,
    WorkloadDeactivated,
    WorkloadEvent,
    WorkloadEvicted,
    WorkloadFinished,
    WorkloadStopped,
)
from headgate.domain.workloads.pods.pod_set_updates import PodSetUpdateConflict
from headgate.domain.workloads.predicates import has_quota_reservation
from headgate.domain.workloads.state import (
    AdmissionCheckState,
    Workload,
    is_admitted,
    waited_seconds,
)
from headgate.domain.workloads.transitions.admission_checks import (
    check_state_of,
    merged_pod_set_updates,
)

PROVISIONING_CONTROLLERS = ("kueue.x-k8s.io/provisioning-request",)
"""Controllers of checks that become Ready once they have provisioned hosts (topology.md §2)."""

ChecksOutcome = Literal["", "Rejected", "Retry", "Changed", "Ready"]


def required_checks(config: ObjectSet, admission: Admission) -> tuple[str, ...]:
    """The checks that must be Ready: those on all flavors, and those on an assigned one."""
    queue = config.cluster_queues.get(admission.cluster_queue)
    rules = queue.spec.admission_checks if queue else ()
    given = {f for a in admission.pod_set_assignments for f in a.flavors.values()}
    return tuple(
        rule.name for rule in rules if not rule.on_flavors or given.intersection(rule.on_flavors)
    )


def has_provisioning_check(config: ObjectSet, cluster_queue: str, flavors: Iterable[str]) -> bool:
    """Whether a check on one of the flavors provisions the hosts: none can be assigned yet."""
    queue = config.cluster_queues.get(cluster_queue)
    given = tuple(flavors)
    for rule in queue.spec.admission_checks if queue else ():
        check = config.admission_checks.get(rule.name)
        applies = not rule.on_flavors or any(flavor in rule.on_flavors for flavor in given)
        if applies and check is not None and check.spec.controller_name in PROVISIONING_CONTROLLERS:
            return True
    return False


def checks_outcome(config: ObjectSet, workload: Workload) -> ChecksOutcome:
    """What the checks of a quota reservation come to; empty while some are pending."""
    assert workload.admission is not None, "checks are about a reservation"
    if not workload.checks and is_admitted(workload):
        return ""
    states = [check_state_of(workload, name).state for name in workload.checks]
    if "Rejected" in states:
        return "Rejected"
    if "Retry" in states:
        return "Retry"
    if is_admitted(workload):
        return ""
    if workload.checks != required_checks(config, workload.admission):
        return "Changed"
    if any(state != "Ready" for state in states) or awaits_topology(workload.admission):
        return ""
    return "Ready"


def awaits_only_topology(config: ObjectSet, workload: Workload) -> bool:
    """Whether all checks are Ready and only the assignment of hosts is still missing."""
    if workload.admission is None or is_admitted(workload):
        return False
    return (
        awaits_topology(workload.admission)
        and workload.checks == required_checks(config, workload.admission)
        and all(check_state_of(workload, name).state == "Ready" for name in workload.checks)
    )


def checks_events(
    config: ObjectSet, workload: Workload, at: Instant, eviction_id: str
) -> tuple[WorkloadEvent, ...]:
    """The events that follow; a workload without pods has stopped as soon as it is evicted.

    Under `blockAdmission` ready workloads are admitted one after the other: see
    `awaits_unblocked_admission`.
    """
    match checks_outcome(config, workload):
        case "Rejected":
            return _rejected(workload, eviction_id)
        case "Retry":
            return _sent_back(workload, eviction_id)
        case "Changed":
            assert workload.admission is not None, "checks are about a reservation"
            return (WorkloadChecksRequired(checks=required_checks(config, workload.admission)),)
        case "Ready" if not config.configuration.block_admission:
            return admission_events(workload, at)
        case _:
            return ()


def awaits_unblocked_admission(config: ObjectSet, workload: Workload | None) -> bool:
    """Whether only `blockAdmission` may keep a quota reservation from being admitted."""
    return (
        config.configuration.block_admission
        and workload is not None
        and has_quota_reservation(workload)
        and workload.eviction is None
        and checks_outcome(config, workload) == "Ready"
    )


def admission_events(workload: Workload, at: Instant) -> tuple[WorkloadEvent, ...]:
    """Admission, or a final failure where its checks ask for pods that cannot be made."""
    try:
        merged_pod_set_updates(workload)
    except PodSetUpdateConflict as conflict:
        return (WorkloadFinished(reason="FailedToStart", message=conflict.message),)
    return (WorkloadAdmitted(waited_seconds=waited_seconds(workload, at)),)


def _rejected(workload: Workload, eviction_id: str) -> tuple[WorkloadEvent, ...]:
    why = _check_reports(workload, "Rejected", "RejectedByAdmissionCheck")
    evicted = WorkloadEvicted(
        eviction=eviction_id,
        reason="Deactivated",
        underlying_cause="AdmissionCheck",
        message=why,
    )
    deactivated = WorkloadDeactivated(cause="AdmissionCheck", message=why)
    return (deactivated, evicted, *_stopped_at_once(workload, eviction_id))


def _sent_back(workload: Workload, eviction_id: str) -> tuple[WorkloadEvent, ...]:
    """Evict at once, not only when the requested delay is over (trap Q2)."""
    waits = [
        seconds_after(check.last_transition_at, check.requeue_after_seconds)
        for _, check in _in_state(workload, "Retry")
        if check.requeue_after_seconds
    ]
    evicted = WorkloadEvicted(
        eviction=eviction_id,
        reason="AdmissionCheck",
        message=_check_reports(workload, "Retry", "AdmissionCheckRequestedRetry"),
        requeue_at=max(waits, default=None),
    )
    return (evicted, *_stopped_at_once(workload, eviction_id))


def _stopped_at_once(workload: Workload, eviction_id: str) -> tuple[WorkloadEvent, ...]:
    return () if is_admitted(workload) else (WorkloadStopped(eviction=eviction_id),)


def _check_reports(workload: Workload, state: str, code: str) -> Message:
    """The message of the code for each check in the state, with what its controller wrote."""
    found = tuple(
        message(code, check=name, report=check.message)
        for name, check in _in_state(workload, state)
    )
    return found[0] if len(found) == 1 else message("SeveralAdmissionChecks", checks=found)


def _in_state(workload: Workload, state: str) -> list[tuple[str, AdmissionCheckState]]:
    found = [(name, check_state_of(workload, name)) for name in workload.checks]
    return [(name, check) for name, check in found if check.state == state]
