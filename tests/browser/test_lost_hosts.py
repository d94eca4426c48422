"""A host dies under a running gang: every page tells what happened and what came next."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, expect

from headgate.client.client import HeadgateClient
from headgate.client.executors import ExecutorClient
from headgate.client.schemas import Report, domains_of
from headgate.client.transport import Connection
from tests.browser.cluster import GPU, HOSTNAME, HOSTS, NAMESPACE, RACK, workload
from tests.browser.conftest import new_context, sign_in, token_of
from tests.browser.screen import Screen
from tests.browser.test_live import make_ready, phase_of
from tests.processes.programs import wait_until
from tests.processes.up import Up

pytestmark = pytest.mark.browser

OFFERED = {"cpu": "16", "memory": "64Gi", GPU: "4", "pods": "110"}


def manifest(name: str) -> dict[str, Any]:
    """A host of the rack."""
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"gpu": "a100", RACK: "rack-1", HOSTNAME: name}},
        "spec": {},
        "status": {"allocatable": OFFERED, "conditions": [{"type": "Ready", "status": "True"}]},
    }


def beat(client: HeadgateClient, host: str, *, ready: bool) -> None:
    """What an executor reports of a host."""
    client.act(f"/v1/nodes/{host}/heartbeat", {"ready": ready, "allocatable": OFFERED})


def path_of(name: str) -> str:
    """Where the API has a gang."""
    return f"/v1/namespaces/{NAMESPACE}/workloads/{name}"


def uid_of(client: HeadgateClient, name: str) -> str:
    """What an executor names a gang by."""
    return str(client.read(path_of(name))["metadata"]["uid"])


def kill(client: HeadgateClient, name: str, host: str) -> None:
    """The host is not ready any more, and no pod of the gang is alive there."""
    beat(client, host, ready=False)
    client.act(f"{path_of(name)}/pods-gone", {"uid": uid_of(client, name), "hosts": [host]})


def stopped(client: HeadgateClient, name: str) -> None:
    """All pods of a gang that was evicted are gone."""
    found = client.read(f"/v1/namespaces/{NAMESPACE}/workloads/{name}")
    uid, attempt = found["metadata"]["uid"], found["status"]["attempt"]
    ended = Report(workload=f"{NAMESPACE}/{name}", uid=uid, attempt=attempt, type="stopped")
    client.report([ended])


def hosts_of(client: HeadgateClient, name: str) -> dict[str, int]:
    """Where a gang lies by the API."""
    (given,) = client.read(path_of(name))["status"]["admission"]["podSetAssignments"]
    return {values[-1]: pods for values, pods in domains_of(given["topologyAssignment"])}


@pytest.fixture
def spare(client: HeadgateClient) -> Iterator[str]:
    """A third host in the rack."""
    client.apply_objects([manifest("host-3")])
    yield "host-3"
    client.remove("/v1/nodes/host-3")


@pytest.fixture
def gang(client: HeadgateClient) -> Iterator[Callable[[str], None]]:
    """Runs a gang of two pods of a whole host each that must lie in one rack."""
    started: list[str] = []

    def run(name: str) -> None:
        body = workload(name, gpus=4)
        pod_set = body["spec"]["podSets"][0]
        pod_set["count"], pod_set["topologyRequest"] = 2, {"required": RACK}
        client.submit_batch([body])
        started.append(name)
        make_ready(client, name)

    yield run
    for name in started:
        client.act(f"{path_of(name)}/cancel", {"reason": "done"})
        if phase_of(client, name) == "Evicting":
            stopped(client, name)
    for host in HOSTS:
        beat(client, host, ready=True)


def timeline(screen: Screen, title: str) -> Locator:
    """An entry of the timeline by its title."""
    lines = screen.page.get_by_role("listitem")
    return lines.filter(has=screen.page.get_by_text(title, exact=True)).first


def test_a_gang_that_loses_a_host_is_placed_beside_the_others(
    screen: Screen, client: HeadgateClient, spare: str, gang: Callable[[str], None]
) -> None:
    gang("moved-gang")
    assert hosts_of(client, "moved-gang") == {"host-1": 1, "host-2": 1}

    kill(client, "moved-gang", "host-1")

    moved = {"host-2": 1, spare: 1}
    wait_until(lambda: hosts_of(client, "moved-gang") == moved, "the gang moved")
    screen.open(f"/workloads/{NAMESPACE}/moved-gang", f"{NAMESPACE}/moved-gang")
    told = "Pods on host-1 (NotReady) moved to host-3"
    expect(screen.page.get_by_text(told)).to_be_visible()
    screen.page.get_by_role("tab", name="Timeline").click()
    expect(timeline(screen, "Hosts failed")).to_contain_text("host-1 (NotReady)")
    expect(timeline(screen, "Replaced host-1")).to_contain_text("On host-2, host-3")
    screen.open("/topology?host=host-1", "Topology")
    lost = screen.page.get_by_role("complementary", name="Host host-1")
    expect(lost.get_by_text("Not ready", exact=True)).to_be_visible()
    expect(lost.get_by_text("No workloads on this host")).to_be_visible()
    screen.open("/topology?host=host-3", "Topology")
    heir = screen.page.get_by_role("complementary", name="Host host-3")
    expect(heir.get_by_role("link", name=f"{NAMESPACE}/moved-gang")).to_be_visible()


@pytest.mark.nightly
def test_a_gang_for_which_no_host_is_left_is_evicted_with_the_reason(
    browser: Browser, headgate: Up, client: HeadgateClient, gang: Callable[[str], None]
) -> None:
    gang("lost-gang")
    kill(client, "lost-gang", "host-1")
    wait_until(lambda: phase_of(client, "lost-gang") == "Evicting", "the gang is evicted")
    context = new_context(browser, "dark")
    screen = sign_in(context.new_page(), headgate)
    page = f"/workloads/{NAMESPACE}/lost-gang"
    screen.open(page, f"{NAMESPACE}/lost-gang")
    told = screen.page.get_by_text("No replacement found for failed hosts")
    expect(told.first).to_be_visible()
    screen.page.get_by_role("tab", name="Timeline").click()
    expect(timeline(screen, "Evicted: NodeFailures")).to_contain_text("host-1 (NotReady)")

    stopped(client, "lost-gang")

    wait_until(lambda: phase_of(client, "lost-gang") == "Pending", "the gang waits again")
    screen.open(page, f"{NAMESPACE}/lost-gang")
    screen.open(f"/topology?near={NAMESPACE}/lost-gang", "Topology")
    near = screen.page.get_by_role("region", name="Find nearest fit")
    expect(near.get_by_text("1 of 2 pods fit, 1 short")).to_be_visible()
    screen.page.get_by_role("button", name="Table", exact=True).click()
    hosts = screen.page.get_by_role("grid", name="Hosts")
    lost = hosts.get_by_role("row").filter(has_text="host-1")
    cells = ["", "host-1", "rack-1", "Not ready", "0", "0"]
    expect(lost.get_by_role("gridcell")).to_have_text(cells)
    assert screen.violations() == []
    assert screen.complaints == []
    context.close()


@pytest.mark.nightly
def test_executors_and_what_follows_where_one_is_lost(
    screen: Screen, client: HeadgateClient
) -> None:
    """Without one the next step is told; a lost one is told with its loss policy and its nodes."""
    page = screen.page
    screen.open("/executors", "Executors")
    expect(page.get_by_text("headgate agent --name")).to_be_visible()
    spec = {"nodeSelector": {"gpu": "a100"}, "leaseSeconds": 5, "nodeLossPolicy": "Wait"}
    rack = {
        "apiVersion": "headgate.dev/v1",
        "kind": "Executor",
        "metadata": {"name": "rack"},
        "spec": spec,
    }
    client.apply_objects([rack])
    expect(screen.row("rack")).to_contain_text("Never connected")

    client.act("/v1/executors/rack/claim", {"version": "1", "capabilities": ["command"]})
    expect(screen.row("rack")).to_contain_text("Lost")
    assert screen.violations() == []
    page.get_by_role("link", name="rack", exact=True).click()
    expect(page.get_by_text("no sign of life within its lease of 5 s")).to_be_visible()
    expect(page.get_by_text("Its pods keep their hosts")).to_be_visible()
    assert screen.violations() == []
    page.get_by_role("link", name="host-1").click()
    expect(page.get_by_role("heading", level=1, name="host-1")).to_be_visible()
    offered = page.get_by_role("group", name="Resources").get_by_role("row")
    expect(offered.filter(has_text="GPU")).to_contain_text("4")
    assert screen.violations() == []
    page.get_by_role("link", name="Show on the map").click()
    panel = page.get_by_role("complementary", name="Host host-1")
    expect(panel.get_by_role("link", name="Open node")).to_be_visible()
    client.remove("/v1/executors/rack")
    for host in HOSTS:
        beat(client, host, ready=True)


@pytest.mark.nightly
def test_an_executor_is_drained_after_a_preview_and_taken_back(
    screen: Screen, headgate: Up, client: HeadgateClient
) -> None:
    page = screen.page
    rack = {
        "apiVersion": "headgate.dev/v1",
        "kind": "Executor",
        "metadata": {"name": "switch"},
        "spec": {"nodeSelector": {"pool": "switch"}},
    }
    client.apply_objects([rack])
    connection = Connection(url=headgate.url, token=token_of(headgate), source="test")
    with ExecutorClient(connection, "switch") as executor:
        executor.claim(version="1", capabilities=(), boot_id="")
        nodes = [
            {"name": f"port-{n}", "capacity": {"cpu": 1}, "labels": {"pool": "switch"}}
            for n in (1, 2)
        ]
        executor.register_nodes(nodes)
    screen.open("/executors/switch", "switch")
    page.get_by_role("button", name="Drain…").click()
    dialog = page.get_by_role("dialog", name="Drain executor switch")
    expect(dialog.get_by_text("No workloads are affected")).to_be_visible()
    expect(dialog.get_by_text("Marks its 2 nodes unschedulable")).to_be_visible()
    assert screen.violations() == []
    dialog.get_by_label("Reason").fill("new switch")
    dialog.get_by_role("button", name="Drain", exact=True).click()
    expect(page.get_by_text("Draining all nodes, no pods left")).to_be_visible()
    expect(screen.row("port-1")).to_contain_text("Draining")
    page.get_by_role("button", name="Uncordon…").click()
    page.get_by_label("Reason").fill("done")
    page.get_by_role("dialog").get_by_role("button", name="Uncordon", exact=True).click()
    expect(screen.row("port-1")).to_contain_text("Ready")
    expect(page.get_by_role("button", name="Uncordon…")).to_have_count(0)
    client.remove("/v1/executors/switch")
    for name in ("port-1", "port-2"):
        client.remove(f"/v1/nodes/{name}")
