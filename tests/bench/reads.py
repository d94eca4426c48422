"""`python -m tests.bench.reads`: what each read takes over REST with many workloads pending.

`PAGE_READS` are the read models that the web page is made of, N1 to N15 of its design. They find
what an installation has: a topology with hosts, an executor, a saved view, and the workloads;
without preemptions, backtests and predictions those lists are empty.

Each size is measured on one installation that grows. The ratio of two sizes compares the fastest
answers, which other load of the machine disturbs least.
"""

import argparse
import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import partial
from http.client import HTTPConnection
from typing import Any
from urllib.parse import quote

import msgspec

from tests.bench.installation import TOKEN, Installation, ask, running_server
from tests.bench.population import FIRST_FINISHED, Population, filled_database
from tests.bench.start import settle
from tests.builders.mixes import GPU, NAMESPACE

LISTS = (
    "workloads, newest",
    "workloads, second page",
    "workloads of a namespace",
    "workloads with a label",
    "workloads that succeeded",
    "rows of workloads, newest",
    "pending workloads of a queue",
)
TOPOLOGY, HOSTS = "hosts", 200
OUTAGES = "node.fell_silent,node.executor_lost,executor.lost"
STREAM = "/v1/stream"
WORKLOAD = f"/v1/namespaces/{NAMESPACE}/workloads/{{}}"
OVERVIEW, METRICS, EXPLANATION, STUCK = "overview", "metrics", "explanation", "stuck workloads"
PAGE_READS = {
    "N1 usage over time": (f"/v1/usage?resource={quote(GPU)}&points=48",),
    "N2 marks": ("/v1/history?limit=200", f"/v1/events?type={OUTAGES}&limit=200"),
    "N3 summaries of queues": ("/v1/queues/summary", "/v1/waits"),
    "N4 attention": ("/v1/attention", "/v1/attention/closed"),
    "N5 rows by a filter": (
        f"/v1/workload-rows?limit=100&filter={quote('phase:Pending gpu:>1')}&orderBy=name",
    ),
    "N5 groups of rows": ("/v1/workload-rows/groups?by=queue&limit=100",),
    "N6 saved views": ("/v1/views",),
    "N7 explanation with history": (f"{WORKLOAD.format('{pending}')}/explanation?history=10",),
    "N8 pods of a workload": (f"{WORKLOAD.format('{finished}')}/pods",),
    "N9 map of a topology": (f"/v1/topologies/{TOPOLOGY}/map",),
    "N10 preemptions and their sums": ("/v1/preemptions?limit=100", "/v1/preemptions/summary"),
    "N11 sums of cycles": ("/v1/cycles/summary?points=48",),
    "N12 backtests and simulations": ("/v1/backtests?limit=50", "/v1/simulations?limit=50"),
    "N13 first message of the stream": (STREAM,),
    "N14 executors": ("/v1/executors",),
    "N15 calibration of estimates": ("/v1/waits?clusterQueue=bench-0", "/v1/predictions"),
}
"""The paths of each, read one after the other; a workload is named where its phase stands."""

READS = (*LISTS, OVERVIEW, METRICS, EXPLANATION, STUCK, *PAGE_READS)
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
    documents = b"\n---\n".join(map(msgspec.json.encode, _objects()))
    ask(services, "/v1/apply", documents, "application/yaml")
    ask(services, "/v1/views/mine", msgspec.json.encode({"query": "filter=gpu:>1"}), method="PUT")
    until_at_rest(services)
    with _getter(services) as get:
        paths = _paths(get, population)
        assert tuple(paths) == READS
        return {name: _timed(partial(_each, get, paths[name]), seconds) for name in READS}


def _each(get: Callable[[str], bytes], paths: Sequence[str]) -> None:
    for path in paths:
        get(path)


def _objects() -> list[dict[str, Any]]:
    """What the read models of hosts and executors tell of; nothing is admitted on it."""
    kueue, label = "kueue.x-k8s.io/v1beta2", "kubernetes.io/hostname"
    levels = [{"nodeLabel": "rack"}, {"nodeLabel": label}]
    flavor = {"nodeLabels": {"pool": TOPOLOGY}, "topologyName": TOPOLOGY}
    selector = {"nodeSelector": {"headgate.dev/executor": TOPOLOGY}}
    hosts = [
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {
                "name": f"host-{number}",
                "labels": {
                    "pool": TOPOLOGY,
                    "rack": f"rack-{number // 20}",
                    label: f"host-{number}",
                },
            },
            "status": {"allocatable": {"cpu": "64", "memory": "512Gi", GPU: "8"}},
        }
        for number in range(HOSTS)
    ]
    objects = (
        ("Topology", kueue, {"levels": levels}),
        ("ResourceFlavor", kueue, flavor),
        ("Executor", "headgate.dev/v1", selector),
    )
    configured = [
        {"apiVersion": version, "kind": kind, "metadata": {"name": TOPOLOGY}, "spec": spec}
        for kind, version, spec in objects
    ]
    return [*configured, *hosts]


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


def _paths(get: Callable[[str], bytes], population: Population) -> dict[str, tuple[str, ...]]:
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
    names = {"pending": pending, "finished": f"training-{FIRST_FINISHED}"}
    of_pages = {
        name: tuple(path.format(**names) for path in several)
        for name, several in PAGE_READS.items()
    }
    return {name: (path,) for name, path in zip(READS, paths, strict=False)} | of_pages


@contextmanager
def _getter(services: Installation) -> Iterator[Callable[[str], bytes]]:
    """Yields what reads a path on one connection."""
    connection = HTTPConnection("127.0.0.1", services.port, timeout=ANSWER_SECONDS)

    def get(path: str) -> bytes:
        connection.request("GET", path, headers={"Authorization": f"Bearer {TOKEN}"})
        answer = connection.getresponse()
        if path == STREAM:
            body = answer.readline()
            # What follows never ends; the next request has a connection of its own.
            connection.close()
        else:
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
