"""`/v1/events` and `/v1/stream`: pages of the event log, a histogram, and server-sent events."""

from typing import Annotated

import msgspec
from litestar import Controller, get
from litestar.openapi import ResponseSpec
from litestar.params import FromQuery, HeaderParameter, QueryParameter
from litestar.response import Stream

from headgate.api.answers import Answer, answer_view, encoded, response
from headgate.api.callers import STREAMED, Caller, is_still_authorized, services_of
from headgate.api.parameters import instant_or_none, listed, whole_number
from headgate.application.event_hub import EventSubscription
from headgate.application.queries import events
from headgate.application.queries.events import EventPage, Histogram

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
        since: Moment = None,
        until: Moment = None,
        before: Annotated[int | None, QueryParameter(ge=1)] = None,
        limit: Annotated[int, QueryParameter(ge=1, le=1000)] = 100,
    ) -> Answer:
        """`before` is a position; `next` of an answer is the `before` of the page after it."""
        wanted = events.EventQuery(
            types=listed(types),
            streams=listed(streams),
            actor=actor,
            correlation=correlation,
            since=instant_or_none(since, "/since"),
            until=instant_or_none(until, "/until"),
        )
        found = await events.page(
            services_of(request), wanted, request.user.namespaces, before=before, limit=limit
        )
        return answer_view(msgspec.structs.replace(found, items=await encoded(found.items)))

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
        minutes: Annotated[int, QueryParameter(ge=1, le=10_080)] = 60,
        buckets: Annotated[int, QueryParameter(ge=1, le=500)] = 60,
    ) -> Answer:
        """Up to the last event, by type."""
        span = events.HistogramSpan(minutes=minutes, buckets=buckets)
        wanted = events.EventQuery(types=listed(types), streams=listed(streams))
        found = await events.histogram(services_of(request), wanted, request.user.namespaces, span)
        return answer_view(found)


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
