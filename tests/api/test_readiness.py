"""`/readyz`, alerts and metrics say that no worker decides, and that writes fail."""

import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest

from headgate.adapters.postgres.maintenance import PostgresProbe
from headgate.application.application_services import ApplicationServices
from headgate.application.ports import PartitionRow
from headgate.application.readiness import STALLED_SECONDS, StalledPartitions
from headgate.bootstrap import Platform
from headgate.embedded import servers
from tests.api.callers import Api, open_queue, workload
from tests.directories import run_directory

HERE = "/v1/namespaces/team-a/workloads"


@pytest.fixture
def services(admin: Api) -> ApplicationServices:
    found: ApplicationServices = admin.client.app.state.services
    return found


@pytest.fixture
def later(services: ApplicationServices, monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Let the watch take it for later by as long as makes a partition stalled.

    What the watch remembers of those instants is forgotten with them.
    """
    watch, skipped = services.readiness, [0.0]
    usual = watch._elapsed  # noqa: SLF001

    def skip() -> None:
        skipped[0] += STALLED_SECONDS

    monkeypatch.setattr(watch, "_elapsed", lambda: usual() + skipped[0])
    monkeypatch.setattr(watch, "_probed_at", watch._probed_at)  # noqa: SLF001
    monkeypatch.setattr(watch, "_stalled", StalledPartitions())
    return skip


def _row(idle: int, epoch: int, last: int = 9, next_due: int | None = None) -> PartitionRow:
    return PartitionRow(
        key="p", last_position=last, idle_position=idle, guard=0, epoch=epoch, next_due=next_due
    )


def test_a_partition_is_stalled_from_its_last_committed_plan_on() -> None:
    stalled = StalledPartitions()
    assert stalled.look([_row(5, 1)], 0, 100.0) == {"p": 0.0}
    assert stalled.look([_row(5, 1)], 0, 140.0) == {"p": 40.0}
    assert stalled.look([_row(5, 2)], 0, 150.0) == {"p": 0.0}
    assert stalled.look([_row(9, 3)], 0, 160.0) == {}
    assert stalled.look([_row(9, 3, next_due=7)], 6, 170.0) == {}
    assert stalled.look([_row(9, 3, next_due=7)], 7, 180.0) == {"p": 0.0}


def _findings(admin: Api) -> dict[str, int]:
    text = admin.get("/metrics").text
    found = re.findall(r'^headgate_findings\{kind="(\w+)"\} (\d+)', text, re.MULTILINE)
    return {kind: int(count) for kind, count in found}


def test_a_process_says_that_no_worker_decides(
    admin: Api, schedule: Callable[[], int], later: Callable[[], None]
) -> None:
    open_queue(admin, "main")
    schedule()
    assert admin.post(HERE, workload("undecided")).status_code == 201
    assert admin.get("/readyz").json()["status"] == "ok"
    later()
    ready = admin.get("/readyz")
    assert (ready.status_code, ready.json()["status"]) == (200, "degraded")
    assert ready.json()["code"] == "SchedulingStalled"
    assert re.match(r"1 of \d+ partitions: work not evaluated for 30", ready.json()["detail"])
    assert admin.get("/v1/overview").json()["attention"][0]["kind"] == "SchedulingStalled"
    assert _findings(admin)["SchedulingStalled"] == 1
    schedule()
    later()
    assert admin.get("/readyz").json()["status"] == "ok"
    assert _findings(admin)["SchedulingStalled"] == 0


@pytest.fixture
def read_only(database_url: str) -> Iterator[Callable[[], None]]:
    """Let the database refuse writes in all sessions, as one does that was demoted; undone last."""
    name = psycopg.conninfo.conninfo_to_dict(database_url)["dbname"]

    def refuse(how: str) -> None:
        with psycopg.connect(database_url, autocommit=True) as connection:
            connection.execute("SET default_transaction_read_only = off")
            connection.execute(f'ALTER DATABASE "{name}" {how}'.encode())
            connection.execute(
                "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity "
                "WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )

    yield lambda: refuse("SET default_transaction_read_only = on")
    refuse("RESET default_transaction_read_only")


@pytest.mark.usefixtures("client")
def test_a_process_says_that_writes_fail(admin: Api, read_only: Callable[[], None]) -> None:
    read_only()
    assert admin.post(HERE, workload("unwritten")).status_code == 503
    ready = admin.get("/readyz")
    assert (ready.status_code, ready.json()["status"]) == (503, "unavailable")
    assert ready.json()["code"] == "WritesFail"
    assert "read-only" in ready.json()["detail"]
    shown = admin.get("/v1/overview").json()["attention"][0]
    assert (shown["kind"], shown["severity"]) == ("WritesFail", "critical")
    assert _findings(admin)["WritesFail"] == 1


def test_a_process_without_writes_finds_out_by_itself(
    admin: Api, read_only: Callable[[], None], later: Callable[[], None]
) -> None:
    assert admin.get("/readyz").status_code == 200
    read_only()
    later()
    assert admin.get("/readyz").json()["code"] == "WritesFail"


def test_writes_are_taken_for_good_as_soon_as_one_succeeds(admin: Api) -> None:
    assert admin.get("/readyz").json() == {
        "status": "ok",
        "detail": "",
        "code": "",
        "position": admin.get("/readyz").json()["position"],
    }


@pytest.fixture
def small_disk(platform: Platform) -> Iterator[Path]:
    """A disk of 2 MB that holds the table of the probe."""
    directory = run_directory() / "small-disk"
    directory.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(directory)]
    if shutil.which("mount") is None or subprocess.run(mount, check=False).returncode:
        directory.rmdir()
        pytest.skip("a disk of its own cannot be mounted here")
    try:
        servers._hand_over(directory)  # noqa: SLF001 - as every directory of a server
        with platform.pool.connection() as connection:
            connection.execute(f"CREATE TABLESPACE small_disk LOCATION '{directory}'")
            connection.execute("ALTER TABLE write_probe SET TABLESPACE small_disk")
        yield directory
        with platform.pool.connection() as connection:
            connection.execute("ALTER TABLE write_probe SET TABLESPACE pg_default")
            connection.execute("DROP TABLESPACE small_disk")
    finally:
        subprocess.run(["umount", "--lazy", str(directory)], check=True)
        directory.rmdir()


def _fill(path: Path) -> None:
    with path.open("wb", buffering=0) as file:
        while True:
            file.write(bytes(4096))


def test_a_full_disk_is_told_until_there_is_room(platform: Platform, small_disk: Path) -> None:
    probe: PostgresProbe = platform.probe
    assert probe.write() is None
    filler = small_disk / "filler"
    with pytest.raises(OSError, match="No space"):
        _fill(filler)
    assert [probe.write(), probe.write()] == ["DiskFull", "DiskFull"]
    filler.unlink()
    assert probe.write() is None
