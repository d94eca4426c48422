"""Quota and hosts counted from plain states, by arithmetic that shares no code with scheduling.

Queues are those of the simulation: a LocalQueue has the name of its ClusterQueue, one resource.
"""

from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import product

from msgspec.structs import replace

from headgate.domain.cluster_state import ClusterState
from headgate.domain.kinds.queue_settings import ResourceQuota
from headgate.domain.workloads.admission import Admission, PodSetAssignment
from headgate.domain.workloads.specs import PodSet
from headgate.domain.workloads.state import Workload
from tests.simulation.available_quota import Free, free_of

GPU = "gpu"
NO_WORKLOADS: Collection[str] = ()


@dataclass(frozen=True, slots=True)
class Accounting:
    """The free capacity in one view: quota by ClusterQueue and flavor, pods by host."""

    free: Free
    gpus: dict[str, int]
    pods: dict[str, int]
    racks: dict[str, str]

    def both(self, other: "Accounting") -> "Accounting":
        """The free capacity in both views."""
        return Accounting(
            {name: min(free, other.free[name]) for name, free in self.free.items()},
            {host: min(free, other.gpus[host]) for host, free in self.gpus.items()},
            {host: min(free, other.pods[host]) for host, free in self.pods.items()},
            self.racks,
        )

    def fits(self, cluster_state: ClusterState, workload: Workload) -> bool:
        """Whether some choice of flavors has quota and hosts for all its pods."""
        sets = workload.spec.pod_sets
        choices = (suitable_flavors(cluster_state, workload, pod_set) for pod_set in sets)
        return any(self._serves(cluster_state, workload, flavors) for flavors in product(*choices))

    def has_quota(self, workload: Workload, flavors: tuple[str, ...]) -> bool:
        """Whether its queue may use what its pod sets ask of these flavors."""
        needed: Counter[str] = Counter()
        for pod_set, flavor in zip(workload.spec.pod_sets, flavors, strict=True):
            needed[flavor] += total(pod_set)
        queue = workload.spec.queue_name
        return all(need <= self.free[queue, flavor] for flavor, need in needed.items())

    def _serves(
        self, cluster_state: ClusterState, workload: Workload, flavors: tuple[str, ...]
    ) -> bool:
        placed = zip(workload.spec.pod_sets, flavors, strict=True)
        return self.has_quota(workload, flavors) and all(
            self.can_place(pod_set)
            for pod_set, flavor in placed
            if has_hosts(cluster_state, flavor)
        )

    def rooms(self, pod_set: PodSet) -> dict[str, int]:
        """Returns how many pods of a pod set each host can take."""
        each = pod_set.scheduling.requests.get(GPU, 0)
        return {
            host: max(0, min(self.pods[host], free // each if each else self.pods[host]))
            for host, free in self.gpus.items()
        }

    def best_rack(self, pod_set: PodSet) -> int:
        """Returns the most pods that any one rack can take."""
        racks: Counter[str] = Counter()
        for host, room in self.rooms(pod_set).items():
            racks[self.racks[host]] += room
        return max(racks.values(), default=0)

    def can_place(self, pod_set: PodSet) -> bool:
        """Whether all its pods find hosts by its topology request."""
        request = pod_set.topology_request
        if request is not None and request.required:
            return self.best_rack(pod_set) >= pod_set.count
        return sum(self.rooms(pod_set).values()) >= pod_set.count


def account(
    cluster_state: ClusterState,
    *,
    projected: bool,
    without: str = "",
    gone: Collection[str] = NO_WORKLOADS,
) -> Accounting:
    """Counts all usage, at present or after all evictions and nominations.

    `without` is a workload without its own nomination, `gone` are workloads that count nothing.
    """
    held = [
        (workload, given)
        for key, workload in sorted(cluster_state.workloads.items())
        if key != without
        and key not in gone
        and (given := _claim(workload, projected=projected)) is not None
    ]
    usage: Counter[tuple[str, str]] = Counter()
    for _, given in held:
        for assigned in given.pod_set_assignments:
            if GPU in assigned.flavors:
                key = (given.cluster_queue, assigned.flavors[GPU])
                usage[key] += assigned.resource_usage.get(GPU, 0)
    gpus, pods, racks = _hosts(cluster_state)
    for workload, given in held:
        for host, count, each in _places(workload, given):
            if host in gpus:
                gpus[host] -= count * each
                pods[host] -= count
    return Accounting(free_of(cluster_state, usage), gpus, pods, racks)


def empty(cluster_state: ClusterState) -> Accounting:
    """The capacity of an empty installation, with the nodes that are usable now."""
    return Accounting(free_of(cluster_state, {}), *_hosts(cluster_state))


def emptied(cluster_state: ClusterState) -> Accounting:
    """The same with every node usable: what no verdict of *Unschedulable* may fit (ADR 0036)."""
    return Accounting(free_of(cluster_state, {}), *_hosts(cluster_state, usable=False))


def total(pod_set: PodSet) -> int:
    """The requests of all its pods."""
    return pod_set.count * pod_set.scheduling.requests.get(GPU, 0)


def quotas_of(cluster_state: ClusterState, queue: str) -> dict[str, ResourceQuota]:
    """The quota of a ClusterQueue in each of its flavors, in its order."""
    (group,) = cluster_state.config.cluster_queues[queue].spec.resource_groups
    return {flavor.name: flavor.resources[0] for flavor in group.flavors}


def suitable_flavors(cluster_state: ClusterState, workload: Workload, pod_set: PodSet) -> list[str]:
    """The flavors that suit a pod set: with hosts if it has a topology request.

    A ClusterQueue with hosts for all flavors assigns hosts without a request.
    """
    flavors = list(quotas_of(cluster_state, workload.spec.queue_name))
    placed = [flavor for flavor in flavors if has_hosts(cluster_state, flavor)]
    if len(placed) == len(flavors):
        return flavors
    wants_place = pod_set.topology_request is not None
    return [flavor for flavor in flavors if (flavor in placed) == wants_place]


def has_hosts(cluster_state: ClusterState, flavor: str) -> bool:
    """Whether pods of a flavor run on known hosts."""
    return bool(cluster_state.config.resource_flavors[flavor].spec.topology_name)


def _claim(workload: Workload, *, projected: bool) -> Admission | None:
    if workload.finished_at is not None:
        return None
    if workload.admission is not None and projected:
        return (
            None
            if workload.eviction is not None
            else _after_pod_evictions(workload, workload.admission)
        )
    if workload.admission is not None:
        return workload.admission
    return workload.nomination if projected else None


def _after_pod_evictions(workload: Workload, given: Admission) -> Admission:
    """The admission after ongoing partial evictions of the pods that they name."""
    going: dict[str, int] = {}
    named: dict[str, set[int]] = {}
    for asked in workload.pod_evictions:
        for name, count in asked.pods.items():
            going[name] = going.get(name, 0) + count
        for name, ranges in asked.indices.items():
            found = named.setdefault(name, set())
            found.update(index for first, last in ranges for index in range(first, last + 1))
    kept = tuple(
        _cut(workload, assigned, going[assigned.name], named[assigned.name])
        if assigned.name in going
        else assigned
        for assigned in given.pod_set_assignments
    )
    return replace(given, pod_set_assignments=kept)


def _cut(
    workload: Workload, assigned: PodSetAssignment, going: int, named: set[int]
) -> PodSetAssignment:
    count = assigned.count - going
    usage = {name: used // assigned.count * count for name, used in assigned.resource_usage.items()}
    placed = assigned.topology_assignment
    if placed is not None:
        in_turn = [domain.values[-1] for domain in placed.domains for _ in range(domain.count)]
        hosts = workload.layout.nodes.get(assigned.name, dict(enumerate(in_turn)))
        left = Counter(host for index, host in hosts.items() if index not in named)
        domains = (replace(domain, count=left[domain.values[-1]]) for domain in placed.domains)
        placed = replace(placed, domains=tuple(domains))
    return replace(assigned, count=count, resource_usage=usage, topology_assignment=placed)


def _hosts(
    cluster_state: ClusterState, *, usable: bool = True
) -> tuple[dict[str, int], dict[str, int], dict[str, str]]:
    gpus, pods, racks = {}, {}, {}
    for name, node in sorted(cluster_state.config.nodes.items()):
        if usable and (not node.spec.ready or node.spec.unschedulable):
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
