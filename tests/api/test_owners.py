"""A workload is owned by the user who submitted it, and lists select by owner."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.api.callers import Api, open_queue, workload

TEAM_A = "/v1/namespaces/team-a"
PLACED = "placed"
"""The workload of the test of assignments, which other tests may meet or not."""
Users = dict[str, Any]
PARTS = (
    f"{TEAM_A}/workloads",
    "/v1/workloads",
    f"{TEAM_A}/localqueues/owned/pendingworkloads",
    "/v1/clusterqueues/owned/pendingworkloads",
)


@pytest.fixture(scope="module")
def users(admin: Api, callers: dict[str, Api], schedule: Callable[[], int]) -> dict[str, Any]:
    """A submitter and an admin with one workload each in a queue without quota."""
    open_queue(admin, "owned", cpu="0")
    submitter = callers["submitter"]
    for caller, name in ((submitter, "mine"), (admin, "theirs")):
        made = caller.post(f"{TEAM_A}/workloads", workload(name, queue="owned"))
        assert made.status_code == 201, made.text
    return {"submitter": submitter, "admin": admin, "position": schedule()}


def names(answer: Any) -> list[str]:
    assert answer.status_code == 200, answer.text
    found = sorted(item["metadata"]["name"] for item in answer.json()["items"])
    return [name for name in found if name != PLACED]


@pytest.mark.parametrize("path", PARTS)
def test_every_list_selects_the_workloads_of_the_user(users: Users, path: str) -> None:
    position = users["position"]
    submitter, admin = users["submitter"], users["admin"]
    assert names(submitter.caught_up(f"{path}?owner=@me", position)) == ["mine"]
    assert names(admin.caught_up(f"{path}?owner=@me", position)) == ["theirs"]
    assert names(admin.caught_up(f"{path}?owner=submitter", position)) == ["mine"]
    assert names(admin.caught_up(f"{path}?owner=nobody", position)) == []


def test_a_list_of_the_past_selects_the_workloads_of_the_user(users: Users) -> None:
    path, position = f"{TEAM_A}/workloads?owner=@me", users["position"]
    made = users["submitter"].post(f"{TEAM_A}/workloads", workload("later", queue="owned"))

    present = users["submitter"].caught_up(path, int(made.headers["x-log-position"]))
    assert names(present) == ["later", "mine"]
    assert names(users["submitter"].get(f"{path}&at={position}")) == ["mine"]
    deleted = users["submitter"].delete(f"{TEAM_A}/workloads/later")
    users["position"] = int(deleted.headers["x-log-position"])


def test_a_workload_shows_its_owner_also_after_a_change_by_another_user(users: Users) -> None:
    owner = {"user": "submitter"}
    admin, path = users["admin"], f"{TEAM_A}/workloads/mine"
    found = admin.get(path)
    assert found.json()["status"]["owner"] == owner

    changed = workload("mine", queue="owned", priority=3)
    answer = admin.put(path, changed, If_Match=found.headers["ETag"])

    assert answer.json()["status"]["owner"] == owner


def test_stuck_workloads_and_bulk_actions_select_by_owner(users: Users) -> None:
    submitter, admin = users["submitter"], users["admin"]
    for name in ("mine", "theirs"):
        admin.post(f"{TEAM_A}/workloads/{name}/hold", {"reason": "wait"})

    held = int(admin.get(f"{TEAM_A}/workloads/theirs").headers["x-log-position"])
    path = "/v1/stuck-workloads?owner=@me&phase=OnHold"
    stuck = submitter.caught_up(path, held).json()["items"]
    assert [each["workload"] for each in stuck] == ["team-a/mine"]
    query = {"verb": "release", "reason": "go", "query": {"owner": "@me"}, "dryRun": "All"}
    preview = admin.post("/v1/batches", query).json()["items"]
    found = [each["workload"] for each in preview if each["workload"] != f"team-a/{PLACED}"]
    assert found == ["team-a/theirs"]
    for name in ("mine", "theirs"):
        released = admin.post(f"{TEAM_A}/workloads/{name}/release", {})
        users["position"] = int(released.headers["x-log-position"])


def test_an_assignment_names_the_owner_for_its_executor(
    callers: dict[str, Api], admin: Api, submitted: Callable[..., dict[str, Any]]
) -> None:
    open_queue(admin, "roomy")
    submitted(PLACED, "roomy")

    found = callers["executor"].get("/v1/assignments").json()["items"]

    assert {each["workload"]: each["owner"] for each in found}[f"team-a/{PLACED}"] == {
        "user": "admin"
    }
