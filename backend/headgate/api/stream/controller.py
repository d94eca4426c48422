"""Server-sent events: every new fact, resumable by position."""

from typing import Annotated

from litestar import Controller, get
from litestar.openapi import ResponseSpec
from litestar.params import HeaderParameter, QueryParameter
from litestar.response import Stream

from headgate.api.callers import Caller, is_still_authorized, services_of
from headgate.api.parameters import listed, whole_number
from headgate.api.past import STREAMED
from headgate.application.event_hub import Wanted

HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
DESCRIPTION = (
    "`event: fact` with an event as JSON and its position as id; `event: reset` tells a client "
    "that it has missed too much and must read everything again; comments keep the connection alive"
)


class EventStream(Controller):
    """New facts as they come."""

    path = "/stream"
    tags = ["Events"]

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
        wanted = Wanted(
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
