"""Eviction units: pods of a workload that preemption may take individually (preemption.md §6.6).

They are the pods beyond the guaranteed count of SemiPreemptible workloads, and those of a `Single`
pod set beyond its minCount or first pod. Units are taken from the last rank on, in whole topology
slices, and of a `Replica` pod set in whole replicas; no other subsets exist. Compare KEP-5710,
where the unit is a pod group.
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import repeat
from math import lcm

import msgspec
from msgspec.structs import replace

from headgate.domain.values.quantities import Requests
from headgate.domain.workloads.admission import (
    Admission,
    PodSetAssignment,
    TopologyDomain,
    needed_admission,
    pod_count,
    trimmed_to,
    without_ranks,
)
from headgate.domain.workloads.protection import protection_of
from headgate.domain.workloads.specs import PodSet, WorkloadSpec, is_elastic
from headgate.domain.workloads.state import PodEviction, Workload

UNIT_SEPARATOR = "#"
"""Separates the key of the workload, in which it cannot occur, from the rest of a unit's name."""


class EvictionUnit(msgspec.Struct, frozen=True, gc=False):
    """Pods that can only leave together, and the place they have in `admission`.

    `name` begins with the key of its workload. `pods` counts the last pods of each pod set; the
    unit that `is_remainder` holds every pod that no other unit holds. Units of one workload are
    evicted in ascending `eviction_order`.
    """

    name: str
    pods: dict[str, int]
    admission: Admission
    eviction_order: int
    is_remainder: bool = False

    @property
    def chain(self) -> str:
        """The name shared by the units of one pod set, which are evicted in order."""
        return self.name if self.is_remainder else self.name.rpartition("/")[0]


def workload_of(name: str) -> str:
    """The key of the workload that a unit, or a whole workload, of this name belongs to."""
    return name.partition(UNIT_SEPARATOR)[0]


def is_divisible(spec: WorkloadSpec) -> bool:
    """Whether some pods of the workload may be preempted individually."""
    if spec.preemptibility == "Preemptible":
        return any(pod_set.disruption_mode != "All" for pod_set in spec.pod_sets)
    return spec.preemptibility == "SemiPreemptible"


def may_evict_whole(spec: WorkloadSpec) -> bool:
    """Whether preemption may take all pods of the workload: none of them is guaranteed."""
    if spec.preemptibility == "Preemptible":
        return True
    return spec.preemptibility == "SemiPreemptible" and not any(
        guaranteed_count(spec, pod_set) for pod_set in spec.pod_sets
    )


def guaranteed_count(spec: WorkloadSpec, pod_set: PodSet) -> int:
    """The pods of a pod set that are never preempted singly; the whole count if none may be.

    With a minCount of 0 that is none: beside pods of other pod sets all of them may leave.
    """
    if spec.preemptibility == "SemiPreemptible":
        return pod_set.count if pod_set.min_count is None else pod_set.min_count
    if spec.preemptibility == "Preemptible" and pod_set.disruption_mode != "All":
        return 1 if pod_set.min_count is None else pod_set.min_count
    return pod_set.count


def protection_of_unit(spec: WorkloadSpec, eviction_unit: EvictionUnit | None) -> int:
    """The priority that protects a unit of a workload, or with None the workload as a whole.

    A pod set that its own class protects protects every unit with pods of it (KEP-5710).
    """
    protection = protection_of(spec)
    if not spec.pod_set_protections:
        return protection
    pods = None if eviction_unit is None else eviction_unit.pods
    own = (v for name, v in spec.pod_set_protections.items() if pods is None or pods.get(name))
    return max((protection, *own))


def eviction_units(workload: Workload) -> tuple[EvictionUnit, ...]:
    """The units of the workload, the remainder last; empty if it is evicted only as a whole.

    Pods that are already being evicted belong to no unit.
    """
    if workload.admission is None or not is_divisible(workload.spec):
        return ()
    needed = _staying(workload, workload.admission)
    surplus = tuple(_surplus(workload, needed))
    if not surplus:
        return (_rest(workload, needed, 0),) if workload.pod_evictions else ()
    going: dict[str, int] = {}
    for part in surplus:
        for name, count in part.pods.items():
            going[name] = going.get(name, 0) + count
    counts = {given.name: given.count for given in needed.pod_set_assignments}
    stay = {name: counts[name] - count for name, count in going.items()}
    return (*surplus, _rest(workload, without_pods(needed, going, stay), len(surplus)))


