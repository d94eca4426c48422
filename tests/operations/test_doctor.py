"""`headgate doctor`: what it finds, and what it says to do about it."""

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from packaging.requirements import Requirement
from typer.testing import CliRunner

from headgate.cli.main import app
from headgate.cli.operations.doctor import (
    installation_findings,
    machine_findings,
    missing_packages,
    python,
    server,
)
from headgate.cli.operations.findings import Finding
from headgate.settings import Settings
from tests.contracts.adapters import Adapters, on_postgres
from tests.processes.programs import Broker, Workers, running_broker, wait_until


@pytest.fixture
def adapters(fresh_database_url: str) -> Iterator[Adapters]:
    with on_postgres(fresh_database_url) as found:
        yield found


def by_name(findings: list[Finding]) -> dict[str, Finding]:
    return {finding.name: finding for finding in findings}


def of(url: str, broker_url: str = "") -> dict[str, Finding]:
    return by_name(installation_findings(Settings(database_url=url, broker_url=broker_url)))


def test_a_package_that_this_python_does_not_need_is_not_missing() -> None:
    requirements = [
        Requirement("msgspec>=0.22"),
        Requirement("absent-in-base"),
        Requirement("absent-in-old; python_full_version < '3.8'"),
        Requirement("absent-in-server; extra == 'server'"),
        Requirement("absent-in-both; python_version >= '3' and extra == 'server'"),
        Requirement("absent-elsewhere; python_full_version < '3.8' and extra == 'server'"),
    ]
    assert missing_packages(requirements, "") == ["absent-in-base"]
    assert missing_packages(requirements, "server") == ["absent-in-both", "absent-in-server"]
    assert missing_packages(requirements, "agent") == []


def test_every_line_that_is_not_well_says_what_to_do(fresh_database_url: str) -> None:
    settings = Settings(database_url=fresh_database_url)
    found = [
        *machine_findings(settings, "http://127.0.0.1:1"),
        *installation_findings(settings),
    ]
    assert all(finding.remedy for finding in found if finding.level != "ok")


def test_a_healthy_database_without_workers_fails_for_want_of_them(fresh_database_url: str) -> None:
    found = of(fresh_database_url)
    assert found["schema"].level == found["log"].level == found["clock"].level == "ok"
    assert (found["workers"].level, found["broker"].level) == ("fail", "warn")


def test_workers_and_broker_that_are_there_are_seen(
    fresh_database_url: str, tmp_path: Path
) -> None:
    workers = Workers(fresh_database_url, tmp_path)
    try:
        with running_broker(tmp_path / "broker") as broker:
            workers.start(broker.url)
            wait_until(lambda: of(fresh_database_url)["workers"].level == "ok", "it is seen")
            assert of(fresh_database_url, broker.url)["broker"].level == "ok"
            assert of(fresh_database_url, Broker(tmp_path / "none").url)["broker"].level == "warn"
    finally:
        workers.end()


def test_a_partition_that_was_quarantined_is_named_with_its_reason(
    adapters: Adapters, fresh_database_url: str
) -> None:
    adapters.partitions.halt("installation", position=3, failure="KeyError: x", retry_at=1)
    found = of(fresh_database_url)["partitions"]
    assert found.level == "fail"
    assert "installation is quarantined at position 3: KeyError: x" in found.text


def test_a_log_that_could_be_changed_is_a_failure(fresh_database_url: str) -> None:
    with psycopg.connect(fresh_database_url, autocommit=True) as connection:
        connection.execute("ALTER TABLE event_0 DISABLE TRIGGER append_only")
    assert of(fresh_database_url)["log"].level == "fail"


def test_an_old_schema_is_a_failure_with_its_remedy(fresh_database_url: str) -> None:
    with psycopg.connect(fresh_database_url, autocommit=True) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '0000'")
    found = of(fresh_database_url)["schema"]
    assert found.level == "fail"
    assert "headgate migrate" in found.remedy


def test_a_database_that_is_away_is_a_failure(tmp_path: Path) -> None:
    found = of(f"postgresql://nobody@/none?host={tmp_path}")
    assert found["database"].level == "fail"


def test_old_versions_are_refused() -> None:
    assert python((3, 10, 9)).level == "fail"
    assert python((3, 11, 0)).level == "ok"
    assert server("14.9").level == "fail"
    assert server("15.2").level == "ok"


def test_the_exit_code_tells_whether_anything_failed(
    fresh_database_url: str, tmp_path: Path
) -> None:
    environment = {"HEADGATE_DIRECTORY": str(tmp_path), "HEADGATE_DATABASE_URL": fresh_database_url}
    result = CliRunner().invoke(app, ["doctor"], env=environment)
    assert result.exit_code == 1
    assert "FAIL  workers" in result.stdout
