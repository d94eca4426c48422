"""`/v1/events`, `/v1/marks`, `/v1/stream`, `/v1/cycles`: the log, its stream, what was planned."""

from typing import Annotated

import msgspec
from litestar import Controller, get
from litestar.openapi import ResponseSpec
from litestar.params import FromQuery, HeaderParameter, PathParameter, QueryParameter
from litestar.response import Stream

from headgate.api.answers import Answer, answer_view, encoded, response
from headgate.api.callers import STREAMED, Caller, is_still_authorized, services_of
from headgate.api.parameters import (
    Points,
    RangeEnd,
    RangeStart,
    instant_or_none,
    listed,
    start_of,
    whole_number,
)
from headgate.application.event_hub import EventSubscription
from headgate.application.queries import cycles, events
from headgate.application.queries.cycles import CycleDetail, CyclePage, CycleRerun, CycleSummary
from headgate.application.queries.events import EventPage, Histogram, MarkList
from headgate.application.time_travel import SampledPeriod, bounds_of

Types = Annotated[
    str | None, QueryParameter(name="type", description="Event types, separated by commas")
]
Streams = Annotated[
    str | None,
    QueryParameter(
        name="stream", description="Streams, or prefixes ending in `/`, separated by commas"
    ),
]

Moment = Annotated[
    str | None, QueryParameter(description="RFC 3339; `since` counts in, `until` does not")
]


class Events(Controller):
    """Facts."""

    path = "/events"
    tags = ["Events"]
    opt = {"right": "read events"}

    @get(
        operation_id="listEvents",
        summary="Events, newest first",
        responses=response(EventPage),
    )
    async def list_events(
        self,
        request: Caller,
        types: Types = None,
        streams: Streams = None,
        actor: FromQuery[str] = "",
        correlation: FromQuery[str] = "",
        text: Annotated[
            str,
            QueryParameter(
                max_length=200,
                description="A part of the object, type, actor, reason or a value of the event",
            ),
        ] = "",
        since: Moment = None,
        until: Moment = None,
        before: Annotated[int | None, QueryParameter(ge=1)] = None,
        limit: Annotated[int, QueryParameter(ge=1, le=1000)] = 100,
        groups: Annotated[
            bool,
            QueryParameter(description="Count all events of each correlation ID of the page, too"),
        ] = False,
    ) -> Answer:
        """`before` is a position; `next` of an answer is the `before` of the page after it.

        With a `text`, a page may have fewer events than its limit, though there are others.
        """
        wanted = events.EventQuery(
            types=listed(types),
            streams=listed(streams),
            actor=actor,
            correlation=correlation,
            text=text.strip(),
            since=instant_or_none(since, "/since"),
            until=instant_or_none(until, "/until"),
        )
        found = await events.page(
            services_of(request), wanted, request.user.namespaces, before=before, limit=limit
        )
        groups_of_page = (
            await events.groups(services_of(request), found.items, request.user.namespaces)
            if groups
            else []
        )
        items = await encoded(found.items)
        return answer_view(msgspec.structs.replace(found, items=items, groups=groups_of_page))

    @get(
        "/histogram",
        operation_id="readEventHistogram",
        summary="How many events there were when",
        responses=response(Histogram),
    )
    async def histogram(
        self,
        request: Caller,
        types: Types = None,
        streams: Streams = None,
        minutes: Annotated[int, QueryParameter(ge=1, le=527_040)] = 60,
        buckets: Annotated[int, QueryParameter(ge=1, le=500)] = 60,
        until: Moment = None,
    ) -> Answer:
        """By type; up to now without `until`. Spans beyond seven days are sampled."""
        span = events.HistogramSpan(
            minutes=minutes, buckets=buckets, until=instant_or_none(until, "/until")
        )
        wanted = events.EventQuery(types=listed(types), streams=listed(streams))
        found = await events.histogram(services_of(request), wanted, request.user.namespaces, span)
        return answer_view(found)


