"""Eviction units: pods of a workload that preemption may take individually (preemption.md §6.6).

As many pods may go as a pod set has beyond its guaranteed count, in whole topology slices, and of a
`Replica` pod set in whole replicas. The last ranks go first; where a preemptor needs certain hosts,
the pods on these do, whatever their ranks. Compare KEP-5710, where the unit is a pod group.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import filterfalse

import msgspec
from msgspec.structs import replace

from headgate.domain.values.index_ranges import contains, ranges_of
from headgate.domain.workloads.admission import (
    Admission,
    PodSetAssignment,
    TopologyDomain,
    needed_admission,
    with_pod_count,
    without_pods,
)
from headgate.domain.workloads.pods.attempt_pods import (
    NO_PROGRESS,
    domain_of_each_pod,
    domains_of_pods,
    pod_nodes,
)
from headgate.domain.workloads.preemption_events import WorkloadShrunk
from headgate.domain.workloads.protection import guaranteed_count, is_divisible, protection_of
from headgate.domain.workloads.specs import PodSet, WorkloadSpec, is_elastic, unit_size
from headgate.domain.workloads.state import PodEviction, Workload

UNIT_SEPARATOR = "#"
"""Separates the key of the workload, in which it cannot occur, from the rest of a unit's name."""


class EvictionUnit(msgspec.Struct, frozen=True, gc=False):
    """Pods that can only leave together, and the place they have in `admission`.

    `name` begins with the key of its workload. `pods` counts them by pod set, `indices` names them;
    the unit that `is_remainder` holds every pod that no other unit holds, without naming them.
    Units of one workload are evicted in ascending `eviction_order`, those of one `chain` only after
    the units before them. `later_ranked` counts the pods that stay and rank after one that leaves.
    """

    name: str
    pods: dict[str, int]
    admission: Admission
    eviction_order: int
    is_remainder: bool = False
    indices: dict[str, tuple[int, ...]] = {}
    chain: str = ""
    later_ranked: int = 0


class DivisibleWorkload(msgspec.Struct, frozen=True, gc=False):
    """A workload that may lose single pods: its units, and how many pods of each set may go.

    `single` are the units of all pods of these sets, from the last rank on: any of them may leave
    while the workload keeps its guaranteed count. `surplus` are the pods beyond it by pod set,
    `staying` the admission of all pods that are not being evicted.
    """

    key: str
    staying: Admission
    single: tuple[EvictionUnit, ...] = ()
    surplus: dict[str, int] = {}

    def units(
        self, is_wanted: Callable[[EvictionUnit], bool] | None = None
    ) -> tuple[EvictionUnit, ...]:
        """The units that may leave, in eviction order, and the remainder last.

        The last ranks are evicted first, each unit after those behind it. Where certain hosts are
        needed, the units on them that `is_wanted` names come before all others, and each may leave
        without these.
        """
        ordered = self.single
        if is_wanted is not None:
            ordered = (*filter(is_wanted, ordered), *filterfalse(is_wanted, ordered))
        left, chosen = dict(self.surplus), list[EvictionUnit]()
        for unit in ordered:
            ((name, count),) = unit.pods.items()
            if count <= left[name]:
                left[name] -= count
                chain = f"{self.key}{UNIT_SEPARATOR}{name}" if is_wanted is None else unit.name
                chosen.append(replace(unit, eviction_order=len(chosen), chain=chain))
        return (*chosen, self._remainder(chosen))

    def undivided(self) -> EvictionUnit:
        """The pods of sets of which none may leave singly."""
        given = (g for g in self.staying.pod_set_assignments if g.name not in self.surplus)
        rest = replace(self.staying, pod_set_assignments=tuple(given))
        return EvictionUnit(self.key, {}, rest, len(self.single), is_remainder=True)

    def _remainder(self, chosen: Sequence[EvictionUnit]) -> EvictionUnit:
        going: dict[str, int] = {}
        domains: dict[str, tuple[TopologyDomain, ...]] = {}
        for unit in chosen:
            (given,) = unit.admission.pod_set_assignments
            going[given.name] = going.get(given.name, 0) + given.count
            places = given.topology_assignment
            if places is not None:
                domains[given.name] = (*domains.get(given.name, ()), *places.domains)
        counts = {given.name: given.count for given in self.staying.pod_set_assignments}
        stay = {name: counts[name] - count for name, count in going.items()}
        rest = without_pods(self.staying, going, stay, domains=domains)
        left = {given.name: given.count for given in rest.pod_set_assignments}
        return EvictionUnit(self.key, left, rest, len(chosen), is_remainder=True, chain=self.key)


def workload_of(name: str) -> str:
    """The key of the workload that a unit, or a whole workload, of this name belongs to."""
    return name.partition(UNIT_SEPARATOR)[0]


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


