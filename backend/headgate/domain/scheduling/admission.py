"""Step 5 of a cycle: what is recorded when a workload starts, makes others leave, or waits."""

from headgate.domain.facts import DomainEvent
from headgate.domain.rounds.commands import SupersedeRound
from headgate.domain.scheduling.cycle_context import CycleContext
from headgate.domain.scheduling.evaluation.evaluation_finding import explain_evaluation
from headgate.domain.scheduling.evaluation.workload_evaluator import Evaluation
from headgate.domain.scheduling.evaluation.workload_slices import predecessor_slice
from headgate.domain.scheduling.lifecycle.admission_checks import admission_events
from headgate.domain.scheduling.lifecycle.admission_checks import required_checks
from headgate.domain.scheduling.lifecycle.transitions import IMMEDIATELY
from headgate.domain.scheduling.lifecycle.transitions import next_due_at
from headgate.domain.scheduling.rounds.progress import complete_round
from headgate.domain.scheduling.rounds.progress import invalidate_round
from headgate.domain.scheduling.rounds.progress import invalidate_taken
from headgate.domain.scheduling.rounds.progress import supersede_rounds
from headgate.domain.scheduling.rounds.start import start_round
from headgate.domain.scheduling.second_pass import second_pass_order
from headgate.domain.streams import workload_stream
from headgate.domain.workloads.admission import Admission
from headgate.domain.workloads.events import WorkloadAdmitted
from headgate.domain.workloads.events import WorkloadExplained
from headgate.domain.workloads.events import WorkloadFinished
from headgate.domain.workloads.events import WorkloadQuotaReserved
from headgate.domain.workloads.explanation import Blocker
from headgate.domain.workloads.explanation import Explanation
from headgate.domain.workloads.predicates import has_quota_reservation
from headgate.domain.workloads.state import Workload
from headgate.domain.workloads.state import waited_seconds


__all__ = ["admit", "invalidate_nomination", "record_pending", "record_skipped", "start_round"]


def admit(cycle: CycleContext, evaluation: Evaluation) -> None:
    """Reserve quota and place; without checks it is admitted in the same decision."""
    workload, admission = evaluation.workload, evaluation.admission
    assert admission is not None, "what fits has a place"
    stream = workload_stream(workload.key)
    checks = required_checks(cycle.cell.config, admission)
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
    """The slice that it takes over from ends first, so that quota is never counted twice."""
    old = predecessor_slice(cycle.cell.workloads, workload)
    if old is None:
        return []
    message = f"Replaced by {workload.key}, which runs its pods from now on"
    finished = WorkloadFinished(reason="WorkloadSliceReplaced", message=message)
    return [(workload_stream(old.key), finished)]


def invalidate_nomination(cycle: CycleContext, evaluation: Evaluation) -> None:
    """The place its round kept cannot be had any more: end the round, so that it may plan anew."""
    workload = evaluation.workload
    found = cycle.partition.rounds.get(workload.round_id or "")
    if found is None:
        record_pending(cycle, evaluation)
    else:
        invalidate_round(cycle, found)


def record_pending(cycle: CycleContext, evaluation: Evaluation) -> None:
    """Record why it waits if that is news."""
    workload = evaluation.workload
    cell = cycle.cell
    reasons = explain_evaluation(cycle.partition, cell.workloads, evaluation, with_holders=False)
    known = workload.explanation
    if known is None or known.fingerprint != reasons.fingerprint:
        explanation = explain_evaluation(cycle.partition, cell.workloads, evaluation)
        stream = workload_stream(workload.key)
        cycle.decide((stream, WorkloadExplained(explanation=explanation)))


def record_skipped(cycle: CycleContext, evaluation: Evaluation) -> None:
    """Its room went to those before it in this cycle: say so, and let it have the next one."""
    sentence = f"Its room in ClusterQueue {evaluation.cluster_queue} went to one before it in turn"
    taken = Blocker(type="Quota", reason="WaitingForQuota", message=sentence)
    explanation = Explanation(dominant=taken.reason, sentence=sentence, blockers=(taken,))
    known = evaluation.workload.explanation
    if known is None or known.fingerprint != explanation.fingerprint:
        stream = workload_stream(evaluation.workload.key)
        cycle.decide((stream, WorkloadExplained(explanation=explanation)))


def _end_own_rounds(
    cycle: CycleContext, workload: Workload, admission: Admission
) -> list[tuple[str, DomainEvent]]:
    found = cycle.partition.rounds.get(workload.round_id or "")
    if found is None or admission != found.admission:
        return supersede_rounds(cycle, workload, SupersedeRound(admission=admission))
    return complete_round(cycle, found, admission)


MAX_NAMED = 5


def is_admission_blocked(cycle: CycleContext, evaluation: Evaluation) -> bool:
    """Whether what fits is held back; who has his quota already is exempt (second pass)."""
    return bool(cycle.cell.partitioning.blocking) and not has_quota_reservation(evaluation.workload)


def admit_unblocked(cycle: CycleContext) -> None:
    """Start who has quota and all its checks, as long as nobody's pods are waited for.

    So nobody starts beside another also where checks come between reservation and start.
    """
    found = cycle.cell.partitioning
    mine = [key for key, home in found.startable.items() if home == cycle.key]
    for workload in second_pass_order(cycle.cell.workloads[key] for key in mine):
        stream = workload_stream(workload.key)
        if found.blocking:
            return
        is_due = next_due_at(cycle.cell.config, workload) == IMMEDIATELY
        if stream not in cycle.cell.set_aside and not is_due:
            cycle.decide(*((stream, event) for event in admission_events(workload, cycle.at)))


def record_blocked(cycle: CycleContext, evaluation: Evaluation) -> None:
    """Let it wait until all pods are ready, and record why if that is news."""
    workload = evaluation.workload
    explanation = blocked_reason(tuple(cycle.cell.partitioning.blocking))
    known = workload.explanation
    if known is None or known.fingerprint != explanation.fingerprint:
        cycle.decide((workload_stream(workload.key), WorkloadExplained(explanation=explanation)))


def blocked_reason(blocking: tuple[str, ...]) -> Explanation:
    """Why what fits does not start: the pods of these are not ready."""
    named = tuple(sorted(blocking))[:MAX_NAMED]
    more = len(blocking) - len(named)
    who = ", ".join(named) + (f" and {more} more" if more else "")
    sentence = f"It fits, and starts once the pods of those admitted before are ready: {who}"
    blocker = Blocker(type="Order", reason="WaitingForPodsReady", message=sentence, held_by=named)
    return Explanation(
        dominant="WaitingForPodsReady",
        sentence=sentence,
        blockers=(blocker,),
        would_unblock=tuple(f"the pods of {name} are ready" for name in named),
    )
