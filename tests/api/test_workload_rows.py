"""Workloads as rows: filters and orders as texts, sums, suggestions, CSV, and what one may see."""

from collections.abc import Callable
from typing import Any

import pytest

from headgate.application.queries import workload_lists
from tests.api.callers import Api, open_queue, workload

ROWS = "/v1/workload-rows"


@pytest.fixture(scope="module")
def position(admin: Api, callers: dict[str, Api], schedule: Callable[[], int]) -> int:
    """A submitter's workload, and an admin's that can never start."""
    open_queue(admin, "grid", cpu="4")
    small = workload("grid-small", queue="grid")
    large = workload("grid-large", queue="grid")
    large["spec"]["podSets"][0]["template"]["spec"]["containers"][0]["resources"] = {
        "requests": {"cpu": "32"}
    }
    for caller, made in ((callers["submitter"], small), (admin, large)):
        answer = caller.post("/v1/namespaces/team-a/workloads", made)
        assert answer.status_code == 201, answer.text
    return schedule()


def rows(caller: Api, position: int, **parameters: str) -> Any:
    query = "&".join(f"{name}={value}" for name, value in parameters.items())
    answer = caller.caught_up(f"{ROWS}?{query}", position)
    assert answer.status_code == 200, answer.text
    return answer.json()


def names(body: Any) -> list[str]:
    return [row["name"] for row in body["items"]]


def test_a_row_tells_what_a_workload_requests_and_why_it_waits(admin: Api, position: int) -> None:
    found = rows(admin, position, filter="name:=grid-large")

    [row] = found["items"]
    told = {field: row[field] for field in ("status", "owner", "clusterQueue", "cpuMilli", "pods")}
    assert told == {
        "status": "Unschedulable",
        "owner": "admin",
        "clusterQueue": "grid",
        "cpuMilli": 64_000,
        "pods": 2,
    }
    assert 0 < len(row["reason"]) <= 40 < len(row["sentence"])
    assert found["total"] == {
        "value": "", "count": 1, "gpus": 0, "pods": 2, "phases": {"Pending": 1},
    }  # fmt: skip


def test_filters_are_combined_and_pages_go_on_in_their_order(admin: Api, position: int) -> None:
    assert names(rows(admin, position, filter="grid-+owner:me")) == ["grid-large"]
    assert names(rows(admin, position, filter="queue:grid+phase:Unschedulable")) == ["grid-large"]
    assert names(rows(admin, position, filter="queue:grid+-phase:Unschedulable")) == ["grid-small"]

    first = rows(admin, position, filter="grid-", orderBy="name", limit="1")
    token = first["continue"]
    second = rows(admin, position, filter="grid-", orderBy="name", limit="1", **{"continue": token})
    assert [names(first), names(second)] == [["grid-large"], ["grid-small"]]
    assert first["total"]["count"] == 2
    assert "total" not in second


def test_a_total_reads_a_number_of_rows_at_most(
    admin: Api, position: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "totalExceeded" not in rows(admin, position, filter="grid-")
    monkeypatch.setattr(workload_lists, "MAX_COUNTED_ROWS", 1)
    found = rows(admin, position, filter="grid-", limit="1")
    assert (found["total"]["count"], found["totalExceeded"]) == (1, True)
    # What is counted beside the rows reads none of them.
    counted = rows(admin, position, filter="queue:grid")
    assert counted["total"]["count"] == 2
    assert "totalExceeded" not in counted


def test_groups_count_the_values_of_a_field(admin: Api, position: int) -> None:
    answer = admin.caught_up(f"{ROWS}/groups?filter=queue:team-a/grid&by=owner", position).json()

    assert [(group["value"], group["count"]) for group in answer["items"]] == [
        ("admin", 1), ("submitter", 1)
    ]  # fmt: skip


@pytest.mark.parametrize("written", ["queue:team-a/grid", "grid-"])
def test_groups_tell_how_many_can_never_start(admin: Api, position: int, written: str) -> None:
    query = f"filter={written}&by=queue"
    plain = admin.caught_up(f"{ROWS}/groups?{query}", position).json()["items"]
    told = admin.get(f"{ROWS}/groups?{query}&verdicts=true").json()["items"]

    never = {row["name"]: row["status"] for row in rows(admin, position, filter=written)["items"]}
    assert never["grid-large"] == "Unschedulable"
    assert plain[0]["phases"].get("Unschedulable") is None
    assert told[0]["phases"]["Unschedulable"] == 1
    assert sum(told[0]["phases"].values()) == sum(plain[0]["phases"].values()) == 2


def test_all_that_match_are_selected_with_what_decides_on_actions(
    admin: Api, callers: dict[str, Api], position: int
) -> None:
    answer = admin.caught_up(f"{ROWS}/selection?filter=grid-&orderBy=name", position).json()

    large, small = answer["items"]
    assert (large["workload"], small["workload"]) == ("team-a/grid-large", "team-a/grid-small")
    assert (large["owner"], large["phase"], large["held"], large["active"], large["gpus"]) == (
        "admin", "Pending", False, True, 0,
    )  # fmt: skip
    assert large["uid"]
    # An action takes the set as it was read.
    chosen = [{"workload": large["workload"], "uid": large["uid"]}]
    preview = {"verb": "cancel", "reason": "wrong size", "workloads": chosen, "dryRun": "All"}
    seen = admin.post("/v1/batches", preview).json()
    assert [item["outcome"] for item in seen["items"]] == ["eligible"]
    refused = callers["viewer"].get(f"{ROWS}/selection?filter=nothing:x")
    assert refused.status_code == 422


def test_rows_are_exported_as_csv(admin: Api, position: int) -> None:
    answer = admin.caught_up(f"{ROWS}/csv?filter=grid-&orderBy=name", position)

    assert answer.headers["content-type"].startswith("text/csv")
    lines = answer.text.splitlines()
    assert lines[0].startswith("namespace,name,status,owner")
    assert [line.split(",")[1] for line in lines[1:]] == ["grid-large", "grid-small"]


def test_only_workloads_of_namespaces_that_one_may_see_are_counted(
    callers: dict[str, Api], admin: Api, position: int
) -> None:
    made = workload("grid-secret", "team-b", queue="grid")
    written = admin.post("/v1/namespaces/team-b/workloads", made)
    position = int(written.headers["x-log-position"])

    assert "grid-secret" in names(rows(admin, position, filter="grid-"))
    seen = rows(callers["submitter"], position, filter="grid-")
    assert (sorted(names(seen)), seen["total"]["count"]) == (["grid-large", "grid-small"], 2)

    # Other tests, in whatever order they come, know two workloads of the grid.
    assert admin.delete("/v1/namespaces/team-b/workloads/grid-secret").status_code == 200


@pytest.mark.parametrize(
    ("query", "field"),
    [("filter=nothing:x", "/filter"), ("filter=gpu:many", "/filter"), ("orderBy=x", "/orderBy")],
)
def test_what_is_not_understood_is_refused_with_its_place(
    admin: Api, query: str, field: str
) -> None:
    answer = admin.get(f"{ROWS}?{query}")

    assert answer.status_code == 422
    assert [error["pointer"] for error in answer.json()["errors"]] == [field]
