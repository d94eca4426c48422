"""The timeline of a workload, page by page, however often it was explained."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from headgate.application.ports import Appended, AppendUnit, NewEvent
from headgate.bootstrap import Platform
from headgate.domain.recorded_event import EventMetadata
from headgate.domain.values.message import message, workload_reference
from headgate.domain.workloads.events import WorkloadExplained
from headgate.domain.workloads.explanation import Blocker, Explanation
from tests.api.callers import Api, cluster_queue, flavor, local_queue, workload

OLD = "/v1/namespaces/team-a/workloads/old"
TIMELINE = f"{OLD}/timeline"
EXPLANATIONS = 250
SECRET_NAME = "codename-zeus"
BOUND_BYTES = 100_000


def _explained(number: int) -> WorkloadExplained:
    """A reason with much in the way, all of it held by another team."""
    holder = f"team-b/{SECRET_NAME}"
    blockers = tuple(
        Blocker(
            type="Quota",
            reason="Short",
            message=message("InsufficientQuota", cluster_queue=f"{each}"),
            held_by=(holder,),
            need=number,
        )
        for each in range(20)
    )
    ahead = message("NotEvaluatedYet", ahead=number)
    head = message("BehindHead", head=workload_reference(holder), why=ahead)
    explanation = Explanation(
        dominant="InsufficientQuota",
        message=head,
        blockers=blockers,
        would_unblock=(message("Queued"),),
    )
    return WorkloadExplained(explanation=explanation)


@pytest.fixture(scope="module", autouse=True)
def submitted(admin: Api) -> int:
    """The submit position of a workload without queue, for which nothing is decided."""
    theirs = workload(SECRET_NAME, "team-b")
    assert admin.post("/v1/namespaces/team-b/workloads", theirs).status_code == 201
    made = admin.post("/v1/namespaces/team-a/workloads", workload("old"))
    assert made.status_code == 201, made.text
    return int(made.headers["x-log-position"])


@pytest.fixture(scope="module", autouse=True)
def head(admin: Api, platform: Platform, submitted: int) -> int:
    """The position after so many explanations."""
    stream = "workload/team-a/old"
    unit = AppendUnit(
        at=platform.event_log.now(),
        metadata=EventMetadata(actor="scheduler"),
        expected={stream: 1},
        events=tuple(
            NewEvent(stream=stream, event=_explained(number))
            for number in range(1, EXPLANATIONS + 1)
        ),
    )
    (appended,) = platform.event_log.append([unit])
    assert isinstance(appended, Appended)
    assert appended.first_position == submitted + 1
    assert admin.caught_up(TIMELINE, appended.last_position).status_code == 200
    return appended.last_position


def _pages(api: Api, question: str = "") -> list[dict[str, Any]]:
    found = [api.get(f"{TIMELINE}?{question}").json()]
    while "continue" in found[-1]:
        asked = f"{TIMELINE}?{question}&continue={found[-1]['continue']}"
        found.append(api.get(asked).json())
    return found


def test_the_first_page_is_short_and_newest_first(admin: Api, head: int) -> None:
    answer = admin.get(TIMELINE)
    page = answer.json()
    assert len(answer.content) < BOUND_BYTES
    assert [entry["position"] for entry in page["entries"]] == list(range(head, head - 100, -1))
    assert page["entries"][0]["detail"].endswith(f"({EXPLANATIONS} workloads ahead))")
    assert page["earlier"] == EXPLANATIONS + 1 - 100
    assert page["position"] == int(answer.headers["x-log-position"]) >= head


def test_the_pages_tell_every_fact_once(admin: Api, submitted: int, head: int) -> None:
    pages = _pages(admin, "limit=60")
    assert [page["earlier"] for page in pages] == [191, 131, 71, 11, 0]
    told = [entry["position"] for page in pages for entry in page["entries"]]
    assert told == [*range(head, head - EXPLANATIONS, -1), submitted]


def test_a_page_that_ends_with_the_first_fact_is_the_last(admin: Api) -> None:
    (page,) = _pages(admin, f"limit={EXPLANATIONS + 1}")
    assert len(page["entries"]) == EXPLANATIONS + 1


def test_the_blocker_is_reported_by_the_whole_data_alone(admin: Api) -> None:
    (brief,) = admin.get(f"{TIMELINE}?limit=1").json()["entries"]
    (whole,) = admin.get(f"{TIMELINE}?limit=1&data=Whole").json()["entries"]
    explanation = whole["data"]["explanation"]
    assert len(explanation["blockers"]) == 20
    assert brief["data"] == {
        "explanation": {name: explanation[name] for name in ("dominant", "sentence", "evaluated")}
    }
    assert {**whole, "data": {}} == {**brief, "data": {}}


@pytest.mark.parametrize("detail", ["Brief", "Whole"])
def test_no_page_names_workloads_of_others(
    admin: Api, callers: dict[str, Api], detail: str
) -> None:
    question = f"limit=200&data={detail}"
    assert SECRET_NAME in json.dumps(_pages(admin, question))
    assert SECRET_NAME not in json.dumps(_pages(callers["submitter"], question))


def test_the_past_has_pages_of_its_own(admin: Api, submitted: int) -> None:
    then = submitted + 30
    pages = _pages(admin, f"limit=20&at={then}")
    assert [page["position"] for page in pages] == [then, then]
    assert [page["earlier"] for page in pages] == [11, 0]
    told = [entry["position"] for page in pages for entry in page["entries"]]
    assert (told[0], told[-1], len(told)) == (then, submitted, 31)
    assert admin.get(f"{TIMELINE}?at={submitted - 1}").status_code == 404


def test_facts_that_come_between_pages_move_nothing(admin: Api) -> None:
    path = "/v1/namespaces/team-a/workloads"
    admin.post(path, workload("moving"))
    for verb in ("hold", "release", "hold"):
        admin.post(f"{path}/moving/{verb}", {"reason": "x"})
    first = admin.get(f"{path}/moving/timeline?limit=2").json()
    admin.post(f"{path}/moving/release", {})
    second = admin.get(f"{path}/moving/timeline?limit=2&continue={first['continue']}").json()
    types = [entry["type"] for page in (first, second) for entry in page["entries"]]
    assert types == ["workload.held", "workload.released", "workload.held", "workload.submitted"]


@pytest.mark.parametrize(
    ("question", "status"),
    [("limit=0", 422), ("limit=1001", 422), ("data=Some", 422), ("continue=x", 400)],
)
def test_a_page_that_cannot_be_is_refused(admin: Api, question: str, status: int) -> None:
    refused = admin.get(f"{TIMELINE}?{question}")
    assert refused.status_code == status, refused.text
    assert refused.headers["content-type"].startswith("application/problem+json")


def test_a_page_continues_only_in_its_own_timeline(admin: Api) -> None:
    admin.post("/v1/namespaces/team-a/workloads", workload("other"))
    token = admin.get(f"{TIMELINE}?limit=1").json()["continue"]
    other = "/v1/namespaces/team-a/workloads/other/timeline"
    assert admin.get(f"{other}?continue={token}").status_code == 400


def test_an_explanation_has_as_many_earlier_reasons_as_wanted(admin: Api) -> None:
    def history(question: str) -> list[str]:
        found = admin.get(f"{OLD}/explanation{question}").json()
        assert found["attempts"] == EXPLANATIONS
        return [one["sentence"].split()[-3].strip("(") for one in found.get("history", [])]

    assert history("") == [str(number) for number in range(1, EXPLANATIONS + 1)]
    assert history("?history=2") == [str(EXPLANATIONS - 1), str(EXPLANATIONS)]
    assert history("?history=0") == []
    assert admin.get(f"{OLD}/explanation?history=501").status_code == 422


def test_where_a_gang_lies_is_reported_by_the_whole_data_alone(
    admin: Api, schedule: Callable[[], int]
) -> None:
    hostname = "kubernetes.io/hostname"
    levels = {"levels": [{"nodeLabel": hostname}]}
    objects = {
        "topologies": {**flavor("hosts"), "kind": "Topology", "spec": levels},
        "resourceflavors": flavor("tas", nodeLabels={"pool": "a"}, topologyName="hosts"),
        "nodes": {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": "h1", "labels": {"pool": "a", hostname: "h1"}},
            "status": {"allocatable": {"cpu": "8", "pods": "20"}},
        },
        "namespaces/team-a/localqueues": local_queue("placed", "placed"),
    }
    queue = cluster_queue("placed")
    queue["spec"]["resourceGroups"][0]["flavors"][0]["name"] = "tas"
    for path, body in [*objects.items(), ("clusterqueues", queue)]:
        made = admin.post(f"/v1/{path}", body)
        assert made.status_code == 201, made.text
    gang = workload("gang", queue="placed")
    gang["spec"]["podSets"][0]["topologyRequest"] = {"required": hostname}
    path = "/v1/namespaces/team-a/workloads"
    assert admin.post(path, gang).status_code == 201
    schedule()

    def given(question: str) -> dict[str, Any]:
        entries = admin.get(f"{path}/gang/timeline?{question}").json()["entries"]
        (reserved,) = (one for one in entries if one["type"] == "workload.quota_reserved")
        (assignment,) = reserved["data"]["admission"]["pod_set_assignments"]
        return dict(assignment)

    whole, brief = given("data=Whole"), given("")
    assert whole.pop("topology_assignment")["domains"]
    assert brief == whole