class Marks(Controller):
    """What explains the bend of a chart."""

    path = "/marks"
    tags = ["Events"]
    opt = {"right": "read events"}

    @get(
        operation_id="listMarks",
        summary="Changes of configuration, stops and outages within a time range",
        responses=response(MarkList),
    )
    async def list_marks(
        self,
        request: Caller,
        since: RangeStart = None,
        until: RangeEnd = None,
        cluster_queue: Annotated[
            str,
            QueryParameter(
                name="clusterQueue",
                max_length=253,
                description="What concerns this ClusterQueue only: itself, its cohorts, "
                "LocalQueues and flavors, and hosts and executors",
            ),
        ] = "",
    ) -> Answer:
        """Newest first; events of one kind within a minute are one mark with their count."""
        services = services_of(request)
        first, last = instant_or_none(since, "/since"), instant_or_none(until, "/until")
        bounds = bounds_of(services, SampledPeriod(first, last, 2))
        wanted = events.MarkQuery(since=bounds[0], until=bounds[1], cluster_queue=cluster_queue)
        return answer_view(await events.marks(services, wanted, request.user.namespaces))


HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}


DESCRIPTION = (
    "`event: fact` with an event as JSON and its position as id; `event: reset` tells a client "
    "that it has missed too much and must read everything again; comments keep the connection alive"
)


class EventStream(Controller):
    """New facts as they come."""

    path = "/stream"
    tags = ["Events"]
    opt = {"right": "read events"}

    @get(
        operation_id="watchEvents",
        summary="New events as they come",
        opt={"live": STREAMED},
        media_type="text/event-stream",
        responses={
            200: ResponseSpec(
                str,
                description=DESCRIPTION,
                media_type="text/event-stream",
                generate_examples=False,
            )
        },
    )
    async def watch(
        self,
        request: Caller,
        after: Annotated[int | None, QueryParameter(ge=0)] = None,
        last_event_id: Annotated[str | None, HeaderParameter(name="Last-Event-ID")] = None,
        types: Annotated[str | None, QueryParameter(description="Separated by commas")] = None,
        streams: Annotated[
            str | None, QueryParameter(description="Streams, or prefixes ending in `/`")
        ] = None,
        namespaces: Annotated[str | None, QueryParameter(description="Separated by commas")] = None,
    ) -> Stream:
        """Resumes after `Last-Event-ID` or `after`; without either it begins now."""
        wanted = EventSubscription(
            types=frozenset(listed(types)),
            streams=listed(streams),
            namespaces=frozenset(listed(namespaces)),
            scope=request.user.namespaces,
        )
        services = services_of(request)
        resume = _position(last_event_id, after)
        frames = services.hub.watch(wanted, resume, lambda: is_still_authorized(request))
        headers = {**HEADERS, "X-Log-Position": str(services.reader.position)}
        return Stream(frames, media_type="text/event-stream", headers=headers)


def _position(last_event_id: str | None, after: int | None) -> int | None:
    """A Last-Event-ID wins: browsers send it when they reconnect to the address they began with."""
    last = whole_number((last_event_id or "").strip())
    return after if last is None else last


FirstInstant = Annotated[
    str | None, QueryParameter(max_length=40, description="RFC 3339; the first instant")
]
LastInstant = Annotated[
    str | None, QueryParameter(max_length=40, description="RFC 3339; the instant after the last")
]
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
        since: FirstInstant = None,
        until: LastInstant = None,
    ) -> Answer:
        """Plans that decided something, or that the log refused because something had changed."""
        page_request = cycles.CyclePageRequest(
            limit,
            start_of(before),
            instant_or_none(since, "/since"),
            instant_or_none(until, "/until"),
        )
        scope = request.user.namespaces
        return answer_view(await cycles.page(services_of(request), partition, page_request, scope))

    @get(
        "/summary",
        operation_id="readCycleSummary",
        summary="Sums and durations of plans over time",
        responses=response(CycleSummary),
    )
    async def summary(
        self,
        request: Caller,
        partition: FromQuery[str] = "",
        since: RangeStart = None,
        until: RangeEnd = None,
        points: Points = 60,
    ) -> Answer:
        """Of all partitions without one; durations are in microseconds."""
        period = SampledPeriod(
            instant_or_none(since, "/since"), instant_or_none(until, "/until"), points
        )
        return answer_view(await cycles.summary(services_of(request), partition, period))

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


LOG_ROUTES = (Events, Marks, EventStream, Cycles)
