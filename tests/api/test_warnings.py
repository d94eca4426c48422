"""Work that is taken and cannot start says so in the answer, and why; what is fine says nothing."""

from typing import Any

import pytest

from tests.api.callers import Api, cluster_queue, flavor, local_queue, workload

PLACE = "/v1/namespaces/warned/workloads"


@pytest.fixture(scope="module", autouse=True)
def _queues(admin: Api) -> None:
    admin.post("/v1/resourceflavors", flavor())
    admin.post("/v1/clusterqueues", cluster_queue("open", cpu="2"))
    admin.post("/v1/clusterqueues", cluster_queue("shut", cpu="2", stopPolicy="Hold"))
    queues = "/v1/namespaces/warned/localqueues"
    for name, behind in (("main", "open"), ("shut", "shut"), ("lost", "nowhere")):
        admin.post(queues, local_queue(name, behind, "warned"))


def asked(name: str, queue: str) -> dict[str, Any]:
    return workload(name, queue=queue, namespace="warned")


def warnings_of(admin: Api, queue: str, query: str = "?dryRun=All") -> list[dict[str, Any]]:
    answer = admin.post(f"{PLACE}{query}", asked(f"to-{queue}", queue))
    assert answer.status_code == 201, answer.text
    found: list[dict[str, Any]] = answer.json().get("warnings", [])
    return found


def test_a_queue_that_is_not_there_is_warned_of_with_the_one_that_is_likely_meant(
    admin: Api,
) -> None:
    for query in ("?dryRun=All", ""):
        (found,) = warnings_of(admin, "mian", query)
        assert found == {
            "kind": "Workload",
            "namespace": "warned",
            "name": "to-mian",
            "pointer": "/spec/queueName",
            "rule": "LocalQueueDoesNotExist",
            "severity": "warning",
            "code": "PendingUntilChanged",
            "arguments": {
                "found": {
                    "code": "QueueMissing",
                    "arguments": {"kind": "LocalQueue", "name": "mian", "namespace": "warned"},
                    "text": "LocalQueue mian does not exist in namespace warned",
                },
                "count": 1,
            },
            "message": "LocalQueue mian does not exist in namespace warned. "
            "1 workload pending until that changes.",
            "remedy": "Create LocalQueue mian, or name another queue. Did you mean main?",
        }


@pytest.mark.parametrize(
    ("queue", "rule"), [("shut", "Stopped"), ("lost", "ClusterQueueDoesNotExist")]
)
def test_a_queue_behind_which_nothing_starts_is_warned_of(
    admin: Api, queue: str, rule: str
) -> None:
    assert [found["rule"] for found in warnings_of(admin, queue)] == [rule]


@pytest.mark.parametrize("query", ["?dryRun=All", ""])
def test_an_unschedulable_workload_is_warned_of_with_the_largest_that_fits(
    admin: Api, query: str
) -> None:
    asked_for = asked(f"too-large-{'dry' if query else 'run'}", "main")
    asked_for["spec"]["podSets"][0]["count"] = 3
    (found,) = admin.post(f"{PLACE}{query}", asked_for).json()["warnings"]
    assert (found["rule"], found["pointer"]) == ("Unschedulable", "/spec/podSets")
    assert found["message"] == (
        "Unschedulable: request exceeds the maximum: 3 CPU (default) requested, ClusterQueue open"
        " can use at most 2 (2 free now). 1 workload pending until that changes."
    )
    assert (
        found["remedy"] == "Raise nominalQuota by 1 CPU (flavor default), or request at most 2 CPU."
    )


