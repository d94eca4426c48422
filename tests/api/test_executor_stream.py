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
def watching(server: Server, known: str = "", **headers: str) -> Iterator[Iterator[Frame]]:
    given = {**EPOCH, **{name.replace("_", "-"): value for name, value in headers.items()}}
    query = {"knownPoint": known} if known else {}
    path = f"{PATH}/assignments/stream"
    with server.http.stream("GET", path, params=query, headers=given) as answer:
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
        covering = next(frames)[2]
        position, kind, item = next(frames)
        assert covering["position"] >= position
        assert holds(server, text_of(covering))
        assert (kind, item["workload"], item["attempt"]) == ("assignment", "team-a/told", 1)
        assert item["podSets"][0]["pods"] == [
            {"index": 0, "rank": 0, "run": 1, "node": "streams-1"}
        ]
        report(server, item, "finished")
        assert next(frames)[1] == "point"
        _, _, ended = next(frames)
    expected = {"workload": "team-a/told", "uid": item["uid"], "attempt": 1, "ended": True}
    assert ended == expected
    with watching(server, Last_Event_ID=str(position)) as frames:
        assert next(frames)[1] == "point"
        assert next(frames)[2] == expected


def text_of(point: dict[str, Any]) -> str:
    return f"{point['logId']}:{point['position']}:{point['chain']}"


def holds(server: Server, known: str) -> bool | None:
    """What a list of assignments says of a point that the executor knows."""
    query = {"knownPoint": known} if known else {}
    answer = server.http.get(f"{PATH}/assignments", params=query, headers=EPOCH)
    assert answer.status_code == 200, answer.text
    found: bool | None = answer.json()["holdsKnownPoint"]
    return found


def test_a_point_of_another_past_is_told_apart(server: Server) -> None:
    listed = server.http.get(f"{PATH}/assignments", headers=EPOCH).json()
    assert listed["holdsKnownPoint"] is None
    assert holds(server, text_of(listed)) is True
    lost = text_of({**listed, "chain": "0" * len(listed["chain"])})
    for known in (
        lost,
        text_of({**listed, "logId": "another"}),
        text_of({**listed, "position": 1_000_000_000}),
    ):
        assert holds(server, known) is False
    place = str(listed["position"])
    with watching(server, lost, Last_Event_ID=place) as frames:
        assert next(frames)[1] == "reset"


def test_a_point_that_is_none_is_refused(server: Server) -> None:
    query = {"knownPoint": "17"}
    answer = server.http.get(f"{PATH}/assignments", params=query, headers=EPOCH)
    assert answer.status_code == 422, answer.text


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


def test_a_decision_on_orphans_has_the_assignments_listed_again(server: Server) -> None:
    lost = {"workload": "team-b/lost", "podSet": "main", "index": 0}
    for orphans in ([{"id": "a1", **lost}], []):
        with watching(server) as frames:
            told = server.http.put(f"{PATH}/orphans", json={"orphans": orphans}, headers=EPOCH)
            told.raise_for_status()
            if orphans:
                decided = {"pods": ["a1"], "decision": "Keep"}
                path = f"{PATH}/orphans/decisions"
                position = server.http.post(path, json=decided).json()["position"]
                told_at, kind, _ = next(frames)
                assert kind == "reset"
                assert told_at >= position
