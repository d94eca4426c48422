"""A complete plan becomes a round: the place, the victims and the numbers of that moment.

Reference preemption.md §6.8: planning evicts nobody; everything here is one decision.
"""

import msgspec
from collections.abc import Iterable
from headgate.domain.cell import Cell
from headgate.domain.configured import Absent
from headgate.domain.kinds.queue_preemption import PreemptionRate
from headgate.domain.kinds.queue_preemption import SoftEviction
from headgate.domain.object_set import ObjectSet
from headgate.domain.rounds.commands import CommitRound
from headgate.domain.rounds.commands import SupersedeRound
from headgate.domain.rounds.decide import decide
from headgate.domain.rounds.events import QuotaFigures
from headgate.domain.rounds.events import RoundVictim
from headgate.domain.scheduling.cycle_context import CycleContext
from headgate.domain.scheduling.cycle_context import StreamEvents
from headgate.domain.scheduling.evaluation.evaluation_finding import explain_evaluation
from headgate.domain.scheduling.evaluation.workload_evaluator import Evaluation
from headgate.domain.scheduling.placement.host_table import ACTUAL
from headgate.domain.scheduling.preemption.disruption_budgets import budget_statuses
from headgate.domain.scheduling.preemption.disruption_budgets import by_protection
from headgate.domain.scheduling.preemption.disruption_budgets import removal_of
from headgate.domain.scheduling.preemption.disruption_budgets import violated_budgets
from headgate.domain.scheduling.preemption.request import Victim
from headgate.domain.scheduling.quota.usage import available
from headgate.domain.scheduling.results import Mode
from headgate.domain.scheduling.results import VictimSearch
from headgate.domain.scheduling.rounds.progress import invalidate_taken
from headgate.domain.scheduling.rounds.progress import supersede_rounds
from headgate.domain.streams import round_stream
from headgate.domain.streams import workload_stream
from headgate.domain.values.instants import Instant
from headgate.domain.values.instants import MICROSECONDS_PER_SECOND
from headgate.domain.values.instants import seconds_after
from headgate.domain.values.instants import whole_seconds
from headgate.domain.values.quantities import FlavorResource
from headgate.domain.workloads.admission import Admission
from headgate.domain.workloads.events import PlacementNominated
from headgate.domain.workloads.events import WorkloadEvicted
from headgate.domain.workloads.events import WorkloadExplained
from headgate.domain.workloads.events import WorkloadStopped
from headgate.domain.workloads.explanation import Blocker
from headgate.domain.workloads.explanation import Explanation
from headgate.domain.workloads.explanation import ProtectedCandidate
from headgate.domain.workloads.pods.eviction_units import remaining_counts
from headgate.domain.workloads.predicates import closed_preemption_gates
from headgate.domain.workloads.preemption_events import PreemptionWithheld
from headgate.domain.workloads.preemption_events import PreemptorReference
from headgate.domain.workloads.preemption_events import SoftTerms
from headgate.domain.workloads.preemption_events import WorkloadPodsEvicted
from headgate.domain.workloads.preemption_events import WorkloadShrunk
from headgate.domain.workloads.preemption_message import preemptor_reference
from headgate.domain.workloads.protection import protection_of
from headgate.domain.workloads.specs import EvictionPolicy
from headgate.domain.workloads.state import Workload
from headgate.domain.workloads.state import condition
from headgate.domain.workloads.state import is_admitted
from headgate.domain.workloads.state import is_condition_true
from headgate.domain.workloads.transitions.partial_eviction import evicting_pods
from msgspec import structs
from msgspec.structs import replace


def start_round(cycle: CycleContext, evaluation: Evaluation) -> None:
    """Commit a complete plan, unless a gate is closed or the queue has started rounds enough."""
    gates = closed_preemption_gates(evaluation.workload)
    if gates:
        _withhold(cycle, evaluation, gates)
        return
    later = next_round_at(cycle, evaluation.cluster_queue)
    if later is not None:
        cycle.partition.rate_limited_queues[evaluation.cluster_queue] = later
        _record_reason(cycle, evaluation, _rate_limited(cycle, evaluation))
        return
    cycle.decide(*_round(cycle, evaluation))
    invalidate_taken(cycle, evaluation.overridden_rounds, evaluation.workload.key)


