"""What tenants may ask for: classes, numbers, protection; refusals name field, rule and remedy."""

from typing import Any

import pytest

from tests.api.callers import KUEUE, Api, cluster_queue, flavor, local_queue, workload

NON_PREEMPTIBLE = {"preemptibility": "NonPreemptible"}
A = "/v1/namespaces/team-a/workloads"


@pytest.fixture(scope="module")
def submitter(admin: Api, callers: dict[str, Api]) -> Api:
    """The submitter of team-a, in an installation with classes of 500, 800 and 5000."""
    admin.post("/v1/resourceflavors", flavor())
    assert admin.post("/v1/clusterqueues", cluster_queue("main", cpu="0")).status_code == 201
    for place in ("team-a", "team-b"):
        path = f"/v1/namespaces/{place}/localqueues"
        assert admin.post(path, local_queue("main", "main", place)).status_code == 201
    for name, value in (("usual", 500), ("saving", 800), ("urgent", 5000), ("top", 1100)):
        made = {"apiVersion": KUEUE, "kind": "WorkloadPriorityClass", "metadata": {"name": name}}
        assert admin.post("/v1/workloadpriorityclasses", made | {"value": value}).status_code == 201
    return callers["submitter"]


@pytest.fixture
def rules(admin: Api) -> Any:
    """Sets the rules of submission for one test."""

    def configure(*found: dict[str, Any]) -> None:
        spec = {"submission": {"rules": list(found)}}
        body = {"apiVersion": "headgate.dev/v1", "kind": "Configuration", "spec": spec}
        answer = admin.post("/v1/apply", body | {"metadata": {"name": "default"}})
        assert answer.status_code == 200, answer.text

    yield configure
    configure()


def by_class(name: str, **spec: Any) -> dict[str, Any]:
    kind = {"group": "kueue.x-k8s.io", "kind": "WorkloadPriorityClass", "name": name}
    return {"priorityClassRef": kind, **spec}


def refused(caller: Api, name: str, **spec: Any) -> tuple[str, str]:
    """The pointer and code of the only violation."""
    answer = caller.post(A, workload(name, **spec))
    assert answer.status_code == 422, answer.text
    (error,) = answer.json()["errors"]
    assert "submitter" in error["rule"]
    assert error["remedy"]
    return error["pointer"], error["code"]


def test_what_an_admin_has_submitted_is_refused_to_a_tenant(admin: Api, submitter: Api) -> None:
    spec: dict[str, Any] = {"priority": 7001}
    assert admin.post(A, workload("of-an-admin", **spec)).status_code == 201
    found = refused(submitter, "of-a-tenant", **spec)
    assert found == ("/spec/priority", "PriorityAboveCeiling")


@pytest.mark.parametrize(
    ("spec", "found"),
    [
        ({"priority": 2**31 - 1}, ("/spec/priority", "PriorityAboveCeiling")),
        ({"priority": 1001}, ("/spec/priority", "PriorityAboveCeiling")),
        (by_class("urgent"), ("/spec/priorityClassRef/name", "PriorityAboveCeiling")),
        (
            {"preemptibility": "NonPreemptible"},
            ("/spec/preemptibility", "NonPreemptibleNotGranted"),
        ),
        (
            by_class("usual", preemptionPriorityClassName="top"),
            ("/spec/preemptionPriorityClassName", "ProtectionAboveRule"),
        ),
    ],
)
def test_without_rules_a_submitter_stays_below_a_ceiling(
    submitter: Api, admin: Api, spec: dict[str, Any], found: tuple[str, str]
) -> None:
    assert refused(submitter, "greedy", **spec) == found
    made = admin.post(A, workload("allowed", **spec))
    assert made.status_code == 201, made.text
    admin.delete(f"{A}/allowed")


def test_a_rule_of_a_namespace_names_classes_and_forbids_numbers(
    submitter: Api, rules: Any
) -> None:
    team = {"roles": ["submitter"], "namespaces": ["team-a"]}
    rules({**team, "priorityClasses": ["urgent"], "explicitPriority": False, "maxPriority": 5})

    assert submitter.post(A, workload("by-name", **by_class("urgent"))).status_code == 201
    number = refused(submitter, "by-number", priority=3)
    assert number == ("/spec/priority", "ExplicitPriorityNotGranted")
    other = refused(submitter, "by-other", **by_class("usual"))
    assert other == ("/spec/priorityClassRef/name", "PriorityClassNotGranted")
    submitter.delete(f"{A}/by-name")


def test_a_rule_for_another_namespace_or_role_changes_nothing(submitter: Api, rules: Any) -> None:
    rules(
        {"namespaces": ["team-b"], "maxPriority": 9000},
        {"roles": ["namespace-admin"], "maxPriority": 9000},
    )

    found = refused(submitter, "still", priority=5000)

    assert found == ("/spec/priority", "PriorityAboveCeiling")


def test_a_rule_allows_what_the_defaults_refuse(submitter: Api, rules: Any) -> None:
    rules({"maxPriority": 5000, "nonPreemptible": True, "maxProtectionDelta": 600})

    spec = by_class("usual", preemptionPriorityClassName="top", preemptibility="NonPreemptible")
    made = submitter.post(A, workload("trusted", **spec))
    assert made.status_code == 201, made.text
    submitter.delete(f"{A}/trusted")


def test_a_change_is_bounded_and_what_an_admin_raised_stays(submitter: Api, admin: Api) -> None:
    assert submitter.post(A, workload("raised", priority=1)).status_code == 201
    found = submitter.get(f"{A}/raised")
    wanted = workload("raised", priority=4000)
    refusal = submitter.put(f"{A}/raised", wanted, If_Match=found.headers["ETag"])
    assert refusal.json()["errors"][0]["code"] == "PriorityAboveCeiling"

    raised = admin.put(f"{A}/raised", wanted, If_Match=found.headers["ETag"])
    assert raised.status_code == 200
    wanted["metadata"]["labels"] = {"new": "label"}
    kept = submitter.put(f"{A}/raised", wanted, If_Match=raised.headers["ETag"])
    assert kept.status_code == 200, kept.text
    submitter.delete(f"{A}/raised")


def test_protection_of_a_running_workload_is_bounded_by_the_rule(submitter: Api) -> None:
    assert submitter.post(A, workload("shielded", priority=100)).status_code == 201
    path = f"{A}/shielded/protection"

    answer = submitter.post(path, {"preemptionPriorityClassName": "saving"})

    assert answer.json()["errors"][0]["code"] == "ProtectionAboveRule"
    assert submitter.post(path, {"preemptionPriorityClassName": "usual"}).status_code == 200
    submitter.delete(f"{A}/shielded")


def test_a_rule_for_a_role_that_does_not_submit_is_refused(admin: Api) -> None:
    spec = {"submission": {"rules": [{"roles": ["viewer"], "maxProtectionDelta": -1}]}}
    body = {"apiVersion": "headgate.dev/v1", "kind": "Configuration", "spec": spec}

    answer = admin.post("/v1/apply", body | {"metadata": {"name": "default"}})

    (result,) = answer.json()["results"]
    pointers = [error["pointer"] for error in result["problem"]["errors"]]
    assert pointers == [
        "/spec/submission/rules/0/roles/0",
        "/spec/submission/rules/0/maxProtectionDelta",
    ]
