"""`python -m headgate.cli.operations.local_agent`: the agent of the machine of `headgate up`.

At its first start it creates what a first workload needs: a namespace, a queue, and a flavor with
what this machine has. Objects that exist stay as they are.
"""

import os
from pathlib import Path

from msgspec.structs import replace

from headgate.cli.commands.agent import host_name, run_agent
from headgate.cli.failures import Failure, exit_for
from headgate.cli.kinds import configured_kinds
from headgate.cli.options import DEFAULT_NAMESPACE
from headgate.cli.replay.arrivals import Object, named
from headgate.cli.replay.command import configure
from headgate.client.client import HeadgateClient
from headgate.client.contexts import find_connection
from headgate.client.transport import ServerProblem
from headgate.executor.substrate import NodeDescription
from headgate.executor.substrates.agent.host import HostSettings
from headgate.executor.substrates.agent.inventory import (
    EXECUTOR_LABEL,
    HOSTNAME,
    NodeSettings,
    NvmlInventory,
    describe_host,
)
from headgate.executor.substrates.agent.pod_content import find_podman
from headgate.executor.substrates.agent.pod_template import PodRules
from headgate.settings import from_environment

CLUSTER_QUEUE = configured_kinds()["ClusterQueue"]

LOCAL = "local"
QUEUE = "default"
TOKEN = "local-agent"  # noqa: S105 - the name of a token, not its secret
TOKEN_FILE = "agent-token"  # noqa: S105 - same
NOT_FOUND = 404


def main() -> None:
    """Creates what is missing, and runs the agent until stopped."""
    settings = from_environment()
    connection = find_connection(
        environment=(settings.url, settings.token),
        cacert=str(settings.cacert or ""),
        home=Path.home(),
        directory=settings.directory,
    )
    # Pods may read the environment of processes of their own account.
    os.environ.pop("HEADGATE_TOKEN", None)
    host = HostSettings(
        directory=settings.directory / "agent",
        node=NodeSettings(name=host_name(), executor=LOCAL),
        podman=find_podman(),
        rules=PodRules(
            allow_root=True, allowed_host_paths=("/",), search_path=os.environ.get("PATH", "")
        ),
    )
    try:
        with HeadgateClient(connection, patience_seconds=60.0) as client:
            prepare(client, describe_host(host.node, NvmlInventory().gpus()))
            own = token_of(client, settings.directory / TOKEN_FILE)
        run_agent(replace(connection, token=own, source=TOKEN_FILE), host)
    except Failure as failure:
        raise SystemExit(exit_for(failure).exit_code) from failure


def prepare(client: HeadgateClient, node: NodeDescription) -> None:
    """Creates the Executor of this machine and its queue, at the first start only.

    A ClusterQueue of the same name stays; other ClusterQueues, as those of the demo, do not count,
    since the flavor made here selects this machine alone.
    """
    if _exists(client, f"/v1/executors/{LOCAL}"):
        return
    objects = [executor()]
    if not _exists(client, f"{CLUSTER_QUEUE.path('')}/{QUEUE}"):
        objects += queue(node)
    configure(client, objects)


def executor() -> Object:
    """Returns the Executor of this machine: it selects the node by the agent's own label."""
    return _ours("Executor", LOCAL, {"nodeSelector": {EXECUTOR_LABEL: LOCAL}})


def queue(node: NodeDescription) -> list[Object]:
    """Returns a namespace and its queue, with all that this machine has as quota.

    Pods count too, so that a pod without requests has a flavor, and by that a node.
    """
    quotas = [{"name": name, "nominalQuota": quantity} for name, quantity in node.capacity.items()]
    flavor = {"nodeLabels": {EXECUTOR_LABEL: LOCAL}, "topologyName": LOCAL}
    group = {
        "coveredResources": [each["name"] for each in quotas],
        "flavors": [{"name": LOCAL, "resources": quotas}],
    }
    cluster_queue = {
        "namespaceSelector": {},
        "preemption": {"withinClusterQueue": "LowerPriority"},
        "resourceGroups": [group],
    }
    return [
        named("Topology", LOCAL, spec={"levels": [{"nodeLabel": HOSTNAME}]}),
        named("ResourceFlavor", LOCAL, spec=flavor),
        named("ClusterQueue", QUEUE, spec=cluster_queue),
        named("Namespace", DEFAULT_NAMESPACE),
        named("LocalQueue", QUEUE, namespace=DEFAULT_NAMESPACE, spec={"clusterQueue": QUEUE}),
    ]


def token_of(client: HeadgateClient, path: Path) -> str:
    """Returns the agent's own token, created anew where its file was lost."""
    if path.is_file():
        return path.read_text().strip()
    if any(each["name"] == TOKEN for each in client.read("/v1/tokens")["items"]):
        client.remove(f"/v1/tokens/{TOKEN}")
    created = client.act("/v1/tokens", {"name": TOKEN, "role": "executor", "executor": LOCAL})
    path.touch(mode=0o600)
    path.write_text(str(created["secret"]))
    return str(created["secret"])


def _ours(kind: str, name: str, spec: Object) -> Object:
    return {"apiVersion": "headgate.dev/v1", "kind": kind, "metadata": {"name": name}, "spec": spec}


def _exists(client: HeadgateClient, path: str) -> bool:
    try:
        client.read(path)
    except ServerProblem as problem:
        if problem.problem.status != NOT_FOUND:
            raise
        return False
    return True


if __name__ == "__main__":
    main()
