"""The Litestar application: its routes, their rights, its start and stop, and its services."""

import asyncio
import os
import time
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from itertools import pairwise
from typing import Any

import structlog
from litestar import Litestar, Request, Response, Router
from litestar.datastructures import State
from litestar.handlers import HTTPRouteHandler
from msgspec.structs import replace

from headgate.api import openapi
from headgate.api.admission_checks import CheckReports
from headgate.api.alerts import ROUTES as ALERT_ROUTES
from headgate.api.apply import Apply
from headgate.api.backtests import SIMULATION_ROUTES
from headgate.api.bodies import TypedRequest
from headgate.api.callers import authenticated, services_of
from headgate.api.cron_jobs import CronJobRunner
from headgate.api.events import LOG_ROUTES
from headgate.api.executors.administration import ExecutorActions, ExecutorOrphans, list_orphans
from headgate.api.executors.assignment_feed import feed_of
from headgate.api.executors.controller import Executors, report_routes
from headgate.api.executors.pods import ExecutorPods, assignment_items
from headgate.api.executors.protocol import ExecutorProtocol
from headgate.api.executors.sessions import ExecutorSessions
from headgate.api.history import Erasures, History, ObjectReferences
from headgate.api.nodes import ROUTES as NODE_ROUTES
from headgate.api.objects import controllers as object_controllers
from headgate.api.openapi import VERSION
from headgate.api.parameters import (
    check_media_type,
    known_parameters,
    reach_position,
    read_at,
    reject_unknown_parameters,
)
from headgate.api.pod_sessions import WorkloadSessions, relay_of
from headgate.api.preemptions import Preemptions
from headgate.api.problems import answer_failure, exception_handlers
from headgate.api.queues import Queues
from headgate.api.queues import actions as queue_actions
from headgate.api.service_accounts import ServiceAccounts
from headgate.api.simulations import Simulations
from headgate.api.stuck_workloads import StuckWorkloadsPage
from headgate.api.system import (
    LintPage,
    OverviewPage,
    System,
    is_alive,
    is_ready,
    metrics,
)
from headgate.api.tokens import ROUTES as USER_ROUTES
from headgate.api.uploads import ExecutorLogs, ExecutorUploads, Uploads
from headgate.api.web_pages import (
    ALLOWED,
    add_headers,
    all_problems,
    docs_page,
    docs_script,
    docs_style,
    help_page,
    one_problem,
    openapi_document,
    user_interface,
)
from headgate.api.workloads.actions import WorkloadProtection
from headgate.api.workloads.actions import router as workload_actions
from headgate.api.workloads.controller import AllWorkloads, Workloads
from headgate.api.workloads.pods import WorkloadLogs, WorkloadPods
from headgate.api.workloads.queries import WorkloadRows
from headgate.application.access.identity import TokenCache
from headgate.application.access.request_limits import RequestLimits, read_limits
from headgate.application.alerts import AlertWatch
from headgate.application.application_services import ApplicationServices, DatabaseClock
from headgate.application.commands.append_unit import GroupCommit
from headgate.application.commands.executor_commands import LeaseKeeper
from headgate.application.cooperative import CountedThreads
from headgate.application.event_hub import EventHub
from headgate.application.executor_stores import RendezvousPorts
from headgate.application.file_stores import GIBIBYTE, MEBIBYTE, LogStoreSize
from headgate.application.live_state import LiveReader
from headgate.application.metrics_counters import EventCounters
from headgate.application.metrics_durations import CycleDurations
from headgate.application.ports import AppendUnit, Unavailable
from headgate.application.projections.followers import Rebuilds
from headgate.application.queries.views import did_you_mean
from headgate.application.readiness import ReadinessWatch, recover_from_rewind
from headgate.bootstrap import AnswerLimits, Platform, open_platform
from headgate.domain.kinds.configured_object import Absent
from headgate.domain.kinds.registry import KINDS
from headgate.domain.recorded_event import stream_of
from headgate.domain.rejection import NotFound
from headgate.settings import found_page, from_environment

MAX_BODY_BYTES = 10_000_000
MAX_TYPED_BYTES = 1_048_576
"""Of a body with a schema of its own, which is decoded on the event loop within milliseconds."""
READ_THREADS = 16
"""Twice the connections for reads, so that reads of memory go on while all of these wait."""
READING_LOG = "The event log is being read."


def create_app() -> Litestar:
    """The application as the environment says; what Granian calls."""
    settings = from_environment()
    page = found_page(settings.ui_directory) or settings.ui_directory
    settings = replace(settings, ui_directory=page)
    limits = AnswerLimits.of_api(settings.database_timeout_seconds)
    platform = open_platform(settings, name="headgate-api", limits=limits)
    return app_over(application_services(platform), platform.close)


def app_over(services: ApplicationServices, close: Callable[[], None] = lambda: None) -> Litestar:
    """The application over an installation; it follows the log from when it is started.

    `close` is called when it has stopped.
    """
    return connect(routes_only(), services, close)


