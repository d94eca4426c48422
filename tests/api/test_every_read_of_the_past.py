"""Every read of the API answers as it would have answered then, or says that it cannot."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from httpx import Response

from tests.api.callers import Api, cluster_queue, flavor, local_queue, workload
from tests.api.test_configuration import BODY
from tests.api.test_objects import EXAMPLES

HERE = "/v1/namespaces/team-a/workloads"
DOCUMENT = json.loads(Path("frontend/openapi.json").read_text())
READS = {
    path: {one.get("$ref", "") for one in operations["get"].get("parameters", ())}
    for path, operations in sorted(DOCUMENT["paths"].items())
    if "get" in operations
}
AT = "#/components/parameters/At"
OF_THEN = [path for path, parameters in READS.items() if AT in parameters]
OF_NOW = [path for path, parameters in READS.items() if AT not in parameters]
"""What tells how the installation is now, or what is kept beside the log, and so takes no `at`."""

NAMES = {
    "/workloads/{name}/stuck": "wide",
    "/v1/clusterqueues/": "gpu",
    "/v1/resourceflavors/": "default",
    "/v1/topologies/": "racks",
    "/v1/nodes/": "n1",
    "/v1/cohorts/": "pool",
    "/v1/executors/": "slurm",
    "/v1/workloadpriorityclasses/": "high",
    "/v1/admissionchecks/": "check",
    "/v1/configurations/": "default",
    "/localqueues/": "main",
    "/disruptionbudgets/": "keep",
    "/limitranges/": "sizes",
    "/v1/runtimeclasses/": "sandboxed",
    "/cronjobs/": "nightly",
    "/trainingruntimes/": "torch",
    "/v1/clustertrainingruntimes/": "torch",
    "/v1/provisioningrequestconfigs/": "usual",
    "/v1/webhooks/": "pager",
    "/v1/acknowledgments/": "ack",
    "/workloads/": "first",
    "/v1/namespaces/": "team-a",
}
QUESTIONS = {
    "/v1/references": "?stream=clusterqueue/gpu",
    "/v1/topologies/{name}/fits": "?pod=cpu%3D1",
    "/v1/topologies/{name}/fragmentation": "?pod=cpu%3D1",
    "/v1/topologies/{name}/near-fits": "?workload=team-a/wide",
}


@dataclass
class Told:
    """What was answered while a position was the head of the log; after that all was changed."""

    position: int
    ids: dict[str, str]
    then: dict[str, Response] = field(default_factory=dict)

    def address(self, path: str, at: int) -> str:
        """The path with the names of things that are there, and its question."""
        name = next((name for part, name in NAMES.items() if part in path), "")
        filled = path.format(**{"name": name, "namespace": "team-a", **self.ids})
        question = QUESTIONS.get(path, "")
        return f"{filled}{question}{'&' if question else '?'}at={at}"


@pytest.fixture(scope="module")
def told(admin: Api, schedule: Callable[[], int]) -> Told:
    """A little of everything, then all reads, then everything changed."""
    _furnish(admin)
    claimed = admin.post("/v1/executors/slurm/claim", {"version": "1", "capabilities": []})
    assert claimed.status_code == 200, claimed.text
    admin.post(HERE, workload("first"))
    schedule()
    admin.post(HERE, workload("urgent", priority=100))
    wide = workload("wide", queue="hosts")
    wide["spec"]["podSets"][0] |= {"count": 9, "topologyRequest": {"required": "rack"}}
    admin.post(HERE, wide)
    schedule()
    held = admin.post("/v1/batches", {"verb": "hold", "reason": "x", "query": {"name": "wide"}})
    found = Told(
        schedule(),
        {
            "round_id": admin.get("/v1/preemptions").json()["items"][0]["id"],
            "session": "none",
            "cycle": admin.get("/v1/cycles").json()["items"][0]["id"],
            "batch": held.json()["batch"],
            "backtest": "none",
            "simulation": "none",
            "digest": "0" * 64,
        },
    )
    found.then = {path: read(admin, found, path, found.position) for path in OF_THEN}
    admin.delete(f"{HERE}/first")
    admin.post(f"{HERE}/wide/release", {})
    admin.delete(f"{HERE}/wide")
    admin.post(HERE, workload("later"))
    admin.post("/v1/nodes/n1/cordon", {"reason": "x"})
    admin.post("/v1/clusterqueues/gpu/stop", {"reason": "x"})
    schedule()
    return found


def read(admin: Api, told: Told, path: str, at: int) -> Response:
    """The answer at a position; an executor names the epoch of its claim with each request."""
    epoch = {"Headgate_Executor_Epoch": "1"} if path.startswith("/v1/executors/") else {}
    return admin.get(told.address(path, at), **epoch)


def _furnish(admin: Api) -> None:
    own = {"withinClusterQueue": "LowerPriority"}
    pool = {"nodeLabels": {"pool": "gpu"}, "topologyName": "racks"}
    node = EXAMPLES["nodes"]
    labels = {"pool": "gpu", "rack": "r1"}
    hosts = cluster_queue("hosts", cpu="100")
    hosts["spec"]["resourceGroups"][0]["flavors"][0]["name"] = "tas"
    objects = {
        **EXAMPLES,
        "clusterqueues": cluster_queue("gpu", cpu="2", preemption=own, cohortName="pool"),
        "nodes": {**node, "metadata": {"name": "n1", "labels": labels}},
        "configurations": {**BODY, "spec": {}},
        "namespaces/team-a/localqueues": local_queue("main", "gpu"),
    }
    more = {
        "resourceflavors": flavor("tas", **pool),
        "clusterqueues": hosts,
        "namespaces/team-a/localqueues": local_queue("hosts", "hosts"),
    }
    for path, body in [*objects.items(), *more.items()]:
        made = admin.post(f"/v1/{path}", body)
        assert made.status_code == 201, (path, made.text)


def test_only_what_the_log_does_not_tell_is_of_now() -> None:
    assert OF_NOW == [
        "/healthz",
        "/metrics",
        "/readyz",
        "/v1/attention/closed",
        "/v1/attention/rules",
        "/v1/backtests",
        "/v1/backtests/{backtest}",
        "/v1/can-i",
        "/v1/executors/{name}/assignments",
        "/v1/executors/{name}/assignments/stream",
        "/v1/executors/{name}/sessions",
        "/v1/executors/{name}/sessions/{session}/frames",
        "/v1/executors/{name}/uploads/{digest}",
        "/v1/namespaces/{namespace}/uploads/{digest}",
        "/v1/namespaces/{namespace}/workloads/{name}/logs",
        "/v1/namespaces/{namespace}/workloads/{name}/sessions/{session}/frames",
        "/v1/serviceaccounts",
        "/v1/serviceaccounts/{name}",
        "/v1/simulations",
        "/v1/simulations/{simulation}",
        "/v1/stream",
        "/v1/system",
        "/v1/tokens",
        "/v1/views",
        "/v1/webhooks/{name}/deliveries",
        "/v1/whoami",
        "/v1/whoami/tokens",
    ]


@pytest.mark.parametrize("path", OF_THEN)
def test_a_read_of_the_past_stays_what_it_was(admin: Api, told: Told, path: str) -> None:
    then = told.then[path]
    assert then.status_code == 200, then.text
    again = read(admin, told, path, told.position)
    assert _content(again) == _content(then)
    before_all = read(admin, told, path, 0)
    assert _content(before_all) != _content(then), "what was not there yet cannot be told"


@pytest.mark.parametrize("path", OF_NOW)
def test_what_tells_of_now_refuses_to_speak_of_the_past(admin: Api, told: Told, path: str) -> None:
    refused = read(admin, told, path, told.position)
    assert refused.status_code == 422, refused.text
    assert refused.json()["errors"][0]["pointer"] == "/at"


def _content(answer: Response) -> tuple[int, Any]:
    """Status and body, without what names the request and how long it took."""
    if answer.headers["content-type"].startswith("text/csv"):
        return answer.status_code, answer.text
    body = answer.json()
    for name in ("requestId", "durationMicroseconds", "planningMicroseconds"):
        body.pop(name, None)
    return answer.status_code, body
