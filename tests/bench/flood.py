"""`python -m tests.bench.flood`: one token floods the API with every kind of request.

Another token submits and lists at a steady pace, first alone and then beside the flood. Printed are
ratios of one run: its p99 beside the flood to its p99 alone (aim: below 3), and the rate at which
its workloads are admitted (aim: at least 0.8). So are those of an admin beside a viewer that keeps
six simulations of 10 MB under way (aim: at most 3). The process that floods stands back behind all
others for the processors, as it would run on machines of its own.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import cycle
from pathlib import Path
from typing import NamedTuple

import httpx
import msgspec

from headgate.adapters.postgres.connections import open_pool
from headgate.adapters.postgres.event_log import PostgresEventLog
from headgate.domain.workloads.events import WorkloadAdmitted
from tests.api.callers import workload
from tests.bench.installation import TOKEN, Installation, running_installation

NAMESPACE = "bench"
PATH = f"/v1/namespaces/{NAMESPACE}/workloads"
PAIRS_PER_SECOND = 10
"""A submit and a list each; far below what the API can do."""
FLOODERS = 24
SIMULATIONS = 6
SIMULATED, SIMULATED_BYTES = 900, 9_900_000
"""Workloads of one simulation, and bytes of its body: nearly as many as a body may have."""
STREAMS = 50
NICENESS = 10
"""Of the process that floods: what its requests cost it must not slow down what it measures."""
MAX_RATIO, MIN_RATE = 3.0, 0.8
EXISTING = 2_000
ROUNDS = 2


class Phase(msgspec.Struct, kw_only=True):
    """What the quiet token measured: seconds of each request, and admissions a second."""

    submits: list[float] = []
    lists: list[float] = []
    admitted: int = 0
    seconds: float = 0.0

    def p99(self, kind: str) -> float:
        """The p99 of a kind of request in milliseconds."""
        found = sorted(getattr(self, kind))
        return float(1_000 * found[min(len(found) - 1, len(found) * 99 // 100)])


def main() -> int:
    """0 if every ratio is within its aim, 1 if not."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.flood", description=__doc__)
    parser.add_argument("--seconds", type=float, default=20.0, help="of each phase, twice each")
    parser.add_argument(
        "--flood", nargs=3, metavar=("KIND", "URL", "TOKEN"), help=argparse.SUPPRESS
    )
    asked = parser.parse_args()
    if asked.flood:
        kind, url, secret = asked.flood
        return _flood(url, secret, is_mixed=kind == "mixed")
    with (
        tempfile.TemporaryDirectory(prefix="hgb-") as directory,
        running_installation(Path(directory)) as services,
    ):
        url = f"http://127.0.0.1:{services.port}"
        with httpx.Client(base_url=url, headers=_header(TOKEN), timeout=60) as admin:
            for first in range(0, EXISTING, 500):
                items = [workload(f"e-{first + n}", NAMESPACE, "bench") for n in range(500)]
                admin.post("/v1/workloads:batch", json={"items": items}).raise_for_status()
        quiet, noisy = (_token(url, name) for name in ("quiet", "noisy"))
        flood = _measured(services, asked.seconds, quiet, Flood("mixed", url, noisy))
        viewer = Flood("simulations", url, _token(url, "viewer", role="viewer"))
        simulations = _measured(services, asked.seconds, TOKEN, viewer)
    is_good = _report("the flood", *flood)
    return 0 if _report("a viewer's simulations", *simulations) and is_good else 1


class Flood(NamedTuple):
    """A flood by another process: what it asks for, of which address and as which user."""

    kind: str
    url: str
    secret: str


def _measured(
    services: Installation, seconds: float, quiet: str, flood: Flood
) -> tuple[Phase, Phase, dict[str, int]]:
    url = flood.url
    alone, beside = Phase(), Phase()
    answers: dict[str, int] = {}
    _phase(services, url, quiet, Phase(), 5.0)
    for _ in range(ROUNDS):
        print(f"alone: {len(alone.lists)} lists so far", file=sys.stderr, flush=True)
        _phase(services, url, quiet, alone, seconds)
        with _flooding(flood) as counted:
            time.sleep(2)
            _phase(services, url, quiet, beside, seconds)
        for status, count in counted.items():
            answers[status] = answers.get(status, 0) + count
    return alone, beside, answers


def _token(url: str, name: str, role: str = "submitter") -> str:
    body = {"name": name, "role": role, "namespaces": [NAMESPACE]}
    made = httpx.post(f"{url}/v1/tokens", json=body, headers=_header(TOKEN), timeout=30)
    made.raise_for_status()
    return str(made.json()["secret"])


