"""Which pods of a workload are still needed, and what they take (queueing.md §3.3).

Pods that have ended for good are reclaimable: nobody starts them again, so their quota is free.
Pods in slices are needed by whole slices.
"""

from collections.abc import Mapping

from msgspec.structs import replace

from headgate.domain.values.quantities import Requests
from headgate.domain.workloads.admission import Admission, PodSetAssignment
from headgate.domain.workloads.specs import PodSet

Reclaimable = Mapping[str, int]
"""Pod set to the number of its pods that are not needed any more."""


def needed_pod_sets(pod_sets: tuple[PodSet, ...], reclaimable: Reclaimable) -> tuple[PodSet, ...]:
    """The pod sets without the pods that have ended; a minCount is never above what is left."""
    if not reclaimable:
        return pod_sets
    return tuple(_needed(pod_set, reclaimable) for pod_set in pod_sets)


def needed_admission(
    admission: Admission, pod_sets: tuple[PodSet, ...], reclaimable: Reclaimable
) -> Admission:
    """An admission with the counts and usage of the pods that are still needed; same places.

    A workload may be made smaller while it holds quota, and then needs fewer pods as well.
    """
    counts = {pod_set.name: _needed_count(pod_set, reclaimable) for pod_set in pod_sets}
    if all(counts.get(a.name, a.count) >= a.count for a in admission.pod_set_assignments):
        return admission
    given = tuple(
        _shrunk(assignment, counts.get(assignment.name, assignment.count))
        for assignment in admission.pod_set_assignments
    )
    return replace(admission, pod_set_assignments=given)


def _needed(pod_set: PodSet, reclaimable: Reclaimable) -> PodSet:
    count = _needed_count(pod_set, reclaimable)
    least = None if pod_set.min_count is None else min(pod_set.min_count, count)
    return replace(pod_set, count=count, min_count=least)


def _needed_count(pod_set: PodSet, reclaimable: Reclaimable) -> int:
    if pod_set.name not in reclaimable:
        return pod_set.count
    left = max(0, pod_set.count - reclaimable[pod_set.name])
    layers = pod_set.topology_request.slice_layers if pod_set.topology_request else ()
    size = max(1, layers[0].size) if layers else 1
    return min(pod_set.count, -(-left // size) * size)


def _shrunk(given: PodSetAssignment, needed: int) -> PodSetAssignment:
    if needed >= given.count:
        return given
    usage: Requests = {
        resource: amount // given.count * needed
        for resource, amount in given.resource_usage.items()
    }
    return replace(given, count=needed, resource_usage=usage)
