"""Every command of the runbook on backups and failovers, run on a backup that was restored."""

import re
from collections.abc import Iterator

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from headgate.embedded.servers import EmbeddedPostgres
from tests.architecture.sources import ROOT
from tests.cli.invocation import Invoker
from tests.conftest import new_database
from tests.contracts.adapters import on_postgres
from tests.workers.cluster import cluster, record, submitted_many
from tests.workers.scheduler_runs import Worker

RUNBOOK = ROOT / "docs" / "operations" / "failover.md"
COMMAND = re.compile(r"^headgate ([^#\n]+?) +# (.+)$", re.MULTILINE)
BACKUP, CHECK, COPY = "## Back up", "## Check", "## Copy a database for another installation"


def commands(heading: str) -> list[tuple[list[str], str]]:
    """The commands of a section with what it says that each prints."""
    text = RUNBOOK.read_text()
    section = text[text.index(heading) :].split("\n## ")[0]
    return [(words.split(), told) for words, told in COMMAND.findall(section)]


@pytest.fixture
def restored(fresh_database_url: str, postgres_server: EmbeddedPostgres) -> Iterator[str]:
    """A database restored from a backup of one in which workloads were admitted."""
    with on_postgres(fresh_database_url) as adapters:
        record(adapters.log, *cluster("gpu"), *submitted_many("gpu", 3))
        worker = Worker(adapters)
        worker.sweep()
        worker.sweep()
    name = str(conninfo_to_dict(fresh_database_url)["dbname"])
    with new_database(postgres_server, name) as url:
        yield url


def identity_of(url: str) -> str:
    with psycopg.connect(url) as connection:
        row = connection.execute("SELECT log_id::text FROM log_head").fetchone()
    assert row is not None
    return str(row[0])


def test_the_checks_of_the_runbook_hold_on_a_restored_backup(restored: str) -> None:
    found = commands(CHECK)
    assert [words for words, _ in found] == [["verify", "--chain"], ["verify"]]
    invoke = Invoker()
    for words, told in found:
        answer = invoke(*words, "--database-url", restored)
        expected = re.sub(r"\bN\b", r"\\d+", re.escape(told))
        assert re.search(expected, answer.output), (words, told, answer.output)


def test_a_copy_gets_another_identity_and_its_chain_goes_on(
    restored: str, fresh_database_url: str
) -> None:
    (command,) = commands(COPY)
    words, _ = command
    before = identity_of(restored)
    assert before == identity_of(fresh_database_url)
    invoke = Invoker()
    assert invoke("log", "identity", "--database-url", restored).output.strip() == before

    renewed = invoke(*words, "--database-url", restored).output.strip()

    assert renewed == identity_of(restored) != before
    with on_postgres(restored) as adapters:
        record(adapters.log, *submitted_many("gpu", 1, prefix="later"))
    assert "chain ok 1.." in invoke("verify", "--chain", "--database-url", restored).output
    assert identity_of(fresh_database_url) == before


def test_a_log_that_processes_use_keeps_its_identity(fresh_database_url: str) -> None:
    before = identity_of(fresh_database_url)
    with psycopg.connect(fresh_database_url, application_name="headgate-api 1"):
        refused = Invoker()(
            "log", "identity", "--new", "--database-url", fresh_database_url, code=1
        )

    assert "headgate-api 1" in refused.output
    assert identity_of(fresh_database_url) == before


def test_the_section_on_backups_names_what_a_backup_needs() -> None:
    """The runbook and `headgate log save --help` speak of one option."""
    text = RUNBOOK.read_text()
    assert "--take-away" in text[text.index(BACKUP) :]
    assert "--take-away" in Invoker()("log", "--help").output
