"""Partial evictions: a workload loses some pods and keeps running (preemption.md §6.6, §6.10).

Several rounds may each evict some pods. Each takes pods ranked before those that earlier rounds
asked for, so that no pod is promised twice; they may stop in any order.
"""

from collections.abc import Callable, Iterable, Iterator

from msgspec.structs import replace

from headgate.domain.values.instants import Instant
from headgate.domain.workloads.admission import hosts_of
from headgate.domain.workloads.pods.attempt_pods import (
    AttemptLayout,
    PodProgress,
    attempt_pods,
    changed_layout,
    pod_nodes,
    without_pods_at,
)
from headgate.domain.workloads.pods.completions import advanced
from headgate.domain.workloads.pods.eviction_units import without_pods
from headgate.domain.workloads.preemption_events import WorkloadPodsEvicted, WorkloadShrunk
from headgate.domain.workloads.state import Eviction, PodEviction, Workload
from headgate.domain.workloads.transitions.retry import with_next_runs


def apply_pods_evicted(workload: Workload, event: WorkloadPodsEvicted, at: Instant) -> Workload:
    """The workload with a further partial eviction; its pods keep their quota until stopped."""
    eviction = Eviction(
        id=event.eviction,
        reason="Preempted",
        underlying_cause=event.underlying_cause,
        started_at=at,
        handler=event.soft.handler if event.soft else "",
        soft=event.soft,
    )
    pod_eviction = PodEviction(eviction=eviction, pods=event.pods, counts=event.counts)
    return replace(workload, pod_evictions=(*workload.pod_evictions, pod_eviction))


def apply_shrunk(workload: Workload, event: WorkloadShrunk) -> Workload:
    """The workload without the stopped pods, and without failures of hosts it no longer uses."""
    left = _left(workload.pod_evictions, event)
    if workload.admission is None:
        return replace(workload, pod_evictions=left)
    admission = without_pods(workload.admission, event.pods, event.counts, event.later)
    hosts = hosts_of(admission)
    failed = {host: why for host, why in workload.unhealthy_nodes.items() if host in hosts}
    gone = tuple(host for host in workload.pods_gone if host in hosts)
    shrunk = replace(
        workload, admission=admission, pod_evictions=left, unhealthy_nodes=failed, pods_gone=gone
    )
    nodes = pod_nodes(workload.admission, workload.layout)
    removed = {
        name: _taken(list(nodes.get(name, ())), count, event.later.get(name, 0))
        for name, count in event.pods.items()
    }
    layout = changed_layout(workload.admission, admission, workload.layout, removed)
    return advanced(with_next_runs(with_layout(shrunk, workload, layout), removed))


def with_layout(after: Workload, before: Workload, layout: AttemptLayout) -> Workload:
    """The workload with the layout, and without progress of pods that left or have another run."""
    progress: dict[str, PodProgress] = dict(before.progress)
    assert before.admission is not None, "only the admission of an attempt changes"
    known = {(p.pod_set, p.index): p.run for p in attempt_pods(before.admission, before.layout)}
    for name in before.progress:
        left = layout.nodes.get(name, {})
        runs = layout.runs.get(name, {})
        changed = [
            index
            for (of_set, index), run in known.items()
            if of_set == name and (index not in left or runs.get(index, 1) != run)
        ]
        progress = without_pods_at(progress, name, changed)
    return replace(after, layout=layout, progress=progress)


def pods_of_evictions(
    workload: Workload,
) -> Iterator[tuple[PodEviction, dict[str, tuple[int, ...]]]]:
    """The partial evictions, oldest first, with the indices of their pods by pod set.

    Each takes the last pods in rank order that no earlier one takes.
    """
    if workload.admission is None:
        return
    nodes = pod_nodes(workload.admission, workload.layout)
    later: dict[str, int] = {}
    for each in workload.pod_evictions:
        yield (
            each,
            {
                name: _taken(list(nodes.get(name, ())), count, later.get(name, 0))
                for name, count in each.pods.items()
            },
        )
        for name, count in each.pods.items():
            later[name] = later.get(name, 0) + count


def _taken(indices: list[int], count: int, later: int) -> tuple[int, ...]:
    """The last `count` indices before the last `later` ones."""
    end = max(0, len(indices) - later)
    return tuple(indices[max(0, end - count) : end])


