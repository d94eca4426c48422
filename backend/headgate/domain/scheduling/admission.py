"""Step 6 of a cycle: what is recorded when an entry is admitted, blocked, skipped or pending.

`blockAdmission` holds for the whole installation: no workload is admitted while the pods of an
admitted one are not ready (queueing.md §5.6). Only admission waits, never the worker that plans it,
and each evaluation is of the state as it is, so that none is admitted on a stale one (trap Q25).
"""

from headgate.domain.recorded_event import DomainEvent, workload_stream
from headgate.domain.rounds.decide import SupersedeRound
from headgate.domain.scheduling.cycle_context import CycleContext
from headgate.domain.scheduling.evaluation.evaluation_summary import explain_evaluation
from headgate.domain.scheduling.evaluation.unschedulable import (
    before_evaluation,
    unschedulable_verdict,
    with_free,
)
from headgate.domain.scheduling.evaluation.workload_evaluator import Evaluation
from headgate.domain.scheduling.evaluation.workload_slices import predecessor_slice
from headgate.domain.scheduling.lifecycle.admission_checks import admission_events, required_checks
from headgate.domain.scheduling.lifecycle.transitions import IMMEDIATELY, next_due_at
from headgate.domain.scheduling.results import Mode
from headgate.domain.scheduling.rounds.progress import (
    complete_round,
    invalidate_round,
    invalidate_taken,
    supersede_rounds,
)
from headgate.domain.scheduling.second_pass import by_priority_and_age
from headgate.domain.values.message import message, workload_reference
from headgate.domain.workloads.admission import Admission
from headgate.domain.workloads.events import (
    WorkloadAdmitted,
    WorkloadFinished,
    WorkloadQuotaReserved,
)
from headgate.domain.workloads.explanation import Blocker, Explanation
from headgate.domain.workloads.predicates import has_quota_reservation
from headgate.domain.workloads.state import Workload, waited_seconds


def admit(cycle: CycleContext, evaluation: Evaluation) -> None:
    """Reserve quota and placement; without admission checks the same decision admits it."""
    workload, admission = evaluation.workload, evaluation.admission
    assert admission is not None, "a fitting entry has an admission"
    stream = workload_stream(workload.key)
    checks = required_checks(cycle.cluster_state.config, admission)
    events: list[tuple[str, DomainEvent]] = [
        *_finish_replaced_slice(cycle, workload),
        (stream, WorkloadQuotaReserved(admission=admission, checks=checks)),
    ]
    if not checks:
        waited = waited_seconds(workload, cycle.at)
        events.append((stream, WorkloadAdmitted(waited_seconds=waited)))
    events.extend(_end_own_rounds(cycle, workload, admission))
    cycle.decide(*events)
    invalidate_taken(cycle, evaluation.overridden_rounds, evaluation.workload.key)


def _finish_replaced_slice(
    cycle: CycleContext, workload: Workload
) -> list[tuple[str, DomainEvent]]:
    """Finish the replaced workload slice first, so that its quota is never counted twice."""
    old = predecessor_slice(cycle.cluster_state.workloads, workload)
    if old is None:
        return []
    replaced = message("ReplacedBySlice", slice=workload_reference(workload.key))
    finished = WorkloadFinished(reason="WorkloadSliceReplaced", message=replaced)
    return [(workload_stream(old.key), finished)]


def invalidate_nomination(cycle: CycleContext, evaluation: Evaluation) -> None:
    """Invalidate the round of a workload that lost its nominated placement.

    The workload is then nominated anew.
    """
    workload = evaluation.workload
    found = cycle.partition.rounds.get(workload.round_id or "")
    if found is None:
        record_pending(cycle, evaluation)
    else:
        invalidate_round(cycle, found)


def record_pending(cycle: CycleContext, evaluation: Evaluation) -> None:
    """Record the pending reason of an evaluation if it differs from the recorded one.

    That the workload can never start comes before anything else that the evaluation found.
    """
    partition, workloads = cycle.partition, cycle.cluster_state.workloads
    workload = evaluation.workload
    known = workload.explanation
    # Holders are named only for a new reason: finding them costs more than the rest.
    bare = explain_evaluation(partition, workloads, evaluation, with_holders=False)
    never = None
    if evaluation.mode == Mode.NO_FIT and not workload.round_id:
        never = unschedulable_verdict(partition, workload)
    told = bare if never is None else before_evaluation(never, bare)
    if known is not None and known.fingerprint == told.fingerprint:
        return
    found = explain_evaluation(partition, workloads, evaluation)
    if never is not None:
        found = before_evaluation(with_free(partition, workload, never), found)
    cycle.record_reason(workload, found)


def record_skipped(cycle: CycleContext, evaluation: Evaluation) -> None:
    """Record that earlier entries of the cycle took the quota of an entry that had fitted.

    It is nominated again in the next cycle (Kueue: `scheduler.setSkipped`).
    """
    skipped = message("QuotaTakenInCycle", cluster_queue=evaluation.cluster_queue)
    taken = Blocker(type="Quota", reason="WaitingForQuota", message=skipped)
    explanation = Explanation(dominant=taken.reason, blockers=(taken,))
    cycle.record_reason(evaluation.workload, explanation)


def _end_own_rounds(
    cycle: CycleContext, workload: Workload, admission: Admission
) -> list[tuple[str, DomainEvent]]:
    # An earlier entry of the cycle may have invalidated the nomination since the evaluation.
    nominated = cycle.cluster_state.workloads[workload.key].round_id
    found = cycle.partition.rounds.get(nominated or "")
    if found is None or admission != found.admission:
        return supersede_rounds(cycle, workload, SupersedeRound(admission=admission))
    return complete_round(cycle, found, admission)


MAX_NAMED = 5
"""How many blocking workloads a pending reason names."""


def is_admission_blocked(cycle: CycleContext, evaluation: Evaluation) -> bool:
    """Whether `blockAdmission` blocks a fitting entry; a quota reservation is exempt."""
    return bool(cycle.partitions.blocking) and not has_quota_reservation(evaluation.workload)


def admit_unblocked(cycle: CycleContext) -> None:
    """Admit quota reservations with all checks Ready, while no workload blocks admission.

    Under `blockAdmission` each admission blocks the next one, also where checks stand between quota
    reservation and admission.
    """
    found = cycle.partitions
    mine = [key for key, home in found.startable.items() if home == cycle.key]
    for workload in by_priority_and_age(cycle.cluster_state.workloads[key] for key in mine):
        stream = workload_stream(workload.key)
        if found.blocking:
            return
        is_due = next_due_at(cycle.cluster_state.config, workload) == IMMEDIATELY
        if stream not in cycle.cluster_state.quarantined and not is_due:
            cycle.decide(*((stream, event) for event in admission_events(workload, cycle.at)))


def record_blocked(cycle: CycleContext, evaluation: Evaluation) -> None:
    """Record that `blockAdmission` blocks a fitting entry, if that is not recorded yet."""
    blocking = tuple(cycle.partitions.blocking)
    cycle.record_reason(evaluation.workload, blocked_reason(blocking))


def blocked_reason(blocking: tuple[str, ...]) -> Explanation:
    """The pending reason of a fitting workload that waits for the pods of admitted ones."""
    named = tuple(sorted(blocking))[:MAX_NAMED]
    blocker = Blocker(
        type="Order",
        reason="WaitingForPodsReady",
        message=message("AdmissionBlocked", blocking=len(blocking)),
        held_by=named,
    )
    return Explanation(dominant="WaitingForPodsReady", blockers=(blocker,))
