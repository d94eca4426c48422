"""`python -m tests.bench.memory`: bytes that a fold needs per pending, running, finished workload.

Each is the slope between N and 2N workloads, each in a fresh process that folds decoded events and
reads the index of partitions all along, so that interpreter and libraries do not count. Slopes of a
few thousand workloads are rough: tables grow in steps.
"""

import argparse
import tracemalloc
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from typing import Literal, get_args

from headgate.domain.cluster_state import ClusterState
from headgate.domain.recorded_event import DomainEvent, RecordedEvent
from headgate.event_log.codec import decode, encode
from tests.bench.children import measured, start_child, tell, unshared_bytes
from tests.bench.population import SUBMITTED, configuration, queue_of
from tests.builders.mixes import MIXES, Mix, a_life_of, a_submission_of

LifeStage = Literal["pending", "running", "finished"]
STAGES: tuple[LifeStage, ...] = get_args(LifeStage)
EVENTS: dict[LifeStage, int] = {"pending": 1, "running": 4, "finished": 5}
"""How many events of its life a workload has in each stage."""

AT = 1_800_000_000_000_000
PARTITIONS = 10
READ_EVERY = 100
SOURCES = 10


def main() -> None:
    """Measures the stages that are asked for, and prints a line for each."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.memory", description=__doc__)
    parser.add_argument("--mix", choices=[*MIXES, "all"], default="all")
    for stage in STAGES:
        parser.add_argument(f"--{stage}", type=int, default=0, metavar="N")
    parser.add_argument("--sources", action="store_true", help="the largest of the pending")
    parser.add_argument("--child", choices=STAGES, help=argparse.SUPPRESS)
    options = parser.parse_args()
    counts: dict[LifeStage, int] = {stage: getattr(options, stage) for stage in STAGES}
    if options.child:
        measure_fold(options.mix, options.child, counts[options.child], trace=options.sources)
        return
    if not any(counts.values()):
        counts = {"pending": 20_000, "running": 5_000, "finished": 20_000}
    for mix in MIXES if options.mix == "all" else (options.mix,):
        for stage, count in counts.items():
            if count:
                each = bytes_each(mix, stage, count)
                print(f"{mix:9} {stage:9} {each:9,.0f} B each, from {count:,} to {2 * count:,}")
        if options.sources and counts["pending"]:
            for line in sources(mix, counts["pending"]):
                print(f"  {line}")


def bytes_each(mix: Mix, stage: LifeStage, count: int) -> float:
    """Returns the memory of one more workload in a stage, between `count` and twice as many.

    Both are folded side by side, in processes of their own.
    """
    asked = ("tests.bench.memory", "--mix", mix, "--child", stage, f"--{stage}")
    children = [start_child(*asked, number) for number in (count, 2 * count)]
    once, twice = (int(child.told()["bytes"]) for child in children)
    for child in children:
        child.end()
    return (twice - once) / count


def sources(mix: Mix, count: int) -> list[str]:
    """Returns the lines of code that allocated most of a fold of pending workloads."""
    child = ("--mix", mix, "--child", "pending", "--pending", count, "--sources")
    told = measured("tests.bench.memory", *child)
    return [str(line) for line in told["sources"]]


def measure_fold(mix: Mix, stage: LifeStage, count: int, *, trace: bool) -> None:
    """Folds so many workloads and tells the memory of this process."""
    if trace:
        tracemalloc.start()
    cluster_state = folded(mix, stage, count)
    assert cluster_state.partition_index is not None
    value: dict[str, object] = {"bytes": unshared_bytes(), "position": cluster_state.position}
    if trace:
        largest = tracemalloc.take_snapshot().statistics("lineno")[:SOURCES]
        value["sources"] = [
            f"{each.size / count:7,.0f} B each: {each.traceback}" for each in largest
        ]
    tell(value)


def folded(mix: Mix, stage: LifeStage, count: int) -> ClusterState:
    """Returns the fold of a log with so many workloads in a stage, as a process reads it."""
    cluster_state = ClusterState()
    for stream, version, event in _history(mix, stage, count):
        if cluster_state.position % READ_EVERY == 0:
            assert cluster_state.partition_index is not None
        cluster_state.apply(
            RecordedEvent(
                position=cluster_state.position + 1,
                stream=stream,
                version=version,
                event=_as_read(event),
                at=AT + cluster_state.position,
                metadata=SUBMITTED,
            )
        )
    return cluster_state


def _as_read(event: DomainEvent) -> DomainEvent:
    """The event as it is decoded from the log: it shares nothing with others."""
    return decode(*encode(event))


def _history(mix: Mix, stage: LifeStage, count: int) -> Iterator[tuple[str, int, DomainEvent]]:
    """Events with stream and version; nothing of the history stays beside the fold."""
    versions = Counter[str]()
    for stream, event in configuration(PARTITIONS):
        versions[stream] += 1
        yield stream, versions[stream], event
    for number in range(count):
        queue = queue_of(number, PARTITIONS)
        submitted, _ = a_submission_of(mix, number, queue)
        stream = f"workload/{submitted.namespace}/{submitted.name}"
        life = islice(a_life_of(submitted, queue), EVENTS[stage])
        for version, event in enumerate(life, start=1):
            yield stream, version, event


if __name__ == "__main__":
    main()
