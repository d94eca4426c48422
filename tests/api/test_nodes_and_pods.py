"""Nodes drain and fail, and executors place pods and hear where those of a lost host go."""

from collections.abc import Callable
from typing import Any

import pytest

from headgate.client.schemas import domains_of
from tests.api.callers import KUEUE, Api, flavor, local_queue

HERE = "/v1/namespaces/team-a/workloads"
HOST = "kubernetes.io/hostname"


def manifest(kind: str, name: str, spec: dict[str, Any], **more: Any) -> dict[str, Any]:
    version = "v1" if kind == "Node" else KUEUE
    metadata = {"name": name, **more.pop("metadata", {})}
    return {"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec, **more}


def node(name: str) -> dict[str, Any]:
    labels = {"pool": "drained", "rack": "r1", HOST: name}
    status = {"allocatable": {"cpu": "2", "pods": "9"}}
    return manifest("Node", name, {}, metadata={"labels": labels}, status=status)


def gang(count: int) -> dict[str, Any]:
    pod = {"containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}]}
    request = {"required": "rack", "podIndexLabel": "index"}
    return {"name": "main", "count": count, "template": {"spec": pod}, "topologyRequest": request}


@pytest.fixture(scope="module", autouse=True)
def _racks(admin: Api) -> None:
    levels = {"levels": [{"nodeLabel": "rack"}, {"nodeLabel": HOST}]}
    admin.post("/v1/topologies", manifest("Topology", "racks", levels))
    admin.post(
        "/v1/resourceflavors", flavor("gpu", topologyName="racks", nodeLabels={"pool": "drained"})
    )
    quota = {"name": "gpu", "resources": [{"name": "cpu", "nominalQuota": "9"}]}
    groups = [{"coveredResources": ["cpu"], "flavors": [quota]}]
    spec = {"resourceGroups": groups, "namespaceSelector": {}}
    admin.post("/v1/clusterqueues", manifest("ClusterQueue", "racks", spec))
    admin.post("/v1/namespaces/team-a/localqueues", local_queue("racks", "racks"))
    for name in ("n1", "n2", "n3"):
        made = admin.post("/v1/nodes", node(name))
        assert made.status_code == 201, made.text


@pytest.fixture
def running(submitted: Callable[..., dict[str, Any]]) -> Callable[[str, int], dict[str, Any]]:
    def run(name: str, count: int) -> dict[str, Any]:
        found = submitted(name, "racks", podSets=[gang(count)])
        assert found["status"]["phase"] == "Starting", found["status"]
        return found

    return run


def hosts_of(found: dict[str, Any]) -> dict[str, int]:
    (given,) = found["status"]["admission"]["podSetAssignments"]
    return {values[-1]: pods for values, pods in domains_of(given["topologyAssignment"])}


def test_each_pod_is_told_its_place_by_rank(
    admin: Api, callers: dict[str, Api], running: Callable[[str, int], dict[str, Any]]
) -> None:
    executor = callers["executor"]
    uid = running("ranked", 3)["metadata"]["uid"]
    pods = [{"name": f"p{rank}", "labels": {"index": str(rank)}} for rank in (2, 0, 1)]

    told = executor.post(f"{HERE}/ranked/pod-places", {"uid": uid, "pods": pods})

    assert told.status_code == 200, told.text
    places = {each["pod"]: each["nodeSelector"][HOST] for each in told.json()["places"]}
    assert places == {"p2": "n2", "p0": "n1", "p1": "n1"}
    nobody = executor.post(f"{HERE}/ranked/pod-places", {"uid": uid, "podSet": "x", "pods": []})
    assert nobody.status_code == 404
    executor.post(f"{HERE}/ranked/finished", {"uid": uid, "succeeded": True})


def test_a_workload_is_read_in_both_versions_of_kueue(
    admin: Api, callers: dict[str, Api], running: Callable[[str, int], dict[str, Any]]
) -> None:
    found = running("versions", 3)
    old = "kueue.x-k8s.io/v1beta1"
    one = admin.get(f"{HERE}/versions?apiVersion={old}").json()
    page = admin.get(f"{HERE}?apiVersion={old}&name=versions").json()
    for shown in (one, page["items"][0]):
        (given,) = shown["status"]["admission"]["podSetAssignments"]
        domains = given["topologyAssignment"]["domains"]
        assert {each["values"][-1]: each["count"] for each in domains} == hosts_of(found)
        assert shown["apiVersion"] == page["apiVersion"] == old
    (given,) = found["status"]["admission"]["podSetAssignments"]
    assert set(given["topologyAssignment"]) == {"levels", "slices"}
    assert admin.get(f"{HERE}/versions?apiVersion=kueue.x-k8s.io/v1").status_code == 422
    finished = {"uid": found["metadata"]["uid"], "succeeded": True}
    callers["executor"].post(f"{HERE}/versions/finished", finished)


def test_a_drain_is_previewed_and_then_moves_the_workloads_of_the_node(
    admin: Api,
    callers: dict[str, Api],
    running: Callable[[str, int], dict[str, Any]],
    schedule: Callable[[], int],
) -> None:
    found = running("drained", 4)
    uid = found["metadata"]["uid"]
    assert hosts_of(found) == {"n1": 2, "n2": 2}

    preview = admin.get("/v1/nodes/n1/drain-preview").json()
    assert preview["workloads"] == [
        {
            "workload": "team-a/drained",
            "pods": 2,
            "outcome": "Moves",
            "hosts": [{"host": "n3", "pods": 2}],
            "reason": "",
            "code": "",
            "arguments": {},
        }
    ]
    drained = admin.post("/v1/nodes/n1/drain", {"reason": "new fans"})
    assert drained.json()["spec"]["draining"] is True
    position = schedule()

    after = admin.caught_up(f"{HERE}/drained", position).json()
    assert hosts_of(after) == {"n2": 2, "n3": 2}
    back = admin.post("/v1/nodes/n1/uncordon", {})
    assert "draining" not in back.json()["spec"]
    callers["executor"].post(f"{HERE}/drained/finished", {"uid": uid, "succeeded": True})


def test_pods_gone_from_a_cordoned_host_are_started_elsewhere(
    admin: Api,
    callers: dict[str, Api],
    running: Callable[[str, int], dict[str, Any]],
    schedule: Callable[[], int],
) -> None:
    executor = callers["executor"]
    uid = running("gone", 4)["metadata"]["uid"]
    admin.post("/v1/nodes/n1/cordon", {})

    told = executor.post(f"{HERE}/gone/pods-gone", {"uid": uid, "hosts": ["n1"]})

    assert told.status_code == 200, told.text
    after = admin.caught_up(f"{HERE}/gone", schedule()).json()
    assert hosts_of(after) == {"n2": 2, "n3": 2}
    admin.post("/v1/nodes/n1/uncordon", {})
    executor.post(f"{HERE}/gone/finished", {"uid": uid, "succeeded": True})


def test_a_heartbeat_within_the_lease_is_not_written_down_again(
    admin: Api, callers: dict[str, Api]
) -> None:
    beat = {"ready": True, "allocatable": {"cpu": "2", "pods": "9"}, "leaseSeconds": 600}
    first = callers["executor"].post("/v1/nodes/n3/heartbeat", beat)
    assert first.json()["status"]["leaseSeconds"] == 600

    second = callers["executor"].post("/v1/nodes/n3/heartbeat", beat)

    version = "resourceVersion"
    assert second.json()["metadata"][version] == first.json()["metadata"][version]
    wrong = callers["executor"].post("/v1/nodes/n3/heartbeat", {**beat, "leaseSeconds": -1})
    assert wrong.status_code == 422
    assert wrong.json()["errors"][0]["pointer"] == "/leaseSeconds"


def test_the_preview_of_a_node_that_is_not_there_is_refused(admin: Api) -> None:
    assert admin.get("/v1/nodes/nowhere/drain-preview").status_code == 404