def divisible_workload(workload: Workload) -> DivisibleWorkload | None:
    """The workload as units; None if it is evicted only as a whole.

    Pods that are already being evicted belong to no unit.
    """
    if workload.admission is None or not is_divisible(workload.spec):
        return None
    staying = _staying(workload)
    surplus: dict[str, int] = {}
    single: list[EvictionUnit] = []
    sets = {pod_set.name: pod_set for pod_set in workload.spec.pod_sets}
    for given in reversed(staying.pod_set_assignments):
        pod_set = sets.get(given.name)
        spare = 0 if pod_set is None else _surplus(workload.spec, pod_set, given, staying)
        if pod_set is not None and spare > 0:
            surplus[given.name] = spare
            single.extend(_single_units(workload, pod_set, given, staying))
    if not single and not workload.pod_evictions:
        return None
    numbered = (replace(unit, eviction_order=n) for n, unit in enumerate(single))
    return DivisibleWorkload(workload.key, staying, tuple(numbered), surplus)


def combined_unit(workload: Workload, indices: Mapping[str, Sequence[int]]) -> EvictionUnit:
    """One unit of these pods of a workload."""
    staying = _staying(workload)
    given = tuple(
        _alone(assigned, indices[assigned.name], _places(workload, assigned.name))
        for assigned in staying.pod_set_assignments
        if assigned.name in indices
    )
    place = replace(staying, pod_set_assignments=given)
    known = staying_indices(workload)
    later_ranked = sum(
        index > first and index not in going
        for name, named in indices.items()
        for first, going in ((min(named), frozenset(named)),)
        for index in known.get(name, ())
    )
    return EvictionUnit(
        name=f"{workload.key}{UNIT_SEPARATOR}",
        pods={name: len(going) for name, going in indices.items()},
        admission=place,
        eviction_order=0,
        indices={name: tuple(sorted(going)) for name, going in indices.items()},
        later_ranked=later_ranked,
    )


def remaining_counts(workload: Workload, pods: dict[str, int]) -> dict[str, int]:
    """The pods of each given pod set that remain once these further ones have stopped."""
    return {
        given.name: given.count - pods[given.name]
        for given in _staying(workload).pod_set_assignments
        if given.name in pods
    }


def pods_of_evictions(
    workload: Workload,
) -> Iterator[tuple[PodEviction, dict[str, tuple[int, ...]]]]:
    """The partial evictions, oldest first, with the indices of their pods by pod set.

    One that names no indices is of an older release: it takes the last pods that none before takes.
    """
    if workload.admission is None:
        return
    nodes = pod_nodes(workload.admission, workload.layout)
    later: dict[str, int] = {}
    for each in workload.pod_evictions:
        taken: dict[str, tuple[int, ...]] = {}
        for name, count in each.pods.items():
            known = tuple(nodes.get(name, ()))
            if each.indices:
                named = each.indices.get(name, ())
                taken[name] = tuple(index for index in known if contains(named, index))
            else:
                taken[name] = last_indices(known, count, later.get(name, 0))
                later[name] = later.get(name, 0) + count
        yield each, taken


def last_indices(indices: Sequence[int], count: int, later: int) -> tuple[int, ...]:
    """The last `count` indices before the last `later` ones."""
    end = max(0, len(indices) - later)
    return tuple(indices[max(0, end - count) : end])


def evicting_indices(workload: Workload) -> dict[str, set[int]]:
    """The indices by pod set of the pods that are being evicted singly."""
    going: dict[str, set[int]] = {}
    for _, taken in pods_of_evictions(workload):
        for name, indices in taken.items():
            going.setdefault(name, set()).update(indices)
    return going


def staying_indices(workload: Workload) -> dict[str, list[int]]:
    """The indices by pod set of the pods that are not being evicted."""
    assert workload.admission is not None, "a workload without an admission has no pods"
    going = evicting_indices(workload)
    return {
        name: [index for index in nodes if index not in going.get(name, ())]
        for name, nodes in pod_nodes(workload.admission, workload.layout).items()
    }


def evicting_pods(pod_evictions: Iterable[PodEviction]) -> dict[str, int]:
    """The number of pods by pod set that the partial evictions take together."""
    going: dict[str, int] = {}
    for each in pod_evictions:
        for name, count in each.pods.items():
            going[name] = going.get(name, 0) + count
    return going


def without_evicting_pods(workload: Workload) -> Admission:
    """The admission of a workload once the pods of all partial evictions have stopped."""
    assert workload.admission is not None, "a workload without an admission has no pods to evict"
    if not workload.pod_evictions:
        return workload.admission
    stay: dict[str, int] = {}
    indices: dict[str, list[int]] = {}
    for each, taken in pods_of_evictions(workload):
        for name, count in each.counts.items():
            stay[name] = min(stay.get(name, count), count)
            indices.setdefault(name, []).extend(taken.get(name, ()))
    going = evicting_pods(workload.pod_evictions)
    return without_pods(workload.admission, going, stay, domains=_domains(workload, indices))


