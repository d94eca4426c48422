"""`headgate executor kubernetes` as a process, over the double, and the commands of users."""

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
from tests.executors.agents import environment_of, phase
from tests.executors.pods import eventually
from tests.kubernetes.api_double import ApiDouble
from tests.kubernetes.builders import podded
from tests.kubernetes.job_controller import JobController
from tests.kubernetes.kubelet import Cluster

__all__ = ["client", "connection"]

pytestmark = pytest.mark.nightly


@pytest.fixture
def executor(
    api: ApiDouble, cluster: Cluster, connection: Connection, client: HeadgateClient, tmp_path: Path
) -> Iterator[Path]:
    """The process, with queues for its nodes; what it says stands in the file."""
    amounts = {"cpu": "16", "memory": "32Gi", "pods": "220"}
    prepare(client, NodeDescription(name="host-1", capacity=amounts))
    said = tmp_path / "executor.out"
    command = [HEADGATE, "executor", "kubernetes", "--name", LOCAL]
    command += ["--kubeconfig", str(api.kubeconfig(tmp_path / "kubeconfig"))]
    command += ["--directory", str(tmp_path / "journal")]
    with said.open("wb") as output:
        process = subprocess.Popen(
            command, env=environment_of(connection), stdout=output, stderr=subprocess.STDOUT
        )
    yield said
    process.terminate()
    assert process.wait(WAIT_SECONDS) == 0, said.read_text()


def test_a_run_ends_as_its_pod_and_shows_its_output(
    cluster: Cluster, executor: Path, connection: Connection, client: HeadgateClient
) -> None:
    cluster.api.do(lambda: cluster.defaults.update({"test/output": "from the pod"}))
    found = subprocess.run(
        [HEADGATE, "run", "--queue", QUEUE, "--name", "hello", "--", "train"],
        env=environment_of(connection),
        capture_output=True,
        text=True,
        timeout=WAIT_SECONDS,
        check=False,
    )
    assert (found.returncode, found.stdout) == (0, "from the pod\n"), executor.read_text()
    eventually(lambda: cluster.pods() == [])
    (pod,) = client.pods("default", "hello")
    assert pod["node"] in {"host-1", "host-2"}
    assert pod["state"] == "Succeeded"


def test_a_suspended_job_of_the_cluster_runs_once_it_is_admitted(
    api: ApiDouble, cluster: Cluster, executor: Path, client: HeadgateClient
) -> None:
    jobs = JobController(api)
    managed = {"headgate.dev/managed": "true"}
    cluster.change(
        ("namespaces", "", "default"), lambda found: found["metadata"].update(labels=managed)
    )
    template = podded()
    template["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "1"}}
    jobs.create("train", "default", template=template, completions=2, parallelism=2, queue=QUEUE)
    eventually(lambda: jobs.job("train", "default").get("status", {}).get("conditions"))
    assert jobs.job("train", "default")["status"]["conditions"][0]["type"] == "Complete"
    eventually(lambda: phase(client, "train") == "Succeeded")
