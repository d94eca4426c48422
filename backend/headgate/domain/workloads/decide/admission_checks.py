"""Decides on reports of admission check controllers (queueing.md §1.7, §3.11)."""

from collections.abc import Iterator

from headgate.domain.metadata import refuse
from headgate.domain.rejection import IllegalNow, Violation
from headgate.domain.workloads.commands import ReportCheckState
from headgate.domain.workloads.decide.preconditions import require_same_uid
from headgate.domain.workloads.events import (
    WorkloadCheckReported,
    WorkloadEvent,
)
from headgate.domain.workloads.pods.pod_set_updates import update_violations
from headgate.domain.workloads.state import (
    AdmissionCheckState,
    Workload,
    WorkloadState,
    is_admitted,
    phase_of,
)


def report_check_state(
    state: WorkloadState, command: ReportCheckState
) -> tuple[WorkloadEvent, ...]:
    """Recorded if it is news; what follows from it is decided with all other checks together.

    A word that comes while the workload is on its way out is about a reservation that is over.
    """
    workload = require_same_uid(state, command.uid)
    if workload.finished_at is not None or workload.eviction is not None:
        return ()
    if workload.admission is None or command.check not in workload.checks:
        raise IllegalNow(
            f"Workload {workload.key} is {phase_of(workload)} and does not wait for check "
            f"{command.check}.",
            remedy="Report on workloads that have quota and name the check in their status.",
        )
    told = WorkloadCheckReported(
        check=command.check,
        state=command.state,
        message=command.message,
        requeue_after_seconds=command.requeue_after_seconds,
        pod_set_updates=command.pod_set_updates,
    )
    known = workload.check_states.get(command.check)
    refuse("Report on", workload.key, _update_violations(workload, command, known))
    return () if known is not None and _says(known) == _says(told) else (told,)


def _update_violations(
    workload: Workload, command: ReportCheckState, known: AdmissionCheckState | None
) -> Iterator[Violation]:
    """What is wrong with the additions to pods.

    Those of a check that agreed stay as they are, as do all once pods may have started.
    """
    updates = command.pod_set_updates
    yield from update_violations("/podSetUpdates", updates, workload.spec.pod_sets)
    before = known.pod_set_updates if known is not None else ()
    agreed = known is not None and known.state == command.state == "Ready"
    if before != updates and (agreed or (updates and is_admitted(workload))):
        yield Violation(
            pointer="/podSetUpdates",
            rule="podSetUpdates cannot change once the check was Ready or pods may have started.",
            remedy="Report the same again, or Retry to have the workload sent back first.",
        )


def _says(told: AdmissionCheckState | WorkloadCheckReported) -> tuple[object, ...]:
    return told.state, told.message, told.requeue_after_seconds, told.pod_set_updates
