"""The cycles of workers are listed, opened, and run again to the same bytes."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.api.callers import Api, local_queue, open_queue, workload

HERE = "/v1/namespaces/team-a/workloads"


@pytest.fixture(scope="module")
def cycles(callers: dict[str, Api], schedule: Callable[[], int]) -> list[dict[str, Any]]:
    """What workers planned for some workloads."""
    admin = callers["admin"]
    open_queue(admin, "gpu", "main", cpu="4")
    admin.post("/v1/namespaces/team-b/localqueues", local_queue("main", "gpu", "team-b"))
    for number in range(3):
        admin.post(HERE, workload(f"w-{number}"))
        schedule()
    secret = workload("secret", namespace="team-b")
    secret["spec"]["podSets"][0]["count"] = 3
    admin.post("/v1/namespaces/team-b/workloads", secret)
    schedule()
    found: list[dict[str, Any]] = admin.get("/v1/cycles").json()["items"]
    return found


def test_cycles_are_listed_newest_first_with_their_figures(cycles: list[dict[str, Any]]) -> None:
    assert len(cycles) == 4
    positions = [cycle["inputPosition"] for cycle in cycles]
    assert positions == sorted(positions, reverse=True)
    assert all(cycle["outcome"] == "Committed" and cycle["heads"] > 0 for cycle in cycles)
    assert [cycle["reservations"] for cycle in cycles] == [0, 0, 1, 1]
    assert {cycle["preemptions"] for cycle in cycles} == {0}


def test_pages_follow_each_other(admin: Api, cycles: list[dict[str, Any]]) -> None:
    first = admin.get("/v1/cycles?limit=3").json()
    second = admin.get(f"/v1/cycles?limit=3&before={first['next']}").json()
    assert [*first["items"], *second["items"]] == cycles
    assert admin.get("/v1/cycles?before=nonsense").status_code == 400


def test_cycles_are_summed_over_time_and_listed_within_a_range(
    admin: Api, cycles: list[dict[str, Any]]
) -> None:
    found = admin.get("/v1/cycles/summary?points=10").json()
    assert found["total"]["plans"] == len(cycles)
    assert found["total"]["heads"] == sum(cycle["heads"] for cycle in cycles)
    assert sum(point["decisions"] for point in found["points"]) == found["total"]["decisions"]
    took = [cycle["planningMicroseconds"] + cycle["commitMicroseconds"] for cycle in cycles]
    assert found["total"]["longestMicroseconds"] == max(took)
    assert found["dataSince"] == cycles[-1]["at"]
    since = f"since={cycles[1]['at']}".replace("+", "%2B")
    assert admin.get(f"/v1/cycles?{since}").json()["items"] == cycles[:2]
    assert admin.get(f"/v1/cycles/summary?{since}").json()["total"]["plans"] == 2
    nowhere = admin.get("/v1/cycles/summary?partition=none").json()
    assert (nowhere["total"]["plans"], nowhere["points"]) == (0, [])
    backwards = "since=2026-01-02T00:00:00Z&until=2026-01-01T00:00:00Z"
    refused = admin.get(f"/v1/cycles/summary?{backwards}")
    assert refused.json()["errors"][0]["pointer"] == "/since"


def test_an_opened_cycle_shows_its_decisions(admin: Api, cycles: list[dict[str, Any]]) -> None:
    found = admin.get(f"/v1/cycles/{cycles[-1]['id']}").json()
    assert [event["type"] for event in found["events"]] == [
        "workload.quota_reserved",
        "workload.admitted",
    ]
    assert {event["correlation"] for event in found["events"]} == {cycles[-1]["id"]}


def test_every_cycle_runs_again_to_the_same_bytes(admin: Api, cycles: list[dict[str, Any]]) -> None:
    for cycle in cycles:
        found = admin.get(f"/v1/cycles/{cycle['id']}/replay").json()
        assert found["isSame"], found
        assert found["digestRecorded"] == found["digestReplayed"]


def test_facts_of_other_teams_are_left_out(
    callers: dict[str, Api], cycles: list[dict[str, Any]]
) -> None:
    path = f"/v1/cycles/{cycles[0]['id']}"
    assert callers["admin"].get(path).json()["events"]
    assert callers["submitter"].get(path).json()["events"] == []


def test_the_past_knows_only_its_own_cycles(admin: Api, cycles: list[dict[str, Any]]) -> None:
    at = cycles[-1]["lastPosition"]
    assert admin.get(f"/v1/cycles?at={at}").json()["items"] == cycles[-1:]


def test_a_cycle_that_is_not_kept_is_not_found(admin: Api) -> None:
    assert admin.get("/v1/cycles/none").status_code == 404
    assert admin.get("/v1/cycles/none/replay").status_code == 404
