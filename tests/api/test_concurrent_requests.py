"""What one caller asks does not keep the others waiting, however much it is."""

import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from threading import Event
from typing import Any

import pytest
from httpx import Response
from litestar import Litestar
from litestar.testing import TestClient

from headgate.api.app import application_services, connect
from headgate.api.bodies import MAX_INLINE_BYTES
from headgate.application.ports import Ids
from headgate.bootstrap import Platform
from tests.api.callers import ADMIN_SECRET, Api, workload

MANY = 300
ANSWERED = 3
"""So many others are answered in the middle of the work; without slices it is none, or the one that
was being answered already.
"""

MOMENT_SECONDS = 0.05
PAUSE_SECONDS = 0.005
"""Between reads, so that they stay within the limit of requests where the work takes long."""
OF_REQUESTS = 10
"""So many ids, or fewer, may have been taken for requests that are under way themselves."""


class CountedIds:
    """Fills the port `Ids` from another; how far the work on many objects is, one id for each.

    In the middle of the work every id takes a moment until `enough` others were answered, so that
    they come to their turn on a busy machine too.
    """

    def __init__(self, ids: Ids) -> None:
        self.given = 0
        self.enough = Event()
        self.enough.set()
        self._ids = ids

    @property
    def is_halfway(self) -> bool:
        return OF_REQUESTS < self.given < MANY

    def new(self) -> str:
        self.given += 1
        if self.is_halfway:
            self.enough.wait(MOMENT_SECONDS)
        return self._ids.new()


@pytest.fixture(scope="module")
def ids(platform: Platform) -> CountedIds:
    return CountedIds(platform.ids)


@pytest.fixture(scope="module")
def caller(platform: Platform, ids: CountedIds, spare_application: Litestar) -> Iterator[Api]:
    services = replace(application_services(platform), ids=ids)
    with TestClient(connect(spare_application, services)) as started:
        yield Api(started, ADMIN_SECRET)


@pytest.fixture(autouse=True)
def _short_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    """A turn for others after every step, so that how fast the machine is does not matter."""
    monkeypatch.setattr("headgate.application.cooperative.SLICE_SECONDS", 0.0)


def test_an_apply_of_many_objects_lets_others_read(caller: Api, ids: CountedIds) -> None:
    items = [workload(f"many-{number}") for number in range(MANY)]
    body = {"apiVersion": "v1", "kind": "List", "items": items}
    applied, reads = _meanwhile(caller, ids, "/v1/apply", body)
    assert applied.status_code == 200, applied.text
    names = [one["name"] for one in applied.json()["results"]]
    assert names == [item["metadata"]["name"] for item in items]
    assert reads >= ANSWERED


def test_a_batch_under_a_key_lets_others_read(caller: Api, ids: CountedIds) -> None:
    body = {"items": [workload(f"keyed-{number}") for number in range(MANY)]}
    submitted, reads = _meanwhile(caller, ids, "/v1/workloads:batch", body, Idempotency_Key="k")
    assert {one["outcome"] for one in submitted.json()["results"]} == {"created"}
    assert reads >= ANSWERED


def test_an_action_on_many_workloads_lets_others_read(caller: Api, ids: CountedIds) -> None:
    body = {"items": [workload(f"held-{number}") for number in range(MANY)]}
    made = caller.post("/v1/workloads:batch", body)
    caller.caught_up("/v1/queues", int(made.headers["x-log-position"]))
    hold = {"verb": "hold", "reason": "x", "query": {"name": "held-"}}
    done, reads = _meanwhile(caller, ids, "/v1/batches", hold)
    assert done.json()["eligible"] == MANY
    assert reads >= ANSWERED


@pytest.mark.parametrize("padding", [0, MAX_INLINE_BYTES])
def test_a_long_body_is_read_like_a_short_one(admin: Api, padding: int) -> None:
    comment = b"#" * padding + b"\n"
    answer = admin.send("/v1/apply?dryRun=All", comment + b"kind: Nonsense", "application/yaml")
    assert answer.status_code == 422
    (result,) = answer.json()["results"]
    assert result["problem"]["errors"][0]["pointer"] == "/kind"


def _meanwhile(
    caller: Api, ids: CountedIds, path: str, body: Any, **headers: str
) -> tuple[Response, int]:
    """The answer, and how many others were answered while the work was half done."""
    ids.given = 0
    ids.enough.clear()
    with ThreadPoolExecutor(1) as pool:
        asked: Future[Response] = pool.submit(caller.post, path, body, **headers)
        halfway = 0
        while not asked.done():
            assert caller.get("/v1/whoami").status_code == 200
            halfway += ids.is_halfway
            if halfway >= ANSWERED:
                ids.enough.set()
            time.sleep(PAUSE_SECONDS)
        return asked.result(), halfway
