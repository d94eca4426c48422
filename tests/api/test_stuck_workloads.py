"""Stuck workloads, and bulk actions on workloads: previewed, done, shown and undone."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.api.callers import Api, workload

HERE = "/v1/namespaces/team-a/workloads"
QUERY = {"namespace": "team-a", "phases": ["Inactive"], "name": "sick"}


def submit(admin: Api, *names: str) -> None:
    for name in names:
        made = admin.post(HERE, workload(name))
        assert made.status_code == 201, made.text


def deactivate(admin: Api, *names: str) -> None:
    submit(admin, *names)
    for name in names:
        admin.post(f"{HERE}/{name}/deactivate", {"reason": "no quota"})


def keys(result: dict[str, Any], outcome: str) -> list[str]:
    return [item["workload"] for item in result["items"] if item["outcome"] == outcome]


def test_a_stuck_workload_has_a_cause_an_actor_and_a_recommended_action(admin: Api) -> None:
    deactivate(admin, "patient")
    found = admin.get("/v1/stuck-workloads?name=patient").json()
    assert found["causes"] == {"Requested": 1}
    (case,) = found["items"]
    assert (case["phase"], case["cause"], case["by"]) == ("Inactive", "Requested", "admin:admin")
    assert case["sentence"] == "Deactivated: no quota"
    assert case["helps"] == "activate"
    assert "the backoff" in case["resets"]


def test_a_stuck_workload_predicts_the_result_of_the_recommended_action(admin: Api) -> None:
    deactivate(admin, "forecast")
    before = admin.get(f"{HERE}/forecast").json()
    case = admin.get(f"{HERE}/forecast/stuck").json()
    assert case["next"]
    assert admin.get(f"{HERE}/forecast").json() == before
    admin.post(f"{HERE}/forecast/activate", {})
    healthy = admin.get(f"{HERE}/forecast/stuck")
    assert (healthy.status_code, healthy.json()["type"]) == (409, "/problems/illegal-now")


def test_an_action_can_be_tried_without_doing_it(admin: Api) -> None:
    deactivate(admin, "tried")
    tried = admin.post(f"{HERE}/tried/activate?dryRun=All", {})
    assert tried.json()["status"]["phase"] == "Pending"
    assert admin.get(f"{HERE}/tried").json()["status"]["phase"] == "Inactive"


def test_a_preview_lists_eligible_and_ineligible_workloads_and_changes_nothing(admin: Api) -> None:
    deactivate(admin, "seen-1")
    submit(admin, "seen-2")
    asked = {"verb": "activate", "reason": "back", "query": {"name": "seen-"}, "dryRun": "All"}
    shown = admin.post("/v1/batches", asked).json()
    assert (shown["batch"], shown["eligible"], shown["ineligible"]) == ("", 1, 1)
    assert keys(shown, "eligible") == ["team-a/seen-1"]
    assert shown["items"][1]["reason"] == "Nothing to change"
    assert admin.get(f"{HERE}/seen-1").json()["status"]["phase"] == "Inactive"


def test_only_those_of_the_preview_that_have_not_changed_are_touched(admin: Api) -> None:
    deactivate(admin, "sick-1", "sick-2")
    asked = {"verb": "activate", "reason": "back", "query": QUERY}
    shown = admin.post("/v1/batches", {**asked, "dryRun": "All"}).json()
    deactivate(admin, "sick-3")
    admin.post(f"{HERE}/sick-2/hold", {"reason": "look at it first"})
    chosen = [{"workload": i["workload"], "uid": i["uid"]} for i in shown["items"]]
    done = admin.post(
        "/v1/batches",
        {**asked, "query": None, "workloads": chosen, "position": shown["position"]},
    ).json()
    assert keys(done, "done") == ["team-a/sick-1"]
    assert keys(done, "refused") == ["team-a/sick-2"]
    assert "Changed since position" in done["items"][1]["reason"]
    assert admin.get(f"{HERE}/sick-3").json()["status"]["phase"] == "Inactive"


def test_a_batch_can_be_viewed_and_undone(admin: Api) -> None:
    submit(admin, "batch-1", "batch-2")
    asked = {"verb": "hold", "reason": "upgrade", "query": {"name": "batch-"}}
    done = admin.post("/v1/batches", asked).json()
    assert done["eligible"] == 2
    admin.post(f"{HERE}/batch-2/release", {})
    seen = admin.get(f"/v1/batches/{done['batch']}").json()
    assert (seen["verb"], seen["undo"], seen["reason"]) == ("hold", "release", "upgrade")
    assert [item["canUndo"] for item in seen["items"]] == [True, False]
    undone = admin.post(f"/v1/batches/{done['batch']}/undo", {}).json()
    assert keys(undone, "done") == ["team-a/batch-1"]
    assert admin.get(f"{HERE}/batch-1").json()["status"]["phase"] == "Pending"


def test_a_batch_under_a_key_is_done_once_and_answered_as_the_first_time(admin: Api) -> None:
    submit(admin, "once-1", "once-2")
    asked = {"verb": "hold", "reason": "upgrade", "query": {"name": "once-", "phases": ["Pending"]}}
    first = admin.post("/v1/batches", asked, Idempotency_Key="batch-1")
    again = admin.post("/v1/batches", asked, Idempotency_Key="batch-1")
    assert keys(first.json(), "done") == ["team-a/once-1", "team-a/once-2"]
    assert (again.status_code, again.content) == (200, first.content)
    assert again.headers["idempotency-replayed"] == "true"
    assert len(admin.get(f"{HERE}/once-1/timeline").json()["entries"]) == 2
    other = admin.post("/v1/batches", {**asked, "reason": "x"}, Idempotency_Key="batch-1")
    assert (other.status_code, other.json()["type"]) == (422, "/problems/idempotency-key-reused")
    there = f"/v1/batches/{first.json()['batch']}/undo"
    undone = admin.post(there, {}, Idempotency_Key="undo-1")
    assert keys(undone.json(), "done") == ["team-a/once-1", "team-a/once-2"]
    assert admin.post(there, {}, Idempotency_Key="undo-1").content == undone.content


def test_what_cannot_be_undone_says_why_and_what_to_do_instead(admin: Api) -> None:
    submit(admin, "free-1")
    admin.post(f"{HERE}/free-1/hold", {"reason": "x"})
    asked = {"verb": "release", "reason": "go", "query": {"name": "free-"}}
    done = admin.post("/v1/batches", asked).json()
    refused = admin.post(f"/v1/batches/{done['batch']}/undo", {}).json()
    assert "workloads may have started" in refused["detail"]
    assert refused["remedy"] == "Hold the workloads again."


def test_what_a_batch_did_is_undone_only_where_something_undoes_it(admin: Api) -> None:
    submit(admin, "gone-1")
    asked = {"verb": "cancel", "reason": "not needed", "query": {"name": "gone-"}}
    done = admin.post("/v1/batches", asked).json()
    refused = admin.post(f"/v1/batches/{done['batch']}/undo", {})
    assert (refused.status_code, refused.json()["type"]) == (409, "/problems/illegal-now")
    assert admin.get("/v1/batches/nobody").status_code == 404


def test_a_bulk_action_needs_a_reason_and_either_a_query_or_names(admin: Api) -> None:
    unreasoned = admin.post("/v1/batches", {"verb": "activate", "reason": "", "query": {}})
    assert unreasoned.status_code in {400, 422}
    nobody = admin.post("/v1/batches", {"verb": "activate", "reason": "x"})
    assert nobody.json()["errors"][0]["pointer"] == "/query"


def test_a_submitter_acts_only_on_what_it_sees(admin: Api, callers: dict[str, Api]) -> None:
    there = "/v1/namespaces/team-b/workloads"
    admin.post(there, {**workload("other-1"), "metadata": {"name": "other-1"}})
    submit(admin, "other-2")
    asked = {"verb": "hold", "reason": "x", "query": {"name": "other-"}}
    done = callers["submitter"].post("/v1/batches", asked).json()
    assert keys(done, "done") == ["team-a/other-2"]
    named = {"verb": "hold", "reason": "x", "workloads": [{"workload": "team-b/other-1"}]}
    assert callers["submitter"].post("/v1/batches", named).json()["items"] == []
    assert callers["viewer"].post("/v1/batches", asked).status_code == 403


def test_a_users_bulk_release_leaves_admins_holds(
    admin: Api, callers: dict[str, Api], schedule: Callable[[], int]
) -> None:
    submit(admin, "kept-1")
    admin.post(f"{HERE}/kept-1/hold", {"reason": "audit"})
    schedule()
    asked = {"verb": "release", "reason": "go", "query": {"name": "kept-"}}
    refused = callers["submitter"].post("/v1/batches", asked).json()
    assert keys(refused, "refused") == ["team-a/kept-1"]
    assert refused["items"][0]["reason"] == "On hold by admin:admin: audit"


def test_a_preview_of_many_workloads_says_which_were_not_simulated(
    admin: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headgate.application.bulk_actions.MAX_FORECASTS", 1)
    deactivate(admin, "many-1", "many-2")
    submit(admin, "many-0")
    asked = {"verb": "activate", "reason": "back", "query": {"name": "many-"}, "dryRun": "All"}
    items = admin.post("/v1/batches", asked).json()["items"]
    assert [item["outcome"] for item in items] == ["ineligible", "eligible", "eligible"]
    assert not items[1]["next"].startswith("Not simulated")
    assert items[2]["next"].startswith("Not simulated")


def test_a_batch_beyond_the_limit_is_refused_as_a_whole(
    admin: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headgate.application.bulk_actions.MAX_ITEMS", 1)
    submit(admin, "crowd-1", "crowd-2")
    asked = {"verb": "hold", "reason": "too many", "query": {"name": "crowd-"}}
    answer = admin.post("/v1/batches", asked)
    assert answer.status_code == 422
    (error,) = answer.json()["errors"]
    assert (error["code"], error["arguments"]) == ("TooManyMatches", {"count": 2, "maximum": 1})
    assert admin.get(f"{HERE}/crowd-1").json()["status"]["phase"] != "OnHold"


def test_stuck_workloads_are_filtered_by_the_time_they_became_stuck(admin: Api) -> None:
    deactivate(admin, "lately")
    (case,) = admin.get("/v1/stuck-workloads?name=lately").json()["items"]
    asked = {"name": "lately", "since": case["since"]}
    assert admin.client.get(
        "/v1/stuck-workloads", params=asked, headers=admin.headers
    ).json()["items"] == [case]  # fmt: skip
    assert (
        admin.get("/v1/stuck-workloads?name=lately&since=2999-01-01T00:00:00Z").json()["items"]
        == []
    )
    wrong = admin.get("/v1/stuck-workloads?since=friday").json()
    assert wrong["errors"][0]["pointer"] == "/since"
