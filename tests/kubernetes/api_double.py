"""A double of the API server: real HTTP on a port of this host, answered by the verdict table.

It keeps objects with versions and their history, so that watches resume, break and expire as those
of a real server. What it may be asked and what it answers stands in `verdicts.yaml` alone.
"""

import asyncio
import contextlib
import copy
import json
import threading
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from tests.kubernetes.object_store import (
    KINDS,
    Key,
    Object,
    ObjectStore,
    labels_of,
    merge,
    now_text,
    selects,
)
from tests.kubernetes.verdict_table import Request, Verdict, VerdictTable
from tests.processes.listening import end_server

TOKEN = "of-tests"
TERMINAL = frozenset({"Succeeded", "Failed"})
STATUS_TEXT = {
    200: "OK", 201: "Created", 400: "Bad Request", 401: "Unauthorized", 403: "Forbidden",
    404: "Not Found", 409: "Conflict", 410: "Gone", 422: "Unprocessable Entity",
    429: "Too Many Requests", 500: "Internal Server Error", 501: "Not Implemented",
}  # fmt: skip

Found = TypeVar("Found")


class ApiDouble:
    """Answers requests in a thread of its own; faults are switched on by its attributes."""

    def __init__(self) -> None:
        self.store = ObjectStore()
        self.table = VerdictTable(self._conditions())
        self.requests: Counter[str] = Counter()
        self.overloads = 0
        self.retry_after = ""
        self.log_check_seconds = 0.0
        self.webhook_denies = ""
        self.webhook_failures = 0
        self.has_expired_page = False
        self.has_job_sets = False
        self.forbidden: set[tuple[str, str]] = set()
        self.cuts = 0
        self.expirations = 0
        self.page = 500
        self.outputs: Callable[[Key], tuple[list[str], bool]] = lambda _key: ([], True)
        self.loop = asyncio.new_event_loop()
        self.watches: set[asyncio.StreamWriter] = set()
        self._server: asyncio.Server | None = None
        self._thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self.port = 0

    def start(self) -> None:
        self._thread.start()
        self.port = self.call(self._listen())

    def stop(self) -> None:
        assert self._server is not None
        self.call(end_server(self._server))
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join()
        self.loop.close()

    def call(self, work: Awaitable[Found]) -> Found:
        """Runs a coroutine in the thread of the double."""

        async def run() -> Found:
            return await work

        return asyncio.run_coroutine_threadsafe(run(), self.loop).result(60)

    def do(self, act: Callable[[], Found]) -> Found:
        """Does something to the objects in the thread of the double, and tells watches."""

        async def run() -> Found:
            return act()

        return self.call(run())

    def kubeconfig(self, path: Path, **user: Any) -> Path:
        cluster = {"server": f"http://127.0.0.1:{self.port}"}
        path.write_text(
            json.dumps(
                {
                    "current-context": "double",
                    "clusters": [{"name": "double", "cluster": cluster}],
                    "users": [{"name": "executor", "user": user or {"token": TOKEN}}],
                    "contexts": [
                        {"name": "double", "context": {"cluster": "double", "user": "executor"}}
                    ],
                }
            )
        )
        return path

    def cut_watches(self) -> int:
        """Breaks all watches without a word, as a network does."""

        def cut() -> int:
            found = len(self.watches)
            for writer in list(self.watches):
                writer.transport.abort()
            self.watches.clear()
            self.cuts += found
            return found

        return self.do(cut)

    def expire_watches(self) -> None:
        """Breaks all watches, and has lost what they would go on from."""
        self.do(self.store.compact)
        self.cut_watches()

    async def _listen(self) -> int:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        return int(self._server.sockets[0].getsockname()[1])

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while (request := await _read_request(reader)) is not None:
                await self._answer(request, writer)
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            writer.transport.abort()

    async def _answer(self, request: Request, writer: asyncio.StreamWriter) -> None:
        if request.headers.get("authorization") != f"Bearer {TOKEN}":
            await _send(writer, 401, status_of(401, "Unauthorized", "Unauthorized"))
            return
        found = self.table.row_of(request)
        if found is None:
            await _send(writer, 501, status_of(501, "NotImplemented", self.table.unknown[-1]))
            return
        row, parts = found
        verdict = self.table.verdict_on(row, request, parts)
        self.requests[f"{request.method} {row.request.partition(' ')[2]}"] += 1
        if request.path.endswith("/log") and verdict.status == 200:
            await self._send_log(request, parts, writer)
        elif request.is_watch and verdict.status == 200:
            await self._send_watch(request, verdict, writer)
        elif verdict.status == 429:
            told = b"Too many requests, please try again later.\n"
            await _send(writer, 429, told, retry_after=self.retry_after)
        elif verdict.status >= 400:
            message = f"{resource_of(request)} {parts.get('name', '')!r}: {verdict.when}"
            await _send(writer, verdict.status, status_of(verdict.status, verdict.reason, message))
        else:
            body = self._effect(request, parts)
            await _send(writer, verdict.status, body)

    def _effect(self, request: Request, parts: dict[str, str]) -> Object | bytes:
        if request.path == "/version":
            return {"gitVersion": "v1.36.0"}
        resource, namespace = resource_of(request), parts.get("namespace", "")
        if resource == "selfsubjectaccessreviews":
            asked = request.body["spec"]["resourceAttributes"]
            return {"status": {"allowed": (asked["resource"], asked["verb"]) not in self.forbidden}}
        key = (resource, namespace, parts.get("name", ""))
        match request.method:
            case "POST" if request.path.endswith("/binding"):
                return self.bind(key, request.body["target"]["name"])
            case "POST":
                body = request.body
                if resource == "pods":
                    body = {**body, "status": {"phase": "Pending"}}
                elif resource == "resourcequotas":
                    body = {**body, "status": {"hard": body["spec"]["hard"]}}
                elif resource == "namespaces":
                    account = {"metadata": {"name": "default"}}
                    self.store.create("serviceaccounts", body["metadata"]["name"], account)
                return self.store.create(resource, namespace, body)
            case "PATCH":
                return self.store.change(key, lambda found: merge(found, request.body))
            case "DELETE" if not key[2]:
                return self._delete_collection(request, namespace)
            case "DELETE":
                return self.delete(key, (request.body or {}).get("gracePeriodSeconds"))
            case _ if key[2]:
                return self.store.objects[key]
            case _:
                return self._page(request)

    def bind(self, key: Key, node: str) -> Object:
        def change(pod: Object) -> None:
            pod["spec"]["nodeName"] = node

        return self.store.change(("pods", *key[1:]), change)

    def delete(self, key: Key, grace: int | None) -> Object:
        """Deletes an object: one of a pod that runs once its kubelet has ended it."""
        found = self.store.objects[key]
        spec, status = found.get("spec", {}), found.get("status", {})
        if key[0] != "pods" or not spec.get("nodeName") or status.get("phase") in TERMINAL:
            grace = 0
        elif grace is None:
            grace = int(spec.get("terminationGracePeriodSeconds", 30))

        def change(made: Object) -> None:
            metadata = made["metadata"]
            before = metadata.get("deletionGracePeriodSeconds")
            metadata.setdefault("deletionTimestamp", now_text())
            metadata["deletionGracePeriodSeconds"] = grace if before is None else min(before, grace)

        return self.store.change(key, change)

    def _delete_collection(self, request: Request, namespace: str) -> Object:
        resource, selector = resource_of(request), request.query.get("labelSelector", "")
        found = [
            key
            for key, each in self.store.objects.items()
            if key[:2] == (resource, namespace) and selects(selector, labels_of(each))
        ]
        group, kind = KINDS[resource]
        deleted = [self.delete(key, None) for key in found]
        return {"apiVersion": group, "kind": f"{kind}List", "metadata": {}, "items": deleted}

    def _page(self, request: Request) -> bytes:
        resource, query = resource_of(request), request.query
        items = self.store.listed(resource, query.get("labelSelector", ""))
        first = int(query.get("continue", "0:0").partition(":")[0])
        version = query.get("continue", f":{self.store.version}").partition(":")[2]
        end = first + min(int(query.get("limit", len(items) or 1)), self.page)
        following = f"{end}:{version}" if end < len(items) else ""
        group, kind = KINDS[resource]
        metadata = json.dumps({"resourceVersion": version, "continue": following})
        head = f'{{"kind":"{kind}List","apiVersion":"{group}","metadata":{metadata},"items":['
        return head.encode() + b",".join(items[first:end]) + b"]}"

    async def _send_watch(
        self, request: Request, verdict: Verdict, writer: asyncio.StreamWriter
    ) -> None:
        resource, query = resource_of(request), request.query
        await _send_head(writer)
        if verdict.event:
            self.expirations += 1
            status = status_of(verdict.event, verdict.reason, verdict.when)
            await _send_event(writer, "ERROR", json.dumps(status).encode())
            await _send_chunk(writer, b"")
            return
        seen = int(query.get("resourceVersion") or 0)
        until = self.loop.time() + float(query.get("timeoutSeconds", "60"))
        self.watches.add(writer)
        try:
            while (rest := until - self.loop.time()) > 0:
                for version, kind, key, content, labels in self.store.since(seen):
                    is_new = version > seen and key[0] == resource
                    if is_new and selects(query.get("labelSelector", ""), labels):
                        await _send_event(writer, kind, content)
                seen = self.store.version
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self.store.changed(None), min(rest, 1.0))
                if self.store.version == seen and query.get("allowWatchBookmarks"):
                    metadata = {"resourceVersion": str(seen)}
                    await _send_event(
                        writer, "BOOKMARK", json.dumps({"metadata": metadata}).encode()
                    )
            await _send_chunk(writer, b"")
        finally:
            self.watches.discard(writer)

    async def _send_log(
        self, request: Request, parts: dict[str, str], writer: asyncio.StreamWriter
    ) -> None:
        """Sends lines of output with their times, and those that come while the pod runs.

        A kubelet looks `log_check_seconds` after the last line, and every so often, whether the
        container of a stream still runs (pkg/kubelet/kuberuntime/logs: logForceCheckPeriod).
        """
        key = ("pods", parts["namespace"], parts["name"])
        since = request.query.get("sinceTime", "")
        follows = request.query.get("follow") == "true"
        await _send_head(writer)
        sent, sent_at = 0, self.loop.time()
        while True:
            lines, is_over = self.outputs(key)
            if len(lines) > sent:
                sent_at = self.loop.time()
            for line in lines[sent:]:
                if line[:19] >= since[:19]:
                    await _send_chunk(writer, line.encode())
            sent = len(lines)
            if is_over and follows and self.log_check_seconds:
                await asyncio.sleep((sent_at - self.loop.time()) % self.log_check_seconds)
            if is_over or not follows:
                await _send_chunk(writer, b"")
                return
            await self.store.changed(key)

    def _conditions(self) -> dict[str, Callable[[Request, dict[str, str]], bool]]:
        def found(request: Request, parts: dict[str, str]) -> Object | None:
            name = parts.get("name") or request.body["metadata"]["name"]
            return self.store.find(resource_of(request), parts.get("namespace", ""), name)

        def spec(request: Request, parts: dict[str, str]) -> Object:
            return (found(request, parts) or {}).get("spec") or {}

        def patched(request: Request, field: str) -> Any:
            return (request.body.get("spec") or {}).get(field)

        def changes_template(request: Request, parts: dict[str, str]) -> bool:
            before = spec(request, parts).get("template") or {}
            return merged(before, patched(request, "template") or {}) != before

        def has_started(request: Request, parts: dict[str, str]) -> bool:
            return "startTime" in (found(request, parts) or {}).get("status", {})

        def is_too_old(request: Request, parts: dict[str, str]) -> bool:
            return 0 < int(request.query.get("resourceVersion") or 0) < self.store.compacted

        def adds_gate(request: Request, parts: dict[str, str]) -> bool:
            wanted = patched(request, "schedulingGates") or []
            return any(
                each not in spec(request, parts).get("schedulingGates", []) for each in wanted
            )

        def selects_anew(request: Request, parts: dict[str, str]) -> bool:
            before = spec(request, parts).get("nodeSelector") or {}
            wanted = patched(request, "nodeSelector") or {}
            return any(key in before and before[key] != wanted[key] for key in wanted)

        def has_other_uid(request: Request, parts: dict[str, str]) -> bool:
            uid = ((request.body or {}).get("preconditions") or {}).get("uid")
            return uid not in (None, (found(request, parts) or {})["metadata"]["uid"])

        def has_other_version(request: Request, parts: dict[str, str]) -> bool:
            asked = (request.body.get("metadata") or {}).get("resourceVersion")
            return asked not in (None, (found(request, parts) or {})["metadata"]["resourceVersion"])

        def has_not_started(request: Request, parts: dict[str, str]) -> bool:
            status = (found(request, parts) or {}).get("status", {})
            return all("waiting" in each["state"] for each in status.get("containerStatuses", []))

        def is_over_quota(request: Request, parts: dict[str, str]) -> bool:
            quotas = [
                each["spec"]["hard"]
                for key, each in self.store.objects.items()
                if key[:2] == ("resourcequotas", parts["namespace"])
            ]
            return any(str(hard.get("pods")) == "0" for hard in quotas)

        def is_denied(request: Request, parts: dict[str, str]) -> bool:
            return (
                selects(self.webhook_denies, labels_of(request.body))
                if self.webhook_denies
                else False
            )

        def changes_selector(request: Request, parts: dict[str, str]) -> bool:
            asked = patched(request, "nodeSelector")
            return asked is not None and not spec(request, parts).get("schedulingGates")

        return {
            "the server is overloaded": lambda _request, _parts: self._counts_down("overloads"),
            "a webhook is down": lambda _request, _parts: self._counts_down("webhook_failures"),
            "a webhook denies it": is_denied,
            "a quota is exceeded": is_over_quota,
            "the namespace is missing": lambda _request, parts: (
                self.store.find("namespaces", "", parts["namespace"]) is None
            ),
            "it has no containers": lambda request, _parts: not patched(request, "containers"),
            "the operator is not installed": lambda _request, _parts: not self.has_job_sets,
            "the patch changes the containers of the template": lambda request, _parts: (
                "containers" in (patched(request, "template") or {}).get("spec", {})
            ),
            "the patch changes the template of a job that is not suspended": lambda *asked: (
                changes_template(*asked) and not spec(*asked).get("suspend")
            ),
            "the patch changes the template of a job that has not stopped yet": lambda *asked: (
                changes_template(*asked) and has_started(*asked)
            ),
            "it exists": lambda request, parts: found(request, parts) is not None,
            "it is missing": lambda request, parts: found(request, parts) is None,
            "it has another uid": has_other_uid,
            "it has another version": has_other_version,
            "the patch adds a gate": adds_gate,
            "the patch changes the node selector and the pod has no gates": changes_selector,
            "the patch changes a selected label of the node": selects_anew,
            "the patch changes the containers": lambda request, _parts: (
                patched(request, "containers") is not None
            ),
            "the pod has gates": lambda request, parts: bool(
                spec(request, parts).get("schedulingGates")
            ),
            "the pod has a node": lambda request, parts: bool(spec(request, parts).get("nodeName")),
            "its container has not started": has_not_started,
            "the page has expired": lambda request, _parts: (
                "continue" in request.query and self._expires_page()
            ),
            "the version is too old": is_too_old,
        }

    def _counts_down(self, name: str) -> bool:
        left: int = getattr(self, name)
        setattr(self, name, max(0, left - 1))
        return left > 0

    def _expires_page(self) -> bool:
        expired, self.has_expired_page = self.has_expired_page, False
        return expired


