"""Pod templates are erased by workload or digest; the log stays whole and says so."""

from typing import Any

import pytest

from headgate.application.verify.verify import Verifier
from headgate.bootstrap import Platform
from tests.api.callers import Api, open_queue, workload

HERE = "/v1/namespaces/team-a/workloads"
SECRET = "p4ssw0rd"


def leaking(name: str, secret: str = SECRET) -> dict[str, Any]:
    made = workload(name)
    container = made["spec"]["podSets"][0]["template"]["spec"]["containers"][0]
    container["env"] = [{"name": "DB_PASSWORD", "value": secret}]
    return made


@pytest.fixture(scope="module", autouse=True)
def _queue(admin: Api) -> None:
    open_queue(admin, "gpu", "main")


def findings(platform: Platform) -> list[str]:
    verifier = Verifier(platform.event_log, platform.read_models, platform.followers)
    return [each.rule for each in verifier.verify(lambda *_: None).findings]


def cancelled(admin: Api, name: str) -> None:
    ended = admin.post(f"{HERE}/{name}/cancel", {"reason": "leaked"})
    assert ended.status_code == 200, ended.text


def test_the_template_of_an_ended_workload_is_erased_and_verify_stays_clean(
    admin: Api, platform: Platform
) -> None:
    made = admin.post(HERE, leaking("leak")).json()
    (kept,) = made["status"]["podTemplates"]
    refused = admin.post("/v1/erasures", {"stream": "workload/team-a/leak"})
    cancelled(admin, "leak")

    order = {"stream": "workload/team-a/leak", "reason": "password"}
    erased = admin.post("/v1/erasures", order)

    assert (refused.status_code, refused.json()["code"]) == (409, "WrittenContentInUse")
    assert erased.status_code == 200, erased.text
    assert erased.json()["digests"] == [kept["digest"]]
    assert erased.json()["users"] == ["workload/team-a/leak"]
    shown = admin.get(f"{HERE}/leak")
    assert SECRET not in shown.text
    assert shown.json()["status"]["podTemplates"] == [{**kept, "erased": True}]
    (event,) = admin.get("/v1/events?type=log.content_erased&limit=1").json()["items"]
    named = {"type": "object", "kind": "workload", "key": "team-a/leak"}
    assert event["data"] == {"digests": [kept["digest"]], "object": named}
    assert (event["actor"], event["reason"]) == ("user:admin", "password")
    assert findings(platform) == []
    again = admin.post("/v1/erasures", order)
    assert (again.status_code, again.json()["code"]) == (404, "WrittenContentNotKept")


def test_what_others_refer_to_is_erased_only_by_force(admin: Api, platform: Platform) -> None:
    admin.post(HERE, leaking("shared-1", "shared"))
    made = admin.post(HERE, leaking("shared-2", "shared")).json()
    digest = made["status"]["podTemplates"][0]["digest"]
    cancelled(admin, "shared-1")
    refused = admin.post("/v1/erasures", {"stream": "workload/team-a/shared-1"})
    erased = admin.post("/v1/erasures", {"digest": digest, "force": True})

    assert refused.json()["code"] == "WrittenContentInUse"
    assert "workload/team-a/shared-2" in refused.json()["detail"]
    assert erased.json()["digests"] == [digest]
    assert len(erased.json()["users"]) == 2
    assert findings(platform) == []


def test_content_that_is_submitted_again_is_kept_again(admin: Api, platform: Platform) -> None:
    admin.post(HERE, leaking("first", "again"))
    cancelled(admin, "first")
    admin.post("/v1/erasures", {"stream": "workload/team-a/first"})
    admin.post(HERE, leaking("second", "again"))

    assert '"again"' in admin.get(f"{HERE}/second").text
    assert findings(platform) == []


def test_content_that_comes_back_without_an_event_is_found(admin: Api, platform: Platform) -> None:
    made = admin.post(HERE, leaking("restored", "back")).json()
    digest = made["status"]["podTemplates"][0]["digest"]
    body = platform.read_models.written([digest])[digest]
    cancelled(admin, "restored")
    admin.post("/v1/erasures", {"stream": "workload/team-a/restored"})
    with platform.pool.connection() as connection:
        connection.execute("INSERT INTO written_object VALUES (%s, %s)", (digest, body))

    assert findings(platform) == ["Erased content is gone"]
    with platform.pool.connection() as connection:
        connection.execute("SELECT written_object_erase(%s)", ([digest],))


def test_only_admins_erase_and_only_what_is_there(callers: dict[str, Api], admin: Api) -> None:
    for role in ("viewer", "submitter", "executor"):
        refused = callers[role].post("/v1/erasures", {"stream": "workload/team-a/leak"})
        assert refused.status_code == 403, role
    assert admin.post("/v1/erasures", {"stream": "workload/team-a/none"}).status_code == 404
    assert admin.post("/v1/erasures", {"digest": "0" * 64}).status_code == 404
    for body in ({}, {"stream": "workload/team-a/leak", "digest": "0" * 64}, {"digest": "x"}):
        assert admin.post("/v1/erasures", body).status_code in {400, 422}, body
