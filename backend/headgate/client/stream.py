"""The event stream: follows the log over server-sent events, and resumes without a gap."""

import contextlib
from collections.abc import Iterator

import httpx
import msgspec
from httpx_sse import ServerSentEvent, connect_sse

from headgate.adapters.system.stopwatch import pause
from headgate.client.problems import ServerProblem, problem_of
from headgate.client.schemas import Event, EventPage, StreamHeartbeat, StreamReset

HEARTBEAT_PATIENCE_SECONDS = 40.0
RECONNECT_SECONDS = 0.5
MAX_GAP = 200_000
PAGE_SIZE = 500

_EVENT = msgspec.json.Decoder(Event)
_PAGE = msgspec.json.Decoder(EventPage)


class EventSelection(msgspec.Struct, frozen=True, kw_only=True):
    """A filter of events; empty fields select all, and `streams` ending in `/` are prefixes."""

    types: tuple[str, ...] = ()
    streams: tuple[str, ...] = ()


class EventStream:
    """Follows the log after a position; `position` is the last one received.

    A server that will not go on from there is asked for the events in between page by page.
    """

    def __init__(
        self,
        http: httpx.Client,
        *,
        after: int,
        selection: EventSelection,
        quiet_seconds: float = HEARTBEAT_PATIENCE_SECONDS,
    ) -> None:
        self._http = http
        self._asked = {"types": ",".join(selection.types), "streams": ",".join(selection.streams)}
        self._quiet_seconds = quiet_seconds
        self.position = after

    def follow(self) -> Iterator[Event | StreamReset | StreamHeartbeat]:
        """Returns every event in order without end; a heartbeat after `quiet_seconds` without one.

        Raises `ServerProblem` where asking again is no use (no such right, no such stream).
        """
        while True:
            with contextlib.suppress(httpx.TransportError):
                yield from self._connected()
            yield StreamHeartbeat()
            pause(RECONNECT_SECONDS)

    def _connected(self) -> Iterator[Event | StreamReset | StreamHeartbeat]:
        query = {"after": str(self.position), **self._asked}
        timeout = httpx.Timeout(self._quiet_seconds, connect=5.0)
        headers = {"Last-Event-ID": str(self.position)}
        asked = {name: value for name, value in query.items() if value}
        with connect_sse(
            self._http, "GET", "/v1/stream", params=asked, headers=headers, timeout=timeout
        ) as source:
            answer = source.response
            if answer.is_server_error or answer.status_code == httpx.codes.TOO_MANY_REQUESTS:
                return
            if answer.is_error:
                raise ServerProblem(problem_of(answer.status_code, answer.read(), ""))
            for event in source.iter_sse():
                yield from self._seen(event)

    def _seen(self, sent: ServerSentEvent) -> Iterator[Event | StreamReset | StreamHeartbeat]:
        if sent.event == "reset":
            yield from self._bridged(int(sent.id) if sent.id.isdigit() else self.position)
        elif sent.data:
            event = _EVENT.decode(sent.data)
            self.position = event.position
            yield event
        else:
            yield StreamHeartbeat()

    def _bridged(self, head: int) -> Iterator[Event | StreamReset]:
        """Returns the events up to `head` from pages of the log; a reset where they are missing."""
        if not self.position <= head <= self.position + MAX_GAP:
            self.position = head
            yield StreamReset(position=head)
            return
        for event in reversed(self._missed(head)):
            self.position = event.position
            yield event
        self.position = head

    def _missed(self, head: int) -> list[Event]:
        """Newest first."""
        found: list[Event] = []
        before: int | None = head + 1
        while before is not None and before > self.position + 1:
            page = self._page(before)
            found.extend(event for event in page.items if event.position > self.position)
            before = page.next
        return found

    def _page(self, before: int) -> EventPage:
        query = {
            "type": self._asked["types"],
            "stream": self._asked["streams"],
            "before": str(before),
            "limit": str(PAGE_SIZE),
        }
        asked = {name: value for name, value in query.items() if value}
        answer = self._http.get("/v1/events", params=asked)
        if answer.is_server_error:
            raise httpx.ReadError("the server is not there for the moment")
        if answer.is_error:
            raise ServerProblem(problem_of(answer.status_code, answer.content, ""))
        return _PAGE.decode(answer.content)