def resource_of(request: Request) -> str:
    parts = [each for each in request.path.split("/") if each in KINDS]
    return parts[-1]


def merged(found: Object, patch: Object) -> Object:
    made = copy.deepcopy(found)
    merge(made, patch)
    return made


def status_of(code: int, reason: str, message: str) -> Object:
    return {
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": message, "reason": reason, "code": code,
    }  # fmt: skip


async def _read_request(reader: asyncio.StreamReader) -> Request | None:
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
    except asyncio.IncompleteReadError:
        return None
    first, *lines = head.split("\r\n")
    method, target, _ = first.split(" ")
    headers = {
        name.lower(): value.strip()
        for name, _, value in (line.partition(":") for line in lines if line)
    }
    length = int(headers.get("content-length", "0"))
    body = json.loads(await reader.readexactly(length)) if length else None
    return Request(method, target, headers, body)


async def _send(
    writer: asyncio.StreamWriter, code: int, body: Object | bytes, *, retry_after: str = ""
) -> None:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    head = f"HTTP/1.1 {code} {STATUS_TEXT[code]}\r\nContent-Type: application/json\r\n"
    head += f"Retry-After: {retry_after}\r\n" if retry_after else ""
    writer.write(f"{head}Content-Length: {len(content)}\r\n\r\n".encode() + content)
    await writer.drain()


async def _send_head(writer: asyncio.StreamWriter) -> None:
    head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
    writer.write(f"{head}Transfer-Encoding: chunked\r\n\r\n".encode())
    await writer.drain()


async def _send_event(writer: asyncio.StreamWriter, kind: str, content: bytes) -> None:
    await _send_chunk(writer, b'{"type":"%s","object":%s}\n' % (kind.encode(), content))


async def _send_chunk(writer: asyncio.StreamWriter, content: bytes) -> None:
    writer.write(b"%x\r\n%s\r\n" % (len(content), content))
    await writer.drain()


@contextlib.contextmanager
def api_double() -> Iterator[ApiDouble]:
    """A double that must have known every request."""
    made = ApiDouble()
    made.start()
    try:
        yield made
    finally:
        made.stop()
    assert made.table.unknown == [], "requests that the verdict table does not know"
