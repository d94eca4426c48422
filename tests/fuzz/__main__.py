"""`python -m tests.fuzz`: the worst values for every body, header and query parameter.

`/healthz` is asked meanwhile by a process of its own, and the slowest answer is printed, with and
without the time that asker and server waited for a processor. Ends with 1 after an answer that the
OpenAPI document does not name, or a server error.
"""

import argparse
import random
import re
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from multiprocessing import get_context
from typing import Any

import httpx

from tests.fuzz.health import HealthAnswer, ask_health, spread
from tests.fuzz.hostile_values import HEADERS, TEXTS, bodies
from tests.processes.up import Up, services

ANSWER_SECONDS = 60.0
NOT_REACHED = 504
"""Answers `minPosition` of a position that the log has not reached, as it is documented."""
SERVER_ERROR = 500
STREAM = "/v1/stream"


@dataclass(frozen=True, slots=True)
class HostileRequest:
    """One request, and what is hostile about it."""

    about: str
    method: str
    path: str
    query: dict[str, str] = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)
    content: bytes = b""


@dataclass(slots=True)
class Findings:
    """Counts of answers, and the requests with an answer that must not be."""

    statuses: Counter[int] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    slowest: tuple[float, str] = (0.0, "")


def main() -> int:
    """Send the requests to an installation of its own; 1 after a wrong answer."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--seconds", type=float, default=300.0, help="send no more after that")
    parser.add_argument("--seed", type=int, default=0, help="another order of requests")
    asked = parser.parse_args()
    with services() as up:
        up.start()
        findings, answers = _fuzz(up, asked.seconds, asked.seed)
        up.stop()
    slowest, about = findings.slowest
    print(f"{findings.statuses.total()} requests: {dict(sorted(findings.statuses.items()))}")
    print(f"slowest request {slowest:.1f} s: {about}")
    print(f"{len(answers)} answers of /healthz: {spread(each.seconds for each in answers)}")
    for wrong in findings.wrong[:20]:
        print(f"  {wrong}")
    own = spread(each.own_seconds for each in answers)
    print(f"wrong answers {len(findings.wrong)}; /healthz without waits for a processor: {own}")
    return 1 if findings.wrong else 0


def _fuzz(up: Up, seconds: float, seed: int) -> tuple[Findings, list[HealthAnswer]]:
    token = (up.data / "admin-token").read_text().strip()
    context = get_context("spawn")
    mine, theirs = context.Pipe()
    given = (up.url, theirs, up.pid_of("api"))
    asking = context.Process(target=ask_health, args=given, daemon=True)
    asking.start()
    findings = Findings()
    with httpx.Client(
        base_url=up.url, headers={"Authorization": f"Bearer {token}"}, timeout=ANSWER_SECONDS
    ) as client:
        document = client.get("/v1/openapi.json").json()
        requests = list(hostile_requests(document))
        random.Random(seed).shuffle(requests)
        mine.recv()
        end = time.monotonic() + seconds
        for request in requests:
            if time.monotonic() >= end:
                print(f"out of time: {findings.statuses.total()} of {len(requests)} requests")
                break
            _send(client, document, request, findings)
    mine.send("end")
    answers: list[HealthAnswer] = mine.recv()
    asking.join()
    return findings, answers


def hostile_requests(document: dict[str, Any]) -> Iterator[HostileRequest]:
    """Yields the requests for all operations of an OpenAPI document."""
    made = list(bodies())
    for path, item in document["paths"].items():
        if path == STREAM:
            continue
        filled = re.sub(r"\{(\w+)[^}]*\}", "fuzz", path)
        for method, operation in item.items():
            for name in _query_parameters(document, operation):
                for text in TEXTS:
                    about = f"{method} {path} ?{name}={text[:20]!r}"
                    yield HostileRequest(about, method, filled, query={name: text})
            for headers in HEADERS:
                yield HostileRequest(f"{method} {path} {[*headers]}", method, filled, {}, headers)
            if "requestBody" in operation:
                for name, media, content in made:
                    kind = {"Content-Type": media}
                    about = f"{method} {path} body: {name}"
                    yield HostileRequest(about, method, filled, {}, kind, content)


def _query_parameters(document: dict[str, Any], operation: dict[str, Any]) -> Iterator[str]:
    for parameter in operation.get("parameters", ()):
        reference = parameter.get("$ref", "").rpartition("/")[2]
        found = document["components"]["parameters"][reference] if reference else parameter
        if found["in"] == "query":
            yield found["name"]


def _send(
    client: httpx.Client, document: dict[str, Any], request: HostileRequest, findings: Findings
) -> None:
    before = time.monotonic()
    try:
        answer = client.request(
            request.method,
            request.path,
            params=request.query,
            headers=request.headers,
            content=request.content or None,
        )
    except httpx.HTTPError as failure:
        findings.wrong.append(f"{request.about}: {type(failure).__name__}")
        return
    findings.slowest = max(findings.slowest, (time.monotonic() - before, request.about))
    status = answer.status_code
    findings.statuses[status] += 1
    documented = _documented(document, request)
    is_error = status >= SERVER_ERROR and status != NOT_REACHED
    if is_error or str(status) not in documented:
        findings.wrong.append(f"{request.about}: {status} {answer.text[:200]}")


def _documented(document: dict[str, Any], request: HostileRequest) -> dict[str, Any]:
    _, path, *_ = request.about.split(" ")
    found: dict[str, Any] = document["paths"][path][request.method]["responses"]
    return found


if __name__ == "__main__":
    sys.exit(main())
