"""Configured objects: the same verbs for every kind, with versions seen and unseen."""

from typing import Any

import pytest

from tests.api.callers import KUEUE, Api, cluster_queue, flavor, local_queue

OURS = "headgate.dev/v1"
TRAINER = "trainer.kubeflow.org/v1alpha1"
POD = {"spec": {"containers": [{"name": "node"}]}}
RUNTIME = {
    "template": {
        "spec": {"replicatedJobs": [{"name": "node", "template": {"spec": {"template": POD}}}]}
    }
}


def _named(kind: str, name: str, api_version: str = KUEUE, **fields: Any) -> dict[str, Any]:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name}, **fields}


EXAMPLES: dict[str, dict[str, Any]] = {
    "resourceflavors": flavor("default"),
    "clusterqueues": cluster_queue("cq"),
    "cohorts": _named("Cohort", "pool", spec={}),
    "topologies": _named("Topology", "racks", spec={"levels": [{"nodeLabel": "rack"}]}),
    "workloadpriorityclasses": _named("WorkloadPriorityClass", "high", value=100),
    "admissionchecks": _named("AdmissionCheck", "check", spec={"controllerName": "x.io/c"}),
    "nodes": _named(
        "Node", "n1", "v1", spec={}, status={"allocatable": {"cpu": "8", "pods": "110"}}
    ),
    "runtimeclasses": _named(
        "RuntimeClass",
        "sandboxed",
        "node.k8s.io/v1",
        handler="sandboxed",
        overhead={"podFixed": {"cpu": "250m"}},
    ),
    "namespaces/team-a/limitranges": _named(
        "LimitRange", "sizes", "v1", spec={"limits": [{"type": "Pod", "max": {"cpu": "8"}}]}
    ),
    "namespaces/team-a/cronjobs": _named(
        "CronJob",
        "nightly",
        "batch/v1",
        spec={
            "schedule": "0 3 * * *",
            "suspend": True,
            "jobTemplate": {"spec": {"template": POD}},
        },
    ),
    "namespaces/team-a/trainingruntimes": _named("TrainingRuntime", "torch", TRAINER, spec=RUNTIME),
    "clustertrainingruntimes": _named("ClusterTrainingRuntime", "torch", TRAINER, spec=RUNTIME),
    "webhooks": _named(
        "Webhook", "pager", OURS, spec={"url": "https://alerts.example.org/", "suspend": True}
    ),
    "acknowledgments": _named("Acknowledgment", "ack", OURS, spec={"cause": "OrphanedPods"}),
    "provisioningrequestconfigs": _named(
        "ProvisioningRequestConfig", "usual", spec={"provisioningClassName": "x.io"}
    ),
    "namespaces": _named("Namespace", "team-a", "v1"),
    "executors": _named("Executor", "slurm", OURS, spec={"flavors": ["default"]}),
    "namespaces/team-a/localqueues": local_queue("main", "cq"),
    "namespaces/team-a/disruptionbudgets": _named(
        "DisruptionBudget",
        "keep",
        OURS,
        spec={"selector": {"matchLabels": {"app": "x"}}, "minAvailable": 1},
    ),
}


@pytest.mark.parametrize("path", EXAMPLES)
def test_an_object_supports_all_verbs(admin: Api, path: str) -> None:
    body = {**EXAMPLES[path], "metadata": {**EXAMPLES[path]["metadata"], "name": "life"}}
    if "namespaces/" in path:
        body["metadata"]["namespace"] = "team-a"
    made = admin.post(f"/v1/{path}", body)
    assert made.status_code == 201, made.text
    assert made.headers["location"] == f"/v1/{path}/life"
    again = admin.post(f"/v1/{path}", body)
    assert (again.status_code, again.json()["type"]) == (409, "/problems/already-exists")
    read = admin.get(f"/v1/{path}/life")
    assert read.json()["metadata"]["uid"] == made.json()["metadata"]["uid"]
    shown = read.json()
    shown["metadata"]["labels"] = {"touched": "yes"}
    blind = admin.put(f"/v1/{path}/life", shown)
    assert (blind.status_code, blind.json()["type"]) == (428, "/problems/precondition-required")
    changed = admin.put(f"/v1/{path}/life", shown, If_Match=read.headers["etag"])
    assert changed.status_code == 200, changed.text
    assert changed.json()["metadata"]["labels"] == {"touched": "yes"}
    stale = admin.put(f"/v1/{path}/life", shown, If_Match=read.headers["etag"])
    assert (stale.status_code, stale.json()["type"]) == (412, "/problems/precondition-failed")
    listed = admin.get(f"/v1/{path}?labelSelector=touched%3Dyes")
    assert [item["metadata"]["name"] for item in listed.json()["items"]] == ["life"]
    gone = admin.delete(f"/v1/{path}/life", If_Match=changed.headers["etag"])
    assert gone.status_code == 200, gone.text
    assert admin.get(f"/v1/{path}/life").status_code == 404
    assert admin.delete(f"/v1/{path}/life").status_code == 404


