"""A Headgate as users meet it: the API behind a real server, and a scheduler that decides."""

import asyncio
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from granian.constants import Interfaces
from granian.server.embed import Server
from litestar import Litestar

from headgate.api.app import application_services, connect
from headgate.application.run_partition import sweep
from headgate.bootstrap import open_platform
from headgate.client.client import HeadgateClient
from headgate.client.transport import Connection
from headgate.settings import Settings
from tests.api.serving import shared_application
from tests.cli.invocation import Invoker

SECRET = "an-admin-token-for-tests"


@pytest.fixture(scope="module")
def connection(database_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Connection]:
    """A served and scheduled Headgate of this module's own."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    settings = Settings(
        database_url=database_url,
        broker_url="memory://",
        admin_token=SECRET,
        ui_directory=tmp_path_factory.mktemp("home"),
        pod_logs=str(tmp_path_factory.mktemp("pod-logs")),
    )
    stopping = threading.Event()
    scheduler = threading.Thread(target=_schedule, args=(settings, stopping))
    scheduler.start()
    try:
        with _served(shared_application(), settings, port):
            yield Connection(url=f"http://127.0.0.1:{port}", token=SECRET, source="test")
    finally:
        stopping.set()
        scheduler.join(timeout=180)


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


@contextmanager
def _served(app: Litestar, settings: Settings, port: int) -> Iterator[None]:
    """The server of production in a thread: a process would import everything for each module."""
    platform = open_platform(settings, name="test-api")
    connect(app, application_services(platform), platform.close)
    server = Server(
        app, port=port, interface=Interfaces.ASGINL, websockets=False, log_enabled=False
    )
    loop, stopping = asyncio.new_event_loop(), asyncio.Event()
    serving = _serve(app, server, stopping)
    thread = threading.Thread(target=loop.run_until_complete, args=(serving,))
    thread.start()
    try:
        _wait_until_ready(f"http://127.0.0.1:{port}", thread)
        yield
    finally:
        loop.call_soon_threadsafe(stopping.set)
        thread.join(timeout=180)
        loop.close()


async def _serve(app: Litestar, server: Server, stopping: asyncio.Event) -> None:
    """The application ends before the server: it ends its streams, for which the server waits."""
    async with app.lifespan():
        serving = asyncio.create_task(server.serve())
        await stopping.wait()
    server.stop()  # type: ignore[no-untyped-call] # as granian tells no types
    await serving


def _schedule(settings: Settings, stopping: threading.Event) -> None:
    platform = open_platform(settings, name="test-worker")
    failures: list[str] = []
    scheduler = platform.scheduler(lambda name, error: failures.append(f"{name}: {error}"))
    while not stopping.is_set():
        swept = sweep(scheduler, frozenset(), stopping.is_set)
        stopping.wait(min(swept.idle_seconds, 0.05))
    platform.close()
    assert not failures


def _wait_until_ready(url: str, server: threading.Thread) -> None:
    with httpx.Client(base_url=url) as asking:
        while server.is_alive():
            try:
                if asking.get("/readyz").status_code == httpx.codes.OK:
                    return
            except httpx.TransportError:
                pass
            threading.Event().wait(0.05)
    raise AssertionError("the API ended before it was ready")
