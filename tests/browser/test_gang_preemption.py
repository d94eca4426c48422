"""A gang of high priority arrives: others save their work, make room, and wait where they were."""

import threading
from collections.abc import Iterator
from typing import Any, Self

import pytest
from playwright.sync_api import expect

from headgate.cli.executor.behavior import Behavior
from headgate.cli.executor.command import SimulatedExecutor
from headgate.cli.executor.runs import SimulatedRuns
from headgate.client.client import HeadgateClient
from headgate.client.transport import Connection
from tests.browser.conftest import client_of, token_of
from tests.browser.screen import Screen
from tests.processes.programs import wait_until
from tests.processes.up import Up

pytestmark = pytest.mark.browser

API_VERSION = "kueue.x-k8s.io/v1beta2"
HERE = "/v1/namespaces/lab/workloads"
SECONDS = 180.0
HANDLER = "checkpointer"
VICTIMS = ("lab/early", "lab/late")
WAITS = "lab/patient"


def a_workload(name: str, pods: int, **spec: Any) -> dict[str, Any]:
    container = {"name": "c", "resources": {"requests": {"cpu": "1"}}}
    pod_sets = [{"name": "main", "count": pods, "template": {"spec": {"containers": [container]}}}]
    return {
        "apiVersion": API_VERSION,
        "kind": "Workload",
        "metadata": {"name": name, "namespace": "lab"},
        "spec": {"queueName": "main", "podSets": pod_sets, **spec},
    }


def objects() -> list[dict[str, Any]]:
    """One queue of four cores, in which the more important may make others leave."""

    def named(kind: str, name: str, spec: dict[str, Any], namespace: str = "") -> dict[str, Any]:
        metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
        return {"apiVersion": API_VERSION, "kind": kind, "metadata": metadata, "spec": spec}

    quota = {"name": "bench", "resources": [{"name": "cpu", "nominalQuota": "4"}]}
    spec = {
        "namespaceSelector": {},
        "preemption": {"withinClusterQueue": "LowerPriority"},
        "resourceGroups": [{"coveredResources": ["cpu"], "flavors": [quota]}],
    }
    return [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "lab"}},
        named("ResourceFlavor", "bench", {}),
        named("ClusterQueue", "lab", spec),
        named("LocalQueue", "main", {"clusterQueue": "lab"}, "lab"),
    ]


class Machines:
    """An executor that plays the handler too, and takes its time so that it can be watched."""

    def __init__(self, connection: Connection) -> None:
        endless = Behavior(
            start_delay=0, run_length=10**12, stop_delay=4_000_000, save_delay=8_000_000
        )
        self._executor = SimulatedExecutor(
            connection, SimulatedRuns(lambda *_: endless, handlers=(HANDLER,))
        )
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._executor.run, args=(self._stopping.is_set,))

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_details: object) -> None:
        self._stopping.set()
        self._thread.join(SECONDS)
        self._executor.close()


@pytest.fixture(scope="module", autouse=True)
def cluster(headgate: Up) -> Iterator[None]:
    """Both victims run and fill the queue; one patient workload waits behind them."""
    connection = Connection(url=headgate.url, token=token_of(headgate), source="executor")
    softly = {"mode": "Soft", "gracePeriodSeconds": 300, "handler": HANDLER}
    with client_of(headgate) as client:
        applied = client.apply_objects(objects())
        assert not [result for result in applied.results if result.outcome == "rejected"]
        with Machines(connection):
            for name in ("early", "late"):
                client.submit_batch([a_workload(name, 2, evictionPolicy=softly)])
                becomes(client, name, "Running")
            client.submit_batch([a_workload("patient", 2)])
            becomes(client, "patient", "Pending")
            yield


def becomes(client: HeadgateClient, name: str, phase: str) -> None:
    def has_become() -> bool:
        return str(client.read(f"{HERE}/{name}")["status"]["phase"]) == phase

    wait_until(has_become, f"{name} is {phase}", SECONDS)


def steps_of(client: HeadgateClient, name: str) -> list[str]:
    """What became of an eviction, by the log."""
    events = client.items("/v1/events", {"stream": f"workload/lab/{name}"})
    told = {"evicted", "eviction_acknowledged", "eviction_progressed", "stopped"}
    types = [str(event["type"]).removeprefix("workload.") for event in events]
    return [kind for kind in reversed(types) if kind in told]


@pytest.mark.nightly
def test_victims_of_a_gang_save_a_checkpoint_before_they_stop(
    screen: Screen, client: HeadgateClient
) -> None:
    page = screen.page
    screen.open("/preemptions?clusterQueue=lab", "Preemptions")
    expect(page.get_by_text("No matching preemptions")).to_be_visible()
    client.submit_batch([a_workload("gang", 4, priority=100)])

    # The round is in the ledger as soon as it is decided, and its page follows it to the start.
    row = page.get_by_role("row").filter(has_text="lab/gang")
    expect(row).to_be_visible()
    (found,) = client.read("/v1/preemptions", {"workload": "lab/gang"})["items"]
    screen.open(f"/preemptions/{found['id']}", "lab/gang preempted")
    victims = page.get_by_role("region", name="Victims")
    for victim in VICTIMS:
        line = victims.get_by_role("row").filter(has_text=victim)
        expect(line).to_contain_text("lower priority in the same ClusterQueue")
        expect(line).to_contain_text("Checkpointing")
        expect(line).to_contain_text(f"by {HANDLER}")
    expect(victims).to_contain_text("checkpoint is saved")
    admitted = page.get_by_text("Admitted after")
    expect(admitted).to_be_visible(timeout=SECONDS * 1_000)
    expect(victims.get_by_text("Stopped", exact=True)).to_have_count(2)
    assert screen.violations() == []
    becomes(client, "gang", "Running")

    # No victim stopped before its work was saved, and each shows its preemptor on its page.
    for victim in VICTIMS:
        assert steps_of(client, victim.partition("/")[2]) == [
            "evicted",
            "eviction_acknowledged",
            "eviction_progressed",
            "eviction_progressed",
            "stopped",
        ]
        screen.open(f"/workloads/{victim}", victim)
        expect(
            page.get_by_text("once: Preempted, lower priority in the same ClusterQueue")
        ).to_be_visible()
        expect(page.get_by_text("2 CPU (bench) requested").first).to_be_visible()
        expect(page.get_by_text("Preempted by lab/gang").first).to_be_visible()
    assert screen.violations() == []

    # They wait in their old order, before later submissions.
    screen.open("/queues/lab", "lab")
    lines = page.get_by_role("row").filter(has=page.get_by_role("gridcell"))
    expect(lines).to_have_count(3)
    for place, key in enumerate((*VICTIMS, WAITS)):
        expect(lines.nth(place)).to_contain_text(key)
