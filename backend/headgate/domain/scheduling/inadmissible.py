"""Who waits in vain: a look at him changes nothing for anyone, himself included (ADR 0017).

He has been told why he waits, and nothing more came of this look. So it must not matter whether a
worker looked or remembered from an earlier look that there was no need to.
"""

from headgate.domain.scheduling.block_admission import is_admission_blocked
from headgate.domain.scheduling.cycle_context import CycleContext
from headgate.domain.scheduling.evaluation.evaluate import Evaluation
from headgate.domain.scheduling.results import Mode
from headgate.domain.scheduling.rounds.rate_limits import next_round_at
from headgate.domain.workloads.predicates import closed_preemption_gates
from headgate.domain.workloads.state import is_condition_true


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
