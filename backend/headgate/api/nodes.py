"""Actions on nodes, and maps of the topologies that nodes stand in.

Nodes are cordoned, drained, uncordoned and heard of, and say what of them is allocated;
`/v1/topologies/{name}` has the map of a topology, the gangs that fit on it, and its fragmentation.
"""

from typing import Annotated, Any

from litestar import Controller, get, post
from litestar.params import JSONBody, PathParameter, QueryParameter

from headgate.adapters.manifests.fields import Fields, Problems
from headgate.adapters.manifests.node import NodeObject
from headgate.api.answers import (
    Answer,
    CommandOptions,
    answer_command,
    answer_view,
    command_request,
    response,
)
from headgate.api.bodies import Free, RequestBody
from headgate.api.callers import Caller, services_of
from headgate.api.manifests import object_writer
from headgate.api.parameters import (
    IdempotencyHeader,
    Points,
    RangeEnd,
    RangeStart,
    instant_or_none,
    requests_in,
)
from headgate.api.workloads.schemas import Action
from headgate.application.commands.object_commands import NodeOrder, tell_node
from headgate.application.queries.topology_fits import (
    NodeAllocation,
    NodeUsage,
    domain_workloads,
    fragmentation_of,
    near_fits_of,
    node_allocation,
    node_usage,
    topology_fits,
)
from headgate.application.queries.topology_map import (
    TopologyMap,
    topology_map,
)
from headgate.application.queries.views import (
    DomainWorkloads,
    FragmentationHistory,
    NearFitsView,
    TopologyFits,
)
from headgate.application.simulation_run import (
    DrainPreview,
    drain_preview,
)
from headgate.application.time_travel import SampledPeriod
from headgate.domain.field_rules import raise_if_invalid
from headgate.domain.nodes.decide import CordonNode, DrainNode, ReportNode, UncordonNode
from headgate.domain.recorded_event import stream_of


def read_amounts(
    allocatable: dict[str, Any], others: dict[str, Any]
) -> tuple[dict[str, int], dict[str, int]]:
    """Both as amounts; raises `InvalidObject` with every quantity that is none."""
    problems = Problems()
    fields = Fields({"allocatable": allocatable, "usedByOthers": others}, "", problems)
    found = (fields.amounts("allocatable"), fields.amounts("usedByOthers"))
    raise_if_invalid("Node", "", problems)
    return found


class Heartbeat(RequestBody, kw_only=True, frozen=True):
    """What a node says of itself; quantities are Kubernetes quantities.

    After `leaseSeconds` without another heartbeat it counts as not ready; 0 is never.
    """

    ready: bool
    allocatable: Free
    used_by_others: Free = {}
    lease_seconds: int = 0


Name = Annotated[str, PathParameter(description="The node's name", max_length=253)]


class NodeActions(Controller):
    """What is done to nodes, and what they report."""

    path = "/nodes/{name:str}"
    tags = ["Node"]
    opt = {"right": "read nodes"}

    @get(
        "/allocation",
        operation_id="readNodeAllocation",
        summary="What of a node is allocated, and to which workloads until when",
        responses=response(NodeAllocation),
    )
    async def allocation(self, request: Caller, name: Name) -> Answer:
        """Other teams' workloads are counted, not named, for submitters."""
        scope = request.user.namespaces
        return answer_view(node_allocation(services_of(request), name, scope))

    @get(
        "/usage",
        operation_id="readNodeUsage",
        summary="What pods took of a node at instants of the past",
        responses=response(NodeUsage),
    )
    async def usage(
        self,
        request: Caller,
        name: Name,
        since: RangeStart = None,
        until: RangeEnd = None,
        points: Points = 25,
    ) -> Answer:
        """At equal distances, the ends of the stretch too."""
        return answer_view(
            await node_usage(services_of(request), name, _period(since, until, points))
        )

    @post(
        "/cordon",
        operation_id="cordonNode",
        summary="Let a node take no new pods",
        status_code=200,
        responses=response(NodeObject),
        opt={"right": "operate nodes"},
    )
    async def cordon(
        self,
        request: Caller,
        name: Name,
        data: JSONBody[Action],
        idempotency_key: IdempotencyHeader = None,
    ) -> Answer:
        """What runs there runs on."""
        return await _tell(
            request, name, CordonNode(), CommandOptions(reason=data.reason, key=idempotency_key)
        )

    @post(
        "/drain",
        operation_id="drainNode",
        summary="Let a node take no new pods, and find another place for those it has",
        status_code=200,
        responses=response(NodeObject),
        opt={"right": "operate nodes"},
    )
    async def drain(
        self,
        request: Caller,
        name: Name,
        data: JSONBody[Action],
        idempotency_key: IdempotencyHeader = None,
    ) -> Answer:
        """Workloads without another placement are evicted; `drain-preview` lists them."""
        return await _tell(
            request, name, DrainNode(), CommandOptions(reason=data.reason, key=idempotency_key)
        )

    @get(
        "/drain-preview",
        operation_id="previewDrain",
        summary="Preview a drain: the workloads on a node, and the effect on each",
        responses=response(DrainPreview),
    )
    async def drain_preview(self, request: Caller, name: Name) -> Answer:
        """Nothing is changed; other teams' workloads are not named for submitters."""
        scope = request.user.namespaces
        return answer_view(drain_preview(services_of(request), name, scope))

    @post(
        "/uncordon",
        operation_id="uncordonNode",
        summary="Let a node take pods again",
        status_code=200,
        responses=response(NodeObject),
        opt={"right": "operate nodes"},
    )
    async def uncordon(
        self,
        request: Caller,
        name: Name,
        data: JSONBody[Action],
        idempotency_key: IdempotencyHeader = None,
    ) -> Answer:
        """The end of a cordon or a drain."""
        return await _tell(
            request, name, UncordonNode(), CommandOptions(reason=data.reason, key=idempotency_key)
        )

    @post(
        "/heartbeat",
        operation_id="reportNode",
        summary="What a node says of itself",
        status_code=200,
        responses=response(NodeObject),
        opt={"right": "report nodes"},
    )
    async def heartbeat(self, request: Caller, name: Name, data: JSONBody[Heartbeat]) -> Answer:
        """Recorded only if it differs from the last one."""
        allocatable, others = read_amounts(data.allocatable, data.used_by_others)
        report = ReportNode(
            ready=data.ready,
            allocatable=allocatable,
            used_by_others=others,
            lease_seconds=data.lease_seconds,
        )
        return await _tell(request, name, report, CommandOptions())


