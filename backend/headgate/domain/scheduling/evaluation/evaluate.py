"""The evaluation of a workload at its full size, a smaller one, or its nominated capacity.

Partial admission takes the largest number of pods that fits (Kueue: `PodSetReducer`).
"""

from collections.abc import Callable, Mapping
from typing import TypeAlias, TypeVar

from msgspec.structs import replace

from headgate.domain.scheduling.evaluation.workload_evaluator import (
    NO_FIXED_FLAVORS,
    Evaluation,
    FixedFlavors,
    WorkloadEvaluator,
)
from headgate.domain.scheduling.evaluation.workload_slices import replaced_slice
from headgate.domain.scheduling.partition.charges import Charge
from headgate.domain.scheduling.partition.partition import Partition
from headgate.domain.scheduling.placement.host_table import ACTUAL, EMPTY, PROJECTED
from headgate.domain.scheduling.preemption.capacity_view import charge_fits
from headgate.domain.scheduling.results import Mode
from headgate.domain.workloads.admission import Admission, needed_pod_sets
from headgate.domain.workloads.specs import PodSet
from headgate.domain.workloads.state import Workload


def evaluate(
    partition: Partition,
    workloads: Mapping[str, Workload],
    workload: Workload,
    fixed_flavors: FixedFlavors = NO_FIXED_FLAVORS,
) -> Evaluation:
    """Returns how a workload fits now; the partition is unchanged.

    `fixed_flavors` are the only flavors that it may have, by pod set and resource.
    """
    old = replaced_slice(partition, workloads, workload)
    if old is None:
        return _evaluate(partition, workloads, workload, fixed_flavors)
    with partition.charges.without(old):
        return _evaluate(partition, workloads, workload, fixed_flavors)


def evaluate_emptied(emptied: Partition, workload: Workload) -> Evaluation:
    """Returns how a workload fits a partition without any workload.

    Where it does not, the evaluation is that of the fewest pods with which it may start.
    """
    pod_sets = needed_pod_sets(workload.spec.pod_sets, workload.reclaimable)
    bare = replace(workload, nomination=None, round_id=None)
    evaluations: list[Evaluation] = []

    def evaluate_size(size: PodSets) -> Evaluation:
        evaluator = WorkloadEvaluator(emptied, {}, bare, size, (EMPTY,))
        evaluations.append(evaluator.evaluate(may_preempt=False))
        return evaluations[-1]

    if evaluate_size(pod_sets).mode != Mode.NO_FIT:
        return evaluations[0]
    fits = largest_fitting(pod_sets, evaluate_size, lambda one: one.mode != Mode.NO_FIT)
    # A search that fails ends at the smallest size.
    return fits or evaluations[-1]


def reevaluate(
    partition: Partition, workloads: Mapping[str, Workload], evaluation: Evaluation
) -> Evaluation:
    """Returns the evaluation after decisions on other workloads in the same cycle.

    A workload that was to preempt keeps its flavors: in others it would evict more workloads
    before its first victims have released anything (queueing.md §3.10).
    """
    fixed_flavors: dict[tuple[str, str], str] = {}
    if evaluation.mode == Mode.PREEMPT and evaluation.admission is not None:
        for given in evaluation.admission.pod_set_assignments:
            fixed_flavors.update({(given.name, name): f for name, f in given.flavors.items()})
    return evaluate(partition, workloads, evaluation.workload, fixed_flavors)


def still_fits(
    partition: Partition, workloads: Mapping[str, Workload], evaluation: Evaluation
) -> bool:
    """Whether an admission found earlier in the same cycle still fits."""
    assert evaluation.admission is not None, "an evaluation that fits has an admission"
    charge = partition.charges.charge_of(evaluation.workload, evaluation.admission)
    old = replaced_slice(partition, workloads, evaluation.workload)
    if old is None:
        return charge_fits(partition, charge, (ACTUAL, PROJECTED))
    with partition.charges.without(old):
        return charge_fits(partition, charge, (ACTUAL, PROJECTED))