def combined_unit(workload: Workload, pods: dict[str, int]) -> EvictionUnit:
    """One unit of the last pods of each pod set, counted among those that are not being evicted."""
    assert workload.admission is not None, "a workload without an admission has no pods to evict"
    needed = _staying(workload, workload.admission)
    given = tuple(
        _last(assigned, pods[assigned.name])
        for assigned in needed.pod_set_assignments
        if assigned.name in pods
    )
    place = replace(needed, pod_set_assignments=given)
    return EvictionUnit(f"{workload.key}{UNIT_SEPARATOR}", pods, place, 0)


def remaining_counts(workload: Workload, pods: dict[str, int]) -> dict[str, int]:
    """The pods of each given pod set that remain once these further ones have stopped."""
    assert workload.admission is not None, "a workload without an admission has no pods to evict"
    needed = _staying(workload, workload.admission)
    return {
        given.name: given.count - pods[given.name]
        for given in needed.pod_set_assignments
        if given.name in pods
    }


NO_PODS: Mapping[str, int] = {}


def without_pods(
    admission: Admission,
    going: Mapping[str, int],
    stay: Mapping[str, int],
    later: Mapping[str, int] = NO_PODS,
) -> Admission:
    """The admission after the last `going` pods have stopped and `stay` remain of each pod set.

    Pods that stopped for another reason are not subtracted twice. `later` pods are ranked after
    those that stop and are still there.
    """
    given = tuple(
        _fewer(each, going[each.name], stay[each.name], later.get(each.name, 0))
        if each.name in stay
        else each
        for each in admission.pod_set_assignments
    )
    return replace(admission, pod_set_assignments=given)


def without_evicting_pods(admission: Admission, pod_evictions: Iterable[PodEviction]) -> Admission:
    """The admission once the pods of all partial evictions have stopped."""
    going: dict[str, int] = {}
    stay: dict[str, int] = {}
    for each in pod_evictions:
        for name, count in each.pods.items():
            going[name] = going.get(name, 0) + count
            stay[name] = min(stay.get(name, each.counts[name]), each.counts[name])
    return without_pods(admission, going, stay) if going else admission


def evicting_pods_admission(
    admission: Admission, pod_eviction: PodEviction, later: Mapping[str, int] = NO_PODS
) -> Admission:
    """The quota and hosts of the pods of a partial eviction; `later` pods are ranked after them."""
    given = tuple(
        _last(each, pod_eviction.pods[each.name], later.get(each.name, 0))
        for each in admission.pod_set_assignments
        if each.name in pod_eviction.pods
    )
    return replace(admission, pod_set_assignments=given)


def lost_pods(workload: Workload) -> dict[str, int]:
    """The pods by pod set that preemption has taken of a running workload, as they may come back.

    None of one that is being evicted, on hold or elastic, and of pod sets with completions or with
    pods that are not started again.
    """
    admission, spec = workload.admission, workload.spec
    is_settled = workload.eviction is None and not workload.pod_evictions
    if admission is None or not is_settled or workload.hold is not None or not spec.active:
        return {}
    if workload.finished_at or workload.terminating_at or workload.cancelling_at:
        return {}
    if not is_divisible(spec) or is_elastic(workload.annotations):
        return {}
    sets = {pod_set.name: pod_set for pod_set in spec.pod_sets if pod_set.completions is None}
    lost = {
        given.name: min(sets[given.name].count, workload.layout.counts[given.name]) - given.count
        for given in admission.pod_set_assignments
        if given.name in sets
        and given.name in workload.layout.counts
        and given.count
        and not workload.reclaimable.get(given.name)
    }
    return {name: count for name, count in lost.items() if count > 0}


def with_pods_back(admission: Admission, name: str, count: int) -> Admission:
    """The admission with the quota of so many more pods of a pod set, which have no hosts yet."""
    given = tuple(
        replace(each, count=each.count + count, resource_usage=_usage(each, each.count + count))
        if each.name == name
        else each
        for each in admission.pod_set_assignments
    )
    return replace(admission, pod_set_assignments=given)


