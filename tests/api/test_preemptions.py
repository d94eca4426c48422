"""A preemption over REST: a handler saves work first, protection and gates, and the ledger."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.api.callers import Api, cluster_queue, open_queue, workload

HERE = "/v1/namespaces/team-a/workloads"
HANDLER = {"mode": "Soft", "gracePeriodSeconds": 300, "requireAck": True, "handler": "ckpt"}


def a_class(name: str, value: int, **fields: Any) -> dict[str, Any]:
    version = "kueue.x-k8s.io/v1beta2"
    metadata = {"name": name}
    return {"apiVersion": version, "kind": "WorkloadPriorityClass", "metadata": metadata,
            "value": value, **fields}  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def _queues(admin: Api) -> None:
    lower = {"withinClusterQueue": "LowerPriority", "softEviction": {"maxGraceSeconds": 600}}
    for name in (
        "soft",
        "listed",
        "chained",
        "gated",
        "other",
        "watched",
        "linked",
        "early",
        "summed",
    ):
        open_queue(admin, name, cpu="2", preemption=lower)
    admin.post("/v1/workloadpriorityclasses", a_class("bounded", 0, maxProtectionDelta=20))
    admin.post("/v1/workloadpriorityclasses", a_class("safe", 15))
    admin.post("/v1/workloadpriorityclasses", a_class("too-safe", 50))


def test_a_handler_saves_first_and_the_ledger_tells_the_whole_round(
    admin: Api,
    callers: dict[str, Api],
    schedule: Callable[[], int],
    submitted: Callable[..., dict[str, Any]],
) -> None:
    executor = callers["executor"]
    uid = submitted("victim", "soft", evictionPolicy=HANDLER)["metadata"]["uid"]
    urgent = submitted("urgent", "soft", priority=10)
    assert urgent["status"]["phase"] == "Nominated"
    assert urgent["status"]["nominatedPlacement"]["clusterQueue"] == "soft"

    (open_eviction,) = executor.get("/v1/evictions?handler=ckpt").json()["items"]
    assert open_eviction["preemptor"] == "team-a/urgent"
    eviction = open_eviction["eviction"]
    assert (eviction["mode"], eviction["stage"], eviction["onDeadline"]) == (
        "Soft",
        "Requested",
        "Force",
    )
    assert executor.get("/v1/evictions?handler=other").json()["items"] == []
    run_id = eviction["id"].partition(".")[0]
    assert admin.get(f"/v1/cycles/{run_id}").json()["cycle"]["preemptions"] == 1

    at = f"{HERE}/victim/evictions/{eviction['id']}"
    stolen = executor.post(f"{at}/acknowledge", {"uid": uid, "handler": "other"})
    assert stolen.status_code == 409
    taken = executor.post(f"{at}/acknowledge", {"uid": uid, "handler": "ckpt"})
    assert taken.json()["status"]["eviction"]["stage"] == "Acknowledged"
    report = {"workload": "team-a/victim", "uid": uid, "type": "progressed",
              "eviction": eviction["id"], "message": "half saved"}  # fmt: skip
    assert executor.post("/v1/reports:batch", {"reports": [report]}).status_code == 200
    stopping = executor.post(f"{at}/stopping", {"uid": uid}).json()["status"]["eviction"]
    assert (stopping["stage"], stopping["note"]) == ("Stopping", "half saved")
    told = admin.caught_up("/v1/preemptions?workload=team-a/victim", schedule())
    (listed,) = told.json()["items"]
    assert listed["victims"][0]["stage"] == "Stopping"
    assert listed["victims"][0]["phase"] == "Evicting"
    assert executor.post(f"{at}/stopped", {"uid": uid}).status_code == 200

    position = schedule()
    assert admin.caught_up(f"{HERE}/urgent", position).json()["status"]["phase"] == "Starting"
    (found,) = admin.caught_up("/v1/preemptions?clusterQueue=soft", position).json()["items"]
    assert (found["stage"], found["preemptor"]) == ("Completed", "team-a/urgent")
    assert found["startedAt"]
    (victim,) = found["victims"]
    assert (victim["stage"], victim["reason"]) == ("Released", "InClusterQueue")
    assert victim["phase"] == "Pending"
    (figure,) = found["figures"]
    assert (figure["nominal"], figure["used"], figure["wanted"]) == (2000, 2000, 2000)
    assert admin.get(f"{HERE}/victim").json()["status"]["phase"] == "Pending"


def test_the_ledger_is_narrowed_by_time_and_cohort(
    admin: Api, submitted: Callable[..., dict[str, Any]]
) -> None:
    submitted("low-listed", "listed")
    submitted("high-listed", "listed", priority=10)
    here = "/v1/preemptions?clusterQueue=listed"
    assert admin.get(f"{here}&until=2020-01-01T00:00:00Z").json()["items"] == []
    (found,) = admin.get(f"{here}&since=2020-01-01T00:00:00Z").json()["items"]
    assert found["preemptor"] == "team-a/high-listed"
    assert admin.get(f"{here}&cohort=none").json()["items"] == []
    refused = admin.get("/v1/preemptions?since=yesterday")
    assert refused.status_code == 422


def test_a_round_stands_in_a_chain(admin: Api, submitted: Callable[..., dict[str, Any]]) -> None:
    submitted("low-chained", "chained")
    submitted("high-chained", "chained", priority=10)
    (found,) = admin.get("/v1/preemptions?clusterQueue=chained").json()["items"]
    chain = admin.get(f"/v1/preemptions/{found['id']}/chain").json()
    assert [one["id"] for one in chain["rounds"]] == [found["id"]]
    assert chain["links"] == []
    assert admin.get("/v1/preemptions/none/chain").status_code == 404


def test_a_victim_that_makes_others_leave_later_links_two_rounds(
    admin: Api,
    callers: dict[str, Api],
    schedule: Callable[[], int],
    submitted: Callable[..., dict[str, Any]],
) -> None:
    executor = callers["executor"]
    middle = submitted("middle", "linked", priority=5)["metadata"]["uid"]
    high = submitted("high", "linked", priority=9)["metadata"]["uid"]
    (first,) = admin.get("/v1/preemptions?clusterQueue=linked").json()["items"]
    path = f"{HERE}/middle/evictions/{first['id']}/stopped"
    assert executor.post(path, {"uid": middle}).status_code == 200
    schedule()
    assert admin.post(f"{HERE}/middle/hold", {"reason": "later"}).status_code == 200
    done = executor.post(f"{HERE}/high/finished", {"uid": high, "succeeded": True})
    assert done.status_code == 200, done.text
    submitted("low", "linked")
    assert admin.post(f"{HERE}/middle/release", {}).status_code == 200
    schedule()
    chain = admin.get(f"/v1/preemptions/{first['id']}/chain").json()
    before, after = chain["rounds"]
    assert (before["preemptor"], after["preemptor"]) == ("team-a/high", "team-a/middle")
    link = {"from": before["id"], "to": after["id"], "workload": "team-a/middle"}
    assert chain["links"] == [link]
    assert admin.get(f"/v1/preemptions/{after['id']}/chain").json()["links"] == [link]


def test_protection_is_changed_within_its_bounds(
    callers: dict[str, Api], submitted: Callable[..., dict[str, Any]]
) -> None:
    owner = callers["submitter"]
    submitted("saving", "other", priorityClassRef={"name": "bounded"})
    raised = owner.post(f"{HERE}/saving/protection", {"preemptionPriorityClassName": "safe"})
    assert raised.status_code == 200, raised.text
    assert raised.json()["status"]["preemptionPriority"] == 15
    refused = owner.post(f"{HERE}/saving/protection", {"preemptionPriorityClassName": "too-safe"})
    assert refused.status_code == 422
    assert refused.json()["errors"][0]["pointer"] == "/preemptionPriorityClassName"
    unknown = owner.post(f"{HERE}/saving/protection", {"preemptionPriorityClassName": "none"})
    assert unknown.status_code == 422
    back = owner.post(f"{HERE}/saving/protection", {"reason": "saved"})
    assert back.json()["status"]["preemptionPriority"] == 0


def test_a_closed_preemption_gate_protects_all_workloads_until_it_opens(
    admin: Api, schedule: Callable[[], int], submitted: Callable[..., dict[str, Any]]
) -> None:
    submitted("runs", "gated")
    waits = submitted("waits", "gated", priority=10, preemptionGates=[{"name": "data"}])
    conditions = {c["type"]: c["status"] for c in waits["status"]["conditions"]}
    assert conditions["BlockedOnPreemptionGates"] == "True"
    told = admin.caught_up(f"{HERE}/waits/explanation", schedule()).json()
    assert told["dominant"] == "AdmissionGated"
    assert told["sentence"] == "Can preempt, but preemption gates are closed: data"
    assert told["wouldUnblock"][0] == "Open preemption gates data"
    (gate,) = waits["status"]["preemptionGates"]
    since = waits["metadata"]["creationTimestamp"]
    assert gate == {"name": "data", "position": "Closed", "lastTransitionTime": since}
    assert admin.get(f"{HERE}/runs").json()["status"]["phase"] == "Starting"
    opened = admin.post(f"{HERE}/waits/preemption-gates", {"name": "data", "position": "Open"})
    assert opened.status_code == 200, opened.text
    found = admin.caught_up(f"{HERE}/waits", schedule()).json()
    assert found["status"]["phase"] == "Nominated"


def test_a_setting_is_shown_with_its_source(submitted: Callable[..., dict[str, Any]]) -> None:
    status = submitted("kept", "other", preemptibility="NonPreemptible")["status"]
    assert status["preemptibility"] == {"value": "NonPreemptible", "source": "Spec"}
    assert status["canPreempt"] == {"value": True, "source": "Default"}


def test_a_budget_says_how_many_may_be_taken(
    admin: Api, submitted: Callable[..., dict[str, Any]]
) -> None:
    spec = {"selector": {"matchLabels": {"app": "none"}}, "maxUnavailable": 1}
    metadata = {"name": "serve", "namespace": "team-a"}
    version = "headgate.dev/v1"
    body = {"apiVersion": version, "kind": "DisruptionBudget", "metadata": metadata, "spec": spec}
    made = admin.post("/v1/namespaces/team-a/disruptionbudgets", body)
    assert made.status_code == 201, made.text
    path = "/v1/namespaces/team-a/disruptionbudgets/serve"
    found = admin.caught_up(path, int(made.headers["X-Log-Position"])).json()
    assert found["status"] == {"expected": 0, "healthy": 0, "allowed": 0, "disrupted": []}
    everyone = body | {"spec": {"selector": {}, "maxUnavailable": 1}}
    position = found["metadata"]["resourceVersion"]
    everyone["metadata"] = metadata | {"resourceVersion": position}
    submitted("watched", "watched")
    changed = admin.put("/v1/namespaces/team-a/disruptionbudgets/serve", everyone, If_Match='"1"')
    assert changed.status_code == 200, changed.text
    reached = int(changed.headers["X-Log-Position"])
    status = admin.caught_up(path, reached).json()["status"]
    assert status["expected"] >= 1
    assert status["allowed"] <= 1


def test_a_queue_shows_the_policies_it_was_given(admin: Api) -> None:
    ours = {
        "orderProfile": "PriorityFirst",
        "minRuntime": {"preempt": "10m0s", "reclaim": "1h0m0s"},
        "softEviction": {"default": "Soft", "maxGraceSeconds": 600},
        "reserveForPendingNonPreemptible": True,
        "rateLimit": {"perMinute": 6, "burst": 2},
    }
    made = admin.post("/v1/clusterqueues", cluster_queue("policies", preemption=ours))
    assert made.status_code == 201, made.text
    shown = admin.get("/v1/clusterqueues/policies").json()["spec"]["preemption"]
    assert {name: shown[name] for name in ours} == ours
    wrong = ours | {"minRuntime": {"preempt": "48h"}, "rateLimit": {"perMinute": 0}}
    refused = admin.post("/v1/clusterqueues", cluster_queue("wrong", preemption=wrong))
    assert refused.status_code == 422
    assert [error["pointer"] for error in refused.json()["errors"]] == [
        "/spec/preemption/minRuntime/preempt",
        "/spec/preemption/rateLimit/perMinute",
    ]


def test_a_label_that_was_passed_over_is_a_condition(admin: Api) -> None:
    marked = workload("marked", queue="other")
    marked["metadata"]["labels"] = {"kueue.x-k8s.io/preemptibility": "maybe"}
    assert admin.post(HERE, marked).status_code == 201
    conditions = admin.get(f"{HERE}/marked").json()["status"]["conditions"]
    (told,) = [found for found in conditions if found["type"] == "LabelsIgnored"]
    assert (told["status"], told["reason"]) == ("True", "NotUnderstood")
    assert "says maybe, which means nothing here" in told["message"]


def test_an_unneeded_eviction_is_cancelled_and_the_ledger_says_so(
    admin: Api, callers: dict[str, Api], submitted: Callable[..., dict[str, Any]]
) -> None:
    executor = callers["executor"]
    one = workload("x")["spec"]["podSets"][0] | {"count": 1}
    submitted("spared", "early", podSets=[one], evictionPolicy=HANDLER)
    ending = submitted("ending", "early", podSets=[one], priority=20)["metadata"]["uid"]
    assert submitted("first", "early", podSets=[one], priority=10)["status"]["phase"] == "Nominated"
    report = {"workload": "team-a/ending", "uid": ending, "type": "finished"}
    assert executor.post("/v1/reports:batch", {"reports": [report]}).status_code == 200
    submitted("last", "early", priority=-1)
    assert admin.get(f"{HERE}/first").json()["status"]["phase"] == "Starting"
    assert admin.get(f"{HERE}/spared").json()["status"]["phase"] == "Starting"
    evictions = executor.get("/v1/evictions").json()["items"]
    assert "team-a/spared" not in {each["workload"] for each in evictions}
    (found,) = admin.get("/v1/preemptions?clusterQueue=early").json()["items"]
    (victim,) = found["victims"]
    assert (found["stage"], victim["stage"]) == ("Completed", "Cancelled")
    titles = [one["title"] for one in admin.get(f"{HERE}/spared/timeline").json()["entries"]]
    assert titles[0] == "Eviction cancelled"


def test_sums_are_those_of_the_rounds_that_are_listed(
    admin: Api,
    schedule: Callable[[], int],
    submitted: Callable[..., dict[str, Any]],
) -> None:
    submitted("summed-first", "summed")
    submitted("summed-second", "summed", priority=10)
    position = schedule()
    for query in (
        "clusterQueue=summed",
        "preemptorQueue=summed&victimQueue=summed",
        "workload=team-a/summed-first",
        "rule=InClusterQueue&clusterQueue=summed",
        "preemptorQueue=summed&victimQueue=soft",
        "clusterQueue=summed&until=2020-01-01T00:00:00Z",
    ):
        rounds = admin.caught_up(f"/v1/preemptions?{query}", position).json()["items"]
        found = admin.get(f"/v1/preemptions/summary?{query}").json()

        assert found["rounds"] == len(rounds), query
        assert found["victims"] == sum(len(each["victims"]) for each in rounds), query
        assert [each["preemptor"] for each in found["preemptors"]] == [
            each["preemptor"] for each in rounds
        ]
    found = admin.get("/v1/preemptions/summary?clusterQueue=summed").json()
    cost = {"rounds": 1, "victims": 1, "gpuSeconds": 0}
    assert found["pairs"] == [{"preemptor": "summed", "victim": "summed", **cost}]
    assert found["rules"] == [{"rule": "InClusterQueue", **cost}]
    lost = {"victimsLost": 1, "gpuSecondsLost": 0}
    assert found["queues"] == [{"clusterQueue": "summed", **cost, **lost}]
    assert admin.get("/v1/preemptions/summary?since=yesterday").status_code == 422