def _header(secret: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {secret}"}


_numbers = iter(range(1, 10**9))


def _phase(services: Installation, url: str, secret: str, into: Phase, seconds: float) -> None:
    """Submit and list at a steady pace for a while."""
    began, names = time.monotonic(), set[str]()
    with _log(services) as log, httpx.Client(headers=_header(secret), timeout=60) as http:
        head = log.head()
        for tick in range(round(seconds * PAIRS_PER_SECOND)):
            time.sleep(max(0.0, began + tick / PAIRS_PER_SECOND - time.monotonic()))
            name = f"q-{next(_numbers)}"
            at = time.monotonic()
            http.post(f"{url}{PATH}", json=workload(name, NAMESPACE, "bench")).raise_for_status()
            submitted = time.monotonic()
            http.get(f"{url}{PATH}?limit=50").raise_for_status()
            into.lists.append(time.monotonic() - submitted)
            into.submits.append(submitted - at)
            names.add(f"workload/{NAMESPACE}/{name}")
        into.seconds += time.monotonic() - began
        position = head
        while page := log.read(position, limit=2_000):
            position = page[-1].position
            into.admitted += sum(
                isinstance(one.event, WorkloadAdmitted) and one.stream in names for one in page
            )


@contextmanager
def _log(services: Installation) -> Iterator[PostgresEventLog]:
    pool = open_pool(services.database_url, most=1)
    try:
        yield PostgresEventLog(pool)
    finally:
        pool.close()


@contextmanager
def _flooding(flood: Flood) -> Iterator[dict[str, int]]:
    """A flood for the while; counts of its answers by status at the end."""
    command = [sys.executable, "-m", "tests.bench.flood", "--flood", *flood]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    answers: dict[str, int] = {}
    try:
        yield answers
    finally:
        told, _ = process.communicate(b"\n", timeout=120)
        answers.update(json.loads(told))


def _requests() -> list[tuple[str, str, object]]:
    """Every kind of request that a submitter may make."""
    many = [workload(f"what-if-{n}", NAMESPACE, "bench") for n in range(100)]
    simulation = {"apiVersion": "v1", "kind": "List", "items": many}
    reads = (
        f"{PATH}?limit=500", "/v1/workloads?limit=500", "/v1/events?limit=1000", "/v1/overview",
        "/v1/queues", "/v1/events/histogram", "/metrics", "/v1/lint", "/v1/system",
        "/v1/preemptions", "/v1/cycles", "/v1/clusterqueues", "/v1/stuck-workloads",
        f"{PATH}/e-1", f"{PATH}/e-1/explanation", f"{PATH}/e-1/timeline", "/v1/topologies",
        "/v1/no-such-thing", "/v1/workloads?at=100",
    )  # fmt: skip
    return [
        *(("GET", path, None) for path in reads),
        ("POST", "/v1/simulations", simulation),
        ("POST", "/v1/simulations", simulation),
        ("POST", "/v1/apply?dryRun=All", simulation),
        ("POST", PATH, workload("refused", NAMESPACE, "bench", priority="none")),
        ("POST", f"{PATH}?dryRun=All", workload("dry", NAMESPACE, "bench")),
    ]


def _large_simulation() -> bytes:
    """A simulation of so many workloads, each with a long environment in its template."""
    filling = "x" * (SIMULATED_BYTES // SIMULATED - 700)
    items = [workload(f"large-{n}", NAMESPACE, "bench") for n in range(SIMULATED)]
    for item in items:
        container = item["spec"]["podSets"][0]["template"]["spec"]["containers"][0]
        container["env"] = [{"name": "FILLING", "value": filling}]
    body = msgspec.json.encode({"apiVersion": "v1", "kind": "List", "items": items})
    assert 0.9 * SIMULATED_BYTES < len(body) < 1.01 * SIMULATED_BYTES, len(body)
    return body


def _flood(url: str, secret: str, *, is_mixed: bool) -> int:
    """Asks in many threads until a line comes in; prints statuses as JSON."""
    os.nice(NICENESS)
    counts: dict[str, int] = {}
    over, lock = threading.Event(), threading.Lock()

    large = [] if is_mixed else [("POST", "/v1/simulations", _large_simulation())]

    def ask(offset: int) -> None:
        wanted = _requests() if is_mixed else large
        asked = cycle([*wanted[offset % len(wanted) :], *wanted[: offset % len(wanted)]])
        with httpx.Client(base_url=url, headers=_header(secret), timeout=60) as http:
            for method, path, body in asked:
                if over.is_set():
                    return
                try:
                    status = str(_sent(http, method, path, body).status_code)
                except httpx.TransportError as failure:
                    status = type(failure).__name__
                with lock:
                    counts[status] = counts.get(status, 0) + 1

    def watch() -> None:
        with httpx.stream("GET", f"{url}/v1/stream", headers=_header(secret), timeout=60) as answer:
            for _ in answer.iter_bytes():
                if over.is_set():
                    return

    asking = FLOODERS if is_mixed else SIMULATIONS
    threads = [threading.Thread(target=ask, args=(n,), daemon=True) for n in range(asking)]
    if is_mixed:
        threads += [threading.Thread(target=watch, daemon=True) for _ in range(STREAMS)]
    for thread in threads:
        thread.start()
    sys.stdin.readline()
    over.set()
    for thread in threads[:asking]:
        thread.join(60)
    with lock:
        print(json.dumps(counts))
    return 0


def _sent(http: httpx.Client, method: str, path: str, body: object) -> httpx.Response:
    if isinstance(body, bytes):
        kind = {"Content-Type": "application/json"}
        return http.request(method, path, content=body, headers=kind)
    return http.request(method, path, json=body)


def _report(about: str, alone: Phase, beside: Phase, answers: dict[str, int]) -> bool:
    """Prints the ratios; whether all are within their aims."""
    print(f"{about}: {sum(answers.values())} answers, {json.dumps(dict(sorted(answers.items())))}")
    is_good = True
    for kind in ("submits", "lists"):
        ratio = beside.p99(kind) / alone.p99(kind)
        is_good = is_good and ratio < MAX_RATIO
        print(
            f"{kind}: p99 alone {alone.p99(kind):.0f} ms,"
            f" beside {about} {beside.p99(kind):.0f} ms,"
            f" ratio {ratio:.2f} (aim: below {MAX_RATIO:g})"
        )
    rates = [phase.admitted / phase.seconds for phase in (alone, beside)]
    ratio = rates[1] / rates[0]
    is_good = is_good and ratio >= MIN_RATE
    print(
        f"admissions: {rates[0]:.1f} a second alone, {rates[1]:.1f} beside {about},"
        f" ratio {ratio:.2f} (aim: at least {MIN_RATE:g})"
    )
    return is_good


if __name__ == "__main__":
    sys.exit(main())
