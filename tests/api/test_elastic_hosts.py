"""Workloads on hosts grow by a slice that takes over, and shrink in place, over REST."""

from collections.abc import Callable
from typing import Any

import pytest

from headgate.domain.workloads.specs import ELASTIC, REPLACES
from tests.api.callers import Api, flavor, local_queue
from tests.api.test_nodes_and_pods import HERE, HOST, hosts_of, manifest


def elastic(name: str, count: int, replaces: str = "") -> dict[str, Any]:
    pod = {"containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}]}
    request = {"required": "rack"}
    pods = {"name": "main", "count": count, "template": {"spec": pod}, "topologyRequest": request}
    annotations = {ELASTIC: "true", **({REPLACES: replaces} if replaces else {})}
    metadata = {"namespace": "team-a", "annotations": annotations}
    return manifest(
        "Workload", name, {"queueName": "growing", "podSets": [pods]}, metadata=metadata
    )


@pytest.fixture(scope="module", autouse=True)
def _hosts(admin: Api) -> None:
    levels = {"levels": [{"nodeLabel": "rack"}, {"nodeLabel": HOST}]}
    admin.post("/v1/topologies", manifest("Topology", "growing", levels))
    labels = {"pool": "growing"}
    admin.post("/v1/resourceflavors", flavor("growing", topologyName="growing", nodeLabels=labels))
    quota = {"name": "growing", "resources": [{"name": "cpu", "nominalQuota": "9"}]}
    groups = [{"coveredResources": ["cpu"], "flavors": [quota]}]
    spec = {"resourceGroups": groups, "namespaceSelector": {}}
    admin.post("/v1/clusterqueues", manifest("ClusterQueue", "growing", spec))
    admin.post("/v1/namespaces/team-a/localqueues", local_queue("growing", "growing"))
    for name in ("e1", "e2"):
        metadata = {"labels": {**labels, "rack": "r9", HOST: name}}
        status = {"allocatable": {"cpu": "3", "pods": "9"}}
        made = admin.post("/v1/nodes", manifest("Node", name, {}, metadata=metadata, status=status))
        assert made.status_code == 201, made.text


def test_a_workload_grows_beside_its_pods_and_shrinks_from_the_end(
    admin: Api, callers: dict[str, Api], schedule: Callable[[], int]
) -> None:
    executor = callers["executor"]
    admin.post(HERE, elastic("small", 2))
    small = admin.caught_up(f"{HERE}/small", schedule()).json()
    (host,) = hosts_of(small)

    admin.post(HERE, elastic("large", 5, "team-a/small"))
    position = schedule()
    large = admin.caught_up(f"{HERE}/large", position).json()
    assert hosts_of(large) == {"e1": 2, "e2": 3}
    assert admin.get(f"{HERE}/small").json()["status"]["phase"] == "Succeeded"

    uid = large["metadata"]["uid"]
    pods: list[dict[str, Any]] = [{"name": f"old-{n}", "values": [host]} for n in range(2)]
    pods += [{"name": f"new-{n}"} for n in range(3)]
    told = executor.post(f"{HERE}/large/pod-places", {"uid": uid, "pods": pods})
    assert {each["pod"] for each in told.json()["places"]} == {"new-0", "new-1", "new-2"}

    etag = admin.get(f"{HERE}/large").headers["etag"]
    changed = admin.put(f"{HERE}/large", elastic("large", 3, "team-a/small"), If_Match=etag)
    assert changed.status_code == 200, changed.text
    assert hosts_of(changed.json()) == {"e1": 2, "e2": 1}
    events = admin.get("/v1/events?limit=1").json()["items"]
    assert [event["type"] for event in events] == ["workload.scaled_down"]
