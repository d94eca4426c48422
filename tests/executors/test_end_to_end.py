"""An agent as a process of its own, and the API behind a real server: what users see of pods."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest

from headgate.cli.operations.local_agent import LOCAL, prepare
from headgate.client.client import HeadgateClient
from headgate.client.connection import Connection
from headgate.executor.substrates.agent.inventory import NodeSettings, describe_host
from tests.cli.conftest import application, client, connection

__all__ = ["application", "client", "connection"]

HEADGATE = str(Path(sys.executable).with_name("headgate"))
WAIT_SECONDS = 60.0
WORKLOADS = "/v1/namespaces/default/workloads"

Found = TypeVar("Found")


class AgentProcess:
    """`headgate agent` in a directory of its own, started again as often as a test wants."""

    def __init__(self, connection: Connection, token: str, directory: Path) -> None:
        self.directory = directory
        self.output = directory / "agent.out"
        self._environment = {
            **os.environ, "HEADGATE_URL": connection.url, "HEADGATE_TOKEN": token,
        }  # fmt: skip
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        command = [HEADGATE, "agent", "--name", LOCAL, "--node", "this", "--allow-root"]
        with self.output.open("ab") as output:
            self.process = subprocess.Popen(
                [*command, "--directory", str(self.directory / "state")],
                env=self._environment,
                stdout=output,
                stderr=subprocess.STDOUT,
            )

    def end(self, number: int = signal.SIGTERM) -> None:
        assert self.process is not None
        self.process.send_signal(number)
        self.process.wait(WAIT_SECONDS)


@pytest.fixture(scope="module")
def agent(
    connection: Connection, client: HeadgateClient, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[AgentProcess]:
    """The agent of this machine with the queue that a new installation gets."""
    prepare(client, describe_host(NodeSettings(name="this", executor=LOCAL), []))
    body = {"name": "local-agent", "role": "executor", "executor": LOCAL}
    token = str(client.act("/v1/tokens", body)["secret"])
    made = AgentProcess(connection, token, tmp_path_factory.mktemp("agent"))
    made.start()
    yield made
    made.end()


def eventually(look: Callable[[], Found | None], agent: AgentProcess) -> Found:
    give_up_at = time.monotonic() + WAIT_SECONDS
    while time.monotonic() < give_up_at:
        if found := look():
            return found
        time.sleep(0.05)
    raise AssertionError(f"not within {WAIT_SECONDS:g} s; the agent: {agent.output.read_text()}")


def run(
    connection: Connection, agent: AgentProcess, *words: str, directory: Path | None = None
) -> subprocess.CompletedProcess[str]:
    environment = {
        **os.environ, "HEADGATE_URL": connection.url, "HEADGATE_TOKEN": connection.token,
    }  # fmt: skip
    found = subprocess.run(
        [HEADGATE, "run", *words],
        env=environment, capture_output=True, text=True, timeout=WAIT_SECONDS, check=False,
        cwd=directory or agent.directory,
    )  # fmt: skip
    print(found.stderr, agent.output.read_text())  # noqa: T201 - shown where a test fails
    return found


def phase(client: HeadgateClient, name: str) -> str:
    return str(client.read(f"{WORKLOADS}/{name}")["status"]["phase"])


def finished_pods(client: HeadgateClient, name: str) -> list[dict[str, Any]]:
    query = {"stream": f"workload/default/{name}", "type": "workload.pods_reported"}
    events = client.read("/v1/events", query)["items"]
    reported = [pods for event in events for pods in event["data"]["pods"]]
    return [pods for pods in reported if pods["type"] == "finished"]


def submit(connection: Connection, name: str, script: str, *options: str) -> None:
    """Submits a batch script; other tests see its pods."""
    path = Path(f"/tmp/{name}-{os.getpid()}.sh")
    path.write_text(f"#!/bin/sh\n{script}\n")
    environment = {
        **os.environ, "HEADGATE_URL": connection.url, "HEADGATE_TOKEN": connection.token,
    }  # fmt: skip
    command = [HEADGATE, "submit", "--name", name, *options, str(path)]
    try:
        subprocess.run(command, env=environment, check=True, cwd="/tmp", timeout=WAIT_SECONDS)
    finally:
        path.unlink()


def test_each_rank_writes_its_line(connection: Connection, agent: AgentProcess) -> None:
    found = run(
        connection, agent, "--pods", "3", "--", "sh", "-c", "echo rank $RANK of $WORLD_SIZE"
    )
    lines = sorted(found.stdout.splitlines())
    assert lines == [f"[{rank}] rank {rank} of 3" for rank in range(3)]
    assert found.returncode == 0


@pytest.mark.parametrize(
    ("command", "code"),
    [
        (["false"], 1),
        (["sh", "-c", "exit 42"], 42),
        (["sh", "-c", "kill -9 $$"], 137),
        (["no-such-command"], 125),
    ],
)
def test_a_run_exits_with_the_code_of_its_command(
    connection: Connection, agent: AgentProcess, command: list[str], code: int
) -> None:
    assert run(connection, agent, "--", *command).returncode == code


def test_output_and_errors_of_one_pod_are_shown_as_they_are(
    connection: Connection, agent: AgentProcess, tmp_path: Path
) -> None:
    script = "echo out; echo err >&2; printf half; pwd > where"
    found = run(connection, agent, "--", "sh", "-c", script, directory=tmp_path)
    assert found.stdout == "out\nhalf"
    assert "err\n" in found.stderr
    assert (tmp_path / "where").read_text() == f"{tmp_path}\n"


def test_an_agent_that_was_killed_loses_no_result(
    connection: Connection, client: HeadgateClient, agent: AgentProcess, tmp_path: Path
) -> None:
    script = f"echo x >> {tmp_path}/starts; while ! [ -e {tmp_path}/go ]; do sleep 0.05; done"
    submit(connection, "survivor", f"{script}; exit 9")
    eventually(lambda: phase(client, "survivor") == "Running", agent)
    agent.end(signal.SIGKILL)
    (tmp_path / "go").touch()
    agent.start()
    eventually(lambda: phase(client, "survivor") == "Failed", agent)
    (pod,) = finished_pods(client, "survivor")
    assert 9 in pod.values()
    assert pod["reason"] == "Error"
    assert (tmp_path / "starts").read_text() == "x\n"


def test_a_cancelled_workload_saves_its_work(
    connection: Connection, client: HeadgateClient, agent: AgentProcess, tmp_path: Path
) -> None:
    saving = f"trap 'cp $HEADGATE_EVICTION_FILE {tmp_path}/saved; exit 0' TERM; touch {tmp_path}/up"
    submit(connection, "saver", f"{saving}; while :; do sleep 0.05; done")
    eventually((tmp_path / "up").exists, agent)
    client.act(f"{WORKLOADS}/saver/cancel", {"reason": "enough"})
    eventually((tmp_path / "saved").exists, agent)
    eventually(lambda: phase(client, "saver") == "Cancelled", agent)