def _round(cycle: CycleContext, evaluation: Evaluation) -> StreamEvents:
    workload, admission = evaluation.workload, evaluation.admission
    assert admission is not None, "a round is for a place"
    round_id = cycle.new_id()
    facts: StreamEvents = supersede_rounds(cycle, workload, SupersedeRound(by_round=round_id))
    commit = _commit_round(cycle, evaluation, admission, round_id)
    facts += [(round_stream(round_id), event) for event in decide(Absent(), commit, cycle.at)]
    nominated = PlacementNominated(round_id=round_id, admission=admission)
    facts.append((workload_stream(workload.key), nominated))
    for victim in evaluation.victims:
        facts += _victim_eviction(cycle, evaluation, victim, round_id)
    return facts


def _victim_eviction(
    cycle: CycleContext, evaluation: Evaluation, victim: Victim, round_id: str
) -> StreamEvents:
    """Asked to go as a whole, or to give up pods."""
    config, workload, part = cycle.cell.config, victim.workload, victim.candidate.part
    preemptor = evaluation.workload
    message = f"Preempted to make room for {preemptor.key} (priority {preemptor.spec.priority})"
    if part is None:
        asked = WorkloadEvicted(
            eviction=round_id,
            reason="Preempted",
            underlying_cause=victim.reason,
            message=message,
            accommodates=_preemptor_reference(cycle, evaluation, victim),
        )
        return eviction_of(config, workload, asked, cycle.at)
    some = WorkloadPodsEvicted(
        eviction=round_id,
        underlying_cause=victim.reason,
        message=message,
        pods=part.pods,
        counts=remaining_counts(workload, part.pods),
    )
    return pods_eviction_of(config, workload, some, cycle.at)


def _preemptor_reference(
    cycle: CycleContext, evaluation: Evaluation, victim: Victim
) -> PreemptorReference:
    tree, admission = cycle.partition.tree, victim.workload.admission
    assert admission is not None, "only who holds a place can be a victim"
    return preemptor_reference(
        evaluation.workload,
        tree.written_path(evaluation.cluster_queue),
        tree.written_path(admission.cluster_queue),
    )


def _withhold(cycle: CycleContext, evaluation: Evaluation, gates: tuple[str, ...]) -> None:
    """Say which gates are closed; nobody is evicted (Kueue's BlockedOnPreemptionGates)."""
    workload = evaluation.workload
    if not is_condition_true(workload, "BlockedOnPreemptionGates"):
        cycle.decide((workload_stream(workload.key), PreemptionWithheld(gates=gates)))
    reason = f"its preemption gates are closed: {', '.join(gates)}"
    _record_reason(
        cycle, evaluation, _preemption_gated(_unstarted(cycle, evaluation, reason), gates)
    )


def _preemption_gated(found: Explanation, gates: tuple[str, ...]) -> Explanation:
    """The gate is what keeps it: room could be made at once (Kueue's AdmissionGated)."""
    closed = ", ".join(gates)
    which = "gate is" if len(gates) == 1 else "gates are"
    return msgspec.structs.replace(
        found,
        dominant="AdmissionGated",
        sentence=f"Room could be made for it, but its preemption {which} closed: {closed}",
        would_unblock=(
            *(f"preemption gate {gate} is opened" for gate in gates),
            *found.would_unblock,
        ),
    )


def _rate_limited(cycle: CycleContext, evaluation: Evaluation) -> Explanation:
    """The rate is what keeps it: room could be made at once."""
    told = rate_limited_reason(cycle.cell, evaluation.cluster_queue)
    found = _unstarted(cycle, evaluation, "")
    return structs.replace(told, blockers=(*told.blockers, *found.blockers))


def _unstarted(cycle: CycleContext, evaluation: Evaluation, reason: str) -> Explanation:
    """Why it waits, when the room that was found for it is not to be made."""
    search = evaluation.search or VictimSearch("")
    blocked = structs.replace(
        evaluation, mode=Mode.NO_FIT, victims=(), search=structs.replace(search, reason=reason)
    )
    return explain_evaluation(cycle.partition, cycle.cell.workloads, blocked)


def _record_reason(cycle: CycleContext, evaluation: Evaluation, explanation: Explanation) -> None:
    workload = evaluation.workload
    known = workload.explanation
    if known is None or known.fingerprint != explanation.fingerprint:
        cycle.decide((workload_stream(workload.key), WorkloadExplained(explanation=explanation)))


