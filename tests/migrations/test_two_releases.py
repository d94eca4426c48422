"""Earlier releases beside the present one on one database: they decide, or are told why not."""

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

from headgate.adapters.postgres.maintenance import newest_revision
from headgate.application.ports import Appended, NewEvent
from headgate.domain.recorded_event import EventIgnored
from headgate.domain.workloads.events import WorkloadAdmitted, WorkloadFinished
from tests.architecture.sources import ROOT
from tests.contracts.adapters import on_postgres
from tests.contracts.events import unit
from tests.processes.programs import wait_until
from tests.workers.cluster import admitted, cluster, record, submitted, submitted_many
from tests.workers.scheduler_runs import Worker

READS_COMPRESSED_SINCE = "cc714b8b46c9e42c90fda47d7832fc51f1782828"
"""The first commit that reads compressed bodies (ADR 0060), and what the next release adds."""

PLAIN = "c8f996ca46bf08958046e800a28c3f9ed4834ab6"
"""The first commit that reads events, fields and columns of the next release, uncompressed."""

ROUNDS = 30
DECIDE = """
import os
import sys
import time
from headgate.bootstrap import open_platform
from headgate.application.run_partition import sweep
from headgate.settings import Settings

def fail(_, failure):
    raise failure

platform = open_platform(Settings(database_url=sys.argv[1], broker_url="memory://"))
scheduler = platform.scheduler(fail)
for _ in range(4):
    sweep(scheduler, frozenset(), lambda: False)
import headgate
print(headgate.__path__[0], flush=True)
if len(sys.argv) > 2:
    decisions = 0
    while not os.path.exists(sys.argv[2]):
        decisions += sweep(scheduler, frozenset(), lambda: False).decisions
        time.sleep(0.02)
    print(decisions)
platform.close()
"""
LIST = """
import sys
from headgate.application.ports import WorkloadQuery
from headgate.application.workload_filter import WorkloadFilter
from headgate.bootstrap import open_platform
from headgate.settings import Settings

platform = open_platform(Settings(database_url=sys.argv[1], broker_url="memory://"))
for phases in ((), ("Pending",), ("Succeeded",), ("Pending", "Succeeded")):
    found = platform.read_models.workloads(WorkloadQuery(where=WorkloadFilter(phases=phases)))
    loaded = platform.read_models.load([each.stream for each in found])
    print(*sorted(f"{each.state.name}:{each.version}" for each in loaded))
platform.close()
"""
MIGRATE = """
import sys
from headgate.adapters.postgres.maintenance import migrate

migrate(sys.argv[1])
"""


