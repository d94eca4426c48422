"""Backtests over HTTP: asked for by admins, worked off by a worker, and told with what differs."""

from collections.abc import Callable
from typing import Any

import pytest

from headgate.application.backtest_runs import run_backtest_slice
from headgate.bootstrap import Platform
from tests.api.callers import Api, cluster_queue, flavor, open_queue, workload
from tests.processes.programs import wait_until

HERE = "/v1/namespaces/team-a/workloads"
BEGIN = "/v1/backtests?from="


@pytest.fixture(scope="module", autouse=True)
def stretch(callers: dict[str, Api], schedule: Callable[[], int]) -> int:
    """A queue of four CPUs, and three workloads of two each that come one after the other."""
    admin = callers["admin"]
    open_queue(admin, "gpu", "main", cpu="4")
    begin = schedule()
    for name in ("first", "second", "third"):
        admin.post(HERE, workload(name))
        # A backtest ends where the state that follows the log stands.
        admin.caught_up(f"{HERE}/{name}", schedule())
    return begin


@pytest.fixture
def work(platform: Platform) -> Callable[[], None]:
    """Let a worker do all there is."""

    def run() -> None:
        rehearsing = platform.backtest_runner(_raise)
        while run_backtest_slice(rehearsing):
            pass

    return run


def _raise(_: str, failure: Exception) -> None:
    raise failure


def test_as_it_was_nothing_differs(admin: Api, stretch: int, work: Callable[[], None]) -> None:
    asked = admin.post(f"{BEGIN}{stretch}")
    assert asked.status_code == 202, asked.text
    assert asked.json()["state"] == "Waiting"
    work()

    found = admin.get(asked.headers["Location"]).json()
    assert (found["state"], found["percent"]) == ("Done", 100)
    totals = found["result"]["totals"]
    assert (totals["same"], totals["workloads"], totals["startsCompared"]) == (3, 3, 2)
    assert found["result"]["workloads"] == []


def test_more_quota_starts_a_pending_workload(
    admin: Api, stretch: int, work: Callable[[], None]
) -> None:
    path = f"{BEGIN}{stretch}&title=two%20more"
    asked = admin.post(path, cluster_queue("gpu", cpu="6"))
    work()

    found = admin.get(asked.headers["Location"]).json()
    listed = admin.get("/v1/simulations?kind=Backtest&limit=1").json()["items"]
    assert [(one["id"], one["title"], one["result"]) for one in listed] == [
        (found["id"], "two more", "1 workload earlier, 0 later, 0 did not start")
    ]
    assert found["changes"] == ["clusterqueue/gpu"]
    (differing,) = found["result"]["workloads"]
    assert (differing["workload"], differing["what"]) == (
        "team-a/third",
        ["StartsOnlyInBacktest"],
    )
    (queue,) = found["result"]["queues"]
    assert (queue["actual"]["stillWaiting"], queue["backtest"]["stillWaiting"]) == (1, 0)


def test_nothing_is_written_to_the_log(
    admin: Api, platform: Platform, stretch: int, work: Callable[[], None]
) -> None:
    before = platform.event_log.head()
    admin.post(f"{BEGIN}{stretch}", cluster_queue("gpu", cpu="8"))
    work()

    assert platform.event_log.head() == before


def test_one_is_cancelled_before_it_is_worked_off(
    admin: Api, stretch: int, work: Callable[[], None]
) -> None:
    place = admin.post(f"{BEGIN}{stretch}").headers["Location"]
    assert admin.post(f"{place}/cancel").json()["state"] == "Cancelled"
    work()

    assert admin.get(place).json()["state"] == "Cancelled"
    assert admin.get("/v1/backtests?limit=1").json()["items"][0]["state"] == "Cancelled"


