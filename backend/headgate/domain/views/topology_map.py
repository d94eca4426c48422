"""The map of a topology: what every domain offers, what is used, what is free, and who is where."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from headgate.domain.cell import Cell
from headgate.domain.configured import Configured
from headgate.domain.scheduling.placement.domains import path_of
from headgate.domain.scheduling.placement.hosts import PODS, host_name, is_usable
from headgate.domain.topology.specs import HOSTNAME_LABEL, NodeSpec, TopologySpec
from headgate.domain.values.quantities import Requests, added, scaled
from headgate.domain.values.selectors import Taint
from headgate.domain.workloads.leaving import holds_quota


@dataclass(frozen=True, slots=True)
class PodsHere:
    """How many pods of a workload lie on a host."""

    key: str
    pods: int
    cluster_queue: str
    priority: int


@dataclass(frozen=True, slots=True)
class MapHost:
    """A host with who is on it."""

    name: str
    ready: bool
    cordoned: bool
    taints: tuple[Taint, ...]
    workloads: tuple[PodsHere, ...]


@dataclass(frozen=True, slots=True)
class MapDomain:
    """A domain with amounts in base units; `free` counts hosts that take pods, and never below 0.

    `host` is set for hosts, `children` for what has more below it.
    """

    path: tuple[str, ...]
    hosts: int
    ready: int
    allocatable: Requests
    used: Requests
    others: Requests
    free: Requests
    children: tuple["MapDomain", ...] = ()
    host: MapHost | None = None


@dataclass(frozen=True, slots=True)
class TopologyMap:
    """The widest domains of a topology, with its levels and the resources its hosts offer."""

    topology: str
    levels: tuple[str, ...]
    resources: tuple[str, ...]
    domains: tuple[MapDomain, ...]


@dataclass(frozen=True, slots=True)
class _Stay:
    here: PodsHere
    takes: Requests


def topology_map(cell: Cell, name: str) -> TopologyMap | None:
    """The map of one topology; None if there is none of that name."""
    found = cell.config.topologies.get(name)
    if found is None:
        return None
    stays = _stays(cell)
    hosts = [
        (path_of(node, found.spec), _host(path_of(node, found.spec), node, stays))
        for _, node in sorted(cell.config.nodes.items())
        if _is_in(node, found.spec)
    ]
    resources = sorted({r for _, host in hosts for r in host.allocatable})
    domains = _grouped(sorted(hosts, key=lambda pair: (pair[0], pair[1].path)), 0)
    return TopologyMap(name, found.spec.levels, tuple(resources), domains)


def _is_in(node: Configured[NodeSpec], topology: TopologySpec) -> bool:
    return all(level in node.labels or level == HOSTNAME_LABEL for level in topology.levels)


def _stays(cell: Cell) -> dict[str, list[_Stay]]:
    """Who is on which host, for assignments that go down to hosts."""
    found: dict[str, list[_Stay]] = {}
    for key, workload in sorted(cell.workloads.items()):
        if workload.admission is None or not holds_quota(workload):
            continue
        sets = {pod_set.name: pod_set for pod_set in workload.spec.pod_sets}
        for given in workload.admission.pod_set_assignments:
            placed = given.topology_assignment
            if placed is None or placed.levels[-1] != HOSTNAME_LABEL or given.name not in sets:
                continue
            requests = {PODS: 1, **sets[given.name].scheduling.requests}
            queue, priority = workload.admission.cluster_queue, workload.spec.priority
            for domain in placed.domains:
                here = PodsHere(key, domain.count, queue, priority)
                stay = _Stay(here, scaled(requests, domain.count))
                found.setdefault(domain.values[-1], []).append(stay)
    return found


def _host(
    path: tuple[str, ...], node: Configured[NodeSpec], stays: Mapping[str, list[_Stay]]
) -> MapDomain:
    here = stays.get(host_name(node), [])
    used: Requests = {}
    for stay in here:
        used = added(used, stay.takes)
    spec = node.spec
    free = {
        resource: max(0, amount - spec.used_by_others.get(resource, 0) - used.get(resource, 0))
        for resource, amount in sorted(spec.allocatable.items())
        if is_usable(spec)
    }
    return MapDomain(
        path=path,
        hosts=1,
        ready=int(is_usable(spec)),
        allocatable=spec.allocatable,
        used=used,
        others=spec.used_by_others,
        free=free,
        host=MapHost(
            node.name,
            spec.ready,
            spec.unschedulable,
            spec.taints,
            tuple(stay.here for stay in here),
        ),
    )


def _grouped(hosts: list[tuple[tuple[str, ...], MapDomain]], level: int) -> tuple[MapDomain, ...]:
    groups: dict[str, list[tuple[tuple[str, ...], MapDomain]]] = {}
    for path, host in hosts:
        groups.setdefault(path[level], []).append((path, host))
    return tuple(_domain(members, level) for members in groups.values())


def _domain(members: list[tuple[tuple[str, ...], MapDomain]], level: int) -> MapDomain:
    path = members[0][0]
    is_lowest = level + 1 == len(path)
    if is_lowest and len(members) == 1:
        return members[0][1]
    children = tuple(host for _, host in members) if is_lowest else _grouped(members, level + 1)
    return MapDomain(
        path=path[: level + 1],
        hosts=sum(child.hosts for child in children),
        ready=sum(child.ready for child in children),
        allocatable=_total(child.allocatable for child in children),
        used=_total(child.used for child in children),
        others=_total(child.others for child in children),
        free=_total(child.free for child in children),
        children=children,
    )


def _total(amounts: Iterable[Requests]) -> Requests:
    total: Requests = {}
    for more in amounts:
        total = added(total, more)
    return total
