"""One admission cycle of one partition as a function: state and time in, decisions out.

1. Reconcile: transitions that follow from time and state alone (timers, stops, rounds, deletions).
2. Second passes: hosts for quota reservations that have none, or lost some.
3. Heads: the first pending workload of each ClusterQueue that is not inadmissible.
4. Nominate: evaluate each head against the state as it is (flavors, placement, victims).
5. Order: by `order_entries`, classical or by dominant resource share.
6. Process each entry in that order, on the state that the entry before it left: admit it, start a
   round, or record its pending reason.

The decisions follow from the log alone: an evaluation of a workload that remains inadmissible
changes nothing, so that it does not matter which worker made it, when, or whether (ADR 0017).
Kueue: `scheduler.schedule`.
"""

from collections.abc import Callable
from itertools import count

import msgspec

from headgate.domain.cluster_state import ClusterState
from headgate.domain.recorded_event import workload_stream
from headgate.domain.scheduling.admission import (
    admit,
    invalidate_nomination,
    is_admission_blocked,
    record_blocked,
    record_pending,
    record_skipped,
)
from headgate.domain.scheduling.cycle_context import CycleContext, Decision
from headgate.domain.scheduling.evaluation.evaluate import evaluate, reevaluate, still_fits
from headgate.domain.scheduling.evaluation.workload_evaluator import Evaluation
from headgate.domain.scheduling.fair_sharing_orders import local_queue_ranks, order_entries
from headgate.domain.scheduling.partition.charges import Charge
from headgate.domain.scheduling.partition.partition import Partition
from headgate.domain.scheduling.placement.host_table import ACTUAL, PROJECTED
from headgate.domain.scheduling.quota.tree import FlavorResourceQuantities
from headgate.domain.scheduling.quota.usage import QuotaView
from headgate.domain.scheduling.reconcile import (
    executors_to_report,
    next_due,
    reconcile_partition,
)
from headgate.domain.scheduling.regrowth import grow_back
from headgate.domain.scheduling.results import Mode
from headgate.domain.scheduling.rounds.nominations import without_nominated_capacity
from headgate.domain.scheduling.rounds.start import next_round_at, start_round
from headgate.domain.scheduling.second_pass import run_second_passes
from headgate.domain.values.instants import Instant
from headgate.domain.values.message import error_message
from headgate.domain.values.quantities import FlavorResource
from headgate.domain.workloads.predicates import closed_preemption_gates
from headgate.domain.workloads.state import is_condition_true

__all__ = ["Decision", "Plan", "PlannedCycles", "plan_cycle", "plan_cycles"]


class Plan(msgspec.Struct, frozen=True, gc=False):
    """The decisions of one cycle, in order; none means that nothing is to be decided here.

    `next_due` is the next instant at which time alone makes something due. `evaluation_count` is
    the number of evaluations.
    """

    decisions: tuple[Decision, ...]
    next_due: Instant | None
    evaluation_count: int = 0


def plan_cycle(
    cluster_state: ClusterState,
    partition_key: str,
    at: Instant,
    cycle_id: str,
) -> Plan:
    """Decide what is next in a partition at `at`.

    `cluster_state` must have an overlay; the decisions stay assumed in it, so that the next cycle
    can be planned on top of them and all of it is dropped, or kept, with the overlay. Equal state,
    instant and cycle id give an equal plan.
    """
    cycle = CycleContext(cluster_state, partition_key, at, cycle_id)
    reconcile_partition(cycle)
    if not executors_to_report(cluster_state, at):
        _start_pods(cycle)
    return Plan(tuple(cycle.decisions), next_due(cycle), cycle.evaluation_count)


def _start_pods(cycle: CycleContext) -> None:
    """Everything after which pods start: second passes, admissions and pods that grow back."""
    run_second_passes(cycle)
    while evaluations := _nominate(cycle):
        _process_entries(cycle, evaluations)
        if cycle.has_decided:
            break
    if not cycle.has_decided:
        grow_back(cycle)


