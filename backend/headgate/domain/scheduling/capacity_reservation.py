"""Room kept for the rest of a cycle by those who could not start in their turn (trap T18).

Otherwise smaller ones of other ClusterQueues would take it before them in the same cycle. Kept are
only numbers: nothing is decided, and all of it is free again when the cycle ends. Who waits in vain
takes no turn and keeps nothing (`in_vain.py`).
"""

from headgate.domain.scheduling.cycle_context import CycleContext
from headgate.domain.scheduling.evaluation.evaluate import Evaluation
from headgate.domain.scheduling.partition.charges import Charge
from headgate.domain.scheduling.partition.partition import Partition
from headgate.domain.scheduling.placement.host_table import ACTUAL, PROJECTED
from headgate.domain.scheduling.quota.tree import FlavorResourceQuantities
from headgate.domain.scheduling.results import Mode
from headgate.domain.values.quantities import FlavorResource


def reserve_capacity(cycle: CycleContext, evaluation: Evaluation) -> None:
    """What the one just looked at keeps until the cycle ends.

    One that waits for others to leave keeps its whole place in the projected view. One for whom
    nobody may be made to leave keeps quota and hosts, unless its ClusterQueue can take them back
    from anyone at any time (`reclaimWithinCohort: Any`).
    """
    workload = evaluation.workload
    if evaluation.mode == Mode.DEFERRED and workload.nomination is None:
        assert evaluation.admission is not None, "what will fit has a place"
        charge = cycle.partition.charges.charge_of(workload, evaluation.admission)
        _reserve(cycle, (PROJECTED,), charge)
    elif evaluation.wanted is not None and _needs_reservation(cycle, evaluation):
        wanted = cycle.partition.charges.charge_of(workload, evaluation.wanted)
        amounts = quota_to_reserve(cycle.partition, evaluation, wanted.amounts)
        kept = Charge(evaluation.cluster_queue, amounts, wanted.pods, wanted.is_whole)
        _reserve(cycle, (ACTUAL, PROJECTED), kept)


def quota_to_reserve(
    partition: Partition, evaluation: Evaluation, wanted: FlavorResourceQuantities
) -> FlavorResourceQuantities:
    """As much of what it wants as its ClusterQueue could still have.

    Up to the nominal quota, or up to the borrowing limit if it would borrow (queueing.md §3.10).
    """
    node = f"clusterqueue/{evaluation.cluster_queue}"
    used = partition.usage[ACTUAL][node]
    kept: FlavorResourceQuantities = {}
    for key, amount in sorted(wanted.items()):
        most = _usage_limit(partition, node, key, evaluation.level)
        kept[key] = amount if most is None else max(0, min(amount, most - used.get(key, 0)))
    return kept


def release_reservations(cycle: CycleContext) -> None:
    """The end of the cycle: nothing is kept any more."""
    while cycle.reservations:
        partition, view, charge = cycle.reservations.pop()
        partition.charges.give_back(view, charge)


def _needs_reservation(cycle: CycleContext, evaluation: Evaluation) -> bool:
    spec = cycle.cell.config.cluster_queues[evaluation.cluster_queue].spec
    return spec.preemption.reclaim_within_cohort != "Any"


def _usage_limit(partition: Partition, node: str, key: FlavorResource, level: int) -> int | None:
    nominal = partition.tree.nominal(node, key)
    if not level:
        return nominal
    limit = partition.tree.borrowing_limit(node, key)
    return None if limit is None else nominal + limit


def _reserve(cycle: CycleContext, views: tuple[int, ...], charge: Charge) -> None:
    for view in views:
        cycle.partition.charges.take(view, charge)
        cycle.reservations.append((cycle.partition, view, charge))