def evicting_pods_admission(workload: Workload, pod_eviction: PodEviction) -> Admission:
    """The quota and hosts of the pods of a partial eviction."""
    assert workload.admission is not None, "a workload without an admission has no pods to evict"
    taken = next(taken for each, taken in pods_of_evictions(workload) if each is pod_eviction)
    given = tuple(
        _alone(each, taken[each.name], _places(workload, each.name), pod_eviction.pods[each.name])
        for each in workload.admission.pod_set_assignments
        if each.name in pod_eviction.pods
    )
    return replace(workload.admission, pod_set_assignments=given)


def shrunk_event(workload: Workload, pod_eviction: PodEviction) -> WorkloadShrunk:
    """The event recorded when the pods of a partial eviction have stopped.

    `later` are the pods that older partial evictions are still to take.
    """
    found = {each.eviction.id: taken for each, taken in pods_of_evictions(workload)}
    taken, ids = found[pod_eviction.eviction.id], list(found)
    later = evicting_pods(workload.pod_evictions[: ids.index(pod_eviction.eviction.id)])
    return WorkloadShrunk(
        eviction=pod_eviction.eviction.id,
        pods=pod_eviction.pods,
        counts=pod_eviction.counts,
        later={name: count for name, count in later.items() if name in pod_eviction.pods},
        indices={name: ranges_of(indices) for name, indices in taken.items()},
        domains=_domains(workload, taken),
    )


def _domains(
    workload: Workload, indices: Mapping[str, Sequence[int]]
) -> dict[str, tuple[TopologyDomain, ...]]:
    """The topology domains of these pods by pod set."""
    assert workload.admission is not None, "a workload without an admission has no pods"
    found = {
        given.name: domains_of_pods(given, workload.layout, indices[given.name])
        for given in workload.admission.pod_set_assignments
        if given.name in indices
    }
    return {name: domains for name, domains in found.items() if domains}


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


def _staying(workload: Workload) -> Admission:
    """The admission that the workload needs once its partial evictions have ended."""
    left = without_evicting_pods(workload)
    return needed_admission(left, workload.spec.pod_sets, workload.reclaimable)


def _surplus(
    spec: WorkloadSpec, pod_set: PodSet, given: PodSetAssignment, staying: Admission
) -> int:
    """The pods of a set beyond its guaranteed count, which is made up of whole units."""
    size = unit_size(pod_set)
    others = any(each.count for each in staying.pod_set_assignments if each is not given)
    least = guaranteed_count(spec, pod_set) or (0 if others else 1)
    return max(0, given.count - -(-least // size) * size)


def _single_units(
    workload: Workload, pod_set: PodSet, given: PodSetAssignment, staying: Admission
) -> Iterator[EvictionUnit]:
    """The units of all pods of a set from the last rank on, a shorter one first."""
    size, places = unit_size(pod_set), _places(workload, given.name)
    indices = _needed_indices(workload, given, size)
    end = len(indices)
    while end > 0:
        begin = end - (end % size or size)
        pods = tuple(indices[begin:end])
        alone = replace(staying, pod_set_assignments=(_alone(given, pods, places),))
        name = f"{workload.key}{UNIT_SEPARATOR}{given.name}/{pods[0]}"
        yield EvictionUnit(name, {given.name: len(pods)}, alone, 0, indices={given.name: pods})
        end = begin


def _needed_indices(workload: Workload, given: PodSetAssignment, size: int) -> list[int]:
    """The indices of the needed pods of a set: without those known to have ended, or the last."""
    found = staying_indices(workload).get(given.name, [])
    progress = workload.progress.get(given.name, NO_PROGRESS)
    living = [index for index in found if not progress.has_ended(index)]
    if size == 1 and len(living) >= given.count:
        found = living
    return found[max(0, len(found) - given.count) :]


def _places(workload: Workload, name: str) -> dict[int, tuple[str, ...]]:
    """The topology domain of each pod of a set by index."""
    assert workload.admission is not None, "a workload without an admission has no pods"
    given = (g for g in workload.admission.pod_set_assignments if g.name == name)
    return next((domain_of_each_pod(each, workload.layout) for each in given), {})


def _alone(
    given: PodSetAssignment,
    indices: Sequence[int],
    places: Mapping[int, tuple[str, ...]],
    count: int | None = None,
) -> PodSetAssignment:
    """The quota and hosts of some pods of a pod set; `count` where some have left by now."""
    known = given.topology_assignment
    if known is not None:
        there = Counter(places[index] for index in indices if index in places)
        domains = tuple(TopologyDomain(values, pods) for values, pods in there.items())
        known = replace(known, domains=domains)
    pods = len(indices) if count is None else count
    return replace(with_pod_count(given, pods), topology_assignment=known)


def placed_pods(workload: Workload) -> int:
    """Returns the number of pods that the workload's admission assigns."""
    admission = workload.admission
    return sum(given.count for given in admission.pod_set_assignments) if admission else 0
