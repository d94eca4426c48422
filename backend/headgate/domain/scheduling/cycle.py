"""One admission cycle of one partition as a function: state and time in, decisions out.

1. Keep house: what follows from time and state alone (timers, stops, rounds, deletions).
2. Second passes: hosts for those who hold quota and have none, or lost some.
3. Heads: the first competitor of each ClusterQueue that does not wait in vain.
4. Nominate: look at each against the state as it is (flavors, places, victims).
5. Order: by the turns of `ordering/turns.py`, classical or by fair shares.
6. Admit, start a round, or record why not, one after the other, each on the state the one before
   it left.

What is decided follows from the log alone: a look at someone who still waits in vain changes
nothing for anyone, so that it does not matter who made it, when, or whether (ADR 0017).
"""

from collections.abc import Callable

import msgspec

from headgate.domain.cell import Cell
from headgate.domain.scheduling.admission import (
    admit,
    invalidate_nomination,
    is_admission_blocked,
    record_blocked,
    record_pending,
    record_skipped,
    start_round,
)
from headgate.domain.scheduling.cycle_context import (
    CycleContext,
    Decision,
    release_reservations,
    reserve_capacity,
)
from headgate.domain.scheduling.drs_ordering import order_entries
from headgate.domain.scheduling.evaluation.evaluate import evaluate, reevaluate, still_fits
from headgate.domain.scheduling.evaluation.workload_evaluator import Evaluation
from headgate.domain.scheduling.local_queue_ranking import local_queue_ranks
from headgate.domain.scheduling.quota.usage import QuotaView
from headgate.domain.scheduling.reconcile import next_due, reconcile_partition
from headgate.domain.scheduling.results import Mode
from headgate.domain.scheduling.rounds.nominations import without_nominated_capacity
from headgate.domain.scheduling.rounds.start import next_round_at
from headgate.domain.scheduling.second_pass import run_second_passes
from headgate.domain.streams import workload_stream
from headgate.domain.values.instants import Instant
from headgate.domain.workloads.predicates import closed_preemption_gates
from headgate.domain.workloads.state import is_condition_true

__all__ = ["Decision", "Plan", "plan_cycle"]


class Plan(msgspec.Struct, frozen=True, gc=False):
    """What a cycle decided, in order; none means that nothing is to be done at this position.

    `next_due` is when time alone will make something due. `evaluation_count` counts evaluations.
    """

    decisions: tuple[Decision, ...]
    next_due: Instant | None
    evaluation_count: int = 0


def plan_cycle(
    cell: Cell,
    partition_key: str,
    at: Instant,
    cycle_id: str,
) -> Plan:
    """Decide what is next in a partition at `at`.

    `cell` must be in a trial; the decisions stay assumed in it, so that the next cycle can be
    planned on top and everything is undone, or kept, with the trial. The same cell, instant and
    cycle id give the same plan.
    """
    assert cell.in_trial, "a cycle is planned inside a trial"
    cycle = CycleContext(cell, partition_key, at, cycle_id)
    reconcile_partition(cycle)
    run_second_passes(cycle)
    while evaluations := _nominate(cycle):
        _process_entries(cycle, evaluations)
        if cycle.has_decided:
            break
    return Plan(tuple(cycle.decisions), next_due(cycle), cycle.evaluation_count)


def _process_entries(cycle: CycleContext, evaluations: list[Evaluation]) -> None:
    """Settle each in its turn; what one keeps from those after it is free again for the next.

    Who still waits is set apart, unless something has changed by then that may matter to him.
    """
    partition, stirs = cycle.partition, cycle.partition.stirs
    try:
        for evaluation in order_entries(cycle.partition, evaluations):
            as_seen = _process_entry(cycle, evaluation)
            if as_seen and cycle.partition is partition and partition.stirs == stirs:
                partition.pending[evaluation.cluster_queue].park(evaluation.workload.key)
    finally:
        release_reservations(cycle)