def connect(
    app: Litestar, services: ApplicationServices, close: Callable[[], None] = lambda: None
) -> Litestar:
    """The application over another installation from its next start; it must have stopped.

    Many installations, one after the other, share its routes, which take half a second to make.
    """
    app.state.update({"services": services, "close": close})
    return app


def routes_only() -> Litestar:
    """The application without anything behind it, also to derive its document from."""
    app = Litestar(
        route_handlers=[
            _version_one(),
            _metrics_router(),
            is_alive,
            is_ready,
            openapi_document,
            docs_page,
            docs_script,
            docs_style,
            all_problems,
            one_problem,
            help_page,
            user_interface,
        ],
        state=State(),
        lifespan=[_lifespan],
        openapi_config=openapi.config(),
        request_class=TypedRequest,
        exception_handlers={**exception_handlers(), NotFound: no_such_object},
        before_send=[add_headers],
        request_max_body_size=MAX_BODY_BYTES,
        logging_config=None,
        pdb_on_exception=False,
        debug=False,
    )
    for route in app.routes:
        for handler in getattr(route, "route_handlers", ()):
            known_parameters(handler, frozenset(route.path_parameters))
            _bound_body(handler)
            if "OPTIONS" in handler.http_methods:
                # Litestar's own answer leaves out what was added to the path after its handler.
                handler.opt[ALLOWED] = ", ".join(sorted(route.methods))
    return app


def _bound_body(handler: HTTPRouteHandler) -> None:
    """Bounds a typed body, unless the route says by `large` that lists of it may be long."""
    is_typed = "data" in handler.parsed_fn_signature.parameters
    is_bounded = handler.resolve_request_max_body_size() != MAX_BODY_BYTES
    if is_typed and not is_bounded and not handler.opt.get("large"):
        handler._resolved_request_max_body_size = MAX_TYPED_BYTES  # noqa: SLF001 - no layer below


def _version_one() -> Router:
    return Router(
        path="/v1",
        middleware=[authenticated],
        before_request=before_request,
        route_handlers=[
            AllWorkloads,
            Workloads,
            workload_actions(),
            WorkloadProtection,
            Queues,
            queue_actions(),
            *NODE_ROUTES,
            *object_controllers(),
            Apply,
            Executors,
            ExecutorProtocol,
            ExecutorLogs,
            ExecutorUploads,
            Uploads,
            ExecutorSessions,
            ExecutorActions,
            ExecutorOrphans,
            list_orphans,
            WorkloadLogs,
            WorkloadSessions,
            ExecutorPods,
            WorkloadPods,
            WorkloadRows,
            report_routes(),
            CheckReports,
            *LOG_ROUTES,
            OverviewPage,
            *ALERT_ROUTES,
            LintPage,
            Preemptions,
            StuckWorkloadsPage,
            Simulations,
            History,
            ObjectReferences,
            Erasures,
            *SIMULATION_ROUTES,
            *USER_ROUTES,
            ServiceAccounts,
            System,
        ],
    )


def _metrics_router() -> Router:
    return Router(path="/", middleware=[authenticated], route_handlers=[metrics])


async def before_request(request: Request[Any, Any, Any]) -> None:
    """What every request under /v1 goes through first."""
    reader = services_of(request).reader
    if not reader.ready:
        raise reader.too_old or Unavailable(READING_LOG)
    check_media_type(request)
    reject_unknown_parameters(request)
    await reach_position(request)
    await read_at(request)


@asynccontextmanager
async def _lifespan(app: Litestar) -> AsyncIterator[None]:
    services: ApplicationServices = app.state["services"]
    reader, hub, clock = services.reader, services.hub, services.clock
    assert isinstance(reader, LiveReader), "what is started is the present"
    assert isinstance(clock, DatabaseClock), "and its clock goes"
    reads = CountedThreads(READ_THREADS, thread_name_prefix="headgate-reads")
    asyncio.get_running_loop().set_default_executor(reads)
    await asyncio.to_thread(clock.read_database)
    await reader.start()
    hub.begin(reader.position)
    services.cycle_durations.begin(clock.now())
    reader.listen(lambda batch: services.event_counters.count(batch, reader.cluster_state))
    reader.listen(hub.publish)
    if services.traces is not None:
        reader.listen(services.traces.follow)
    reader.on_rewind(lambda: hub.rewind(reader.position))
    reader.on_rewind(services.token_cache.forget)
    reader.on_rewind(services.known_maps.clear)
    feed = feed_of(services, assignment_items)
    app.state["assignment_feed"] = feed
    relay = relay_of(services)
    app.state["session_relay"] = relay
    background = [
        asyncio.create_task(clock.synchronize()),
        asyncio.create_task(services.readiness.watch()),
        asyncio.create_task(LeaseKeeper(services).watch()),
        asyncio.create_task(CronJobRunner(services).watch()),
        asyncio.create_task(AlertWatch(services).watch()),
    ]
    try:
        yield
    finally:
        hub.close()
        feed.close()
        relay.close()
        for task in background:
            task.cancel()
        services.readiness.close()
        services.history.executor.close()
        services.reading.close()
        services.writing.close()
        services.commits.close()
        services.token_cache.close()
        await reader.stop()
        reads.shutdown(wait=False, cancel_futures=True)
        app.state["close"]()


