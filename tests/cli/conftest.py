"""A Headgate as users meet it: the API as a process of its own, and a scheduler that decides."""

import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from headgate.application.scheduling_loop.run_partition import idle_seconds, sweep
from headgate.bootstrap import open_platform
from headgate.client.client import HeadgateClient
from headgate.client.connection import Connection
from headgate.settings import Settings
from tests.cli.invocation import Invoker

SECRET = "an-admin-token-for-tests"


@pytest.fixture(scope="module")
def connection(database_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Connection]:
    """A served and scheduled Headgate of this module's own."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    home = tmp_path_factory.mktemp("home")
    settings = Settings(database_url=database_url, broker_url="memory://")
    server = _serve(database_url, port, home)
    stopping = threading.Event()
    scheduler = threading.Thread(target=_schedule, args=(settings, stopping))
    scheduler.start()
    try:
        found = Connection(url=f"http://127.0.0.1:{port}", token=SECRET, source="test")
        _wait_until_ready(found, server)
        yield found
    finally:
        stopping.set()
        scheduler.join(timeout=20)
        server.terminate()
        server.wait(timeout=20)


@pytest.fixture(scope="module")
def client(connection: Connection) -> Iterator[HeadgateClient]:
    with HeadgateClient(connection) as found:
        yield found


@pytest.fixture
def headgate(connection: Connection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Invoker:
    """Runs commands against the server of this module, with nothing else around."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("HEADGATE_URL", connection.url)
    monkeypatch.setenv("HEADGATE_TOKEN", connection.token)
    return Invoker()


def _serve(database_url: str, port: int, home: Path) -> "subprocess.Popen[bytes]":
    environment = {
        **os.environ,
        "HEADGATE_DATABASE_URL": database_url,
        "HEADGATE_BROKER_URL": "memory://",
        "HEADGATE_ADMIN_TOKEN": SECRET,
        "HEADGATE_UI_DIRECTORY": str(home),
    }
    command = (
        sys.executable, "-m", "granian", "--interface", "asgi", "--factory", "--no-ws",
        "--host", "127.0.0.1", "--port", str(port), "--workers", "1", "--workers-kill-timeout", "2",
        "--log-level", "warning",
        "headgate.api.app:create_app",
    )  # fmt: skip
    return subprocess.Popen(command, env=environment, cwd=home)


def _schedule(settings: Settings, stopping: threading.Event) -> None:
    platform = open_platform(settings, name="test-worker")
    failures: list[str] = []
    scheduler = platform.scheduler(lambda name, error: failures.append(f"{name}: {error}"))
    while not stopping.is_set():
        swept = sweep(scheduler, frozenset(), stopping.is_set)
        if not swept.has_more:
            stopping.wait(min(idle_seconds(scheduler), 0.05))
    platform.close()
    assert not failures


def _wait_until_ready(connection: Connection, server: "subprocess.Popen[bytes]") -> None:
    with httpx.Client(base_url=connection.url) as asking:
        while server.poll() is None:
            try:
                if asking.get("/readyz").status_code == httpx.codes.OK:
                    return
            except httpx.TransportError:
                pass
            threading.Event().wait(0.05)
    raise AssertionError("the API ended before it was ready")
