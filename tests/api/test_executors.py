"""Executors read what to run, and report what became of it."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.api.callers import Api, cluster_queue, flavor, local_queue, workload

HERE = "/v1/namespaces/team-a/workloads"


@pytest.fixture(scope="module", autouse=True)
def _queues(admin: Api) -> None:
    admin.post("/v1/resourceflavors", flavor())
    admin.post("/v1/clusterqueues", cluster_queue("cq", cpu="100"))
    admin.post("/v1/namespaces/team-a/localqueues", local_queue("main", "cq"))


@pytest.fixture
def admitted(admin: Api, schedule: Callable[[], int]) -> Callable[[str], dict[str, Any]]:
    def admit(name: str) -> dict[str, Any]:
        made = admin.post(HERE, workload(name))
        assert made.status_code == 201, made.text
        position = schedule()
        found: dict[str, Any] = admin.caught_up(f"{HERE}/{name}", position).json()
        assert found["status"]["phase"] == "Starting", found["status"]
        return found

    return admit


def test_an_admitted_workload_is_assigned_runs_and_finishes(
    admin: Api, callers: dict[str, Api], admitted: Callable[[str], dict[str, Any]]
) -> None:
    executor = callers["executor"]
    found = admitted("runs")
    uid = found["metadata"]["uid"]
    listed = executor.get("/v1/assignments").json()["items"]
    mine = next(item for item in listed if item["workload"] == "team-a/runs")
    assert mine["uid"] == uid
    assert mine["admission"]["clusterQueue"] == "cq"
    assert mine["podSets"][0]["template"]
    ready = executor.post(f"{HERE}/runs/pods-ready", {"uid": uid, "ready": True})
    assert ready.json()["status"]["phase"] == "Running"
    assert executor.post(f"{HERE}/runs/pods-ready", {"uid": uid, "ready": True}).status_code == 200
    other = executor.post(f"{HERE}/runs/finished", {"uid": "another", "succeeded": True})
    assert other.status_code == 409
    done = executor.post(f"{HERE}/runs/finished", {"uid": uid, "succeeded": True})
    assert done.json()["status"]["phase"] == "Succeeded"
    explained = admin.get(f"{HERE}/runs/explanation").json()
    assert explained["verdict"] == "Finished"


def test_a_late_report_of_the_first_attempt_does_not_end_the_second(
    admin: Api,
    callers: dict[str, Api],
    admitted: Callable[[str], dict[str, Any]],
    schedule: Callable[[], int],
) -> None:
    executor, path = callers["executor"], f"{HERE}/twice"
    uid = admitted("twice")["metadata"]["uid"]
    admin.post(f"{path}/requeue", {"reason": "again"})
    eviction = admin.get(path).json()["status"]["eviction"]["id"]
    stopped = {"uid": uid, "attempt": 1}
    assert executor.post(f"{path}/evictions/{eviction}/stopped", stopped).status_code == 200
    found = admin.caught_up(path, schedule()).json()["status"]
    assert (found["phase"], found["attempt"]) == ("Starting", 2)
    late = executor.post(f"{path}/finished", {"uid": uid, "attempt": 1, "succeeded": False})
    assert (late.status_code, late.json()["code"]) == (409, "StaleAttempt")
    unnamed = executor.post(f"{path}/finished", {"uid": uid, "succeeded": False})
    assert (unnamed.status_code, unnamed.json()["code"]) == (409, "AttemptMissing")
    assert "Send attempt" in unnamed.json()["remedy"]
    batch = [{"workload": "team-a/twice", "uid": uid, "attempt": 1, "type": "failed"}]
    assert executor.post("/v1/reports:batch", {"reports": batch}).status_code == 422
    done = executor.post(f"{path}/finished", {"uid": uid, "attempt": 2, "succeeded": True})
    assert done.json()["status"]["phase"] == "Succeeded"


def test_an_eviction_is_acknowledged_and_ends_when_the_pods_are_gone(
    admin: Api, callers: dict[str, Api], admitted: Callable[[str], dict[str, Any]]
) -> None:
    executor = callers["executor"]
    uid = admitted("evicted")["metadata"]["uid"]
    admin.post(f"{HERE}/evicted/deactivate", {"reason": "maintenance"})
    position = int(admin.get(f"{HERE}/evicted").json()["metadata"]["resourceVersion"])
    listed = executor.caught_up("/v1/assignments", position).json()["items"]
    eviction = next(i for i in listed if i["workload"] == "team-a/evicted")["eviction"]["id"]
    path = f"{HERE}/evicted/evictions/{eviction}"
    taken = executor.post(f"{path}/acknowledge", {"uid": uid, "handler": "saver"})
    assert taken.json()["status"]["eviction"]["handler"] == "saver"
    assert executor.post(f"{path}/progress", {"uid": uid, "message": "50 %"}).status_code == 200
    stopped = executor.post(f"{path}/stopped", {"uid": uid})
    assert stopped.json()["status"]["phase"] == "Inactive"


def test_reports_are_taken_many_at_once(
    admin: Api, callers: dict[str, Api], admitted: Callable[[str], dict[str, Any]]
) -> None:
    uids = {name: admitted(name)["metadata"]["uid"] for name in ("m1", "m2", "m3")}
    reports = [
        {"workload": f"team-a/{name}", "uid": uid, "type": "podsReady"}
        for name, uid in uids.items()
    ]
    reports += [
        {"workload": "team-a/m1", "uid": uids["m1"], "type": "finished"},
        {"workload": "team-a/m2", "uid": uids["m2"], "type": "podsReady"},
        {"workload": "team-a/m3", "uid": "wrong", "type": "failed"},
        {"workload": "team-a/none", "uid": "x", "type": "stopped"},
    ]
    answer = callers["executor"].post("/v1/reports:batch", {"reports": reports})
    assert answer.status_code == 207, answer.text
    outcomes = [result["outcome"] for result in answer.json()["results"]]
    assert outcomes == ["recorded"] * 4 + ["unchanged", "rejected", "rejected"]
    assert admin.get(f"{HERE}/m1").json()["status"]["phase"] == "Succeeded"
    assert admin.get(f"{HERE}/m2").json()["status"]["phase"] == "Running"
    keyed = {"reports": [{"workload": "team-a/m2", "uid": uids["m2"], "type": "failed"}]}
    first = callers["executor"].post("/v1/reports:batch", keyed, Idempotency_Key="r1")
    again = callers["executor"].post("/v1/reports:batch", keyed, Idempotency_Key="r1")
    assert first.json()["results"][0]["outcome"] == "recorded"
    assert again.content == first.content


def test_assignments_are_read_page_by_page(
    callers: dict[str, Api], admitted: Callable[[str], dict[str, Any]]
) -> None:
    for number in range(3):
        admitted(f"paged-{number}")
    names: list[str] = []
    token = ""
    while True:
        page = callers["executor"].get(f"/v1/assignments?limit=2{token}").json()
        names += [item["workload"] for item in page["items"]]
        if "continue" not in page:
            break
        token = f"&continue={page['continue']}"
    assert names == sorted(names)
    assert {f"team-a/paged-{number}" for number in range(3)} <= set(names)


def test_usage_shows_in_the_queue_and_in_metrics(
    admin: Api, admitted: Callable[[str], dict[str, Any]]
) -> None:
    admitted("usage")
    queue = admin.get("/v1/clusterqueues/cq").json()
    used = queue["status"]["flavorsUsage"][0]["resources"][0]["total"]
    tree = admin.get("/v1/queues").json()
    line = next(root for root in tree["roots"] if root["name"] == "cq")["lines"][0]
    assert line["used"] == int(used) * 1000
    assert line["nominal"] == 100_000
    assert line["available"] == line["nominal"] - line["used"]
    text = admin.get("/metrics").text
    role = 'replica_role="standalone"'
    labels = f'{{cluster_queue="cq",cohort="",flavor="default",{role},resource="cpu"}}'
    assert f"kueue_cluster_queue_resource_usage{labels} {float(line['used'])}" in text
    assert f'kueue_admitted_workloads_total{{cluster_queue="cq",priority_class="",{role}}}' in text
    door = 'name="main",namespace="team-a"'
    of_class = f'priority_class="",{role}'
    for figure in ("admitted_workloads_total", "quota_reserved_workloads_total"):
        assert f"kueue_local_queue_{figure}{{{door},{of_class}}} " in text
    assert f'kueue_local_queue_status{{active="True",{door},{role}}} 1.0' in text
    used_here = f'kueue_local_queue_resource_usage{{flavor="default",{door},{role},resource="cpu"}}'
    assert f"{used_here} {line['used']}" in text
    assert "headgate_log_position " in text
    overview = admin.get("/v1/overview").json()
    assert overview["counts"]["Starting"] >= 1
    assert sum(minute["count"] for minute in overview["admittedPerMinute"]) >= 1


def test_pods_that_ended_are_reported_and_shown(
    callers: dict[str, Api], admitted: Callable[[str], dict[str, Any]]
) -> None:
    executor = callers["executor"]
    uid = admitted("part")["metadata"]["uid"]
    told = executor.post(f"{HERE}/part/reclaimable", {"uid": uid, "pods": {"main": 1}})
    assert told.json()["status"]["reclaimablePods"] == [{"name": "main", "count": 1}]
    again = {"workload": "team-a/part", "uid": uid, "type": "reclaimable", "pods": {"main": 1}}
    outcomes = executor.post("/v1/reports:batch", {"reports": [again]}).json()["results"]
    assert outcomes == [{"workload": "team-a/part", "outcome": "unchanged"}]
    refused = executor.post(f"{HERE}/part/reclaimable", {"uid": uid, "pods": {"main": 99}})
    assert refused.status_code == 422
    assert refused.json()["errors"][0]["pointer"] == "/pods/main"
