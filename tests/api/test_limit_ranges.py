"""LimitRanges and RuntimeClasses over REST: what they give, what they refuse, what stays."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.api.callers import Api, cluster_queue, flavor, local_queue, workload

HERE = "/v1/namespaces/team-a"
RANGE: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "LimitRange",
    "metadata": {"name": "sizes", "namespace": "team-a"},
    "spec": {
        "limits": [{"type": "Container", "defaultRequest": {"cpu": "500m"}, "max": {"cpu": "2"}}]
    },
}
RUNTIME: dict[str, Any] = {
    "apiVersion": "node.k8s.io/v1",
    "kind": "RuntimeClass",
    "metadata": {"name": "sandboxed"},
    "handler": "sandboxed",
    "overhead": {"podFixed": {"cpu": "250m"}},
    "scheduling": {
        "nodeSelector": {"runtime": "gvisor"},
        "tolerations": [{"key": "sandbox", "operator": "Exists"}],
    },
}


def asking(name: str, **requests: str) -> dict[str, Any]:
    """A workload of two sandboxed pods of one container each."""
    made = workload(name)
    pod = made["spec"]["podSets"][0]["template"]["spec"]
    pod["containers"][0]["resources"] = {"requests": requests} if requests else {}
    pod["runtimeClassName"] = "sandboxed"
    return made


@pytest.fixture(scope="module", autouse=True)
def _furnished(admin: Api) -> None:
    for path, body in (
        ("/v1/resourceflavors", flavor()),
        ("/v1/clusterqueues", cluster_queue("gpu")),
        (f"{HERE}/localqueues", local_queue("main", "gpu")),
        (f"{HERE}/limitranges", RANGE),
        ("/v1/runtimeclasses", RUNTIME),
    ):
        made = admin.post(path, body)
        assert made.status_code == 201, made.text


def test_a_workload_is_charged_and_run_with_what_it_left_to_its_namespace_and_runtime(
    admin: Api, schedule: Callable[[], int]
) -> None:
    made = admin.post(f"{HERE}/workloads", asking("silent"))
    assert made.status_code == 201, made.text
    read = admin.caught_up(f"{HERE}/workloads/silent", schedule()).json()
    pod = read["spec"]["podSets"][0]["template"]["spec"]
    assert pod["overhead"] == {"cpu": "250m"}
    assert pod["containers"][0]["resources"] == {
        "requests": {"cpu": "500m"},
        "limits": {"cpu": "2"},
    }
    (given,) = read["status"]["admission"]["podSetAssignments"]
    assert given["resourceUsage"]["cpu"] == "1500m"
    assert pod["nodeSelector"] == RUNTIME["scheduling"]["nodeSelector"]
    assert pod["tolerations"] == RUNTIME["scheduling"]["tolerations"]


def test_pods_that_want_other_nodes_than_their_runtime_are_refused(admin: Api) -> None:
    torn = asking("torn")
    torn["spec"]["podSets"][0]["template"]["spec"]["nodeSelector"] = {"runtime": "runc"}
    refused = admin.post(f"{HERE}/workloads", torn)
    assert refused.status_code == 422
    (error,) = refused.json()["errors"]
    assert error["pointer"] == "/spec/podSets/0/template/spec/nodeSelector/runtime"
    assert error["rule"] == "RuntimeClass sandboxed requires runtime=gvisor"


def test_a_runtime_shows_which_nodes_have_it(admin: Api) -> None:
    shown = admin.get("/v1/runtimeclasses/sandboxed").json()
    assert shown["scheduling"] == RUNTIME["scheduling"]


def test_containers_beyond_the_range_are_refused_where_they_stand(admin: Api) -> None:
    refused = admin.post(f"{HERE}/workloads", asking("greedy", cpu="3"))
    assert refused.status_code == 422
    (error,) = refused.json()["errors"]
    assert error["pointer"] == "/spec/podSets/0/template/spec/containers/0/resources"
    assert "at most 2 CPU" in error["rule"]


def test_applying_a_workload_again_changes_nothing_although_its_range_is_another(
    admin: Api,
) -> None:
    admin.post(f"{HERE}/workloads", asking("steady"))
    wider = {**RANGE, "spec": {"limits": [{"type": "Container", "max": {"cpu": "3"}}]}}
    changed = admin.put(f"{HERE}/limitranges/sizes", wider, If_Match="*")
    assert changed.status_code == 200, changed.text
    before = admin.get(f"{HERE}/workloads/steady")
    for body in (asking("steady"), before.json()):
        body["metadata"].pop("resourceVersion", None)
        again = admin.put(f"{HERE}/workloads/steady", body, If_Match="*")
        assert again.headers["etag"] == before.headers["etag"], again.text
    admin.put(f"{HERE}/limitranges/sizes", RANGE, If_Match="*")


def test_a_range_has_a_history_with_actors(admin: Api) -> None:
    path = f"{HERE}/limitranges/sizes"
    before = admin.get(path).json()
    wider = {**RANGE, "spec": {"limits": [{"type": "Pod", "max": {"cpu": "64"}}]}}
    admin.put(path, wider, If_Match="*")
    restored = admin.put(path, RANGE, If_Match="*")
    position = before["metadata"]["resourceVersion"]
    then = admin.get(f"{path}?at={position}")
    assert then.json()["spec"] == before["spec"] == restored.json()["spec"]
    history = admin.get("/v1/history?stream=limitrange%2Fteam-a%2Fsizes")
    newest, older = history.json()["items"][:2]
    assert (newest["actor"], older["actor"]) == ("user:admin", "user:admin")
    assert newest["differences"], newest
