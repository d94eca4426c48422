"""Roles within namespaces, ClusterQueues and the installation, and the tokens of accounts."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.api.callers import Api, cluster_queue, flavor, local_queue, workload

A, B = "/v1/namespaces/team-a", "/v1/namespaces/team-b"
EXPIRES = (datetime.now(UTC) + timedelta(days=30)).isoformat()
Login = Callable[..., Api]


@pytest.fixture(scope="module")
def queues(admin: Api) -> None:
    """Two ClusterQueues without quota, each with a LocalQueue in both namespaces."""
    admin.post("/v1/resourceflavors", flavor())
    for name in ("gpu", "batch"):
        assert admin.post("/v1/clusterqueues", cluster_queue(name, cpu="0")).status_code == 201
        for place in ("team-a", "team-b"):
            path = f"/v1/namespaces/{place}/localqueues"
            assert admin.post(path, local_queue(name, name, place)).status_code == 201


@pytest.fixture(scope="module")
def login(admin: Api, queues: None) -> Login:
    """A caller with the grants of a new service account."""
    made: list[str] = []

    def log_in(*grants: dict[str, Any]) -> Api:
        name = f"account-{len(made)}"
        made.append(name)
        body = {"name": name, "grants": list(grants)}
        answer = admin.post("/v1/serviceaccounts", body)
        assert answer.status_code == 201, answer.text
        token = admin.post(f"/v1/serviceaccounts/{name}/tokens", {"expiresAt": EXPIRES})
        assert token.status_code == 201, token.text
        return Api(admin.client, token.json()["secret"])

    return log_in


def submit(caller: Api, name: str, place: str = "team-a", queue: str = "gpu") -> int:
    path = f"/v1/namespaces/{place}/workloads"
    return caller.post(path, workload(name, place, queue)).status_code


def test_a_confined_viewer_reads_its_namespaces_alone(login: Login, admin: Api) -> None:
    submit(admin, "secret-run", "team-b")
    viewer = login({"role": "viewer", "namespaces": ["team-a"]})

    assert viewer.get(f"{A}/workloads").status_code == 200
    assert viewer.get(f"{B}/workloads").status_code == 403
    assert "secret-run" not in viewer.get("/v1/workloads").text
    assert submit(viewer, "x") == 403


def test_grants_of_two_roles_do_not_mix(login: Login) -> None:
    caller = login(
        {"role": "submitter", "namespaces": ["team-a"]},
        {"role": "viewer", "namespaces": ["team-b"]},
    )

    assert submit(caller, "two-roles") == 201
    assert caller.get(f"{B}/workloads").status_code == 200
    assert submit(caller, "two-roles", "team-b") == 403
    items = [workload("a-1", "team-a", "gpu"), workload("b-1", "team-b", "gpu")]
    outcomes = caller.post("/v1/workloads:batch", {"items": items}).json()["results"]
    assert [each["outcome"] for each in outcomes] == ["created", "rejected"]
    assert outcomes[1]["problem"]["code"] == "NamespaceNotGranted"
    found = {"apiVersion": "v1", "kind": "List", "items": [workload("b-2", "team-b", "gpu")]}
    assert caller.post("/v1/apply", found).status_code == 422


def test_a_namespace_administrator_configures_its_namespace(login: Login) -> None:
    caller = login({"role": "namespace-admin", "namespaces": ["team-a"]})

    assert caller.post(f"{A}/localqueues", local_queue("own", "gpu")).status_code == 201
    assert caller.post(f"{A}/localqueues/own/stop", {"reason": "x"}).status_code == 200
    assert caller.post(f"{B}/localqueues", local_queue("own", "gpu", "team-b")).status_code == 403
    assert caller.post("/v1/clusterqueues", cluster_queue("own")).status_code == 403
    assert caller.post("/v1/clusterqueues/gpu/stop", {"reason": "x"}).status_code == 403
    weighty = local_queue("weighty", "gpu")
    weighty["spec"]["fairSharing"] = {"weight": "100"}
    refused = caller.post(f"{A}/localqueues", weighty)
    assert refused.status_code == 403
    assert refused.json()["code"] == "RightMissing"


def test_a_stop_by_an_admin_is_not_ended_by_a_namespace_administrator(
    login: Login, admin: Api
) -> None:
    caller = login({"role": "namespace-admin", "namespaces": ["team-a"]})
    path = f"{A}/localqueues/batch"
    assert admin.post(f"{path}/stop", {"reason": "maintenance"}).status_code == 200

    found = caller.get(path)
    assert caller.post(f"{path}/resume", {}).json()["code"] == "StoppedByAdmin"
    open_again = local_queue("batch", "batch")
    open_again["spec"]["stopPolicy"] = "None"
    answer = caller.put(path, open_again, If_Match=found.headers["ETag"])
    assert answer.json()["code"] == "StoppedByAdmin"
    assert caller.delete(path).json()["code"] == "StoppedByAdmin"
    assert admin.post(f"{path}/resume", {}).status_code == 200


def test_a_queue_administrator_acts_on_its_queue_and_workloads_in_it(
    login: Login, admin: Api
) -> None:
    caller = login({"role": "queue-admin", "clusterQueues": ["gpu"]})
    submit(admin, "in-gpu", "team-b", "gpu")
    submit(admin, "in-batch", "team-b", "batch")

    reason = {"reason": "x"}
    assert caller.post("/v1/clusterqueues/gpu/stop", reason).status_code == 200
    assert caller.post("/v1/clusterqueues/gpu/resume", {}).status_code == 200
    assert caller.post("/v1/clusterqueues/batch/stop", reason).status_code == 403
    assert caller.post(f"{B}/localqueues/gpu/stop", reason).status_code == 200
    assert caller.post(f"{B}/localqueues/gpu/resume", {}).status_code == 200
    assert caller.post(f"{B}/localqueues/batch/stop", reason).status_code == 403
    assert caller.post(f"{B}/workloads/in-gpu/hold", reason).status_code == 200
    refused = caller.post(f"{B}/workloads/in-batch/hold", reason)
    assert (refused.status_code, refused.json()["code"]) == (403, "ClusterQueueNotGranted")
    assert submit(caller, "no", "team-b") == 403
    bulk = {"verb": "hold", "reason": "x", "workloads": [{"workload": "team-b/in-batch"}]}
    (item,) = caller.post("/v1/batches", bulk).json()["items"]
    assert (item["outcome"], item["code"]) == ("refused", "ClusterQueueNotGranted")


def test_what_an_admin_deactivates_the_submitter_does_not_activate(
    login: Login, admin: Api
) -> None:
    owner = login({"role": "submitter", "namespaces": ["team-a"]})
    assert submit(owner, "too-big") == 201
    path = f"{A}/workloads/too-big"
    assert admin.post(f"{path}/deactivate", {"reason": "takes everything"}).status_code == 200

    refused = owner.post(f"{path}/activate", {"reason": "mine"})

    assert (refused.status_code, refused.json()["code"]) == (409, "DeactivatedByAdmin")
    found = owner.get(path)
    active = workload("too-big", queue="gpu", active=True)
    answer = owner.put(path, active, If_Match=found.headers["ETag"])
    assert answer.json()["code"] == "DeactivatedByAdmin"
    bulk = {"verb": "activate", "reason": "x", "workloads": [{"workload": "team-a/too-big"}]}
    (item,) = owner.post("/v1/batches", bulk).json()["items"]
    assert (item["outcome"], item["code"]) == ("refused", "DeactivatedByAdmin")
    assert admin.post(f"{path}/activate", {"reason": "x"}).json()["status"]["phase"] == "Pending"


def test_an_admin_takes_over_what_its_submitter_deactivated(login: Login, admin: Api) -> None:
    owner = login({"role": "submitter", "namespaces": ["team-a"]})
    submit(owner, "paused")
    path = f"{A}/workloads/paused"
    assert owner.post(f"{path}/deactivate", {"reason": "later"}).status_code == 200
    assert owner.post(f"{path}/activate", {"reason": "now"}).status_code == 200
    owner.post(f"{path}/deactivate", {"reason": "later"})
    admin.post(f"{path}/deactivate", {"reason": "for good"})

    assert owner.post(f"{path}/activate", {"reason": "now"}).status_code == 409


def test_holds_are_released_by_the_authority_that_set_them_or_a_higher_one(
    login: Login, admin: Api
) -> None:
    owner = login({"role": "submitter", "namespaces": ["team-a"]})
    of_namespace = login({"role": "namespace-admin", "namespaces": ["team-a"]})
    of_queue = login({"role": "queue-admin", "clusterQueues": ["gpu"]})
    submit(owner, "held")
    path = f"{A}/workloads/held"
    ranked = (owner, of_namespace, of_queue, admin)
    for rank, caller in enumerate(ranked):
        assert caller.post(f"{path}/hold", {"reason": f"rank {rank}"}).status_code == 200
        for lower in ranked[:rank]:
            assert lower.post(f"{path}/release", {}).json()["code"] == "HeldByAdmin"
    released = admin.post(f"{path}/release", {}).json()["status"]["hold"]
    assert released["owner"].startswith("queue-admin:")


def test_a_change_of_an_account_holds_for_its_tokens_and_its_end_ends_them(admin: Api) -> None:
    admin.post("/v1/serviceaccounts", {"name": "robot", "grants": [{"role": "admin"}]})
    made = admin.post("/v1/serviceaccounts/robot/tokens", {"expiresAt": EXPIRES}).json()
    robot = Api(admin.client, made["secret"])
    assert made["serviceAccount"] == "robot"
    assert robot.get("/v1/tokens").status_code == 200

    viewer = {"grants": [{"role": "viewer"}], "groups": ["bots"]}
    assert admin.put("/v1/serviceaccounts/robot", viewer).status_code == 200
    assert robot.get("/v1/tokens").status_code == 403
    assert robot.get("/v1/whoami").json()["groups"] == ["bots"]

    assert admin.delete("/v1/serviceaccounts/robot").status_code == 204
    assert robot.get("/v1/whoami").status_code == 401


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({}, "/expiresAt"),
        ({"expiresAt": "2001-01-01T00:00:00Z"}, "/expiresAt"),
        ({"expiresAt": "2099-01-01T00:00:00Z"}, "/expiresAt"),
    ],
)
def test_a_token_of_an_account_expires_within_a_year(
    admin: Api, body: dict[str, Any], pointer: str
) -> None:
    admin.post("/v1/serviceaccounts", {"name": "brief", "grants": [{"role": "viewer"}]})

    answer = admin.post("/v1/serviceaccounts/brief/tokens", body)

    assert answer.status_code == 422
    assert answer.json()["errors"][0]["pointer"] == pointer


@pytest.mark.parametrize(
    ("question", "allowed", "named"),
    [
        ("verb=create&resource=wl&namespace=team-a", True, "submitter"),
        ("verb=create&resource=Workload&namespace=team-b", False, "namespace team-b"),
        ("verb=get&resource=workloads&namespace=team-b", True, "viewer"),
        ("verb=stop&resource=cq&clusterQueue=gpu", True, "queue-admin"),
        ("verb=stop&resource=cq&clusterQueue=batch", False, "ClusterQueue batch"),
        ("verb=cordon&resource=node", False, "operate nodes"),
        ("verb=list&resource=tokens", False, "read tokens"),
    ],
)
def test_a_user_asks_what_the_user_may(
    login: Login, question: str, allowed: bool, named: str
) -> None:
    caller = login(
        {"role": "submitter", "namespaces": ["team-a"]},
        {"role": "viewer"},
        {"role": "queue-admin", "clusterQueues": ["gpu"]},
    )

    found = caller.get(f"/v1/can-i?{question}").json()

    assert found["allowed"] is allowed
    assert named in found["reason"]
    assert "admin" in found["roles"]
    assert (found["grantedBy"] is not None) is allowed


def test_a_question_about_nothing_that_exists_is_refused(login: Login) -> None:
    caller = login({"role": "viewer"})
    for question in ("verb=frobnicate&resource=wl", "verb=get&resource=unicorn"):
        assert caller.get(f"/v1/can-i?{question}").status_code == 422
