"""Try out changes without making them."""

from typing import Annotated

from litestar import Controller, post
from litestar.params import QueryParameter, RawBody

from headgate.api.answers import Answer, response
from headgate.api.callers import Caller
from headgate.api.request_bodies import request_documents
from headgate.api.simulations import trying
from headgate.api.workloads.examples import WORKLOAD
from headgate.application.simulations.views import SimulationView

Deletions = Annotated[
    str | None,
    QueryParameter(
        name="delete",
        description="Objects to leave out, by comma: `node/host-1`, `workload/team-a/train-7`",
    ),
]
Priorities = Annotated[
    str | None,
    QueryParameter(name="priority", description="New priorities, by comma: `team-a/train-7:100`"),
]
Cordons = Annotated[
    str | None, QueryParameter(name="cordon", description="Nodes that take nothing new, by comma")
]


class Simulations(Controller):
    """What-if."""

    path = "/simulations"
    tags = ["Simulations"]

    @post(
        operation_id="simulate",
        summary="What would happen if these objects were applied",
        status_code=200,
        operation_class=request_documents(WORKLOAD),
        responses=response(SimulationView),
        opt={"right": "read", "past": True},
    )
    async def simulate(
        self,
        request: Caller,
        body: RawBody,
        deletions: Deletions = None,
        priorities: Priorities = None,
        cordons: Cordons = None,
    ) -> Answer:
        """Objects as `/v1/apply` takes them; with `at` it is tried out in the past.

        Real rules and real cycles on a fork of the state; nothing is written.
        """
        asked = trying.Asked(body, deletions, priorities, cordons)
        return await trying.simulate(request, asked)
