"""Databases for tests: one server a run, shared by all its processes, and fresh databases in it."""

import fcntl
import gc
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import psutil
import psycopg
import pytest

from headgate.adapters.postgres.maintenance import migrate
from headgate.embedded.servers import EmbeddedPostgres, start_postgres
from tests.directories import RUN_VARIABLE, databases_root, run_directory
from tests.hypothesis_profiles import is_full_depth, load_profile
from tests.parallel_run import OPTION, add_option, long_files_first, run_in_processes

PREFIX = "hg-"
TEMPLATE = "headgate_template"
NIGHTLY = "nightly"
# A test's database need not outlive the machine; everything else is as in production.
FOR_TESTS = {"fsync": "off", "full_page_writes": "off", "shared_buffers": "64MB"}
COLLECT_AFTER = (50_000, 20, 100)
"""When garbage is collected: by Python's own thresholds, syntax trees are walked over and over."""
_numbers = count(1)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Tests may run in several processes."""
    add_option(parser)


def pytest_configure() -> None:
    """A run has a directory of its own, which all its processes share."""
    load_profile()
    # Imports of tests leave little garbage: looking for it is a third of their time.
    gc.disable()
    _remove_leftovers()
    directory = databases_root() / f"{PREFIX}{os.getpid()}"
    directory.mkdir(mode=0o711)
    os.environ[RUN_VARIABLE] = str(directory)


def pytest_unconfigure() -> None:
    """End the server of the run, if any test has asked for one."""
    _remove(Path(os.environ.pop(RUN_VARIABLE)))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what only the nightly run has time for, and begin with what takes long."""
    left_out = [] if is_full_depth() else [i for i in items if i.get_closest_marker(NIGHTLY)]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if not item.get_closest_marker(NIGHTLY)]
    long_files_first(items)


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    """Collect garbage again, and never look at what importing all tests has made."""
    gc.freeze()
    gc.set_threshold(*COLLECT_AFTER)
    gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    """Share the tests out among processes, if the run is to have more than this one."""
    count: int = session.config.getoption(OPTION)
    if not count or session.config.option.collectonly or session.testsfailed:
        return None
    run_in_processes(session, count)
    return True


@pytest.fixture(scope="session")
def postgres_server() -> EmbeddedPostgres:
    """The server of this run, with a migrated template database in it."""
    directory = run_directory()
    with _only_one(directory):
        server = start_postgres(directory / "pg", FOR_TESTS)
        if not (directory / "migrated").exists():
            _create(server, TEMPLATE, template="template0")
            migrate(server.url_of(TEMPLATE))
            (directory / "migrated").touch()
    return server


@pytest.fixture(scope="module")
def database_url(postgres_server: EmbeddedPostgres) -> Iterator[str]:
    """A migrated database of this module's own."""
    with new_database(postgres_server) as url:
        yield url


@pytest.fixture
def fresh_database_url(postgres_server: EmbeddedPostgres) -> Iterator[str]:
    """A migrated database of this test's own."""
    with new_database(postgres_server) as url:
        yield url


@contextmanager
def new_database(server: EmbeddedPostgres, template: str = TEMPLATE) -> Iterator[str]:
    """A copy of a template database for the while."""
    name = f"test_{os.getpid()}_{next(_numbers)}"
    with _only_one(run_directory()):
        _create(server, name, template)
    yield server.url_of(name)
    with _administer(server) as connection:
        connection.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


def _create(server: EmbeddedPostgres, name: str, template: str) -> None:
    with _administer(server) as connection:
        connection.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')
        connection.execute(f'CREATE DATABASE "{name}" TEMPLATE "{template}" STRATEGY FILE_COPY')


def _administer(server: EmbeddedPostgres) -> "psycopg.Connection[tuple[object, ...]]":
    return psycopg.connect(server.url_of("postgres"), autocommit=True)


@contextmanager
def _only_one(directory: Path) -> Iterator[None]:
    with (directory / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _remove_leftovers() -> None:
    """Runs that were killed leave their server behind; it names the process that is no more."""
    for directory in databases_root().glob(f"{PREFIX}*"):
        number = directory.name.removeprefix(PREFIX)
        if number.isdigit() and not psutil.pid_exists(int(number)):
            _remove(directory)


def _remove(directory: Path) -> None:
    if (directory / "pg" / "data" / "postmaster.pid").exists():
        start_postgres(directory / "pg", FOR_TESTS).stop()
    shutil.rmtree(directory, ignore_errors=True)
