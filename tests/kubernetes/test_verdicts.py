"""The verdict table, and its replay; the double stands for a real server here."""

import asyncio
from pathlib import Path

import httpx
import pytest
import yaml

from headgate.executor.substrates.kubernetes.access import find_access
from tests.kubernetes import record
from tests.kubernetes.api_double import TOKEN, ApiDouble
from tests.kubernetes.kubelet import Cluster
from tests.kubernetes.record import BODIES, Recorder
from tests.kubernetes.verdict_table import OTHERWISE, Replay, Row, Verdict, read_table

SOURCES = (
    "https://kubernetes.io/docs/",
    "https://github.com/kubernetes/kubernetes/blob/master/",
    "https://github.com/kubernetes-sigs/jobset/blob/main/",
)


def test_each_verdict_has_its_source_and_a_replay_or_the_reason_why_not() -> None:
    bodies = yaml.safe_load(BODIES.read_text())
    for row in read_table():
        assert row.verdicts[-1].when == OTHERWISE
        for verdict in row.verdicts:
            assert verdict.source.startswith(SOURCES)
            assert bool(verdict.replay) != bool(verdict.unreplayed)
            if verdict.replay is not None:
                named = {verdict.replay.body, *verdict.replay.given} - {""}
                assert named <= set(bodies)


def test_a_replay_finds_the_double_as_the_table_says(
    api: ApiDouble, cluster: Cluster, tmp_path: Path
) -> None:
    said: list[str] = []
    access = find_access(str(api.kubeconfig(tmp_path / "kubeconfig")))
    found = asyncio.run(Recorder(access).run(said.append))
    replayed = [each for row in read_table() for each in row.verdicts if each.replay is not None]
    assert [each for each in found if each.differs] == []
    assert len(found) == len(replayed)
    given = {(each.request, each.when) for each in found}
    assert given <= set(api.table.given)


def test_a_replay_tells_what_differs(
    api: ApiDouble, cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong = Verdict(
        when="it is missing",
        status=410,
        reason="Gone",
        source="",
        replay=Replay(path="/api/v1/namespaces/NS/pods/none"),
    )
    row = Row(request="GET /api/v1/namespaces/{namespace}/pods/{name}", verdicts=[wrong])
    monkeypatch.setattr(record, "read_table", lambda: [row])
    access = find_access(str(api.kubeconfig(tmp_path / "kubeconfig")))
    said: list[str] = []
    (found,) = asyncio.run(Recorder(access).run(said.append))
    assert found.differs
    assert said == [
        f"DIFFERS: {row.request}, it is missing: 410 Gone expected, 404 NotFound answered"
    ]


def test_a_request_that_the_table_lacks_is_not_answered(api: ApiDouble) -> None:
    headers = {"Authorization": f"Bearer {TOKEN}"}
    unknown = (
        ("GET", "/api/v1/secrets", None),
        ("GET", "/api/v1/pods?fieldSelector=spec.nodeName", None),
        ("DELETE", "/api/v1/namespaces/default/pods/a", {"propagationPolicy": "Foreground"}),
    )
    with httpx.Client(base_url=f"http://127.0.0.1:{api.port}", headers=headers) as client:
        answers = [client.request(method, path, json=body) for method, path, body in unknown]
    assert [answer.status_code for answer in answers] == [501, 501, 501]
    problems = [each.partition(": ")[2] for each in api.table.unknown]
    api.table.unknown.clear()
    assert problems == [
        "no row has this path",
        "the query has fieldSelector",
        "the body has propagationPolicy",
    ]
