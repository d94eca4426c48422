"""Assigns topology domains to pods: by pod index where pods have one, else greedily.

Kueue: topology_ungater (topology.md §6). No domain gets more pods than assigned to it, and no pod
goes to a host that failed.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

import msgspec
from msgspec.structs import replace

from headgate.domain.rejection import InvalidObject, NotFound, child
from headgate.domain.values.index_ranges import MAX_INDEX_DIGITS
from headgate.domain.values.message import workload_reference
from headgate.domain.workloads.admission import PodSetAssignment, TopologyAssignment, pod_count
from headgate.domain.workloads.pods.attempt_pods import domain_of_each_pod
from headgate.domain.workloads.specs import PodIndex, PodSet
from headgate.domain.workloads.state import Workload

INDEX_OFFSET = "kueue.x-k8s.io/pod-index-offset"

Values = tuple[str, ...]


class ExecutorPod(msgspec.Struct, frozen=True, kw_only=True):
    """A pod that the executor created; `values` is its topology domain, empty while it is gated."""

    name: str
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    values: Values = ()
    has_ended: bool = False


class RankAssignment(msgspec.Struct, frozen=True, kw_only=True):
    """The domain assigned to a gated pod; `levels` are the node labels of its `values`."""

    pod: str
    levels: tuple[str, ...]
    values: Values


def assign_ranks(
    workload: Workload, pod_set: str, pods: Sequence[ExecutorPod]
) -> tuple[RankAssignment, ...]:
    """The domains of the gated pods of a pod set that can be ungated now, in the order of `pods`.

    Raises a `Rejection` if the pod set has no topology assignment or its index offset is no number.
    """
    given, known = _assigned(workload, pod_set)
    living = [pod for pod in pods if not pod.has_ended]
    places = domain_of_each_pod(given, workload.layout)
    ranked = replace(given, count=_rank_count(workload, given, places))
    first, ranks_end = _stretch(workload, ranked, pods)
    ranks = _ranks(_index_of(workload, pod_set), living, (first, ranks_end, ranked.count))
    chosen = _by_rank(living, ranks, places)
    if chosen is None:
        chosen = dict(_one_after_another(living, known))
    return tuple(
        RankAssignment(pod=name, levels=known.levels, values=values)
        for name, values in chosen.items()
        if ",".join(values) not in workload.unhealthy_nodes
    )


def _assigned(workload: Workload, pod_set: str) -> tuple[PodSetAssignment, TopologyAssignment]:
    """The assignment of the pod set and its topology assignment, counted after a scale-down."""
    admission = workload.admission
    for given in admission.pod_set_assignments if admission is not None else ():
        if given.name == pod_set and given.topology_assignment is not None:
            known = given.topology_assignment
            return replace(given, count=pod_count(known)), known
    found = workload_reference(workload.key)
    raise NotFound("PodSetWithoutTopology", pod_set=pod_set, workload=found)


def _rank_count(workload: Workload, given: PodSetAssignment, places: Mapping[int, Values]) -> int:
    """The ranks of a pod set, with those of pods that single-pod preemption took."""
    begun = workload.layout.counts.get(given.name, given.count)
    wanted = next(each.count for each in workload.spec.pod_sets if each.name == given.name)
    return max(given.count, min(begun, wanted), *(index + 1 for index in places))


def _index_of(workload: Workload, pod_set: str) -> PodIndex | None:
    return next(each.pod_index for each in workload.spec.pod_sets if each.name == pod_set)


def _stretch(
    workload: Workload, given: PodSetAssignment, pods: Sequence[ExecutorPod]
) -> tuple[int, int]:
    """The first index of the pod set's pods and the end of the indices of its pod set group."""
    first, end = 0, given.count
    sets = {each.name: each for each in workload.spec.pod_sets}
    partner = _partner(sets, given.name)
    if partner is not None:
        end = given.count + partner.count
        names = list(sets)
        is_larger = (partner.count, names.index(partner.name)) < (
            given.count,
            names.index(given.name),
        )
        first = partner.count if is_larger else 0
        end = end if is_larger else given.count
    offset = _offset(pods)
    return first + offset, end + offset


def _partner(sets: Mapping[str, PodSet], name: str) -> PodSet | None:
    """The other pod set of the same pod set group, if it has two."""
    request = sets[name].topology_request
    group = request.pod_set_group_name if request is not None else None
    others = [
        other
        for other in sets.values()
        if group is not None
        and other.name != name
        and other.topology_request is not None
        and other.topology_request.pod_set_group_name == group
    ]
    return others[0] if len(others) == 1 else None


def _offset(pods: Sequence[ExecutorPod]) -> int:
    told = pods[0].annotations.get(INDEX_OFFSET) if pods else None
    if told is None:
        return 0
    offset = _number(told)
    if offset is None:
        pointer = child("/pods", 0, "annotations", INDEX_OFFSET)
        raise InvalidObject.at(pointer, "NotInteger")
    return offset


def _ranks(
    index: PodIndex | None, pods: Sequence[ExecutorPod], stretch: tuple[int, int, int]
) -> dict[str, int] | None:
    """The rank of every pod; None if a pod has none, or one that is taken or out of range."""
    if index is None:
        return None
    first, end, count = stretch
    ranks: dict[str, int] = {}
    taken: set[int] = set()
    for pod in pods:
        rank = _rank(index, pod, end, count)
        if rank is None or not 0 <= rank - first < count or rank in taken:
            return None
        taken.add(rank)
        ranks[pod.name] = rank - first
    return ranks


def _rank(index: PodIndex, pod: ExecutorPod, end: int, count: int) -> int | None:
    rank = _number(pod.labels.get(index.label))
    if rank is None or rank >= end:
        return None
    if index.sub_group_label is None:
        return rank
    job = _number(pod.labels.get(index.sub_group_label))
    if job is None or index.sub_group_count <= job:
        return None
    size = count // index.sub_group_count
    return rank + job * size if rank < size else None


def _number(text: str | None) -> int | None:
    if text is None or not text.isascii() or not text.isdigit() or len(text) > MAX_INDEX_DIGITS:
        return None
    return int(text)


def _by_rank(
    pods: Sequence[ExecutorPod], ranks: Mapping[str, int] | None, places: Mapping[int, Values]
) -> dict[str, Values] | None:
    """The gated pods with the domains of their ranks; None if a pod runs in another domain.

    A rank that single-pod preemption took has no place.
    """
    if ranks is None:
        return None
    meant: dict[str, Values] = {}
    for pod in pods:
        place = places.get(ranks[pod.name])
        if place is None or pod.values not in {(), place}:
            return None
        if not pod.values:
            meant[pod.name] = place
    return meant


def _one_after_another(
    pods: Sequence[ExecutorPod], known: TopologyAssignment
) -> Iterator[tuple[str, Values]]:
    """The gated pods in listed order with the domains that lack pods (greedy assignment)."""
    there = Counter(pod.values for pod in pods)
    waiting = (pod for pod in pods if not pod.values)
    for domain in known.domains:
        lacks = domain.count - there[domain.values]
        for pod in islice(waiting, max(0, lacks)):
            yield pod.name, domain.values
