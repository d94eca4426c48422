"""An agent as a process of its own, and users' commands beside it, for tests of whole runs."""

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Self, TypeVar

import msgspec
import pytest
from typer.testing import CliRunner

from headgate.cli.main import app, hoisted
from headgate.cli.operations.local_agent import LOCAL, prepare
from headgate.cli.replay.arrivals import named
from headgate.cli.replay.command import configure
from headgate.client.client import HeadgateClient
from headgate.client.transport import Connection
from headgate.executor.substrates.agent.inventory import NodeSettings, describe_host
from tests.executors.agent_process import HEADGATE, WAIT_SECONDS, AgentProcess

WORKLOADS = "/v1/namespaces/default/workloads"

Found = TypeVar("Found")


@pytest.fixture(scope="module")
def agent(
    connection: Connection, client: HeadgateClient, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[AgentProcess]:
    """The agent of this machine with the queue that it makes, beside one that others made."""
    configure(client, [named("ClusterQueue", "of-a-demo", spec={"namespaceSelector": {}})])
    prepare(client, describe_host(NodeSettings(name="this", executor=LOCAL), []))
    body = {"name": "local-agent", "role": "executor", "executor": LOCAL}
    token = str(client.act("/v1/tokens", body)["secret"])
    own = msgspec.structs.replace(connection, token=token)
    options = ["--node", "this"]
    made = AgentProcess(own, tmp_path_factory.mktemp("agent"), LOCAL, options=options).start()
    yield made
    made.end()


def eventually(look: Callable[[], Found | None], agent: AgentProcess) -> Found:
    give_up_at = time.monotonic() + WAIT_SECONDS
    while time.monotonic() < give_up_at:
        if found := look():
            return found
        time.sleep(0.05)
    raise AssertionError(f"not within {WAIT_SECONDS:g} s; the agent: {agent.said()}")


def environment_of(connection: Connection) -> dict[str, str]:
    """The environment of a user's command line: its server, and `headgate` on the path."""
    own = str(Path(HEADGATE).parent)
    return {
        **os.environ,
        "HEADGATE_URL": connection.url,
        "HEADGATE_TOKEN": connection.token,
        "PATH": f"{own}:{os.environ['PATH']}",
    }


def run(
    connection: Connection, agent: AgentProcess, *words: str, directory: Path | None = None
) -> subprocess.CompletedProcess[str]:
    found = subprocess.run(
        [HEADGATE, "run", *words],
        env=environment_of(connection), cwd=directory or agent.directory,
        capture_output=True, text=True, timeout=WAIT_SECONDS, check=False,
    )  # fmt: skip
    print(found.stderr, agent.said())  # noqa: T201 - shown where a test fails
    return found


def phase(client: HeadgateClient, name: str) -> str:
    return str(client.read(f"{WORKLOADS}/{name}")["status"]["phase"])


def events_of(client: HeadgateClient, name: str, kind: str) -> list[dict[str, Any]]:
    """The contents of a workload's events of one type, newest first."""
    query = {"stream": f"workload/default/{name}", "type": kind}
    return [event["data"] for event in client.read("/v1/events", query)["items"]]


def output_of(connection: Connection, name: str, *options: str) -> str:
    """What pods of a workload have written so far; empty while there are none."""
    # Not as a process, as tests ask until something is there.
    flags = ("--server", connection.url, "--token", connection.token)
    return CliRunner().invoke(app, hoisted([*flags, "logs", name, *options])).stdout


def finished_pods(client: HeadgateClient, name: str) -> list[dict[str, Any]]:
    reported = [
        pods
        for event in events_of(client, name, "workload.pods_reported")
        for pods in event["pods"]
    ]
    return [pods for pods in reported if pods["type"] == "finished"]


def submit(connection: Connection, name: str, script: str, *options: str) -> None:
    """Submits a batch script; other tests see its pods."""
    path = Path(f"/tmp/{name}-{os.getpid()}.sh")
    path.write_text(f"#!/bin/sh\n{script}\n")
    command = [HEADGATE, "submit", "--name", name, *options, str(path)]
    try:
        subprocess.run(
            command, env=environment_of(connection), check=True, cwd="/tmp", timeout=WAIT_SECONDS
        )
    finally:
        path.unlink()


class Terminal:
    """A terminal with a program in it, as a person would have it."""

    def __init__(self, connection: Connection, directory: Path, *words: str) -> None:
        self._keys, inner = pty.openpty()
        fcntl.ioctl(inner, termios.TIOCSWINSZ, struct.pack("HHHH", 33, 101, 0, 0))
        self.shown = ""
        self.process = subprocess.Popen(
            [HEADGATE, *words],
            env={**environment_of(connection), "TERM": "xterm"},
            cwd=directory,
            stdin=inner,
            stdout=inner,
            stderr=inner,
            start_new_session=True,
        )
        os.close(inner)

    def type(self, text: str) -> None:
        os.write(self._keys, text.encode())

    def expect(self, text: str, within_seconds: float = WAIT_SECONDS) -> None:
        """Reads until a text is shown, and forgets everything up to it."""
        give_up_at = time.monotonic() + within_seconds
        while text not in self.shown:
            ready, _, _ = select.select([self._keys], [], [], 0.5)
            if ready:
                self.shown += os.read(self._keys, 65_536).decode(errors="replace")
            assert time.monotonic() < give_up_at, self.shown
        self.shown = self.shown.partition(text)[2]

    def resize(self, columns: int, rows: int) -> None:
        fcntl.ioctl(self._keys, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        os.kill(self.process.pid, signal.SIGWINCH)

    def code(self) -> int:
        return self.process.wait(WAIT_SECONDS)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_details: object) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self._keys)
