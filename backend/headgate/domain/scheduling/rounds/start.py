"""Starts a preemption round from a complete plan: placement, victims and the figures of the moment.

Planning evicts no workload; commit, nomination and evictions are one decision (preemption.md §6.8;
Kueue: `preemptor.IssuePreemptions`). A closed preemption gate or the preemption rate of the
ClusterQueue delays the round (§6.2).
"""

from collections.abc import Iterable

from msgspec import structs
from msgspec.structs import replace

from headgate.domain.cluster_state import ClusterState
from headgate.domain.kinds.configured_object import Absent
from headgate.domain.kinds.queue_settings import PreemptionRate, SoftEviction
from headgate.domain.object_set import ObjectSet
from headgate.domain.recorded_event import round_stream, workload_stream
from headgate.domain.rounds.decide import CommitRound, SupersedeRound, decide
from headgate.domain.rounds.state import QuotaFigures, RoundVictim
from headgate.domain.scheduling.cycle_context import CycleContext, StreamEvents
from headgate.domain.scheduling.evaluation.evaluation_summary import explain_evaluation
from headgate.domain.scheduling.evaluation.workload_evaluator import Evaluation
from headgate.domain.scheduling.placement.host_table import ACTUAL
from headgate.domain.scheduling.preemption.disruption_budgets import (
    by_protection,
    removal_of,
    violated_budgets,
)
from headgate.domain.scheduling.preemption.request import Victim
from headgate.domain.scheduling.quota.usage import available
from headgate.domain.scheduling.results import Mode, VictimSearch
from headgate.domain.scheduling.rounds.progress import invalidate_taken, supersede_rounds
from headgate.domain.values.index_ranges import IndexRanges, ranges_of
from headgate.domain.values.instants import (
    MICROSECONDS_PER_SECOND,
    Instant,
    seconds_after,
    whole_seconds,
)
from headgate.domain.values.message import Message, message, workload_reference
from headgate.domain.values.quantities import FlavorResource
from headgate.domain.workloads.admission import Admission
from headgate.domain.workloads.events import PlacementNominated, WorkloadEvicted, WorkloadStopped
from headgate.domain.workloads.explanation import Blocker, Explanation, ProtectedCandidate
from headgate.domain.workloads.pods.eviction_units import (
    EvictionUnit,
    remaining_counts,
    shrunk_event,
)
from headgate.domain.workloads.predicates import closed_preemption_gates
from headgate.domain.workloads.preemption_events import (
    PreemptionWithheld,
    PreemptorReference,
    SoftTerms,
    WorkloadPodsEvicted,
)
from headgate.domain.workloads.protection import protection_of
from headgate.domain.workloads.specs import EvictionPolicy
from headgate.domain.workloads.state import Workload, condition, is_admitted, is_condition_true
from headgate.domain.workloads.transitions.eviction import preemptor_reference
from headgate.domain.workloads.transitions.preemption import apply_pods_evicted


def start_round(cycle: CycleContext, evaluation: Evaluation) -> None:
    """Commit a complete plan, unless a gate is closed or the ClusterQueue has used up its rate."""
    gates = closed_preemption_gates(evaluation.workload)
    if gates:
        _withhold(cycle, evaluation, gates)
        return
    later = next_round_at(cycle, evaluation.cluster_queue)
    if later is not None:
        cycle.partition.rate_limited_queues[evaluation.cluster_queue] = later
        cycle.record_reason(evaluation.workload, _rate_limited(cycle, evaluation))
        return
    cycle.decide(*_round(cycle, evaluation))
    invalidate_taken(cycle, evaluation.overridden_rounds, evaluation.workload.key)


def _round(cycle: CycleContext, evaluation: Evaluation) -> StreamEvents:
    workload, admission = evaluation.workload, evaluation.admission
    assert admission is not None, "a plan has a placement"
    round_id = cycle.new_id()
    stream_events: StreamEvents = supersede_rounds(
        cycle, workload, SupersedeRound(by_round=round_id)
    )
    commit = _commit_round(cycle, evaluation, admission, round_id)
    stream_events += [
        (round_stream(round_id), event) for event in decide(Absent(), commit, cycle.at)
    ]
    nominated = PlacementNominated(round_id=round_id, admission=admission)
    stream_events.append((workload_stream(workload.key), nominated))
    for victim in evaluation.victims:
        stream_events += _victim_eviction(cycle, evaluation, victim, round_id)
    return stream_events


