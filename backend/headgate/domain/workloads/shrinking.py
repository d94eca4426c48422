"""How a workload loses some of its pods and goes on with the others (preemption.md §6.6, §6.10)."""

from collections.abc import Callable

from msgspec.structs import replace

from headgate.domain.values.instants import Instant
from headgate.domain.workloads.admission import hosts_of
from headgate.domain.workloads.preemption_events import WorkloadPodsEvicted, WorkloadShrunk
from headgate.domain.workloads.state import Eviction, Shrinking, Workload
from headgate.domain.workloads.surplus import with_fewer


def after_pods_evicted(workload: Workload, event: WorkloadPodsEvicted, at: Instant) -> Workload:
    """Some of its pods are on their way out, and hold what they held until they have stopped."""
    eviction = Eviction(
        id=event.eviction,
        reason="Preempted",
        underlying_cause=event.underlying_cause,
        started_at=at,
        handler=event.soft.handler if event.soft else "",
        soft=event.soft,
    )
    shrinking = Shrinking(eviction=eviction, pods=event.pods, counts=event.counts)
    return replace(workload, shrinking=shrinking)


def after_shrinking(workload: Workload, event: WorkloadShrunk) -> Workload:
    """They are gone: it holds less, and hosts that failed under them concern it no more."""
    if workload.admission is None:
        return replace(workload, shrinking=None)
    admission = with_fewer(workload.admission, event.pods, event.counts)
    hosts = hosts_of(admission)
    failed = {host: why for host, why in workload.unhealthy_nodes.items() if host in hosts}
    gone = tuple(host for host in workload.pods_gone if host in hosts)
    return replace(
        workload, admission=admission, shrinking=None, unhealthy_nodes=failed, pods_gone=gone
    )


def open_eviction(workload: Workload, eviction: str) -> Eviction | None:
    """The eviction of that name that is on, of all of it or of some pods; empty means of all."""
    of_all = workload.eviction
    if of_all is not None and eviction in {"", of_all.id}:
        return of_all
    some = workload.shrinking.eviction if workload.shrinking else None
    return some if some is not None and some.id == eviction else None


def present_eviction(workload: Workload) -> Eviction | None:
    """The eviction that is on, of all of it or else of some pods."""
    if workload.eviction is not None or workload.shrinking is None:
        return workload.eviction
    return workload.shrinking.eviction


def with_eviction(
    workload: Workload, eviction: str, change: Callable[[Eviction], Eviction]
) -> Workload:
    """The workload with the eviction of that name changed; unchanged if none is on."""
    shrinking = workload.shrinking
    if shrinking is not None and shrinking.eviction.id == eviction:
        return replace(workload, shrinking=replace(shrinking, eviction=change(shrinking.eviction)))
    if workload.eviction is None:
        return workload
    return replace(workload, eviction=change(workload.eviction))
