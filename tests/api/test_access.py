"""Roles, tokens, and what each may do."""

from typing import Any

import pytest
from litestar import Litestar
from litestar.routes import HTTPRoute

from headgate.application.access.rights import VERBS, right_named
from tests.api.callers import Api, cluster_queue, flavor, local_queue, workload

TEAM_A = "/v1/namespaces/team-a"
TEAM_B = "/v1/namespaces/team-b"
READS = (
    "/v1/whoami", "/v1/can-i?verb=get", "/v1/queues", "/v1/overview", "/v1/workloads",
    "/v1/clusterqueues", "/v1/localqueues", "/v1/disruptionbudgets", "/v1/limitranges",
    "/v1/runtimeclasses", "/v1/cohorts", "/v1/nodes",
    "/v1/resourceflavors", "/v1/topologies", "/v1/workloadpriorityclasses", "/v1/namespaces",
    "/v1/admissionchecks", "/v1/events", "/v1/events/histogram", "/v1/preemptions",
    "/v1/assignments", "/v1/system", "/metrics", f"{TEAM_A}/workloads", f"{TEAM_A}/localqueues",
)  # fmt: skip
HEARTBEAT = {"ready": True, "allocatable": {"cpu": "1"}}
CONFIGURE: tuple[tuple[str, str, Any], ...] = (
    ("post", "/v1/clusterqueues", cluster_queue("x")),
    ("put", "/v1/clusterqueues/x", cluster_queue("x")),
    ("delete", "/v1/clusterqueues/x", None),
    ("post", f"{TEAM_A}/localqueues", local_queue("x", "x")),
    ("post", "/v1/clusterqueues/x/stop", {"reason": "x"}),
    ("post", f"{TEAM_A}/localqueues/x/stop", {"reason": "x"}),
    ("post", "/v1/nodes/x/cordon", {}),
    ("post", "/v1/tokens", {"name": "x", "role": "viewer"}),
    ("get", "/v1/tokens", None),
    ("delete", "/v1/tokens/x", None),
    ("post", "/v1/readmodels/x/rebuild", None),
)
SUBMIT: tuple[tuple[str, str, Any], ...] = (
    ("post", f"{TEAM_A}/workloads", workload("x")),
    ("put", f"{TEAM_A}/workloads/x", workload("x")),
    ("delete", f"{TEAM_A}/workloads/none", None),
    ("post", f"{TEAM_A}/workloads/none/hold", {"reason": "x"}),
    ("post", "/v1/workloads:batch", {"items": []}),
    ("post", "/v1/apply", workload("y")),
)
REPORT: tuple[tuple[str, str, Any], ...] = (
    ("post", "/v1/nodes/none/heartbeat", HEARTBEAT),
    ("post", f"{TEAM_A}/workloads/none/pods-ready", {"uid": "u", "ready": True}),
    ("post", f"{TEAM_A}/workloads/none/finished", {"uid": "u", "succeeded": True}),
    ("post", f"{TEAM_A}/workloads/none/evictions/e/stopped", {"uid": "u"}),
    ("post", "/v1/reports:batch", {"reports": []}),
)
MAY = {
    "viewer": (),
    "submitter": SUBMIT,
    "executor": REPORT,
    "admin": (*CONFIGURE, *SUBMIT, *REPORT),
}


@pytest.mark.parametrize("role", MAY)
@pytest.mark.parametrize("path", READS)
def test_every_role_reads(callers: dict[str, Api], role: str, path: str) -> None:
    assert callers[role].get(path).status_code == 200


@pytest.mark.parametrize("role", [*MAY, "nobody"])
@pytest.mark.parametrize("request_", [*CONFIGURE, *SUBMIT, *REPORT], ids=lambda r: f"{r[0]} {r[1]}")
def test_only_some_roles_write(
    callers: dict[str, Api], role: str, request_: tuple[str, str, Any]
) -> None:
    method, path, body = request_
    caller = callers[role]
    answer = caller.client.request(method, path, json=body, headers=caller.headers)
    if role == "nobody":
        assert answer.status_code == 401
    elif request_ in MAY[role]:
        assert answer.status_code not in (401, 403), answer.text
        assert answer.status_code < 500
    else:
        assert answer.status_code == 403, answer.text


