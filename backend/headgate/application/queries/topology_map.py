"""The domains of a topology with capacity, free capacity and the workloads there."""

from collections.abc import Iterable, Mapping

import msgspec

from headgate.application.access.redaction import NamespaceScope, foreign_workloads
from headgate.application.application_services import ApplicationServices
from headgate.application.cooperative import Cooperative, each
from headgate.application.queries.views import Position, Timestamp, Whole, timestamp, view_from
from headgate.domain.cluster_state import ClusterState
from headgate.domain.kinds.configured_object import Configured
from headgate.domain.kinds.topology import TopologySpec
from headgate.domain.nodes.state import NodeSpec
from headgate.domain.rejection import NotFound
from headgate.domain.scheduling.placement.flavor_topology import belongs_to_flavor, leaf_path
from headgate.domain.scheduling.placement.host_table import PODS, host_name, is_schedulable
from headgate.domain.values.quantities import Requests, add_to, added, scaled
from headgate.domain.workloads.admission import needed_admission
from headgate.domain.workloads.predicates import has_quota_reservation
from headgate.domain.workloads.state import Workload


class TaintView(Whole, kw_only=True, frozen=True):
    """A mark that keeps pods away."""

    key: str
    value: str
    effect: str


class HostWorkload(Whole, kw_only=True, frozen=True):
    """Pods of one workload on one host; other teams' keys are withheld from submitters."""

    key: str
    pods: int
    cluster_queue: str
    priority: int


class HostView(Whole, kw_only=True, frozen=True):
    """A node of the topology."""

    name: str
    ready: bool
    cordoned: bool
    flavors: list[str]
    taints: list[TaintView]
    workloads: list[HostWorkload]


class DomainNode(msgspec.Struct, rename="camel", kw_only=True, frozen=True):
    """A domain of some level; amounts are integers in base units, `host` is set on leaves."""

    path: list[str]
    hosts: int
    ready: int
    allocatable: dict[str, int]
    used: dict[str, int]
    others: dict[str, int]
    free: dict[str, int]
    children: list["DomainNode"]
    host: HostView | None = None


class TopologyMap(Whole, kw_only=True, frozen=True):
    """All domains of a topology."""

    position: Position
    at: Timestamp
    topology: str
    levels: list[str]
    resources: list[str]
    domains: list[DomainNode]


class LevelFitView(Whole, kw_only=True, frozen=True):
    """The most pods that one domain of a level takes, where that is, and all domains together.

    `fragmentation` is how much of that lies outside the largest domain, in thousandths.
    """

    flavor: str
    level: str
    domains: int
    with_room: int
    largest: int
    domain: list[str]
    together: int
    fragmentation: int


class TopologyFits(Whole, kw_only=True, frozen=True):
    """The largest gang of pods with these requests, for every flavor and level."""

    position: Position
    at: Timestamp
    topology: str
    requests: dict[str, int]
    fits: list[LevelFitView]


class FragmentationPoint(Whole, kw_only=True, frozen=True):
    """What fitted at one instant; nothing where the topology had no hosts yet."""

    position: Position
    at: Timestamp
    fits: list[LevelFitView]


class FragmentationHistory(Whole, kw_only=True, frozen=True):
    """The largest gangs and the fragmentation at instants of equal distance, oldest first.

    Before `dataSince` there was no log. `complete` is false where there was no time to look at all
    of them: the latest are missing.
    """

    position: Position
    at: Timestamp
    data_since: Timestamp | None
    topology: str
    requests: dict[str, int]
    complete: bool
    points: list[FragmentationPoint]


class NearFitView(Whole, kw_only=True, frozen=True):
    """How many pods or slices a domain takes, and the holders of most of what it is short of."""

    pod_set: str
    flavor: str
    level: str
    domain: list[str]
    unit: str
    fits: int
    needs: int
    resource: str
    in_the_way: list[HostWorkload]


class NearFitsView(Whole, kw_only=True, frozen=True):
    """The domains that come nearest to taking a workload, nearest first for each pod set."""

    position: Position
    at: Timestamp
    topology: str
    workload: str
    near: list[NearFitView]


ConfiguredNode = Configured[NodeSpec]
_FlavoredNode = tuple[ConfiguredNode, list[str]]
Path = tuple[str, ...]


class Stay(msgspec.Struct, frozen=True):
    """Pods of one workload in one place, and what they take together."""

    workload: Workload
    pods: int
    taken: Requests


def topology_map(
    services: ApplicationServices, name: str, scope: NamespaceScope
) -> Cooperative[TopologyMap]:
    """The map of one topology; raises `NotFound`."""
    cluster_state = services.reader.cluster_state
    topology = cluster_state.config.topologies.get(name)
    if topology is None:
        raise NotFound("ObjectNotFound", kind="Topology", name=name)
    spec = topology.spec
    nodes = yield from _nodes_of(cluster_state, name, spec)
    stays = yield from _stays(cluster_state, name)
    places: dict[Path, list[_FlavoredNode]] = {}
    for found in nodes:
        places.setdefault(leaf_path(found[0], spec), []).append(found)
        yield
    leaves = (
        _leaf(path, there[0], stays.get(path[-1:], []), scope)
        if spec.goes_to_hosts
        else _place_of_hosts(path, there, stays.get(path, []), scope)
        for path, there in sorted(places.items(), key=lambda place: place[0])
    )
    domains = yield from _grouped((yield from each(leaves)), 1)
    return TopologyMap(
        position=cluster_state.position,
        at=timestamp(services.clock.now()),
        topology=name,
        levels=list(spec.levels),
        resources=sorted({r for node, _ in nodes for r in node.spec.allocatable} | {PODS}),
        domains=domains,
    )


