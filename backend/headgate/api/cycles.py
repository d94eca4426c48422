"""`/v1/cycles`: the scheduling cycles of workers, and the rerun of one."""

from typing import Annotated

from litestar import Controller, get
from litestar.params import FromQuery, PathParameter, QueryParameter

from headgate.api.answers import Answer, answer_view, response
from headgate.api.callers import Caller, services_of
from headgate.api.parameters import start_of
from headgate.application.queries import cycles
from headgate.application.queries.cycles import CycleDetail, CyclePage, CycleRerun

CycleId = Annotated[str, PathParameter(description="The cycle, as events name it", max_length=100)]


class Cycles(Controller):
    """What was planned, when, on what, and how long it took."""

    path = "/cycles"
    tags = ["Cycles"]
    opt = {"right": "read cycles"}

    @get(
        operation_id="listCycles",
        summary="What workers planned, newest first",
        responses=response(CyclePage),
    )
    async def list_cycles(
        self,
        request: Caller,
        partition: FromQuery[str] = "",
        before: Annotated[
            str | None, QueryParameter(description="The `next` of the page before")
        ] = None,
        limit: Annotated[int, QueryParameter(ge=1, le=1000)] = 100,
    ) -> Answer:
        """Plans that decided something, or that the log refused because something had changed."""
        page_request = cycles.CyclePageRequest(limit, start_of(before))
        scope = request.user.namespaces
        return answer_view(await cycles.page(services_of(request), partition, page_request, scope))

    @get(
        "/{cycle:str}",
        operation_id="readCycle",
        summary="One plan with its input and its decisions in order",
        responses=response(CycleDetail),
    )
    async def read(self, request: Caller, cycle: CycleId) -> Answer:
        """The id is the `correlation` of the events it led to."""
        scope = request.user.namespaces
        return answer_view(await cycles.detail(services_of(request), cycle, scope))

    @get(
        "/{cycle:str}/replay",
        operation_id="replayCycle",
        summary="Run it again on the same input and compare",
        responses=response(CycleRerun),
    )
    async def replay(self, request: Caller, cycle: CycleId) -> Answer:
        """Nothing is written; the same input gives the same bytes."""
        scope = request.user.namespaces
        return answer_view(await cycles.rerun(services_of(request), cycle, scope))