def test_every_route_names_a_right_of_the_table(application: Litestar) -> None:
    named = {
        f"{method} {route.path}": handler.opt.get("right")
        for route in application.routes
        if isinstance(route, HTTPRoute) and route.path.startswith(("/v1/", "/metrics"))
        for handler in route.route_handlers
        for method in handler.http_methods - {"OPTIONS"}
        if handler.include_in_schema is not False
    }
    assert len(named) > 150
    assert [route for route, right in named.items() if right is None] == []
    assert {right_named(str(right)).verb for right in named.values()} == set(VERBS)


def test_any_user_may_ask_which_methods_an_address_has(callers: dict[str, Api]) -> None:
    viewer = callers["viewer"]
    for path in ("/v1/workloads", "/v1/tokens"):
        answer = viewer.client.request("OPTIONS", path, headers=viewer.headers)
        assert answer.status_code == 204, answer.text


def test_a_submitter_touches_only_its_namespaces(callers: dict[str, Api]) -> None:
    admin, submitter = callers["admin"], callers["submitter"]
    admin.post(f"{TEAM_B}/workloads", workload("theirs", namespace="team-b"))
    for path in (
        f"{TEAM_B}/workloads",
        f"{TEAM_B}/workloads/theirs",
        f"{TEAM_B}/workloads/theirs/explanation",
        f"{TEAM_B}/workloads/theirs/timeline",
        f"{TEAM_B}/localqueues",
    ):
        assert submitter.get(path).status_code == 403
    assert submitter.post(f"{TEAM_B}/workloads", workload("mine", "team-b")).status_code == 403
    assert submitter.post(f"{TEAM_B}/workloads/theirs/cancel", {}).status_code == 403
    assert submitter.delete(f"{TEAM_B}/workloads/theirs").status_code == 403
    items = [workload("ok"), workload("no", namespace="team-b")]
    outcomes = submitter.post("/v1/workloads:batch", {"items": items}).json()["results"]
    assert [outcome["outcome"] for outcome in outcomes] == ["created", "rejected"]
    assert outcomes[1]["problem"]["type"] == "/problems/forbidden"
    bodies = {"apiVersion": "v1", "kind": "List", "items": [workload("z", "team-b"), flavor("no")]}
    applied = submitter.post("/v1/apply", bodies)
    assert applied.status_code == 422
    assert {r["problem"]["status"] for r in applied.json()["results"]} == {403}


def test_the_current_user_and_its_rights_are_shown(callers: dict[str, Api]) -> None:
    submitter = callers["submitter"]
    grant = {"role": "submitter", "namespaces": ["team-a"]}
    who = {"name": "submitter", **grant, "grants": [grant], "groups": []}
    assert submitter.get("/v1/whoami").json() == who

    def can(query: str) -> bool:
        return bool(submitter.get(f"/v1/can-i?{query}").json()["allowed"])

    assert can("verb=create&resource=Workload&namespace=team-a")
    assert not can("verb=create&resource=Workload&namespace=team-b")
    assert not can("verb=stop&resource=ClusterQueue")
    assert can("verb=list&resource=ClusterQueue")
    assert not can("verb=report&resource=Workload")


def test_a_token_is_shown_once_expires_and_is_revoked(admin: Api) -> None:
    asked = {"name": "short", "role": "viewer", "expiresAt": "2099-01-01T00:00:00Z"}
    made = admin.post("/v1/tokens", asked)
    assert made.status_code == 201
    secret = made.json()["secret"]
    assert Api(admin.client, secret).get("/v1/queues").status_code == 200
    assert secret not in admin.get("/v1/tokens").text
    assert admin.post("/v1/tokens", asked).status_code == 409
    assert admin.delete("/v1/tokens/short").status_code == 204
    assert Api(admin.client, secret).get("/v1/queues").status_code == 401


@pytest.mark.parametrize(
    "asked",
    [
        {"name": "Bad Name", "role": "viewer"},
        {"name": "n", "role": "god"},
        {"name": "n", "role": "submitter"},
        {"name": "n", "role": "executor", "namespaces": ["x"]},
        {"name": "n", "role": "queue-admin"},
        {"name": "n", "role": "namespace-admin", "clusterQueues": ["x"]},
        {"name": "n", "role": "viewer", "expiresAt": "2001-01-01T00:00:00Z"},
        {"name": "n", "role": "viewer", "expiresAt": "tomorrow"},
        {"role": "viewer"},
    ],
)
def test_a_token_that_makes_no_sense_is_refused(admin: Api, asked: dict[str, Any]) -> None:
    answer = admin.post("/v1/tokens", asked)
    assert answer.status_code == 422
    assert answer.json()["errors"]
