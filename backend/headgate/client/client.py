"""The client of Headgate's API: one method for each kind of request, and the event stream.

The stream follows the log over server-sent events, and resumes without a gap.
"""

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Self

import httpx
import msgspec
from httpx_sse import ServerSentEvent, connect_sse

from headgate.adapters.system.clocks_and_randomness import pause
from headgate.client.schemas import (
    Assignment,
    Batch,
    Event,
    EventPage,
    Report,
    ReportResult,
    StreamHeartbeat,
    StreamReset,
)
from headgate.client.transport import (
    Answer,
    Body,
    Connection,
    Request,
    ServerProblem,
    Transport,
    problem_of,
)

HEARTBEAT_PATIENCE_SECONDS = 40.0
RECONNECT_SECONDS = 0.5
MAX_GAP = 200_000
EVENT_PAGE_SIZE = 500

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
            "limit": str(EVENT_PAGE_SIZE),
        }
        asked = {name: value for name, value in query.items() if value}
        answer = self._http.get("/v1/events", params=asked)
        if answer.is_server_error:
            raise httpx.ReadError("the server is not there for the moment")
        if answer.is_error:
            raise ServerProblem(problem_of(answer.status_code, answer.content, ""))
        return _PAGE.decode(answer.content)


PAGE_SIZE = 500
YAML = "application/yaml"

Object = dict[str, Any]