def _commit_round(
    cycle: CycleContext, evaluation: Evaluation, admission: Admission, round_id: str
) -> CommitRound:
    search = evaluation.search
    rules = cycle.cell.config.configuration.preemption
    return CommitRound(
        round_id=round_id,
        preemptor=evaluation.workload.key,
        preemptor_priority=evaluation.workload.spec.priority,
        preemptor_generation=evaluation.workload.generation,
        cluster_queue=evaluation.cluster_queue,
        cohort=_cohort(cycle, evaluation.cluster_queue),
        admission=admission,
        victims=_victims(cycle, evaluation.victims),
        considered=search.considered if search else 0,
        refused=tuple(
            ProtectedCandidate(workload=name, rule=rule)
            for name, rule in (search.refused if search else ())
        ),
        figures=_figures(cycle, evaluation, admission),
        epoch=cycle.partition.epoch_of(evaluation.cluster_queue),
        basis_position=cycle.cell.base_position,
        ttl_seconds=rules.round_ttl_seconds,
    )


def _victims(cycle: CycleContext, chosen: Iterable[Victim]) -> tuple[RoundVictim, ...]:
    """Each with the budgets that its going breaks, the most important first (trap T11)."""
    victims = tuple(chosen)
    standings = budget_statuses(cycle.cell.config.disruption_budgets, cycle.cell.workloads.values())
    ranked = by_protection(victims)
    broken = violated_budgets(standings, [removal_of(victim.candidate) for victim in ranked])
    by_key = {v.workload.key: names for v, names in zip(ranked, broken, strict=True)}
    return tuple(_victim(cycle, victim, by_key[victim.workload.key]) for victim in victims)


def _victim(cycle: CycleContext, chosen: Victim, violates: tuple[str, ...]) -> RoundVictim:
    victim = chosen.workload
    assert victim.admission is not None, "only who holds a place can be a victim"
    part = chosen.candidate.part
    freed = (
        cycle.partition.charges.held_by(victim).amounts
        if part is None
        else chosen.candidate.amounts
    )
    admitted = condition(victim, "Admitted")
    running = cycle.at - admitted.last_transition_at if admitted and admitted.status else 0
    terms = soft_terms(cycle.cell.config, victim, cycle.at)
    return RoundVictim(
        workload=victim.key,
        cluster_queue=victim.admission.cluster_queue,
        cohort=_cohort(cycle, victim.admission.cluster_queue),
        reason=chosen.reason,
        priority=victim.spec.priority,
        protection=protection_of(victim.spec),
        pods=chosen.candidate.pods,
        shrinks_to={} if part is None else remaining_counts(victim, part.pods),
        freed={
            f"{flavor}/{resource}": amount for (flavor, resource), amount in sorted(freed.items())
        },
        running_seconds=whole_seconds(running),
        violates=violates,
        mode="Immediate" if terms is None else "Soft",
        deadline_at=terms.deadline_at if terms else None,
    )


def _figures(
    cycle: CycleContext, evaluation: Evaluation, admission: Admission
) -> tuple[QuotaFigures, ...]:
    """Quota as it stood for everyone concerned, in what the preemptor asks for."""
    partition = cycle.partition
    wanted = partition.charges.charge_of(evaluation.workload, admission).amounts
    queues = [evaluation.cluster_queue]
    for victim in evaluation.victims:
        assert victim.workload.admission is not None, "only who holds a place can be a victim"
        queues.append(victim.workload.admission.cluster_queue)
    return tuple(
        _figure(cycle, queue, key, wanted[key] if queue == evaluation.cluster_queue else 0)
        for queue in dict.fromkeys(queues)
        for key in sorted(wanted)
        if f"clusterqueue/{queue}" in partition.tree.path
    )


def _figure(cycle: CycleContext, queue: str, key: FlavorResource, wanted: int) -> QuotaFigures:
    tree, usage = cycle.partition.tree, cycle.partition.usage[ACTUAL]
    node = f"clusterqueue/{queue}"
    return QuotaFigures(
        cluster_queue=queue,
        flavor=key[0],
        resource=key[1],
        nominal=tree.nominal(node, key),
        used=usage[node].get(key, 0),
        wanted=wanted,
        available=available(tree, usage, node, key),
    )


def _cohort(cycle: CycleContext, cluster_queue: str) -> str:
    queue = cycle.cell.config.cluster_queues.get(cluster_queue)
    return queue.spec.cohort_name if queue else ""


RATE_LIMITED = "PreemptionRateLimited"


MINUTE = 60 * MICROSECONDS_PER_SECOND


def next_round_at(cycle: CycleContext, cluster_queue: str) -> Instant | None:
    """When the queue may start its next round; None for now."""
    return rate_limited_until(cycle.cell, cluster_queue, cycle.at)