def test_the_worst_alert_comes_first(admin: Api) -> None:
    """Issue 17, line 2: unschedulable work stood before flavors without an executor."""
    executor: dict[str, Any] = {"apiVersion": "headgate.dev/v1", "kind": "Executor"}
    executor |= {"metadata": {"name": "away"}, "spec": {"nodeSelector": {"pool": "away"}}}
    admin.post("/v1/resourceflavors", flavor("away", nodeLabels={"pool": "away"}))
    assert admin.post("/v1/executors", executor).status_code == 201
    flavors = [{"name": "away", "resources": [{"name": "cpu", "nominalQuota": "2"}]}]
    groups = [{"coveredResources": ["cpu"], "flavors": flavors}]
    admin.post("/v1/clusterqueues", cluster_queue("far", resourceGroups=groups))
    admin.post("/v1/namespaces/warned/localqueues", local_queue("far", "far", "warned"))
    assert admin.post(PLACE, asked("pending", "far")).status_code == 201
    never = asked("never", "main")
    never["spec"]["podSets"][0]["count"] = 3
    made = admin.post(PLACE, never).json()
    overview = admin.caught_up("/v1/overview", made["metadata"]["resourceVersion"]).json()
    severities = [alert["severity"] for alert in overview["attention"]]
    assert {"critical", "warning"} <= set(severities)
    assert severities == sorted(severities, key=("critical", "warning", "info").index)


def test_what_is_fine_is_not_warned_of(admin: Api) -> None:
    assert warnings_of(admin, "main") == []
    assert warnings_of(admin, "main", "") == []
    items = [asked("fine", "main")]
    assert admin.post("/v1/workloads:batch", {"items": items}).json()["warnings"] == []


@pytest.mark.parametrize("key", ["", "an-idempotency-key"])
def test_a_batch_is_warned_of_once_for_each_queue(admin: Api, key: str) -> None:
    prefix = key[:1] or "b"
    items = [asked(f"{prefix}{number}", "mian") for number in range(3)]
    headers = {"Idempotency-Key": key} if key else {}
    items.append(asked(f"{prefix}-fine", "main"))
    answer = admin.post("/v1/workloads:batch", {"items": items}, **headers)
    (found,) = answer.json()["warnings"]
    assert found["name"] == f"{prefix}0"
    assert "3 workloads pending" in found["message"]


def test_a_batch_counts_all_that_is_kept_out_for_one_reason_however_it_is_written(
    admin: Api,
) -> None:
    items = [asked(f"alike-{number}", "shut") for number in range(3)]
    items += [asked("other", "shut"), asked("broken", "shut")]
    items[3]["spec"]["podSets"][0]["count"] = 1
    items[4]["spec"]["podSets"][0]["count"] = -1
    (found,) = admin.post("/v1/workloads:batch", {"items": items}).json()["warnings"]
    assert found["name"] == "alike-0"
    assert "4 workloads pending" in found["message"]


def test_work_that_is_applied_together_with_its_queue_is_fine(admin: Api) -> None:
    both = [asked("with-queue", "later"), local_queue("later", "open", "warned")]
    found = admin.post("/v1/apply", {"kind": "List", "apiVersion": "v1", "items": both}).json()
    assert [one["outcome"] for one in found["results"]] == ["created", "created"]
    assert found["warnings"] == []


def test_applying_a_job_warns_of_the_label_that_names_its_queue(admin: Api) -> None:
    template = {"spec": {"containers": [{"name": "c", "image": "x"}], "restartPolicy": "Never"}}
    metadata = {
        "name": "job",
        "namespace": "warned",
        "labels": {"kueue.x-k8s.io/queue-name": "mian"},
    }
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata}
    job["spec"] = {"template": template}
    (found,) = admin.post("/v1/apply", job).json()["warnings"]
    assert found["pointer"] == "/metadata/labels/kueue.x-k8s.io~1queue-name"


def test_sections_and_gates_without_effect_are_warned_about(admin: Api) -> None:
    configuration = {
        "apiVersion": "config.kueue.x-k8s.io/v1beta2",
        "kind": "Configuration",
        "webhook": {"port": 9443},
        "featureGates": {"MultiKueue": True, "PartialAdmission": True},
    }
    answer = admin.post("/v1/apply?dryRun=All", configuration).json()
    assert [(found["pointer"], found["rule"]) for found in answer["warnings"]] == [
        ("/webhook", "FieldWithoutEffect"),
        ("/featureGates/MultiKueue", "FeatureGateNoOtherClusters"),
    ]
    assert all(found["remedy"] for found in answer["warnings"])
