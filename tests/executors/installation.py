"""One running Headgate for many cases: Postgres, API and worker, with agents of their own pools."""

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from headgate.cli.replay.arrivals import named
from headgate.cli.replay.command import configure
from headgate.client.client import HeadgateClient
from headgate.client.transport import Connection, ServerProblem
from headgate.executor.substrates.agent.inventory import HOSTNAME
from tests.executors.agent_process import HEADGATE, AgentProcess
from tests.processes.up import Up, services

NAMESPACE = "bad-days"
POOL = "headgate.dev/pool"
TOPOLOGY = "hosts"
QUOTA = {"cpu": "1000", "memory": "10Ti"}
WAIT_SECONDS = 180.0
LOOK_SECONDS = 0.05
FINAL_PHASES = frozenset({"Succeeded", "Failed", "Cancelled"})

Found = TypeVar("Found")
Object = dict[str, Any]


class Installation:
    """A Headgate that a test has to itself, and the agents that it has started."""

    namespace = NAMESPACE

    def __init__(self, up: Up) -> None:
        self.up = up
        self.directory = up.directory
        token = (up.data / "admin-token").read_text().strip()
        self.connection = Connection(url=up.url, token=token, source="test")
        self.client = HeadgateClient(self.connection, patience_seconds=WAIT_SECONDS)
        self.database_url = str(json.loads((up.data / "run.json").read_text())["database_url"])
        self.agents: list[AgentProcess] = []
        self._uids: set[str] = set()
        topology = named("Topology", TOPOLOGY, spec={"levels": [{"nodeLabel": HOSTNAME}]})
        configure(self.client, [topology, named("Namespace", NAMESPACE)])

    def pool(self, name: str, *, pods: int = 100_000) -> None:
        """A pool of hosts with a queue of its name; agents join it by their label."""
        quota = {**QUOTA, "pods": str(pods)}
        quotas = [{"name": each, "nominalQuota": amount} for each, amount in quota.items()]
        flavors = [{"name": name, "resources": quotas}]
        group = {"coveredResources": list(quota), "flavors": flavors}
        queue = {"namespaceSelector": {}, "resourceGroups": [group]}
        flavor = {"nodeLabels": {POOL: name}, "topologyName": TOPOLOGY}
        local = {"clusterQueue": name}
        configure(
            self.client,
            [
                named("ResourceFlavor", name, spec=flavor),
                named("ClusterQueue", name, spec=queue),
                named("LocalQueue", name, namespace=NAMESPACE, spec=local),
            ],
        )

    def executor(self, name: str, **spec: Any) -> str:
        """An Executor of the nodes of one agent; the secret of a token for it."""
        selector = {"headgate.dev/executor": name}
        body = {"metadata": {"name": name}, "spec": {"nodeSelector": selector, **spec}}
        kind = {"apiVersion": "headgate.dev/v1", "kind": "Executor"}
        configure(self.client, [{**kind, **body}])
        return self.token(name, name)

    def token(self, name: str, executor: str) -> str:
        """The secret of a new token that is bound to an Executor."""
        body = {"name": name, "role": "executor", "executor": executor}
        return str(self.client.act("/v1/tokens", body)["secret"])

    def agent(  # noqa: PLR0913 - each is an option of the command or of its start
        self,
        name: str,
        pool: str,
        token: str,
        *,
        options: Sequence[str] = (),
        command: Sequence[str] = (HEADGATE,),
        url: str = "",
        directory: Path | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> AgentProcess:
        """An agent of an Executor, not started yet, and ended with the installation."""
        connection = msgspec.structs.replace(
            self.connection, token=token, url=url or self.connection.url
        )
        made = AgentProcess(
            connection,
            directory or self.directory / "agents" / f"{name}-{len(self.agents)}",
            name,
            options=["--node", name, "--labels", f"{POOL}={pool}", *options],
            command=command,
            environment=environment,
        )
        self.agents.append(made)
        return made

    def started_agent(self, name: str, **spec: Any) -> AgentProcess:
        """A running agent with an Executor and a pool of its name."""
        self.pool(name)
        agent = self.agent(name, name, self.executor(name, **spec)).start()
        self.await_nodes(name)
        return agent

    def await_nodes(self, *names: str) -> None:
        """Waits until nodes are ready."""
        for name in names:
            self.eventually(partial(self._is_ready, name), f"node {name} is ready")

    def submit(self, name: str, pool: str, template: Object, pods: int = 1, **spec: Any) -> str:
        """Submits a workload of one pod set; its name."""
        manifest = self.manifest(name, pool, template, pods, **spec)
        self.client.submit_batch([manifest])
        self._uids.add(str(self.workload(name)["metadata"]["uid"]))
        return name

    def manifest(
        self, name: str, pool: str, template: Object, pods: int = 1, **spec: Any
    ) -> Object:
        """A workload of one pod set."""
        pod_set = {"name": "main", "count": pods, "template": template}
        body = {"queueName": pool, "podSets": [pod_set], **spec}
        return named("Workload", name, namespace=NAMESPACE, spec=body)

    def workload(self, name: str) -> Object:
        """A workload as the API shows it."""
        found: Object = self.client.read(self._path(name))
        return found

    def phase(self, name: str) -> str:
        """The phase of a workload; empty where there is none."""
        try:
            return str(self.workload(name)["status"]["phase"])
        except ServerProblem as problem:
            if problem.problem.status != 404:
                raise
            return ""

    def pods(self, name: str, **query: str) -> list[Object]:
        """The pods of a workload, by all that the log has."""
        seen = {"minPosition": str(self.client.head()), **query}
        return list(self.client.items(f"{self._path(name)}/pods", seen))

    def act(self, name: str, verb: str) -> None:
        """Cancels or requeues a workload."""
        self.client.act(f"{self._path(name)}/{verb}", {"reason": "a test"})

    def await_phase(self, name: str, *phases: str) -> str:
        """Waits until a workload is in one of the phases; the phase."""
        wanted = frozenset(phases)

        def look() -> str:
            found = self.phase(name)
            return found if found in wanted else ""

        return self.eventually(look, f"{name} is {' or '.join(phases)}")

    def await_end(self, name: str) -> str:
        """Waits until a workload is finished; its phase."""
        return self.await_phase(name, *FINAL_PHASES)

    def events(self, name: str, *types: str) -> list[Object]:
        """Events of a workload of some types."""
        query = {"stream": f"workload/{NAMESPACE}/{name}", "limit": "500"}
        found = self.client.items("/v1/events", query)
        return [event for event in found if not types or event["type"] in types]

    def eventually(
        self, look: Callable[[], Found | None], what: str, seconds: float = WAIT_SECONDS
    ) -> Found:
        """What `look` finds once it finds something."""
        give_up_at = time.monotonic() + seconds
        while time.monotonic() < give_up_at:
            if found := look():
                return found
            time.sleep(LOOK_SECONDS)
        living = [agent for agent in self.agents if not agent.has_ended()]
        said = "\n".join(f"{agent.name}: {agent.said()[-300:]}" for agent in living)
        raise AssertionError(f"not within {seconds:g} s: {what}\n{said}")

    def leaked(self, agents: Sequence[AgentProcess], seconds: float = 30.0) -> list[str]:
        """What agents still have on the host once nothing changes any more, or after `seconds`.

        Cgroups are the machine's: those of workloads that `submit` has not made are not counted,
        unless all were submitted otherwise.
        """
        give_up_at = time.monotonic() + seconds
        while True:
            left = [each for agent in agents for each in agent.left_behind()]
            found = [each for each in left if self._is_own(each)]
            if not found or time.monotonic() > give_up_at:
                return found
            time.sleep(0.2)

    def _is_own(self, left: str) -> bool:
        is_cgroup = left.startswith("cgroup ") and bool(self._uids)
        return not is_cgroup or any(uid in left for uid in self._uids)

    def end(self) -> None:
        """Ends all agents with their pods."""
        for agent in self.agents:
            agent.clear()
        self.client.close()

    def _path(self, name: str) -> str:
        return f"/v1/namespaces/{NAMESPACE}/workloads/{name}"

    def _is_ready(self, name: str) -> bool:
        try:
            found = self.client.read(f"/v1/nodes/{name}")
        except ServerProblem:
            return False
        conditions = found["status"].get("conditions", [])
        return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)


@contextmanager
def installation(workers: int = 1) -> Iterator[Installation]:
    """A new Headgate, gone at the end with all that its agents have started."""
    with services() as up:
        up.start("--workers", str(workers))
        made = Installation(up)
        try:
            yield made
        finally:
            made.end()
            up.stop()