@pytest.mark.parametrize(
    ("query", "status", "kind"),
    [
        ("999999", 422, "invalid-request"),
        ("2&to=1", 422, "invalid-request"),
        ("yesterday", 422, "invalid-request"),
    ],
)
def test_a_stretch_that_never_was_is_refused(
    admin: Api, query: str, status: int, kind: str
) -> None:
    answer = admin.post(f"{BEGIN}{query}")

    assert answer.status_code == status
    assert answer.json()["type"] == f"/problems/{kind}"


def test_manifests_that_break_rules_are_refused(admin: Api, stretch: int) -> None:
    broken = admin.post(f"{BEGIN}{stretch}", cluster_queue("gpu", cpu="many"))
    assert broken.status_code == 422, broken.text

    work = admin.post(f"{BEGIN}{stretch}", workload("fourth"))
    assert work.json()["type"] == "/problems/invalid-request"


def test_a_body_of_null_asks_for_no_change(admin: Api, stretch: int) -> None:
    asked = admin.send(f"{BEGIN}{stretch}", b"null", "application/json")
    assert asked.status_code == 202, asked.text
    assert "changes" not in asked.json()
    admin.post(f"{asked.headers['Location']}/cancel")


def test_without_an_end_it_ends_with_the_newest_event_of_the_log(
    admin: Api, schedule: Callable[[], int], stretch: int
) -> None:
    admin.post("/v1/resourceflavors", flavor("newest"))
    head = schedule()
    # The state that follows the log may not have come so far.
    asked = admin.post(f"{BEGIN}{stretch}").json()
    assert asked["toPosition"] == head
    admin.post(f"/v1/backtests/{asked['id']}/cancel")


def test_a_prediction_is_recorded_and_checked_when_it_is_due(
    admin: Api, stretch: int, work: Callable[[], None], schedule: Callable[[], int]
) -> None:
    place = admin.post(f"{BEGIN}{stretch}", cluster_queue("gpu", cpu="6")).headers["Location"]
    assert admin.post(f"{place}/prediction", {}).json()["detail"] == "The backtest has no result"
    work()
    order = {"checkAfterSeconds": 1, "tolerancePercent": 50, "reason": "more quota"}
    made = admin.post(f"{place}/prediction", order)
    assert made.status_code == 201, made.text
    (recorded,) = made.json()["items"]
    (wait,) = recorded["waits"]
    assert (wait["clusterQueue"], wait["verdict"], recorded["checkedAt"]) == ("gpu", None, None)
    assert wait["limitSeconds"] == wait["p95Seconds"] + 60

    def shown() -> dict[str, Any]:
        listed = admin.caught_up("/v1/predictions", schedule()).json()["items"]
        found: dict[str, Any] = next(one for one in listed if one["id"] == recorded["id"])
        return found

    wait_until(lambda: shown()["checkedAt"] is not None, "the prediction is checked")
    (checked,) = shown()["waits"]
    assert checked["verdict"] == "NoStarts"
    listed = admin.get("/v1/simulations?kind=Backtest").json()["items"]
    (applied,) = [one for one in listed if one.get("check")]
    assert (applied["id"], applied["check"]["verdict"]) == (recorded["backtest"], "NoStarts")
    (event,) = admin.get(f"/v1/events?stream=prediction/{recorded['id']}&limit=1").json()["items"]
    assert (event["type"], event["actor"]) == ("prediction.checked", "scheduler")


def test_only_admins_may(callers: dict[str, Api], stretch: int) -> None:
    for role in ("viewer", "submitter"):
        assert callers[role].post(f"{BEGIN}{stretch}").status_code == 403
        assert callers[role].get("/v1/backtests").status_code == 403


def test_there_are_never_too_many(admin: Api, stretch: int) -> None:
    places = [admin.post(f"{BEGIN}{stretch}").headers["Location"] for _ in range(10)]
    refused = admin.post(f"{BEGIN}{stretch}")

    assert refused.status_code == 409
    assert "10 backtests" in refused.json()["detail"]
    for place in places:
        admin.post(f"{place}/cancel")
    assert admin.post(f"{BEGIN}{stretch}").status_code == 202
