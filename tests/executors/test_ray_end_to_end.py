"""`headgate executor ray` as a process over a real Ray cluster, and the commands of users."""

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from headgate.cli.operations.local_agent import LOCAL, QUEUE, prepare
from headgate.client.client import HeadgateClient
from headgate.client.transport import Connection
from headgate.executor.substrate import NodeDescription
from tests.cli.conftest import client, connection
from tests.executors.agent_process import HEADGATE, WAIT_SECONDS
from tests.executors.agents import environment_of
from tests.executors.ray_cluster import CPUS, RayTestCluster, ray_environment

__all__ = ["client", "connection"]

pytestmark = pytest.mark.nightly

CPUS_OF_A_RANK = CPUS - 4
"""Two ranks do not fit on one node."""
SECONDS_TO_RUN = 300.0


@pytest.fixture
def executor(
    ray_of_tests: RayTestCluster, connection: Connection, client: HeadgateClient, tmp_path: Path
) -> Iterator[Path]:
    """The process, with queues for its nodes; what it says stands in the file."""
    amounts = {"cpu": str(2 * CPUS), "memory": "32Gi", "pods": "220"}
    prepare(client, NodeDescription(name="host-1", capacity=amounts))
    said = tmp_path / "executor.out"
    command = [HEADGATE, "executor", "ray", "--name", LOCAL, "--dashboard", ray_of_tests.url]
    command += ["--directory", str(tmp_path / "ray")]
    command += ["--python", str(ray_environment() / "bin" / "python")]
    with said.open("wb") as output:
        process = subprocess.Popen(
            command, env=environment_of(connection), stdout=output, stderr=subprocess.STDOUT
        )
    yield said
    process.terminate()
    assert process.wait(WAIT_SECONDS) == 0, said.read_text()


def run(connection: Connection, name: str, script: str) -> subprocess.CompletedProcess[str]:
    """`headgate run` of a gang of two ranks, each on a node of its own."""
    options = ["--queue", QUEUE, "--name", name, "--pods", "2", "--cpu", str(CPUS_OF_A_RANK)]
    return subprocess.run(
        [HEADGATE, "run", *options, "--", "sh", "-c", script],
        env=environment_of(connection),
        capture_output=True,
        text=True,
        timeout=SECONDS_TO_RUN,
        check=False,
    )


def test_a_gang_runs_on_the_chosen_nodes_and_shows_its_output(
    executor: Path, connection: Connection, client: HeadgateClient
) -> None:
    found = run(connection, "hello", "echo rank $RANK of $WORLD_SIZE on $HEADGATE_NODE")
    assert found.returncode == 0, executor.read_text() + found.stderr
    ranks = sorted(re.findall(r"rank (\d) of 2 on (host-[12])", found.stdout))
    pods = {str(pod["rank"]): pod["node"] for pod in client.pods("default", "hello")}
    assert ranks == sorted(pods.items())
    assert set(pods.values()) == {"host-1", "host-2"}


def test_a_gang_of_which_a_rank_fails_ends_with_its_code(
    executor: Path, connection: Connection, client: HeadgateClient
) -> None:
    found = run(connection, "fails", 'test "$RANK" = 0 || exit 3')
    assert found.returncode == 3, executor.read_text() + found.stderr
    assert {pod["state"] for pod in client.pods("default", "fails")} & {"Failed"}
