"""One cohort over an agent's rack, a Slurm partition and a Kubernetes cluster.

The agent, Slurm and the executors are real processes; the Kubernetes cluster is the double. The
configuration is that of `docs/executors/mixed.md`, with one host where the guide has many.
"""

import os
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from headgate.cli.replay.arrivals import named
from headgate.cli.replay.command import configure
from tests.chaos.slurm import SlurmExecutor
from tests.executors.agent_process import HEADGATE
from tests.executors.installation import NAMESPACE, POOL, TOPOLOGY, Installation, installation
from tests.executors.pods import shell
from tests.executors.slurm_cluster import SKIPPED, is_wanted, slurm_cluster
from tests.kubernetes.api_double import api_double
from tests.kubernetes.kubelet import Cluster
from tests.processes.up import environment

ENGINES = ("rack", "slurm", "kube")
QUOTAS = {"research": {"rack": 1, "slurm": 0, "kube": 1}, "production": {"slurm": 1}}

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.skipif(not is_wanted(), reason=SKIPPED),
]


def configured(made: Installation) -> None:
    """A flavor for each engine, and two queues of one cohort that lend to each other."""
    flavors = [
        named("ResourceFlavor", name, spec={"nodeLabels": {POOL: name}, "topologyName": TOPOLOGY})
        for name in ENGINES
    ]
    objects: list[dict[str, Any]] = [*flavors, named("Cohort", "fleet", spec={})]
    for queue, quotas in QUOTAS.items():
        given = [
            {"name": name, "resources": [{"name": "cpu", "nominalQuota": str(amount)}]}
            for name, amount in quotas.items()
        ]
        spec = {
            "cohortName": "fleet",
            "namespaceSelector": {},
            "preemption": {"reclaimWithinCohort": "Any"},
            "resourceGroups": [{"coveredResources": ["cpu"], "flavors": given}],
        }
        objects.append(named("ClusterQueue", queue, spec=spec))
        objects.append(
            named("LocalQueue", queue, namespace=NAMESPACE, spec={"clusterQueue": queue})
        )
    configure(made.client, objects)


class KubernetesExecutor:
    """`headgate executor kubernetes` as a process."""

    def __init__(self, made: Installation, kubeconfig: Path) -> None:
        own = {"HEADGATE_URL": made.connection.url, "HEADGATE_TOKEN": made.executor("kube")}
        options = ("--name", "kube", "--directory", str(made.directory / "kube"))
        selected = ("--kubeconfig", str(kubeconfig), "--labels", f"{POOL}=kube")
        self.output = made.directory / "kube.out"
        with self.output.open("wb") as output:
            self._process = subprocess.Popen(
                [HEADGATE, "executor", "kubernetes", *options, *selected],
                env={**environment(), **own},
                stdout=output,
                stderr=subprocess.STDOUT,
            )

    def end(self) -> None:
        """Ends it."""
        self._process.terminate()
        self._process.wait(60)


@pytest.fixture
def made(tmp_path: Path) -> Iterator[Installation]:
    with ExitStack() as stack:
        made = stack.enter_context(installation())
        slurm = stack.enter_context(slurm_cluster(made.directory / "cluster"))
        api = stack.enter_context(api_double())
        kubernetes = Cluster(api, nodes=("kube-1",))
        namespace = {"metadata": {"name": NAMESPACE}}
        api.do(lambda: api.store.create("namespaces", "", namespace))
        configured(made)
        made.agent("rack", "rack", made.executor("rack")).start()
        on_slurm = SlurmExecutor(made, slurm, made.executor("slurm"))
        on_slurm.start()
        stack.callback(on_slurm.end)
        on_kubernetes = KubernetesExecutor(made, api.kubeconfig(tmp_path / "kubeconfig"))
        stack.callback(on_kubernetes.end)
        made.await_nodes("rack", "host-1", "kube-1")
        assert kubernetes.pods() == []
        yield made


def submit(made: Installation, name: str, queue: str, script: str) -> str:
    """A pod of one CPU; on the double of Kubernetes it lasts, whatever its command is."""
    template = shell(script)
    (container,) = template["spec"]["containers"]
    container["resources"] = {"requests": {"cpu": "1"}}
    template["metadata"] = {"annotations": {"test/lasts": "true"}}
    return made.submit(name, queue, template)


def engine_of(made: Installation, name: str) -> str:
    """The flavor on which a workload runs, once its pod does."""
    made.await_phase(name, "Running")
    (pod,) = [pod for pod in made.pods(name) if pod["state"] == "Running"]
    flavors = made.workload(name)["status"]["admission"]["podSetAssignments"][0]["flavors"]
    node = made.client.read(f"/v1/nodes/{pod['node']}")["metadata"]["labels"][POOL]
    assert flavors["cpu"] == node
    return str(node)


def test_what_does_not_fit_on_one_engine_starts_on_the_next_and_preemption_frees_quota(
    made: Installation, tmp_path: Path
) -> None:
    stopped = tmp_path / "stopped"
    wait = "while ! test -e {go}; do sleep 0.1; done"
    saving = f"trap 'echo $HEADGATE_NODE > {stopped}; exit 0' TERM; {wait}"
    first_may_end, rest_may_end = tmp_path / "go-1", tmp_path / "go-2"
    first = submit(made, "first", "research", wait.format(go=first_may_end))
    assert engine_of(made, first) == "rack"
    second = submit(made, "second", "research", saving.format(go=rest_may_end))
    assert engine_of(made, second) == "slurm"
    third = submit(made, "third", "research", "true")
    assert engine_of(made, third) == "kube"
    urgent = submit(made, "urgent", "production", wait.format(go=rest_may_end))
    assert engine_of(made, urgent) == "slurm"
    assert stopped.read_text().startswith("host-")
    assert made.phase(second) == "Pending"
    first_may_end.touch()
    assert made.await_end(first) == "Succeeded"
    assert engine_of(made, second) == "rack"
    rest_may_end.touch()
    assert made.await_end(second) == made.await_end(urgent) == "Succeeded"
    verified = subprocess.run(
        [HEADGATE, "verify"],
        env={**environment(), "HEADGATE_DIRECTORY": str(made.up.data), "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert verified.returncode == os.EX_OK, verified.stdout
