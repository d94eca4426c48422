"""The preemption ledger."""

from typing import Annotated

from litestar import Controller, get
from litestar.params import PathParameter, QueryParameter

from headgate.api.answers import Answer, shows
from headgate.api.callers import Caller
from headgate.api.paging import Continue, Limit
from headgate.api.preemptions import reading
from headgate.api.preemptions.schemas import RoundPage, RoundShape

RoundId = Annotated[str, PathParameter(description="The round's id", max_length=200)]


class Preemptions(Controller):
    """Who had to go for whom."""

    path = "/preemptions"
    tags = ["Preemptions"]

    @get(
        operation_id="listPreemptions",
        summary="Preemption rounds, newest first",
        responses=shows(RoundPage),
    )
    async def list_rounds(
        self,
        request: Caller,
        workload: Annotated[
            str, QueryParameter(description="`namespace/name` of a preemptor or victim")
        ] = "",
        cluster_queue: Annotated[str, QueryParameter(name="clusterQueue")] = "",
        limit: Limit = 100,
        after: Continue = None,
    ) -> Answer:
        """Both ways: whom a workload preempted, and who preempted it."""
        wanted = reading.Wanted(workload, cluster_queue)
        return await reading.list_rounds(request, wanted, limit=limit, after=after)

    @get(
        "/{round_id:str}",
        operation_id="getPreemption",
        summary="One preemption round",
        responses=shows(RoundShape),
    )
    async def read(self, request: Caller, round_id: RoundId) -> Answer:
        """With the rule for each victim, and whom the rules protected."""
        return await reading.read(request, round_id)
