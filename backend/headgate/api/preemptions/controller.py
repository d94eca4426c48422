"""The preemption ledger."""

from typing import Annotated

from litestar import Controller, get
from litestar.params import PathParameter, QueryParameter

from headgate.api.answers import Answer, response
from headgate.api.callers import Caller
from headgate.api.instants import instant_or_none
from headgate.api.paging import Continue, Limit
from headgate.api.preemptions import reading
from headgate.api.preemptions.schemas import PreemptionRound, RoundChain, RoundPage

Since = Annotated[
    str | None, QueryParameter(description="Only rounds decided at or after this time (RFC 3339)")
]
Until = Annotated[
    str | None, QueryParameter(description="Only rounds decided before or at this time (RFC 3339)")
]
RoundId = Annotated[str, PathParameter(description="The round's id", max_length=200)]


class Preemptions(Controller):
    """Who had to go for whom."""

    path = "/preemptions"
    tags = ["Preemptions"]

    @get(
        operation_id="listPreemptions",
        summary="Preemption rounds, newest first",
        responses=response(RoundPage),
    )
    async def list_rounds(
        self,
        request: Caller,
        workload: Annotated[
            str, QueryParameter(description="`namespace/name` of a preemptor or victim")
        ] = "",
        cluster_queue: Annotated[str, QueryParameter(name="clusterQueue")] = "",
        cohort: Annotated[str, QueryParameter(description="Of either side, then")] = "",
        since: Since = None,
        until: Until = None,
        limit: Limit = 100,
        after: Continue = None,
    ) -> Answer:
        """Both ways: whom a workload preempted, and who preempted it."""
        wanted = reading.Wanted(
            workload,
            cluster_queue,
            cohort,
            instant_or_none(since, "/since"),
            instant_or_none(until, "/until"),
        )
        return await reading.list_rounds(request, wanted, limit=limit, after=after)

    @get(
        "/{round_id:str}",
        operation_id="getPreemption",
        summary="One preemption round",
        responses=response(PreemptionRound),
    )
    async def read(self, request: Caller, round_id: RoundId) -> Answer:
        """With the rule for each victim, and whom the rules protected."""
        return await reading.read(request, round_id)

    @get(
        "/{round_id:str}/chain",
        operation_id="readPreemptionChain",
        summary="The rounds that led to one, and those that followed from it",
        responses=response(RoundChain),
    )
    async def chain(self, request: Caller, round_id: RoundId) -> Answer:
        """A link is a workload that had to go in one round and made others go in the next."""
        return await reading.chain(request, round_id)
