"""Answers on ended workloads stay as they are once they have left the fold of a process."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from litestar import Litestar
from litestar.testing import TestClient

from headgate.domain.workloads import ended
from tests.api.callers import Api, open_queue, workload

HERE = "/v1/namespaces/team-a/workloads"
NAMES = ("done", "broken", "given-up", "later")


@pytest.fixture(scope="module", autouse=True)
def _no_whole_ones() -> Iterator[None]:
    """Folds of the past keep no ended workload whole; that of the present as many as ever."""
    with pytest.MonkeyPatch.context() as patch:
        yield patch.setattr(ended, "MAX_WHOLE_ENDED", 0)


@pytest.fixture(scope="module")
def position(admin: Api, client: TestClient[Litestar], schedule: Callable[[], int]) -> int:
    """The position after three ends; the fourth workload still runs."""
    state_of(client).ended.max_whole = 1_000
    open_queue(admin, "gpu", "main", cpu="20")
    for name in NAMES:
        made = workload(name)
        made["metadata"]["labels"] = {"kind": name}
        assert admin.post(HERE, made).status_code == 201
    schedule()
    end(admin, "done", succeeded=True)
    end(admin, "broken", succeeded=False)
    assert admin.post(f"{HERE}/given-up/cancel", {"reason": "too slow"}).status_code == 200
    return schedule()


def end(admin: Api, name: str, *, succeeded: bool) -> None:
    """Reports the end of a workload, or that its pods have stopped."""
    uid = admin.get(f"{HERE}/{name}").json()["metadata"]["uid"]
    told = {"uid": uid, "attempt": 1, "succeeded": succeeded, "message": "exit code 3"}
    answer = admin.post(f"{HERE}/{name}/finished", told)
    assert answer.status_code == 200, answer.text


def state_of(client: TestClient[Litestar]) -> Any:
    return client.app.state["services"].reader.cluster_state


def test_reads_of_the_past_are_those_of_a_fold_that_keeps_all(
    admin: Api, client: TestClient[Litestar], schedule: Callable[[], int], position: int
) -> None:
    at = f"at={position}"
    present = ("/v1/workloads", "/v1/workloads?phase=Failed", f"{HERE}/broken", f"{HERE}/done")
    past = [f"{path}{'&' if '?' in path else '?'}{at}" for path in present]
    past += [f"{HERE}/done/timeline?{at}", f"/v1/workloads?{at}&labelSelector=kind%3Dbroken"]
    then = [items_of(admin.get(path).json()) for path in past]
    assert then[: len(present)] == [items_of(admin.get(path).json()) for path in present]
    assert {item["metadata"]["name"] for item in then[0]} == set(NAMES)

    assert admin.delete(f"{HERE}/done").is_success
    end(admin, "later", succeeded=True)
    assert admin.caught_up("/v1/queues", schedule()).status_code == 200

    assert [items_of(admin.get(path).json()) for path in past] == then
    assert "team-a/done" not in state_of(client).workloads


def items_of(answer: Any) -> Any:
    return answer.get("items", answer.get("entries", answer.get("status")))


def test_answers_of_the_present_are_those_of_a_fold_that_keeps_all(
    admin: Api, client: TestClient[Litestar], position: int
) -> None:
    def told() -> list[Any]:
        named = [{"workload": f"team-a/{name}"} for name in NAMES[1:]]
        bulk = {"verb": "hold", "reason": "x", "workloads": named, "dryRun": "All"}
        found = [
            admin.caught_up("/v1/attention", position),
            admin.caught_up("/v1/queues", position),
            admin.get("/v1/workload-rows?orderBy=name"),
            admin.get(f"{HERE}/broken/stuck"),
            admin.get(f"{HERE}/broken/explanation"),
            admin.post("/v1/batches", bulk),
            admin.post("/v1/erasures", {"stream": "workload/team-a/broken"}),
            admin.post(HERE, workload("broken")),
            admin.post(f"{HERE}/broken/cancel", {"reason": "x"}),
            admin.delete("/v1/namespaces/team-a?dryRun=All"),
        ]
        return [(each.status_code, lasting(each.json())) for each in found]

    whole = told()
    assert {code for code, _ in whole} >= {200, 404, 409}
    state_of(client).forget_what_ended(max_whole=0)
    assert "team-a/broken" not in state_of(client).workloads

    assert told() == whole


def lasting(answer: Any) -> Any:
    """An answer without what differs from one request to the next."""
    if isinstance(answer, list):
        return [lasting(each) for each in answer]
    if not isinstance(answer, dict):
        return answer
    return {
        name: lasting(value)
        for name, value in answer.items()
        if name not in {"at", "asOf", "instance", "requestId", "position"} and "econds" not in name
    }
