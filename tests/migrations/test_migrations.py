"""The migrations make the declared tables, from anywhere and any number of times."""

import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psycopg
import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import NullPool, create_engine

from headgate.adapters.postgres.maintenance import alembic_config, migrate, migrations_directory
from headgate.embedded.servers import EmbeddedPostgres
from tests.conftest import new_database
from tests.migrations.tables import METADATA, is_ours

OURS = """
    SELECT relname FROM pg_class
    WHERE relnamespace = 'public'::regnamespace AND relname <> 'alembic_version'
    AND relname <> 'alembic_version_pkc'
    UNION ALL SELECT proname FROM pg_proc WHERE pronamespace = 'public'::regnamespace
"""


@pytest.fixture
def empty_url(postgres_server: EmbeddedPostgres) -> Iterator[str]:
    with new_database(postgres_server, "template0") as url:
        yield url


def test_the_tables_are_those_that_are_declared(fresh_database_url: str) -> None:
    engine = create_engine(fresh_database_url, poolclass=NullPool)
    with engine.connect() as connection:
        context = MigrationContext.configure(
            connection, opts={"include_name": is_ours, "compare_type": True}
        )
        drift = compare_metadata(context, METADATA)
    engine.dispose()

    assert drift == []


def test_drift_would_be_seen(fresh_database_url: str) -> None:
    with psycopg.connect(fresh_database_url, autocommit=True) as connection:
        connection.execute("ALTER TABLE workload DROP COLUMN priority")
        connection.execute("DROP INDEX event_type")

    with pytest.raises(AssertionError):
        test_the_tables_are_those_that_are_declared(fresh_database_url)


def test_migrating_again_changes_nothing(fresh_database_url: str) -> None:
    with psycopg.connect(fresh_database_url, autocommit=True) as connection:
        before = connection.execute("SELECT log_id FROM log_head").fetchone()
        migrate(fresh_database_url)

        assert connection.execute("SELECT log_id FROM log_head").fetchone() == before


def test_several_processes_may_migrate_at_once(empty_url: str) -> None:
    with ThreadPoolExecutor(1) as other:
        second = other.submit(_migrate_in_another_process, empty_url)
        _migrate_in_another_process(empty_url)
        second.result()

    with psycopg.connect(empty_url) as connection:
        assert connection.execute("SELECT count(*) FROM log_head").fetchone() == (1,)


def test_what_was_made_can_be_unmade(empty_url: str) -> None:
    migrate(empty_url)
    command.downgrade(alembic_config(empty_url), "base")

    with psycopg.connect(empty_url) as connection:
        assert connection.execute(OURS).fetchall() == []


def test_the_migrations_are_found_in_an_installed_package(
    empty_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "headgate_migrations"
    package.symlink_to(migrations_directory(), target_is_directory=True)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr("headgate.adapters.postgres.maintenance.REPOSITORY", tmp_path / "nowhere")

    assert migrations_directory() == package
    migrate(empty_url)


def _migrate_in_another_process(url: str) -> None:
    program = f"from headgate.adapters.postgres.maintenance import migrate; migrate({url!r})"
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)
