"""Bringing an evaluation and the state it was made on to the words of an explanation."""

from collections.abc import Mapping

from headgate.domain.scheduling.evaluation.blocking_workloads import quota_supply
from headgate.domain.scheduling.evaluation.workload_evaluator import Evaluation
from headgate.domain.scheduling.explanation.explain import (
    EvaluationSummary,
    QuotaSupply,
    explain_summary,
)
from headgate.domain.scheduling.partition.partition import Partition
from headgate.domain.scheduling.queueing.pending_entry import preemption_enabled
from headgate.domain.scheduling.results import Mode, QuotaResult, VictimSearch
from headgate.domain.values.quantities import FlavorResource
from headgate.domain.workloads.explanation import Blocker, Explanation
from headgate.domain.workloads.predicates import is_evicting
from headgate.domain.workloads.state import Workload
from headgate.domain.workloads.transitions.partial_eviction import evicting_pods

PREEMPTION_NOT_ALLOWED = "PreemptionNotAllowed"


def explain_evaluation(
    partition: Partition,
    workloads: Mapping[str, Workload],
    evaluation: Evaluation,
    *,
    with_holders: bool = True,
) -> Explanation:
    """What a look found, for people; naming holders is left out where only the reasons matter."""

    def supply(key: FlavorResource, answer: QuotaResult) -> QuotaSupply:
        if not with_holders:
            return QuotaSupply()
        return quota_supply(partition, workloads, evaluation.cluster_queue, key, answer)

    return explain_summary(_finding(partition, workloads, evaluation), supply)


def _finding(
    partition: Partition, workloads: Mapping[str, Workload], evaluation: Evaluation
) -> EvaluationSummary:
    workload = evaluation.workload
    own = partition.rounds.get(workload.round_id) if workload.round_id else None
    leaving: tuple[str, ...] = ()
    pods: dict[str, int] = {}
    if own is not None:
        going = [victim for victim in own.victims if victim.workload not in own.released]
        leaving = tuple(victim.workload for victim in going)
        pods = {victim.workload: victim.pods for victim in going if victim.shrinks_to}
    elif evaluation.mode == Mode.DEFERRED:
        held = (key for name in partition.cluster_queues for key in partition.charges.holding[name])
        known = [workloads[key] for key in sorted(held)]
        leaving = tuple(each.key for each in known if is_evicting(each) or each.pod_evictions)
        pods = {
            each.key: sum(evicting_pods(each.pod_evictions).values())
            for each in known
            if each.pod_evictions and not is_evicting(each)
        }
    return EvaluationSummary(
        cluster_queue=evaluation.cluster_queue,
        tries=evaluation.tries,
        unplaced=evaluation.unplaced,
        search=evaluation.search or _not_allowed(partition, evaluation),
        leaving=leaving,
        is_deferred=evaluation.mode == Mode.DEFERRED,
        has_round=own is not None,
        pods=pods,
    )


def _not_allowed(partition: Partition, evaluation: Evaluation) -> VictimSearch | None:
    """Why nobody was looked for who could make room, where its queue would have let it."""
    queue = partition.config.cluster_queues.get(evaluation.cluster_queue)
    if evaluation.workload.spec.can_preempt or queue is None or not preemption_enabled(queue.spec):
        return None
    return VictimSearch(
        "it may not preempt others, as it, its class or its pods say", kind=PREEMPTION_NOT_ALLOWED
    )


def unreached_flavors(partition: Partition, evaluation: Evaluation) -> tuple[Blocker, ...]:
    """The flavors that could serve it and were not looked at, and why: an earlier one will do."""
    return tuple(
        Blocker(
            type="Quota",
            reason="NotReached",
            message=f"Flavor {name} was not looked at: the search ended at flavor {last}",
            pod_set=pod_set,
            flavor=name,
        )
        for pod_set, number, last in _ends_of_search(partition, evaluation)
        for name in _flavors_of(partition, evaluation, number)
        if name not in _looked_at(evaluation, pod_set, number) and name != last
    )


def _ends_of_search(
    partition: Partition, evaluation: Evaluation
) -> tuple[tuple[str, int, str], ...]:
    """By pod set and resource group, the last flavor that was looked at, or that is kept for it."""
    last = {(each.pod_set, each.group): each.flavor for each in evaluation.tries if each.flavor}
    if not evaluation.tries and evaluation.admission is not None:
        for given in evaluation.admission.pod_set_assignments:
            for flavor in given.flavors.values():
                for number in range(len(partition.specs[evaluation.cluster_queue].resource_groups)):
                    if flavor in _flavors_of(partition, evaluation, number):
                        last[given.name, number] = flavor
    return tuple((pod_set, number, flavor) for (pod_set, number), flavor in last.items())


def _flavors_of(partition: Partition, evaluation: Evaluation, number: int) -> tuple[str, ...]:
    groups = partition.specs[evaluation.cluster_queue].resource_groups
    return tuple(flavor.name for flavor in groups[number].flavors)


def _looked_at(evaluation: Evaluation, pod_set: str, number: int) -> list[str]:
    return [t.flavor for t in evaluation.tries if (t.pod_set, t.group) == (pod_set, number)]
