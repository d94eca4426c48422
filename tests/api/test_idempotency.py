"""The same request twice under one key is one fact, and one answer."""

import asyncio
from typing import Any

import pytest
from litestar import Litestar
from litestar.testing import TestClient

from headgate.api.app import application_services, connect
from headgate.bootstrap import open_platform
from headgate.settings import Settings
from tests.api.callers import ADMIN_SECRET, Api, flavor, workload

HERE = "/v1/namespaces/team-a/workloads"


def test_the_first_answer_comes_again_to_the_byte(admin: Api) -> None:
    first = admin.post(HERE, workload("keyed"), Idempotency_Key="k1")
    again = admin.post(HERE, workload("keyed"), Idempotency_Key="k1")
    assert (first.status_code, again.status_code) == (201, 201)
    assert again.content == first.content
    assert again.headers["x-log-position"] == first.headers["x-log-position"]
    assert again.headers["idempotency-replayed"] == "true"
    assert len(admin.get(f"{HERE}/keyed/timeline").json()["entries"]) == 1


def test_it_comes_again_after_the_state_has_moved_on(admin: Api) -> None:
    admin.post(HERE, workload("moved"))
    first = admin.post(f"{HERE}/moved/hold", {"reason": "x"}, Idempotency_Key="k2")
    admin.post(f"{HERE}/moved/release", {})
    again = admin.post(f"{HERE}/moved/hold", {"reason": "x"}, Idempotency_Key="k2")
    assert again.content == first.content
    assert admin.get(f"{HERE}/moved").json()["status"]["phase"] == "Pending"


def test_a_key_is_for_one_request(admin: Api) -> None:
    admin.post(HERE, workload("first-use"), Idempotency_Key="k3")
    other = admin.post(HERE, workload("second-use"), Idempotency_Key="k3")
    assert (other.status_code, other.json()["type"]) == (422, "/problems/idempotency-key-reused")
    assert admin.get(f"{HERE}/second-use").status_code == 404


def test_keys_of_different_callers_do_not_meet(callers: dict[str, Api]) -> None:
    one = callers["admin"].post(HERE, workload("by-admin"), Idempotency_Key="k4")
    two = callers["submitter"].post(HERE, workload("by-submitter"), Idempotency_Key="k4")
    assert (one.status_code, two.status_code) == (201, 201)


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/workloads:batch", {"items": [workload("kb-1"), workload("kb-2"), workload("K B")]}),
        ("/v1/apply", flavor("kb-flavor")),
        ("/v1/resourceflavors", flavor("kb-other")),
    ],
)
def test_batches_and_objects_are_kept_under_keys_too(admin: Api, path: str, body: Any) -> None:
    first = admin.post(path, body, Idempotency_Key=f"k5{path}")
    again = admin.post(path, body, Idempotency_Key=f"k5{path}")
    assert first.status_code in (200, 201, 207), first.text
    assert again.content == first.content
    assert again.status_code == first.status_code
    assert int(first.headers["x-log-position"]) > 0


def test_an_answer_that_was_never_sent_is_given_by_the_next_process(
    admin: Api, settings: Settings, spare_application: Litestar
) -> None:
    platform = open_platform(settings)
    dying = application_services(platform)
    body = workload("survivor")
    with TestClient(connect(spare_application, dying)) as client:
        sent = Api(client, ADMIN_SECRET).post(HERE, body, Idempotency_Key="k6")
    platform.close()
    again = admin.post(HERE, body, Idempotency_Key="k6")
    assert again.content == sent.content


def test_keys_are_of_reasonable_length(admin: Api) -> None:
    assert admin.post(HERE, workload("long"), Idempotency_Key="k" * 256).status_code == 422


def test_many_at_once_under_one_key_are_one_fact(admin: Api) -> None:
    async def storm() -> list[bytes]:
        def send() -> bytes:
            return admin.post(HERE, workload("storm"), Idempotency_Key="k7").content

        return list(await asyncio.gather(*(asyncio.to_thread(send) for _ in range(8))))

    answers = asyncio.run(storm())
    assert len(set(answers)) == 1
    assert len(admin.get(f"{HERE}/storm/timeline").json()["entries"]) == 1