def _victim_eviction(
    cycle: CycleContext, evaluation: Evaluation, victim: Victim, round_id: str
) -> StreamEvents:
    """The eviction of a victim, or of the pods that it gives up."""
    config, workload, eviction_unit = (
        cycle.cluster_state.config,
        victim.workload,
        victim.candidate.eviction_unit,
    )
    preemptor = evaluation.workload
    why = message(
        "PreemptedBy",
        preemptor=workload_reference(preemptor.key),
        priority=preemptor.spec.priority,
    )
    if eviction_unit is None:
        asked = WorkloadEvicted(
            eviction=round_id,
            reason="Preempted",
            underlying_cause=victim.reason,
            message=why,
            accommodates=_preemptor_reference(cycle, evaluation, victim),
        )
        return eviction_of(config, workload, asked, cycle.at)
    some = WorkloadPodsEvicted(
        eviction=round_id,
        underlying_cause=victim.reason,
        message=why,
        pods=eviction_unit.pods,
        counts=remaining_counts(workload, eviction_unit.pods),
        indices=_named_pods(eviction_unit),
    )
    return pods_eviction_of(config, workload, some, cycle.at)


def _named_pods(eviction_unit: EvictionUnit) -> dict[str, IndexRanges]:
    return {name: ranges_of(found) for name, found in eviction_unit.indices.items()}


def _preemptor_reference(
    cycle: CycleContext, evaluation: Evaluation, victim: Victim
) -> PreemptorReference:
    tree, admission = cycle.partition.tree, victim.workload.admission
    assert admission is not None, "a victim has an admission"
    return preemptor_reference(
        evaluation.workload,
        tree.written_path(evaluation.cluster_queue),
        tree.written_path(admission.cluster_queue),
    )


def _withhold(cycle: CycleContext, evaluation: Evaluation, gates: tuple[str, ...]) -> None:
    """Record which preemption gates are closed (Kueue: `BlockedOnPreemptionGates`)."""
    workload = evaluation.workload
    if not is_condition_true(workload, "BlockedOnPreemptionGates"):
        cycle.decide((workload_stream(workload.key), PreemptionWithheld(gates=gates)))
    reason = message("PreemptionGatesClosed", gates=gates)
    explanation = _preemption_gated(_unstarted(cycle, evaluation, reason), reason)
    cycle.record_reason(evaluation.workload, explanation)


def _preemption_gated(found: Explanation, reason: Message) -> Explanation:
    """The pending reason of a workload that a closed preemption gate blocks (AdmissionGated)."""
    return structs.replace(found, dominant="AdmissionGated", message=reason)


def _rate_limited(cycle: CycleContext, evaluation: Evaluation) -> Explanation:
    """The pending reason of a workload that could preempt but for the rate of its ClusterQueue."""
    told = rate_limited_reason(cycle.cluster_state, evaluation.cluster_queue)
    found = _unstarted(cycle, evaluation, None)
    return structs.replace(told, blockers=(*told.blockers, *found.blockers))


def _unstarted(cycle: CycleContext, evaluation: Evaluation, reason: Message | None) -> Explanation:
    """The explanation of an evaluation if its victims are not evicted."""
    search = evaluation.search or VictimSearch(None)
    blocked = structs.replace(
        evaluation, mode=Mode.NO_FIT, victims=(), search=structs.replace(search, reason=reason)
    )
    return explain_evaluation(cycle.partition, cycle.cluster_state.workloads, blocked)


def _commit_round(
    cycle: CycleContext, evaluation: Evaluation, admission: Admission, round_id: str
) -> CommitRound:
    search = evaluation.search
    rules = cycle.cluster_state.config.configuration.preemption
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
        basis_position=cycle.cluster_state.base_position,
        ttl_seconds=rules.round_ttl_seconds,
    )


def _victims(cycle: CycleContext, chosen: Iterable[Victim]) -> tuple[RoundVictim, ...]:
    """The victims with the budgets that each violates, the most protected first (trap P11)."""
    victims = tuple(chosen)
    standings = cycle.partition.budgets.statuses()
    ranked = by_protection(victims)
    broken = violated_budgets(standings, [removal_of(victim.candidate) for victim in ranked])
    by_key = {v.workload.key: names for v, names in zip(ranked, broken, strict=True)}
    return tuple(_victim(cycle, victim, by_key[victim.workload.key]) for victim in victims)


