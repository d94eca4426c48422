"""Submitting workloads, reading them, acting on them."""

from collections.abc import Callable
from typing import Any

import pytest

from headgate.adapters.postgres.read_models import PostgresReadModels
from headgate.application import cooperative
from headgate.application.ports import Loaded, WorkloadQuery
from tests.api.callers import Api, cluster_queue, flavor, local_queue, open_queue, workload

HERE = "/v1/namespaces/team-a/workloads"


@pytest.fixture(scope="module", autouse=True)
def _queues(admin: Api) -> None:
    admin.post("/v1/resourceflavors", flavor())
    admin.post("/v1/clusterqueues", cluster_queue("cq"))
    made = admin.post("/v1/namespaces/team-a/localqueues", local_queue("main", "cq"))
    assert made.status_code == 201, made.text


def test_a_submitted_workload_is_there_with_its_position(admin: Api) -> None:
    made = admin.post(HERE, workload("one"))
    assert made.status_code == 201, made.text
    assert made.headers["location"] == f"{HERE}/one"
    position = made.headers["x-log-position"]
    assert made.json()["metadata"]["resourceVersion"] == position
    found = admin.get(f"{HERE}/one")
    assert found.json() == made.json()
    assert found.headers["etag"] == made.headers["etag"] == '"1"'
    # Conditions of a pending workload follow its queues as well, which its version does not.
    assert admin.get(f"{HERE}/one", If_None_Match='"1"').status_code == 200


def test_an_admitted_workload_that_is_unchanged_is_not_sent_again(
    admin: Api, submitted: Callable[..., dict[str, Any]]
) -> None:
    open_queue(admin, "calm")
    submitted("unchanged", queue="calm")
    tag = admin.get(f"{HERE}/unchanged").headers["etag"]
    assert admin.get(f"{HERE}/unchanged", If_None_Match=tag).status_code == 304


def test_the_same_name_twice_is_refused(admin: Api) -> None:
    admin.post(HERE, workload("twice"))
    again = admin.post(HERE, workload("twice"))
    assert (again.status_code, again.json()["type"]) == (409, "/problems/already-exists")


def test_a_name_is_free_again_once_its_workload_is_gone(admin: Api) -> None:
    first = admin.post(HERE, workload("reborn")).json()
    assert admin.delete(f"{HERE}/reborn").status_code == 200
    assert admin.get(f"{HERE}/reborn").status_code == 404
    second = admin.post(HERE, workload("reborn"))
    assert second.status_code == 201
    assert second.json()["metadata"]["uid"] != first["metadata"]["uid"]
    assert second.headers["etag"] == '"3"'


def test_a_generated_name_is_unique(admin: Api) -> None:
    body = workload("x")
    body["metadata"] = {"generateName": "gen-", "namespace": "team-a"}
    names = {admin.post(HERE, body).json()["metadata"]["name"] for _ in range(3)}
    assert len(names) == 3
    assert all(name.startswith("gen-") for name in names)


def test_priority_comes_from_the_class_that_is_named(admin: Api) -> None:
    high = {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "WorkloadPriorityClass",
        "metadata": {"name": "high"},
        "value": 1000,
    }
    admin.post("/v1/workloadpriorityclasses", high)
    reference = {"group": "kueue.x-k8s.io", "kind": "WorkloadPriorityClass", "name": "high"}
    made = admin.post(HERE, workload("important", priorityClassRef=reference))
    assert made.status_code == 201, made.text
    assert made.json()["spec"]["priority"] == 1000
    missing = {**reference, "name": "none-such"}
    refused = admin.post(HERE, workload("unknown-class", priorityClassRef=missing))
    assert refused.status_code == 422


def test_a_spec_that_is_submitted_again_follows_its_class_as_it_is_by_then(admin: Api) -> None:
    name = "moving"
    body = {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "WorkloadPriorityClass",
        "metadata": {"name": name},
    }
    reference = {"group": "kueue.x-k8s.io", "kind": "WorkloadPriorityClass", "name": name}
    found = []
    for value in (10, 20):
        assert admin.post("/v1/apply", {**body, "value": value}).status_code == 200
        items = [workload(f"by-class-{value}-{n}", priorityClassRef=reference) for n in range(2)]
        assert admin.post("/v1/workloads:batch", {"items": items}).status_code == 200
        found += [admin.get(f"{HERE}/{item['metadata']['name']}").json() for item in items]
    assert [each["spec"]["priority"] for each in found] == [10, 10, 20, 20]


