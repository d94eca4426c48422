"""`topology` against a real server: free capacity, fitting pods and blocking holders."""

from headgate.client.client import HeadgateClient
from tests.cli.invocation import Invoker

HOST = "kubernetes.io/hostname"
HOSTS = f"""
apiVersion: kueue.x-k8s.io/v1beta2
kind: Topology
metadata: {{name: machines}}
spec: {{levels: [{{nodeLabel: room/rack}}, {{nodeLabel: {HOST}}}]}}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {{name: machines}}
spec: {{nodeLabels: {{pool: machines}}, topologyName: machines}}
---
apiVersion: v1
kind: Namespace
metadata: {{name: default}}
---
apiVersion: v1
kind: Node
metadata: {{name: m1, labels: {{pool: machines, room/rack: r1}}}}
status: {{allocatable: {{cpu: "8", pods: "20"}}}}
---
apiVersion: v1
kind: Node
metadata: {{name: m2, labels: {{pool: machines, room/rack: r2}}}}
spec: {{unschedulable: true}}
status: {{allocatable: {{cpu: "8", pods: "20"}}}}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {{name: machines}}
spec:
  namespaceSelector: {{}}
  resourceGroups:
  - coveredResources: [cpu]
    flavors:
    - {{name: machines, resources: [{{name: cpu, nominalQuota: 4}}]}}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {{name: machines, namespace: default}}
spec: {{clusterQueue: machines}}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: Workload
metadata: {{name: gang, namespace: default}}
spec:
  queueName: machines
  podSets:
  - name: main
    count: 12
    template:
      spec: {{containers: [{{name: c, resources: {{requests: {{cpu: "1"}}}}}}]}}
    topologyRequest: {{required: room/rack}}
"""


def test_a_topology_is_shown_with_what_is_free_and_what_would_fit(
    headgate: Invoker, client: HeadgateClient
) -> None:
    headgate("apply", "-f", "-", given=HOSTS)
    # The map is of the state that the server follows the log with.
    client.read("/v1/topologies/machines/map", {"minPosition": str(client.head())})
    shown = headgate("topology", "machines").stdout
    assert "r1: 8 of 8 CPU free; 1 of 1 hosts ready" in shown
    assert "m1" not in shown
    assert "m2: 0 of 8 CPU free; cordoned" in headgate("topology", "machines", "--hosts").stdout
    (rack, host) = headgate.json("topology", "machines", "--pod", "cpu=2")["fits"]
    assert (rack["largest"], rack["domain"], host["largest"]) == (4, ["r1"], 4)
    assert "r1" in headgate("topology", "--pod", "cpu=2").stdout
    history = headgate.json("topology", "machines", "--history", "--pod", "cpu=2")["points"]
    assert [fit["largest"] for fit in history[-1]["fits"]] == [4, 4]
    told = headgate("topology", "--history").stdout
    assert history[0]["fits"] == []
    assert told.splitlines()[0].split()[:3] == ["AT", "FLAVOR", "LEVEL"]
    assert told.splitlines()[-1].split()[1:3] == ["machines", HOST]
    headgate("topology", "--near", "default/gang", "--history", code=2)
    near = headgate("topology", "--near", "default/gang").stdout
    assert "r1" in near
    assert "12 pods" in near
    headgate("drain", "node/m1", "--dry-run")
    assert not headgate.json("get", "node/m1").get("spec", {}).get("unschedulable")
    headgate("drain", "node/m1", "--reason", "new memory")
    assert headgate.json("get", "node/m1")["spec"]["unschedulable"]
    headgate("topology", "--near", "default/gang", "--pod", "cpu=1", code=2)
    headgate("topology", "--pod", "cpu", code=8)
