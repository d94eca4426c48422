"""The stream of an executor's assignments: it tells changes, resumes, and resets."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from httpx_sse import EventSource

from headgate.settings import Settings
from tests.api.callers import KUEUE, flavor, local_queue, workload
from tests.api.serving import Server, serving
from tests.api.test_executor_pods import gang
from tests.api.test_executor_protocol import HOST, RACK, a_node, an_executor

PATH = "/v1/executors/streams"
EPOCH = {"Headgate-Executor-Epoch": "1"}
Frame = tuple[int, str, dict[str, Any]]


@pytest.fixture(scope="module")
def server(settings: Settings) -> Iterator[Server]:
    with serving(settings) as started:
        levels = {"levels": [{"nodeLabel": RACK}, {"nodeLabel": HOST}]}
        pools = flavor("s", topologyName="racks", nodeLabels={"pool": "streams"})
        quota = {"name": "s", "resources": [{"name": "cpu", "nominalQuota": "99"}]}
        groups = [{"coveredResources": ["cpu"], "flavors": [quota]}]
        spec = {"resourceGroups": groups, "namespaceSelector": {}}
        for path, body in (
            ("topologies", an_object("Topology", "racks", levels)),
            ("resourceflavors", pools),
            ("clusterqueues", an_object("ClusterQueue", "s", spec)),
            ("namespaces/team-a/localqueues", local_queue("s", "s")),
            ("executors", an_executor("streams")),
            ("executors/streams/claim", {}),
        ):
            started.http.post(f"/v1/{path}", json=body).raise_for_status()
        nodes = {"nodes": [a_node("streams-1", "streams")]}
        started.http.put(f"{PATH}/nodes", json=nodes, headers=EPOCH).raise_for_status()
        yield started


def an_object(kind: str, name: str, spec: dict[str, Any]) -> dict[str, Any]:
    return {"apiVersion": KUEUE, "kind": kind, "metadata": {"name": name}, "spec": spec}


@contextmanager
def watching(server: Server, **headers: str) -> Iterator[Iterator[Frame]]:
    given = {**EPOCH, **{name.replace("_", "-"): value for name, value in headers.items()}}
    with server.http.stream("GET", f"{PATH}/assignments/stream", headers=given) as answer:
        assert answer.status_code == 200
        yield (
            (int(sent.id), sent.event, json.loads(sent.data))
            for sent in EventSource(answer).iter_sse()
            if sent.data
        )


def report(server: Server, item: dict[str, Any], kind: str) -> None:
    named = {name: item[name] for name in ("workload", "uid", "attempt")}
    told = {**named, "index": 0, "run": 1, "type": kind}
    answer = server.http.post(f"{PATH}/reports", json={"reports": [told]}, headers=EPOCH)
    assert answer.json()["outcomes"] == [{"accepted": True}]


def test_changes_are_told_and_the_stream_resumes_where_it_ended(
    server: Server, schedule: Callable[[], int]
) -> None:
    with watching(server) as frames:
        body = workload("told", "team-a", queue="s", podSets=[gang(1)])
        server.http.post("/v1/namespaces/team-a/workloads", json=body).raise_for_status()
        schedule()
        position, kind, item = next(frames)
        assert (kind, item["workload"], item["attempt"]) == ("assignment", "team-a/told", 1)
        assert item["podSets"][0]["pods"] == [
            {"index": 0, "rank": 0, "run": 1, "node": "streams-1"}
        ]
        report(server, item, "finished")
        _, _, ended = next(frames)
    expected = {"workload": "team-a/told", "uid": item["uid"], "attempt": 1, "ended": True}
    assert ended == expected
    with watching(server, Last_Event_ID=str(position)) as frames:
        assert next(frames)[2] == expected


def test_a_stream_from_a_position_that_is_not_known_is_reset(server: Server) -> None:
    for position in (1, 1_000_000_000):
        with watching(server, Last_Event_ID=str(position)) as frames:
            told_at, kind, told = next(frames)
            assert (kind, told) == ("reset", {"position": told_at})


def test_the_stream_of_a_superseded_process_is_refused(server: Server) -> None:
    server.http.post("/v1/executors", json=an_executor("newer")).raise_for_status()
    for _ in range(2):
        server.http.post("/v1/executors/newer/claim", json={}).raise_for_status()
    path = "/v1/executors/newer/assignments/stream"
    answer = server.http.get(path, headers=EPOCH)
    assert (answer.status_code, answer.json()["code"]) == (409, "ExecutorSuperseded")
