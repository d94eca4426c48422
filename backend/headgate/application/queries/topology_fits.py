"""What would fit on the hosts of a topology, how near a workload is to a place, what a node has."""

from collections.abc import Iterator

from msgspec.structs import replace

from headgate.application.access.redaction import (
    FOREIGN_WORKLOAD,
    NamespaceScope,
    allows,
    foreign_workloads,
)
from headgate.application.application_services import ApplicationServices, whole_workloads
from headgate.application.cooperative import Cooperative, each
from headgate.application.historical_ports import ResolvedPoint, point_at_instant
from headgate.application.queries.capacity_history import log_since
from headgate.application.queries.topology_map import (
    Stay,
    free_of,
    is_shown,
    nodes_of,
    stays_on,
    taints_of,
    taken_by,
)
from headgate.application.queries.views import (
    DomainWorkloads,
    FragmentationHistory,
    FragmentationPoint,
    HostWorkload,
    LevelFitView,
    NearFitsView,
    NearFitView,
    Position,
    TaintView,
    Timestamp,
    TopologyFits,
    Whole,
    WorkloadsOnHost,
    timestamp,
    timestamp_or_none,
    view_from,
)
from headgate.application.time_travel import SampledPeriod, sample_instants
from headgate.domain.cluster_state import ClusterState
from headgate.domain.kinds.configured_object import Configured
from headgate.domain.nodes.state import NodeSpec
from headgate.domain.recorded_event import workload_stream
from headgate.domain.rejection import NotFound
from headgate.domain.scheduling.lifecycle.transitions import execution_deadline
from headgate.domain.scheduling.placement.host_table import host_name
from headgate.domain.topology_fits import BlockingHolder, largest_fits, near_fits
from headgate.domain.values.instants import MICROSECONDS_PER_SECOND
from headgate.domain.values.message import Message, message
from headgate.domain.values.quantities import Requests


class NodeWorkload(HostWorkload, kw_only=True, frozen=True):
    """The same with what its pods on one node request together, in base units.

    `endsAt` is when its maximum execution time is used up; None without one.
    """

    requests: dict[str, int]
    ends_at: Timestamp | None


class NodeAllocation(Whole, kw_only=True, frozen=True):
    """What of a node is used by workloads here and by others, and what is free; in base units.

    Nothing is free of a node that is cordoned or not ready. `deviceErrors` are the uncorrected
    errors of all its devices; None where none counts them.
    """

    position: Position
    at: Timestamp
    node: str
    ready: bool
    cordoned: bool
    allocatable: dict[str, int]
    used: dict[str, int]
    others: dict[str, int]
    free: dict[str, int]
    taints: list[TaintView]
    models: list[str]
    device_errors: int | None
    workloads: list[NodeWorkload]


class NodeUsagePoint(Whole, kw_only=True, frozen=True):
    """A node at one instant, in base units; nothing is offered before it was there."""

    position: Position
    at: Timestamp
    ready: bool
    used: dict[str, int]
    allocatable: dict[str, int]


class NodeUsage(Whole, kw_only=True, frozen=True):
    """What pods took of a node at instants of equal distance, oldest first.

    Not `complete` where there was no time to look at the latest; before `dataSince` was no log.
    """

    position: Position
    at: Timestamp
    node: str
    data_since: Timestamp | None
    complete: bool
    points: list[NodeUsagePoint]


def topology_fits(services: ApplicationServices, name: str, requests: Requests) -> TopologyFits:
    """Returns the largest gang of these pods that each level takes now; raises `NotFound`."""
    cluster_state = services.reader.cluster_state
    expect_topology(cluster_state, name)
    return TopologyFits(
        position=cluster_state.position,
        at=timestamp(services.clock.now()),
        topology=name,
        requests=dict(requests),
        fits=fits_of(cluster_state, name, requests),
    )


def fits_of(cluster_state: ClusterState, name: str, requests: Requests) -> list[LevelFitView]:
    """What fits in a fold, by flavor and level."""
    return [
        view_from(LevelFitView, fit, together=fit.total)
        for fit in largest_fits(cluster_state, name, requests)
    ]