@pytest.fixture(scope="module")
def earlier(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of the recorded commit, from git history."""
    return programs_of(READS_COMPRESSED_SINCE, Path(tmp_path_factory.mktemp("earlier")))


def programs_of(commit: str, directory: Path) -> Path:
    """The programs of a commit from git history, put into a directory."""
    packed = subprocess.run(
        ["git", "-C", str(ROOT), "archive", commit, "backend", "workers", "migrations"],
        check=False,
        capture_output=True,
    )
    if packed.returncode != 0:
        pytest.skip(f"the history has no {commit}: {packed.stderr.decode()[:200]}")
    subprocess.run(["tar", "-x", "-C", str(directory)], input=packed.stdout, check=True)
    return directory


def decide(earlier: Path, url: str) -> "subprocess.CompletedProcess[str]":
    """A worker of the earlier release decides whatever is due."""
    return run(earlier, DECIDE, url)


def run(earlier: Path, program: str, url: str) -> "subprocess.CompletedProcess[str]":
    """A program on the modules of the earlier release."""
    return subprocess.run(
        [sys.executable, "-c", program, url],
        check=False,
        capture_output=True,
        text=True,
        env=environment_of(earlier),
        cwd=earlier,
        timeout=120,
    )


def environment_of(earlier: Path) -> dict[str, str]:
    """The environment with the programs of the earlier release."""
    path = os.pathsep.join((str(earlier / "backend"), str(earlier / "workers")))
    return {**os.environ, "PYTHONPATH": path}


@contextmanager
def deciding(earlier: Path, url: str, until: Path) -> Iterator["subprocess.Popen[str]"]:
    """A worker of the earlier release that goes on deciding until there is a file."""
    process = subprocess.Popen(
        [sys.executable, "-c", DECIDE, url, str(until)],
        stdout=subprocess.PIPE,
        text=True,
        env=environment_of(earlier),
        cwd=earlier,
    )
    with process:
        try:
            yield process
        finally:
            until.touch()


@pytest.mark.nightly
def test_both_decide_on_a_log_with_an_added_event_field_and_column(
    earlier: Path, fresh_database_url: str
) -> None:
    """An upgrade, and a rollback by one release: either goes on after the other."""
    with psycopg.connect(fresh_database_url, autocommit=True) as connection:
        for table in ("event", "workload", "stream_version", "partition", "object"):
            connection.execute(f"ALTER TABLE {table} ADD COLUMN later text DEFAULT 'x'")
    ignorable = EventIgnored(
        name="palette.mixed", schema_version=1, body=b'{"ignorable":true,"tint":"blue"}'
    )
    widened = EventIgnored(
        name="workload.pods_ready",
        schema_version=9,
        body=b'{"readable_since":1,"recovered":false,"tint":"blue"}',
    )
    with on_postgres(fresh_database_url) as adapters:
        record(adapters.log, *cluster("gpu"), *submitted_many("gpu", 2))
        Worker(adapters).sweep()
        Worker(adapters).sweep()
        assert len(admitted(adapters.log)) == 2
        first = adapters.log.append([unit(NewEvent(stream="palette/blue", event=ignorable))])
        stream = "workload/team/job-gpu-0"
        version = len(list(adapters.log.read_stream(stream)))
        widening = unit(NewEvent(stream=stream, event=widened), expected={stream: version})
        assert all(
            isinstance(verdict, Appended) for verdict in (*first, *adapters.log.append([widening]))
        )
        record(adapters.log, submitted("between", "gpu"))

        rolled_back = decide(earlier, fresh_database_url)

        assert rolled_back.returncode == 0, rolled_back.stderr[-2000:]
        assert rolled_back.stdout.strip() == str(earlier / "backend" / "headgate")
        assert "team/between" in admitted(adapters.log)
        record(adapters.log, submitted("after", "gpu"))
        Worker(adapters, "upgraded").sweep()
        assert len(admitted(adapters.log)) == 4


@pytest.mark.nightly
def test_both_decide_at_the_same_time_under_load(
    earlier: Path, fresh_database_url: str, tmp_path: Path
) -> None:
    """While workloads, added events and wider ones come, each has partitions to decide on."""
    queues = ("a", "b", "c", "d")
    with psycopg.connect(fresh_database_url, autocommit=True) as connection:
        for table in ("event", "workload", "stream_version", "partition", "object"):
            connection.execute(f"ALTER TABLE {table} ADD COLUMN later text DEFAULT 'x'")
    added = EventIgnored(name="palette.mixed", schema_version=1, body=b'{"ignorable":true}')
    with on_postgres(fresh_database_url) as adapters:
        record(adapters.log, *cluster(*queues))
        worker, decided = Worker(adapters, "upgraded"), 0
        with deciding(earlier, fresh_database_url, tmp_path / "over") as other:
            assert other.stdout is not None
            assert other.stdout.readline().strip() == str(earlier / "backend" / "headgate")
            for number in range(ROUNDS):
                for queue in queues:
                    record(adapters.log, submitted(f"job-{number}-{queue}", queue))
                palette = NewEvent(stream=f"palette/{number}", event=added)
                assert isinstance(adapters.log.append([unit(palette)])[0], Appended)
                decided += worker.sweep()
            wait_until(
                lambda: len(admitted(adapters.log)) == ROUNDS * len(queues), "all is decided"
            )
            (tmp_path / "over").touch()
            by_earlier = int(other.stdout.readline())
        assert other.returncode == 0
        assert decided > 0
        assert by_earlier > 0
        admissions = Counter(
            recorded.stream
            for recorded in adapters.log.read_all()
            if isinstance(recorded.event, WorkloadAdmitted)
        )
        assert set(admissions.values()) == {1}


@pytest.mark.nightly
def test_the_earlier_one_lists_and_loads_workloads_that_have_ended(
    earlier: Path, fresh_database_url: str
) -> None:
    """Their rows stand in a table that it does not know, and in `workload` as before."""
    with on_postgres(fresh_database_url) as adapters:
        record(adapters.log, *cluster("gpu"), submitted("waits", "gpu"), submitted("ended", "gpu"))
        record(adapters.log, ("workload/team/ended", WorkloadFinished(reason="Succeeded")))

        listed = run(earlier, LIST, fresh_database_url)

    assert listed.returncode == 0, listed.stderr[-2000:]
    both = "ended:2 waits:1"
    assert listed.stdout.splitlines() == [both, "waits:1", "ended:2", both]


def test_an_event_that_matters_makes_it_wait_with_the_reason(
    earlier: Path, fresh_database_url: str
) -> None:
    event = EventIgnored(name="workload.tinted", schema_version=1, body=b'{"tint":"blue"}')
    with on_postgres(fresh_database_url) as adapters:
        record(adapters.log, *cluster("gpu"), submitted("job", "gpu"))
        adapters.log.append([unit(NewEvent(stream="workload/team/other", event=event))])

        waiting = decide(earlier, fresh_database_url)

    assert waiting.returncode != 0
    assert "ReleaseTooOld: the event workload.tinted" in waiting.stderr


def test_a_release_that_reads_no_compressed_bodies_is_told_why(
    fresh_database_url: str, tmp_path: Path
) -> None:
    """A rollback by such a release is refused before any of its processes starts."""
    before = programs_of(PLAIN, tmp_path)

    refused = run(before, MIGRATE, fresh_database_url)

    assert refused.returncode != 0
    assert f"has the schema {newest_revision(fresh_database_url)} of a later" in refused.stderr
    with (
        psycopg.connect(fresh_database_url) as connection,
        pytest.raises(psycopg.OperationalError, match="too old for the database"),
    ):
        connection.execute("SELECT log_append('[]'::jsonb, ''::bytea, '[]'::jsonb)")
