"""The explanation of an evaluation, with the workloads that use the quota it is short of.

Usage within guaranteed quota is of no use to other ClusterQueues, and where a borrowing limit
binds, only usage below it counts (queueing.md §4.1).
"""

from collections.abc import Iterator, Mapping
from heapq import nsmallest

from headgate.domain.scheduling.evaluation.workload_evaluator import Evaluation
from headgate.domain.scheduling.explanation import (
    EvaluationSummary,
    QuotaSupply,
    explain_summary,
)
from headgate.domain.scheduling.partition.partition import Partition
from headgate.domain.scheduling.placement.host_table import ACTUAL
from headgate.domain.scheduling.queueing.pending_entry import preemption_enabled
from headgate.domain.scheduling.quota.usage import limiting_node, potential_without_borrowing_limit
from headgate.domain.scheduling.results import Mode, QuotaResult, VictimSearch
from headgate.domain.values.message import message
from headgate.domain.values.quantities import FlavorResource
from headgate.domain.workloads.explanation import Blocker, Explanation
from headgate.domain.workloads.pods.eviction_units import evicting_pods
from headgate.domain.workloads.predicates import is_evicting
from headgate.domain.workloads.state import Workload

PREEMPTION_NOT_ALLOWED = "PreemptionNotAllowed"
PREEMPTION_DISABLED = message("PreemptionDisabled")
MAX_HOLDERS = 5
"""Blocking workloads that an explanation names."""


def explain_evaluation(
    partition: Partition,
    workloads: Mapping[str, Workload],
    evaluation: Evaluation,
    *,
    with_holders: bool = True,
) -> Explanation:
    """Returns the explanation; without holders no blocking workloads are named."""

    def supply(key: FlavorResource, answer: QuotaResult) -> QuotaSupply:
        if not with_holders:
            return QuotaSupply()
        return quota_supply(partition, workloads, evaluation.cluster_queue, key, answer)

    return explain_summary(_summary(partition, workloads, evaluation), supply)


def _summary(
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
        flavor_attempts=evaluation.flavor_attempts,
        shortfalls=evaluation.shortfalls,
        search=evaluation.search or _not_allowed(partition, evaluation),
        leaving=leaving,
        is_deferred=evaluation.mode == Mode.DEFERRED,
        has_round=own is not None,
        pods=pods,
    )


def _not_allowed(partition: Partition, evaluation: Evaluation) -> VictimSearch | None:
    """The reason why no victims were searched, where the ClusterQueue allows preemption."""
    queue = partition.config.cluster_queues.get(evaluation.cluster_queue)
    if evaluation.workload.spec.can_preempt or queue is None or not preemption_enabled(queue.spec):
        return None
    return VictimSearch(PREEMPTION_DISABLED, kind=PREEMPTION_NOT_ALLOWED)


def unreached_flavors(partition: Partition, evaluation: Evaluation) -> tuple[Blocker, ...]:
    """Returns a blocker for each flavor that was not evaluated since an earlier one fits."""
    return tuple(
        Blocker(
            type="Quota",
            reason="NotReached",
            message=message("FlavorNotTried", last=last),
            pod_set=pod_set,
            flavor=name,
        )
        for pod_set, number, last in _ends_of_search(partition, evaluation)
        for name in _flavors_of(partition, evaluation, number)
        if name not in _evaluated_flavors(evaluation, pod_set, number) and name != last
    )


def _ends_of_search(
    partition: Partition, evaluation: Evaluation
) -> tuple[tuple[str, int, str], ...]:
    """The last flavor evaluated, or nominated, by pod set and resource group."""
    last = {
        (each.pod_set, each.group): each.flavor
        for each in evaluation.flavor_attempts
        if each.flavor
    }
    if not evaluation.flavor_attempts and evaluation.admission is not None:
        for given in evaluation.admission.pod_set_assignments:
            for flavor in given.flavors.values():
                for number in range(len(partition.specs[evaluation.cluster_queue].resource_groups)):
                    if flavor in _flavors_of(partition, evaluation, number):
                        last[given.name, number] = flavor
    return tuple((pod_set, number, flavor) for (pod_set, number), flavor in last.items())


