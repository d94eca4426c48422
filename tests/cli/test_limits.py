"""LimitRanges and RuntimeClasses from the command line, applied with the work they are for."""

from tests.cli.invocation import Invoker

TEAM = """
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: plain}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: small}
spec:
  namespaceSelector: {}
  resourceGroups:
  - coveredResources: [cpu]
    flavors:
    - {name: plain, resources: [{name: cpu, nominalQuota: 4}]}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: main, namespace: team}
spec: {clusterQueue: small}
---
apiVersion: v1
kind: LimitRange
metadata: {name: sizes, namespace: team}
spec:
  limits:
  - {type: Container, defaultRequest: {cpu: 500m}, max: {cpu: 2}}
---
apiVersion: node.k8s.io/v1
kind: RuntimeClass
metadata: {name: sandboxed}
handler: sandboxed
overhead: {podFixed: {cpu: 250m}}
scheduling: {nodeSelector: {runtime: gvisor}}
"""
JOB = """
apiVersion: batch/v1
kind: Job
metadata: {name: NAME, namespace: team, labels: {kueue.x-k8s.io/queue-name: main}}
spec:
  parallelism: 2
  template:
    spec:
      runtimeClassName: sandboxed
      restartPolicy: Never
      containers:
      - {name: main, image: train, resources: {requests: {REQUESTS}}}
"""


def job(name: str, requests: str = "") -> str:
    return JOB.replace("NAME", name).replace("REQUESTS", requests)


def test_a_team_with_a_range_gets_what_it_left_out_and_is_told_what_is_too_much(
    headgate: Invoker,
) -> None:
    headgate("apply", "-f", "-", given=f"{TEAM}---{job('silent')}")
    shown = headgate("get", "limits", "-n", "team").stdout
    assert "sizes" in shown
    assert "Container cpu=2" in shown
    assert "cpu=250m" in headgate("get", "runtimeclass", "sandboxed").stdout
    assert "runtime=gvisor" in headgate("get", "runtimeclass", "-o", "wide").stdout
    headgate("wait", "silent", "-n", "team", "--for", "condition=Admitted", "--timeout", "180s")
    read = headgate.json("get", "wl", "silent", "-n", "team")
    (given,) = read["status"]["admission"]["podSetAssignments"]
    assert given["resourceUsage"]["cpu"] == "1500m"
    refused = headgate("apply", "-f", "-", given=job("greedy", "cpu: 3"), code=8)
    assert "at most 2 CPU" in refused.output
    assert "/spec/template/spec/containers/0" in refused.output