def shrunk_event(workload: Workload, pod_eviction: PodEviction) -> WorkloadShrunk:
    """The event recorded when the pods of a partial eviction have stopped."""
    return WorkloadShrunk(
        eviction=pod_eviction.eviction.id,
        pods=pod_eviction.pods,
        counts=pod_eviction.counts,
        later=later_ranked_pods(workload, pod_eviction),
    )


def later_ranked_pods(workload: Workload, pod_eviction: PodEviction) -> dict[str, int]:
    """The pods by pod set that older partial evictions still take, ranked after this one's."""
    before: list[PodEviction] = []
    for each in workload.pod_evictions:
        if each.eviction.id == pod_eviction.eviction.id:
            break
        before.append(each)
    return {
        name: count for name, count in evicting_pods(before).items() if name in pod_eviction.pods
    }


def evicting_pods(pod_evictions: Iterable[PodEviction]) -> dict[str, int]:
    """The number of pods by pod set that the partial evictions take together."""
    going: dict[str, int] = {}
    for each in pod_evictions:
        for name, count in each.pods.items():
            going[name] = going.get(name, 0) + count
    return going


def can_cancel(workload: Workload, pod_eviction: PodEviction) -> bool:
    """Whether the partial eviction can be cancelled (trap P13).

    It must be the last one, and no lower-ranked pod may have stopped.
    """
    return (
        not pod_eviction.must_go
        and pod_eviction.eviction.id == workload.pod_evictions[-1].eviction.id
    )


def pod_eviction_of(workload: Workload, eviction: str) -> PodEviction | None:
    """The partial eviction with the id, or None."""
    for each in workload.pod_evictions:
        if each.eviction.id == eviction:
            return each
    return None


def without_pod_eviction(workload: Workload, eviction: str) -> Workload:
    """The workload without the partial eviction of the id; its pods keep running."""
    left = tuple(each for each in workload.pod_evictions if each.eviction.id != eviction)
    return advanced(replace(workload, pod_evictions=left))


def find_eviction(workload: Workload, eviction: str) -> Eviction | None:
    """The ongoing eviction with the id, whole or partial; an empty id means the whole one."""
    of_all = workload.eviction
    if of_all is not None and eviction in {"", of_all.id}:
        return of_all
    some = pod_eviction_of(workload, eviction)
    return some.eviction if some is not None else None


def ongoing_evictions(workload: Workload) -> tuple[Eviction, ...]:
    """The eviction of the whole workload if there is one, else the partial ones, oldest first."""
    if workload.eviction is not None:
        return (workload.eviction,)
    return tuple(each.eviction for each in workload.pod_evictions)


def oldest_ongoing_eviction(workload: Workload) -> Eviction | None:
    """The first of `ongoing_evictions`, or None."""
    found = ongoing_evictions(workload)
    return found[0] if found else None


def with_changed_eviction(
    workload: Workload, eviction: str, change: Callable[[Eviction], Eviction]
) -> Workload:
    """The workload with the eviction of the id changed; unchanged if there is none."""
    if pod_eviction_of(workload, eviction) is not None:
        changed = tuple(
            replace(each, eviction=change(each.eviction)) if each.eviction.id == eviction else each
            for each in workload.pod_evictions
        )
        return replace(workload, pod_evictions=changed)
    if workload.eviction is None:
        return workload
    return replace(workload, eviction=change(workload.eviction))


def _left(pod_evictions: tuple[PodEviction, ...], event: WorkloadShrunk) -> tuple[PodEviction, ...]:
    """The remaining partial evictions; those ranked after the stopped pods must proceed."""
    left: list[PodEviction] = []
    is_before = any(each.eviction.id == event.eviction for each in pod_evictions)
    for each in pod_evictions:
        if each.eviction.id == event.eviction:
            is_before = False
        elif is_before:
            left.append(_after_others(each, event.counts))
        else:
            left.append(each)
    return tuple(left)


def _after_others(pod_eviction: PodEviction, counts: dict[str, int]) -> PodEviction:
    """The partial eviction with its remaining counts lowered by pods that stopped before it."""
    if not pod_eviction.counts.keys() & counts.keys():
        return pod_eviction
    stay = {
        name: min(count, counts.get(name, count)) for name, count in pod_eviction.counts.items()
    }
    return replace(pod_eviction, counts=stay, must_go=True)
