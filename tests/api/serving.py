"""The API as a process of its own, for what only a real server shows, and the one of all others."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

import httpx
import msgspec
from litestar import Litestar

from headgate.api.app import routes_only
from headgate.settings import Settings
from tests.api.callers import ADMIN_SECRET

SECONDS_TO_START = 180
SECONDS_TO_ANSWER = 120
SECONDS_TO_STOP = 120


@cache
def shared_application() -> Litestar:
    """The application that all modules of a process connect, as its routes take half a second."""
    return routes_only()


class Server:
    """A running API; `url` is where it listens."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.port = _free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        headers = {"Authorization": f"Bearer {ADMIN_SECRET}"}
        # One for all requests: making a client takes longer than most answers.
        self.http = httpx.Client(base_url=self.url, headers=headers, timeout=SECONDS_TO_ANSWER)
        self._process = self._start()

    @property
    def process_id(self) -> int:
        """Of the process that leads the session of all processes of the server."""
        return self._process.pid

    def stop(self) -> int:
        """End it as a supervisor would; its exit code."""
        self._process.send_signal(signal.SIGTERM)
        return self._process.wait(SECONDS_TO_STOP)

    def kill(self) -> None:
        """End it as a power cut would, if it still runs."""
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait(SECONDS_TO_STOP)

    def _start(self) -> subprocess.Popen[bytes]:
        given = {
            f"HEADGATE_{name.upper()}": str(value)
            for name, value in msgspec.structs.asdict(self.settings).items()
            if value not in (None, "")
        }
        given |= {"HEADGATE_HOST": "127.0.0.1", "HEADGATE_PORT": str(self.port)}
        command = (sys.executable, "-m", "headgate.api.serve")
        process = subprocess.Popen(command, env={**os.environ, **given}, start_new_session=True)
        try:
            self._wait(process)
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait(SECONDS_TO_STOP)
            raise
        return process

    def _wait(self, process: subprocess.Popen[bytes]) -> None:
        until = time.monotonic() + SECONDS_TO_START
        while time.monotonic() < until:
            assert process.poll() is None, "the server ended by itself"
            try:
                if self.http.get("/readyz").status_code == 200:
                    return
            except httpx.TransportError:
                time.sleep(0.05)
        raise AssertionError("the server did not become ready")


@contextmanager
def serving(settings: Settings) -> Iterator[Server]:
    """A server for the while."""
    server = Server(settings)
    try:
        yield server
    finally:
        server.http.close()
        server.kill()


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])