def test_what_is_shown_can_be_applied_again_without_a_change(admin: Api) -> None:
    made = admin.post("/v1/clusterqueues", cluster_queue("same")).json()
    del made["metadata"]["resourceVersion"]
    found = admin.put("/v1/clusterqueues/same", made, If_Match="*")
    assert found.status_code == 200, found.text
    assert found.headers["etag"] == '"1"'


def test_an_unchanged_object_is_not_sent_again(admin: Api) -> None:
    made = admin.post("/v1/resourceflavors", flavor("cached"))
    again = admin.get("/v1/resourceflavors/cached", If_None_Match=made.headers["etag"])
    assert (again.status_code, again.content) == (304, b"")
    assert admin.get("/v1/resourceflavors/cached", If_None_Match='"99"').status_code == 200


def test_a_list_is_read_page_by_page(admin: Api) -> None:
    for number in range(5):
        admin.post("/v1/cohorts", _named("Cohort", f"page-{number}", spec={}))
    seen: list[str] = []
    token = ""
    while True:
        page = admin.get(f"/v1/cohorts?limit=2{token}").json()
        assert len(page["items"]) <= 2
        seen += [item["metadata"]["name"] for item in page["items"]]
        if "continue" not in page["metadata"]:
            break
        token = f"&continue={page['metadata']['continue']}"
    assert seen == sorted(seen)
    assert {f"page-{number}" for number in range(5)} <= set(seen)


def test_the_objects_of_every_kind_are_counted_at_one_position(admin: Api) -> None:
    made = admin.post("/v1/cohorts", _named("Cohort", "counted", spec={}))
    told = admin.get(f"/v1/kinds?minPosition={made.headers['x-log-position']}").json()
    counts = {one["path"]: one["count"] for one in told["items"]}
    assert counts["/v1/cohorts"] > 0
    for path, count in counts.items():
        listed = admin.get(f"{path}?limit=1000&at={told['position']}").json()["items"]
        assert len(listed) == count, path


@pytest.mark.parametrize("token", ["nonsense", "AAAA", "W10", "%00", "eyJhIjoxfQ"])
def test_a_bad_continue_token_is_reported(admin: Api, token: str) -> None:
    answer = admin.get(f"/v1/cohorts?continue={token}")
    assert (answer.status_code, answer.json()["type"]) == (400, "/problems/bad-continue-token")


def test_a_continue_token_of_another_list_is_refused(admin: Api) -> None:
    for name in ("other-1", "other-2"):
        admin.post("/v1/cohorts", _named("Cohort", name, spec={}))
    token = admin.get("/v1/cohorts?limit=1").json()["metadata"]["continue"]
    assert admin.get(f"/v1/resourceflavors?continue={token}").status_code == 400
    assert admin.get(f"/v1/cohorts?labelSelector=a&continue={token}").status_code == 400


def test_broken_rules_are_pointed_to_where_the_caller_wrote_them(admin: Api) -> None:
    wrong = cluster_queue("Wrong_Name", cpu="many", queueingStrategy="FIFO")
    answer = admin.post("/v1/clusterqueues", wrong)
    assert answer.status_code == 422
    pointers = {error["pointer"] for error in answer.json()["errors"]}
    quota = "/spec/resourceGroups/0/flavors/0/resources/0/nominalQuota"
    assert {"/metadata/name", quota, "/spec/queueingStrategy"} <= pointers


def test_body_and_address_must_agree(admin: Api) -> None:
    answer = admin.put("/v1/clusterqueues/that", cluster_queue("this"), If_Match="*")
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["pointer"] == "/metadata/name"
    elsewhere = admin.post("/v1/namespaces/team-b/localqueues", local_queue("main", "cq"))
    assert elsewhere.json()["errors"][0]["pointer"] == "/metadata/namespace"
    other_kind = admin.post("/v1/cohorts", flavor("x"))
    assert other_kind.json()["errors"][0]["pointer"] == "/kind"


def test_what_is_in_use_waits_to_go(admin: Api) -> None:
    admin.post("/v1/resourceflavors", flavor("used"))
    spec = cluster_queue("user")
    spec["spec"]["resourceGroups"][0]["flavors"][0]["name"] = "used"
    made = admin.post("/v1/clusterqueues", spec)
    assert made.status_code == 201, made.text
    gone = admin.delete("/v1/resourceflavors/used")
    assert gone.status_code == 200
    assert gone.json()["metadata"]["deletionTimestamp"]
    assert admin.get("/v1/resourceflavors/used").status_code == 200


