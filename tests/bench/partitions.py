"""`python -m tests.bench.partitions`: what each of N workers holds and folds of many partitions.

The workers start at once on a log with a snapshot and events past it, and share out the partitions
as they do. One worker alone holds and folds everything: the share of each of N is compared with 1/N
of that. Folded are the events that a fold takes; of the others it sees no more than their place.
"""

import argparse
import os
import threading
from collections.abc import Container, Sequence

import msgspec

from headgate.application.run_partition import sweep
from headgate.application.scheduling_cycles import presence_of
from headgate.bootstrap import AppendListener, Platform, open_platform
from headgate.domain.cluster_state import ClusterState
from headgate.domain.recorded_event import RecordedEvent
from headgate.domain.scheduling.partition.partition_layout import HasLayout, Scope
from headgate.settings import Settings
from tests.bench.children import start_child, tell, unshared_bytes, wait_for_parent
from tests.bench.population import Population, filled_database
from tests.bench.start import settle

TOLERANCE = 0.1
TAIL_DIVISOR = 10
"""The tail past the snapshot is one tenth of the pending workloads."""


class WorkerShare(msgspec.Struct, frozen=True, kw_only=True):
    """What a worker holds and has folded, as shares of what one alone holds and folds."""

    memory: float
    workloads: float
    events: float

    def is_proportional(self, workers: int) -> bool:
        """Whether memory and folded events are one of so many parts, within the tolerance."""
        least, most = (1 - TOLERANCE) / workers, (1 + TOLERANCE) / workers
        return all(least <= share <= most for share in (self.memory, self.events))


class _Held(msgspec.Struct, frozen=True, kw_only=True):
    bytes: int
    workloads: int
    events: int


def main() -> None:
    """Fills a log, starts so many workers in turn, and prints a line for each worker."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.partitions", description=__doc__)
    parser.add_argument("--partitions", type=int, default=10)
    parser.add_argument("--workers", default="1,2,4", help="numbers of workers, with commas")
    parser.add_argument("--pending", type=int, default=20_000)
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--database", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        _work(options.database)
        return
    numbers = [int(number) for number in options.workers.split(",")]
    with filled_database(options.partitions) as (_, platform, population):
        population.add_pending("training", options.pending)
        settle(platform)
        shares = worker_shares(platform, population, numbers)
    for number, each in zip(numbers, shares, strict=True):
        for share in each:
            print(
                f"of {number} workers: memory {share.memory:6.1%}, workloads "
                f"{share.workloads:6.1%}, folded events {share.events:6.1%} of one worker's"
            )


def worker_shares(
    platform: Platform, population: Population, numbers: Sequence[int]
) -> list[list[WorkerShare]]:
    """Returns the shares of the workers, for each number of workers; the log has a snapshot."""
    population.add_pending("training", max(1, population.pending // TAIL_DIVISOR))
    (alone,) = _held(platform, 1)
    return [
        [
            WorkerShare(
                memory=each.bytes / alone.bytes,
                workloads=each.workloads / alone.workloads,
                events=each.events / alone.events,
            )
            for each in ([alone] if number == 1 else _held(platform, number))
        ]
        for number in numbers
    ]


def _held(platform: Platform, workers: int) -> list[_Held]:
    url = platform.settings.database_url
    children = [
        start_child("tests.bench.partitions", "--child", "--database", url) for _ in range(workers)
    ]
    for _ in ("present", "ready"):
        for child in children:
            child.told()
        for child in children:
            child.go_on()
    held = [msgspec.convert(child.told(), _Held) for child in children]
    for child in children:
        child.end()
    return held


def _work(url: str) -> None:
    """Work as a worker until every worker has swept once, and tell what this one holds then."""
    folded = _counted_folds()
    settings = Settings(database_url=url, broker_url="memory://")
    scheduler = open_platform(settings, name=f"bench worker {os.getpid()}").scheduler(_fail)
    connected = threading.Event()
    presence = presence_of(scheduler.owner)
    AppendListener(url, lambda _: connected.set(), presence).start()
    connected.wait()
    tell("present")
    wait_for_parent()
    before = unshared_bytes()
    sweep(scheduler, frozenset(), lambda: False)
    live = scheduler.live
    live.catch_up_with_log()
    tell("ready")
    wait_for_parent()
    cluster_state = live.cluster_state
    assert cluster_state.partition_index is not None
    tell(
        {
            "bytes": unshared_bytes() - before,
            "workloads": len(cluster_state.workloads),
            "events": len(folded),
        }
    )


def _counted_folds() -> list[int]:
    """Notes the position of each event that this process folds from now on."""
    folded: list[int] = []
    fold, takes = ClusterState.fold, Scope.takes

    def counted(cluster_state: ClusterState, recorded: RecordedEvent) -> None:
        folded.append(recorded.position)
        fold(cluster_state, recorded)

    def counted_takes(
        scope: Scope, recorded: RecordedEvent, held: Container[str], known: HasLayout
    ) -> bool:
        is_taken = takes(scope, recorded, held, known)
        if not is_taken:
            folded.pop()
        return is_taken

    ClusterState.fold = counted  # type: ignore[method-assign, assignment]
    Scope.takes = counted_takes  # type: ignore[method-assign, assignment]
    return folded


def _fail(partition: str, failure: Exception) -> None:
    raise RuntimeError(f"{partition} cannot be planned") from failure


if __name__ == "__main__":
    main()
