"""`/v1/topologies/{name}`: the map of a topology, the gangs that fit on it, and fragmentation."""

from typing import Annotated

from litestar import Controller, get
from litestar.params import PathParameter, QueryParameter

from headgate.api.answers import Answer, answer_view, response
from headgate.api.callers import Caller, services_of
from headgate.api.parameters import Points, RangeEnd, RangeStart, instant_or_none
from headgate.api.problems import invalid_request
from headgate.application.queries.topology_fits import fragmentation_of, near_fits_of, topology_fits
from headgate.application.queries.topology_map import (
    FragmentationHistory,
    NearFitsView,
    TopologyFits,
    TopologyMap,
    topology_map,
)
from headgate.application.time_travel import SampledPeriod
from headgate.domain.field_rules import count_violations, shown
from headgate.domain.rejection import InvalidRequest
from headgate.domain.values.quantities import NotAQuantity, Requests, amount_of

MAX_RESOURCES = 16

Name = Annotated[str, PathParameter(description="The topology's name", max_length=253)]
Pod = Annotated[
    str,
    QueryParameter(
        max_length=1000,
        description="What one pod asks for, such as `cpu=4,memory=8Gi,nvidia.com/gpu=1`",
    ),
]
OfWorkload = Annotated[
    str, QueryParameter(max_length=400, description="The workload, as `namespace/name`")
]


class TopologyMaps(Controller):
    """Maps of topologies, free capacity, and gangs that fit."""

    path = "/topologies/{name:str}"
    tags = ["Topology"]
    opt = {"right": "read topologies"}

    @get(
        "/map",
        operation_id="readTopologyMap",
        summary="Show every topology domain with its capacity and workloads",
        responses=response(TopologyMap),
    )
    async def read(self, request: Caller, name: Name) -> Answer:
        """Other teams' workloads are counted, not named, for submitters."""
        services = services_of(request)
        steps = topology_map(services, name, request.user.namespaces)
        return answer_view(await services.reader.while_still(steps))

    @get(
        "/fits",
        operation_id="readTopologyFits",
        summary="The largest gang of one kind of pod that fits now, by level",
        responses=response(TopologyFits),
    )
    async def fits(self, request: Caller, name: Name, pod: Pod) -> Answer:
        """`largest` lie together in `domain`, `together` anywhere: the rest is fragmented."""
        return answer_view(topology_fits(services_of(request), name, _requests(pod)))

    @get(
        "/fragmentation",
        operation_id="readFragmentation",
        summary="What would have fitted at instants of the past, and how fragmented each level was",
        responses=response(FragmentationHistory),
    )
    async def fragmentation(
        self,
        request: Caller,
        name: Name,
        pod: Pod,
        since: RangeStart = None,
        until: RangeEnd = None,
        points: Points = 24,
    ) -> Answer:
        """As `/fits` would have answered then; at equal distances, the ends of the stretch too."""
        period = SampledPeriod(
            instant_or_none(since, "/since"), instant_or_none(until, "/until"), points
        )
        found = await fragmentation_of(services_of(request), name, _requests(pod), period)
        return answer_view(found)

    @get(
        "/near-fits",
        operation_id="readNearFits",
        summary="Show the domains that nearly fit a workload, and the workloads in them",
        responses=response(NearFitsView),
    )
    async def near_fits(self, request: Caller, name: Name, workload: OfWorkload) -> Answer:
        """For a workload that waits; other teams' workloads are not named for submitters."""
        scope = request.user.namespaces
        return answer_view(near_fits_of(services_of(request), name, workload, scope))


def _requests(text: str) -> Requests:
    """What `cpu=4,memory=8Gi` asks for; raises `ApiFailure`."""
    found: Requests = {}
    for part in text.split(","):
        resource, _, quantity = part.strip().partition("=")
        try:
            amount = amount_of(resource, quantity)
        except NotAQuantity:
            raise InvalidRequest.at("/pod", "RequestsUnreadable", value=shown(part)) from None
        if not resource or amount < 0:
            raise InvalidRequest.at("/pod", "RequestsUnreadable", value=shown(part))
        found[resource] = amount
    violations = tuple(count_violations("/pod", len(found), MAX_RESOURCES, field="resources"))
    if violations:
        raise invalid_request(violations)
    return found
