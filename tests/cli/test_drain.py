"""`headgate drain` of nodes and executors: what it would do, the drain itself, and its end."""

import pytest

from headgate.client.executors import ExecutorClient
from headgate.client.transport import Connection
from tests.cli.invocation import Invoker

NODE = "apiVersion: v1\nkind: Node\nmetadata: {name: old-fan}\nstatus: {allocatable: {cpu: 2}}\n"

PLACED = """
apiVersion: kueue.x-k8s.io/v1beta2
kind: Topology
metadata: {name: hosts}
spec: {levels: [{nodeLabel: kubernetes.io/hostname}]}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: placed}
spec: {nodeLabels: {pool: placed}, topologyName: hosts}
---
apiVersion: v1
kind: Namespace
metadata: {name: default}
---
apiVersion: v1
kind: Node
metadata: {name: only-host, labels: {pool: placed}}
status: {allocatable: {cpu: 4, pods: 20}}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: placed}
spec:
  namespaceSelector: {}
  resourceGroups:
  - coveredResources: [cpu]
    flavors: [{name: placed, resources: [{name: cpu, nominalQuota: 4}]}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: placed, namespace: default}
spec: {clusterQueue: placed}
"""
ANYWHERE = ("--unconstrained-topology",)


@pytest.fixture(autouse=True)
def _a_node(headgate: Invoker) -> None:
    headgate("apply", "-f", "-", given=NODE)
    headgate("node", "uncordon", "old-fan")


def test_a_dry_run_lists_pod_moves_and_changes_nothing(headgate: Invoker) -> None:
    told = headgate("node", "drain", "old-fan", "--dry-run").stdout

    assert "node/old-fan would be draining (dry run)" in told
    assert headgate.json("node", "drain", "old-fan", "--dry-run")["workloads"] == []
    assert "draining" not in headgate.json("get", "node", "old-fan").get("spec", {})


def test_describing_a_node_lists_its_workloads_and_their_next_placement(headgate: Invoker) -> None:
    headgate("apply", "-f", "-", given=PLACED)
    headgate("submit", "--queue", "placed", "--name", "here", "--cpu", "1", "--wait", *ANYWHERE)

    told = headgate("describe", "node", "only-host").stdout

    assert "Workloads on this node" in told
    assert told.split("default/here")[1].split()[:2] == ["1", "Evicted"]
    assert "Workloads on this node" not in headgate("describe", "node", "old-fan").stdout


def test_a_drain_holds_until_the_node_is_uncordoned(headgate: Invoker) -> None:
    assert "node/old-fan draining" in headgate("node", "drain", "old-fan").stdout
    assert headgate.json("get", "node", "old-fan")["spec"]["draining"] is True

    headgate("node", "uncordon", "old-fan")

    assert "draining" not in headgate.json("get", "node", "old-fan").get("spec", {})


EXECUTOR = """
apiVersion: headgate.dev/v1
kind: Executor
metadata: {name: rack}
spec: {nodeSelector: {pool: rack}}
"""


def test_an_executor_is_drained_with_all_its_nodes_after_a_preview(
    headgate: Invoker, connection: Connection
) -> None:
    headgate("apply", "-f", "-", given=EXECUTOR)
    with ExecutorClient(connection, "rack") as executor:
        executor.claim(version="1", capabilities=(), boot_id="")
        labels = {"pool": "rack"}
        names = ("rack-1", "rack-2")
        executor.register_nodes(
            [{"name": name, "capacity": {"cpu": 1}, "labels": labels} for name in names]
        )

    preview = headgate("drain", "executor/rack", "--dry-run").stdout
    assert "executor/rack would be draining (dry run)" in preview
    assert headgate.json("node", "drain", "executor/rack", "--dry-run")["nodes"] == list(names)
    assert "draining" not in headgate.json("get", "node", "rack-1").get("spec", {})
    assert "executor/rack draining" in headgate("drain", "executor/rack", "--reason", "x").stdout
    for name in names:
        assert headgate.json("get", "node", name)["spec"]["draining"] is True
    assert "executor/rack uncordoned" in headgate("uncordon", "executor/rack").stdout
    assert "draining" not in headgate.json("get", "node", "rack-2").get("spec", {})
