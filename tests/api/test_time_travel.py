"""`at`: any read answers as it would have answered then."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.api.callers import Api, cluster_queue, flavor, local_queue, workload

HERE = "/v1/namespaces/team-a/workloads"
READS = (
    HERE,
    "/v1/workloads?phase=Pending",
    "/v1/workloads?clusterQueue=gpu",
    f"{HERE}/first",
    f"{HERE}/first/timeline",
    f"{HERE}/third/explanation",
    "/v1/clusterqueues",
    "/v1/clusterqueues/gpu",
    "/v1/namespaces/team-a/localqueues/main",
    "/v1/queues",
    "/v1/clusterqueues/gpu/pendingworkloads",
    "/v1/namespaces/team-a/localqueues/main/pendingworkloads",
    "/v1/events?limit=1000",
    "/v1/preemptions",
)


@pytest.fixture(scope="module")
def answers(admin: Api, schedule: Callable[[], int]) -> dict[int, dict[str, tuple[int, Any]]]:
    """What every read answered at some positions, while they were the present."""
    found = {}

    def look() -> None:
        position = schedule()
        found[position] = {path: answer_of(admin, path, minPosition=position) for path in READS}

    admin.post("/v1/resourceflavors", flavor())
    own = {"withinClusterQueue": "LowerPriority"}
    admin.post("/v1/clusterqueues", cluster_queue("gpu", cpu="4", preemption=own))
    look()
    admin.post("/v1/namespaces/team-a/localqueues", local_queue("main", "gpu"))
    admin.post(HERE, workload("first"))
    look()
    admin.post(HERE, workload("second"))
    admin.post(HERE, workload("third"))
    look()
    admin.post(HERE, workload("urgent", priority=100))
    look()
    admin.delete(f"{HERE}/third")
    changed = cluster_queue("gpu", cpu="9", preemption=own)
    etag = admin.get("/v1/clusterqueues/gpu").headers["etag"]
    assert admin.put("/v1/clusterqueues/gpu", changed, If_Match=etag).status_code == 200
    look()
    return found


def answer_of(api: Api, path: str, **parameters: object) -> tuple[int, Any]:
    """Status and body, without the instants that say only when the question was asked."""
    joint = "&" if "?" in path else "?"
    asked = "&".join(f"{name}={value}" for name, value in parameters.items())
    answer = api.get(f"{path}{joint}{asked}")
    body = answer.json()
    for said_when in ("requestId", "at"):
        body.pop(said_when, None)
    body.get("asOf", {}).pop("time", None)
    return answer.status_code, body


@pytest.mark.parametrize("path", READS)
def test_a_read_of_the_past_is_what_it_was_then(
    admin: Api, answers: dict[int, dict[str, tuple[int, Any]]], path: str
) -> None:
    for position, known in answers.items():
        assert answer_of(admin, path, at=position) == known[path], position


def test_an_answer_says_the_position_it_holds_at(
    admin: Api, answers: dict[int, dict[str, tuple[int, Any]]]
) -> None:
    position = min(answers)
    assert admin.get(f"/v1/queues?at={position}").headers["x-log-position"] == str(position)
    event = admin.get("/v1/events?limit=1").json()["items"][0]
    by_time = admin.get(f"/v1/queues?at={event['at'].replace('+', '%2B')}")
    assert by_time.headers["x-log-position"] == str(event["position"])


def test_before_everything_nothing_was_there(
    admin: Api, answers: dict[int, dict[str, tuple[int, Any]]]
) -> None:
    assert answers
    assert admin.get("/v1/clusterqueues?at=0").json()["items"] == []
    assert admin.get("/v1/clusterqueues/gpu?at=0").status_code == 404


def test_the_past_cannot_be_changed(admin: Api) -> None:
    refused = admin.post(f"{HERE}?at=1", workload("late"))
    assert refused.status_code == 422
    assert refused.json()["errors"][0]["pointer"] == "/at"
    assert admin.get(f"{HERE}/late").status_code == 404
    assert admin.get("/v1/stream?at=1").status_code == 422


@pytest.mark.parametrize("at", ["999999999", "2999-01-01T00:00:00Z", "yesterday", "-1"])
def test_what_has_not_been_is_no_past(admin: Api, at: str) -> None:
    refused = admin.get(f"/v1/queues?at={at}")
    assert refused.status_code == 422
    assert refused.json()["errors"][0]["pointer"] == "/at"
