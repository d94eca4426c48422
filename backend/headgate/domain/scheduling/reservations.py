"""Capacity that entries of a cycle reserve until its end.

Kueue: `reserveCapacityForUnreclaimablePreempt`.
"""

from headgate.domain.scheduling.cycle_context import CycleContext
from headgate.domain.scheduling.evaluation.workload_evaluator import Evaluation
from headgate.domain.scheduling.partition.charges import Charge
from headgate.domain.scheduling.partition.partition import Partition
from headgate.domain.scheduling.placement.host_table import ACTUAL, PROJECTED
from headgate.domain.scheduling.quota.tree import FlavorResourceQuantities
from headgate.domain.scheduling.results import Mode
from headgate.domain.values.quantities import FlavorResource


def reserve_capacity(cycle: CycleContext, evaluation: Evaluation) -> None:
    """Reserve until the end of the cycle what an entry could not get in its turn.

    An entry that waits for evictions reserves its whole placement in the projected view. An entry
    without candidates reserves quota and hosts, unless its ClusterQueue can reclaim them from any
    workload at any time (`reclaimWithinCohort: Any`).
    """
    workload = evaluation.workload
    if evaluation.mode == Mode.DEFERRED and workload.nomination is None:
        assert evaluation.admission is not None, "a deferred entry has an admission"
        charge = cycle.partition.charges.charge_of(workload, evaluation.admission)
        _reserve(cycle, (PROJECTED,), charge)
    elif evaluation.admission_if_empty is not None and _needs_reservation(cycle, evaluation):
        wanted = cycle.partition.charges.charge_of(workload, evaluation.admission_if_empty)
        amounts = quota_to_reserve(cycle.partition, evaluation, wanted.amounts)
        charge = Charge(evaluation.cluster_queue, amounts, wanted.pods, wanted.is_whole)
        _reserve(cycle, (ACTUAL, PROJECTED), charge)


def quota_to_reserve(
    partition: Partition, evaluation: Evaluation, wanted: FlavorResourceQuantities
) -> FlavorResourceQuantities:
    """The requested amounts, limited to what the ClusterQueue could still use.

    The limit is the nominal quota, or the borrowing limit where it would borrow (queueing.md §3.10;
    Kueue: `scheduler.quotaResourcesToReserve`).
    """
    node = f"clusterqueue/{evaluation.cluster_queue}"
    used = partition.usage[ACTUAL][node]
    reserved: FlavorResourceQuantities = {}
    for key, amount in sorted(wanted.items()):
        limit = _usage_limit(partition, node, key, evaluation.borrowing_level)
        reserved[key] = amount if limit is None else max(0, min(amount, limit - used.get(key, 0)))
    return reserved


def release_reservations(cycle: CycleContext) -> None:
    """Release all capacity that was reserved for the rest of the cycle."""
    while cycle.reservations:
        partition, view, charge = cycle.reservations.pop()
        partition.charges.release(view, charge)


def _needs_reservation(cycle: CycleContext, evaluation: Evaluation) -> bool:
    spec = cycle.cluster_state.config.cluster_queues[evaluation.cluster_queue].spec
    return spec.preemption.reclaim_within_cohort != "Any"


def _usage_limit(partition: Partition, node: str, key: FlavorResource, level: int) -> int | None:
    nominal = partition.tree.nominal(node, key)
    if not level:
        return nominal
    limit = partition.tree.borrowing_limit(node, key)
    return None if limit is None else nominal + limit


def _reserve(cycle: CycleContext, views: tuple[int, ...], charge: Charge) -> None:
    for view in views:
        cycle.partition.charges.acquire(view, charge)
        cycle.reservations.append((cycle.partition, view, charge))
