"""The client of an executor: its claim, lease, nodes, assignments and reports.

Every answer has a log position; the identity of the log comes with claims, leases and lists.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Self
from urllib.parse import quote

import httpx
import msgspec
from httpx_sse import connect_sse

from headgate.client.transport import (
    Body,
    Connection,
    Request,
    ServerProblem,
    Transport,
    problem_of,
)

EPOCH_HEADER = "Headgate-Executor-Epoch"
SUPERSEDED = "ExecutorSuperseded"
ON_OTHER_HOST = "ExecutorOnOtherHost"
PAGE_SIZE = "500"
QUIET_SECONDS = 40.0

Object = dict[str, Any]


class LogRetention(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """How much of a pod's output is kept: the first and the last `max_mebibytes`."""

    max_mebibytes: int = 16
    after_finished_seconds: int | None = None


class Claim(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What a process knows once it has claimed an executor or renewed its lease."""

    epoch: int
    lease_seconds: float
    nodes_ready: bool = True
    node_loss_policy: str = "Replace"
    log_retention: LogRetention = LogRetention()
    log_id: str
    position: int
    chain: str = ""
    server_time: str = ""


class KnownPoint(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A point of the server's log: the chain value is of all events up to the position."""

    log_id: str = ""
    position: int = 0
    chain: str = ""


class AssignmentList(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """All assignments of an executor at a point of the log; items are as the API has them.

    `holds_known` is whether the log has the point that was known before; None from a server that
    does not tell. `orphans` has the decision on each orphaned pod that the server knows, by id;
    None from a server that takes no report of them. `awaits_orphans`: the server waits for a report
    of all that there are, or of none, before anything starts.
    """

    position: int
    log_id: str
    chain: str = ""
    holds_known: bool | None = None
    orphans: dict[str, str | None] | None = None
    awaits_orphans: bool = False
    items: list[Object]

    @property
    def point(self) -> KnownPoint:
        """The point of the log."""
        return KnownPoint(log_id=self.log_id, position=self.position, chain=self.chain)


class AssignmentChange(msgspec.Struct, frozen=True, kw_only=True):
    """A change of one assignment, or a point that covers the changes after it.

    Without either the list is to be read anew.
    """

    position: int
    item: Object | None = None
    point: KnownPoint | None = None


class RegisteredNode(msgspec.Struct, frozen=True, kw_only=True):
    """Whether a node is registered; else why not, and what to do."""

    name: str
    accepted: bool
    code: str = ""
    detail: str = ""
    remedy: str = ""


class RunOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to one report of a run."""

    accepted: bool
    code: str = ""
    detail: str = ""
    remedy: str = ""


class WantedSession(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A session that a user has opened into a pod of the executor."""

    session: str
    workload: str
    uid: str
    attempt: int
    pod_set: str
    index: int
    run: int
    command: list[str]
    has_terminal: bool = False
    columns: int = 80
    rows: int = 24
    terminal: str = "xterm"


class ExecutorClient:
    """One executor's connection; safe to use from one thread at a time, closed by `with`."""

    def __init__(
        self, connection: Connection, name: str, *, patience_seconds: float = 10.0, epoch: int = 0
    ) -> None:
        self._transport = Transport(connection, patience_seconds=patience_seconds)
        self._path = f"/v1/executors/{quote(name, safe='')}"
        self.epoch = epoch

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_details: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connection."""
        self._transport.close()

    def claim(self, *, version: str, capabilities: Sequence[str], boot_id: str) -> Claim:
        """Takes over the executor: an earlier process of its name is superseded."""
        content = {"version": version, "capabilities": list(capabilities), "bootId": boot_id}
        found = msgspec.convert(self._send("POST", "/claim", content, with_epoch=False), Claim)
        self.epoch = found.epoch
        return found

    def renew_lease(self, running_pods: int) -> Claim:
        """Renews the lease."""
        return msgspec.convert(self._send("POST", "/lease", {"runningPods": running_pods}), Claim)

    def register_nodes(self, nodes: Sequence[Object]) -> list[RegisteredNode]:
        """Registers all nodes of the executor, which makes them ready."""
        answer = self._send("PUT", "/nodes", {"nodes": list(nodes)})
        return msgspec.convert(answer["nodes"], list[RegisteredNode])

    def assignments(self, known: KnownPoint | None = None) -> AssignmentList:
        """Returns all assignments, at the point of their first page."""
        items: list[Object] = []
        first: Object | None = None
        holds_known: bool | None = None
        query = {"limit": PAGE_SIZE, **_known_query(known)}
        while True:
            page = self._send("GET", "/assignments", query=query)
            first = first or page
            items += page["items"]
            if holds_known is not False:
                holds_known = page.get("holdsKnownPoint")
            following = page.get("continue")
            if not following:
                return AssignmentList(
                    position=int(first["position"]),
                    log_id=first["logId"],
                    chain=first.get("chain", ""),
                    holds_known=holds_known,
                    orphans=_decisions(first.get("orphans")),
                    awaits_orphans=first.get("awaitsOrphans", False),
                    items=items,
                )
            query["continue"] = following

    def follow_assignments(self, known: KnownPoint) -> Iterator[AssignmentChange | None]:
        """Returns changes after a point until the connection ends; None is a heartbeat.

        Raises `ServerProblem` where following again is no use, and `httpx.TransportError`.
        """
        timeout = httpx.Timeout(QUIET_SECONDS, connect=5.0)
        after = known.position
        headers = {"Last-Event-ID": str(after), EPOCH_HEADER: str(self.epoch)}
        with connect_sse(
            self._transport.http,
            "GET",
            f"{self._path}/assignments/stream",
            params={"after": str(after), **_known_query(known)},
            headers=headers,
            timeout=timeout,
        ) as source:
            answer = source.response
            if answer.is_error:
                raise ServerProblem(problem_of(answer.status_code, answer.read(), ""))
            for sent in source.iter_sse():
                position = int(sent.id) if sent.id.isdigit() else after
                if sent.event == "assignment" and sent.data:
                    item = msgspec.json.decode(sent.data)
                    yield AssignmentChange(position=position, item=item)
                elif sent.event == "point" and sent.data:
                    point = msgspec.json.decode(sent.data, type=KnownPoint)
                    yield AssignmentChange(position=position, point=point)
                elif sent.event == "reset":
                    yield AssignmentChange(position=position)
                else:
                    yield None

    def report(self, reports: Sequence[msgspec.Struct]) -> list[RunOutcome]:
        """Sends reports of runs; each has its own answer."""
        answer = self._send("POST", "/reports", {"reports": list(reports)})
        return msgspec.convert(answer["outcomes"], list[RunOutcome])

    def report_orphans(self, orphans: Sequence[Object]) -> None:
        """Reports all pods that the log does not know."""
        self._send("PUT", "/orphans", {"orphans": list(orphans)})

    def report_progress(self, reports: Sequence[Object]) -> None:
        """Sends progress of evictions; what became of each is not needed."""
        body = Body(content=msgspec.json.encode({"reports": list(reports)}))
        all_refused = frozenset({httpx.codes.UNPROCESSABLE_ENTITY.value})
        self._transport.send(
            Request(method="POST", path="/v1/reports:batch", body=body, accepted=all_refused)
        )

    def take_sessions(self, wait_seconds: int) -> list[WantedSession]:
        """Returns the sessions to begin, waiting for one; each is told once."""
        found = self._send("GET", "/sessions", query={"wait": str(wait_seconds)})
        return msgspec.convert(found["items"], list[WantedSession])

    def send_logs(self, chunks: Sequence[Object]) -> list[RunOutcome]:
        """Sends output of runs; each chunk has its own answer."""
        answer = self._send("POST", "/logs", {"chunks": list(chunks)})
        return msgspec.convert(answer["outcomes"], list[RunOutcome])

    def read_upload(self, workload: str, digest: str) -> Iterator[bytes]:
        """Returns the archive of an upload in pieces. Raises `ServerProblem`."""
        with self._transport.http.stream(
            "GET", f"{self._path}/uploads/{digest}", params={"workload": workload}
        ) as answer:
            if answer.is_error:
                raise ServerProblem(problem_of(answer.status_code, answer.read(), ""))
            yield from answer.iter_bytes()

    def _send(
        self,
        method: str,
        path: str,
        content: Object | None = None,
        *,
        query: dict[str, str] | None = None,
        with_epoch: bool = True,
    ) -> Any:  # noqa: ANN401 - the shapes are the API's, and callers convert what they need
        headers = {EPOCH_HEADER: str(self.epoch)} if with_epoch else {}
        body = Body(content=msgspec.json.encode(content)) if content is not None else None
        request = Request(
            method=method, path=f"{self._path}{path}", query=query or {}, body=body, headers=headers
        )
        return self._transport.send(request).json()


def _decisions(orphans: list[Object] | None) -> dict[str, str | None] | None:
    if orphans is None:
        return None
    return {each["id"]: each.get("decision") for each in orphans}


def _known_query(known: KnownPoint | None) -> dict[str, str]:
    if known is None or not known.chain:
        return {}
    return {"knownPoint": f"{known.log_id}:{known.position}:{known.chain}"}
