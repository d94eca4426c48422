"""The map of a topology."""

from typing import Annotated

from litestar import Controller, get
from litestar.params import PathParameter

from headgate.api.answers import Answer, answer_view, shows
from headgate.api.callers import Caller, installation_of
from headgate.application.queries.topology_map import topology_map
from headgate.application.queries.topology_views import TopologyMap

Name = Annotated[str, PathParameter(description="The topology's name", max_length=253)]


class TopologyMaps(Controller):
    """Who is where, and what is free."""

    path = "/topologies/{name:str}/map"
    tags = ["Topology"]

    @get(
        operation_id="readTopologyMap",
        summary="Every domain with what it holds and who is there",
        responses=shows(TopologyMap),
    )
    async def read(self, request: Caller, name: Name) -> Answer:
        """Other teams' workloads are counted, not named, for submitters."""
        found = topology_map(installation_of(request), name, request.user.namespaces)
        return answer_view(found)
