"""HTTP/1.1 by hand: a client library costs more than the server it would measure."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterable
from typing import Any

from tests.bench.installation import TOKEN, Installation


def manifest(name: str) -> dict[str, Any]:
    """One small workload."""
    resources = {"requests": {"cpu": "1m"}}
    containers = [{"name": "main", "image": "none", "resources": resources}]
    pod_set = {"name": "main", "count": 1, "template": {"spec": {"containers": containers}}}
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "Workload",
        "metadata": {"name": name, "namespace": "bench"},
        "spec": {"queueName": "bench", "podSets": [pod_set]},
    }


def submission(name: str) -> bytes:
    """The request that submits one small workload."""
    return posting("/v1/namespaces/bench/workloads", manifest(name))


def submission_of_many(names: Iterable[str]) -> bytes:
    """The request that submits as many in one batch."""
    return posting("/v1/workloads:batch", {"items": [manifest(name) for name in names]})


def posting(path: str, content: dict[str, Any]) -> bytes:
    """A whole request with a body."""
    body = json.dumps(content).encode()
    return head_of("POST", path, len(body)) + body


def head_of(method: str, path: str, length: int = 0) -> bytes:
    """The head of a request that keeps its connection."""
    return (
        f"{method} {path} HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer {TOKEN}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n"
    ).encode()


class Connection:
    """One connection that is kept."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._free = asyncio.Lock()

    async def exchange(self, request: bytes) -> tuple[int, bytes]:
        """Send a request when the one before is answered; its status and body."""
        async with self._free:
            self._writer.write(request)
            status, headers = await self._head()
            length = int(headers.get("content-length", "0"))
            return status, await self._reader.readexactly(length)

    async def lines(self, request: bytes) -> AsyncIterator[str]:
        """Send a request with a response that does not end; its lines as they come."""
        self._writer.write(request)
        status, headers = await self._head()
        assert status == 200, f"the stream was refused with {status}"
        if headers.get("transfer-encoding") != "chunked":
            async for raw in self._reader:
                yield raw.decode().rstrip("\r\n")
            return
        rest = b""
        while size := int(await self._reader.readline(), 16):
            rest += (await self._reader.readexactly(size + 2))[:-2]
            *whole, rest = rest.split(b"\n")
            for raw in whole:
                yield raw.decode().rstrip("\r")

    def close(self) -> None:
        """Give the connection up."""
        self._writer.close()

    async def _head(self) -> tuple[int, dict[str, str]]:
        raw = (await self._reader.readuntil(b"\r\n\r\n")).decode()
        first, *rest = raw.split("\r\n")
        pairs = (line.partition(":") for line in rest if line)
        headers = {name.lower(): value.strip().lower() for name, _, value in pairs}
        return int(first.split()[1]), headers


async def connect(services: Installation) -> Connection:
    """A new connection to the API."""
    return Connection(*await asyncio.open_connection("127.0.0.1", services.port))
