"""Ask for backtests, watch them, and cancel them."""

from typing import Annotated

from litestar import Controller, get, post
from litestar.params import PathParameter, QueryParameter, RawBody

from headgate.api.answers import Answer, answer, answer_view, response
from headgate.api.backtests import asking
from headgate.api.callers import Caller, services_of
from headgate.api.paging import start_of
from headgate.api.past import PRESENT_ONLY
from headgate.api.request_bodies import request_documents
from headgate.application.backtests.requests import cancel, find
from headgate.application.backtests.views import BacktestPage, BacktestView, view_of

EXAMPLE = {
    "apiVersion": "kueue.x-k8s.io/v1beta2",
    "kind": "Cohort",
    "metadata": {"name": "research"},
    "spec": {},
}
BacktestId = Annotated[str, PathParameter(description="The backtest", max_length=100)]
RIGHT = {"right": "configure"}
READ = {**RIGHT, "live": PRESENT_ONLY}


class Backtests(Controller):
    """A stretch of the log once more, through another configuration or through today's rules."""

    path = "/backtests"
    tags = ["Backtests"]

    @post(
        operation_id="askForBacktest",
        summary="Replay a stretch of the log through another configuration",
        status_code=202,
        operation_class=request_documents(EXAMPLE),
        responses=response(BacktestView, status=202),
        opt=RIGHT,
    )
    async def ask(
        self,
        request: Caller,
        body: RawBody,
        begin: Annotated[str, QueryParameter(name="from", description="A position or a time")],
        end: Annotated[
            str | None, QueryParameter(name="to", description="A position or a time; now without")
        ] = None,
    ) -> Answer:
        """Manifests are laid over the state at the beginning; none: as it was, by today's rules.

        A worker works it off bit by bit; nothing is written to the log.
        """
        job = await asking.ask(request, asking.Question(body, begin, end))
        position = services_of(request).reader.position
        location = {"Location": f"/v1/backtests/{job.id}"}
        view = view_of(job, whole=True)
        return answer(view, position=position, status=202, headers=location)

    @get(
        operation_id="listBacktests",
        summary="Backtests, newest first",
        responses=response(BacktestPage),
        opt=READ,
    )
    async def list_backtests(
        self,
        request: Caller,
        before: Annotated[
            str | None, QueryParameter(description="The `next` of the page before")
        ] = None,
        limit: Annotated[int, QueryParameter(ge=1, le=200)] = 50,
    ) -> Answer:
        """Each with its progress, without its result."""
        return answer_view(await asking.page(request, start_of(before), limit))

    @get(
        "/{backtest:str}",
        operation_id="readBacktest",
        summary="One backtest with its result",
        responses=response(BacktestView),
        opt=READ,
    )
    async def read(self, request: Caller, backtest: BacktestId) -> Answer:
        """The result is there when its state is Done."""
        services = services_of(request)
        job = await find(services, backtest)
        return answer(view_of(job, whole=True), position=services.reader.position)

    @post(
        "/{backtest:str}/cancel",
        operation_id="cancelBacktest",
        summary="Do not go on with it",
        status_code=200,
        responses=response(BacktestView),
        opt=RIGHT,
    )
    async def cancel(self, request: Caller, backtest: BacktestId) -> Answer:
        """One that has ended stays as it is."""
        services = services_of(request)
        job = await cancel(services, backtest)
        return answer(view_of(job, whole=True), position=services.reader.position)
