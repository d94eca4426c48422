"""Conditions of victims carry Kueue's text, without the uids of workloads one may not see."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.api.callers import Api, cluster_queue, flavor, local_queue, workload

VICTIM = "/v1/namespaces/team-a/workloads/victim"
OTHERS = "/v1/namespaces/team-b/workloads"
REST = (
    "due to prioritization in the ClusterQueue; "
    "preemptor path: /all/contested; preemptee path: /all/contested"
)


@pytest.fixture(scope="module")
def uid(admin: Api, schedule: Callable[[], int]) -> str:
    """A workload of team-b preempts one of team-a; its uid."""
    admin.post("/v1/resourceflavors", flavor())
    lower = {"withinClusterQueue": "LowerPriority"}
    queue = cluster_queue("contested", cpu="2", preemption=lower, cohortName="all")
    admin.post("/v1/clusterqueues", queue)
    for team in ("team-a", "team-b"):
        admin.post(f"/v1/namespaces/{team}/localqueues", local_queue("main", "contested", team))
    admin.post("/v1/namespaces/team-a/workloads", workload("victim"))
    schedule()
    urgent = workload("urgent", "team-b", priority=9)
    urgent["metadata"]["labels"] = {"kueue.x-k8s.io/job-uid": "the-job"}
    made = admin.post(OTHERS, urgent)
    assert made.status_code == 201, made.text
    assert admin.caught_up("/v1/queues", schedule()).status_code == 200
    found: str = made.json()["metadata"]["uid"]
    return found


def _messages(api: Api, path: str = VICTIM) -> list[str]:
    conditions = api.get(path).json()["status"]["conditions"]
    return [c["message"] for c in conditions if c["type"] in {"Evicted", "Preempted"}]


def test_an_admin_finds_the_preemptor_by_its_uids(admin: Api, uid: str) -> None:
    text = f"Preempted to accommodate a workload (UID: {uid}, JobUID: the-job) {REST}"
    assert _messages(admin) == [text, text]


def test_the_owner_of_the_victim_does_not_learn_them(callers: dict[str, Api], uid: str) -> None:
    submitter = callers["submitter"]
    text = f"Preempted to accommodate a workload (UID: UNKNOWN, JobUID: UNKNOWN) {REST}"
    assert _messages(submitter) == [text, text]
    for path in (VICTIM, f"{VICTIM}/timeline", "/v1/workloads", "/v1/events?limit=1000"):
        told = submitter.get(path).text
        assert "victim" in told
        assert uid not in told
        assert "the-job" not in told
        assert "urgent" not in told


def test_people_still_read_the_sentence(admin: Api, callers: dict[str, Api], uid: str) -> None:
    sentence = "Preempted by team-b/urgent (priority 9)"
    assert uid
    assert sentence in admin.get(f"{VICTIM}/timeline").text
    assert sentence in admin.get(f"{VICTIM}/explanation").text
    hidden = sentence.replace("team-b/urgent", "a workload of another team")
    assert hidden in callers["submitter"].get(f"{VICTIM}/explanation").text


def test_events_show_code_arguments_and_text_for_their_reader(
    admin: Api, callers: dict[str, Api], uid: str
) -> None:
    def evicted(api: Api) -> dict[str, Any]:
        found = api.get("/v1/events?stream=workload/team-a/victim&type=workload.evicted").json()
        data: dict[str, Any] = found["items"][0]["data"]
        return data

    told = evicted(admin)
    assert told["message"] == {
        "code": "PreemptedBy",
        "arguments": {
            "preemptor": {"type": "object", "kind": "workload", "key": "team-b/urgent"},
            "priority": 9,
        },
        "text": "Preempted by team-b/urgent (priority 9)",
    }
    assert told["accommodates"]["uid"] == uid
    shown = evicted(callers["submitter"])
    assert shown["message"]["arguments"]["preemptor"]["key"] == "a workload of another team"
    assert shown["message"]["text"] == "Preempted by a workload of another team (priority 9)"
    named = shown["accommodates"]
    assert (named["workload"], named["uid"], named["job_uid"]) == (
        "a workload of another team",
        "",
        "",
    )
