"""What executors report of a workload; saying it twice changes nothing (queueing.md §5.2-5.4)."""

from collections.abc import Iterator

from headgate.domain.metadata import refuse
from headgate.domain.rejection import IllegalNow, Violation
from headgate.domain.values.pointers import child
from headgate.domain.workloads.admission import hosts_of
from headgate.domain.workloads.annotations import is_elastic
from headgate.domain.workloads.commands import (
    ReportFinished,
    ReportPodsGone,
    ReportPodsReady,
    ReportReclaimable,
)
from headgate.domain.workloads.decide.preconditions import require_same_uid
from headgate.domain.workloads.events import (
    WorkloadDeleted,
    WorkloadEvent,
    WorkloadFinished,
    WorkloadPodsGone,
    WorkloadPodsNotReady,
    WorkloadPodsReady,
    WorkloadPodsReclaimed,
)
from headgate.domain.workloads.predicates import has_quota_reservation
from headgate.domain.workloads.state import (
    Workload,
    WorkloadState,
    is_admitted,
    is_condition_true,
    phase_of,
)


def report_pods_ready(state: WorkloadState, command: ReportPodsReady) -> tuple[WorkloadEvent, ...]:
    """Ready, or no longer so; of a workload that is on its way out it no longer matters."""
    workload = require_same_uid(state, command.uid)
    if workload.eviction is not None or workload.finished_at is not None:
        return ()
    _require_admitted(workload)
    was_ready = is_condition_true(workload, "PodsReady")
    if command.ready == was_ready:
        return ()
    if command.ready:
        return (WorkloadPodsReady(recovered=workload.not_ready_cause == "WaitForRecovery"),)
    return (WorkloadPodsNotReady(message=command.message),)


def report_pods_gone(state: WorkloadState, command: ReportPodsGone) -> tuple[WorkloadEvent, ...]:
    """Hosts that lost all its pods; of hosts it has none on any more it does not matter."""
    workload = require_same_uid(state, command.uid)
    if workload.eviction is not None or workload.finished_at is not None:
        return ()
    _require_admitted(workload)
    assert workload.admission is not None, "what was admitted has a place"
    told = {*workload.pods_gone, *command.hosts}
    gone = tuple(host for host in hosts_of(workload.admission) if host in told)
    return () if gone == workload.pods_gone else (WorkloadPodsGone(hosts=gone),)


def report_reclaimable(
    state: WorkloadState, command: ReportReclaimable
) -> tuple[WorkloadEvent, ...]:
    """Pods that ended for good; while the workload holds quota they never become fewer."""
    workload = require_same_uid(state, command.uid)
    if workload.finished_at is not None:
        return ()
    refuse("Report of", workload.key, _reclaim_violations(workload, command))
    told = {name: count for name, count in sorted(command.pods.items()) if count}
    others = {name: n for name, n in workload.reclaimable.items() if name not in command.pods}
    reclaimable = dict(sorted({**others, **told}.items()))
    if reclaimable == workload.reclaimable:
        return ()
    return (WorkloadPodsReclaimed(reclaimable=reclaimable),)


def report_finished(state: WorkloadState, command: ReportFinished) -> tuple[WorkloadEvent, ...]:
    """The end; one that comes while it is evicted ends the eviction with it."""
    workload = require_same_uid(state, command.uid)
    if workload.finished_at is not None:
        return ()
    _require_admitted(workload)
    finished = WorkloadFinished(
        reason="Succeeded" if command.succeeded else "Failed", message=command.message
    )
    return (finished, WorkloadDeleted()) if workload.terminating_at is not None else (finished,)


def _reclaim_violations(workload: Workload, command: ReportReclaimable) -> Iterator[Violation]:
    counts = {pod_set.name: pod_set.count for pod_set in workload.spec.pod_sets}
    for name, count in sorted(command.pods.items()):
        most = counts.get(name)
        if most is None:
            yield Violation(
                pointer=child("/pods", name),
                rule=f"Workload {workload.key} has no pod set {name}.",
                remedy=f"Name one of {', '.join(counts)}.",
            )
            continue
        least = workload.reclaimable.get(name, 0) if _reclaimable_only_grows(workload, name) else 0
        if not least <= count <= most:
            yield Violation(
                pointer=child("/pods", name),
                rule=f"Of pod set {name}, {least} to {most} pods can be reclaimable now.",
                remedy="Report all that have ended so far; while it holds quota none comes back.",
            )


def _reclaimable_only_grows(workload: Workload, name: str) -> bool:
    """Whether no ended pod of a set comes back.

    One that was made smaller than it was admitted counts anew which of its pods have ended.
    """
    if workload.admission is None or not has_quota_reservation(workload):
        return False
    given = {a.name: a.count for a in workload.admission.pod_set_assignments}
    counts = {pod_set.name: pod_set.count for pod_set in workload.spec.pod_sets}
    was_shrunk = counts[name] < given.get(name, 0)
    return not (is_elastic(workload.annotations) and was_shrunk)


def _require_admitted(workload: Workload) -> None:
    if not is_admitted(workload):
        raise IllegalNow(
            f"Workload {workload.key} is {phase_of(workload)}; it has no pods to report of.",
            remedy="Stop what runs for it, and start pods only for workloads that are assigned.",
        )
