"""How a workload loses some of its pods and goes on with the others (preemption.md §6.6, §6.10).

Several rounds may each take some of them. Each takes those before the pods that rounds before it
have asked for, so that no pod is promised twice; in which order they stop does not matter.
"""

from collections.abc import Callable, Iterable

from msgspec.structs import replace

from headgate.domain.values.instants import Instant
from headgate.domain.workloads.admission import hosts_of
from headgate.domain.workloads.pods.eviction_units import without_pods
from headgate.domain.workloads.preemption_events import WorkloadPodsEvicted, WorkloadShrunk
from headgate.domain.workloads.state import Eviction, PodEviction, Workload


def apply_pods_evicted(workload: Workload, event: WorkloadPodsEvicted, at: Instant) -> Workload:
    """Some of its pods are on their way out, and hold what they held until they have stopped."""
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
    """They are gone: it holds less, and hosts that failed under them concern it no more."""
    left = _left(workload.pod_evictions, event)
    if workload.admission is None:
        return replace(workload, pod_evictions=left)
    admission = without_pods(workload.admission, event.pods, event.counts, event.later)
    hosts = hosts_of(admission)
    failed = {host: why for host, why in workload.unhealthy_nodes.items() if host in hosts}
    gone = tuple(host for host in workload.pods_gone if host in hosts)
    return replace(
        workload, admission=admission, pod_evictions=left, unhealthy_nodes=failed, pods_gone=gone
    )


def shrunk_event(workload: Workload, pod_eviction: PodEviction) -> WorkloadShrunk:
    """What follows when the pods that one round asked for have stopped."""
    return WorkloadShrunk(
        eviction=pod_eviction.eviction.id,
        pods=pod_eviction.pods,
        counts=pod_eviction.counts,
        later=later_ranked_pods(workload, pod_eviction),
    )


def later_ranked_pods(workload: Workload, pod_eviction: PodEviction) -> dict[str, int]:
    """How many pods after these, of the same pod sets, are on their way out: asked for before."""
    before: list[PodEviction] = []
    for each in workload.pod_evictions:
        if each.eviction.id == pod_eviction.eviction.id:
            break
        before.append(each)
    return {
        name: count for name, count in evicting_pods(before).items() if name in pod_eviction.pods
    }


def evicting_pods(pod_evictions: Iterable[PodEviction]) -> dict[str, int]:
    """How many pods of each pod set these take together."""
    going: dict[str, int] = {}
    for each in pod_evictions:
        for name, count in each.pods.items():
            going[name] = going.get(name, 0) + count
    return going


def can_cancel(workload: Workload, pod_eviction: PodEviction) -> bool:
    """Whether its pods may stay after all: none before them in rank go, or have gone (T13)."""
    return (
        not pod_eviction.must_go
        and pod_eviction.eviction.id == workload.pod_evictions[-1].eviction.id
    )


def pod_eviction_of(workload: Workload, eviction: str) -> PodEviction | None:
    """The pods that it gives up by the eviction of that name."""
    for each in workload.pod_evictions:
        if each.eviction.id == eviction:
            return each
    return None


def without_pod_eviction(workload: Workload, eviction: str) -> Workload:
    """These pods stay after all."""
    left = tuple(each for each in workload.pod_evictions if each.eviction.id != eviction)
    return replace(workload, pod_evictions=left)


def find_eviction(workload: Workload, eviction: str) -> Eviction | None:
    """The eviction of that name that is on, of all of it or of some pods; empty means of all."""
    of_all = workload.eviction
    if of_all is not None and eviction in {"", of_all.id}:
        return of_all
    some = pod_eviction_of(workload, eviction)
    return some.eviction if some is not None else None


def ongoing_evictions(workload: Workload) -> tuple[Eviction, ...]:
    """The evictions that are on: that of all of it, or else those of some pods, oldest first."""
    if workload.eviction is not None:
        return (workload.eviction,)
    return tuple(each.eviction for each in workload.pod_evictions)


def oldest_ongoing_eviction(workload: Workload) -> Eviction | None:
    """The eviction that is on, of all of it or else of some pods; the oldest of several."""
    found = ongoing_evictions(workload)
    return found[0] if found else None


def with_changed_eviction(
    workload: Workload, eviction: str, change: Callable[[Eviction], Eviction]
) -> Workload:
    """The workload with the eviction of that name changed; unchanged if none is on."""
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
    """Those that still go; pods after the ones that have gone can only go as well."""
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
    """Of the pod sets that others have gone of, fewer stay."""
    if not pod_eviction.counts.keys() & counts.keys():
        return pod_eviction
    stay = {
        name: min(count, counts.get(name, count)) for name, count in pod_eviction.counts.items()
    }
    return replace(pod_eviction, counts=stay, must_go=True)
