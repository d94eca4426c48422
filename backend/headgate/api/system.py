"""`/v1/system`, overview, lint, read model rebuilds, `/metrics`, `/healthz` and `/readyz`."""

from typing import Annotated

from litestar import Controller, Request, Response, get, post
from litestar.datastructures import State
from litestar.openapi import ResponseSpec
from litestar.params import PathParameter
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4

from headgate.api.answers import Answer, answer, answer_view, response
from headgate.api.bodies import Whole
from headgate.api.callers import Caller, services_of
from headgate.api.parameters import PRESENT_ONLY, read_at
from headgate.api.problems import NOT_FOUND, ApiFailure
from headgate.application.metrics_exposition import exposition
from headgate.application.queries.lint_warnings import AdvicePage, advice
from headgate.application.queries.system import Overview, SystemView, overview, system
from headgate.application.readiness import Readiness
from headgate.domain.values.message import message
from headgate.messages.catalogue import text_of


class Health(Whole, kw_only=True, frozen=True):
    """Whether the process can do its work, and if not why."""

    status: str
    detail: str
    position: int
    code: str = ""


class Rebuilding(Whole, kw_only=True, frozen=True):
    """A read model is being built anew."""

    name: str


METRICS = CONTENT_TYPE_PLAIN_0_0_4


class System(Controller):
    """Positions and lags."""

    path = "/"
    tags = ["System"]
    opt = {"right": "read system"}

    @get(
        "/system",
        operation_id="readSystem",
        summary="Version, partitions, read models and their lags",
        responses=response(SystemView),
        opt={"live": PRESENT_ONLY},
    )
    async def read(self, request: Caller) -> Answer:
        """Partitions with an idle position behind their last one have work to do."""
        return answer_view(await system(services_of(request), request.user.namespaces))

    @post(
        "/readmodels/{name:str}/rebuild",
        operation_id="rebuildReadModel",
        summary="Build a read model anew from the log",
        status_code=202,
        responses=response(Rebuilding, status=202),
        opt={"right": "configure readmodels"},
    )
    async def rebuild(
        self, request: Caller, name: Annotated[str, PathParameter(max_length=100)]
    ) -> Answer:
        """Reads go on meanwhile; it stands at the log's position when it is done."""
        services = services_of(request)
        if name not in services.followers.names():
            raise ApiFailure(NOT_FOUND, f"There is no read model {name!r}.")
        services.rebuilds.start(name)
        return answer(Rebuilding(name=name), position=services.reader.position, status=202)


@get(
    "/metrics",
    operation_id="readMetrics",
    summary="Figures for Prometheus, under the names Kueue uses where it has them",
    media_type=METRICS,
    tags=["System"],
    before_request=read_at,
    opt={"right": "read metrics", "live": PRESENT_ONLY},
    responses={
        200: ResponseSpec(
            str, description="Prometheus text", media_type=METRICS, generate_examples=False
        )
    },
)
async def metrics(request: Caller) -> Response[bytes]:
    """Computed from the warm state."""
    return Response(
        await exposition(services_of(request), request.user.namespaces), media_type=METRICS
    )


@get(
    "/healthz",
    operation_id="isAlive",
    summary="Whether the process is alive",
    tags=["System"],
    before_request=read_at,
    opt={"live": PRESENT_ONLY},
)
async def is_alive() -> Health:
    """Always, if it answers."""
    return Health(status="ok", detail="", position=0)


@get(
    "/readyz",
    operation_id="isReady",
    summary="Whether the process can serve now",
    tags=["System"],
    before_request=read_at,
    opt={"live": PRESENT_ONLY},
    responses={503: ResponseSpec(Health, description="Not ready", generate_examples=False)},
)
async def is_ready(request: Request[None, None, State]) -> Response[Health]:
    """Not while the log is being folded, cannot be reached or cannot be written.

    While no worker decides, the status is `degraded` and the answer 200: reads are right, and
    what is submitted is kept.
    """
    services = services_of(request)
    too_old = services.reader.too_old
    if too_old is not None:
        told = message("ReleaseTooOld", event=too_old.name, position=too_old.position)
        found = Readiness(status="unavailable", reasons=(told,))
    elif not services.reader.ready:
        found = Readiness(status="unavailable", reasons=(message("LogBeingRead"),))
    else:
        found = await services.readiness.look()
    body = Health(
        status=found.status,
        detail=" ".join(f"{text_of(each).removesuffix('.')}." for each in found.reasons),
        position=services.reader.position,
        code=found.reasons[0].code if found.reasons else "",
    )
    if found.status == "unavailable":
        return Response(body, status_code=503, headers={"Retry-After": "2"})
    return Response(body)


class OverviewPage(Controller):
    """What needs attention."""

    path = "/overview"
    tags = ["Overview"]
    opt = {"right": "read overview"}

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
    opt = {"right": "read overview"}

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