async def near_fits_of(
    services: ApplicationServices, name: str, key: str, scope: NamespaceScope
) -> NearFitsView:
    """The nearest fits of a workload: domains that take most of its pods, with blocking holders.

    Raises `NotFound`, also for a workload that may not be seen.
    """
    cluster_state = services.reader.cluster_state
    expect_topology(cluster_state, name)
    workload = (await whole_workloads(services, [key])).get(key)
    if workload is None or not allows(scope, workload_stream(key)):
        raise NotFound("ObjectNotFound", kind="Workload", name=key)
    return NearFitsView(
        position=cluster_state.position,
        at=timestamp(services.clock.now()),
        topology=name,
        workload=key,
        near=[
            NearFitView(
                pod_set=fit.pod_set,
                flavor=fit.flavor,
                level=fit.nearest.level,
                domain=list(fit.nearest.domain),
                unit=fit.nearest.unit,
                fits=fit.nearest.fits,
                needs=fit.nearest.needs,
                resource=fit.nearest.resource,
                in_the_way=[_shown(each, scope) for each in fit.blocking_holders],
            )
            for fit in near_fits(cluster_state, name, workload)
        ],
    )


def expect_topology(cluster_state: ClusterState, name: str) -> None:
    """Raises `NotFound` unless there is a topology of that name."""
    if name not in cluster_state.config.topologies:
        raise NotFound("ObjectNotFound", kind="Topology", name=name)


def _shown(found: BlockingHolder, scope: NamespaceScope) -> HostWorkload:
    if not allows(scope, workload_stream(found.workload)):
        return HostWorkload(key=FOREIGN_WORKLOAD, pods=found.pods, cluster_queue="", priority=0)
    return HostWorkload(
        key=found.workload,
        pods=found.pods,
        cluster_queue=found.cluster_queue,
        priority=found.priority,
    )


async def fragmentation_of(
    services: ApplicationServices, name: str, requests: Requests, period: SampledPeriod
) -> FragmentationHistory:
    """What fitted at each instant of a stretch.

    Raises `NotFound`, `InvalidRequest` for a stretch that has no length or lies in the future, and
    `Overloaded` when too many look at the past.
    """
    expect_topology(services.reader.cluster_state, name)
    instants = sample_instants(services, period)
    history, late = services.history, services.history.is_late()
    moments = await history.executor.do(
        lambda: [point_at_instant(services.log, instant) for instant in instants]
    )
    looks = _looks(services, name, requests, moments)
    found: list[FragmentationPoint] = []
    # One instant at a time, so that other reads of the past need not wait for all of them.
    while len(found) < len(moments) and not late():
        found.append(await history.executor.do(lambda: next(looks)))
    return FragmentationHistory(
        position=services.reader.position,
        at=timestamp(services.clock.now()),
        data_since=await log_since(services),
        topology=name,
        requests=dict(requests),
        complete=len(found) == len(moments),
        points=found,
    )


def _looks(
    services: ApplicationServices, name: str, requests: Requests, moments: list[ResolvedPoint]
) -> Iterator[FragmentationPoint]:
    states = services.history.states.passing([moment.position for moment in moments])
    for moment, cluster_state in zip(moments, states, strict=True):
        yield FragmentationPoint(
            position=moment.position,
            at=timestamp(moment.at),
            fits=fits_of(cluster_state, name, requests),
        )


def node_allocation(
    services: ApplicationServices, node: str, scope: NamespaceScope
) -> NodeAllocation:
    """What of a node is allocated now, and to which workloads; raises `NotFound`."""
    cluster_state = services.reader.cluster_state
    there = _expect_node(cluster_state, node)
    spec, stays = there.spec, stays_on(cluster_state, host_name(there))
    used = taken_by(stays)
    errors = (device.uncorrected_errors for device in spec.devices)
    counted = [each for each in errors if each is not None]
    return NodeAllocation(
        position=cluster_state.position,
        at=timestamp(services.clock.now()),
        node=node,
        ready=spec.ready,
        cordoned=spec.unschedulable,
        allocatable=dict(spec.allocatable),
        used=used,
        others=dict(spec.used_by_others),
        free=free_of(spec, used),
        taints=taints_of(spec),
        models=sorted({device.model for device in spec.devices if device.model}),
        device_errors=sum(counted) if counted else None,
        workloads=_allocations(stays, scope),
    )


def domain_workloads(
    services: ApplicationServices, name: str, domain: str, scope: NamespaceScope
) -> Cooperative[DomainWorkloads]:
    """The workloads on each host of a domain, which is its path; raises `NotFound`."""
    cluster_state = services.reader.cluster_state
    topology = cluster_state.config.topologies.get(name)
    if topology is None:
        raise NotFound("ObjectNotFound", kind="Topology", name=name)
    path = tuple(domain.split("/")) if domain else ()
    nodes = yield from nodes_of(cluster_state, name, topology.spec, path)
    hosts = sorted(host_name(node) for node, _ in nodes) if topology.spec.goes_to_hosts else []
    found = (
        WorkloadsOnHost(host=host, workloads=_guests_of(stays_on(cluster_state, host), scope))
        for host in hosts
    )
    return DomainWorkloads(
        position=cluster_state.position,
        at=timestamp(services.clock.now()),
        topology=name,
        hosts=(yield from each(found)),
    )