def test_holding_needs_a_reason_and_ends_with_release(admin: Api, callers: dict[str, Api]) -> None:
    callers["submitter"].post(HERE, workload("held"))
    held = admin.post(f"{HERE}/held/hold", {"reason": "wait for data"})
    assert held.json()["status"]["phase"] == "OnHold"
    assert held.json()["status"]["hold"]["owner"] == "admin:admin"
    unreasoned = admin.post(f"{HERE}/held/hold", {})
    assert unreasoned.json()["errors"][0]["pointer"] == "/reason"
    released = admin.post(f"{HERE}/held/release", {})
    assert released.json()["status"]["phase"] == "Pending"
    own = callers["submitter"].post(f"{HERE}/held/hold", {})
    assert own.json()["status"]["phase"] == "OnHold"
    released = admin.post(f"{HERE}/held/release", {})
    again = admin.post(f"{HERE}/held/release", {})
    assert again.headers["etag"] == released.headers["etag"]


def test_deactivate_activate_requeue_and_cancel(admin: Api) -> None:
    admin.post(HERE, workload("acted"))
    path = f"{HERE}/acted"
    assert admin.post(f"{path}/deactivate", {"reason": "x"}).json()["status"]["phase"] == "Inactive"
    refused = admin.post(f"{path}/requeue", {})
    assert (refused.status_code, refused.json()["type"]) == (409, "/problems/illegal-now")
    assert admin.post(f"{path}/activate", {}).json()["status"]["phase"] == "Pending"
    assert admin.post(f"{path}/requeue", {"reason": "x"}).status_code == 200
    assert admin.post(f"{path}/cancel", {}).json()["status"]["phase"] == "Cancelled"
    assert admin.post(f"{path}/activate", {}).status_code == 409
    assert admin.post(f"{HERE}/nobody/hold", {"reason": "x"}).status_code == 404


def test_the_spec_of_a_waiting_workload_can_change(admin: Api) -> None:
    made = admin.post(HERE, workload("changing"))
    body = made.json()
    body["spec"]["podSets"][0]["count"] = 5
    changed = admin.put(f"{HERE}/changing", body, If_Match=made.headers["etag"])
    assert changed.status_code == 200, changed.text
    assert changed.json()["spec"]["podSets"][0]["count"] == 5
    assert changed.json()["metadata"]["generation"] == 2
    stale = admin.put(f"{HERE}/changing", body, If_Match='"1"')
    assert stale.status_code == 412


def test_lists_filter_and_page(admin: Api) -> None:
    for number in range(5):
        body = workload(f"listed-{number}", namespace="lists")
        body["metadata"]["labels"] = {"n": str(number), "odd": str(number % 2)}
        assert admin.post("/v1/namespaces/lists/workloads", body).status_code == 201
    path = "/v1/namespaces/lists/workloads"
    names: list[str] = []
    token = ""
    while True:
        page = admin.get(f"{path}?limit=2{token}").json()
        names += [item["metadata"]["name"] for item in page["items"]]
        if "continue" not in page["metadata"]:
            break
        token = f"&continue={page['metadata']['continue']}"
    assert names == [f"listed-{number}" for number in reversed(range(5))]

    def found(query: str) -> list[str]:
        items = admin.get(f"{path}?{query}").json()["items"]
        return sorted(item["metadata"]["name"] for item in items)

    assert found("labelSelector=odd%3D1") == ["listed-1", "listed-3"]
    assert found("labelSelector=odd!%3D1,n%20notin%20(0)") == ["listed-2", "listed-4"]
    assert found("labelSelector=n%20in%20(0,4)&limit=1")[0] in ("listed-0", "listed-4")
    assert found("name=ed-3") == ["listed-3"]
    assert found("phase=Running") == []
    assert found("phase=Running,Pending&queueName=main") == [f"listed-{n}" for n in range(5)]
    assert found("queueName=none") == []
    everywhere = admin.get("/v1/workloads?clusterQueue=cq&limit=1000").json()["items"]
    assert all(item["metadata"]["namespace"] == "team-a" for item in everywhere)


@pytest.mark.parametrize(
    "query",
    ["phase=Sleeping", "limit=0", "limit=many", "limit=5000", "labelSelector=a%3D%3D%3Db"],
)
def test_nonsense_in_the_query_is_reported(admin: Api, query: str) -> None:
    answer = admin.get(f"/v1/workloads?{query}")
    assert (answer.status_code, answer.json()["type"]) == (422, "/problems/invalid-request")
    assert answer.json()["errors"]


def test_a_pending_workload_has_an_explanation(admin: Api) -> None:
    made = admin.post(HERE, workload("explained"))
    path = f"{HERE}/explained/explanation"
    found = admin.caught_up(path, int(made.headers["x-log-position"])).json()
    assert found["workload"] == "team-a/explained"
    assert (found["phase"], found["verdict"], found["evaluated"]) == ("Pending", "Waiting", False)
    assert found["sentence"]
    assert found["position"]["of"] >= 1
    admin.post(f"{HERE}/explained/hold", {"reason": "for now"})
    held = admin.get(path).json()
    assert held["dominant"] == "OnHold"
    assert "for now" in held["sentence"]
    lost = admin.post(HERE, workload("lost", queue="nowhere"))
    answer = admin.caught_up(f"{HERE}/lost/explanation", int(lost.headers["x-log-position"]))
    assert answer.json()["dominant"] == "LocalQueueDoesNotExist"