def test_dry_run_decides_and_changes_nothing(admin: Api) -> None:
    before = admin.get("/v1/system").json()["position"]
    tried = admin.post("/v1/cohorts?dryRun=All", _named("Cohort", "dry", spec={}))
    assert tried.status_code == 201
    assert admin.get("/v1/cohorts/dry").status_code == 404
    refused = admin.post("/v1/cohorts?dryRun=All", _named("Cohort", "Not Good", spec={}))
    assert refused.status_code == 422
    assert admin.get("/v1/system").json()["position"] == before


def test_a_queue_is_stopped_with_its_reason_and_resumed(admin: Api) -> None:
    admin.post("/v1/clusterqueues", cluster_queue("stopped"))
    stopped = admin.post(
        "/v1/clusterqueues/stopped/stop",
        {"reason": "upgrade", "policy": "Hold", "expiresAt": "2099-01-01T00:00:00Z"},
    )
    assert stopped.status_code == 200, stopped.text
    assert stopped.json()["status"]["stop"]["reason"] == "upgrade"
    assert stopped.json()["status"]["stop"]["owner"] == "user:admin"
    drained = admin.post("/v1/clusterqueues/stopped/drain", {"reason": "now"})
    assert drained.json()["spec"]["stopPolicy"] == "HoldAndDrain"
    resumed = admin.post("/v1/clusterqueues/stopped/resume", {})
    assert resumed.json()["spec"]["stopPolicy"] == "None"
    unreasoned = admin.post("/v1/clusterqueues/stopped/stop", {})
    assert unreasoned.status_code == 422
    past = {"reason": "x", "expiresAt": "2001-01-01T00:00:00Z"}
    assert admin.post("/v1/clusterqueues/stopped/stop", past).status_code == 422
    not_a_time = {"reason": "x", "expiresAt": "soon"}
    answer = admin.post("/v1/clusterqueues/stopped/stop", not_a_time)
    assert answer.json()["errors"][0]["pointer"] == "/expiresAt"


def test_a_local_queue_is_stopped_and_resumed(admin: Api) -> None:
    admin.post("/v1/namespaces/team-a/localqueues", local_queue("door", "cq"))
    path = "/v1/namespaces/team-a/localqueues/door"
    assert (
        admin.post(f"{path}/drain", {"reason": "x"}).json()["spec"]["stopPolicy"] == "HoldAndDrain"
    )
    assert admin.post(f"{path}/resume", {}).json()["spec"]["stopPolicy"] == "None"


def test_a_node_is_cordoned_and_reports(admin: Api) -> None:
    node = _named("Node", "n9", "v1", spec={}, status={"allocatable": {"cpu": "8"}})
    admin.post("/v1/nodes", node)
    cordoned = admin.post("/v1/nodes/n9/cordon", {"reason": "disk"})
    assert cordoned.json()["spec"]["unschedulable"] is True
    assert admin.post("/v1/nodes/n9/uncordon", {}).status_code == 200
    beat = {"ready": False, "allocatable": {"cpu": "4", "memory": "1Gi"}}
    told = admin.post("/v1/nodes/n9/heartbeat", beat)
    assert told.json()["status"]["allocatable"]["memory"] == "1Gi"
    same = admin.post("/v1/nodes/n9/heartbeat", beat)
    assert same.headers["etag"] == told.headers["etag"]
    wrong = admin.post("/v1/nodes/n9/heartbeat", {"ready": True, "allocatable": {"cpu": "lots"}})
    assert wrong.json()["errors"][0]["pointer"] == "/allocatable/cpu"
    assert admin.post("/v1/nodes/none/heartbeat", beat).status_code == 404


def test_a_queue_tells_when_the_flavor_came_that_it_waited_for(admin: Api) -> None:
    def active(told: dict[str, Any]) -> dict[str, Any]:
        position = int(told["resourceVersion"])
        found = admin.caught_up("/v1/clusterqueues/early", position).json()
        (condition,) = found["status"]["conditions"]
        known: dict[str, Any] = condition
        return known

    late = cluster_queue("early")
    late["spec"]["resourceGroups"][0]["flavors"][0]["name"] = "late"
    made = admin.post("/v1/clusterqueues", late).json()["metadata"]
    waiting = active(made)
    assert (waiting["reason"], waiting["status"]) == ("FlavorNotFound", "False")
    assert waiting["lastTransitionTime"] == made["creationTimestamp"]
    came = admin.post("/v1/resourceflavors", flavor("late")).json()["metadata"]
    open_ = active(came)
    assert (open_["status"], open_["lastTransitionTime"]) == ("True", came["creationTimestamp"])