def _nominate(cycle: CycleContext) -> list[Evaluation]:
    """Look at the first competitor of every queue who does not wait in vain."""
    found = (_nominate_head(cycle, name) for name in cycle.partition.cluster_queues)
    return [evaluation for evaluation in found if evaluation is not None]


def _nominate_head(cycle: CycleContext, cluster_queue: str) -> Evaluation | None:
    ranks = local_queue_ranks(cycle.cell, cluster_queue, cycle.at)
    while (key := cycle.partition.pending[cluster_queue].head(ranks)) is not None:
        evaluation = _evaluate(cycle, key)
        if evaluation is None:
            continue
        if not remains_inadmissible(cycle, evaluation):
            return evaluation
        _record_result(cycle, evaluation)
        cycle.partition.pending[cluster_queue].park(key)
    return None


def _evaluate(cycle: CycleContext, key: str) -> Evaluation | None:
    partition, workloads = cycle.partition, cycle.cell.workloads
    workload = workloads[key]

    def look() -> Evaluation:
        return evaluate(partition, workloads, workload)

    return _evaluate_or_quarantine(
        cycle, key, lambda: without_nominated_capacity(partition, workloads, workload, look)
    )


def _evaluate_or_quarantine(
    cycle: CycleContext, key: str, look: Callable[[], Evaluation]
) -> Evaluation | None:
    """One look; a workload that cannot be judged is put aside with the reason."""
    cycle.evaluation_count += 1
    try:
        return look()
    except Exception as error:  # noqa: BLE001 - one poison object must not stop all others
        cycle.cell.put_aside(workload_stream(key), f"{type(error).__name__}: {error}")
        return None


def _process_entry(cycle: CycleContext, evaluation: Evaluation) -> bool:
    """Decide on one, after another look if those before it have changed what it saw.

    Tells whether what it saw at first still held.
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
    """Admit, start a round, or record why it waits on."""
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
    return not (fitted and still_fits(cycle.partition, cycle.cell.workloads, evaluation))


def _reevaluate(cycle: CycleContext, evaluation: Evaluation) -> Evaluation | None:
    """Beside all rounds, those begun in this cycle too, unless it was to break one before."""
    key = evaluation.workload.key
    if evaluation.overridden_rounds:
        return _evaluate(cycle, key)
    workloads = cycle.cell.workloads
    return _evaluate_or_quarantine(
        cycle, key, lambda: reevaluate(cycle.partition, workloads, evaluation)
    )


def _order_changed(cycle: CycleContext, before: Evaluation, now: Evaluation) -> bool:
    """Whether what it counted on, quota or victims, has gone to those before it in this cycle."""
    if before.mode == Mode.PREEMPT:
        return now.mode == Mode.NO_FIT
    return (now.mode != Mode.NO_FIT or bool(cycle.reservations)) and _lost_quota(cycle, before)


def _lost_quota(cycle: CycleContext, evaluation: Evaluation) -> bool:
    """Whether quota it was found to have has gone to those before it in this cycle.

    It keeps its turn for the next cycle, with its flavors to choose anew against everyone else
    (queueing.md §3.10). If only hosts have gone, other hosts of the same quota will do at once.
    """
    if evaluation.mode != Mode.FIT or evaluation.workload.round_id is not None:
        return False
    assert evaluation.admission is not None, "what fits has a place"
    amounts = cycle.partition.charges.charge_of(evaluation.workload, evaluation.admission).amounts
    quota = QuotaView(cycle.partition.tree, *cycle.partition.usage)
    return not quota.fits(f"clusterqueue/{evaluation.cluster_queue}", amounts)


def remains_inadmissible(cycle: CycleContext, evaluation: Evaluation) -> bool:
    """Whether nothing is to be decided on a workload that knows why it waits.

    One that does not know it yet takes its turn, in which it keeps room from those after it.
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