def _flavors_of(partition: Partition, evaluation: Evaluation, number: int) -> tuple[str, ...]:
    groups = partition.specs[evaluation.cluster_queue].resource_groups
    return tuple(flavor.name for flavor in groups[number].flavors)


def _evaluated_flavors(evaluation: Evaluation, pod_set: str, number: int) -> list[str]:
    return [
        t.flavor for t in evaluation.flavor_attempts if (t.pod_set, t.group) == (pod_set, number)
    ]


def quota_supply(
    partition: Partition,
    workloads: Mapping[str, Workload],
    cluster_queue: str,
    key: FlavorResource,
    answer: QuotaResult,
) -> QuotaSupply:
    """Returns where a ClusterQueue could get more of a flavor's resource than the result says."""
    if answer.reason == "ExceedsMaxQuota":
        node = f"clusterqueue/{cluster_queue}"
        return QuotaSupply(
            max_without_borrowing_limit=potential_without_borrowing_limit(partition.tree, node, key)
        )
    if answer.is_non_preemptible or answer.is_withheld:
        return QuotaSupply(
            _own_holders(
                partition,
                workloads,
                cluster_queue,
                key,
                non_preemptible=answer.is_non_preemptible,
            )
        )
    return QuotaSupply(top_holders(partition, cluster_queue, key))


def top_holders(partition: Partition, cluster_queue: str, key: FlavorResource) -> tuple[str, ...]:
    """Returns the workloads with the highest usage that this ClusterQueue could use if released.

    Cached for all pending workloads of a tree until a charge changes. Where a node has a lending
    limit, the result depends on all usage, also on capacity reserved in a cycle, and is not cached.
    """
    tree, node = partition.tree, f"clusterqueue/{cluster_queue}"
    limit = limiting_node(tree, partition.usage[ACTUAL], node, key)
    if any(kept.get(key) for kept in tree.local_quota.values()):
        return _highest(_releasable(partition, node, limit, key))
    known = partition.charges.known_holders.get((limit, key))
    if known is None:
        known = partition.charges.known_holders[limit, key] = _highest(
            _releasable(partition, node, limit, key)
        )
    return known


def _releasable(
    partition: Partition, node: str, limit: str, key: FlavorResource
) -> Iterator[tuple[int, str]]:
    """The workloads below the limiting node, with the usage that the node could use if released."""
    for name in partition.cluster_queues:
        limit_amount = _usable_above(partition, f"clusterqueue/{name}", (node, limit), key)
        if limit_amount <= 0:
            continue
        for workload_key, charge in partition.charges.holding[name].items():
            if amount := min(limit_amount, charge.amounts.get(key, 0)):
                yield -amount, workload_key


def _usable_above(
    partition: Partition, other: str, between: tuple[str, str], key: FlavorResource
) -> int:
    """How much of a ClusterQueue's usage another one could use if released."""
    tree, used = partition.tree, partition.usage[ACTUAL]
    node, limit = between
    reach = tree.path[node][: tree.path[node].index(limit) + 1]
    usable = used[other].get(key, 0)
    for step in tree.path[other]:
        if step in reach:
            return usable
        usable = min(usable, used[step].get(key, 0) - tree.local_quota[step].get(key, 0))
    return 0


def _own_holders(
    partition: Partition,
    workloads: Mapping[str, Workload],
    cluster_queue: str,
    key: FlavorResource,
    *,
    non_preemptible: bool,
) -> tuple[str, ...]:
    """The own ClusterQueue's workloads with the highest usage, non-preemptible or preemptible."""
    return _highest(
        (-charge.amounts[key], name)
        for name, charge in partition.charges.holding[cluster_queue].items()
        if charge.amounts.get(key)
        and (workloads[name].spec.preemptibility != "Preemptible") is non_preemptible
    )


def _highest(held: Iterator[tuple[int, str]]) -> tuple[str, ...]:
    return tuple(name for _, name in nsmallest(MAX_HOLDERS, held))
