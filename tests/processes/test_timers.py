"""Timers survive what happens to workers, and fire by the database's clock, each exactly once.

How late the last of the backoffs ended is told with `-rP`. It is no assertion, as other
tests may keep the machine busy; alone on two cores it is well below two seconds.
"""

import os
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from headgate.application.verify.verify import Verifier
from headgate.bootstrap import open_platform
from headgate.domain.values.instants import MICROSECONDS_PER_SECOND
from headgate.domain.workloads.admission import Admission, PodSetAssignment
from headgate.domain.workloads.events import (
    WorkloadAdmitted,
    WorkloadEvicted,
    WorkloadQuotaReserved,
    WorkloadRequeued,
    WorkloadStopped,
)
from headgate.settings import Settings
from tests.contracts.adapters import Adapters
from tests.hypothesis_profiles import examples
from tests.processes.programs import Workers, wait_until
from tests.workers.cluster import FLAVOR, StreamEvent, cluster, record, submitted_many

BACKOFFS = examples(1_000, quick=50)
SECONDS_UNTIL_DUE = 5
WRONG_CLOCK = """
import time
real = time.time
time.time = lambda: real() + 86_400
"""
LAST_REQUEUED = """
    SELECT max(at) / 1000000.0, count(*) FROM event
    WHERE type = 'workload.requeued'
"""


def running(count: int) -> Iterator[StreamEvent]:
    """Workloads that were admitted."""
    for stream, submission in submitted_many("gpu", count):
        assignment = PodSetAssignment(
            name="main", flavors={"cpu": FLAVOR}, resource_usage={"cpu": 1_000}, count=1
        )
        admission = Admission(cluster_queue="gpu", pod_set_assignments=(assignment,))
        yield stream, submission
        yield stream, WorkloadQuotaReserved(admission=admission)
        yield stream, WorkloadAdmitted(waited_seconds=0)


def timed_out(count: int, until: int) -> Iterator[StreamEvent]:
    """Their pods were not ready in time and have stopped; they back off until then."""
    for stream, _ in submitted_many("gpu", count):
        yield (
            stream,
            WorkloadEvicted(
                eviction=f"{stream}/1",
                reason="PodsReadyTimeout",
                underlying_cause="WaitForStart",
                message="Its pods were not ready within 60 s",
                count=1,
                requeue_at=until,
            ),
        )
        yield stream, WorkloadStopped(eviction=f"{stream}/1")


@pytest.fixture
def wrong_clock(open_directory: Path) -> dict[str, str]:
    """The environment of a process that takes today for tomorrow."""
    (open_directory / "sitecustomize.py").write_text(WRONG_CLOCK)
    paths = [str(open_directory), os.environ.get("PYTHONPATH", "")]
    return {"PYTHONPATH": os.pathsep.join(filter(None, paths))}


def requeued(adapters: Adapters) -> Counter[str]:
    """How often each workload's backoff ended."""
    return Counter(
        recorded.stream
        for recorded in adapters.log.read_all()
        if isinstance(recorded.event, WorkloadRequeued)
    )


def seconds_late(database_url: str, due: int) -> tuple[float, int]:
    """How long after it was due the last backoff had ended in the log, and how many had."""
    with psycopg.connect(database_url) as connection:
        row = connection.execute(LAST_REQUEUED).fetchone()
    assert row is not None
    return (float(row[0]) - due / MICROSECONDS_PER_SECOND if row[0] else 0.0), int(row[1])


def assert_verified(database_url: str) -> None:
    """The whole log and every read model beside it hold together."""
    platform = open_platform(Settings(database_url=database_url, broker_url="memory://"))
    try:
        verifier = Verifier(platform.event_log, platform.read_models, platform.followers)
        assert verifier.verify(lambda *_: None).findings == ()
    finally:
        platform.close()


@pytest.mark.slow
def test_many_backoffs_due_at_once_all_end_once(
    adapters: Adapters, workers: Workers, fresh_database_url: str, wrong_clock: dict[str, str]
) -> None:
    first = workers.start(environment=wrong_clock)
    record(adapters.log, *cluster("gpu"), *running(BACKOFFS))
    due = adapters.log.now() + SECONDS_UNTIL_DUE * MICROSECONDS_PER_SECOND
    record(adapters.log, *timed_out(BACKOFFS, due))
    workers.start(environment=wrong_clock)
    wait_until(lambda: has_seen_everything(adapters), "everything is known and nothing is due")
    first.kill()
    wait_until(lambda: seconds_late(fresh_database_url, due)[1] >= BACKOFFS, "all are back")
    late, count = seconds_late(fresh_database_url, due)
    assert count == BACKOFFS
    ends = [e.at for e in adapters.log.read_all() if isinstance(e.event, WorkloadRequeued)]
    assert min(ends) >= due, "a backoff ended before it was due"
    assert set(requeued(adapters).values()) == {1}
    wait_until(lambda: has_seen_everything(adapters), "every workload has started or has a reason")
    sys.stdout.write(f"the last of {BACKOFFS} backoffs ended {late:.2f} s after it was due\n")
    assert_verified(fresh_database_url)


@pytest.mark.nightly
def test_backoffs_end_once_also_when_a_worker_is_killed_in_their_midst(
    adapters: Adapters, workers: Workers, fresh_database_url: str
) -> None:
    record(adapters.log, *cluster("gpu"), *running(BACKOFFS))
    record(adapters.log, *timed_out(BACKOFFS, adapters.log.now()))
    first = workers.start()
    wait_until(lambda: bool(requeued(adapters)), "the first worker is at it")
    first.kill()
    workers.start()
    wait_until(lambda: len(requeued(adapters)) == BACKOFFS, "the second goes on")
    assert set(requeued(adapters).values()) == {1}
    wait_until(lambda: has_seen_everything(adapters), "every workload has started or has a reason")
    assert_verified(fresh_database_url)


def has_seen_everything(adapters: Adapters) -> bool:
    """Whether some worker has looked at everything there is, and has nothing left to do now."""
    row = next((row for row in adapters.partitions.rows() if row.key == "clusterqueue/gpu"), None)
    return row is not None and row.idle_position >= row.last_position
