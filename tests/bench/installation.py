"""A complete Headgate on this machine: embedded Postgres, and the processes of `headgate up`."""

import json
import os
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from socket import socket

from headgate.embedded.servers import start_postgres
from tests.builders.documents import queue_documents

TOKEN = "bench-admin-token-of-this-run-only"
START_SECONDS = 90
STOP_SECONDS = 180
"""A large fold writes its snapshot before it ends."""

QUEUES = queue_documents("bench", local="bench", namespace="bench", cpu=100_000_000)


@dataclass(frozen=True, slots=True)
class Installation:
    """The addresses of the API and of the database, and the process of `headgate up`."""

    port: int
    database_url: str
    process: int


@contextmanager
def running_installation(directory: Path) -> Iterator[Installation]:
    """Starts an installation with one queue without limits; stops it at the end."""
    directory.chmod(0o755)
    postgres = start_postgres(directory / "postgres")
    try:
        with running_server(directory, postgres.url) as services:
            ask(services, "/v1/apply", QUEUES.encode(), "application/yaml")
            yield services
    finally:
        postgres.stop()


@contextmanager
def running_server(
    directory: Path, database_url: str, start_seconds: float = START_SECONDS
) -> Iterator[Installation]:
    """Starts the processes of `headgate up` on a database that runs; stops them at the end."""
    port = free_port()
    environment = os.environ | {
        "HEADGATE_ADMIN_TOKEN": TOKEN,
        "HEADGATE_DATABASE_URL": database_url,
        "HEADGATE_DIRECTORY": str(directory / "headgate"),
        "HEADGATE_PORT": str(port),
    }
    with (directory / "up.log").open("wb") as log:
        command = [str(Path(sys.executable).with_name("headgate")), "up"]
        process = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
        services = Installation(port=port, database_url=database_url, process=process.pid)
        try:
            wait_until_ready(services, process, directory / "up.log", start_seconds)
            yield services
        finally:
            process.terminate()
            process.wait(STOP_SECONDS)


def wait_until_ready(
    services: Installation, process: "subprocess.Popen[bytes]", log: Path, seconds: float
) -> None:
    """Return when the API is ready; raise with its log if it ends or takes too long."""
    until = time.monotonic() + seconds
    while time.monotonic() < until and process.poll() is None:
        try:
            ask(services, "/readyz")
        except (urllib.error.URLError, OSError):
            time.sleep(0.1)
        else:
            return
    raise RuntimeError(f"headgate up did not become ready:\n{log.read_text()[-4000:]}")


def ask(
    services: Installation,
    path: str,
    body: bytes | None = None,
    content_type: str = "application/json",
    method: str | None = None,
) -> object:
    """Sends one unmeasured request; returns the JSON of the answer, None for other answers."""
    request = urllib.request.Request(
        f"http://127.0.0.1:{services.port}{path}",
        data=body,
        headers={"Authorization": f"Bearer {TOKEN}", "Content-Type": content_type},
        method=method,
    )
    with urllib.request.urlopen(request, timeout=30) as answer:
        if "json" not in answer.headers.get("Content-Type", ""):
            return None
        decoded: object = json.load(answer)
        return decoded


def free_port() -> int:
    """A port without a listener."""
    with socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
