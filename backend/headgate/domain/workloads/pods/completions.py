"""Pod sets with completions: the next index takes the place of one that is over.

Each index completes once over all attempts (Kubernetes: Indexed Jobs). While single pods are being
evicted no index takes a place, so that the pods to evict stay the same. Subgroups share places and
indices evenly: no more of one run at a time than it has places (JobSet: Jobs of several replicas).
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import chain, islice

from msgspec.structs import replace

from headgate.domain.values.index_ranges import (
    IndexRanges,
    absent,
    contains,
    count_between,
    count_of,
    joined,
    ranges_of,
)
from headgate.domain.workloads.admission import Admission
from headgate.domain.workloads.pods.attempt_pods import (
    FIRST_LAYOUT,
    NO_PROGRESS,
    AttemptLayout,
    Nodes,
    PodProgress,
    assigned_nodes,
    pod_nodes,
)
from headgate.domain.workloads.specs import (
    NO_ENTRIES,
    PodSet,
    SuccessRule,
    WorkloadSpec,
    index_count,
    sub_group_size,
)
from headgate.domain.workloads.state import Workload


def with_completions(spec: WorkloadSpec) -> Iterator[PodSet]:
    """The pod sets of which each index completes once."""
    return (pod_set for pod_set in spec.pod_sets if pod_set.completions is not None)


def indices_over(workload: Workload, pod_set: str) -> IndexRanges:
    """The indices that have completed, or have failed for good."""
    succeeded = workload.progress.get(pod_set, NO_PROGRESS).succeeded
    return joined(succeeded, workload.retry.failed.get(pod_set, ()))


def indices_left(workload: Workload, pod_set: PodSet) -> int:
    """How many indices have yet to complete, those that run included."""
    return (pod_set.completions or 0) - count_of(indices_over(workload, pod_set.name))


def places_needed(workload: Workload, pod_set: PodSet) -> int:
    """How many pods of a pod set with completions still run at a time, at most."""
    total, size = pod_set.completions or 0, sub_group_size(pod_set)
    over, places = indices_over(workload, pod_set.name), _places(pod_set)
    return sum(
        min(places, size - count_between(over, begin, begin + size))
        for begin in range(0, total, size or 1)
    )


def _places(pod_set: PodSet) -> int:
    """How many indices of one subgroup run at a time, at most."""
    size = sub_group_size(pod_set)
    return pod_set.count * size // pod_set.completions if pod_set.completions else 0


def is_success(workload: Workload) -> bool:
    """Whether a success rule holds by the pods that have completed."""
    return any(_holds(workload, rule) for rule in workload.spec.success_rules)


def _holds(workload: Workload, rule: SuccessRule) -> bool:
    named = [s for s in workload.spec.pod_sets if not rule.pod_sets or s.name in rule.pod_sets]
    return bool(named) and all(_succeeds(workload, pod_set, rule) for pod_set in named)


def _succeeds(workload: Workload, pod_set: PodSet, rule: SuccessRule) -> bool:
    succeeded = workload.progress.get(pod_set.name, NO_PROGRESS).succeeded
    if not rule.indexes:
        return count_of(succeeded) >= (rule.count or index_count(pod_set))
    missing = count_of(joined(succeeded, rule.indexes)) - count_of(succeeded)
    size = count_of(rule.indexes)
    return size - missing >= (rule.count or size)


def runs_all_at_once(workload: Workload) -> bool:
    """Whether every index has a pod from the start, so that there is a world size."""
    given = workload.admission.pod_set_assignments if workload.admission is not None else ()
    counts = {each.name: each.count for each in given}
    return not any(
        (pod_set.completions or 0) > pod_set.count
        or (pod_set.min_count is not None and counts.get(pod_set.name, 0) < pod_set.count)
        for pod_set in with_completions(workload.spec)
    )


def progress_kept(workload: Workload) -> dict[str, PodProgress]:
    """What the next attempt keeps: indices that are over."""
    return {
        pod_set.name: PodProgress(
            succeeded=workload.progress.get(pod_set.name, NO_PROGRESS).succeeded,
            failed=workload.retry.failed.get(pod_set.name, ()),
        )
        for pod_set in with_completions(workload.spec)
    } or NO_ENTRIES


def first_layout(workload: Workload, admission: Admission) -> AttemptLayout:
    """The layout as an attempt begins: the first indices that are not over, in order."""
    indexed = {pod_set.name: pod_set for pod_set in with_completions(workload.spec)}
    if not indexed:
        return FIRST_LAYOUT
    counts: dict[str, int] = {}
    nodes: dict[str, Nodes] = {}
    for given in admission.pod_set_assignments:
        assigned = assigned_nodes(given)
        pod_set = indexed.get(given.name)
        counts[given.name] = len(assigned)
        if pod_set is not None and pod_set.completions is not None:
            counts[given.name] = pod_set.completions
            first = _first_indices(pod_set, indices_over(workload, given.name))
            nodes[given.name] = dict(zip(first, assigned, strict=False))
    return AttemptLayout(counts=counts, nodes=nodes)


def _first_indices(pod_set: PodSet, over: IndexRanges) -> Iterator[int]:
    """The indices that are not over, in order, of each subgroup as many as it has places."""
    total, size = pod_set.completions or 0, sub_group_size(pod_set)
    if size == total:
        return absent(over, total)
    return chain.from_iterable(
        islice(absent(over, begin + size, begin), _places(pod_set))
        for begin in range(0, total, size)
    )


def advanced(workload: Workload) -> Workload:
    """The workload with the next indices in the places of those that are over."""
    if workload.admission is None or workload.pod_evictions:
        return workload
    changed: dict[str, Nodes] = {}
    known: Mapping[str, Nodes] = {}
    for pod_set in with_completions(workload.spec):
        known = known or pod_nodes(workload.admission, workload.layout)
        nodes = known.get(pod_set.name, {})
        over = indices_over(workload, pod_set.name)
        free = {index: node for index, node in nodes.items() if contains(over, index)}
        if free:
            stay = {index: node for index, node in nodes.items() if index not in free}
            taken = _next_indices(pod_set, joined(over, ranges_of(stay)), stay, free)
            changed[pod_set.name] = dict(sorted({**stay, **taken}.items()))
    if not changed:
        return workload
    layout = replace(workload.layout, nodes={**workload.layout.nodes, **changed})
    return replace(workload, layout=layout)


def _next_indices(pod_set: PodSet, begun: IndexRanges, stay: Nodes, free: Nodes) -> Nodes:
    """The next indices on free nodes: each of the subgroup of the index that was there.

    Where that has none left, of the first subgroup with fewer pods than places; there is one only
    where the pod set has fewer pods than it asks for (partial admission).
    """
    total, size = pod_set.completions or 0, sub_group_size(pod_set)
    if size == total:
        return dict(zip(absent(begun, total), free.values(), strict=False))
    places, taken = _places(pod_set), dict[int, str]()
    running = Counter(index // size for index in stay)
    left = [absent(begun, begin + size, begin) for begin in range(0, total, size)]
    is_partial = len(stay) + len(free) < pod_set.count
    others = range(len(left)) if is_partial else ()
    for before, node in free.items():
        for group in (before // size, *others):
            following = next(left[group], None) if running[group] < places else None
            if following is not None:
                running[group] += 1
                taken[following] = node
                break
    return taken
