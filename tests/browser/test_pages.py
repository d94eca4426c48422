"""Every page shows its data, is accessible and logs no error."""

import pytest
from playwright.sync_api import Browser, expect

from headgate.client.client import HeadgateClient
from tests.browser.cluster import HOSTS, LENDER, QUEUE, workload
from tests.browser.conftest import client_of, new_context, sign_in
from tests.browser.screen import Screen
from tests.hypothesis_profiles import is_full_depth
from tests.processes.up import Up

pytestmark = pytest.mark.browser

PAGES = {
    "/": "Overview",
    "/queues": "Queues",
    f"/queues/{QUEUE}": QUEUE,
    "/workloads": "Workloads",
    "/workloads?panel=team-a/shown": "Workloads",
    "/workloads/team-a/shown": "team-a/shown",
    "/workloads/team-a/shown?view=definition": "team-a/shown",
    "/workloads/team-a/shown?view=pods": "team-a/shown",
    "/workloads/team-a/shown?view=logs": "team-a/shown",
    f"/topology?host={HOSTS[0]}": "Topology",
    "/preemptions": "Preemptions",
    "/events": "Event log",
}
# Six pages of different parts; the nightly run looks at all, and tests of other pages at theirs.
INSPECTED = list(PAGES) if is_full_depth() else list(PAGES)[::2]


@pytest.fixture(scope="module", autouse=True)
def shown(headgate: Up) -> None:
    """A workload to look at."""
    with client_of(headgate) as client:
        client.submit_batch([workload("shown")])


@pytest.mark.parametrize("scheme", ["light", pytest.param("dark", marks=pytest.mark.nightly)])
def test_every_page_is_accessible(browser: Browser, headgate: Up, scheme: str) -> None:
    context = new_context(browser, scheme)
    screen = sign_in(context.new_page(), headgate)
    found: dict[str, list[str]] = {}
    for path in INSPECTED:
        screen.open(path, PAGES[path])
        found[path] = screen.serious_violations()
    context.close()
    assert {path: violations for path, violations in found.items() if violations} == {}
    assert screen.complaints == []


def test_the_queues_show_quota_and_usage(screen: Screen) -> None:
    screen.open("/queues", "Queues")
    for name in ("everyone", QUEUE, LENDER):
        expect(screen.page.get_by_role("main").get_by_text(name).first).to_be_visible()
    expect(screen.page.get_by_role("img", name="GPU of a100").first).to_be_visible()


def test_the_map_shows_a_host_and_takes_it_out_of_use(
    screen: Screen, client: HeadgateClient
) -> None:
    screen.open("/topology", "Topology")
    screen.page.get_by_role("button", name=f"{HOSTS[1]}: ").click()
    panel = screen.page.get_by_role("complementary", name=f"Host {HOSTS[1]}")
    panel.get_by_role("button", name="Cordon", exact=True).click()
    screen.page.get_by_label("Reason").fill("new memory")
    screen.page.get_by_role("dialog").get_by_role("button", name="Cordon", exact=True).click()
    expect(panel.get_by_text("Cordoned", exact=True)).to_be_visible()
    event = client.read("/v1/events", {"type": "node.cordoned"})["items"][0]
    assert event["reason"] == "new memory"
    client.act(f"/v1/nodes/{HOSTS[1]}/uncordon", {"reason": "done"})
    expect(panel.get_by_text("Ready", exact=True)).to_be_visible()


def test_a_range_drawn_over_the_histogram_narrows_the_log(screen: Screen) -> None:
    screen.open("/events", "Event log")
    everything = screen.page.get_by_role("grid").get_attribute("aria-rowcount")
    plot = screen.page.get_by_role("figure").locator("div").first
    box = plot.bounding_box()
    assert box is not None
    middle = box["y"] + box["height"] / 2
    screen.page.mouse.move(box["x"] + 5, middle)
    screen.page.mouse.down()
    screen.page.mouse.move(box["x"] + 40, middle)
    screen.page.mouse.up()
    expect(screen.page.get_by_text("No event matches")).to_be_visible()
    assert "since=" in screen.page.url
    screen.page.get_by_role("button", name="Clear time range").click()
    expect(screen.page.get_by_role("grid")).to_have_attribute("aria-rowcount", str(everything))


def test_a_page_that_does_not_exist_leads_back(screen: Screen) -> None:
    screen.page.goto(f"{screen.url}/nowhere")
    expect(screen.page.get_by_text("Page not found")).to_be_visible()


def test_a_workload_that_does_not_exist_says_so(screen: Screen) -> None:
    screen.page.goto(f"{screen.url}/workloads/team-a/nobody")
    expect(screen.page.get_by_role("alert").first).to_contain_text("nobody")
    # The browser itself reports the answer 404.
    screen.complaints = [text for text in screen.complaints if "404" not in text]


def test_the_appearance_follows_the_choice_over_the_system(screen: Screen) -> None:
    page = screen.page.locator("body")
    light = screen.page.evaluate("getComputedStyle(document.body).backgroundColor")
    screen.page.get_by_role("button", name="Appearance").click()
    screen.page.get_by_role("menuitemcheckbox", name="Dark").click()
    expect(page).not_to_have_css("background-color", light)
    screen.page.reload()
    screen.wait_until_live()
    expect(page).not_to_have_css("background-color", light)
