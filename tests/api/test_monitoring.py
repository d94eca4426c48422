"""The board and the alert rules ask for nothing but figures that there are."""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml
from litestar import Litestar
from litestar.testing import TestClient

from headgate.api.bounded_application import BoundedApplication
from headgate.application.commands.executor_commands import LeaseKeeper
from headgate.application.metrics_exposition import DETECTORS
from tests.api.callers import (
    Api,
    admission_check,
    cluster_queue,
    flavor,
    local_queue,
    open_queue,
    workload,
)
from tests.api.test_executor_protocol import an_executor
from tests.operations.alert_rules import firing, recorded

HERE = "/v1/namespaces/team-a/workloads"
BOARD = json.loads(Path("deploy/dashboard.json").read_text())
RULES = [
    rule
    for group in yaml.safe_load(Path("deploy/alerts.yaml").read_text())["groups"]
    for rule in group["rules"]
]
NAME = re.compile(r"\b(?:kueue|headgate)_\w+")


def _questions() -> Iterator[str]:
    for panel in BOARD["panels"]:
        yield from (target["expr"] for target in panel.get("targets", ()))
    yield from (variable["query"] for variable in BOARD["templating"]["list"])
    yield from (rule["expr"] for rule in RULES)


def start_checked(admin: Api, schedule: Callable[[], int]) -> None:
    """A workload waits for quota, for a check and for its pods."""
    admin.post("/v1/admissionchecks", admission_check("budget"))
    open_queue(admin, "checked", admissionChecksStrategy={"admissionChecks": [{"name": "budget"}]})
    uid = admin.post(HERE, workload("asks", queue="checked")).json()["metadata"]["uid"]
    schedule()
    agreed = {"uid": uid, "state": "Ready"}
    assert admin.post(f"{HERE}/asks/admissionchecks/budget", agreed).status_code == 200
    schedule()
    ready = {"uid": uid, "ready": True}
    assert admin.post(f"{HERE}/asks/pods-ready", ready).status_code == 200


async def ask(app: Litestar, path: str, headers: dict[str, str]) -> int:
    """The status of a request as the served application answers and counts it."""
    served = BoundedApplication(app, 10, app.state.services.request_durations)
    transport = httpx.ASGITransport(served)
    async with httpx.AsyncClient(transport=transport, base_url="http://testserver") as asking:
        return (await asking.get(path, headers=headers)).status_code


def serve(admin: Api, client: TestClient[Litestar]) -> None:
    """An executor is connected, and three requests are answered, one of them without a route."""
    assert admin.post("/v1/executors", an_executor("rack")).status_code == 201
    body = {"version": "1", "capabilities": ["command"]}
    assert admin.post("/v1/executors/rack/claim", body).status_code == 200
    client.blocking_portal.call(LeaseKeeper(client.app.state.services).end_leases)
    for path, status in (("/v1/queues", 200), ("/v1/executors/rack", 200), ("/v1/x/y", 404)):
        assert client.blocking_portal.call(ask, client.app, path, admin.headers) == status


@pytest.fixture(scope="module")
def figures(admin: Api, client: TestClient[Litestar], schedule: Callable[[], int]) -> str:
    """What Prometheus would read after an eviction, an end, and a start with a check."""
    serve(admin, client)
    own = {"withinClusterQueue": "LowerPriority"}
    admin.post("/v1/resourceflavors", flavor())
    admin.post("/v1/clusterqueues", cluster_queue("cq", cpu="2", preemption=own))
    admin.post("/v1/namespaces/team-a/localqueues", local_queue("main", "cq"))
    uid = admin.post(HERE, workload("ends")).json()["metadata"]["uid"]
    schedule()
    ended = {"uid": uid, "succeeded": True}
    assert admin.post(f"{HERE}/ends/finished", ended).status_code == 200
    admin.post(HERE, workload("low"))
    schedule()
    admin.post(HERE, workload("high", priority=9))
    start_checked(admin, schedule)
    reached = schedule()
    assert admin.caught_up("/v1/queues", reached).status_code == 200
    return admin.get("/metrics").text


def test_every_figure_that_is_asked_for_is_there(figures: str) -> None:
    wanted = {name for question in _questions() for name in NAME.findall(question)}
    assert len(wanted) > 15
    told = set(re.findall(r"^([a-z_]+)[ {]", figures, re.MULTILINE))
    assert sorted(wanted - told) == []


def test_requests_are_counted_by_route_and_never_by_what_clients_make_up(figures: str) -> None:
    asked = re.findall(
        r'^headgate_requests_total{method="(\w+)",route="(\S+)",status="(\d+)"} 1.0$',
        figures,
        re.MULTILINE,
    )
    assert sorted(asked) == [
        ("GET", "/v1/executors/{name}", "200"), ("GET", "/v1/queues", "200"),
        ("unknown", "unknown", "404"),
    ]  # fmt: skip
    assert 'headgate_request_duration_seconds_count{method="GET",route="/v1/queues"} 1.0' in figures
    assert "headgate_requests_in_progress 0.0" in figures


