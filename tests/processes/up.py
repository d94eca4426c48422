"""`headgate up` as a process of its own, for tests."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import psutil

from tests.directories import run_directory
from tests.processes.programs import wait_until

SECONDS_TO_START = 180.0
SECONDS_TO_ANSWER = 120.0
SECONDS_TO_STOP = 90.0
HEADGATE = str(Path(sys.executable).with_name("headgate"))


class Up:
    """One run after another of `headgate up` in one directory."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.output = directory / "up.out"
        self.process: subprocess.Popen[bytes] | None = None
        # One for all requests, as making a client takes long; no connection outlives a crash.
        without_keeping = httpx.Limits(max_keepalive_connections=0)
        self._http = httpx.Client(timeout=SECONDS_TO_ANSWER, limits=without_keeping)

    def start(self, *arguments: str) -> "Up":
        """Start it, and wait until it is ready."""
        self.launch(*arguments)
        wait_until(self._is_ready, "it is ready", SECONDS_TO_START)
        return self

    def launch(self, *arguments: str) -> None:
        """Start it only."""
        with self.output.open("wb") as output:
            self.process = subprocess.Popen(
                [
                    HEADGATE,
                    "up",
                    "--directory",
                    str(self.data),
                    "--port",
                    "0",
                    "--no-agent",
                    *arguments,
                ],
                # Receivers of webhooks in tests are programs of this machine.
                env={**environment(), "HEADGATE_WEBHOOK_NETWORKS": "127.0.0.0/8"},
                stdout=output,
                stderr=subprocess.STDOUT,
            )

    @property
    def data(self) -> Path:
        """Where it keeps everything."""
        return self.directory / "d"

    @property
    def url(self) -> str:
        """Where its API answers."""
        return str(json.loads((self.data / "run.json").read_text())["url"])

    def pid_of(self, name: str) -> int:
        """The process id of one of its programs, 0 while it does not run."""
        started = json.loads((self.data / "started.json").read_text())
        return next((entry["pid"] for entry in started if entry["name"] == name), 0)

    def request(
        self, method: str, path: str, body: str = "", kind: str = "application/yaml"
    ) -> httpx.Response:
        """Ask its API as the admin."""
        token = (self.data / "admin-token").read_text().strip()
        headers = {"Authorization": f"Bearer {token}", "Content-Type": kind}
        return self._http.request(method, f"{self.url}{path}", content=body, headers=headers)

    def answers(self) -> bool:
        """Whether its API is ready."""
        try:
            return self._http.get(f"{self.url}/readyz", timeout=5).status_code == 200
        except (httpx.HTTPError, FileNotFoundError):
            return False

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Ask it to end; its exit code."""
        assert self.process is not None
        self.process.send_signal(number)
        return self.process.wait(SECONDS_TO_STOP)

    def said(self) -> str:
        """What it has written so far."""
        return self.output.read_text(errors="replace")

    def processes(self) -> list[str]:
        """The command lines of everything of it that still runs."""
        return [" ".join(process.cmdline()) for process in self._processes()]

    def end(self) -> None:
        """Kill what is left of it."""
        self._http.close()
        for process in self._processes():
            process.kill()

    def _processes(self) -> list[psutil.Process]:
        """Everything that names the directory on its command line or in its environment."""
        found = []
        for process in psutil.process_iter():
            try:
                names = [*process.cmdline(), process.environ().get("HEADGATE_DIRECTORY", "")]
            except psutil.Error:
                continue
            is_ours = any(str(self.data) in name for name in names)
            if is_ours and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
        return found

    def _is_ready(self) -> bool:
        assert self.process is not None
        assert self.process.poll() is None, self.said()
        return "Headgate is ready" in self.said()


def environment() -> dict[str, str]:
    """Our own, without anything that would point elsewhere."""
    return {name: value for name, value in os.environ.items() if not name.startswith("HEADGATE_")}


@contextmanager
def services() -> Iterator[Up]:
    """A directory for one installation, that Postgres can reach, gone at the end."""
    directory = Path(tempfile.mkdtemp(prefix="hgu-", dir=run_directory()))
    directory.chmod(0o755)
    up = Up(directory)
    try:
        yield up
    finally:
        up.end()
        shutil.rmtree(directory, ignore_errors=True)
