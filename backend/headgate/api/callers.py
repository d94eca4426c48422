"""The caller of a request: identity, role and namespaces, checked before its handler."""

import asyncio
from collections.abc import Coroutine
from typing import Any

from litestar import Request, Response
from litestar.datastructures import Headers
from litestar.handlers import BaseRouteHandler
from litestar.types import ASGIApp, Message, Receive, Scope, Send

from headgate.adapters.manifests.job_templates import NO_RUNTIMES, Runtimes, training_runtimes
from headgate.api.problems import NOT_FOUND, UNAUTHORIZED, ApiFailure, request_id_of
from headgate.application.access.identity import Identity
from headgate.application.access.rights import Right, right_named
from headgate.application.application_services import ApplicationServices
from headgate.application.commands.execute import catch_up
from headgate.application.cooperative import measured, part_of, present_work
from headgate.application.ports import Unavailable
from headgate.application.queries.views import did_you_mean
from headgate.domain.recorded_event import EventMetadata

Caller = Request[Identity, None, Any]


READ_WORKLOADS = Right("read", "workloads")
ASKED, UNNAMED = "read identity", "configure readmodels"
REPORT_EXECUTORS = Right("report", "executors")
STREAMED = "StreamWithoutPast"
"""The code of streams, which have no past (`opt={"live": ...}`)."""
TRACEPARENT = "traceparent"
TRACE = "trace"
"""Where a request that is traced keeps what its events refer to."""
UNTRACED_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
"""Of requests that change nothing, those are traced that their callers trace."""
PAST = "past"
"""Where a request that asks with `at` keeps the installation as it was."""


def services_of(request: Request[Any, Any, Any]) -> ApplicationServices:
    """What the use cases work with, as it was then where the request asks with `at`."""
    past: ApplicationServices | None = request.scope["state"].get(PAST)
    return past or request.app.state.services


TRAIN_JOB = b"TrainJob"


async def runtimes_of(request: Request[Any, Any, Any], body: bytes) -> Runtimes:
    """The training runtimes that exist by now, where a body may have a TrainJob that names one."""
    if TRAIN_JOB not in body:
        return NO_RUNTIMES
    services = services_of(request)
    await catch_up(services)
    return training_runtimes(services.reader.cluster_state.config)


async def object_not_found(request: Caller, stream: str, named: str) -> ApiFailure:
    """The problem of an object that is not there, with the nearest name that there is by now."""
    services = services_of(request)
    await catch_up(services)
    remedy = did_you_mean(services.reader.cluster_state, stream, request.user.namespaces)
    return ApiFailure(NOT_FOUND, f"There is no {named}.", remedy=remedy)


def origin_of(request: Caller, reason: str = "") -> EventMetadata:
    """How events caused by this request say so."""
    request_id = request_id_of(request.scope)
    return EventMetadata(
        actor=request.user.actor,
        reason=reason,
        causation=f"request:{request_id}",
        correlation=request_id,
        trace=str(request.scope["state"].get(TRACE) or request.headers.get(TRACEPARENT, "")),
    )


def authenticated(app: ASGIApp) -> ASGIApp:
    """Name the caller; refuse a request without a valid bearer token, or one it does not allow.

    Litestar's own guards would come to a copy of the handler and, here, a thread for each request.
    """

    async def check(scope: Scope, receive: Receive, send: Send) -> None:
        services: ApplicationServices = scope["litestar_app"].state.services
        if services.traces is None:
            await admit(scope, receive, send)
        else:
            await _traced(services, admit, scope, receive, send)

    async def admit(scope: Scope, receive: Receive, send: Send) -> None:
        scope["user"] = identity = await _identity(scope)
        _authorize(scope, identity)
        services: ApplicationServices = scope["litestar_app"].state.services
        told = scope["route_handler"].opt
        is_stream, is_long = told.get("live") == STREAMED, bool(told.get("long"))
        limits = services.request_limits
        async with limits.request(identity, is_stream=is_stream, is_long=is_long) as work:
            with part_of(work):
                answering = app(scope, receive, send)
                # A stream gives way where the hub says, where it holds nothing.
                await (answering if is_stream else measured(answering, work))

    return check


