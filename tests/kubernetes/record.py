"""`python -m tests.kubernetes.record --kubeconfig FILE`: replays the table of verdicts.

A real server plays it. Each verdict has a namespace of its own, which is deleted afterwards. Pods
are gated, or select a node that there is not, so that none runs. The user needs the rights of an
administrator.
"""

import argparse
import asyncio
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import msgspec
import yaml

from headgate.executor.substrates.kubernetes.access import Access, find_access
from tests.kubernetes.verdict_table import Row, Verdict, read_table

BODIES = Path(__file__).parent / "replay_bodies.yaml"
REPLAYS_AT_ONCE = 8
SECONDS_TO_PREPARE = 30.0
PAUSE_SECONDS = 0.1


class Outcome(msgspec.Struct, frozen=True):
    """What a server answered to a verdict's request."""

    request: str
    when: str
    expected: str
    found: str

    @property
    def differs(self) -> bool:
        return self.expected != self.found


class Recorder:
    """Replays verdicts on one server."""

    def __init__(self, access: Access) -> None:
        self._client = httpx.AsyncClient(
            base_url=access.url, verify=access.tls, auth=access.auth(), timeout=30.0
        )
        self._bodies = yaml.safe_load(BODIES.read_text())

    async def run(self, say: Callable[[str], None]) -> list[Outcome]:
        """Replays every verdict that can be, some at a time, and says what differs."""
        places = asyncio.Semaphore(REPLAYS_AT_ONCE)

        async def replay(row: Row, verdict: Verdict) -> Outcome:
            async with places:
                outcome = await self._replay(row, verdict)
            if outcome.differs:
                say(
                    f"DIFFERS: {outcome.request}, {outcome.when}: "
                    f"{outcome.expected} expected, {outcome.found} answered"
                )
            return outcome

        wanted = []
        for row in read_table():
            for verdict in row.verdicts:
                if verdict.replay is not None:
                    wanted.append(replay(row, verdict))
                else:
                    say(f"not replayed: {row.request}, {verdict.when}: {verdict.unreplayed}")
        async with self._client:
            return await asyncio.gather(*wanted)

    async def _replay(self, row: Row, verdict: Verdict) -> Outcome:
        assert verdict.replay is not None
        namespace = f"headgate-verdict-{uuid4().hex[:8]}"
        await self._create("/api/v1/namespaces", {"kind": "Namespace", "name": namespace})
        try:
            await self._until(f"/api/v1/namespaces/{namespace}/serviceaccounts/default", "metadata")
            for given in verdict.replay.given:
                await self._prepare(namespace, self._bodies[given])
            method, _, path = row.request.partition(" ")
            target = verdict.replay.path.replace("PATH", path).replace("NS", namespace)
            body = self._bodies[verdict.replay.body] if verdict.replay.body else None
            content = msgspec.json.encode(body).replace(b'"NS"', f'"{namespace}"'.encode())
            answer = await self._client.request(
                method,
                target,
                content=content if body is not None else None,
                headers={"Content-Type": row.media_type} if body is not None else {},
            )
        finally:
            options = {"apiVersion": "v1", "kind": "DeleteOptions"}
            await self._client.request("DELETE", f"/api/v1/namespaces/{namespace}", json=options)
        return Outcome(row.request, verdict.when, _shown(verdict), _answered(answer))

    async def _create(self, path: str, given: dict[str, str]) -> None:
        body = {"apiVersion": "v1", "kind": given["kind"], "metadata": {"name": given["name"]}}
        answer = await self._client.post(path, json=body)
        answer.raise_for_status()

    async def _prepare(self, namespace: str, body: dict[str, Any]) -> None:
        """Creates what must be there before; a quota counts once its controller has seen it."""
        group = "/api/v1" if body["apiVersion"] == "v1" else f"/apis/{body['apiVersion']}"
        path = f"{group}/namespaces/{namespace}/{body['kind'].lower()}s"
        answer = await self._client.post(path, json=body)
        answer.raise_for_status()
        if body["kind"] == "ResourceQuota":
            await self._until(f"{path}/{body['metadata']['name']}", "status", "hard")

    async def _until(self, path: str, *fields: str) -> None:
        """Waits until an object has a field."""
        for _ in range(int(SECONDS_TO_PREPARE / PAUSE_SECONDS)):
            answer = await self._client.get(path)
            found = answer.json() if answer.status_code == httpx.codes.OK else {}
            for field in fields:
                found = found.get(field) or {}
            if found:
                return
            await asyncio.sleep(PAUSE_SECONDS)
        raise AssertionError(f"{path} has no {'.'.join(fields)}")


def _shown(verdict: Verdict) -> str:
    return f"{verdict.status} {verdict.reason}".strip()


def _answered(answer: httpx.Response) -> str:
    if answer.status_code < httpx.codes.BAD_REQUEST:
        return str(answer.status_code)
    return f"{answer.status_code} {answer.json().get('reason', '')}".strip()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kubeconfig", required=True)
    parser.add_argument("--context", default="")
    asked = parser.parse_args()
    access = find_access(asked.kubeconfig, asked.context)
    found = asyncio.run(Recorder(access).run(print))
    differing = [each for each in found if each.differs]
    print(f"replayed {len(found)}, differ {len(differing)}")
    sys.exit(1 if differing else 0)


if __name__ == "__main__":
    main()