KIND = "Node"


async def _tell(request: Caller, name: str, command: NodeOrder, options: CommandOptions) -> Answer:
    call = await command_request(request, object_writer(KIND), options)
    stream = stream_of("node", name)
    return answer_command(await tell_node(services_of(request), call, stream, command))


TopologyName = Annotated[str, PathParameter(description="The topology's name", max_length=253)]
PodRequests = Annotated[
    str,
    QueryParameter(
        max_length=1000,
        description="What one pod asks for, such as `cpu=4,memory=8Gi,nvidia.com/gpu=1`",
    ),
]
OfWorkload = Annotated[
    str, QueryParameter(max_length=400, description="The workload, as `namespace/name`")
]


ChangedSince = Annotated[
    int | None,
    QueryParameter(
        name="changedSince",
        ge=0,
        description="Only the rows that changed after this position, if that is known",
    ),
]
DomainPath = Annotated[
    str, QueryParameter(max_length=1000, description="The domain, as `block-1/rack-1`; empty: all")
]


class TopologyMaps(Controller):
    """Maps of topologies, free capacity, and gangs that fit."""

    path = "/topologies/{name:str}"
    tags = ["Topology"]
    opt = {"right": "read topologies"}

    @get(
        "/map",
        operation_id="readTopologyMap",
        summary="Show every domain and host of a topology with its capacity, in columns",
        responses=response(TopologyMap),
    )
    async def read(
        self, request: Caller, name: TopologyName, changed_since: ChangedSince = None
    ) -> Answer:
        """Other teams' ClusterQueues are not named for submitters."""
        services = services_of(request)
        steps = topology_map(services, name, request.user.namespaces, changed_since)
        return answer_view(await services.reader.while_still(steps))

    @get(
        "/workloads",
        operation_id="readDomainWorkloads",
        summary="The workloads on each host of a topology domain",
        responses=response(DomainWorkloads),
    )
    async def workloads(
        self, request: Caller, name: TopologyName, domain: DomainPath = ""
    ) -> Answer:
        """Other teams' workloads are counted, not named, for submitters."""
        services = services_of(request)
        steps = domain_workloads(services, name, domain, request.user.namespaces)
        return answer_view(await services.reader.while_still(steps))

    @get(
        "/fits",
        operation_id="readTopologyFits",
        summary="The largest gang of one kind of pod that fits now, by level",
        responses=response(TopologyFits),
    )
    async def fits(self, request: Caller, name: TopologyName, pod: PodRequests) -> Answer:
        """`largest` lie together in `domain`, `together` anywhere: the rest is fragmented."""
        return answer_view(topology_fits(services_of(request), name, requests_in(pod)))

    @get(
        "/fragmentation",
        operation_id="readFragmentation",
        summary="What would have fitted at instants of the past, and how fragmented each level was",
        responses=response(FragmentationHistory),
    )
    async def fragmentation(
        self,
        request: Caller,
        name: TopologyName,
        pod: PodRequests,
        since: RangeStart = None,
        until: RangeEnd = None,
        points: Points = 24,
    ) -> Answer:
        """As `/fits` would have answered then; at equal distances, the ends of the stretch too."""
        period = _period(since, until, points)
        found = await fragmentation_of(services_of(request), name, requests_in(pod), period)
        return answer_view(found)

    @get(
        "/near-fits",
        operation_id="readNearFits",
        summary="Show the domains that nearly fit a workload, and the workloads in them",
        responses=response(NearFitsView),
    )
    async def near_fits(self, request: Caller, name: TopologyName, workload: OfWorkload) -> Answer:
        """For a workload that waits; other teams' workloads are not named for submitters."""
        scope = request.user.namespaces
        return answer_view(await near_fits_of(services_of(request), name, workload, scope))


def _period(since: str | None, until: str | None, points: int) -> SampledPeriod:
    return SampledPeriod(instant_or_none(since, "/since"), instant_or_none(until, "/until"), points)


ROUTES = (NodeActions, TopologyMaps)
