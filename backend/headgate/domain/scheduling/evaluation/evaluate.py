"""What a workload would get now: flavors, places, or the victims it takes to make room."""

from collections.abc import Mapping

from headgate.domain.scheduling.evaluation.capacity_view import charge_fits
from headgate.domain.scheduling.evaluation.partial_admission import largest_fitting
from headgate.domain.scheduling.evaluation.workload_evaluator import (
    NO_FIXED_FLAVORS,
    Evaluation,
    FixedFlavors,
    WorkloadEvaluator,
)
from headgate.domain.scheduling.evaluation.workload_slices import replaced_slice
from headgate.domain.scheduling.partition.charges import Charge
from headgate.domain.scheduling.partition.partition import Partition
from headgate.domain.scheduling.placement.host_table import ACTUAL, PROJECTED
from headgate.domain.scheduling.results import Mode
from headgate.domain.workloads.admission import Admission
from headgate.domain.workloads.pods.trimmed_assignments import needed_pod_sets
from headgate.domain.workloads.specs import PodSet
from headgate.domain.workloads.state import Workload

__all__ = ["Evaluation", "evaluate", "reevaluate", "still_fits"]


def evaluate(
    partition: Partition,
    workloads: Mapping[str, Workload],
    workload: Workload,
    fixed_flavors: FixedFlavors = NO_FIXED_FLAVORS,
) -> Evaluation:
    """Look at one workload; the partition is left exactly as it was.

    `fixed_flavors` are the only flavors it may have, by pod set and resource; empty means any.
    """
    old = replaced_slice(partition, workloads, workload)
    if old is None:
        return _evaluate(partition, workloads, workload, fixed_flavors)
    with partition.charges.without(old):
        return _evaluate(partition, workloads, workload, fixed_flavors)


def _evaluate(
    partition: Partition,
    workloads: Mapping[str, Workload],
    workload: Workload,
    fixed_flavors: FixedFlavors,
) -> Evaluation:
    if workload.nomination is None:
        return _evaluate_any_size(partition, workloads, workload, fixed_flavors)
    own = partition.charges.charge_of(workload, workload.nomination)
    partition.charges.release(PROJECTED, own)
    try:
        look = WorkloadEvaluator(partition, workloads, workload, _needed(workload))
        return _evaluate_nominated(look, own, workload.nomination)
    finally:
        partition.charges.take(PROJECTED, own)


def reevaluate(
    partition: Partition, workloads: Mapping[str, Workload], evaluation: Evaluation
) -> Evaluation:
    """Another look after others were served in the same cycle.

    Who was going to make others leave keeps to the flavors it had found: in another one it would
    make more leave, before those it counted on have given anything (queueing.md §3.10).
    """
    fixed_flavors: dict[tuple[str, str], str] = {}
    if evaluation.mode == Mode.PREEMPT and evaluation.admission is not None:
        for given in evaluation.admission.pod_set_assignments:
            fixed_flavors.update({(given.name, name): f for name, f in given.flavors.items()})
    return evaluate(partition, workloads, evaluation.workload, fixed_flavors)


def still_fits(
    partition: Partition, workloads: Mapping[str, Workload], evaluation: Evaluation
) -> bool:
    """Whether an admission found earlier in the same cycle can still be had."""
    assert evaluation.admission is not None, "only what fitted can be checked again"
    charge = partition.charges.charge_of(evaluation.workload, evaluation.admission)
    old = replaced_slice(partition, workloads, evaluation.workload)
    if old is None:
        return charge_fits(partition, charge, (ACTUAL, PROJECTED))
    with partition.charges.without(old):
        return charge_fits(partition, charge, (ACTUAL, PROJECTED))


def _evaluate_any_size(
    partition: Partition,
    workloads: Mapping[str, Workload],
    workload: Workload,
    fixed_flavors: FixedFlavors,
) -> Evaluation:
    """All pods, or else the most that fit or find victims; more pods go before fewer victims."""

    def look(pod_sets: tuple[PodSet, ...]) -> Evaluation:
        return WorkloadEvaluator(partition, workloads, workload, pod_sets).evaluate(
            fixed_flavors=fixed_flavors
        )

    pod_sets = _needed(workload)
    full = look(pod_sets)
    if full.mode != Mode.NO_FIT:
        return full
    return largest_fitting(pod_sets, look, lambda found: found.mode != Mode.NO_FIT) or full


def _needed(workload: Workload) -> tuple[PodSet, ...]:
    return needed_pod_sets(workload.spec.pod_sets, workload.reclaimable)


def _evaluate_nominated(look: WorkloadEvaluator, own: Charge, nomination: Admission) -> Evaluation:
    """Its own round's place first, then any other; while the round is open it plans no second."""
    if charge_fits(look.partition, own, (ACTUAL, PROJECTED)):
        return look.found(Mode.FIT, nomination)
    elsewhere = look.evaluate(may_preempt=False)
    if elsewhere.mode == Mode.FIT:
        return elsewhere
    if not charge_fits(look.partition, own, (PROJECTED,)):
        return look.found(Mode.DEFERRED, nomination, lost_nomination=True)
    return look.found(Mode.DEFERRED, nomination)