class PlannedCycles(msgspec.Struct, frozen=True, gc=False):
    """The decisions of several cycles, planned on top of each other at one instant.

    `is_settled` says that the last cycle decided nothing. `evaluation_count` is the number of
    evaluations in all `cycles`.
    """

    decisions: tuple[Decision, ...]
    next_due: Instant | None
    is_settled: bool
    cycles: int
    evaluation_count: int


def plan_cycles(
    cluster_state: ClusterState,
    partition_key: str,
    at: Instant,
    run_id: str,
    is_spent: Callable[[int], bool],
) -> PlannedCycles:
    """Plan cycles until one decides nothing or the budget is spent.

    After each cycle `is_spent` is asked, with the number of decisions so far. What was decided
    stays assumed in the overlay of `cluster_state`. Worker and backtest plan with this function.
    """
    decisions: list[Decision] = []
    evaluation_count = 0
    for number in count():
        plan = plan_cycle(cluster_state, partition_key, at, f"{run_id}.{number}")
        decisions.extend(plan.decisions)
        evaluation_count += plan.evaluation_count
        is_settled = not plan.decisions
        if is_settled or is_spent(len(decisions)):
            made = tuple(decisions)
            return PlannedCycles(made, plan.next_due, is_settled, number + 1, evaluation_count)
    raise AssertionError("counting has no end")


def _process_entries(cycle: CycleContext, evaluations: list[Evaluation]) -> None:
    """Process each entry in order; capacity that entries reserved is released at the end.

    An entry that stays pending is marked inadmissible, unless a later change requeued it already.
    """
    partition = cycle.partition
    inadmissible_requeue_cycle = partition.inadmissible_requeue_cycle
    try:
        for evaluation in order_entries(partition, evaluations):
            as_seen = _process_entry(cycle, evaluation)
            if (
                as_seen
                and cycle.partition is partition
                and partition.inadmissible_requeue_cycle == inadmissible_requeue_cycle
            ):
                partition.pending[evaluation.cluster_queue].mark_inadmissible(
                    evaluation.workload.key
                )
    finally:
        release_reservations(cycle)


def _nominate(cycle: CycleContext) -> list[Evaluation]:
    """Evaluate the first workload of every ClusterQueue that does not remain inadmissible."""
    found = (_nominate_head(cycle, name) for name in cycle.partition.cluster_queues)
    return [evaluation for evaluation in found if evaluation is not None]


def _nominate_head(cycle: CycleContext, cluster_queue: str) -> Evaluation | None:
    ranks = local_queue_ranks(cycle.cluster_state, cluster_queue, cycle.at)
    while (key := cycle.partition.pending[cluster_queue].head(ranks)) is not None:
        evaluation = _evaluate(cycle, key)
        if evaluation is None:
            continue
        if not remains_inadmissible(cycle, evaluation):
            return evaluation
        _record_result(cycle, evaluation)
        cycle.partition.pending[cluster_queue].mark_inadmissible(key)
    return None


def _evaluate(cycle: CycleContext, key: str) -> Evaluation | None:
    partition, workloads = cycle.partition, cycle.cluster_state.workloads
    workload = workloads[key]

    def evaluate_once() -> Evaluation:
        return evaluate(partition, workloads, workload)

    return _evaluate_or_quarantine(
        cycle,
        key,
        lambda: without_nominated_capacity(partition, workloads, workload, evaluate_once),
    )


def _evaluate_or_quarantine(
    cycle: CycleContext, key: str, evaluate_once: Callable[[], Evaluation]
) -> Evaluation | None:
    """The evaluation; a workload is quarantined with the error if its evaluation fails."""
    cycle.evaluation_count += 1
    try:
        return evaluate_once()
    except Exception as error:  # noqa: BLE001 - one poison object must not stop all others
        cycle.cluster_state.quarantine(workload_stream(key), error_message(error))
        return None


