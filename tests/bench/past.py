"""`python -m tests.bench.past`: how long a read of the past takes on a log of a million events."""

import argparse
import asyncio
import dataclasses
import gc
import tempfile
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from random import Random

import psycopg
from msgspec.structs import replace

from headgate.api.app import application_services
from headgate.application.application_services import ApplicationServices, DatabaseClock
from headgate.application.cooperative import COLLECT_AFTER
from headgate.application.ports import WorkloadQuery
from headgate.application.queries.queue_tree import queue_tree
from headgate.application.time_travel import PointInTime, services_at
from headgate.bootstrap import migrate, open_platform
from headgate.domain.kinds.cluster_queue import ClusterQueueCreated, ClusterQueueSpec
from headgate.domain.kinds.local_queue import LocalQueueCreated, LocalQueueSpec
from headgate.domain.kinds.resource_flavor import ResourceFlavorCreated, ResourceFlavorSpec
from headgate.domain.recorded_event import DomainEvent
from headgate.domain.values.selectors import LabelSelector
from headgate.domain.workloads.admission import Admission, PodSetAssignment
from headgate.domain.workloads.events import (
    WorkloadAdmitted,
    WorkloadDeleted,
    WorkloadFinished,
    WorkloadPodsReady,
    WorkloadQuotaReserved,
    WorkloadSubmitted,
)
from headgate.domain.workloads.specs import PodSet, Scheduling, WorkloadSpec
from headgate.embedded.servers import start_postgres
from headgate.event_log.codec import encode
from headgate.settings import Settings
from tests.builders.world import quotas

START = 1_800_000_000_000_000
RUNNING, KEPT, QUEUES = 400, 30_000, 20
WIDTH = 10_000
NO_OWNER = ("user:bench", "", "", "", "")
COLUMNS = (
    "position, stream, version, type, schema_version, body, at, actor, reason, causation, "
    "correlation, trace"
)
ADMISSION = Admission(
    cluster_queue="q",
    pod_set_assignments=(
        PodSetAssignment(name="main", flavors={"gpu": "plain"}, resource_usage={"gpu": 1}, count=1),
    ),
)
SPEC = WorkloadSpec(pod_sets=(PodSet(scheduling=Scheduling(requests={"gpu": 1})),))


def main() -> None:
    """Writes the log, then reads at random moments of it, and prints the durations."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.past", description=__doc__)
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--reads", type=int, default=200)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="headgate-bench-") as directory:
        Path(directory).chmod(0o755)
        postgres = start_postgres(Path(directory) / "postgres")
        try:
            migrate(postgres.url)
            write_log(postgres.url, options.events)
            asyncio.run(measure(postgres.url, options.events, options.reads))
        finally:
            postgres.stop()


def write_log(url: str, events: int) -> None:
    """Writes a log as a busy installation has it, without deciding anything."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("SELECT extend_log(%s)", (events + 1,))
        versions: dict[str, int] = {}
        with connection.cursor().copy(f"COPY event ({COLUMNS}) FROM STDIN") as copy:
            for number, (stream, event) in enumerate(history(events), 1):
                name, schema_version, data = encode(event)
                version = versions.get(stream, 0) + 1
                versions[stream] = version
                at = START + number * WIDTH
                copy.write_row((number, stream, version, name, schema_version, data, at, *NO_OWNER))
        connection.execute("UPDATE log_head SET position = %s", (events,))
        connection.execute("ANALYZE event")


def history(events: int) -> Iterator[tuple[str, DomainEvent]]:
    """Yields queues, then workloads that are submitted, run, end and are deleted in turn."""
    return islice(_endless(), events)


def _endless() -> Iterator[tuple[str, DomainEvent]]:
    flavor = ResourceFlavorCreated(uid="f", name="plain", spec=ResourceFlavorSpec())
    yield "resourceflavor/plain", flavor
    for queue in range(QUEUES):
        spec = ClusterQueueSpec(
            resource_groups=quotas(plain=100), namespace_selector=LabelSelector()
        )
        name = f"q{queue}"
        yield f"clusterqueue/{name}", ClusterQueueCreated(uid=name, name=name, spec=spec)
        door = LocalQueueSpec(cluster_queue=name)
        local = LocalQueueCreated(uid=name, name=name, namespace="team", spec=door)
        yield f"localqueue/team/{name}", local
    number = 0
    while True:
        yield from _one_more(number)
        number += 1


def _one_more(number: int) -> Iterator[tuple[str, DomainEvent]]:
    """Yields a new workload, the end of an earlier one, and the deletion of a much earlier one."""
    queue, stream = f"q{number % QUEUES}", f"workload/team/w{number}"
    spec = replace(SPEC, queue_name=queue)
    name = f"w{number}"
    yield stream, WorkloadSubmitted(uid=name, namespace="team", name=name, spec=spec)
    given = replace(ADMISSION, cluster_queue=queue)
    yield stream, WorkloadQuotaReserved(admission=given)
    yield stream, WorkloadAdmitted(waited_seconds=1)
    yield stream, WorkloadPodsReady()
    if number >= RUNNING:
        yield f"workload/team/w{number - RUNNING}", WorkloadFinished(reason="Succeeded")
    if number >= KEPT:
        yield f"workload/team/w{number - KEPT}", WorkloadDeleted()


async def measure(url: str, events: int, reads: int) -> None:
    """Read at random positions from a process that has read nothing before."""
    platform = open_platform(Settings(database_url=url, broker_url="memory://"))
    services = application_services(platform)
    clock = services.clock
    assert isinstance(clock, DatabaseClock), "a bench runs in the present"
    await asyncio.to_thread(clock.read_database)
    began = time.monotonic()
    await services_at(services, PointInTime(position=events))
    print(f"{events:,} events: first fold and its caches in {time.monotonic() - began:.1f} s")
    services.history.executor.close()
    fresh = dataclasses.replace(services, history=platform.historical_reads())
    del services
    # As every process that keeps a fold warm.
    gc.collect()
    gc.set_threshold(*COLLECT_AFTER)
    chance = Random(1)
    taken = [await timed_read(fresh, chance.randint(1, events)) for _ in range(reads)]
    by_clock, at_work = (sorted(each) for each in zip(*taken, strict=True))
    for percent in (50, 95, 100):
        place = min(reads - 1, reads * percent // 100)
        passed, worked = by_clock[place] * 1000, at_work[place] * 1000
        print(f"reads of the past, p{percent}: {passed:.0f} ms, {worked:.0f} ms of them at work")
    fresh.history.executor.close()
    platform.close()


async def timed_read(services: ApplicationServices, position: int) -> tuple[float, float]:
    """Returns the seconds for the queue tree and a page of workloads: wall time and processor time.

    On a busy machine only the second is meaningful.
    """
    began, begun = time.monotonic(), time.process_time()
    past = await services_at(services, PointInTime(position=position))
    queue_tree(past, None)
    await asyncio.to_thread(past.models.workloads, WorkloadQuery(limit=100))
    return time.monotonic() - began, time.process_time() - begun


if __name__ == "__main__":
    main()
