"""What-if over HTTP: what would happen is told, and nothing has happened."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.api.callers import Api, cluster_queue, flavor, local_queue, workload

HERE = "/v1/namespaces/team-a/workloads"
OWN = {"withinClusterQueue": "LowerPriority"}


@pytest.fixture(scope="module", autouse=True)
def full_queue(callers: dict[str, Api], schedule: Callable[[], int]) -> None:
    """A queue of four CPUs, used up by two workloads, with one that waits."""
    admin = callers["admin"]
    admin.post("/v1/resourceflavors", flavor())
    admin.post("/v1/clusterqueues", cluster_queue("gpu", cpu="4", preemption=OWN))
    admin.post("/v1/namespaces/team-a/localqueues", local_queue("main", "gpu"))
    admin.post("/v1/namespaces/team-b/localqueues", local_queue("main", "gpu", "team-b"))
    admin.post(HERE, workload("first"))
    admin.post("/v1/namespaces/team-b/workloads", workload("secret", namespace="team-b"))
    schedule()
    admin.post(HERE, workload("waiting"))
    schedule()


def _tried(api: Api, *objects: dict[str, Any], query: str = "") -> dict[str, Any]:
    before = api.get("/v1/events?limit=1").json()["items"][0]["position"]
    answer = api.post(f"/v1/simulations{query}", _listed(*objects))
    assert answer.status_code == 200, answer.text
    assert api.get("/v1/events?limit=1").json()["items"][0]["position"] == before
    found: dict[str, Any] = answer.json()
    return found


def _listed(*objects: dict[str, Any]) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "List", "items": list(objects)}


def test_a_submit_that_must_wait_is_told_why_and_where(admin: Api) -> None:
    (found,) = _tried(admin, workload("asked"))["workloads"]
    assert found["verdict"] == found["inTheEnd"] == "Waits"
    assert found["position"] == {**found["position"], "clusterQueue": 2, "of": 2}
    assert found["blockers"][0]["shortBy"] == 2000


def test_edits_that_end_a_constraint_are_offered_with_their_patch(admin: Api) -> None:
    wide = workload("wide")
    wide["spec"]["podSets"][0]["count"] = 40

    (found,) = _tried(admin, wide)["workloads"]

    edits = {edit["code"]: edit for edit in found["edits"]}
    fewer = {"op": "replace", "path": "/spec/podSets/0/count", "value": 4}
    assert (edits["FewerPods"]["text"], edits["FewerPods"]["patch"]) == (
        "4 pods instead of 40",
        [fewer],
    )
    assert edits["PartialAdmission"]["patch"][0]["path"] == "/spec/podSets/0/minCount"
    quota = edits["RaiseQuota"]
    assert (quota["kind"], quota["name"], quota["requires"]) == ("ClusterQueue", "gpu", "admin")
    assert [step["op"] for step in quota["patch"]] == ["test", "test", "replace"]
    assert quota["patch"][-1]["value"] == "40"


def test_a_submit_that_preempts_names_victims_and_starts_in_the_end(admin: Api) -> None:
    found = _tried(admin, workload("asked", priority=100))
    (asked,) = found["workloads"]
    assert (asked["verdict"], asked["inTheEnd"]) == ("MakesRoom", "Admitted")
    (victim,) = asked["victims"]
    assert victim["reason"] == "InClusterQueue"
    assert found["rounds"][0]["victims"] == asked["victims"]
    (effect,) = found["effects"]
    assert (effect["workload"], effect["what"]) == (victim["workload"], "Evicted")


def test_dry_run_of_a_submit_says_the_same(admin: Api) -> None:
    body = workload("asked", priority=100)
    by_submit = admin.post(f"{HERE}?dryRun=Admission", body).json()
    by_simulation = _tried(admin, body)
    for found in (by_submit, by_simulation):
        found["asOf"].pop("time")
    assert by_submit == by_simulation
    assert admin.get(f"{HERE}/asked").status_code == 404


def test_more_quota_starts_a_pending_workload(admin: Api) -> None:
    found = _tried(admin, cluster_queue("gpu", cpu="6", preemption=OWN))
    (effect,) = found["effects"]
    assert effect == {
        "workload": "team-a/waiting",
        "clusterQueue": "gpu",
        "what": "Starts",
        "without": "Pending",
        "withChange": "Starting",
    }
    assert found["starts"] == 1


def test_every_write_can_be_tried_where_it_is_made(admin: Api) -> None:
    more = cluster_queue("gpu", cpu="6", preemption=OWN)
    version = admin.get("/v1/clusterqueues/gpu").headers["ETag"]
    waits = admin.get(f"{HERE}/waiting").headers["ETag"]
    urgent = workload("waiting", priority=50)
    head = admin.get("/v1/events?limit=1").json()["items"][0]["position"]
    by_put = admin.put("/v1/clusterqueues/gpu?dryRun=Admission", more, If_Match=version)
    by_apply = admin.post("/v1/apply?dryRun=Admission", more)
    assert by_put.json()["effects"] == by_apply.json()["effects"] != []
    raised = admin.put(f"{HERE}/waiting?dryRun=Admission", urgent, If_Match=waits)
    assert raised.json()["workloads"][0]["verdict"] == "MakesRoom"
    gone = admin.delete(f"{HERE}/first?dryRun=Admission")
    assert [effect["what"] for effect in gone.json()["effects"]] == ["Starts"]
    new = admin.post("/v1/cohorts?dryRun=Admission", {**more, "kind": "Cohort", "spec": {}})
    assert (new.status_code, new.json()["effects"]) == (200, [])
    closed = admin.delete("/v1/clusterqueues/gpu?dryRun=Admission")
    assert closed.status_code == 200
    assert admin.get("/v1/events?limit=1").json()["items"][0]["position"] == head


def test_a_higher_priority_or_an_end_of_another_is_simulated(admin: Api) -> None:
    raised = _tried(admin, query="?priority=team-a/waiting:50")
    assert raised["workloads"][0]["verdict"] == "MakesRoom"
    gone = _tried(admin, query="?delete=workload/team-a/first")
    assert [effect["what"] for effect in gone["effects"]] == ["Starts"]


def test_the_past_can_be_simulated_as_well(admin: Api) -> None:
    submitted = admin.get("/v1/events?stream=workload/team-a/first").json()["items"][-1]
    at = submitted["position"] - 1
    found = _tried(admin, workload("asked"), query=f"?at={at}")
    assert found["asOf"]["position"] == at
    assert found["workloads"][0]["verdict"] == "Admitted"


def test_names_of_other_teams_are_not_reported(callers: dict[str, Api]) -> None:
    big = workload("asked", priority=100)
    big["spec"]["podSets"][0]["count"] = 4
    assert "team-b/secret" in str(_tried(callers["admin"], big))
    assert "team-b/secret" not in str(_tried(callers["submitter"], big))
    refused = callers["submitter"].post("/v1/simulations?delete=workload/team-b/secret", _listed())
    assert refused.status_code == 403


@pytest.mark.parametrize(
    ("query", "status"),
    [("", 422), ("?priority=nonsense", 422), ("?delete=node/none", 404), ("?cordon=none", 404)],
)
def test_what_cannot_be_tried_is_a_problem(admin: Api, query: str, status: int) -> None:
    assert admin.post(f"/v1/simulations{query}", _listed()).status_code == status


def test_a_change_that_is_refused_is_reported_as_when_it_is_made(admin: Api) -> None:
    wrong = workload("asked")
    wrong["spec"]["podSets"] = []
    tried, made = admin.post("/v1/simulations", wrong), admin.post(HERE, wrong)
    assert tried.status_code == made.status_code == 422
    assert tried.json()["errors"] == made.json()["errors"]


def test_an_explanation_keeps_the_reasons_of_before(admin: Api) -> None:
    found = admin.get(f"{HERE}/waiting/explanation").json()
    assert found["attempts"] == 1
    (then,) = found["history"]
    assert then["dominant"] == found["dominant"] == "WaitingForQuota"
    assert found["since"] == {"position": then["position"], "time": then["at"]}
    assert found["unchangedSince"] == then["at"]
    last = found["lastAttempt"]
    assert (last["position"], last["time"]) == (then["position"], then["at"])
    events = admin.get(f"/v1/events?correlation={last['cycle']}").json()["items"]
    assert then["position"] in [event["position"] for event in events]


def test_a_derived_reason_holds_since_the_event_that_caused_it(admin: Api) -> None:
    path = f"{HERE}/held-back"
    admin.post(HERE, workload("held-back"))
    admin.post(f"{path}/hold", {"reason": "for now"})
    held = admin.get(f"{path}/explanation").json()
    fact = admin.get(f"{path}/timeline").json()["entries"][0]
    assert held["since"] == {"position": fact["position"], "time": fact["at"]}
    admin.delete(path)


def _records(api: Api, query: str = "") -> list[dict[str, Any]]:
    answer = api.get(f"/v1/simulations{query}")
    assert answer.status_code == 200, answer.text
    items: list[dict[str, Any]] = answer.json()["items"]
    return items


def test_a_simulation_is_recorded_only_where_its_request_says_so(admin: Api) -> None:
    before = _records(admin)
    assert "record" not in _tried(admin, workload("asked"))
    assert _records(admin) == before

    found = _tried(admin, workload("asked"), query="?record=true&title=one%20more")

    (record, *others) = _records(admin)
    assert others == before
    assert (record["id"], record["kind"], record["title"]) == (
        found["record"],
        "Workload",
        "one more",
    )
    assert (record["state"], record["percent"]) == ("Done", 100)
    assert record["changes"] == ["workload/team-a/asked"]
    assert (record["code"], record["result"]) == ("SimulatedPending", "Would stay pending")
    assert record["position"] == found["asOf"]["position"]
    assert "documents" not in record


def test_a_record_gives_the_same_result_again_on_the_state_that_it_began_with(admin: Api) -> None:
    first = _tried(admin, workload("asked", priority=100), query="?record=true&cordon=")
    admin.post(HERE, workload("later"))
    path = f"/v1/simulations/{first['record']}"
    kept = admin.get(path).json()

    again = admin.send(
        f"/v1/simulations?at={kept['position']}", kept["documents"].encode(), "application/json"
    ).json()

    assert again["workloads"] == first["workloads"]
    assert again["rounds"] == first["rounds"]
    admin.delete(f"{HERE}/later")


def test_records_say_in_one_line_what_would_happen(admin: Api) -> None:
    tried = {
        "preempts": ([workload("asked", priority=100)], ""),
        "several": ([workload("asked"), workload("other")], ""),
        "starts": ([cluster_queue("gpu", cpu="8", preemption=OWN)], ""),
        "nothing": ([flavor("unused")], ""),
        "ended": ([], "&delete=workload/team-a/first"),
        "deleted": ([], "&delete=workload/team-a/waiting"),
    }
    for title, (objects, more) in tried.items():
        body = _listed(*objects) if objects else b""
        path = f"/v1/simulations?record=true&title={title}{more}"
        answer = admin.post(path, body) if objects else admin.send(path, b"", "application/yaml")
        assert answer.status_code == 200, answer.text

    told = {each.get("title"): (each["kind"], each.get("result")) for each in _records(admin)}

    assert told["preempts"] == ("Workload", "Would be admitted after preempting 1 workload")
    assert told["several"] == ("Workload", "0 of 2 workloads would be admitted")
    assert told["starts"] == ("Change", "1 workload would start, 0 would be evicted")
    assert told["nothing"] == ("Change", "No workload affected")
    assert told["ended"] == told["deleted"] == ("Workload", "Would be deleted")
    kept = admin.get("/v1/simulations?limit=1&kind=Workload").json()
    whole = admin.get(f"/v1/simulations/{kept['items'][0]['id']}").json()
    assert whole["delete"] == "workload/team-a/waiting"
    rest = admin.get(f"/v1/simulations?limit=1&kind=Workload&before={kept['next']}").json()
    assert rest["items"][0]["title"] == "ended"


def test_users_read_their_own_simulations_and_admins_those_of_all(callers: dict[str, Api]) -> None:
    admin, submitter, viewer = (callers[name] for name in ("admin", "submitter", "viewer"))
    mine = _tried(submitter, workload("own"), query="?record=true&title=mine")["record"]
    theirs = _tried(admin, workload("foreign"), query="?record=true&title=theirs")["record"]

    assert [each["id"] for each in _records(submitter)] == [mine]
    assert _records(submitter, "?author=me") == _records(submitter)
    assert {mine, theirs} <= {each["id"] for each in _records(admin)}
    assert mine not in {each["id"] for each in _records(admin, "?author=me")}
    assert [each["id"] for each in _records(admin, "?author=user:submitter")] == [mine]
    assert _records(viewer) == []
    assert submitter.get(f"/v1/simulations/{mine}").json()["title"] == "mine"
    assert submitter.get(f"/v1/simulations/{theirs}").status_code == 404
    assert submitter.get("/v1/simulations?author=user:admin").status_code == 403
    assert submitter.get("/v1/simulations?kind=Backtest").json()["items"] == []
    assert admin.get("/v1/simulations?kind=Guess").status_code == 422


def test_manifests_that_are_too_long_to_be_kept_are_simulated_without_a_record(admin: Api) -> None:
    long = workload("long")
    long["metadata"]["annotations"] = {"note": "x" * 200_000}
    many = _listed(*(long for _ in range(6)))

    refused = admin.post("/v1/simulations?record=true", many)

    assert refused.status_code == 413, refused.text
    assert "not recorded" in refused.json()["detail"]


def test_a_record_is_gone_once_content_is_erased(admin: Api, schedule: Callable[[], int]) -> None:
    secret = flavor("secretive", nodeLabels={"pool": "secretive"})
    admin.post("/v1/resourceflavors", secret)
    _tried(admin, secret, query="?record=true&title=again")
    admin.delete("/v1/resourceflavors/secretive")
    schedule()

    order = {"stream": "resourceflavor/secretive", "reason": "asked to"}
    erased = admin.post("/v1/erasures", order)

    assert erased.status_code < 300, erased.text
    assert [each for each in _records(admin) if each["kind"] != "Backtest"] == []
