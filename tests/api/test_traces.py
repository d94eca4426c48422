"""Traces by OTLP, as a collector gets them: from a request through its commit to its pods."""

import importlib.util
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from headgate.adapters.system.process_start import StartRefused
from headgate.bootstrap import Platform, open_traces
from headgate.settings import Settings
from tests.api.callers import ADMIN_SECRET, KUEUE, Api, flavor, local_queue
from tests.api.test_executor_protocol import Process, a_node, an_executor

HERE = "/v1/namespaces/team-a/workloads"
TRACE, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
CALLER = f"00-{TRACE}-{PARENT}-01"


class Collector(ThreadingHTTPServer):
    """Takes what an OTLP exporter sends."""

    def __init__(self) -> None:
        self.spans: list[Span] = []
        self.services: set[str] = set()
        super().__init__(("127.0.0.1", 0), Intake)

    def take(self, content: bytes) -> None:
        for resource in ExportTraceServiceRequest.FromString(content).resource_spans:
            for each in resource.resource.attributes:
                if each.key == "service.name":
                    self.services.add(each.value.string_value)
            for scope in resource.scope_spans:
                self.spans += scope.spans


class Intake(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        assert isinstance(self.server, Collector)
        assert self.path == "/v1/traces"
        self.server.take(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_args: Any) -> None:
        """Keeps quiet."""


@pytest.fixture(scope="module")
def collector() -> Iterator[Collector]:
    with Collector() as made:
        Thread(target=made.serve_forever, daemon=True).start()
        yield made
        made.shutdown()


@pytest.fixture(scope="module")
def settings(
    database_url: str, tmp_path_factory: pytest.TempPathFactory, collector: Collector
) -> Iterator[Settings]:
    with pytest.MonkeyPatch.context() as patch:
        address = f"http://127.0.0.1:{collector.server_port}"
        patch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", address)
        yield Settings(
            database_url=database_url,
            broker_url="memory://",
            admin_token=ADMIN_SECRET,
            ui_directory=Path(tmp_path_factory.mktemp("ui")),
            pod_logs=str(tmp_path_factory.mktemp("pod-logs")),
            traces=True,
        )


@pytest.fixture
def executor(admin: Api, callers: dict[str, Api]) -> Process:
    """An executor with a host of four cores, and the queue `gpu` for it."""
    levels = {"levels": [{"nodeLabel": "kubernetes.io/hostname"}]}
    admin.post("/v1/topologies", kueue("Topology", "hosts", levels))
    labels = {"pool": "gpu"}
    admin.post("/v1/resourceflavors", flavor("gpu", topologyName="hosts", nodeLabels=labels))
    quota = {"name": "gpu", "resources": [{"name": "cpu", "nominalQuota": "4"}]}
    groups = [{"coveredResources": ["cpu"], "flavors": [quota]}]
    spec = {"resourceGroups": groups, "namespaceSelector": {}}
    admin.post("/v1/clusterqueues", kueue("ClusterQueue", "gpu", spec))
    admin.post("/v1/namespaces/team-a/localqueues", local_queue("gpu", "gpu"))
    admin.post("/v1/executors", an_executor("rack", nodeSelector=labels))
    process = Process(callers["executor"], "rack")
    process.register({**a_node("host-1", "gpu", cpu="4"), "labels": labels})
    return process


def kueue(kind: str, name: str, spec: dict[str, Any]) -> dict[str, Any]:
    return {"apiVersion": KUEUE, "kind": kind, "metadata": {"name": name}, "spec": spec}


def run_to_the_end(
    admin: Api, executor: Process, schedule: Callable[[], int], **headers: str
) -> None:
    """Submits a workload with a trace, and reports its pod started, ready and finished."""
    pod = {"containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}]}
    pod_sets = [{"name": "main", "count": 1, "template": {"spec": pod}}]
    body = {
        "apiVersion": KUEUE,
        "kind": "Workload",
        "metadata": {"name": "train", "namespace": "team-a"},
        "spec": {"queueName": "gpu", "podSets": pod_sets},
    }
    assert admin.post(HERE, body, **headers).status_code == 201
    position = schedule()
    admin.get(f"/v1/assignments?minPosition={position}")
    (item,) = executor.get("assignments").json()["items"]
    named = {name: item[name] for name in ("workload", "uid", "attempt")}
    about = {**named, "podSet": "main", "index": 0, "run": 1}
    for kind in ("started", "ready"):
        executor.post("reports", {"reports": [{**about, "type": kind}]})
    ended = {**about, "type": "finished", "reason": "Completed", "exitCode": 0}
    executor.post("reports", {"reports": [ended]})
    admin.get(f"/v1/assignments?minPosition={admin.get('/v1/system').json()['position']}")


def attributes(span: Span) -> dict[str, Any]:
    return {
        each.key: getattr(each.value, str(each.value.WhichOneof("value")))
        for each in span.attributes
    }


def test_a_workload_is_one_trace_from_its_request_to_the_end_of_its_pods(
    admin: Api,
    executor: Process,
    schedule: Callable[[], int],
    platform: Platform,
    collector: Collector,
) -> None:
    run_to_the_end(admin, executor, schedule, traceparent=CALLER)
    assert platform.traces is not None
    platform.traces.close()
    spans = [each for each in collector.spans if each.trace_id.hex() == TRACE]
    (request,) = [each for each in spans if each.parent_span_id.hex() == PARENT]
    assert request.name == "POST /v1/namespaces/{namespace}/workloads"
    assert attributes(request)["http.response.status_code"] == 201
    parts = {each.name: each for each in spans if each is not request}
    assert {each.parent_span_id for each in parts.values()} == {request.span_id}
    assert set(parts) == {"commit", "queue", "start", "run"}
    assert request.start_time_unix_nano <= parts["commit"].start_time_unix_nano
    assert parts["queue"].end_time_unix_nano <= parts["start"].start_time_unix_nano
    assert parts["start"].end_time_unix_nano == parts["run"].start_time_unix_nano
    assert attributes(parts["queue"])["headgate.workload"] == "team-a/train"
    assert attributes(parts["run"])["headgate.executor"] == "rack"
    (link,) = parts["queue"].links
    (cycle,) = [each for each in collector.spans if each.span_id == link.span_id]
    assert (cycle.name, cycle.trace_id) == ("cycle", link.trace_id)
    assert attributes(cycle)["headgate.reservations"] == 1
    inside = {each.name for each in collector.spans if each.parent_span_id == cycle.span_id}
    assert inside == {"plan", "commit"}
    assert collector.services == {"headgate"}
    events = platform.event_log.read_stream("workload/team-a/train")
    assert events[0].metadata.trace == f"00-{TRACE}-{request.span_id.hex()}-01"


def test_reads_are_traced_where_their_callers_trace_them(
    admin: Api, platform: Platform, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[str, str]] = []
    assert platform.traces is not None
    real = platform.traces.request

    def noted(name: str, header: str, attributes: Any) -> Any:
        seen.append((name, header))
        return real(name, header, attributes)

    monkeypatch.setattr(platform.traces, "request", noted)
    admin.get("/v1/system")
    other = CALLER.replace(TRACE, TRACE[::-1])
    admin.get("/v1/system", traceparent=other)
    admin.post("/v1/resourceflavors", flavor("other"))
    assert seen == [("GET /v1/system", other), ("POST /v1/resourceflavors", "")]


def test_traces_without_their_extra_are_refused_with_the_remedy(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: None)
    assert open_traces(Settings(), "headgate-api") is None
    with pytest.raises(StartRefused, match=r"pip install 'headgate\[traces\]'"):
        open_traces(Settings(traces=True), "headgate-api")
