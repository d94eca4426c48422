"""`/v1/overview` and `/v1/lint`: counts, alerts, and warnings about the configuration."""

from litestar import Controller, get

from headgate.api.answers import Answer, answer_view, response
from headgate.api.callers import Caller, services_of
from headgate.application.queries.overview.config_warnings import AdvicePage, advice
from headgate.application.queries.overview.overview import overview
from headgate.application.queries.overview.views import Overview


class OverviewPage(Controller):
    """What needs attention."""

    path = "/overview"
    tags = ["Overview"]

    @get(
        operation_id="readOverview",
        summary="Counts, what needs attention, and what happened last",
        responses=response(Overview),
    )
    async def read(self, request: Caller) -> Answer:
        """Of everything one may see."""
        return answer_view(await overview(services_of(request), request.user.namespaces))


class LintPage(Controller):
    """What is odd about the configuration."""

    path = "/lint"
    tags = ["Overview"]

    @get(
        operation_id="lint",
        summary="What is allowed in the configuration and most likely not meant",
        responses=response(AdvicePage),
    )
    async def read(self, request: Caller) -> Answer:
        """With the numbers, and what may have been meant; warnings first."""
        return answer_view(
            advice(services_of(request).reader.cluster_state, request.user.namespaces)
        )