class HeadgateClient:
    """A connection to one Headgate; safe to use from one thread at a time, closed by `with`."""

    def __init__(
        self,
        connection: Connection,
        *,
        patience_seconds: float = 20.0,
        is_command: bool = False,
        carrier: httpx.BaseTransport | None = None,
    ) -> None:
        self.connection = connection
        self._transport = Transport(
            connection,
            patience_seconds=patience_seconds,
            is_command=is_command,
            carrier=carrier,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_details: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connection."""
        self._transport.close()

    def read(self, path: str, query: dict[str, str] | None = None) -> Any:  # noqa: ANN401 - the shapes are the API's
        """Returns the decoded answer to a GET request."""
        return self.answer(path, query).json()

    def answer(self, path: str, query: dict[str, str] | None = None) -> Answer:
        """Returns the answer to a GET request with its log position and ETag."""
        return self._transport.send(Request(method="GET", path=path, query=query or {}))

    def act(self, path: str, content: Object | None = None, *, key: str = "") -> Any:  # noqa: ANN401
        """Requests an action by POST; `key` makes repetitions by other processes harmless."""
        body = Body(content=msgspec.json.encode(content if content is not None else {}))
        request = Request(method="POST", path=path, body=body, headers=_keyed(key))
        return self._transport.send(request).json()

    def replace(self, path: str, content: Object) -> Any:  # noqa: ANN401 - the shapes are the API's
        """Replaces what stands at an address by PUT."""
        body = Body(content=msgspec.json.encode(content))
        return self._transport.send(Request(method="PUT", path=path, body=body)).json()

    def send_content(self, path: str, content: bytes) -> Any:  # noqa: ANN401 - the shapes are the API's
        """Puts bytes to an address as they are."""
        body = Body(content=content, content_type="application/octet-stream")
        return self._transport.send(Request(method="PUT", path=path, body=body)).json()

    def remove(self, path: str, reason: str = "") -> Any:  # noqa: ANN401
        """Requests the deletion of an object."""
        request = Request(method="DELETE", path=path, query={"reason": reason})
        return self._transport.send(request).json()

    def pages(self, path: str, query: dict[str, str] | None = None) -> Iterator[Object]:
        """Returns every page of a list, following `metadata.continue`."""
        asked = {"limit": str(PAGE_SIZE), **(query or {})}
        while True:
            page: Object = self.read(path, asked)
            yield page
            following = page.get("metadata", {}).get("continue") or page.get("continue")
            if not following:
                return
            asked["continue"] = str(following)

    def items(self, path: str, query: dict[str, str] | None = None) -> Iterator[Object]:
        """Returns every object of a list, page by page."""
        for page in self.pages(path, query):
            yield from page["items"]

    def pods(
        self, namespace: str, name: str, query: dict[str, str] | None = None
    ) -> Iterator[Object]:
        """Returns the pods of an attempt of a workload, page by page.

        The query takes `attempt`, `podSet`, `state`, `node` and `runs`.
        """
        return self.items(f"/v1/namespaces/{namespace}/workloads/{name}/pods", query)

    def apply(
        self, documents: bytes, *, dry_run: bool = False, reason: str = "", imports: str = ""
    ) -> Batch:
        """Applies manifests; each object has its own result, rejected ones included.

        `imports` is `Kueue` where Workloads are taken over with the status they have there, and
        `Orphans` where their orphaned pods run. Raises `ServerProblem` only where the request was
        rejected as a whole.
        """
        query = {"dryRun": "All" if dry_run else "", "reason": reason, "import": imports}
        body = Body(content=documents, content_type=YAML)
        return msgspec.convert(self._batch("/v1/apply", body, query), Batch)

    def apply_objects(self, objects: Iterable[Object], *, dry_run: bool = False) -> Batch:
        """Applies objects given as values; JSON documents are valid YAML."""
        documents = b"\n---\n".join(msgspec.json.encode(each) for each in objects)
        return self.apply(documents, dry_run=dry_run)

    def submit_batch(self, manifests: Sequence[Object], *, key: str = "") -> Batch:
        """Submits workloads in one request; each has its own result."""
        body = Body(content=msgspec.json.encode({"items": manifests}))
        return msgspec.convert(self._batch("/v1/workloads:batch", body, None, key), Batch)

    def try_submit(self, manifest: Object) -> Object:
        """Returns the workload as it would be submitted; nothing is applied."""
        path = f"/v1/namespaces/{manifest['metadata']['namespace']}/workloads"
        body = Body(content=msgspec.json.encode(manifest))
        request = Request(method="POST", path=path, body=body, query={"dryRun": "All"})
        found: Object = self._transport.send(request).json()
        return found

    def report(self, reports: Sequence[Report]) -> list[ReportResult]:
        """Sends reports of workloads; each has its own result."""
        body = Body(content=msgspec.json.encode({"reports": reports}))
        answer = self._batch("/v1/reports:batch", body, None)
        return msgspec.convert(answer.get("results", []), list[ReportResult])

    def assignments(self) -> tuple[int, list[Assignment]]:
        """Returns the workloads with a quota reservation, and the log position of the list."""
        found: list[Assignment] = []
        position = 0
        for page in self.pages("/v1/assignments"):
            position = position or int(page["position"])
            found.extend(msgspec.convert(page["items"], list[Assignment]))
        return position, found

    def view_at(self, at: str) -> int:
        """Reads the state at a position or time from now on; returns the position."""
        self._transport.at = at
        position = self.answer("/v1/queues").position
        self._transport.at = str(position)
        return position

    def simulate(self, documents: bytes, query: dict[str, str] | None = None) -> Any:  # noqa: ANN401 - the shapes are the API's
        """Simulates applying manifests; nothing is applied."""
        body = Body(content=documents, content_type=YAML)
        request = Request(method="POST", path="/v1/simulations", query=query or {}, body=body)
        return self._transport.send(request).json()

    def ask_for_backtest(self, documents: bytes, query: dict[str, str]) -> Any:  # noqa: ANN401 - the shapes are the API's
        """Ask for a stretch of the log to be replayed through these manifests; the job."""
        body = Body(content=documents, content_type=YAML)
        request = Request(method="POST", path="/v1/backtests", query=query, body=body)
        return self._transport.send(request).json()

    def head(self) -> int:
        """Returns the last position of the log."""
        return int(self.read("/v1/system")["position"])

    def follow(
        self,
        after: int,
        *,
        types: tuple[str, ...] = (),
        streams: tuple[str, ...] = (),
        quiet_seconds: float = HEARTBEAT_PATIENCE_SECONDS,
    ) -> Iterator[Event | StreamReset | StreamHeartbeat]:
        """Follows the log after a position without end, and resumes after interruptions."""
        return EventStream(
            self._transport.http,
            after=after,
            selection=EventSelection(types=types, streams=streams),
            quiet_seconds=quiet_seconds,
        ).follow()

    def _batch(self, path: str, body: Body, query: dict[str, str] | None, key: str = "") -> Object:
        request = Request(
            method="POST",
            path=path,
            query=query or {},
            body=body,
            headers=_keyed(key),
            accepted=frozenset({httpx.codes.UNPROCESSABLE_ENTITY}),
        )
        answer = self._transport.send(request)
        found: Object = answer.json()
        if "results" not in found:
            raise ServerProblem(problem_of(answer.status, answer.content, ""))
        return found


def _keyed(key: str) -> dict[str, str]:
    return {"Idempotency-Key": key} if key else {}