async def _traced(
    services: ApplicationServices, app: ASGIApp, scope: Scope, receive: Receive, send: Send
) -> None:
    """Serves a request as a span of a trace."""
    assert services.traces is not None, "else nothing is traced"
    header, method = Headers.from_scope(scope).get(TRACEPARENT, ""), str(scope.get("method"))
    if not header and method in UNTRACED_METHODS:
        await app(scope, receive, send)
        return
    route = str(scope["path_template"])
    attributes = {"http.request.method": method, "http.route": route}
    attributes["headgate.request"] = request_id_of(scope)
    with services.traces.request(f"{method} {route}", header, attributes) as span:

        async def note(message: Message) -> None:
            if message["type"] == "http.response.start":
                span.note_status(message["status"])
            await send(message)

        scope["state"][TRACE] = span.traceparent
        await app(scope, receive, note)


CLIENT_GONE = 499
"""The status of an answer to a connection that is closed, as nginx has it."""


async def while_connected(
    request: Caller, work: Coroutine[Any, Any, Response[bytes]]
) -> Response[bytes]:
    """The answer of a long request after its body; it ends early if its client leaves."""
    working = asyncio.create_task(_measured_alone(work))
    leaving = asyncio.create_task(_disconnected(request))
    try:
        await asyncio.wait((working, leaving), return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            return working.result()
        return Response(b"", status_code=CLIENT_GONE)
    finally:
        for task in (working, leaving):
            task.cancel()
        await asyncio.gather(working, leaving, return_exceptions=True)


async def _measured_alone(work: Coroutine[Any, Any, Response[bytes]]) -> Response[bytes]:
    """The answer of a part of the present work that runs in a task of its own."""
    present = present_work()
    return await (work if present is None else measured(work, present))


async def _disconnected(request: Caller) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


async def is_still_authorized(request: Caller) -> bool:
    """Whether the token of a request that goes on and on is still the same caller's."""
    try:
        return await _identity(request.scope) == request.user
    except ApiFailure:
        return False
    except Unavailable:
        return True


async def _identity(scope: Scope) -> Identity:
    scheme, _, secret = Headers.from_scope(scope).get("authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not secret:
        raise ApiFailure(UNAUTHORIZED, "The request carries no bearer token.")
    services: ApplicationServices = scope["litestar_app"].state.services
    at = await _now(services)
    identity = await services.token_cache.identity(secret.strip(), at)
    if identity is None:
        raise ApiFailure(UNAUTHORIZED, "The token is unknown, expired or revoked.")
    return identity


async def _now(services: ApplicationServices) -> int:
    if services.clock.is_set:
        return services.clock.now()
    return await asyncio.to_thread(services.clock.now)


def _authorize(scope: Scope, identity: Identity) -> None:
    """Raises `NotAllowed` for what the roles of the caller do not allow at the place of the path.

    A queue administrator acts on workloads and LocalQueues of its ClusterQueues: which these are,
    only the state tells, and the command judges.
    """
    right, place = right_of(scope["route_handler"], str(scope.get("method"))), scope["path_params"]
    namespace = str(place.get("namespace", ""))
    queue = str(place.get("name", "")) if right.resource == "clusterqueues" else ""
    identity.require(right, namespace=namespace, cluster_queue=queue)
    if right == REPORT_EXECUTORS:
        identity.require_executor(str(place.get("name", "")))


def right_of(handler: BaseRouteHandler, method: str) -> Right:
    """The right that a route names; one that names none is an admin's alone.

    OPTIONS tells which methods an address has, and every user may ask that.
    """
    return right_named(ASKED if method == "OPTIONS" else handler.opt.get("right", UNNAMED))


def require_namespace(identity: Identity, namespace: str) -> None:
    """Raises `NotAllowed` for a namespace that is not the caller's to read."""
    identity.require(READ_WORKLOADS, namespace=namespace)