def _staying(workload: Workload, admission: Admission) -> Admission:
    """The admission that the workload needs once its partial evictions have ended."""
    left = without_evicting_pods(admission, workload.pod_evictions)
    return needed_admission(left, workload.spec.pod_sets, workload.reclaimable)


def _rest(workload: Workload, admission: Admission, eviction_order: int) -> EvictionUnit:
    left = {given.name: given.count for given in admission.pod_set_assignments}
    return EvictionUnit(workload.key, left, admission, eviction_order, is_remainder=True)


def _surplus(workload: Workload, needed: Admission) -> Iterator[EvictionUnit]:
    sets = {pod_set.name: pod_set for pod_set in workload.spec.pod_sets}
    eviction_order = 0
    for given in reversed(needed.pod_set_assignments):
        pod_set = sets.get(given.name)
        if pod_set is None:
            continue
        size = unit_size(pod_set)
        others = any(each.count for each in needed.pod_set_assignments if each is not given)
        least = guaranteed_count(workload.spec, pod_set) or (0 if others else 1)
        core = -(-least // size) * size
        places, end = given.topology_assignment, given.count
        tail = end % size
        groups = _from_the_end(places.domains, size, tail) if places is not None else repeat(())
        while end > core:
            pods, tail = tail or size, 0
            end -= pods
            here = None if places is None else replace(places, domains=next(groups))
            usage = _usage(given, pods)
            alone = replace(given, count=pods, resource_usage=usage, topology_assignment=here)
            name = f"{workload.key}{UNIT_SEPARATOR}{given.name}/{end}"
            admission = replace(needed, pod_set_assignments=(alone,))
            yield EvictionUnit(name, {given.name: pods}, admission, eviction_order)
            eviction_order += 1


def unit_size(pod_set: PodSet) -> int:
    """The pods that leave together: those of a topology slice, of a replica, or of both."""
    layers = pod_set.topology_request.slice_layers if pod_set.topology_request else ()
    size = max(1, layers[0].size) if layers else 1
    if pod_set.disruption_mode != "Replica":
        return size
    replicas = pod_set.pod_index.sub_group_count if pod_set.pod_index else 0
    return lcm(size, max(1, pod_set.count // max(1, replicas)))


def _fewer(given: PodSetAssignment, going: int, stay: int, later: int) -> PodSetAssignment:
    places, left = given.topology_assignment, stay + later
    if places is not None:
        placed = pod_count(places)
        places = without_ranks(places, placed - max(left, placed - going), later)
    count = min(given.count, left)
    return replace(
        given, count=count, resource_usage=_usage(given, count), topology_assignment=places
    )


def _last(given: PodSetAssignment, count: int, later: int = 0) -> PodSetAssignment:
    places = given.topology_assignment
    if places is not None:
        upto = trimmed_to(places, max(0, pod_count(places) - later))
        places = replace(places, domains=next(_from_the_end(upto.domains, count)))
    return replace(
        given, count=count, resource_usage=_usage(given, count), topology_assignment=places
    )


def _from_the_end(
    domains: tuple[TopologyDomain, ...], size: int, tail: int = 0
) -> Iterator[tuple[TopologyDomain, ...]]:
    """The last `size` pods of the domains, then the `size` before them, and so on without end.

    The first of them are `tail` pods, if that is any.
    """
    left = [(domain, domain.count) for domain in domains]
    missing = tail or size
    while True:
        found: list[TopologyDomain] = []
        while missing and left:
            domain, count = left.pop()
            taken = min(missing, count)
            found.append(replace(domain, count=taken))
            missing -= taken
            if count > taken:
                left.append((domain, count - taken))
        yield tuple(reversed(found))
        missing = size


def _usage(given: PodSetAssignment, count: int) -> Requests:
    if count == given.count:
        return given.resource_usage
    return {
        resource: amount // given.count * count for resource, amount in given.resource_usage.items()
    }


def placed_pods(workload: Workload) -> int:
    """Returns the number of pods that the workload's admission assigns."""
    admission = workload.admission
    return sum(given.count for given in admission.pod_set_assignments) if admission else 0