STREAM_KINDS = {
    "workloads": ("workload", True),
    **{kind.path: (kind.stream_kind, kind.is_namespaced) for kind in KINDS},
}
"""Kinds as paths name them: their name in streams, and whether they live in a namespace."""


def no_such_object(request: Request[Any, Any, Any], failure: Exception) -> Response[Any]:
    """The problem, with the nearest name that the caller may see; ended workloads may be there."""
    assert isinstance(failure, NotFound), "it is registered for nothing else"
    stream = _stream_in(request)
    is_there = stream.startswith("workload/") and "kind" not in failure.message.arguments
    state, scope = services_of(request).reader.cluster_state, request.user.namespaces
    hint = did_you_mean(state, stream, scope) if stream and not is_there else ""
    return answer_failure(request, failure, hint)


def _stream_in(request: Request[Any, Any, Any]) -> str:
    """The object that an address is about; empty where it names none, or one that exists."""
    name, namespace = (str(request.path_params.get(part, "")) for part in ("name", "namespace"))
    steps = pairwise(request.url.path.split("/"))
    found = [STREAM_KINDS[kind] for kind, step in steps if step == name and kind in STREAM_KINDS]
    if not found:
        return ""
    kind, is_namespaced = found[-1]
    stream = stream_of(kind, name, namespace if is_namespaced else "")
    state = services_of(request).reader.cluster_state.state_of(stream)
    return stream if isinstance(state, Absent) else ""


ALL_PARTITIONS = "*"
EXIT_SOFTWARE = 70
"""The exit status for an internal error, as sysexits.h has it."""
LOG = structlog.get_logger()


def application_services(platform: Platform) -> ApplicationServices:
    """Everything the use cases work with; nothing is read before it is started."""
    reader = LiveReader(platform.live_state(), platform.tail, recover_from_rewind, _exit_process)
    platform.past_comparison.begin(reader.compared_point, reader.past_lost)
    hub = EventHub(platform.event_log)
    nudge, traces = _nudging(platform, reader), platform.traces
    commits = GroupCommit(platform.write_log, nudge, traced=traces.commit if traces else None)
    max_log_bytes = platform.settings.pod_logs_gibibytes * GIBIBYTE
    return ApplicationServices(
        log=platform.event_log,
        models=platform.read_models,
        write_log=platform.write_log,
        write_models=platform.write_models,
        partitions=platform.partitions,
        followers=platform.followers,
        tokens=platform.tokens,
        leases=platform.leases,
        sessions=platform.sessions,
        rendezvous_ports=RendezvousPorts(platform.rendezvous_ports),
        cycles=platform.cycles,
        simulations=platform.simulations,
        ids=platform.ids,
        clock=DatabaseClock(platform.event_log),
        saved_views=platform.saved_views,
        token_cache=TokenCache(platform.tokens, platform.settings.admin_token),
        commits=commits,
        reader=reader,
        hub=hub,
        rebuilds=Rebuilds(platform.followers),
        event_counters=EventCounters(),
        cycle_durations=CycleDurations(),
        history=platform.historical_reads(),
        ui_directory=platform.settings.ui_directory,
        version=VERSION,
        started_at=time.monotonic(),
        traces=traces,
        request_limits=RequestLimits(read_limits(platform.settings.request_limits)),
        alerts=platform.alert_ports(),
        pod_logs=platform.pod_logs,
        pod_log_size=LogStoreSize(platform.pod_logs, max_log_bytes),
        uploads=platform.uploads,
        archive_status=platform.log_archiver,
        max_upload_bytes=platform.settings.upload_mebibytes * MEBIBYTE,
        readiness=ReadinessWatch(platform.event_log_for_probes, platform.probe, commits),
    )


def partitions_to_nudge(units: Iterable[AppendUnit], keys: Sequence[str]) -> list[str]:
    """The partitions to nudge after these appends; `keys` are all there are."""
    woken = {key for unit in units for new in unit.events for key in new.wakes}
    return sorted({*woken - {ALL_PARTITIONS}, *(keys if ALL_PARTITIONS in woken else ())})


def _nudging(platform: Platform, reader: LiveReader) -> Callable[[Sequence[AppendUnit]], None]:
    """Tells workers of what was appended; the broker may be away, the log is not."""

    def nudge(units: Sequence[AppendUnit]) -> None:
        keys = reader.cluster_state.partition_keys()
        platform.nudges.nudge(partitions_to_nudge(units, keys))

    return nudge


def _exit_process(failure: BaseException) -> None:
    """Ends a process that cannot follow the log any more; a new one starts from the log."""
    LOG.critical("the log cannot be followed any more", exc_info=failure)
    os._exit(EXIT_SOFTWARE)
