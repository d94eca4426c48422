"""`python -m tests.bench.reads`: what each read takes over REST with many workloads pending.

Each size is measured on one installation that grows. The ratio of two sizes compares the fastest
answers, which other load of the machine disturbs least.
"""

import argparse
import json
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from http.client import HTTPConnection
from urllib.parse import quote

import msgspec

from tests.bench.installation import TOKEN, Installation, running_server
from tests.bench.population import Population, filled_database
from tests.bench.start import settle
from tests.builders.mixes import NAMESPACE

LISTS = (
    "workloads, newest",
    "workloads, second page",
    "workloads of a namespace",
    "workloads with a label",
    "workloads that succeeded",
    "rows of workloads, newest",
    "pending workloads of a queue",
)
OVERVIEW, METRICS, EXPLANATION, STUCK = "overview", "metrics", "explanation", "stuck workloads"
READS = (*LISTS, OVERVIEW, METRICS, EXPLANATION, STUCK)
MAX_RATIO = 1.1
START_SECONDS = 600.0
READ_SECONDS = 8.0
"""How long one read is repeated; one that is slow is repeated at least `MIN_SAMPLES` times."""

SAMPLES, MIN_SAMPLES = 40, 4
ANSWER_SECONDS = 120


class ReadTimes(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds of the answers to one read, ascending."""

    seconds: tuple[float, ...]

    @property
    def fastest_ms(self) -> float:
        """The fastest answer in milliseconds."""
        return 1_000 * self.seconds[0]

    @property
    def p95_ms(self) -> float:
        """What 95 of 100 answers did not exceed, in milliseconds."""
        return 1_000 * self.seconds[max(0, -(-len(self.seconds) * 95 // 100) - 1)]


def main() -> None:
    """Grows an installation to each size in turn, measures, and prints a line for each read."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.reads", description=__doc__)
    parser.add_argument("--pending", default="10000,20000", help="sizes, ascending, with commas")
    parser.add_argument("--finished", type=int, default=0)
    options = parser.parse_args()
    sizes = [int(size) for size in options.pending.split(",")]
    with filled_database() as (directory, platform, population):
        url = platform.settings.database_url
        population.add_finished("training", options.finished)
        found = []
        for size in sizes:
            population.add_pending("training", size - population.pending)
            settle(platform)
            with running_server(directory, url, START_SECONDS) as services:
                found.append(read_times(services, population))
    for name in READS:
        each = "  ".join(
            f"{size:,}: {times[name].fastest_ms:,.1f} ms, p95 {times[name].p95_ms:,.1f} ms"
            for size, times in zip(sizes, found, strict=True)
        )
        print(f"{name:29} {each}  ratio {ratio(found[0][name], found[-1][name]):.2f}")


def ratio(before: ReadTimes, after: ReadTimes) -> float:
    """Returns how many times the fastest answer of `before` that of `after` takes."""
    return after.fastest_ms / before.fastest_ms


def read_times(
    services: Installation, population: Population, seconds: float = READ_SECONDS
) -> dict[str, ReadTimes]:
    """Returns the times of each read, once the API has followed the log and is at rest."""
    until_at_rest(services)
    with _getter(services) as get:
        return {
            name: _timed(lambda path=path: get(path), seconds)  # type: ignore[misc]
            for name, path in _paths(get, population).items()
        }


def until_at_rest(services: Installation) -> None:
    """Returns when the workers have seen all that was appended."""
    until = time.monotonic() + START_SECONDS
    seen = -1
    with _getter(services) as get:
        while time.monotonic() < until:
            position = int(json.loads(get("/readyz"))["position"])
            if position == seen:
                return
            seen = position
            time.sleep(1.0)
    raise TimeoutError("the workers went on appending")


def _paths(get: Callable[[str], bytes], population: Population) -> dict[str, str]:
    first = json.loads(get("/v1/workloads?limit=100"))
    following = quote(first["metadata"]["continue"])
    pending = f"training-{population.pending // 2}"
    paths = (
        "/v1/workloads?limit=100",
        f"/v1/workloads?limit=100&continue={following}",
        f"/v1/namespaces/{NAMESPACE}/workloads?limit=100",
        f"/v1/workloads?limit=100&labelSelector={quote('team=team-7')}",
        "/v1/workloads?limit=100&phase=Succeeded",
        "/v1/workload-rows?limit=100",
        "/v1/clusterqueues/bench-0/pendingworkloads?limit=100",
        "/v1/overview",
        "/metrics",
        f"/v1/namespaces/{NAMESPACE}/workloads/{pending}/explanation",
        "/v1/stuck-workloads",
    )
    return dict(zip(READS, paths, strict=True))


@contextmanager
def _getter(services: Installation) -> Iterator[Callable[[str], bytes]]:
    """Yields what reads a path on one connection."""
    connection = HTTPConnection("127.0.0.1", services.port, timeout=ANSWER_SECONDS)

    def get(path: str) -> bytes:
        connection.request("GET", path, headers={"Authorization": f"Bearer {TOKEN}"})
        answer = connection.getresponse()
        body = answer.read()
        assert answer.status == 200, f"{path} was answered with {answer.status}: {body[:500]!r}"
        return body

    with closing(connection):
        yield get


def _timed(read: Callable[[], object], seconds: float) -> ReadTimes:
    taken: list[float] = []
    until = time.monotonic() + seconds
    while len(taken) < MIN_SAMPLES or (len(taken) < SAMPLES and time.monotonic() < until):
        began = time.perf_counter()
        read()
        taken.append(time.perf_counter() - began)
    return ReadTimes(seconds=tuple(sorted(taken)))


if __name__ == "__main__":
    main()
