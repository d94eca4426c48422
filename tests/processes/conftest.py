"""What every test of real processes starts from."""

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.contracts.adapters import Adapters, on_postgres
from tests.directories import run_directory
from tests.processes.programs import Broker, Workers, running_broker


@pytest.fixture
def adapters(fresh_database_url: str) -> Iterator[Adapters]:
    """The test's own view of the installation its workers work for."""
    with on_postgres(fresh_database_url) as found:
        yield found


@pytest.fixture
def open_directory() -> Iterator[Path]:
    """A directory the user of Postgres can get to, unlike pytest's own when root runs it."""
    with TemporaryDirectory(prefix="hgw-", dir=run_directory()) as name:
        directory = Path(name)
        directory.chmod(0o755)
        yield directory


@pytest.fixture
def workers(fresh_database_url: str, tmp_path: Path) -> Iterator[Workers]:
    """Starts workers; none outlives the test."""
    started = Workers(fresh_database_url, tmp_path)
    yield started
    started.end()


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Broker]:
    """A broker of the test's own."""
    with running_broker(tmp_path / "broker") as found:
        yield found