def _victim(cycle: CycleContext, chosen: Victim, violates: tuple[str, ...]) -> RoundVictim:
    victim = chosen.workload
    assert victim.admission is not None, "a victim has an admission"
    eviction_unit = chosen.candidate.eviction_unit
    freed = (
        cycle.partition.charges.held_by(victim).amounts
        if eviction_unit is None
        else chosen.candidate.amounts
    )
    admitted = condition(victim, "Admitted")
    running = cycle.at - admitted.last_transition_at if admitted and admitted.status else 0
    terms = soft_terms(cycle.cluster_state.config, victim, cycle.at)
    return RoundVictim(
        workload=victim.key,
        cluster_queue=victim.admission.cluster_queue,
        cohort=_cohort(cycle, victim.admission.cluster_queue),
        reason=chosen.reason,
        priority=victim.spec.priority,
        protection=protection_of(victim.spec),
        pods=chosen.candidate.pods,
        shrinks_to={} if eviction_unit is None else remaining_counts(victim, eviction_unit.pods),
        indices={} if eviction_unit is None else _named_pods(eviction_unit),
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
    """Quota as it was for the ClusterQueues of preemptor and victims, in requested resources."""
    partition = cycle.partition
    wanted = partition.charges.charge_of(evaluation.workload, admission).amounts
    queues = [evaluation.cluster_queue]
    for victim in evaluation.victims:
        assert victim.workload.admission is not None, "a victim has an admission"
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
    queue = cycle.cluster_state.config.cluster_queues.get(cluster_queue)
    return queue.spec.cohort_name if queue else ""


RATE_LIMITED = "PreemptionRateLimited"


MINUTE = 60 * MICROSECONDS_PER_SECOND


def next_round_at(cycle: CycleContext, cluster_queue: str) -> Instant | None:
    """The instant of the next round that a ClusterQueue may start; None for now."""
    return rate_limited_until(cycle.cluster_state, cluster_queue, cycle.at)


def rate_limited_until(cluster_state: ClusterState, queue: str, at: Instant) -> Instant | None:
    """The instant until which the preemption rate delays a round of the ClusterQueue, if any."""
    rate = cluster_state.config.cluster_queues[queue].spec.preemption.rate_limit
    if rate is None:
        return None
    started = sorted(
        r.committed_at for r in cluster_state.rounds.values() if r.cluster_queue == queue
    )
    free_at = next_token_at(rate, started)
    return free_at if free_at > at else None


def rate_limited_reason(cluster_state: ClusterState, cluster_queue: str) -> Explanation:
    """The pending reason of workloads in a ClusterQueue that has used up its preemption rate."""
    rate = cluster_state.config.cluster_queues[cluster_queue].spec.preemption.rate_limit
    assert rate is not None, "only a rate limit delays rounds"
    limited = message(
        RATE_LIMITED, cluster_queue=cluster_queue, rounds=rate.per_minute, burst=rate.burst
    )
    return Explanation(
        dominant=RATE_LIMITED,
        blockers=(Blocker(type="Preemption", reason=RATE_LIMITED, message=limited),),
    )


def next_token_at(rate: PreemptionRate, started: list[Instant]) -> Instant:
    """The instant of the next token from a bucket of `burst`, refilled `per_minute` a minute.

    It is computed from the instant at which the bucket would be full, so that no fractions are
    kept.
    """
    each = MINUTE // rate.per_minute
    full_at = 0
    for at in started:
        full_at = max(full_at, at) + each
    return full_at - each * rate.burst + each if started else 0


def requeue_after_rate_limit(cycle: CycleContext) -> None:
    """Requeue the workloads of ClusterQueues that may start a round again."""
    waits = cycle.partition.rate_limited_queues
    for queue in [name for name, due in sorted(waits.items()) if due <= cycle.at]:
        del waits[queue]
        cycle.partition.pending[queue].requeue_inadmissible()


def eviction_of(
    config: ObjectSet, victim: Workload, asked: WorkloadEvicted, at: Instant
) -> StreamEvents:
    """Evict a victim, softly if its policy says so; a reservation without admission goes at once.

    A workload that was never admitted has no pods, so that no executor would report them stopped.
    """
    stream = workload_stream(victim.key)
    if not is_admitted(victim):
        return [(stream, asked), (stream, WorkloadStopped(eviction=asked.eviction))]
    terms = soft_terms(config, victim, at)
    return [(stream, replace(asked, soft=terms))]


def pods_eviction_of(
    config: ObjectSet, victim: Workload, asked: WorkloadPodsEvicted, at: Instant
) -> StreamEvents:
    """Evict some pods of a victim while the rest of it goes on."""
    stream = workload_stream(victim.key)
    if not is_admitted(victim):
        after = apply_pods_evicted(victim, asked, at)
        return [(stream, asked), (stream, shrunk_event(after, after.pod_evictions[-1]))]
    return [(stream, replace(asked, soft=soft_terms(config, victim, at)))]


def soft_terms(config: ObjectSet, victim: Workload, at: Instant) -> SoftTerms | None:
    """The grace period of a victim by its own policy, its queue's or the installation's.

    It is at most the queue's maximum.

    None for an Immediate eviction and for a reservation without an admission.
    """
    assert victim.admission is not None, "a victim has an admission"
    queue = config.cluster_queues.get(victim.admission.cluster_queue)
    rules = queue.spec.preemption.soft_eviction if queue else SoftEviction()
    mode = rules.default or config.configuration.preemption.soft_eviction
    policy = victim.spec.eviction_policy or EvictionPolicy(mode=mode)
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
