"""No read, and no answer to a change, tells a submitter the name of another team's workload."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from headgate.application.access.redaction import WITHHELD_DIAGNOSTIC
from headgate.application.scheduling_cycles import CycleRecord
from headgate.bootstrap import Platform
from tests.api.callers import Api
from tests.api.test_isolation import SECRET_NAME, A, B, apply_the_configuration, placed

DOCUMENT = json.loads(Path("frontend/openapi.json").read_text())
READS = sorted(
    path for path, does in DOCUMENT["paths"].items() if "get" in does and path != "/v1/stream"
)
NAMES = {"clusterqueues": "shared", "topologies": "hosts", "nodes": "h1", "resourceflavors": "gpu"}
QUESTIONS = {
    "references": "stream=clusterqueue/shared",
    "fits": "pod=cpu%3D1",
    "fragmentation": "pod=cpu%3D1",
    "near-fits": "workload=team-a/mine",
}


@dataclass(frozen=True)
class Life:
    """An installation in which workloads of every namespace have met, and the names used there."""

    position: int
    ids: dict[str, str]

    def addresses(self, path: str) -> list[str]:
        """The path about one's own things and about those of others, as it is and as it was."""
        name = next((name for kind, name in NAMES.items() if f"/{kind}/" in path), "")
        of_both = [("team-a", name or "mine"), ("team-b", name or SECRET_NAME)]
        question = QUESTIONS.get(path.rpartition("/")[2], "")
        return [
            f"{path.format(namespace=namespace, name=one, **self.ids)}?{question}{at}"
            for namespace, one in of_both
            for at in ("", f"&at={self.position}")
        ]


@pytest.fixture(scope="module")
def life(admin: Api, schedule: Callable[[], int]) -> Life:
    """team-b preempts its own; team-a waits for its victims to stop."""
    apply_the_configuration(admin)
    assert admin.post(B, placed(SECRET_NAME, "team-b", 8)).status_code == 201
    schedule()
    assert admin.post(A, placed("mine", "team-a", 4)).status_code == 201
    assert admin.post(B, placed(f"{SECRET_NAME}-2", "team-b", 8, priority=9)).status_code == 201
    schedule()
    hold = {"verb": "hold", "reason": "x", "query": {"namespace": "team-b"}}
    batch = admin.post("/v1/batches", hold).json()["batch"]
    reached = schedule()
    assert admin.caught_up("/v1/queues", reached).status_code == 200
    assert SECRET_NAME in admin.get(f"{A}/mine").text, (
        "otherwise there is nothing to be kept secret"
    )
    ids = {
        "round_id": admin.get("/v1/preemptions").json()["items"][0]["id"],
        "cycle": admin.get("/v1/cycles").json()["items"][0]["id"],
        "batch": batch,
        "backtest": "none",
        "simulation": "none",
        "session": "none",
        "digest": "0" * 64,
    }
    return Life(reached, ids)


@pytest.mark.parametrize("path", READS)
def test_no_read_names_workloads_of_others(callers: dict[str, Api], life: Life, path: str) -> None:
    for address in life.addresses(path):
        answer = callers["submitter"].get(address)
        assert answer.status_code < 500, answer.text
        is_refused = answer.status_code >= 400
        assert is_refused or SECRET_NAME not in answer.text, address


def test_no_answer_to_a_change_names_workloads_of_others(
    callers: dict[str, Api], life: Life
) -> None:
    submitter = callers["submitter"]
    assert life.position
    for verb in ("hold", "release"):
        changed = submitter.post(f"{A}/mine/{verb}", {"reason": "x"})
        assert changed.status_code == 200, changed.text
        assert SECRET_NAME not in changed.text


def test_no_name_stands_where_workers_tell_of_failures(
    callers: dict[str, Api], life: Life, platform: Platform
) -> None:
    told = f"workload/team-b/{SECRET_NAME} is at version 3, not 2"
    refused = CycleRecord(
        id="refused",
        partition="clusterqueue/shared",
        worker="w",
        at=platform.event_log.now(),
        input_position=life.position,
        outcome="Conflict",
        conflict=told,
    )
    platform.cycles.put(refused)
    platform.partitions.halt("installation", position=1, failure=told, retry_at=0)
    addresses = ("/v1/cycles", "/v1/cycles/refused", "/v1/cycles/refused/replay", "/v1/system")
    for address in addresses:
        assert SECRET_NAME in callers["admin"].get(address).text, address
        shown = callers["submitter"].get(address).text
        assert SECRET_NAME not in shown, address
        assert WITHHELD_DIAGNOSTIC in shown