def rate_limited_until(cell: Cell, cluster_queue: str, at: Instant) -> Instant | None:
    """The same for a state and an instant."""
    rate = cell.config.cluster_queues[cluster_queue].spec.preemption.rate_limit
    if rate is None:
        return None
    started = sorted(
        found.committed_at for found in cell.rounds.values() if found.cluster_queue == cluster_queue
    )
    free_at = next_token_at(rate, started)
    return free_at if free_at > at else None


def rate_limited_reason(cell: Cell, cluster_queue: str) -> Explanation:
    """Why one waits for whom room could be made: its queue has started as many rounds as it may."""
    rate = cell.config.cluster_queues[cluster_queue].spec.preemption.rate_limit
    assert rate is not None, "only a rate holds rounds back"
    rounds = "round of preemption" if rate.per_minute == 1 else "rounds of preemption"
    burst = f", {rate.burst} of them at once" if rate.burst > 1 else ""
    limit = (
        f"ClusterQueue {cluster_queue} starts at most {rate.per_minute} {rounds} a minute{burst}"
    )
    sentence = f"Room could be made for it, but {limit}, and has started as many"
    return Explanation(
        dominant=RATE_LIMITED,
        sentence=sentence,
        blockers=(Blocker(type="Preemption", reason=RATE_LIMITED, message=sentence),),
        would_unblock=("the next round may start", f"a higher rate limit of {cluster_queue}"),
    )


def next_token_at(rate: PreemptionRate, started: list[Instant]) -> Instant:
    """When there is a token for one more round: one every minute / `per_minute`, `burst` at most.

    Counted by when the bucket would be full again, so that no fractions are kept.
    """
    each = MINUTE // rate.per_minute
    full_at = 0
    for at in started:
        full_at = max(full_at, at) + each
    return full_at - each * rate.burst + each if started else 0


def requeue_after_rate_limit(cycle: CycleContext) -> None:
    """Let queues look again whose next round has become due."""
    waits = cycle.partition.rate_limited_queues
    for queue in [name for name, due in sorted(waits.items()) if due <= cycle.at]:
        del waits[queue]
        cycle.partition.pending[queue].unpark()


def eviction_of(
    config: ObjectSet, victim: Workload, asked: WorkloadEvicted, at: Instant
) -> StreamEvents:
    """Asked to go, softly if it has something to save; what only reserved goes at once.

    What was never admitted has no pods, so that nobody would report it stopped.
    """
    stream = workload_stream(victim.key)
    if not is_admitted(victim):
        return [(stream, asked), (stream, WorkloadStopped(eviction=asked.eviction))]
    terms = soft_terms(config, victim, at)
    return [(stream, replace(asked, soft=terms))]


def pods_eviction_of(
    config: ObjectSet, victim: Workload, asked: WorkloadPodsEvicted, at: Instant
) -> StreamEvents:
    """The same for some of its pods, while the rest of it goes on."""
    stream = workload_stream(victim.key)
    if not is_admitted(victim):
        later = {
            name: n for name, n in evicting_pods(victim.pod_evictions).items() if name in asked.pods
        }
        shrunk = WorkloadShrunk(
            eviction=asked.eviction, pods=asked.pods, counts=asked.counts, later=later
        )
        return [(stream, asked), (stream, shrunk)]
    return [(stream, replace(asked, soft=soft_terms(config, victim, at)))]


def soft_terms(config: ObjectSet, victim: Workload, at: Instant) -> SoftTerms | None:
    """The time a victim gets, by its own policy or its queue's, never beyond the queue's longest.

    None means none: an Immediate eviction, or one of who is not admitted.
    """
    assert victim.admission is not None, "only who holds a place is evicted"
    queue = config.cluster_queues.get(victim.admission.cluster_queue)
    rules = queue.spec.preemption.soft_eviction if queue else SoftEviction()
    policy = victim.spec.eviction_policy or EvictionPolicy(mode=rules.default)
    grace = min(policy.grace_period_seconds, rules.max_grace_seconds)
    if policy.mode != "Soft" or not grace or not is_admitted(victim):
        return None
    return SoftTerms(
        deadline_at=seconds_after(at, grace),
        latest_end_at=seconds_after(at, rules.max_grace_seconds),
        grace_seconds=grace,
        require_ack=policy.require_ack,
        handler=policy.handler,
        on_deadline=policy.on_deadline,
    )