def test_executors_and_pod_logs_have_figures(figures: str) -> None:
    assert 'headgate_executor_connected{executor="rack"} 1.0' in figures
    assert 'headgate_executor_running_pods{executor="rack"} 0.0' in figures
    assert re.search(
        r'^headgate_executor_last_seen_time_seconds{executor="rack"} 1\.', figures, re.MULTILINE
    )
    assert "headgate_pod_log_bytes 0.0" in figures


def test_the_time_of_every_run_that_decided_is_reported(figures: str) -> None:
    counted = {
        name: sum(map(float, re.findall(rf"^{name}{{.*}} (\S+)$", figures, re.MULTILINE)))
        for name in (
            "kueue_admission_attempts_total",
            "kueue_admission_attempt_duration_seconds_count",
        )
    }
    attempts, timed = counted.values()
    # A run is counted as an attempt when the next one begins, and timed when it ends.
    assert 0 < attempts <= timed


def test_those_that_ended_are_counted_as_long_as_they_are_kept(figures: str) -> None:
    alone = 'replica_role="standalone"'
    assert f'kueue_finished_workloads{{cluster_queue="cq",{alone}}} 1.0' in figures
    local = f'name="main",namespace="team-a",{alone}'
    assert f"kueue_local_queue_finished_workloads{{{local}}} 1.0" in figures


def test_objects_give_labels_to_their_metrics(figures: str, admin: Api) -> None:
    """Kueue: KEP 7066, `metrics.customLabels`."""
    assert "custom_" not in figures
    labels = [
        {"name": "team"},
        {"name": "budget", "sourceAnnotationKey": "billing/code", "sourceKinds": ["ClusterQueue"]},
    ]
    metrics = {"apiVersion": "config.kueue.x-k8s.io/v1beta2", "metrics": {"customLabels": labels}}
    labelled = cluster_queue("cq")
    labelled["metadata"] |= {"labels": {"team": "vision"}, "annotations": {"billing/code": "B7"}}
    for made in ({"kind": "Configuration", **metrics}, labelled):
        applied = admin.post("/v1/apply", made).json()
        assert applied["results"][0]["outcome"] in {"created", "changed"}, applied
        assert admin.caught_up("/v1/queues", applied["position"]).status_code == 200
    told = admin.get("/metrics").text
    queue = 'cluster_queue="cq",clusterqueue_custom_budget="B7",clusterqueue_custom_team="vision"'
    assert f'kueue_finished_workloads{{{queue},replica_role="standalone"}} 1.0' in told
    assert f'kueue_admitted_workloads_total{{{queue},priority_class=""' in told
    local = 'localqueue_custom_team="",name="main",namespace="team-a",replica_role="standalone"'
    assert f"kueue_local_queue_finished_workloads{{{local}}} 1.0" in told


def test_every_detector_has_its_alert() -> None:
    alerted = {kind for rule in RULES for kind in re.findall(r'kind="(\w+)"', rule["expr"])}
    assert alerted == {*DETECTORS, "LogRewound"}


MINUTES = 90
"""How long each scrape is taken to hold: longer than any rule waits."""


def held(scrapes: list[str]) -> Any:
    """The series of scrapes that a server answered, each held for a while."""
    values: dict[str, list[str]] = {}
    for number, text in enumerate(scrapes):
        for line in text.splitlines():
            if line.startswith(("headgate_", "kueue_")):
                name, _, value = line.rpartition(" ")
                known = values.setdefault(name, [f"_x{MINUTES}"] * len(scrapes))
                known[number] = f"{float(value):f}x{MINUTES - 1}"
    return recorded([{"series": name, "values": " ".join(v)} for name, v in values.items()])


def test_rules_fire_on_what_a_server_tells_of_an_incident(
    admin: Api, figures: str, schedule: Callable[[], int]
) -> None:
    """First two workloads run; then one fails and one asks for more than there ever is."""
    uid = admin.get(f"{HERE}/asks").json()["metadata"]["uid"]
    failed = {"uid": uid, "succeeded": False, "message": "exit code 3"}
    assert admin.post(f"{HERE}/asks/finished", failed).status_code == 200
    asked = {"containers": [{"name": "c", "resources": {"requests": {"cpu": "1000"}}}]}
    pods = [{"name": "main", "count": 1, "template": {"spec": asked}}]
    assert admin.post(HERE, workload("never", podSets=pods)).status_code == 201
    reached = schedule()
    assert admin.caught_up("/v1/queues", reached).status_code == 200
    series = held([figures, admin.get("/metrics").text])

    def fired(minute: int) -> set[str]:
        return {rule["alert"] for rule in RULES if firing(rule, series, minute)}

    before, after = fired(MINUTES - 1), fired(2 * MINUTES - 1)
    assert after - before == {"HeadgateNeverStarts", "HeadgateWorkloadsFailed"}


def test_the_parts_of_the_board_lie_side_by_side() -> None:
    taken: dict[tuple[int, int], str] = {}
    panels: list[dict[str, Any]] = BOARD["panels"]
    for panel in panels:
        at = panel["gridPos"]
        for place in (
            (x, y)
            for x in range(at["x"], at["x"] + at["w"])
            for y in range(at["y"], at["y"] + at["h"])
        ):
            assert taken.setdefault(place, panel["title"]) == panel["title"]
            assert place[0] < 24
    assert len({panel["id"] for panel in panels}) == len(panels)
