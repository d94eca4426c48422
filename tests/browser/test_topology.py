"""The map of hosts: the pods that fit, the nearest fits of a workload, and the blocking holders."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from headgate.client.client import HeadgateClient
from tests.browser.cluster import HOSTS, NAMESPACE, QUEUE, RACK, workload
from tests.browser.conftest import client_of, new_context, sign_in
from tests.browser.screen import Screen
from tests.processes.programs import wait_until
from tests.processes.up import Up

pytestmark = pytest.mark.browser

HOLDER = f"{NAMESPACE}/map-holder"
GANG = f"{NAMESPACE}/map-gang"
NARROW = 390
HOUR = 3600


def gang(name: str, pods: int) -> dict[str, Any]:
    """Pods of a whole host each that must lie in one rack."""
    body = workload(name, gpus=4)
    pod_set = body["spec"]["podSets"][0]
    pod_set["count"] = pods
    pod_set["topologyRequest"] = {"required": RACK}
    return body


@pytest.fixture(scope="module", autouse=True)
def in_the_way(headgate: Up) -> Iterator[None]:
    """A workload on one host of the rack, and a gang that wants three."""
    with client_of(headgate) as client:
        holder = workload("map-holder", gpus=2)
        holder["spec"]["maximumExecutionTimeSeconds"] = HOUR
        client.submit_batch([holder])
        path = f"/v1/namespaces/{NAMESPACE}/workloads/map-holder"
        wait_until(
            lambda: client.read(path)["status"]["phase"] in {"Starting", "Running"},
            "the holder is admitted",
        )
        client.submit_batch([gang("map-gang", 3)])
        yield
        for key in ("map-gang", "map-holder"):
            client.act(f"/v1/namespaces/{NAMESPACE}/workloads/{key}/cancel", {"reason": "done"})


def test_the_largest_gang_is_reported_for_pods_of_any_size(
    screen: Screen, client: HeadgateClient
) -> None:
    screen.open("/topology", "Topology")
    fits = screen.page.get_by_role("region", name="Largest schedulable gang")
    fits.get_by_label("Requests per pod").fill("2")
    found = client.read("/v1/topologies/cluster/fits", {"pod": "nvidia.com/gpu=2"})["fits"]
    assert [fit["largest"] for fit in found] == [3, 2]
    for fit in found:
        row = fits.get_by_role("row").filter(has_text=fit["level"].split("/")[-1])
        expect(row.get_by_role("cell").first).to_have_text(str(fit["largest"]))


def test_the_largest_gang_is_drawn_over_time(screen: Screen) -> None:
    screen.open("/topology", "Topology")
    drawn = screen.page.get_by_role("region", name="Fragmentation over time")
    line = drawn.get_by_role("figure", name="hostname: largest gang")
    expect(line).to_contain_text("% fragmented")
    # A chart has a table as its alternative.
    line.get_by_role("button", name="show table").click()
    expect(line.get_by_role("columnheader", name="free in all")).to_be_visible()


@pytest.mark.nightly
def test_hosts_are_colored_by_health_and_use(screen: Screen, client: HeadgateClient) -> None:
    """Line 7: each host has the color of its state or of its use, as the legend says."""
    page = screen.page
    client.act(f"/v1/nodes/{HOSTS[1]}/cordon", {"reason": "fans"})
    screen.open("/topology", "Topology")
    page.get_by_label("Color by").select_option("Health")
    legend = page.get_by_role("list", name="Legend")
    expect(legend.get_by_text("Not ready", exact=True)).to_be_visible()
    expect(legend.get_by_text("Used outside Headgate")).to_have_count(0)
    assert screen.violations() == []
    page.get_by_label("Color by").select_option("Use")
    expect(legend.get_by_text("33 to 50%")).to_be_visible()
    page.get_by_label("Color by").select_option("Flavor")
    expect(legend.get_by_text("a100", exact=True)).to_be_visible()
    page.get_by_label("Color by").select_option("Free")
    expect(legend.get_by_text("33 to 50% free")).to_be_visible()
    assert screen.violations() == []
    client.act(f"/v1/nodes/{HOSTS[1]}/uncordon", {"reason": "mended"})


def test_a_pending_workload_shows_its_nearest_fit_and_the_holders_there(screen: Screen) -> None:
    screen.open("/topology", "Topology")
    near = screen.page.get_by_role("region", name="Find nearest fit")
    near.get_by_label("Pending workload").select_option(GANG)
    expect(near.get_by_text("1 of 3 pods fit, 2 short")).to_be_visible()
    expect(near.get_by_role("link", name=HOLDER)).to_be_visible()
    grid = screen.page.get_by_role("grid", name="Hosts by GPU in use")
    grid.focus()
    screen.page.keyboard.press("ArrowRight")
    expect(grid.get_by_role("gridcell")).to_contain_text("near fit")
    assert f"near={GANG}" in screen.page.url


def test_the_blockers_of_a_workload_lead_to_the_map(screen: Screen, client: HeadgateClient) -> None:
    body = workload("map-picky")
    pod_set = body["spec"]["podSets"][0]
    pod_set["topologyRequest"] = {"required": RACK}
    pod_set["template"]["spec"]["nodeSelector"] = {"disk": "none-has-it"}
    client.submit_batch([body])
    path = f"/v1/namespaces/{NAMESPACE}/workloads/map-picky"
    wait_until(lambda: client.read(f"{path}/explanation")["blockers"], "it is told why it waits")
    screen.open(f"/workloads/{NAMESPACE}/map-picky", f"{NAMESPACE}/map-picky")
    screen.page.get_by_role("link", name="Show nearest fits on the topology map").click()
    near = screen.page.get_by_role("region", name="Find nearest fit")
    expect(near.get_by_text("0 of 1 pods fit, 1 short")).to_be_visible()
    client.act(f"{path}/cancel", {"reason": "done"})


def test_a_drain_preview_lists_the_affected_workloads(
    screen: Screen, client: HeadgateClient
) -> None:
    host = _host_of(client.read("/v1/topologies/cluster/workloads")["hosts"], HOLDER)
    screen.open(f"/topology?host={host}", "Topology")
    panel = screen.page.get_by_role("complementary", name=f"Host {host}")
    holder = panel.get_by_role("list", name="Workloads on this host").get_by_role("listitem")
    expect(holder.filter(has_text=HOLDER)).to_have_text(
        re.compile(rf"^{HOLDER}2 GPU, {QUEUE}, until \d\d:\d\d$")
    )
    expect(panel.get_by_text(re.compile("^Free: 2 GPU, "))).to_be_visible()
    panel.get_by_role("button", name="Drain", exact=True).click()
    dialog = screen.page.get_by_role("dialog")
    expect(dialog.get_by_text(f"{HOLDER} (1 pod) moves to")).to_be_visible()
    dialog.get_by_role("button", name="Cancel").click()
    expect(panel.get_by_text("Ready", exact=True)).to_be_visible()


def test_a_host_stays_visible_beside_its_panel_with_the_actor_of_the_cordon(
    screen: Screen, client: HeadgateClient
) -> None:
    screen.page.set_viewport_size({"width": 1280, "height": 640})
    name = HOSTS[0]
    client.act(f"/v1/nodes/{name}/cordon", {"reason": "a fan is loud"})
    screen.open("/topology", "Topology")
    screen.page.get_by_label("Find host or rack").fill(name)
    screen.page.keyboard.press("Enter")
    host = screen.page.locator("[data-shown]")
    panel = screen.page.get_by_role("complementary", name=f"Host {name}")
    expect(panel.get_by_role("figure", name="Use in 24 h, GPU")).to_be_visible()
    expect(panel.get_by_text("by admin: a fan is loud")).to_be_visible()
    expect(panel.get_by_text("nothing free while it is cordoned").first).to_be_visible()
    expect(host).to_be_in_viewport()
    panel.get_by_role("button", name="Uncordon").click()
    dialog = screen.page.get_by_role("dialog")
    dialog.get_by_label("Reason").fill("it is quiet")
    dialog.get_by_role("button", name="Uncordon").click()
    expect(screen.page.get_by_text(f"Uncordon {name}: done")).to_be_visible()
    expect(panel.get_by_text("Ready", exact=True)).to_be_visible()
    expect(
        panel.get_by_text(re.compile("^Cordoned last: .*, admin, a fan is loud$"))
    ).to_be_visible()


@pytest.mark.parametrize("scheme", ["light", pytest.param("dark", marks=pytest.mark.nightly)])
def test_near_fits_are_accessible_on_narrow_screens(
    browser: Browser, headgate: Up, scheme: str
) -> None:
    context = new_context(browser, scheme)
    screen = sign_in(context.new_page(), headgate)
    screen.page.set_viewport_size({"width": NARROW, "height": 900})
    screen.open(f"/topology?near={GANG}", "Topology")
    violations = screen.violations()
    overflow = screen.page.evaluate(
        "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    )
    context.close()
    assert violations == []
    assert overflow == 0
    assert screen.complaints == []


def test_a_host_is_focused_in_two_actions_and_walked_to_by_keys(
    screen: Screen, client: HeadgateClient
) -> None:
    """Line 7: found by name in two actions; health, near fits and a table beside the map."""
    client.act(f"/v1/nodes/{HOSTS[1]}/cordon", {"reason": "a fan is loud"})
    page, maps = screen.page, list[str]()
    page.on("request", lambda request: maps.append(request.url) if "/map" in request.url else None)
    screen.open(f"/topology?near={GANG}", "Topology")
    grid = page.get_by_role("grid", name="Hosts by GPU in use")
    expect(grid).to_have_attribute("aria-rowcount", str(len(HOSTS)))
    page.keyboard.press("/")
    screen.type(HOSTS[1])
    expect(page.get_by_text("1 host", exact=True)).to_be_visible()
    page.keyboard.press("Enter")
    panel = page.get_by_role("complementary", name=f"Host {HOSTS[1]}")
    expect(panel.get_by_text("Cordoned", exact=True)).to_be_visible()
    # The map is zoomed into its rack, where hosts are cards with their workloads.
    expect(page.get_by_role("navigation", name="Zoom")).to_contain_text("rack-1")
    expect(page.get_by_role("list", name=f"Workloads on {HOSTS[1]}")).to_be_visible()
    assert screen.violations() == []
    for _ in ("panel", "zoom"):
        page.keyboard.press("Escape")
    expect(panel).to_have_count(0)
    expect(page.get_by_role("navigation", name="Zoom")).to_have_count(0)
    expect(page.get_by_role("list", name="Legend")).to_contain_text("near fit")
    grid.focus()
    for key in ("ArrowRight", "ArrowRight"):
        page.keyboard.press(key)
    expect(grid.get_by_role("gridcell")).to_contain_text(
        f"{HOSTS[1]}, rack-1, 0 of 4 GPU, cordoned"
    )
    page.get_by_label("Find host or rack").fill("rack-1")
    page.get_by_role("button", name="Table", exact=True).click()
    row = page.get_by_role("grid", name="Hosts").get_by_role("row").filter(has_text=HOSTS[1])
    expect(row).to_contain_text("Cordoned")
    client.act(f"/v1/nodes/{HOSTS[1]}/uncordon", {"reason": "done"})
    expect(row).to_contain_text("Ready")
    # Only what changed was read.
    assert "changedSince=" in maps[-1]


def test_selected_hosts_are_cordoned_together(screen: Screen, client: HeadgateClient) -> None:
    screen.open("/topology", "Topology")
    page = screen.page
    expect(page.get_by_role("button", name="Cordon 0")).to_have_attribute("aria-disabled", "true")
    page.get_by_role("grid", name="Hosts by GPU in use").focus()
    for key in ("ArrowRight", "x", "ArrowRight", "x"):
        page.keyboard.press(key)
    page.get_by_role("button", name="Cordon 2").click()
    page.get_by_label("Reason").fill("new fans")
    page.get_by_role("dialog").get_by_role("button", name="Cordon", exact=True).click()
    expect(page.get_by_text(re.compile("^2 hosts, 2 cordoned"))).to_be_visible()
    for name in HOSTS:
        assert client.read(f"/v1/nodes/{name}")["spec"]["unschedulable"]
        client.act(f"/v1/nodes/{name}/uncordon", {"reason": "done"})
    page.get_by_role("button", name="Clear selection").click()
    expect(page.get_by_role("button", name="Cordon 0")).to_be_visible()


def _host_of(hosts: list[dict[str, Any]], key: str) -> str:
    """The host that has pods of a workload."""
    return next(
        str(each["host"])
        for each in hosts
        if any(workload["key"] == key for workload in each["workloads"])
    )
