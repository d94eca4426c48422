"""Every class of failure as a problem document."""

from typing import Any

import pytest
from httpx import Response

from headgate.api.problems import problem_of
from headgate.application.failures import Archived
from headgate.messages.rendering import everything_visible
from tests.api.callers import Api, flavor, workload

HERE = "/v1/namespaces/team-a/workloads"


NAMESPACE = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team-b"}}


def check(answer: Response, status: int, slug: str) -> dict[str, Any]:
    """The problem of an answer, which must be complete."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"].startswith("application/problem+json")
    found: dict[str, Any] = answer.json()
    assert found["type"] == f"/problems/{slug}"
    assert found["status"] == status
    assert found["title"]
    assert found["instance"] == answer.request.url.path
    assert found["requestId"] == answer.headers["x-request-id"]
    return found


def test_no_token_and_a_wrong_token(callers: dict[str, Api]) -> None:
    answer = callers["nobody"].get("/v1/queues")
    check(answer, 401, "unauthorized")
    assert answer.headers["www-authenticate"].startswith("Bearer")
    wrong = Api(callers["admin"].client, "hg_wrong")
    check(wrong.get("/v1/queues"), 401, "unauthorized")
    check(callers["nobody"].get("/metrics"), 401, "unauthorized")


def test_a_role_that_may_not(callers: dict[str, Api]) -> None:
    check(callers["viewer"].post(HERE, workload("x")), 403, "forbidden")


def test_what_is_not_there(admin: Api) -> None:
    check(admin.get(f"{HERE}/none"), 404, "not-found")
    nothing = check(admin.get("/v1/nothing/here"), 404, "not-found")
    assert "/v1/nothing/here" in nothing["detail"]
    assert "/docs" in nothing["remedy"]
    check(admin.delete("/v1/tokens/none"), 404, "not-found")
    check(admin.get("/v1/preemptions/none"), 404, "not-found")
    check(admin.get("/v1/topologies/none/map"), 404, "not-found")
    check(admin.get("/v1/clusterqueues/none/pendingworkloads"), 404, "not-found")
    check(admin.post("/v1/readmodels/none/rebuild"), 404, "not-found")


def test_a_method_that_is_not_taken(admin: Api) -> None:
    answer = admin.delete("/v1/queues")
    check(answer, 405, "method-not-allowed")
    assert "GET" in answer.headers["allow"]


@pytest.mark.parametrize(
    ("path", "methods"),
    [
        ("/v1/tokens", "GET, OPTIONS, POST"),
        ("/v1/clusterqueues/none", "DELETE, GET, OPTIONS, PUT"),
        ("/v1/queues", "GET, OPTIONS"),
    ],
)
def test_options_name_every_method_of_a_path(admin: Api, path: str, methods: str) -> None:
    answer = admin.client.options(path, headers=admin.headers)
    assert (answer.status_code, answer.headers.get_list("allow")) == (204, [methods])


def test_a_media_type_that_is_not_taken(admin: Api) -> None:
    check(admin.send(HERE, b"x", "image/png"), 415, "unsupported-media-type")


@pytest.mark.parametrize("content", [b"{", b"[1,", b'{"a":1}{', b"\xff\xfe", b"nul\x00"])
def test_a_body_that_cannot_be_read(admin: Api, content: bytes) -> None:
    answer = admin.send(HERE, content, "application/json")
    check(answer, 422, "invalid-object")
    small = admin.send(f"{HERE}/x/hold", content, "application/json")
    check(small, 400, "bad-request")


def test_a_body_that_is_too_large(admin: Api) -> None:
    content = b'{"metadata":{"annotations":{"a":"' + b"x" * 11_000_000 + b'"}}}'
    check(admin.send("/v1/apply", content, "application/json"), 413, "too-large")


def test_unknown_fields_and_wrong_types_are_pointed_to(admin: Api) -> None:
    found = check(admin.post(f"{HERE}/x/hold", {"resaon": "x"}), 422, "invalid-request")
    told = [(error["pointer"], error["rule"], error["remedy"]) for error in found["errors"]]
    assert told == [("/resaon", told[0][1], "Did you mean reason?")]
    found = check(admin.post(f"{HERE}/x/hold", {"reason": 5}), 422, "invalid-request")
    assert found["errors"][0]["pointer"] == "/reason"
    reports = {"reports": [{"workload": "a/b", "uid": 1, "type": "finished"}]}
    found = check(admin.post("/v1/reports:batch", reports), 422, "invalid-request")
    assert found["errors"][0]["pointer"] == "/reports/0/uid"
    found = check(admin.post(f"{HERE}/x/hold"), 422, "invalid-request")
    assert found["errors"]


def test_a_broken_rule_of_a_body_names_its_field_and_what_would_be_right(admin: Api) -> None:
    action: dict[str, Any] = {"verb": "hold", "reason": "x"}
    asked: list[tuple[dict[str, Any], str, str]] = [
        ({**action, "query": {"phaes": []}}, "/query/phaes", "phases?"),
        ({**action, "workloads": [{"uid": "a"}]}, "/workloads/0/workload", "Add workload."),
        ({**action, "query": {"x~/y": 1}}, "/query/x~0~1y", "labelSelector"),
        ({**action, "verb": "relase"}, "/verb", "Did you mean release?"),
        ({**action, "verb": "xyz"}, "/verb", "deactivate"),
        ({**action, "query": {"phases": ["Hold"]}}, "/query/phases/0", "OnHold?"),
        ({"verb": "hold"}, "/reason", "Add reason."),
        ({**action, "reason": ""}, "/reason", "few words"),
    ]
    for body, pointer, remedy in asked:
        found = check(admin.post("/v1/batches", body), 422, "invalid-request")
        (error,) = found["errors"]
        assert error["pointer"] == pointer
        assert remedy in f"{error['rule']}. {error['remedy']}"
        assert error["code"]
    wrong = check(admin.post("/v1/batches", {**action, "position": "x"}), 422, "invalid-request")
    assert wrong["errors"][0]["rule"] == "Must be of type integer, null; got string"
    assert wrong["detail"].startswith("1 validation error. /position: Must be of type integer")
    assert "integer" in admin.get("/v1/workloads?limit=all").json()["errors"][0]["rule"]


def test_a_text_that_the_database_cannot_hold(admin: Api) -> None:
    admin.post(HERE, workload("nul"))
    answer = admin.post(f"{HERE}/nul/hold", {"reason": "a\u0000b"})
    check(answer, 422, "invalid-request")


@pytest.mark.parametrize(
    "path",
    [
        "/v1/workloads?queueName=a%00b",
        "/v1/workloads?name=%00",
        "/v1/events?type=%00",
        "/v1/events?stream=%00",
        "/v1/preemptions?workload=%00",
        "/v1/preemptions/%00",
        "/v1/clusterqueues/%00",
        "/v1/namespaces/a%00b/workloads",
    ],
)
def test_a_question_that_the_database_cannot_be_asked(admin: Api, path: str) -> None:
    found = check(admin.get(path), 422, "invalid-request")
    assert "U+0000" in found["remedy"]


@pytest.mark.parametrize("time", ["9999-12-31T23:59:59-14:00", "0001-01-01T00:00:00%2B14:00"])
def test_a_time_that_no_clock_can_show(admin: Api, time: str) -> None:
    for question in (f"/v1/queues?at={time}", f"/v1/events?since={time}"):
        check(admin.get(question), 422, "invalid-request")
    admin.post(HERE, workload("forever"))
    hold = {"reason": "x", "expiresAt": time.replace("%2B", "+")}
    refused = check(admin.post(f"{HERE}/forever/hold", hold), 422, "invalid-request")
    assert refused["errors"][0]["pointer"] == "/expiresAt"


HUGE = "9" * 5000
"""More digits than a log will ever have positions for, and than Python reads."""


@pytest.mark.parametrize(
    "path", [f"/v1/cycles?before={HUGE}:x", f"/v1/backtests?before={HUGE}:x", "/v1/cycles?before=x"]
)
def test_a_place_in_a_list_that_cannot_be(admin: Api, path: str) -> None:
    check(admin.get(path), 400, "bad-continue-token")


def test_numbers_of_thousands_of_digits_are_refused(admin: Api) -> None:
    admin.post(HERE, workload("numbered"))
    seen = workload("numbered")
    for number in (HUGE, "\u0663" * 20):
        changed = admin.put(f"{HERE}/numbered", seen, If_Match=f'"{HUGE}"')
        check(changed, 412, "precondition-failed")
        tried = admin.post(f"/v1/simulations?priority=team-a/numbered:{number}", None)
        check(tried, 422, "invalid-request")
    seen["metadata"]["resourceVersion"] = HUGE
    assert admin.put(f"{HERE}/numbered", seen, If_Match="*").status_code == 200


def test_a_token_for_a_namespace_that_cannot_be(admin: Api) -> None:
    asked = {"name": "odd", "role": "submitter", "namespaces": ["a\u0000b"]}
    check(admin.post("/v1/tokens", asked), 422, "invalid-request")


def test_a_position_that_is_not_reached_in_time(
    admin: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headgate.api.parameters.MIN_POSITION_WAIT_SECONDS", 0.05)
    answer = admin.get("/v1/queues?minPosition=999999999")
    check(answer, 504, "position-not-reached")
    assert answer.headers["retry-after"]
    check(admin.get("/v1/queues?minPosition=soon"), 422, "invalid-request")


def test_every_answer_carries_the_rules_for_browsers(admin: Api) -> None:
    for answer in (admin.get("/v1/queues"), admin.get("/v1/none"), admin.get("/docs")):
        assert answer.headers["x-content-type-options"] == "nosniff"
        policy = answer.headers["content-security-policy"]
        assert "frame-ancestors 'none'" in policy
        assert "script-src 'self';" in policy


def test_a_request_is_named_by_its_caller_or_by_us(admin: Api) -> None:
    assert admin.get("/v1/queues", X_Request_Id="mine-1").headers["x-request-id"] == "mine-1"
    ours = admin.get("/v1/queues", X_Request_Id="not fine\t!").headers["x-request-id"]
    assert len(ours) == 36


def test_what_was_archived_is_gone_and_that_is_said() -> None:
    problem = problem_of(Archived("EventsArchived", first=5), everything_visible)
    assert (problem.status, problem.type) == (410, "/problems/archived")
    assert "position 5" in problem.detail
    assert "later moment" in problem.remedy


def test_the_type_of_a_problem_leads_to_a_page_that_explains_it(admin: Api) -> None:
    nobody = Api(admin.client, "")
    problem = admin.get(f"{HERE}/none").json()
    page = nobody.get(problem["type"])
    assert page.status_code == 200
    assert page.headers["content-type"].startswith("text/html")
    assert "Not found" in page.text
    assert "Missing or invalid token" not in page.text
    everything = nobody.get("/problems").text
    assert all(
        f"/problems/{slug}<" in everything for slug in ("unauthorized", "in-use", "archived")
    )
    unknown = nobody.get("/problems/<b>")
    assert unknown.status_code == 404
    assert "<b>" not in unknown.text


def test_an_unknown_query_parameter_is_refused_with_the_nearest_one(admin: Api) -> None:
    refused = admin.get("/v1/workloads?labelSelectr=app%3Dx")
    assert (refused.status_code, refused.json()["type"]) == (400, "/problems/unknown-parameter")
    (error,) = refused.json()["errors"]
    assert error["pointer"] == "/labelSelectr"
    assert error["remedy"].startswith("Did you mean labelSelector? Known are apiVersion, at, ")
    assert admin.get("/v1/workloads?at=0&limit=1").status_code == 200


def test_a_time_that_is_none_is_told_of_the_request_and_of_no_object(admin: Api) -> None:
    refused = admin.get("/v1/workloads?at=yesterday")
    assert refused.json()["type"] == "/problems/invalid-request"
    assert refused.json()["title"] == "Invalid request"
    assert refused.json()["errors"][0]["pointer"] == "/at"


def test_a_command_for_a_name_that_nothing_has_leads_to_the_nearest_one(
    admin: Api, callers: dict[str, Api]
) -> None:
    admin.post(HERE, workload("training"))
    admin.post("/v1/namespaces", NAMESPACE)
    made = admin.post("/v1/namespaces/team-b/workloads", workload("secret", namespace="team-b"))
    seen = f"?minPosition={made.headers['x-log-position']}"
    reason = {"reason": "x"}
    for verb in ("hold", "requeue"):
        refused = admin.post(f"{HERE}/trainig/{verb}{seen}", reason)
        found = check(refused, 404, "not-found")["remedy"]
        assert found.startswith("Did you mean training? "), found
    far = check(admin.post(f"{HERE}/something-else/hold{seen}", reason), 404, "not-found")
    assert "Did you mean" not in far["remedy"]
    elsewhere = check(admin.post(f"{HERE}/secret/hold{seen}", reason), 404, "not-found")
    assert elsewhere["remedy"].startswith("There is one of that name in namespace team-b. ")
    hidden = check(callers["submitter"].post(f"{HERE}/secret/hold{seen}", reason), 404, "not-found")
    assert "team-b" not in hidden["remedy"], "a hidden object is not named to this user"


def test_the_nearest_name_may_have_been_made_just_before(admin: Api) -> None:
    """The live state folds an object a moment after it was answered."""
    for letter in "abcdefghij":
        name = f"{letter * 8}-made"
        admin.post("/v1/resourceflavors", flavor(name))
        missing = check(admin.get(f"/v1/resourceflavors/{name}x"), 404, "not-found")
        assert missing["remedy"] == f"Did you mean {name}?"