def _process_entry(cycle: CycleContext, evaluation: Evaluation) -> bool:
    """Record the result of an entry, evaluated again if earlier entries changed its basis.

    Returns whether the first evaluation still held.
    """
    current = _reevaluate(cycle, evaluation) if _is_out_of_date(cycle, evaluation) else evaluation
    if current is None:
        return False
    if current is not evaluation and _order_changed(cycle, evaluation, current):
        record_skipped(cycle, evaluation)
        return False
    _record_result(cycle, current)
    if current.mode < Mode.PREEMPT or current.mode == Mode.DEFERRED:
        reserve_capacity(cycle, current)
    return current is evaluation


def _record_result(cycle: CycleContext, evaluation: Evaluation) -> None:
    """Admit the workload, start a round for it, or record its pending reason."""
    if evaluation.lost_nomination:
        invalidate_nomination(cycle, evaluation)
    elif evaluation.mode == Mode.PREEMPT:
        start_round(cycle, evaluation)
    elif evaluation.mode != Mode.FIT:
        record_pending(cycle, evaluation)
    elif is_admission_blocked(cycle, evaluation):
        record_blocked(cycle, evaluation)
    else:
        admit(cycle, evaluation)


def _is_out_of_date(cycle: CycleContext, evaluation: Evaluation) -> bool:
    if evaluation.mode == Mode.NO_FIT or not (cycle.has_decided or cycle.reservations):
        return False
    fitted = evaluation.mode == Mode.FIT and evaluation.workload.round_id is None
    return not (fitted and still_fits(cycle.partition, cycle.cluster_state.workloads, evaluation))


def _reevaluate(cycle: CycleContext, evaluation: Evaluation) -> Evaluation | None:
    """Evaluate again beside all open rounds, also those that began in this cycle.

    An evaluation that overrides rounds may override them again.
    """
    key = evaluation.workload.key
    if evaluation.overridden_rounds:
        return _evaluate(cycle, key)
    workloads = cycle.cluster_state.workloads
    return _evaluate_or_quarantine(
        cycle, key, lambda: reevaluate(cycle.partition, workloads, evaluation)
    )


def _order_changed(cycle: CycleContext, before: Evaluation, now: Evaluation) -> bool:
    """Whether quota or victims that an entry counted on went to earlier entries of the cycle."""
    if before.mode == Mode.PREEMPT:
        return now.mode == Mode.NO_FIT
    return (now.mode != Mode.NO_FIT or bool(cycle.reservations)) and _lost_quota(cycle, before)


def _lost_quota(cycle: CycleContext, evaluation: Evaluation) -> bool:
    """Whether the quota of a fitting entry went to earlier entries of the cycle.

    The entry is nominated again in the next cycle and may then get other flavors (queueing.md
    §3.10). Where only its hosts were taken, other hosts for the same quota do at once.
    """
    if evaluation.mode != Mode.FIT or evaluation.workload.round_id is not None:
        return False
    assert evaluation.admission is not None, "a fitting entry has an admission"
    amounts = cycle.partition.charges.charge_of(evaluation.workload, evaluation.admission).amounts
    quota = QuotaView(cycle.partition.tree, *cycle.partition.usage)
    return not quota.fits(f"clusterqueue/{evaluation.cluster_queue}", amounts)


def remains_inadmissible(cycle: CycleContext, evaluation: Evaluation) -> bool:
    """Whether an evaluation changes nothing for a workload with a recorded pending reason.

    Then it must not matter whether a worker evaluated it or remembered from an earlier evaluation
    that there is no need to (ADR 0017). A workload without a recorded reason is processed as an
    entry, which reserves capacity.
    """
    workload = evaluation.workload
    if workload.explanation is None:
        return False
    if evaluation.lost_nomination:
        return workload.round_id not in cycle.partition.rounds
    if evaluation.mode == Mode.FIT:
        return is_admission_blocked(cycle, evaluation)
    if evaluation.mode != Mode.PREEMPT:
        return True
    if closed_preemption_gates(workload):
        return is_condition_true(workload, "BlockedOnPreemptionGates")
    return next_round_at(cycle, evaluation.cluster_queue) is not None


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
