"""Quota and hosts reckoned from plain states, by arithmetic that shares nothing with scheduling."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from headgate.domain.cell import Cell
from headgate.domain.queues.specs import ClusterQueueSpec, ResourceQuota
from headgate.domain.workloads.admission import Admission
from headgate.domain.workloads.specs import PodSet
from headgate.domain.workloads.state import Workload

GPU = "gpu"


@dataclass(frozen=True, slots=True)
class Reckoning:
    """What is free in one view: quota by ClusterQueue, pods by host."""

    free: dict[str, int]
    gpus: dict[str, int]
    pods: dict[str, int]
    racks: dict[str, str]

    def both(self, other: "Reckoning") -> "Reckoning":
        """What is free in either view: who comes must find room in both."""
        return Reckoning(
            {name: min(free, other.free[name]) for name, free in self.free.items()},
            {host: min(free, other.gpus[host]) for host, free in self.gpus.items()},
            {host: min(free, other.pods[host]) for host, free in self.pods.items()},
            self.racks,
        )

    def rooms(self, pod_set: PodSet) -> dict[str, int]:
        """How many pods of a pod set each host has room for."""
        each = pod_set.scheduling.requests.get(GPU, 0)
        return {
            host: max(0, min(self.pods[host], free // each if each else self.pods[host]))
            for host, free in self.gpus.items()
        }

    def best_rack(self, pod_set: PodSet) -> int:
        """The most pods that any one rack has room for."""
        racks: Counter[str] = Counter()
        for host, room in self.rooms(pod_set).items():
            racks[self.racks[host]] += room
        return max(racks.values(), default=0)

    def can_place(self, pod_set: PodSet) -> bool:
        """Whether all its pods find hosts as it asks for."""
        request = pod_set.topology_request
        if request is not None and request.required:
            return self.best_rack(pod_set) >= pod_set.count
        return sum(self.rooms(pod_set).values()) >= pod_set.count


def reckon(cell: Cell, *, projected: bool, without: str = "") -> Reckoning:
    """Everything anew: now, or as if all who leave had left and all nominated had come.

    `without` is a workload whose own nomination is not counted.
    """
    held = [
        (workload, given)
        for key, workload in sorted(cell.workloads.items())
        if key != without and (given := _claim(workload, projected=projected)) is not None
    ]
    usage: Counter[str] = Counter()
    for _, given in held:
        usage[given.cluster_queue] += sum(
            assigned.resource_usage.get(GPU, 0) for assigned in given.pod_set_assignments
        )
    gpus, pods, racks = _hosts(cell)
    for workload, given in held:
        for host, count, each in _places(workload, given):
            if host in gpus:
                gpus[host] -= count * each
                pods[host] -= count
    return Reckoning(_free(cell, usage), gpus, pods, racks)


def best_empty_rack(cell: Cell, pod_set: PodSet) -> int:
    """The most pods that any one rack has room for when no workload stands anywhere."""
    return Reckoning({}, *_hosts(cell)).best_rack(pod_set)


def _claim(workload: Workload, *, projected: bool) -> Admission | None:
    if workload.finished_at is not None:
        return None
    leaves = workload.eviction is not None or (
        workload.terminating_at is not None or workload.cancelling_at is not None
    )
    if workload.admission is not None:
        return None if projected and leaves else workload.admission
    return workload.nomination if projected else None


def _hosts(cell: Cell) -> tuple[dict[str, int], dict[str, int], dict[str, str]]:
    gpus, pods, racks = {}, {}, {}
    for name, node in sorted(cell.config.nodes.items()):
        if not node.spec.ready or node.spec.unschedulable:
            continue
        others = node.spec.used_by_others
        gpus[name] = node.spec.allocatable.get(GPU, 0) - others.get(GPU, 0)
        pods[name] = node.spec.allocatable.get("pods", 0) - others.get("pods", 0)
        racks[name] = f"{node.labels['block']}/{node.labels['rack']}"
    return gpus, pods, racks


def _places(workload: Workload, given: Admission) -> Iterator[tuple[str, int, int]]:
    sets = {pod_set.name: pod_set for pod_set in workload.spec.pod_sets}
    for assigned in given.pod_set_assignments:
        if assigned.topology_assignment is None:
            continue
        each = sets[assigned.name].scheduling.requests.get(GPU, 0)
        for domain in assigned.topology_assignment.domains:
            yield domain.values[-1], domain.count, each


def _free(cell: Cell, usage: Mapping[str, int]) -> dict[str, int]:
    """Kueue's available quota for queues that stand alone or in one cohort (queueing.md §2)."""
    quotas = {name: _quota(queue.spec) for name, queue in cell.config.cluster_queues.items()}
    shared, taken = 0, 0
    for name, quota in quotas.items():
        if cell.config.cluster_queues[name].spec.cohort_name:
            own = _own(quota)
            shared += quota.nominal_quota - own
            taken += max(0, usage.get(name, 0) - own)
    free = {}
    for name, quota in quotas.items():
        used = usage.get(name, 0)
        if not cell.config.cluster_queues[name].spec.cohort_name:
            free[name] = quota.nominal_quota - used
            continue
        own = _own(quota)
        lent = shared - taken
        if quota.borrowing_limit is not None:
            most = quota.nominal_quota - own - max(0, used - own) + quota.borrowing_limit
            lent = min(lent, most)
        free[name] = max(0, own - used) + lent
    return free


def _own(quota: ResourceQuota) -> int:
    """What it never lends."""
    return 0 if quota.lending_limit is None else max(0, quota.nominal_quota - quota.lending_limit)


def _quota(spec: ClusterQueueSpec) -> ResourceQuota:
    (group,) = spec.resource_groups
    (flavor,) = group.flavors
    (quota,) = flavor.resources
    return quota
