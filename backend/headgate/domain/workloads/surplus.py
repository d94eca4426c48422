"""Pods of a workload that may be preempted while the rest of it goes on (preemption.md §6.6).

They are the pods beyond the core of SemiPreemptible work, and those of a `Single` pod set beyond
its minCount, or its first pod. They go from the last in rank order on, where pods stand in slices
by whole slices; other subsets are never taken.
"""

from collections.abc import Iterator
from itertools import repeat

import msgspec
from msgspec.structs import replace

from headgate.domain.values.quantities import Requests
from headgate.domain.workloads.admission import (
    Admission,
    PodSetAssignment,
    TopologyDomain,
)
from headgate.domain.workloads.fewer_pods import cut_to, pods_in
from headgate.domain.workloads.remaining import needed_admission
from headgate.domain.workloads.specs import PodSet, WorkloadSpec
from headgate.domain.workloads.state import Shrinking, Workload

MARK = "#"
"""Stands in names of parts behind the workload's key, in which it cannot occur."""


class Part(msgspec.Struct, frozen=True, gc=False):
    """Pods that can only leave together, and the place they have in `admission`.

    `name` begins with the workload's key. `pods` counts the last pods of each pod set; of what
    `is_rest`, the whole workload once its other parts have gone, they are all that is left. Parts
    of one workload go in the order of `turn`.
    """

    name: str
    pods: dict[str, int]
    admission: Admission
    turn: int
    is_rest: bool = False

    @property
    def chain(self) -> str:
        """What it shares with the parts of its pod set, which go one after the other."""
        return self.name if self.is_rest else self.name.rpartition("/")[0]


def owner_of(name: str) -> str:
    """The key of the workload that a part, or a whole workload, of this name belongs to."""
    return name.partition(MARK)[0]


def is_divisible(spec: WorkloadSpec) -> bool:
    """Whether any pods of it may be preempted by themselves."""
    if spec.preemptibility == "Preemptible":
        return any(pod_set.disruption_mode == "Single" for pod_set in spec.pod_sets)
    return spec.preemptibility == "SemiPreemptible"


def core_of(spec: WorkloadSpec, pod_set: PodSet) -> int:
    """How many pods of a set stay as long as the workload does; all of them if none go singly."""
    if spec.preemptibility == "SemiPreemptible":
        return pod_set.count if pod_set.min_count is None else pod_set.min_count
    if spec.preemptibility == "Preemptible" and pod_set.disruption_mode == "Single":
        return pod_set.min_count or 1
    return pod_set.count


def parts_of(workload: Workload) -> tuple[Part, ...]:
    """The parts in which it may leave, the rest of it last; none if it leaves as a whole only.

    While some of its pods are on their way out it is not divided again: what stays is one part.
    """
    admission = workload.admission
    if admission is None or not is_divisible(workload.spec):
        return ()
    if workload.shrinking is not None:
        return (_rest(workload, shrunk(admission, workload.shrinking), 0),)
    needed = needed_admission(admission, workload.spec.pod_sets, workload.reclaimable)
    surplus = tuple(_surplus(workload, needed))
    if not surplus:
        return ()
    going: dict[str, int] = {}
    for part in surplus:
        for name, count in part.pods.items():
            going[name] = going.get(name, 0) + count
    counts = {given.name: given.count for given in needed.pod_set_assignments}
    stay = {name: counts[name] - count for name, count in going.items()}
    return (*surplus, _rest(workload, with_fewer(needed, going, stay), len(surplus)))


def together(workload: Workload, pods: dict[str, int]) -> Part:
    """So many last pods of its pod sets as one part."""
    assert workload.admission is not None, "only who holds a place has pods to give up"
    needed = needed_admission(workload.admission, workload.spec.pod_sets, workload.reclaimable)
    given = tuple(
        _last(assigned, pods[assigned.name])
        for assigned in needed.pod_set_assignments
        if assigned.name in pods
    )
    place = replace(needed, pod_set_assignments=given)
    return Part(f"{workload.key}{MARK}", pods, place, 0)


