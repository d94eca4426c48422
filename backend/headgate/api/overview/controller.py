"""The first page."""

from litestar import Controller, get

from headgate.api.answers import Answer, answer_view, shows
from headgate.api.callers import Caller, installation_of
from headgate.application.queries.overview import overview
from headgate.application.queries.overview_views import Overview


class OverviewPage(Controller):
    """What needs attention."""

    path = "/overview"
    tags = ["Overview"]

    @get(
        operation_id="readOverview",
        summary="Counts, what needs attention, and what happened last",
        responses=shows(Overview),
    )
    async def read(self, request: Caller) -> Answer:
        """Of everything one may see."""
        return answer_view(await overview(installation_of(request), request.user.namespaces))
