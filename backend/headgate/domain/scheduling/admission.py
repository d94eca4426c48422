"""Step 5 of a cycle: what is recorded when a workload starts, makes others leave, or waits."""

from headgate.domain.facts import DomainEvent
from headgate.domain.rounds.events import (
    RoundAborted,
    RoundCommitted,
    RoundCompleted,
    RoundSuperseded,
    RoundVictim,
)
from headgate.domain.scheduling.checks import required_checks
from headgate.domain.scheduling.evaluation import Evaluation
from headgate.domain.scheduling.finding import explain_evaluation
from headgate.domain.scheduling.preemption.claims import Victim
from headgate.domain.scheduling.rounds_progress import end_round
from headgate.domain.scheduling.run import CycleRun
from headgate.domain.streams import round_stream, workload_stream
from headgate.domain.values.instants import MICROSECONDS_PER_SECOND, seconds_after
from headgate.domain.workloads.admission import Admission
from headgate.domain.workloads.events import (
    PlacementNominated,
    WorkloadAdmitted,
    WorkloadEvicted,
    WorkloadExplained,
    WorkloadQuotaReserved,
)
from headgate.domain.workloads.explanation import Blocker, Explanation, Refused
from headgate.domain.workloads.state import Workload, condition
from headgate.domain.workloads.waited import waited_seconds


def admit(run: CycleRun, evaluation: Evaluation) -> None:
    """Reserve quota and place; without checks it is admitted in the same decision."""
    workload, admission = evaluation.workload, evaluation.admission
    assert admission is not None, "what fits has a place"
    stream = workload_stream(workload.key)
    checks = required_checks(run.cell.config, admission)
    events: list[tuple[str, DomainEvent]] = [
        (stream, WorkloadQuotaReserved(admission=admission, checks=checks))
    ]
    if not checks:
        waited = waited_seconds(workload, run.at)
        events.append((stream, WorkloadAdmitted(waited_seconds=waited)))
    events.extend(_end_of_own_round(run, workload, admission))
    run.decide(*events)


def start_round(run: CycleRun, evaluation: Evaluation) -> None:
    """Commit a complete plan: the round, the nomination and every eviction, in one decision."""
    workload, admission = evaluation.workload, evaluation.admission
    assert admission is not None, "a round is for a place"
    round_id = run.new_id()
    message = f"Preempted to make room for {workload.key} (priority {workload.spec.priority})"
    run.decide(
        (round_stream(round_id), _committed(run, evaluation, admission, round_id)),
        (
            workload_stream(workload.key),
            PlacementNominated(round_id=round_id, admission=admission),
        ),
        *(
            (
                workload_stream(victim.workload.key),
                WorkloadEvicted(
                    eviction=round_id,
                    reason="Preempted",
                    underlying_cause=victim.reason,
                    message=message,
                ),
            )
            for victim in evaluation.victims
        ),
    )


def lose_place(run: CycleRun, evaluation: Evaluation) -> None:
    """The place its round kept cannot be had any more: end the round, so that it may plan anew."""
    workload = evaluation.workload
    found = run.partition.rounds.get(workload.round_id or "")
    if found is None:
        wait(run, evaluation)
    else:
        end_round(run, found, RoundAborted(cause="The place can no longer be had"))


def wait(run: CycleRun, evaluation: Evaluation) -> None:
    """Set it apart until something changes, and record why it waits if that is news."""
    workload = evaluation.workload
    cell = run.cell
    reasons = explain_evaluation(run.partition, cell.workloads, evaluation, with_holders=False)
    known = workload.explanation
    if known is None or known.fingerprint != reasons.fingerprint:
        explanation = explain_evaluation(run.partition, cell.workloads, evaluation)
        stream = workload_stream(workload.key)
        run.decide((stream, WorkloadExplained(explanation=explanation)))
    run.partition.pending[evaluation.cluster_queue].park(workload.key)


def pass_over(run: CycleRun, evaluation: Evaluation) -> None:
    """Its room went to those before it in this cycle: say so, and let it have the next one."""
    sentence = f"Its room in ClusterQueue {evaluation.cluster_queue} went to one before it in turn"
    taken = Blocker(type="Quota", reason="WaitingForQuota", message=sentence)
    explanation = Explanation(dominant=taken.reason, sentence=sentence, blockers=(taken,))
    known = evaluation.workload.explanation
    if known is None or known.fingerprint != explanation.fingerprint:
        stream = workload_stream(evaluation.workload.key)
        run.decide((stream, WorkloadExplained(explanation=explanation)))


def _end_of_own_round(
    run: CycleRun, workload: Workload, admission: Admission
) -> list[tuple[str, DomainEvent]]:
    found = run.partition.rounds.get(workload.round_id or "")
    if found is None:
        return []
    stream = round_stream(found.id)
    if admission != found.admission:
        return [(stream, RoundSuperseded())]
    return [(stream, RoundCompleted(waited_seconds=_whole_seconds(run.at - found.committed_at)))]


def _committed(
    run: CycleRun, evaluation: Evaluation, admission: Admission, round_id: str
) -> RoundCommitted:
    search = evaluation.search
    refused = search.refused if search else ()
    return RoundCommitted(
        round_id=round_id,
        preemptor=evaluation.workload.key,
        preemptor_priority=evaluation.workload.spec.priority,
        cluster_queue=evaluation.cluster_queue,
        admission=admission,
        victims=tuple(_victim(run, victim) for victim in evaluation.victims),
        considered=search.considered if search else 0,
        refused=tuple(Refused(workload=name, rule=rule) for name, rule in refused),
        basis_position=run.cell.base_position,
        expires_at=seconds_after(run.at, run.round_ttl_seconds),
    )


def _victim(run: CycleRun, chosen: Victim) -> RoundVictim:
    victim = chosen.workload
    assert victim.admission is not None, "only who holds a place can be a victim"
    charge = run.partition.held_by(victim)
    admitted = condition(victim, "Admitted")
    running = run.at - admitted.last_transition_at if admitted and admitted.status else 0
    return RoundVictim(
        workload=victim.key,
        cluster_queue=victim.admission.cluster_queue,
        reason=chosen.reason,
        priority=victim.spec.priority,
        pods=sum(given.count for given in victim.admission.pod_set_assignments),
        freed={
            f"{flavor}/{resource}": amount
            for (flavor, resource), amount in sorted(charge.amounts.items())
        },
        running_seconds=_whole_seconds(running),
    )


def _whole_seconds(microseconds: int) -> int:
    return max(0, microseconds) // MICROSECONDS_PER_SECOND