def _nodes_of(
    cluster_state: ClusterState, topology: str, spec: TopologySpec
) -> Cooperative[list[_FlavoredNode]]:
    flavors = [
        (name, flavor.spec)
        for name, flavor in sorted(cluster_state.config.resource_flavors.items())
        if flavor.spec.topology_name == topology
    ]
    found = []
    for node in tuple(cluster_state.config.nodes.values()):
        names = [name for name, flavor in flavors if belongs_to_flavor(node, flavor, spec)]
        if names:
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
    """The pods of workloads on a host; workloads elsewhere are not read."""
    flavors, found = set(cluster_state.config.resource_flavors), dict[Path, list[Stay]]()
    for partition_key in cluster_state.partition_keys():
        for workload in cluster_state.partition(partition_key).watch.workloads_on(host):
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


def _leaf(path: Path, place: _FlavoredNode, stays: list[Stay], scope: NamespaceScope) -> DomainNode:
    node, flavors = place
    spec = node.spec
    used: Requests = {}
    for stay in stays:
        used = added(used, stay.taken)
    others = dict(spec.used_by_others)
    return DomainNode(
        path=list(path),
        hosts=1,
        ready=int(is_schedulable(spec)),
        allocatable=dict(spec.allocatable),
        used=used,
        others=others,
        free=free_of(spec, used),
        children=[],
        host=_host(node, flavors, stays, scope),
    )


def _place_of_hosts(
    path: Path, nodes: list[_FlavoredNode], stays: list[Stay], scope: NamespaceScope
) -> DomainNode:
    """A lowest domain that is no host: pods are counted in it, not on its hosts."""
    hosts = [_leaf((*path, host_name(place[0])), place, [], scope) for place in nodes]
    domain = _domain(path, sorted(hosts, key=lambda host: host.path))
    used: Requests = {}
    for stay in stays:
        used = added(used, stay.taken)
    free = {resource: amount - used.get(resource, 0) for resource, amount in domain.free.items()}
    return msgspec.structs.replace(domain, used=used, free=free)


def free_of(spec: NodeSpec, used: Requests) -> Requests:
    """What is free of a node; nothing where it takes no pods."""
    if not is_schedulable(spec):
        return {}
    others = spec.used_by_others
    return {
        resource: amount - used.get(resource, 0) - others.get(resource, 0)
        for resource, amount in spec.allocatable.items()
    }


def _host(
    node: ConfiguredNode, flavors: list[str], stays: list[Stay], scope: NamespaceScope
) -> HostView:
    return HostView(
        name=host_name(node),
        ready=node.spec.ready,
        cordoned=node.spec.unschedulable,
        flavors=flavors,
        taints=taints_of(node.spec),
        workloads=guests_of(stays, scope),
    )


def taints_of(spec: NodeSpec) -> list[TaintView]:
    """The taints of a node."""
    return [view_from(TaintView, taint) for taint in spec.taints]


def is_shown(stay: Stay, scope: NamespaceScope) -> bool:
    """Whether a reader of these namespaces may see the workload."""
    return scope is None or stay.workload.namespace in scope


def guests_of(stays: list[Stay], scope: NamespaceScope) -> list[HostWorkload]:
    """The workloads on a host; all of hidden namespaces together are one entry."""
    mine = [stay for stay in stays if is_shown(stay, scope)]
    hidden = [stay for stay in stays if not is_shown(stay, scope)]
    shown = [
        HostWorkload(
            key=stay.workload.key,
            pods=stay.pods,
            cluster_queue=stay.workload.admission.cluster_queue if stay.workload.admission else "",
            priority=stay.workload.spec.priority,
        )
        for stay in mine
    ]
    if hidden:
        number = len({stay.workload.key for stay in hidden})
        pods = sum(stay.pods for stay in hidden)
        shown.append(
            HostWorkload(key=foreign_workloads(number), pods=pods, cluster_queue="", priority=0)
        )
    return sorted(shown, key=lambda guest: guest.key)


def _grouped(leaves: list[DomainNode], depth: int) -> Cooperative[list[DomainNode]]:
    """Leaves gathered into the domains of their first `depth` values, level by level."""
    found: dict[Path, list[DomainNode]] = {}
    for leaf in leaves:
        found.setdefault(tuple(leaf.path[:depth]), []).append(leaf)
    domains = []
    for path, members in sorted(found.items()):
        is_leaf = len(members) == 1 and len(members[0].path) == depth
        inner = [] if is_leaf else (yield from _grouped(members, depth + 1))
        domains.append(members[0] if is_leaf else _domain(path, inner))
        yield
    return domains


def _domain(path: Path, children: list[DomainNode]) -> DomainNode:
    return DomainNode(
        path=list(path),
        hosts=sum(child.hosts for child in children),
        ready=sum(child.ready for child in children),
        allocatable=_summed(child.allocatable for child in children),
        used=_summed(child.used for child in children),
        others=_summed(child.others for child in children),
        free=_summed(child.free for child in children),
        children=children,
    )


def _summed(amounts: Iterable[Mapping[str, int]]) -> Requests:
    total: Requests = {}
    for more in amounts:
        add_to(total, more)
    return dict(sorted(total.items()))