def staying(workload: Workload, pods: dict[str, int]) -> dict[str, int]:
    """How many pods stay of each of these pod sets once so many have gone."""
    assert workload.admission is not None, "only who holds a place has pods to give up"
    needed = needed_admission(workload.admission, workload.spec.pod_sets, workload.reclaimable)
    return {
        given.name: given.count - pods[given.name]
        for given in needed.pod_set_assignments
        if given.name in pods
    }


def with_fewer(admission: Admission, going: dict[str, int], stay: dict[str, int]) -> Admission:
    """An admission after so many last pods of pod sets have gone and `stay` are left of each.

    What is gone or fewer already for another reason is not taken away twice.
    """
    given = tuple(
        _fewer(assigned, going[assigned.name], stay[assigned.name])
        if assigned.name in stay
        else assigned
        for assigned in admission.pod_set_assignments
    )
    return replace(admission, pod_set_assignments=given)


def shrunk(admission: Admission, shrinking: Shrinking) -> Admission:
    """What a workload holds once the pods that are on their way out have gone."""
    return with_fewer(admission, shrinking.pods, shrinking.counts)


def going_part(workload: Workload) -> Admission | None:
    """What the pods hold that are on their way out; None if there are none."""
    shrinking, admission = workload.shrinking, workload.admission
    if shrinking is None or admission is None:
        return None
    given = tuple(
        _last(assigned, shrinking.pods[assigned.name])
        for assigned in admission.pod_set_assignments
        if assigned.name in shrinking.pods
    )
    return replace(admission, pod_set_assignments=given)


def _rest(workload: Workload, admission: Admission, turn: int) -> Part:
    left = {given.name: given.count for given in admission.pod_set_assignments}
    return Part(workload.key, left, admission, turn, is_rest=True)


def _surplus(workload: Workload, needed: Admission) -> Iterator[Part]:
    sets = {pod_set.name: pod_set for pod_set in workload.spec.pod_sets}
    turn = 0
    for given in reversed(needed.pod_set_assignments):
        pod_set = sets.get(given.name)
        if pod_set is None:
            continue
        size = _slice_size(pod_set)
        core = -(-core_of(workload.spec, pod_set) // size) * size
        usage, places = _usage(given, size), given.topology_assignment
        groups = _from_the_end(places.domains, size) if places is not None else repeat(())
        for index in range(given.count - size, core - 1, -size):
            here = None if places is None else replace(places, domains=next(groups))
            alone = replace(given, count=size, resource_usage=usage, topology_assignment=here)
            name = f"{workload.key}{MARK}{given.name}/{index}"
            admission = replace(needed, pod_set_assignments=(alone,))
            yield Part(name, {given.name: size}, admission, turn)
            turn += 1


def _slice_size(pod_set: PodSet) -> int:
    layers = pod_set.topology_request.slice_layers if pod_set.topology_request else ()
    return max(1, layers[0].size) if layers else 1


def _fewer(given: PodSetAssignment, going: int, stay: int) -> PodSetAssignment:
    places = given.topology_assignment
    if places is not None:
        places = cut_to(places, max(stay, pods_in(places) - going))
    count = min(given.count, stay)
    return replace(
        given, count=count, resource_usage=_usage(given, count), topology_assignment=places
    )


def _last(given: PodSetAssignment, count: int) -> PodSetAssignment:
    places = given.topology_assignment
    if places is not None:
        places = replace(places, domains=next(_from_the_end(places.domains, count)))
    return replace(
        given, count=count, resource_usage=_usage(given, count), topology_assignment=places
    )


def _from_the_end(
    domains: tuple[TopologyDomain, ...], size: int
) -> Iterator[tuple[TopologyDomain, ...]]:
    """The last `size` places, those before them, and so on; in the end there are none."""
    left = [(domain, domain.count) for domain in domains]
    while True:
        found: list[TopologyDomain] = []
        missing = size
        while missing and left:
            domain, count = left.pop()
            taken = min(missing, count)
            found.append(replace(domain, count=taken))
            missing -= taken
            if count > taken:
                left.append((domain, count - taken))
        yield tuple(reversed(found))


def _usage(given: PodSetAssignment, count: int) -> Requests:
    if count == given.count:
        return given.resource_usage
    return {
        resource: amount // given.count * count for resource, amount in given.resource_usage.items()
    }
