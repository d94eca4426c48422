"""Partial admission: the largest number of pods that fits (Kueue: `PodSetReducer`)."""

from collections.abc import Callable
from typing import TypeAlias, TypeVar

from msgspec.structs import replace

from headgate.domain.workloads.specs import PodSet

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
