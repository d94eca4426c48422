"""Failed hosts of a workload and its second pass (`pkg/controller/tas`)."""

from collections.abc import Iterator
from typing import Any

from headgate.domain.scheduling.lifecycle.host_watch import needs_second_pass
from headgate.domain.workloads.events import (
    WorkloadHostsFailed,
    WorkloadHostsRecovered,
    WorkloadPodsGone,
)
from headgate.domain.workloads.state import Workload
from tests.conformance.cases import Case
from tests.conformance.comparison import differences
from tests.conformance.families.family import Family
from tests.conformance.installed import Installed

HOST_LEVELS = [{"nodeLabel": "kubernetes.io/hostname"}]
TOPOLOGY = {"metadata": {"name": "hosts"}, "spec": {"levels": HOST_LEVELS}}
FIXED_TIME = "TASReplaceNodeDueToNotReadyOverFixedTime=true"
ALWAYS = "TASReplaceNodeOnPodTermination=false"
"""Whether pods are alive does not matter."""

Given = dict[str, Any]


def failed_nodes(case: Case) -> Iterator[str]:
    """The hosts of a workload that are marked after its nodes and pods were looked at."""
    objects = case.listed("initObjs")
    asked = [request["name"] for request in case.listed("reconcileRequests")]
    installed = Installed()
    timeout = "30s" if {FIXED_TIME, ALWAYS} & set(case.gates) else "Never"
    installed.configure(topology={"notReadyTimeout": timeout})
    _install(installed, case, objects)
    named = case.shared["wlKey"]
    key = f"{named['namespace']}/{named['name']}"
    if key not in installed.cluster_state.workloads:
        yield from differences("unhealthy", case.want["wantUnhealthyNodes"] or [], [])
        return
    empty = [name for name in asked if not any(_is_alive_on(pod, name) for pod in objects)]
    if empty and ALWAYS not in case.gates:
        installed.record(f"workload/{key}", WorkloadPodsGone(hosts=tuple(empty)))
    found = [host for host in _marked(installed, key) if host in asked]
    wanted = [node["name"] for node in case.want["wantUnhealthyNodes"] or ()]
    yield from differences("unhealthy", wanted, found)
    evicted = installed.cluster_state.workloads[key].eviction is not None
    yield from differences("evicted", case.want["wantEvictedCond"] is not None, evicted)


def second_pass(case: Case) -> Iterator[str]:
    """Whether a workload looks for hosts though it holds quota."""
    installed = Installed()
    installed.add("Topology", TOPOLOGY)
    value = case.inputs["wl"]
    status = value.get("status") or {}
    checks = [check["name"] for check in status.get("admissionChecks") or ()]
    for name in checks:
        installed.add("AdmissionCheck", {"metadata": {"name": name}})
    admission = status.get("admission") or {}
    given = [one.get("flavors") or {} for one in admission.get("podSetAssignments") or ()]
    flavors = sorted({flavor for one in given for flavor in one.values()})
    _add_queue(
        installed, admission.get("clusterQueue") or "tas-main", flavors or ["tas-default"], checks
    )
    installed.add("Workload", value)
    (workload,) = installed.cluster_state.workloads.values()
    found = needs_second_pass(installed.cluster_state.config, workload)
    yield from differences("second pass", case.want["want"], found)


def _install(installed: Installed, case: Case, objects: list[Given]) -> None:
    installed.add("Topology", TOPOLOGY)
    flavors: dict[str, Given] = {case.shared["baseResourceFlavor"]["metadata"]["name"]: {}}
    for value in objects:
        if "podSets" in value.get("spec", {}) or "containers" in value.get("spec", {}):
            continue
        if _is_flavor(value):
            flavors[value["metadata"]["name"]] = value["spec"]
            continue
        ready: Given = next(iter((value.get("status") or {}).get("conditions") or ()), {})
        metadata = {**value["metadata"], "creationTimestamp": ready.get("lastTransitionTime")}
        status = {"allocatable": {"cpu": "9", "pods": "9"}, **(value.get("status") or {})}
        installed.add("Node", {**value, "metadata": metadata, "status": status})
    _add_queue(installed, "cq", list(flavors), [], flavors)
    installed.add("Workload", *(v for v in objects if "podSets" in v.get("spec", {})))


def _add_queue(
    installed: Installed,
    name: str,
    flavors: list[str],
    checks: list[str],
    specs: Given | None = None,
) -> None:
    for flavor in flavors:
        own = {**(specs or {}).get(flavor, {}), "topologyName": "hosts"}
        installed.add("ResourceFlavor", {"metadata": {"name": flavor}, "spec": own})
    quotas = [
        {"name": flavor, "resources": [{"name": "cpu", "nominalQuota": "9"}]} for flavor in flavors
    ]
    spec: Given = {
        "namespaceSelector": {},
        "resourceGroups": [{"coveredResources": ["cpu"], "flavors": quotas}],
    }
    if checks:
        spec["admissionChecksStrategy"] = {"admissionChecks": [{"name": each} for each in checks]}
    installed.add("ClusterQueue", {"metadata": {"name": name}, "spec": spec})


def _marked(installed: Installed, key: str) -> list[str]:
    """The hosts that count as lost once everything that follows now has been recorded."""
    watch = installed.partition_of("cq").watch
    workload: Workload = installed.cluster_state.workloads[key]
    marked = list(workload.unhealthy_nodes)
    for event in watch.host_events(workload, installed.at) if key in watch.placed else ():
        match event:
            case WorkloadHostsFailed():
                marked = list(event.hosts)
            case WorkloadHostsRecovered():
                marked = []
            case _:
                pass
    return marked


def _is_flavor(value: Given) -> bool:
    return (
        "status" not in value
        and {"tolerations", "nodeLabels"} & set(value.get("spec", {})) != set()
    )


def _is_alive_on(pod: Given, node: str) -> bool:
    """Whether it is a pod that runs or is about to run there and is not on its way out."""
    if "containers" not in pod.get("spec", {}) or pod["spec"].get("nodeName") != node:
        return False
    ended = (pod.get("status") or {}).get("phase") in {"Succeeded", "Failed"}
    return not ended and "deletionTimestamp" not in pod["metadata"]


def _knows(case: Case, gate: str) -> bool:
    return gate in {FIXED_TIME, ALWAYS}


FAMILIES = {
    "TestNodeFailureReconciler": Family(
        failed_nodes,
        _knows,
        {
            "inputs.ignoreUnhealthyNodes": "the fixture's list of lost nodes, as the status has it",
            "want.wantPatchedPods": "pods are stopped by the executor",
            "want.wantRequeue": "when Kueue looks again",
            "shared.nodeName": "the objects name it",
            "shared.nsName": "the objects name it",
            "shared.wlName": "part of its key",
            "shared.testStartTime": "the clock of every test",
        },
    )
}
WORKLOAD_FAMILIES = {"TestNeedsSecondPass": Family(second_pass)}
