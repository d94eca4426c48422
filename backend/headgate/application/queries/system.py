"""The installation as a whole: its positions and lags, and the overview of what needs attention."""

import asyncio
import time
from collections import Counter

import msgspec

from headgate.application.access.redaction import (
    NamespaceScope,
    allows,
    diagnostic,
    visible_streams,
    visible_to,
)
from headgate.application.application_services import ApplicationServices
from headgate.application.ports import PartitionRow
from headgate.application.projections.followers import Admissions, admissions_in_log
from headgate.application.queries import events
from headgate.application.queries.attention import (
    SEVERITY_ORDER,
    Attention,
    find_attention,
    most_severe,
    process_alerts,
)
from headgate.application.queries.causes import Causes, causes_of
from headgate.application.queries.detectors import (
    DetectedProblem,
    detect_problems,
    drifted_followers,
)
from headgate.application.queries.events import EventView
from headgate.application.queries.stuck_workloads import unlisted_stuck
from headgate.application.queries.views import (
    Position,
    Schema,
    Timestamp,
    Whole,
    message_view,
    timestamp,
    view_from,
)
from headgate.domain.cluster_state import ClusterState
from headgate.domain.kinds.executor_nodes import is_connected
from headgate.domain.recorded_event import RecordedEvent
from headgate.domain.workload_index import Unlisted
from headgate.messages.catalogue import text_of


class PartitionView(Schema, kw_only=True, frozen=True):
    """A scheduling partition: the position it is planned to, and its worker."""

    key: str
    last_position: Position
    idle_position: Position
    next_due: Timestamp | None = None
    owner: str = ""
    halted: str = ""


class FollowerView(Whole, kw_only=True, frozen=True):
    """A read model that follows the log."""

    name: str
    position: Position
    lag: int


class SystemView(Whole, kw_only=True, frozen=True):
    """Version, positions and lags, and how many executors are connected of those there are."""

    version: str
    position: Position
    uptime_seconds: int
    partitions: list[PartitionView]
    followers: list[FollowerView]
    head_lag_seconds: float
    executors: int
    executors_connected: int


async def system(services: ApplicationServices, scope: NamespaceScope) -> SystemView:
    """As the database says it now, redacted for a scope."""
    rows, positions, head, last = await asyncio.gather(
        asyncio.to_thread(services.partitions.rows),
        asyncio.to_thread(services.followers.positions),
        asyncio.to_thread(services.log.head),
        asyncio.to_thread(_first_unseen, services),
    )
    executors = services.reader.cluster_state.config.executors.values()
    return SystemView(
        version=services.version,
        position=head,
        uptime_seconds=int(time.monotonic() - services.started_at),
        partitions=[_partition(row, scope) for row in rows],
        followers=[
            FollowerView(name=name, position=position, lag=max(0, head - position))
            for name, position in sorted(positions.items())
        ],
        head_lag_seconds=_lag_seconds(services, last),
        executors=len(executors),
        executors_connected=sum(map(is_connected, executors)),
    )


def _first_unseen(services: ApplicationServices) -> list[RecordedEvent]:
    return services.log.read(services.reader.position, limit=1)


def _lag_seconds(services: ApplicationServices, unseen: list[RecordedEvent]) -> float:
    """How long ago the first event happened that this process has not seen."""
    if not unseen:
        return 0.0
    return max(0.0, (services.clock.now() - unseen[0].at) / 1_000_000)


def _partition(row: PartitionRow, scope: NamespaceScope) -> PartitionView:
    halted = row.failure if row.halted_position is not None else ""
    return view_from(PartitionView, row, halted=diagnostic(halted, scope))


class CountAt(Whole, kw_only=True, frozen=True):
    """A count for the minute that begins at `at`."""

    at: Timestamp
    count: int


class Overview(Whole, kw_only=True, frozen=True):
    """Counts by phase, what needs attention, the last events, admissions per minute."""

    position: Position
    at: Timestamp
    counts: dict[str, int]
    attention: list[Attention]
    recent: list[EventView]
    admitted_per_minute: list[CountAt]


MINUTES = 60
MICROSECONDS_PER_MINUTE = 60_000_000
RECENT = 20
LOOKED_AT = 100
"""Events among which the recent ones are looked for; reasons to wait come with every change."""
EXPLAINED = "workload.explained"
POLICY_LAB = "/simulations/lab"
MAX_PROBLEMS = 20


async def overview(services: ApplicationServices, scope: NamespaceScope) -> Overview:
    """Of everything that may be seen."""
    cluster_state = services.reader.cluster_state
    now = services.clock.now()
    wanted = events.EventQuery()
    newest = await events.page(services, wanted, scope, before=None, limit=LOOKED_AT)
    return Overview(
        position=cluster_state.position,
        at=timestamp(now),
        counts=_counts(cluster_state, scope),
        attention=await _findings(services, scope, now),
        recent=[event for event in newest.items if event.type != EXPLAINED][:RECENT],
        admitted_per_minute=await _admitted(services, scope, now),
    )