def test_a_timeline_tells_every_fact(admin: Api) -> None:
    admin.post(HERE, workload("told"))
    admin.post(f"{HERE}/told/hold", {"reason": "for a while"})
    admin.delete(f"{HERE}/told")
    entries = admin.get(f"{HERE}/told/timeline").json()["entries"]
    assert [entry["type"] for entry in entries] == [
        "workload.deleted",
        "workload.held",
        "workload.submitted",
    ]
    assert entries[1]["title"] == "On hold by admin:admin"
    assert entries[1]["reason"] == "for a while"
    assert entries[2]["actor"] == "user:admin"
    assert admin.get(f"{HERE}/never-was/timeline").status_code == 404


def test_many_workloads_are_submitted_each_by_itself(admin: Api) -> None:
    admin.post(HERE, workload("batch-taken"))
    items = [workload("batch-1"), workload("batch-taken"), workload("Batch 2"), workload("batch-3")]
    answer = admin.post("/v1/workloads:batch", {"items": items})
    assert answer.status_code == 207, answer.text
    outcomes = [result["outcome"] for result in answer.json()["results"]]
    assert outcomes == ["created", "rejected", "rejected", "created"]
    assert answer.json()["results"][1]["problem"]["type"] == "/problems/already-exists"
    assert answer.json()["results"][2]["problem"]["errors"][0]["pointer"] == "/metadata/name"
    assert int(answer.headers["x-log-position"]) == answer.json()["position"]
    assert admin.get(f"{HERE}/batch-3").status_code == 200
    none = admin.post("/v1/workloads:batch", {"items": [workload("batch-taken")]})
    assert none.status_code == 422
    all_of_them = admin.post("/v1/workloads:batch", {"items": [workload("batch-4")]})
    assert all_of_them.status_code == 200
    assert admin.post("/v1/workloads:batch", {"items": []}).json()["results"] == []
    assert admin.post("/v1/workloads:batch", ["x"]).status_code == 422


def test_a_class_is_known_to_the_very_next_submit(admin: Api) -> None:
    for number in range(20):
        body = {
            "apiVersion": "kueue.x-k8s.io/v1beta2",
            "kind": "WorkloadPriorityClass",
            "metadata": {"name": f"fresh-{number}"},
            "value": number,
        }
        assert admin.post("/v1/workloadpriorityclasses", body).status_code == 201
        reference = {
            "group": "kueue.x-k8s.io",
            "kind": "WorkloadPriorityClass",
            "name": f"fresh-{number}",
        }
        made = admin.post(HERE, workload(f"fresh-{number}", priorityClassRef=reference))
        assert made.status_code == 201, made.text
        assert made.json()["spec"]["priority"] == number


def test_a_large_batch_is_answered_in_its_order_with_repetitions_refused(
    admin: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where its parts give way to each other at each step: the last part is the shortest."""
    monkeypatch.setattr(cooperative, "SLICE_SECONDS", 0.0)
    items = [workload(f"large-{number}") for number in range(450)]
    items[430] = workload("large-7")

    answer = admin.post("/v1/workloads:batch", {"items": items})

    results = answer.json()["results"]
    assert answer.status_code == 207
    assert [result["name"] for result in results] == [item["metadata"]["name"] for item in items]
    assert [n for n, result in enumerate(results) if result["outcome"] != "created"] == [430]
    assert admin.get(f"{HERE}/large-449").status_code == 200


def test_a_list_into_which_hardly_anything_belongs_takes_few_questions(
    admin: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(20):
        made = workload(f"plenty-{number}", "team-c")
        made["metadata"]["labels"] = {"sort": "plenty"}
        assert admin.post("/v1/namespaces/team-c/workloads", made).status_code == 201
    asked: list[int] = []
    read = PostgresReadModels.workloads

    def counting(models: PostgresReadModels, query: WorkloadQuery) -> list[Loaded]:
        asked.append(query.limit)
        return read(models, query)

    monkeypatch.setattr(PostgresReadModels, "workloads", counting)
    path = "/v1/namespaces/team-c/workloads?limit=1&labelSelector="
    assert admin.get(f"{path}sort!%3Dplenty").json()["items"] == []
    assert asked == [2]
    first = admin.get(f"{path}sort%20in%20(plenty)").json()
    second = admin.get(
        f"{path}sort%20in%20(plenty)&continue={first['metadata']['continue']}"
    ).json()
    names = [page["items"][0]["metadata"]["name"] for page in (first, second)]
    assert names == ["plenty-19", "plenty-18"]
