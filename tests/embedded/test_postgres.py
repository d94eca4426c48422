"""The embedded Postgres is made once, found again, and starts over what a crash left behind."""

import os
import signal
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import psutil
import psycopg
import pytest

from headgate.embedded.servers import PostgresFailed, start_postgres
from tests.conftest import FOR_TESTS
from tests.directories import run_directory

_numbers = count(1)


@pytest.fixture
def directory() -> Iterator[Path]:
    """A directory that the server can use under any user; pytest's own are private."""
    place = run_directory() / f"own-{os.getpid()}-{next(_numbers)}"
    place.mkdir(mode=0o711)
    yield place
    if (place / "data" / "postmaster.pid").exists():
        start_postgres(place, FOR_TESTS).stop()


def postmaster_of(directory: Path) -> int:
    return int((directory / "data" / "postmaster.pid").read_text().splitlines()[0])


def count_of(url: str) -> int:
    with psycopg.connect(url) as connection:
        row = connection.execute("SELECT count(*) FROM kept").fetchone()
    assert row is not None
    return int(row[0])


def test_a_server_that_runs_is_found_again(directory: Path) -> None:
    first = start_postgres(directory, FOR_TESTS)
    number = postmaster_of(directory)

    again = start_postgres(directory, FOR_TESTS)

    assert (again.url, postmaster_of(directory)) == (first.url, number)


def test_data_outlive_a_stop(directory: Path) -> None:
    server = start_postgres(directory, FOR_TESTS)
    with psycopg.connect(server.url) as connection:
        connection.execute("CREATE TABLE kept AS SELECT 1")
    server.stop()
    server.stop()

    assert count_of(start_postgres(directory, FOR_TESTS).url) == 1


def test_it_starts_over_what_a_kill_left_behind(directory: Path) -> None:
    server = start_postgres(directory, FOR_TESTS)
    with psycopg.connect(server.url) as connection:
        connection.execute("CREATE TABLE kept AS SELECT 1")
    os.kill(postmaster_of(directory), signal.SIGKILL)

    assert count_of(start_postgres(directory, FOR_TESTS).url) == 1


def test_a_stale_pid_file_with_a_reused_process_id_is_ignored(directory: Path) -> None:
    start_postgres(directory, FOR_TESTS).stop()
    others = [str(os.getpid()), str(directory / "data"), "0", "5432", "", "", "0 0", "ready"]
    (directory / "data" / "postmaster.pid").write_text("\n".join(others))

    server = start_postgres(directory, FOR_TESTS)

    assert psutil.Process(postmaster_of(directory)).name() == "postgres"
    server.stop()


def test_it_listens_on_no_network(directory: Path) -> None:
    server = start_postgres(directory, FOR_TESTS)
    with psycopg.connect(server.url) as connection:
        addresses = connection.execute("SHOW listen_addresses").fetchone()
        most = connection.execute("SHOW max_connections").fetchone()

    assert (addresses, most) == (("",), ("200",))
    assert server.socket_directory.stat().st_mode & 0o077 == 0


def test_a_long_path_does_not_keep_it_from_listening(directory: Path) -> None:
    deep = directory / ("d" * 100)

    server = start_postgres(deep, FOR_TESTS)

    with psycopg.connect(server.url) as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)
    server.stop()


def test_it_says_why_it_does_not_start(directory: Path) -> None:
    with pytest.raises(PostgresFailed, match="max_connections"):
        start_postgres(directory, {**FOR_TESTS, "max_connections": "many"})