async def causes(services: ApplicationServices, scope: NamespaceScope) -> Causes:
    """All alerts that may be seen, grouped by cause."""
    found = await _alerts(services, scope, services.clock.now())
    alerts = [*found.of_process, *found.detected, *found.needing]
    return await services.reader.while_still(causes_of(services, alerts, found.unlisted, scope))


class _Alerts(msgspec.Struct, frozen=True):
    """Of this process, of the detectors, and all other things that need attention.

    `unlisted` are workloads of each kind that no alert names.
    """

    of_process: list[Attention]
    detected: list[Attention]
    needing: list[Attention]
    unlisted: dict[str, Unlisted]


async def _alerts(services: ApplicationServices, scope: NamespaceScope, now: int) -> _Alerts:
    cluster_state, reader = services.reader.cluster_state, services.reader
    needing = await reader.while_still(find_attention(cluster_state, now, scope))
    positions = await asyncio.to_thread(services.followers.positions)
    shown = await reader.while_still(detect_problems(cluster_state, now, scope))
    drifted = drifted_followers(positions, reader.position) if scope is None else []
    detected = [_attention(one, scope) for one in (*shown.listed, *drifted)]
    stuck = unlisted_stuck(cluster_state, now, scope)
    return _Alerts(
        list(process_alerts(services.readiness.latest)),
        detected,
        needing,
        {**shown.unlisted, **stuck},
    )


async def _findings(
    services: ApplicationServices, scope: NamespaceScope, now: int
) -> list[Attention]:
    """What the detectors found and what else needs attention, with the positions that show it."""
    cluster_state = services.reader.cluster_state
    alerts = await _alerts(services, scope, now)
    worst = most_severe(alerts.needing)
    found = sorted(
        [*alerts.of_process, *alerts.detected[:MAX_PROBLEMS], *worst],
        key=lambda one: SEVERITY_ORDER[one.severity],
    )
    places = [(one.stream, cluster_state.version_of(one.stream)) for one in found]
    shown_at = await asyncio.to_thread(services.log.positions_of, places)
    # Of ended workloads the rows tell, as the fold does not know how many events they have.
    gone = [stream for stream, version in places if stream.startswith("workload/") and not version]
    rows = await asyncio.to_thread(services.models.load, gone) if gone else []
    known = {row.stream: row.position for row in rows}
    return [
        msgspec.structs.replace(one, position=known.get(one.stream, position))
        for one, position in zip(found, shown_at, strict=True)
    ]


def _attention(one: DetectedProblem, scope: NamespaceScope) -> Attention:
    is_visible = visible_to(scope)
    return Attention(
        kind=one.kind,
        severity="warning",
        title=text_of(one.title, is_visible),
        detail=text_of(one.detail, is_visible),
        title_message=message_view(one.title, is_visible),
        detail_message=message_view(one.detail, is_visible),
        link=_link(one),
        stream=one.evidence if allows(scope, one.evidence) else "",
    )


def _link(one: DetectedProblem) -> str:
    if one.kind == "PredictionMissed":
        return POLICY_LAB
    return f"/workloads/{one.about}" if one.namespace else "/events"


def _counts(cluster_state: ClusterState, scope: NamespaceScope) -> dict[str, int]:
    """Workloads by phase, summed over LocalQueues where not all may be seen."""
    found = cluster_state.partition_index.counts
    if scope is None:
        return dict(sorted(found.get("", {}).items()))
    counts = Counter[str]()
    for name, phases in found.items():
        kind, _, queue = name.partition("/")
        if kind == "localqueue" and queue.partition("/")[0] in scope:
            counts.update(phases)
    return dict(sorted(counts.items()))


async def _admitted(
    services: ApplicationServices, scope: NamespaceScope, now: int
) -> list[CountAt]:
    """The admissions of the last hour: those that a read model has counted, and the later ones.

    Within a scope they are counted in the log.
    """
    first = (now // MICROSECONDS_PER_MINUTE - MINUTES + 1) * MICROSECONDS_PER_MINUTE
    known = Admissions(position=0, by_minute={})
    if scope is None:
        known = await asyncio.to_thread(services.followers.admissions, first)
    streams = visible_streams((), scope)
    later = await asyncio.to_thread(
        admissions_in_log, services.log, first, streams=streams, after=known.position
    )
    counts = Counter(known.by_minute) + Counter(later)
    return [
        CountAt(at=timestamp(at), count=counts[at])
        for at in range(first, now + 1, MICROSECONDS_PER_MINUTE)
    ]
