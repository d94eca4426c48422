"""Admission with fewer pods: the largest size that works, down to minCount (queueing.md §3.8)."""

from collections.abc import Callable
from typing import TypeVar

from msgspec.structs import replace

from headgate.domain.workloads.specs import PodSet

Found = TypeVar("Found")
PodSets = tuple[PodSet, ...]


def largest_fitting(
    pod_sets: PodSets, look: Callable[[PodSets], Found], works: Callable[[Found], bool]
) -> Found | None:
    """What was found at the largest size below the full one that works, or None.

    All pod sets with a minCount shrink in proportion. A binary search, which takes for granted
    that whatever works at one size works at every smaller one. Pods in slices go by whole slices.
    """
    steps = _steps(pod_sets)
    best: Found | None = None
    first, end = 0, len(steps)
    while first < end:
        middle = (first + end) // 2
        found = look(_reduced(pod_sets, steps[middle], steps.stop - 1))
        if works(found):
            best, end = found, middle
        else:
            first = middle + 1
    return best


def _steps(pod_sets: PodSets) -> range:
    """By how many pods in all the workload may shrink, from a little to the most."""
    pod_eviction = [pod_set for pod_set in pod_sets if _spare(pod_set)]
    most = sum(_spare(pod_set) for pod_set in pod_eviction)
    size = _slice_size(pod_eviction[0]) if len(pod_eviction) == 1 else 1
    return range(size, most + 1, size)


def _reduced(pod_sets: PodSets, step: int, most: int) -> PodSets:
    return tuple(
        replace(pod_set, count=pod_set.count - _spare(pod_set) * step // most)
        for pod_set in pod_sets
    )


def _spare(pod_set: PodSet) -> int:
    return 0 if pod_set.min_count is None else max(0, pod_set.count - pod_set.min_count)


def _slice_size(pod_set: PodSet) -> int:
    layers = pod_set.topology_request.slice_layers if pod_set.topology_request else ()
    return layers[0].size if layers else 1
