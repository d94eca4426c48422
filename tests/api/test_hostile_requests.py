"""Requests made to harm: each gets an answer below 500, and writes next to nothing to the log.

None holds the event loop. Counted is the processor time of its thread between two turns of another
task, which other work of the machine does not lengthen as it does the time of an answer.
"""

import asyncio
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

import pytest
from litestar import Litestar
from litestar.testing import TestClient

from headgate.api.app import MAX_TYPED_BYTES
from tests.api.callers import Api, cluster_queue
from tests.fuzz.__main__ import HostileRequest, hostile_requests
from tests.fuzz.hostile_values import bodies

LONG = "x" * 60_000
MAX_LOGGED_BYTES = 2_000
MAX_HELD_SECONDS = 0.1
"""The aim for `/healthz` beside requests of the worst size (issue 15, Done 2)."""
PAUSE_SECONDS = 0.0005
EACH = 4
"""One in so many requests: each operation has more."""
WORST = ("keys", "labels", "yaml text")
"""Bodies that take long to read, of those that are short to send."""


@pytest.mark.parametrize(
    "path",
    [f"/{LONG}", f"/assets/{LONG}", f"/v1/{LONG}", f"/{'a/' * 2_000}", "/%00", f"/problems/{LONG}"],
    ids=["page", "asset", "api", "depth", "nul", "problem"],
)
def test_a_path_without_a_token_is_no_failure_and_fills_no_log(
    callers: dict[str, Api], path: str, capfd: pytest.CaptureFixture[str]
) -> None:
    answer = callers["nobody"].get(path)

    assert answer.status_code < 500
    captured = capfd.readouterr()
    assert len(captured.out) + len(captured.err) < MAX_LOGGED_BYTES


def test_only_the_first_problems_of_an_object_are_told(admin: Api) -> None:
    body = cluster_queue("hostile") | {f"stopPolcy{number}": "a" for number in range(20_000)}

    answer = admin.post("/v1/clusterqueues", body)

    assert answer.status_code == 422
    assert len(answer.json()["errors"]) == 100


def test_a_long_label_selector_is_refused_in_a_query_and_in_a_body(admin: Api) -> None:
    selector = "," * 5_000
    query = {"verb": "activate", "reason": "test", "query": {"labelSelector": selector}}

    for answer in (
        admin.get(f"/v1/workloads?labelSelector={selector}"),
        admin.post("/v1/batches", query),
    ):
        assert answer.status_code == 422
        assert "2000" in answer.json()["errors"][0]["rule"]


def test_a_mistyped_name_longer_than_any_is_compared_with_none(admin: Api) -> None:
    answer = admin.post("/v1/clusterqueues", cluster_queue("long", stopPolicy="Hold" * 300_000))

    assert answer.json()["errors"][0]["remedy"] == "Use one of these."


@pytest.mark.parametrize(
    "body",
    [b"[" * 20_000, b'{"reason":' * 5_000, b'{"reason": "\xff"}'],
    ids=["list", "object", "text"],
)
def test_a_body_that_cannot_be_decoded_is_the_fault_of_its_sender(admin: Api, body: bytes) -> None:
    answer = admin.send("/v1/clusterqueues/none/resume", body, "application/json")

    assert answer.status_code == 400
    assert answer.json()["type"] == "/problems/bad-request"


@pytest.mark.parametrize(
    "path", ["/v1/clusterqueues/none/stop", "/v1/namespaces/team-a/workloads/none/hold"]
)
def test_an_action_with_a_huge_body_is_refused_before_it_is_decoded(admin: Api, path: str) -> None:
    body = b'{"reason": "' + b"x" * 100_000 + b'"}'

    answer = admin.send(path, body, "application/json")

    assert (answer.status_code, answer.json()["type"]) == (413, "/problems/too-large")


@pytest.mark.parametrize("path", ["/v1/tokens", "/v1/serviceaccounts", "/v1/erasures"])
def test_a_typed_body_is_decoded_up_to_a_mebibyte_alone(admin: Api, path: str) -> None:
    statuses = [
        admin.send(path, b'{"reason": "' + b"x" * length + b'"}', "application/json").status_code
        for length in (MAX_TYPED_BYTES - 100, MAX_TYPED_BYTES)
    ]
    assert statuses[0] != 413
    assert statuses[1] == 413


@contextmanager
def turns_of_the_loop(client: "TestClient[Litestar]") -> Iterator[Callable[[], float]]:
    """Tells the most that the loop's thread has worked between two turns, since last asked."""
    longest = [0.0]
    ended = asyncio.Event()

    async def take_turns() -> None:
        while not ended.is_set():
            before = time.thread_time()
            await asyncio.sleep(PAUSE_SECONDS)
            longest[0] = max(longest[0], time.thread_time() - before)

    def told() -> float:
        found, longest[0] = longest[0], 0.0
        return found

    with client.portal() as portal:
        turns = portal.start_task_soon(take_turns)
        yield told
        portal.call(ended.set)
        turns.result()


def held_by(
    admin: Api, requests: Iterable[HostileRequest], told: Callable[[], float]
) -> dict[str, float]:
    """The requests that held the loop for too long, with the seconds."""
    found = {}
    for request in requests:
        admin.client.request(
            request.method,
            request.path,
            params=request.query,
            headers={**admin.headers, **request.headers},
            content=request.content or None,
        )
        if (seconds := told()) > MAX_HELD_SECONDS:
            found[request.about] = seconds
    return found


def of_apply() -> Iterator[HostileRequest]:
    """The worst bodies for the operation that reads manifests of any kind."""
    for name, media, content in bodies():
        if name in WORST:
            kind = {"Content-Type": media}
            yield HostileRequest(name, "post", "/v1/apply", headers=kind, content=content)


def test_the_worst_manifests_leave_others_their_turn(admin: Api) -> None:
    with turns_of_the_loop(admin.client) as told:
        assert held_by(admin, of_apply(), told) == {}


@pytest.mark.nightly
def test_the_worst_request_of_every_operation_leaves_others_their_turn(admin: Api) -> None:
    document = admin.get("/v1/openapi.json").json()
    requests = list(hostile_requests(document))[::EACH]
    with turns_of_the_loop(admin.client) as told:
        assert held_by(admin, requests, told) == {}


def test_a_turn_that_is_held_is_seen(admin: Api) -> None:
    async def hold() -> None:
        began = time.thread_time()
        while time.thread_time() - began < MAX_HELD_SECONDS:
            pass

    with turns_of_the_loop(admin.client) as told, admin.client.portal() as portal:
        portal.call(hold)
        portal.call(asyncio.sleep, 0.01)
        assert told() >= MAX_HELD_SECONDS