def _guests_of(stays: list[Stay], scope: NamespaceScope) -> list[HostWorkload]:
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


def _allocations(stays: list[Stay], scope: NamespaceScope) -> list[NodeWorkload]:
    """What each workload takes of a host; all of hidden namespaces together are one entry."""
    of_workloads: dict[str, list[Stay]] = {}
    hidden: list[Stay] = []
    for stay in stays:
        if is_shown(stay, scope):
            of_workloads.setdefault(stay.workload.key, []).append(stay)
        else:
            hidden.append(stay)
    shown = [_node_workload(key, found) for key, found in sorted(of_workloads.items())]
    if hidden:
        foreign = foreign_workloads(len({stay.workload.key for stay in hidden}))
        entry = _node_workload(foreign, hidden)
        shown.append(replace(entry, cluster_queue="", priority=0, ends_at=None))
    return shown


def _node_workload(key: str, stays: list[Stay]) -> NodeWorkload:
    workload = stays[0].workload
    return NodeWorkload(
        key=key,
        pods=sum(stay.pods for stay in stays),
        cluster_queue=workload.admission.cluster_queue if workload.admission else "",
        priority=workload.spec.priority,
        requests=taken_by(stays),
        ends_at=timestamp_or_none(execution_deadline(workload)),
    )


def _expect_node(cluster_state: ClusterState, name: str) -> Configured[NodeSpec]:
    found = cluster_state.config.nodes.get(name)
    if found is None:
        raise NotFound("ObjectNotFound", kind="Node", name=name)
    return found


async def node_usage(services: ApplicationServices, node: str, period: SampledPeriod) -> NodeUsage:
    """What pods took of a node at each instant of a stretch.

    Raises `NotFound`, `InvalidRequest` for a stretch that has no length or lies in the future, and
    `Overloaded` when too many look at the past.
    """
    _expect_node(services.reader.cluster_state, node)
    instants = sample_instants(services, period)
    history, late = services.history, services.history.is_late()
    moments = await history.executor.do(
        lambda: [point_at_instant(services.log, instant) for instant in instants]
    )
    looks = _node_looks(services, node, moments)
    found: list[NodeUsagePoint] = []
    # One instant at a time, so that other reads of the past need not wait for all of them.
    while len(found) < len(moments) and not late():
        found.append(await history.executor.do(lambda: next(looks)))
    return NodeUsage(
        position=services.reader.position,
        at=timestamp(services.clock.now()),
        node=node,
        data_since=await log_since(services),
        complete=len(found) == len(moments),
        points=found,
    )


def _node_looks(
    services: ApplicationServices, name: str, moments: list[ResolvedPoint]
) -> Iterator[NodeUsagePoint]:
    states = services.history.states.passing([moment.position for moment in moments])
    for moment, cluster_state in zip(moments, states, strict=True):
        node = cluster_state.config.nodes.get(name)
        yield NodeUsagePoint(
            position=moment.position,
            at=timestamp(moment.at),
            ready=node is not None and node.spec.ready,
            used={} if node is None else taken_by(stays_on(cluster_state, host_name(node))),
            allocatable={} if node is None else dict(node.spec.allocatable),
        )


def why_not_ready(spec: NodeSpec) -> Message:
    """Whether the node was silent, its executor was lost, or it was reported so."""
    if spec.is_executor_lost:
        return message("NodeExecutorIsLost", executor=spec.executor)
    silent = (spec.not_ready_since or 0) - (spec.heard_at or 0)
    if spec.heard_at and 0 < spec.lease_seconds * MICROSECONDS_PER_SECOND <= silent:
        return message("NodeIsSilent", lease=spec.lease_seconds)
    return message("NodeUnschedulable")


def link_of_host(cluster_state: ClusterState, node: str) -> str:
    """Where the page shows a host: in the first topology that it belongs to."""
    labels = cluster_state.config.nodes[node].labels
    for name, topology in sorted(cluster_state.config.topologies.items()):
        if all(level in labels for level in topology.spec.levels):
            return f"/topology?topology={name}&host={node}"
    return "/topology"
