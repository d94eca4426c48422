"""`python -m tests.bench.scale`: whether a large installation meets its targets, a line for each.

One installation grows to half of the workloads, then to all of them; reads are measured at both
sizes. Memory is measured without a database, as the slope from half of the workloads to all, of
`MAX_FOLDED` at most: a longer fold takes minutes and has the same slope. Bytes in Postgres are
those of `MAX_STORED` workloads at most, appended as an installation does; the others are appended
in the fastest way. How long each step took, and what each read
took at both sizes, goes to the standard error.
"""

import argparse
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import psutil
import psycopg

from headgate.bootstrap import Platform
from tests.bench.installation import Installation, ask, running_server
from tests.bench.memory import bytes_each
from tests.bench.partitions import worker_shares
from tests.bench.population import Filled, Population, filled_database, queue_of
from tests.bench.reads import (
    EXPLANATION,
    LISTS,
    MAX_RATIO,
    METRICS,
    OVERVIEW,
    PAGE_READS,
    READS,
    START_SECONDS,
    STUCK,
    ReadTimes,
    ratio,
    read_times,
    until_at_rest,
)
from tests.bench.start import UPGRADES, first_decision, settle
from tests.bench.storage import EARLIER, follow, storage_each, train
from tests.builders.mixes import Mix, a_manifest_of

PARTITIONS = 10
MAX_FOLDED = 20_000
MAX_STORED = 20_000
WORKERS = (1, 4)
BATCH, BATCHES = 1_000, 3
FIRST_OF_BATCHES = 3_000_000_000
"""Numbers of workloads that are submitted over REST begin here, so that no name comes twice."""


class Target(msgspec.Struct, frozen=True, kw_only=True):
    """One target: what was measured, what is aimed at, and whether that is met."""

    name: str
    measured: str
    aim: str
    is_met: bool

    def __str__(self) -> str:
        verdict = "met" if self.is_met else "missed"
        return f"{self.name:58} {self.measured:>36}   aim {self.aim:12} {verdict}"


class Sizes(msgspec.Struct, frozen=True, kw_only=True):
    """How much is measured: workloads in all, submits over REST, and seconds for each read."""

    pending: int
    finished: int
    batch: int = BATCH
    read_seconds: float = 3.0

    def folded(self, workloads: int) -> int:
        """From how many workloads to twice as many memory is measured."""
        return min(workloads, MAX_FOLDED) // 2


