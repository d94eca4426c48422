"""A preemption that takes some pods of a workload, over REST."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.api.callers import Api, flavor, local_queue, open_queue
from tests.api.test_nodes_and_pods import HOST, hosts_of, manifest

HERE = "/v1/namespaces/team-a/workloads"
POD = {"spec": {"containers": [{"name": "main", "resources": {"requests": {"cpu": "1"}}}]}}
SINGLE = [{"name": "main", "count": 4, "disruptionMode": "Pod", "template": POD}]
SOFT = {"mode": "Soft", "gracePeriodSeconds": 300, "handler": "ckpt"}


@pytest.fixture(scope="module", autouse=True)
def _queues(admin: Api) -> None:
    lower = {"withinClusterQueue": "LowerPriority"}
    for name in ("shrinks", "called"):
        open_queue(admin, name, cpu="4", preemption=lower)


def test_an_executor_stops_the_last_pods_and_the_rest_continues(
    admin: Api,
    callers: dict[str, Api],
    schedule: Callable[[], int],
    submitted: Callable[..., dict[str, Any]],
) -> None:
    executor = callers["executor"]
    low = submitted("low", "shrinks", podSets=SINGLE)
    assert low["spec"]["podSets"][0]["disruptionMode"] == "Single"
    submitted("high", "shrinks", priority=9)
    assignments = executor.get("/v1/assignments").json()["items"]
    (told,) = [one for one in assignments if one["workload"] == "team-a/low"]
    gone = [{"name": "main", "going": 2, "staying": 2, "indices": "2-3"}]
    (asked,) = told["shrinking"]
    assert asked["podSets"] == gone
    (listed,) = executor.get("/v1/evictions").json()["items"]
    assert (listed["workload"], listed["podSets"]) == ("team-a/low", gone)
    status = admin.get(f"{HERE}/low").json()["status"]
    assert (status["phase"], status["shrinking"][0]["podSets"]) == ("Starting", gone)

    explained = admin.get(f"{HERE}/low/explanation").json()
    assert explained["sentence"] == (
        "Running; some pods are being evicted: 2 of main (indices 2-3)"
    )

    (found,) = admin.get("/v1/preemptions?clusterQueue=shrinks").json()["items"]
    (victim,) = found["victims"]
    assert (victim["pods"], victim["shrinksTo"], victim["stage"]) == (2, {"main": 2}, "Requested")
    assert victim["indices"] == {"main": "2-3"}
    at = f"{HERE}/low/evictions/{listed['eviction']['id']}"
    uid = low["metadata"]["uid"]
    assert executor.post(f"{at}/stopped", {"uid": uid}).status_code == 200

    position = schedule()
    after = admin.caught_up(f"{HERE}/low", position).json()["status"]
    assert "shrinking" not in after
    assert after["admission"]["podSetAssignments"][0]["count"] == 2
    assert admin.caught_up(f"{HERE}/high", position).json()["status"]["phase"] == "Starting"
    (ended,) = admin.caught_up("/v1/preemptions?clusterQueue=shrinks", position).json()["items"]
    assert (ended["stage"], ended["victims"][0]["stage"]) == ("Completed", "Released")
    titles = [one["title"] for one in admin.get(f"{HERE}/low/timeline").json()["entries"]]
    assert "Pods evicted: 2 pods of main (indices 2-3)" in titles
    assert "Continues with 2 pods of main" in titles


@pytest.fixture(scope="module")
def _hosts(admin: Api) -> None:
    """Three racks with a host for two pods each."""
    levels = {"levels": [{"nodeLabel": "rack"}, {"nodeLabel": HOST}]}
    admin.post("/v1/topologies", manifest("Topology", "racked", levels))
    labels = {"pool": "racked"}
    admin.post("/v1/resourceflavors", flavor("racked", topologyName="racked", nodeLabels=labels))
    quota = {"name": "racked", "resources": [{"name": "cpu", "nominalQuota": "6"}]}
    groups = [{"coveredResources": ["cpu"], "flavors": [quota]}]
    spec = {"resourceGroups": groups, "namespaceSelector": {}}
    lower = {"preemption": {"withinClusterQueue": "LowerPriority"}}
    admin.post("/v1/clusterqueues", manifest("ClusterQueue", "racked", spec | lower))
    admin.post("/v1/namespaces/team-a/localqueues", local_queue("racked", "racked"))
    for number in range(3):
        name = f"racked-{number}"
        metadata = {"labels": {**labels, "rack": f"rack-{number}", HOST: name}}
        status = {"allocatable": {"cpu": "2", "pods": "9"}}
        made = admin.post("/v1/nodes", manifest("Node", name, {}, metadata=metadata, status=status))
        assert made.status_code == 201, made.text


@pytest.mark.usefixtures("_hosts")
def test_the_pods_on_the_host_that_the_preemptor_needs_are_named_and_stop(
    admin: Api,
    callers: dict[str, Api],
    schedule: Callable[[], int],
    submitted: Callable[..., dict[str, Any]],
) -> None:
    anywhere = {"topologyRequest": {"unconstrained": True}}
    low = submitted("wide", "racked", podSets=[{**SINGLE[0], "count": 6, **anywhere}])
    container = {"name": "main", "resources": {"requests": {"cpu": "2"}}}
    there = {"spec": {"containers": [container], "nodeSelector": {"rack": "rack-1"}}}
    needs = {"name": "main", "count": 1, "template": there, **anywhere}
    submitted("narrow", "racked", priority=9, podSets=[needs])

    gone = [{"name": "main", "going": 2, "staying": 4, "indices": "2-3"}]
    (listed,) = callers["executor"].get("/v1/evictions").json()["items"]
    assert (listed["workload"], listed["podSets"]) == ("team-a/wide", gone)
    (found,) = admin.get("/v1/preemptions?clusterQueue=racked").json()["items"]
    assert found["victims"][0]["indices"] == {"main": "2-3"}

    at = f"{HERE}/wide/evictions/{listed['eviction']['id']}"
    told = callers["executor"].post(f"{at}/stopped", {"uid": low["metadata"]["uid"]})
    assert told.status_code == 200
    position = schedule()
    after = admin.caught_up(f"{HERE}/wide", position).json()
    assert hosts_of(after) == {"racked-0": 2, "racked-2": 2}
    assert hosts_of(admin.get(f"{HERE}/narrow").json()) == {"racked-1": 1}
    explained = admin.get(f"{HERE}/wide/explanation").json()["sentence"]
    assert explained.endswith("start again once there is room: 2 of main (indices 2-3)")


def test_a_cancelled_eviction_and_a_forced_one_are_distinguished(
    admin: Api,
    callers: dict[str, Api],
    schedule: Callable[[], int],
    submitted: Callable[..., dict[str, Any]],
) -> None:
    executor = callers["executor"]
    submitted("spared", "called", podSets=[{**SINGLE[0], "count": 2}], evictionPolicy=SOFT)
    hasty = submitted("hasty", "called", priority=-1)["metadata"]["uid"]
    submitted("urgent", "called", priority=9, podSets=[{**SINGLE[0], "count": 3}])
    (found,) = admin.get("/v1/preemptions?clusterQueue=called").json()["items"]
    assert len(found["victims"]) == 2
    assert admin.delete(f"{HERE}/urgent").status_code in {200, 202, 204}
    schedule()
    at = f"{HERE}/hasty/evictions/{found['id']}"
    assert executor.post(f"{at}/stopped", {"uid": hasty}).status_code == 200
    position = schedule()
    (over,) = admin.caught_up("/v1/preemptions?clusterQueue=called", position).json()["items"]
    stages = {each["workload"]: (each["stage"], each["released"]) for each in over["victims"]}
    assert stages == {
        "team-a/spared": ("Cancelled", False),
        "team-a/hasty": ("LeftLater", False),
    }
