"""The client of Headgate's API: one method for each kind of request."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Self

import httpx
import msgspec

from headgate.client.connection import Connection
from headgate.client.problems import ServerProblem, problem_of
from headgate.client.schemas import (
    Assignment,
    Batch,
    Event,
    Report,
    ReportResult,
    StreamHeartbeat,
    StreamReset,
)
from headgate.client.stream import HEARTBEAT_PATIENCE_SECONDS, EventSelection, EventStream
from headgate.client.transport import Answer, Body, Request, Transport

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
        carrier: httpx.BaseTransport | None = None,
    ) -> None:
        self.connection = connection
        self._transport = Transport(connection, patience_seconds=patience_seconds, carrier=carrier)

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

    def apply(self, documents: bytes, *, dry_run: bool = False, reason: str = "") -> Batch:
        """Applies manifests; each object has its own result, rejected ones included.

        Raises `ServerProblem` only where the request was rejected as a whole.
        """
        query = {"dryRun": "All" if dry_run else "", "reason": reason}
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