def main() -> None:
    """Measures everything and prints a line for each target."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.scale", description=__doc__)
    parser.add_argument("--pending", type=int, default=100_000)
    parser.add_argument("--finished", type=int, default=100_000)
    options = parser.parse_args()
    began = time.monotonic()
    targets = []
    for target in measure(Sizes(pending=options.pending, finished=options.finished)):
        print(target, flush=True)
        targets.append(target)
    print(f"{(time.monotonic() - began) / 60:.1f} minutes on Python {sys.version.split()[0]}")
    print(summary(targets))


def summary(targets: list[Target]) -> str:
    """Returns how many of the targets are met."""
    return f"scale: {sum(target.is_met for target in targets)} of {len(targets)} targets met"


def measure(sizes: Sizes) -> Iterator[Target]:
    """Yields each target as soon as it is measured."""
    with _noted("memory of folds"):
        yield from _memory(sizes)
    with filled_database(PARTITIONS) as filled:
        yield from _installation(filled, sizes)


def _memory(sizes: Sizes) -> Iterator[Target]:
    each = bytes_each("training", "pending", sizes.folded(sizes.pending))
    yield _at_most("worker memory per pending workload", each, 1_200, "B")
    each = bytes_each("training", "finished", sizes.folded(sizes.finished))
    yield Target(
        name="memory per finished workload",
        measured=f"{each:,.0f} B",
        aim="0 ± 5 B",
        is_met=abs(each) <= 5,
    )


def _installation(filled: Filled, sizes: Sizes) -> Iterator[Target]:
    directory, platform, population = filled
    url = platform.settings.database_url
    with _noted("fill to half"):
        _fill(population, min(EARLIER, sizes.finished) // 2, min(EARLIER, sizes.pending) // 2)
        train(platform, population, "training")
        _fill(population, sizes.finished // 2, sizes.pending // 2)
    with _noted("follow and settle"):
        _settle(platform)
    with _noted("reads at half"), running_server(directory, url, START_SECONDS) as services:
        half = read_times(services, population, sizes.read_seconds)
    with _noted("storage"):
        yield from _storage(platform, population, sizes)
    with _noted("fill"):
        _fill(population, sizes.finished, sizes.pending)
    with _noted("follow and settle"):
        _settle(platform)
    with _noted("reads and submits"), running_server(directory, url, START_SECONDS) as services:
        whole = read_times(services, population, sizes.read_seconds)
        costs = [submit_cost(services, mix, sizes.batch) for mix in ("small", "training")]
    yield from _reads(half, whole)
    for mix, cost, most in zip(("small", "training"), costs, (210, 310), strict=True):
        yield _at_most(f"processor time of a batched submit, {mix}", cost, most, "µs")
    with _noted("starts and shares"):
        yield from _starts(platform, population)


def _settle(platform: Platform) -> None:
    """Lets followers and a worker come to rest, and the planner of the database know its tables.

    The server's own vacuum does the latter within minutes of so much growth.
    """
    follow(platform)
    settle(platform)
    with psycopg.connect(platform.settings.database_url, autocommit=True) as connection:
        connection.execute("VACUUM (ANALYZE)")


def _fill(population: Population, finished: int, pending: int) -> None:
    """Adds workloads up to these numbers."""
    population.add_finished_at_once("training", max(0, finished - population.finished))
    population.add_pending("training", max(0, pending - population.pending))


@contextmanager
def _noted(name: str) -> Iterator[None]:
    """Says how long a step took, on the standard error."""
    began = time.monotonic()
    yield
    _note(f"{name}: {time.monotonic() - began:.0f} s")


def _note(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _storage(platform: Platform, population: Population, sizes: Sizes) -> Iterator[Target]:
    lives = min(sizes.finished - population.finished, MAX_STORED)
    found = storage_each(platform, population, "training", lives, is_life=True)
    yield _at_most("Postgres per life of five events", found.total, 2_000, "B")
    submits = min(sizes.pending - population.pending, MAX_STORED)
    found = storage_each(platform, population, "training", submits, is_life=False)
    yield _at_most("Postgres per pending submit", found.total, 1_200, "B")


def _reads(half: dict[str, ReadTimes], whole: dict[str, ReadTimes]) -> Iterator[Target]:
    slowest = max(LISTS, key=lambda name: whole[name].p95_ms)
    yield _at_most(f"lists, p95 of the slowest ({slowest})", whole[slowest].p95_ms, 50, "ms")
    for name, most in ((OVERVIEW, 50), (METRICS, 200), (EXPLANATION, 30), (STUCK, 50)):
        yield _at_most(f"{name}, p95", whole[name].p95_ms, most, "ms")
    for name in PAGE_READS:
        yield _at_most(
            f"{name}, p95", whole[name].p95_ms, 30 if "explanation" in name else 50, "ms"
        )
    ratios = {name: ratio(half[name], whole[name]) for name in READS}
    for name in READS:
        _note(
            f"{name:34} fastest {half[name].fastest_ms:8.1f} and {whole[name].fastest_ms:8.1f} ms, "
            f"p95 {half[name].p95_ms:8.1f} and {whole[name].p95_ms:8.1f} ms, {ratios[name]:.2f}"
        )
    grown = max(READS, key=lambda name: ratios[name])
    largest = ratios[grown]
    yield Target(
        name="ratio of each read, all to half",
        measured=f"{largest:.2f} ({grown})",
        aim=f"≤ {MAX_RATIO}",
        is_met=largest <= MAX_RATIO,
    )


def _starts(platform: Platform, population: Population) -> Iterator[Target]:
    settle(platform)
    for upgrade in UPGRADES:
        seconds = first_decision(platform, population, upgrade).seconds
        name = "with a snapshot" if upgrade == "none" else f"after an upgraded {upgrade}"
        yield _at_most(f"start to first decision, {name}", seconds, 10, "s")
    shares = dict(zip(WORKERS, worker_shares(platform, population, WORKERS), strict=True))
    most = max(WORKERS)
    yield Target(
        name=f"share of each of {most} workers",
        measured=", ".join(f"{each.memory:.0%} / {each.events:.0%}" for each in shares[most][:2]),
        aim=f"{1 / most:.0%} ± 10 %",
        is_met=all(each.is_proportional(n) for n in WORKERS for each in shares[n]),
    )


def _at_most(name: str, value: float, most: float, unit: str) -> Target:
    return Target(
        name=name, measured=f"{value:,.1f} {unit}", aim=f"≤ {most:,} {unit}", is_met=value <= most
    )


def submit_cost(services: Installation, mix: Mix, batch: int) -> float:
    """Returns microseconds of processor time of all processes for each submit in batches.

    Counted until the workers have seen all of it; the client is left out.
    """
    until_at_rest(services)
    before = _processor_seconds(services)
    for number in range(BATCHES):
        first = FIRST_OF_BATCHES + number * batch
        items = [a_manifest_of(mix, first + n, queue_of(n, PARTITIONS)) for n in range(batch)]
        answer = ask(services, "/v1/workloads:batch", msgspec.json.encode({"items": items}))
        assert isinstance(answer, dict)
        refused = [result for result in answer["results"] if "error" in result]
        assert not refused, refused[:3]
    until_at_rest(services)
    used = _processor_seconds(services) - before
    return 1_000_000 * used / (BATCHES * batch)


def _processor_seconds(services: Installation) -> float:
    """Of the processes of `headgate up` and of the database, those that have ended included."""
    seconds = 0.0
    for root in (psutil.Process(services.process), psutil.Process(_postmaster(services))):
        for process in (root, *root.children(recursive=True)):
            try:
                seconds += sum(process.cpu_times()[:4])
            except psutil.NoSuchProcess:
                continue
    return seconds


def _postmaster(services: Installation) -> int:
    """The process of the database, which keeps its number beside its data."""
    socket_directory = services.database_url.partition("host=")[2].partition("&")[0]
    lock = Path(socket_directory.replace("%2F", "/")) / ".s.PGSQL.5432.lock"
    return int(lock.read_text().splitlines()[0])


if __name__ == "__main__":
    main()
