"""The log, newest first, and how many events there were when."""

from typing import Annotated

from litestar import Controller, get
from litestar.params import FromQuery, QueryParameter

from headgate.api.answers import Answer, answer_view, response
from headgate.api.callers import Caller, services_of
from headgate.api.instants import instant_or_none
from headgate.api.parameters import listed
from headgate.application.queries import events
from headgate.application.queries.event_views import EventPage, Histogram

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
        wanted = events.Wanted(
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
        return answer_view(found)

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
        span = events.Span(minutes=minutes, buckets=buckets)
        wanted = events.Wanted(types=listed(types), streams=listed(streams))
        found = await events.histogram(services_of(request), wanted, request.user.namespaces, span)
        return answer_view(found)
