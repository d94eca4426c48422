"""The map of a topology: its domains and hosts in columns, and what changed since a position.

Maps are made whole and kept, each row with the position at which it was first seen as it is.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

import msgspec

from headgate.application.access.redaction import NamespaceScope
from headgate.application.application_services import ApplicationServices, KnownMap, MapRow
from headgate.application.cooperative import Cooperative
from headgate.application.historical_ports import FixedReader
from headgate.application.queries.views import (
    Position,
    TaintView,
    Timestamp,
    Whole,
    timestamp,
    view_from,
)
from headgate.domain.cluster_state import ClusterState
from headgate.domain.kinds.configured_object import Configured
from headgate.domain.kinds.topology import TopologySpec
from headgate.domain.nodes.state import NodeSpec
from headgate.domain.rejection import NotFound
from headgate.domain.scheduling.placement.flavor_topology import belongs_to_flavor, leaf_path
from headgate.domain.scheduling.placement.host_table import PODS, host_name, is_schedulable
from headgate.domain.values.quantities import Requests, add_to, resource_rank, scaled
from headgate.domain.workloads.admission import hosts_of, needed_admission
from headgate.domain.workloads.predicates import has_quota_reservation
from headgate.domain.workloads.state import Workload


class TopologyMap(Whole, kw_only=True, frozen=True):
    """The domains and hosts of a topology in columns, one entry for each row, in order of paths.

    `parents` are rows, -1 at the highest level; a row that is no parent is a host. `ready` and
    `cordoned` count hosts, `faulty` those with a device that has uncorrected errors. Amounts are
    multiples of the unit of their resource, in base units; a resource without any amount in a
    column is left out. `flavors` and `queues` are places in `flavorSets` and `clusterQueues`, where
    "" is withheld, and -1 is none. A queue is the one that takes most of a host, a priority the
    highest on it.

    With `rows`, columns are of these changed rows alone, and `names` and `parents` are empty.
    """

    position: Position
    at: Timestamp
    topology: str
    levels: list[str]
    resources: list[str]
    units: dict[str, int]
    flavor_sets: list[list[str]]
    cluster_queues: list[str]
    rows: list[int] | None
    names: list[str]
    parents: list[int]
    ready: list[int]
    cordoned: list[int]
    faulty: list[int]
    flavors: list[int]
    queues: list[int]
    priorities: list[int | None]
    allocatable: dict[str, list[int]]
    used: dict[str, list[int]]
    others: dict[str, list[int]]
    free: dict[str, list[int]]


ConfiguredNode = Configured[NodeSpec]
_FlavoredNode = tuple[ConfiguredNode, list[str]]
Path = tuple[str, ...]


class Stay(msgspec.Struct, frozen=True):
    """Pods of one workload in one place, and what they take together."""

    workload: Workload
    pods: int
    taken: Requests


MAX_KNOWN_MAPS = 4
"""So many maps are kept; one of 10,000 hosts takes some megabytes."""
MAX_SEEN = 100
"""Changes are told since so many of the latest maps."""


def topology_map(
    services: ApplicationServices, name: str, scope: NamespaceScope, since: int | None
) -> Cooperative[TopologyMap]:
    """The map of one topology, or its rows that changed after a position; raises `NotFound`.

    All rows are told where no map of that position was made here, or domains came or went since.
    """
    known = yield from _current_map(services, name, scope)
    rows = None
    if since is not None and since in known.seen:
        rows = [row for row, position in enumerate(known.changed) if position > since]
    columns = yield from _columns(known, rows)
    return TopologyMap(
        position=known.position,
        at=timestamp(services.clock.now()),
        topology=name,
        levels=list(known.levels),
        resources=list(known.resources),
        rows=rows,
        names=[path[-1] for path in known.paths] if rows is None else [],
        parents=_parents(known.paths) if rows is None else [],
        **columns,
    )


def _current_map(
    services: ApplicationServices, name: str, scope: NamespaceScope
) -> Cooperative[KnownMap]:
    """The map now, kept for the next reader; maps of the past are not kept."""
    cluster_state = services.reader.cluster_state
    if isinstance(services.reader, FixedReader):
        return (yield from _map_of(cluster_state, name, scope, None))
    kept = services.known_maps
    found = kept.get((name, scope))
    if found is None or found.position != cluster_state.position:
        found = yield from _map_of(cluster_state, name, scope, found)
    kept.pop((name, scope), None)
    kept[name, scope] = found
    if len(kept) > MAX_KNOWN_MAPS:
        del kept[next(iter(kept))]
    return found


def _map_of(
    cluster_state: ClusterState, name: str, scope: NamespaceScope, before: KnownMap | None
) -> Cooperative[KnownMap]:
    topology = cluster_state.config.topologies.get(name)
    if topology is None:
        raise NotFound("ObjectNotFound", kind="Topology", name=name)
    spec = topology.spec
    nodes = yield from nodes_of(cluster_state, name, spec)
    stays = yield from _stays(cluster_state, name)
    offered = {resource for node, _ in nodes for resource in node.spec.allocatable} | {PODS}
    resources = tuple(sorted(offered, key=resource_rank))
    hosts: dict[Path, MapRow] = {}
    for node, flavors in nodes:
        path = leaf_path(node, spec)
        if not spec.goes_to_hosts:
            path = (*path, host_name(node))
        there = stays.get(path[-1:], []) if spec.goes_to_hosts else []
        if path not in hosts:
            hosts[path] = _host_row((node, flavors), there, resources, scope)
        yield
    above = {} if spec.goes_to_hosts else stays
    domains = yield from _domain_rows(hosts, above, resources)
    paths = tuple(sorted(chain(domains, hosts)))
    rows = tuple(hosts.get(path) or domains[path] for path in paths)
    position, levels = cluster_state.position, spec.levels
    changed: tuple[int, ...] = (position,) * len(rows)
    seen: tuple[int, ...] = (position,)
    if before and (before.levels, before.resources, before.paths) == (levels, resources, paths):
        pairs = zip(before.rows, rows, before.changed, strict=True)
        changed = tuple(at if old == new else position for old, new, at in pairs)
        seen = (*before.seen[1 - MAX_SEEN :], position)
    return KnownMap(position, seen, levels, resources, paths, rows, changed)


def _columns(known: KnownMap, rows: list[int] | None) -> Cooperative[dict[str, Any]]:
    """What is told of all rows, or of some."""
    told = known.rows if rows is None else [known.rows[row] for row in rows]
    flavor_sets = sorted({row.flavors for row in told if row.flavors})
    queues = sorted({row.queue for row in told if row.queue is not None})
    flavor_places = {names: place for place, names in enumerate(flavor_sets)}
    queue_places: dict[str | None, int] = {name: place for place, name in enumerate(queues)}
    columns: dict[str, Any] = {
        "flavor_sets": [list(names) for names in flavor_sets],
        "cluster_queues": queues,
        "ready": [row.ready for row in told],
        "cordoned": [row.cordoned for row in told],
        "faulty": [row.faulty for row in told],
        "flavors": [flavor_places.get(row.flavors, -1) for row in told],
        "queues": [queue_places.get(row.queue, -1) for row in told],
        "priorities": [row.priority for row in told],
        "units": {},
        **{part: {} for part in AMOUNTS},
    }
    for place, resource in enumerate(known.resources):
        amounts = {part: [getattr(row, part)[place] for row in told] for part in AMOUNTS}
        unit = columns["units"][resource] = math.gcd(*chain(*amounts.values())) or 1
        for part, column in amounts.items():
            if any(column):
                columns[part][resource] = [amount // unit for amount in column]
        yield
    return columns


AMOUNTS = ("allocatable", "used", "others", "free")


def _parents(paths: Sequence[Path]) -> list[int]:
    row_of = {path: row for row, path in enumerate(paths)}
    return [row_of.get(path[:-1], -1) for path in paths]


def _domain_rows(
    hosts: Mapping[Path, MapRow], stays: Mapping[Path, list[Stay]], resources: tuple[str, ...]
) -> Cooperative[dict[Path, MapRow]]:
    """The domains above hosts: the sums of these, and of pods in a lowest domain that is no host.

    `stays` are of such domains alone. What they take is free no more, unless nothing is anyway.
    """
    members: dict[Path, list[MapRow]] = {}
    for path, row in hosts.items():
        for depth in range(1, len(path)):
            members.setdefault(path[:depth], []).append(row)
        yield
    nothing = (0,) * len(resources)
    for path, there in stays.items():
        if path not in members:
            continue
        taken = taken_by(there)
        used = tuple(taken.get(name, 0) for name in resources)
        is_open = any(row.ready and not row.cordoned for row in members[path])
        free = tuple(-amount for amount in used) if is_open else nothing
        pods = MapRow(
            ready=0, cordoned=0, faulty=0, allocatable=nothing, used=used, others=nothing, free=free
        )
        for depth in range(1, len(path) + 1):
            members[path[:depth]].append(pods)
        yield
    found = {}
    for path, rows in members.items():
        found[path] = MapRow(
            ready=sum(row.ready for row in rows),
            cordoned=sum(row.cordoned for row in rows),
            faulty=sum(row.faulty for row in rows),
            allocatable=_sums(row.allocatable for row in rows),
            used=_sums(row.used for row in rows),
            others=_sums(row.others for row in rows),
            free=_sums(row.free for row in rows),
        )
        yield
    return found


def _sums(amounts: Iterable[tuple[int, ...]]) -> tuple[int, ...]:
    return tuple(map(sum, zip(*amounts, strict=True)))


def _host_row(
    place: _FlavoredNode, stays: list[Stay], resources: tuple[str, ...], scope: NamespaceScope
) -> MapRow:
    node, flavors = place
    spec, used = node.spec, taken_by(stays)
    free = free_of(spec, used)
    queue, priority = _top_of(stays, scope)
    return MapRow(
        ready=int(spec.ready),
        cordoned=int(spec.unschedulable),
        faulty=int(any(device.uncorrected_errors for device in spec.devices)),
        flavors=tuple(flavors),
        queue=queue,
        priority=priority,
        allocatable=tuple(spec.allocatable.get(name, 0) for name in resources),
        used=tuple(used.get(name, 0) for name in resources),
        others=tuple(spec.used_by_others.get(name, 0) for name in resources),
        free=tuple(free.get(name, 0) for name in resources),
    )


def _top_of(stays: list[Stay], scope: NamespaceScope) -> tuple[str | None, int | None]:
    """The ClusterQueue that takes most of a host, of devices first; the highest priority there."""
    taken: dict[str, Requests] = {}
    priorities = [stay.workload.spec.priority for stay in stays if is_shown(stay, scope)]
    for stay in stays:
        admission = stay.workload.admission
        is_named = admission is not None and is_shown(stay, scope)
        queue = admission.cluster_queue if admission is not None and is_named else ""
        add_to(taken.setdefault(queue, {}), stay.taken)

    def weight(queue: str) -> tuple[int, int, int]:
        amounts = taken[queue]
        devices = sum(amount for name, amount in amounts.items() if "/" in name)
        return devices, amounts.get("cpu", 0), amounts[PODS]

    return max(sorted(taken), key=weight, default=None), max(priorities, default=None)


def taken_by(stays: Iterable[Stay]) -> Requests:
    """What pods take together."""
    taken: Requests = {}
    for stay in stays:
        add_to(taken, stay.taken)
    return taken


def nodes_of(
    cluster_state: ClusterState, topology: str, spec: TopologySpec, domain: Path = ()
) -> Cooperative[list[_FlavoredNode]]:
    """The nodes of a topology, or of one of its domains, with their flavors."""
    flavors = [
        (name, flavor.spec)
        for name, flavor in sorted(cluster_state.config.resource_flavors.items())
        if flavor.spec.topology_name == topology
    ]
    found = []
    for node in tuple(cluster_state.config.nodes.values()):
        names = [name for name, flavor in flavors if belongs_to_flavor(node, flavor, spec)]
        if names and (not domain or leaf_path(node, spec)[: len(domain)] == domain):
            found.append((node, names))
        yield
    return found


def _stays(cluster_state: ClusterState, topology: str) -> Cooperative[dict[Path, list[Stay]]]:
    flavors = {
        name
        for name, flavor in cluster_state.config.resource_flavors.items()
        if flavor.spec.topology_name == topology
    }
    found: dict[Path, list[Stay]] = {}
    for partition_key in cluster_state.partition_keys():
        for holders in tuple(cluster_state.partition(partition_key).charges.holding.values()):
            for key in tuple(holders):
                _add_stays(found, cluster_state.workloads[key], flavors)
                yield
    return found


def stays_on(cluster_state: ClusterState, host: str) -> list[Stay]:
    """The pods of workloads on a host; but for evicting ones, workloads elsewhere are not read."""
    there = {
        workload.key: workload
        for partition_key in cluster_state.partition_keys()
        for workload in cluster_state.partition(partition_key).watch.workloads_on(host)
    }
    for key in cluster_state.reads.index.evicting:
        workload = cluster_state.workloads[key]
        if workload.admission is not None and host in hosts_of(workload.admission):
            there[key] = workload
    flavors, found = set(cluster_state.config.resource_flavors), dict[Path, list[Stay]]()
    for _, workload in sorted(there.items()):
        _add_stays(found, workload, flavors)
    return found.get((host,), [])


def _add_stays(found: dict[Path, list[Stay]], workload: Workload, flavors: set[str]) -> None:
    if workload.admission is None or not has_quota_reservation(workload):
        return
    pod_sets = workload.spec.pod_sets
    requests = {p.name: p.scheduling.requests for p in pod_sets}
    needed = needed_admission(workload.admission, pod_sets, workload.reclaimable)
    for given in needed.pod_set_assignments:
        if given.topology_assignment is None or flavors.isdisjoint(given.flavors.values()):
            continue
        for domain in given.topology_assignment.domains:
            taken = scaled({PODS: 1, **requests.get(given.name, {})}, domain.count)
            stay = Stay(workload, domain.count, taken)
            found.setdefault(domain.values, []).append(stay)


def free_of(spec: NodeSpec, used: Requests) -> Requests:
    """What is free of a node; nothing where it takes no pods."""
    if not is_schedulable(spec):
        return {}
    others = spec.used_by_others
    return {
        resource: amount - used.get(resource, 0) - others.get(resource, 0)
        for resource, amount in spec.allocatable.items()
    }


def taints_of(spec: NodeSpec) -> list[TaintView]:
    """The taints of a node."""
    return [view_from(TaintView, taint) for taint in spec.taints]


def is_shown(stay: Stay, scope: NamespaceScope) -> bool:
    """Whether a reader of these namespaces may see the workload."""
    return scope is None or stay.workload.namespace in scope