def _evaluate(
    partition: Partition,
    workloads: Mapping[str, Workload],
    workload: Workload,
    fixed_flavors: FixedFlavors,
) -> Evaluation:
    pod_sets = needed_pod_sets(workload.spec.pod_sets, workload.reclaimable)
    if workload.nomination is not None:
        own = partition.charges.nominated_by(workload)
        partition.charges.release(PROJECTED, own)
        try:
            evaluator = WorkloadEvaluator(partition, workloads, workload, pod_sets)
            return _evaluate_nominated(evaluator, own, workload.nomination)
        finally:
            partition.charges.acquire(PROJECTED, own)

    def evaluate_size(size: PodSets) -> Evaluation:
        evaluator = WorkloadEvaluator(partition, workloads, workload, size)
        return evaluator.evaluate(fixed_flavors=fixed_flavors)

    full = evaluate_size(pod_sets)
    if full.mode == Mode.PREEMPT and _starts_smaller_first(partition, full.cluster_queue):
        found = largest_fitting(pod_sets, evaluate_size, lambda one: one.mode == Mode.FIT)
        return found or full
    if full.mode != Mode.NO_FIT:
        return full
    return largest_fitting(pod_sets, evaluate_size, lambda one: one.mode != Mode.NO_FIT) or full


def _starts_smaller_first(partition: Partition, cluster_queue: str) -> bool:
    """Whether a smaller size without victims goes before all pods with victims."""
    spec = partition.config.cluster_queues[cluster_queue].spec
    return spec.preemption.partial_admission == "BeforePreemption"


def _evaluate_nominated(
    evaluator: WorkloadEvaluator, own: Charge, nomination: Admission
) -> Evaluation:
    """The nominated capacity first, then any other; an open round preempts no second time."""
    if charge_fits(evaluator.partition, own, (ACTUAL, PROJECTED)):
        return evaluator.known(Mode.FIT, nomination)
    elsewhere = evaluator.evaluate(may_preempt=False)
    if elsewhere.mode == Mode.FIT:
        return elsewhere
    is_lost = not charge_fits(evaluator.partition, own, (PROJECTED,))
    return evaluator.known(Mode.DEFERRED, nomination, lost_nomination=is_lost)


PodSets: TypeAlias = tuple[PodSet, ...]


Evaluated = TypeVar("Evaluated")


def largest_fitting(
    pod_sets: PodSets,
    evaluate_size: Callable[[PodSets], Evaluated],
    fits: Callable[[Evaluated], bool],
) -> Evaluated | None:
    """Returns the result at the largest size below the full one that fits, or None.

    Partial admission (Kueue: flavorassigner.PodSetReducer; queueing.md §3.8): all pod sets with a
    minCount shrink in proportion, pods in topology slices by whole slices. A binary search; it
    relies on every smaller size fitting too.
    """
    steps = _reductions(pod_sets)
    best: Evaluated | None = None
    first, end = 0, len(steps)
    while first < end:
        middle = (first + end) // 2
        found = evaluate_size(_reduced(pod_sets, steps[middle], steps.stop - 1))
        if fits(found):
            best, end = found, middle
        else:
            first = middle + 1
    return best


def _reductions(pod_sets: PodSets) -> range:
    """The numbers of pods by which the workload may shrink in all, ascending."""
    shrinking = [pod_set for pod_set in pod_sets if _optional_pods(pod_set)]
    limit = sum(_optional_pods(pod_set) for pod_set in shrinking)
    size = _slice_size(shrinking[0]) if len(shrinking) == 1 else 1
    return range(size, limit + 1, size)


def _reduced(pod_sets: PodSets, reduction: int, limit: int) -> PodSets:
    return tuple(
        replace(pod_set, count=pod_set.count - _optional_pods(pod_set) * reduction // limit)
        for pod_set in pod_sets
    )


def _optional_pods(pod_set: PodSet) -> int:
    return 0 if pod_set.min_count is None else max(0, pod_set.count - pod_set.min_count)


def _slice_size(pod_set: PodSet) -> int:
    layers = pod_set.topology_request.slice_layers if pod_set.topology_request else ()
    return layers[0].size if layers else 1
