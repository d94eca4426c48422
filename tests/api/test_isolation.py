"""What a submitter sees of others: that they are there, and not who they are."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.api.callers import KUEUE, Api, cluster_queue, flavor, workload

A = "/v1/namespaces/team-a/workloads"
B = "/v1/namespaces/team-b/workloads"
SECRET_NAME = "codename-zeus"
HOST = "kubernetes.io/hostname"


def _node(name: str) -> dict[str, Any]:
    labels = {"pool": "gpu", HOST: name}
    allocatable = {"cpu": "8", "pods": "20"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "status": {"allocatable": allocatable},
    }


def _configuration() -> list[dict[str, Any]]:
    quota = [{"name": "cpu", "nominalQuota": "8"}]
    groups = [{"coveredResources": ["cpu"], "flavors": [{"name": "gpu", "resources": quota}]}]
    preemption = {"withinClusterQueue": "LowerPriority"}
    spec = {"resourceGroups": groups, "namespaceSelector": {}, "preemption": preemption}
    local = [
        {
            "apiVersion": KUEUE,
            "kind": "LocalQueue",
            "metadata": {"name": "main", "namespace": namespace},
            "spec": {"clusterQueue": "shared"},
        }
        for namespace in ("team-a", "team-b")
    ]
    return [
        {
            "apiVersion": KUEUE,
            "kind": "Topology",
            "metadata": {"name": "hosts"},
            "spec": {"levels": [{"nodeLabel": HOST}]},
        },
        flavor("gpu", nodeLabels={"pool": "gpu"}, topologyName="hosts"),
        _node("h1"),
        {"apiVersion": KUEUE, "kind": "ClusterQueue", "metadata": {"name": "shared"}, "spec": spec},
        *local,
    ]


def apply_the_configuration(admin: Api) -> None:
    """One host that two teams share, with preemption by priority."""
    listed = {"apiVersion": "v1", "kind": "List", "items": _configuration()}
    applied = admin.post("/v1/apply", listed)
    assert applied.status_code == 200, applied.text


def placed(name: str, namespace: str, pods: int, priority: int = 0) -> dict[str, Any]:
    """A workload of that many pods of one CPU on one host."""
    body = workload(name, namespace, priority=priority)
    pod_set = body["spec"]["podSets"][0]
    pod_set["count"] = pods
    pod_set["topologyRequest"] = {"required": HOST}
    return body


@pytest.fixture(scope="module", autouse=True)
def position(admin: Api, schedule: Callable[[], int]) -> int:
    """team-b holds all there is; team-a waits for it, and team-b preempts its own for more."""
    apply_the_configuration(admin)
    assert admin.post(B, placed(SECRET_NAME, "team-b", 8)).status_code == 201
    schedule()
    assert admin.post(A, placed("mine", "team-a", 4)).status_code == 201
    schedule()
    assert admin.post(B, placed(f"{SECRET_NAME}-2", "team-b", 8, priority=9)).status_code == 201
    reached = schedule()
    assert admin.caught_up("/v1/queues", reached).status_code == 200
    return reached


PATHS = (
    f"{A}/mine", f"{A}/mine/explanation", f"{A}/mine/timeline", "/v1/workloads", "/v1/queues",
    "/v1/overview", "/v1/events?limit=1000", "/v1/preemptions", "/v1/assignments",
    "/v1/topologies/hosts/map", "/v1/clusterqueues/shared/pendingworkloads", "/v1/localqueues",
    "/v1/clusterqueues/shared", "/v1/events?stream=workload/team-b/",
    f"/v1/events?stream=workload/team-b/{SECRET_NAME}", "/v1/namespaces",
    "/v1/nodes/h1/allocation", "/v1/topologies/hosts/workloads",
)  # fmt: skip


@pytest.mark.parametrize("path", PATHS)
def test_the_names_of_others_are_nowhere(callers: dict[str, Api], path: str) -> None:
    answer = callers["submitter"].get(path)
    assert answer.status_code == 200, answer.text
    assert SECRET_NAME not in answer.text


def test_what_belongs_together_is_counted_without_that_of_others(
    callers: dict[str, Api], admin: Api
) -> None:
    for path, namespace in ((A, "team-a"), (B, "team-b")):
        made = admin.post(path, workload("together", namespace), X_Request_Id="mixed")
        assert made.status_code == 201
    asked = "/v1/events?correlation=mixed&groups=true"
    for caller, number in ((admin, 2), (callers["submitter"], 1)):
        (group,) = caller.get(asked).json()["groups"]
        assert (group["types"], group["objects"]) == ({"workload.submitted": number}, number)


def test_objects_of_others_are_not_counted(callers: dict[str, Api], admin: Api) -> None:
    found = []
    for caller in (admin, callers["submitter"]):
        told = caller.get("/v1/kinds").json()
        counts = {one["kind"]: one["count"] for one in told["items"]}
        seen = caller.get(f"/v1/localqueues?limit=1000&at={told['position']}").json()["items"]
        assert counts["LocalQueue"] == len(seen)
        found.append(counts["LocalQueue"])
    assert found[0] > found[1] > 0


def test_an_admin_sees_them(admin: Api) -> None:
    seen = [path for path in PATHS if SECRET_NAME in admin.get(path).text]
    assert {"/v1/workloads", "/v1/preemptions", "/v1/topologies/hosts/workloads"} <= set(seen)
    assert f"{A}/mine/explanation" in seen


def test_foreign_holders_are_counted_where_they_block(callers: dict[str, Api]) -> None:
    submitter = callers["submitter"]
    explained = json.dumps(submitter.get(f"{A}/mine/explanation").json())
    assert "of other teams" in explained or "of another team" in explained
    (host,) = submitter.get("/v1/topologies/hosts/workloads").json()["hosts"]
    (guest,) = host["workloads"]
    assert guest["key"] == "1 workload of other teams"
    assert guest["pods"] == 8
    line = submitter.get("/v1/clusterqueues/shared/pendingworkloads").json()["items"]
    names = [item["metadata"]["name"] for item in line]
    assert "mine" in names
    assert submitter.get("/v1/preemptions").json()["items"] == []


def test_the_ledger_tells_both_ways(admin: Api) -> None:
    (found,) = admin.get("/v1/preemptions").json()["items"]
    assert found["preemptor"] == f"team-b/{SECRET_NAME}-2"
    assert [victim["workload"] for victim in found["victims"]] == [f"team-b/{SECRET_NAME}"]
    assert admin.get(f"/v1/preemptions/{found['id']}").json() == found
    for name in (f"{SECRET_NAME}-2", SECRET_NAME):
        listed = admin.get(f"/v1/preemptions?workload=team-b/{name}").json()["items"]
        assert [one["id"] for one in listed] == [found["id"]]
    assert admin.get("/v1/preemptions?workload=team-a/mine").json()["items"] == []
    rule = found["victims"][0]["reason"]
    assert len(admin.get(f"/v1/preemptions?rule={rule}").json()["items"]) == 1
    assert admin.get("/v1/preemptions?rule=InCohortFairSharing").json()["items"] == []


def test_the_map_adds_up(admin: Api) -> None:
    found = admin.get("/v1/topologies/hosts/map").json()
    assert found["levels"] == [HOST]
    assert (found["names"], found["parents"], found["rows"]) == (["h1"], [-1], None)
    assert found["used"]["cpu"][0] * found["units"]["cpu"] == 8000
    assert "cpu" not in found["free"]
    assert (found["ready"], found["cordoned"]) == ([1], [0])
    assert [found["clusterQueues"][queue] for queue in found["queues"]] == ["shared"]


def test_metrics_tell_a_submitter_of_its_own_namespaces_and_queues(
    callers: dict[str, Api], admin: Api
) -> None:
    whole, shown = admin.get("/metrics").text, callers["submitter"].get("/metrics").text
    own = 'kueue_local_queue_pending_workloads{name="main",namespace="team-a"'
    assert own in whole
    assert own in shown
    assert 'namespace="team-b"' in whole
    assert "team-b" not in shown
    assert 'kueue_admitted_active_workloads{cluster_queue="shared",' in shown
    for of_all in ("headgate_findings", "headgate_partition_lag", "kueue_admission_attempts"):
        assert of_all in whole
        assert of_all not in shown


def test_usage_of_the_past_is_shown_of_queues_that_own_namespaces_lead_to(
    callers: dict[str, Api], admin: Api
) -> None:
    made = admin.post("/v1/clusterqueues", cluster_queue("of-others")).json()
    position, submitter = int(made["metadata"]["resourceVersion"]), callers["submitter"]

    assert submitter.get("/v1/clusterqueues/shared/usage").status_code == 200
    others = "/v1/clusterqueues/of-others/usage"
    refused = submitter.caught_up(others, position)
    assert (refused.status_code, refused.json()["code"]) == (403, "ClusterQueueNotGranted")
    assert callers["viewer"].caught_up(others, position).status_code == 200
