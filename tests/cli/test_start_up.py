"""What a command imports before it asks the server, and how soon it says that none runs."""

import socket
import subprocess
import sys
from pathlib import Path

import httpx
import msgspec
import pytest
from typer.testing import CliRunner

from headgate.cli.main import app
from headgate.client import transport
from headgate.client.client import HeadgateClient
from headgate.client.contexts import find_connection
from headgate.client.transport import Connection, ServerUnreachable
from headgate.settings import from_environment
from tests.cli.invocation import Invoker

NOT_NEEDED = (
    "pydantic", "rich", "pygments", "click", "yaml", "rapidfuzz", "numpy", "sqlalchemy",
    "litestar", "celery", "psycopg", "structlog", "headgate.domain.kinds.registry",
    "headgate.bootstrap", "importlib.metadata", "pathspec", "tarfile",
)  # fmt: skip
"""What takes long to import and no list of workloads needs."""

HERE = Connection(url="http://127.0.0.1:9", token="", source="test")


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The pauses between attempts, on a clock that they alone move."""
    taken: list[float] = []
    monkeypatch.setattr(transport, "pause", taken.append)
    monkeypatch.setattr(transport, "elapsed_seconds", lambda: sum(taken))
    return taken


def answering(*found: int | None) -> httpx.MockTransport:
    """A server with these statuses in order; None and whatever follows is refused."""
    left = list(found)

    def handle(request: httpx.Request) -> httpx.Response:
        status = left.pop(0) if left else None
        if status is None:
            raise httpx.ConnectError("Connection refused", request=request)
        return httpx.Response(status, json={})

    return httpx.MockTransport(handle)


def test_listing_workloads_imports_no_more_than_it_needs(connection: Connection) -> None:
    program = (
        "import sys\n"
        "from headgate.cli.main import app\n"
        "try:\n    app(args=sys.argv[1:])\nexcept SystemExit as end:\n    assert end.code == 0\n"
        "sys.stderr.write('\\n'.join(sorted(sys.modules)))\n"
    )
    asked = ["--server", connection.url, "--token", connection.token, "get", "wl", "-A"]
    command = [sys.executable, "-c", program, *asked]
    ended = subprocess.run(command, capture_output=True, text=True, check=True)
    imported = set(ended.stderr.splitlines())
    assert "headgate.cli.commands.get" in imported
    assert sorted(imported.intersection(NOT_NEEDED)) == []


def test_no_server_on_this_host_is_said_soon(
    pauses: list[float], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
    told = Invoker()("get", "wl", "--server", url, code=1).stderr
    assert told.startswith(f"Error: can't reach {url}: ")
    assert "headgate up" in told
    assert 0 < sum(pauses) <= 0.5


@pytest.mark.parametrize(
    ("connection", "is_command", "statuses"),
    [
        (HERE, False, []),
        (msgspec.structs.replace(HERE, is_supervised=True), True, []),
        (msgspec.structs.replace(HERE, url="http://headgate.example"), True, []),
        (HERE, True, [200]),
    ],
    ids=["a service", "a supervised server", "another host", "one that answered before"],
)
def test_a_server_that_may_return_is_waited_for(
    pauses: list[float], connection: Connection, is_command: bool, statuses: list[int]
) -> None:
    given = answering(*statuses)
    with HeadgateClient(
        connection, patience_seconds=10, is_command=is_command, carrier=given
    ) as client:
        for _ in statuses:
            client.read("/v1/workloads")
        with pytest.raises(ServerUnreachable):
            client.read("/v1/workloads")
    assert sum(pauses) > 8


def test_a_name_without_an_address_is_said_soon(pauses: list[float]) -> None:
    def handle(request: httpx.Request) -> httpx.Response:
        missing = socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        raise httpx.ConnectError("Name or service not known", request=request) from missing

    elsewhere = msgspec.structs.replace(HERE, url="http://headgate.example")
    given = httpx.MockTransport(handle)
    with (
        HeadgateClient(elsewhere, patience_seconds=10, is_command=True, carrier=given) as client,
        pytest.raises(ServerUnreachable),
    ):
        client.read("/v1/workloads")
    assert 0 < sum(pauses) <= 0.5


@pytest.mark.parametrize(("pid", "is_supervised"), [(1, True), (2**22 + 1, False)])
def test_a_server_is_supervised_while_its_process_lives(
    tmp_path: Path, pid: int, is_supervised: bool
) -> None:
    (tmp_path / "run.json").write_text(f'{{"url": "{HERE.url}", "pid": {pid}}}')
    for server in ("", HERE.url):
        found = find_connection(
            server=server, token="given", home=tmp_path / "none", directory=tmp_path
        )
        assert found.is_supervised is is_supervised


def test_an_address_that_is_none_is_refused() -> None:
    told = Invoker()("get", "wl", "--server", "http://[::1", code=1).stderr
    assert told.startswith("Error: can't reach http://[::1: Invalid port")


@pytest.mark.parametrize(
    ("variable", "value", "rule"),
    [
        ("HEADGATE_PORT", "abc", "it must be a number"),
        ("HEADGATE_PORT", "70000", "it must be at most 65535"),
        ("HEADGATE_MAX_REQUESTS", "0", "it must be at least 1"),
        ("HEADGATE_LOG_FORMAT", "xml", "it must be one of json, text"),
        ("HEADGATE_TRACES", "maybe", "it must be true or false"),
        ("HEADGATE_DATABASE_URL", "secret-of-the-database", "it has another form"),
    ],
)
def test_a_setting_without_a_valid_value_is_told_in_a_line(
    monkeypatch: pytest.MonkeyPatch, variable: str, value: str, rule: str
) -> None:
    monkeypatch.setenv(variable, value)
    told = CliRunner().invoke(app, ["tree"])
    first, remedy = told.stderr.splitlines()
    assert (told.exit_code, first) == (2, f"Error: {variable} is not valid: {rule}")
    assert remedy.startswith("  -> ")
    assert "secret" not in told.stderr


def test_the_level_of_logs_may_be_written_in_capitals() -> None:
    assert from_environment({"HEADGATE_LOG_LEVEL": "WARNING"}).log_level == "warning"
