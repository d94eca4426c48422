"""Time travel and what-if simulation in a real browser."""

import re

import pytest
from playwright.sync_api import Browser, Locator, Route, expect

from headgate.cli.commands.wait import goal_of, wait_for
from headgate.client.client import HeadgateClient
from tests.browser.cluster import NAMESPACE, workload
from tests.browser.conftest import client_of, new_context, sign_in
from tests.browser.screen import Screen, written_in
from tests.processes.up import Up

pytestmark = pytest.mark.browser

HOLDER, GANG, SMALLER, LATER = "holder", "gang", "gang-again", "later"
PAGES = {
    "/cycles": "Scheduling cycles",
    "/simulations/new": "Simulator",
    "/simulations": "Simulations",
    "/configuration?view=changes": "All changes",
    "/queues?at=3": "Queues",
}


@pytest.fixture(scope="module", autouse=True)
def work(headgate: Up) -> None:
    """A workload uses three GPUs of a host, so that a gang of four has to wait."""
    with client_of(headgate) as client:
        client.submit_batch([workload(HOLDER, gpus=3)])
        wait_for(client, f"{NAMESPACE}/{HOLDER}", goal_of("condition=Admitted"), 30)
        client.submit_batch([workload(GANG, gpus=8)])


def _bar(screen: Screen) -> Locator:
    return screen.page.get_by_role("region", name="Time travel")


def test_a_submitter_learns_why_tries_a_smaller_one_and_sees_it_start(
    screen: Screen, client: HeadgateClient
) -> None:
    page = screen.page
    screen.open(f"/workloads/{NAMESPACE}/{GANG}", f"{NAMESPACE}/{GANG}")
    expect(page.get_by_text(re.compile("constraint"))).to_be_visible()
    page.get_by_role("link", name="Simulate a change").click()

    editor = page.get_by_role("textbox", name="Manifest to simulate")
    expect(editor).to_contain_text(SMALLER)
    page.get_by_role("button", name="Run simulation").click()
    expect(page.get_by_text("Would stay pending")).to_be_visible()

    smaller = written_in(editor).replace('nvidia.com/gpu: "8"', 'nvidia.com/gpu: "1"')
    editor.fill(smaller)
    before = client.head()
    page.get_by_role("button", name="Run simulation").click()
    expect(page.get_by_text("Would be admitted now")).to_be_visible()
    assert client.head() == before

    page.get_by_role("button", name="Apply").click()
    expect(page.get_by_text("1 applied")).to_be_visible()
    screen.open(f"/workloads/{NAMESPACE}/{SMALLER}", f"{NAMESPACE}/{SMALLER}")
    expect(page.get_by_text("Starting").first).to_be_visible()


def test_a_simulation_that_was_run_is_found_in_the_list_and_opened_as_it_was(
    screen: Screen, client: HeadgateClient
) -> None:
    page = screen.page
    screen.open(f"/simulations/new?workload={NAMESPACE}/{GANG}", "Simulator")
    editor = page.get_by_role("textbox", name="Manifest to simulate")
    expect(editor).to_contain_text(SMALLER)
    # Another test may have submitted the name that the page proposes.
    editor.fill(written_in(editor).replace(SMALLER, "gang-recorded"))
    page.get_by_label("Title (optional)").fill("the gang once more")
    page.get_by_role("button", name="Run simulation").click()
    expect(page.get_by_text("Would stay pending")).to_be_visible()

    page.get_by_role("navigation", name="Pages").get_by_role("link", name="Simulations").click()
    expect(page.get_by_role("heading", level=1, name="Simulations", exact=True)).to_be_visible()
    row = page.get_by_role("row").filter(has_text="the gang once more")
    expect(row).to_contain_text("Workload")
    expect(row).to_contain_text("Would be unschedulable")
    page.get_by_label("Kind").select_option("Change")
    # Another test may have recorded a change.
    expect(row).to_have_count(0)
    page.get_by_label("Kind").select_option("All kinds")
    row.get_by_role("link").click()

    expect(page.get_by_role("heading", level=1, name="the gang once more")).to_be_visible()
    expect(page.get_by_text("Simulated on the state of")).to_be_visible()
    expect(page.get_by_text("Would stay pending").first).to_be_visible()
    expect(page.get_by_role("button", name="Apply")).to_have_attribute("aria-disabled", "true")
    page.get_by_role("button", name="Run simulation").click()
    expect(page.get_by_text("Simulated on the current state")).to_be_visible()
    listed = client.read("/v1/simulations", {"kind": "Workload"})["items"]
    assert [one["title"] for one in listed[:2]] == ["the gang once more"] * 2


def test_a_list_of_simulations_that_cannot_be_read_says_so_and_is_read_again(
    screen: Screen,
) -> None:
    page = screen.page
    address = re.compile("/v1/simulations")
    page.route(address, lambda route: route.fulfill(status=500, body="{}"))
    screen.open("/simulations", "Simulations")
    retry = page.get_by_role("button", name="Try again")
    expect(retry).to_be_visible()
    page.unroute(address)
    retry.click()
    listed = page.get_by_role("group", name="Simulations, newest first")
    expect(listed.or_(page.get_by_text("No simulations yet"))).to_be_visible()
    screen.complaints[:] = [one for one in screen.complaints if "500" not in one]


def test_a_form_writes_the_documents_and_only_what_was_tried_is_applied(screen: Screen) -> None:
    page = screen.page
    screen.open("/simulations/new", "Simulator")
    page.get_by_label("LocalQueue").select_option(f"{NAMESPACE}/main")
    page.get_by_label("Name", exact=True).fill("formed")
    page.get_by_label("GPUs per pod").fill("1")
    editor = page.get_by_role("textbox", name="Manifest to simulate")
    expect(editor).to_contain_text("name: formed")
    expect(editor).to_contain_text(f"namespace: {NAMESPACE}")
    apply = page.get_by_role("button", name="Apply")
    expect(apply).to_have_attribute("aria-disabled", "true")

    page.get_by_role("button", name="Run simulation").click()
    expect(page.get_by_text(re.compile("^Would "))).to_be_visible()
    expect(apply).not_to_have_attribute("aria-disabled", "true")
    page.get_by_label("Pods", exact=True).fill("2")
    expect(apply).to_have_attribute("aria-disabled", "true")
    expect(page.get_by_text("Results are out of date")).to_be_visible()


def test_a_workload_for_an_absent_queue_is_applied_with_a_warning(
    screen: Screen,
) -> None:
    page = screen.page
    screen.open("/simulations/new", "Simulator")
    page.get_by_label("LocalQueue").select_option(f"{NAMESPACE}/main")
    page.get_by_label("Name", exact=True).fill("astray")
    editor = page.get_by_role("textbox", name="Manifest to simulate")
    editor.fill(written_in(editor).replace("queueName: main", "queueName: mian"))
    page.get_by_role("button", name="Run simulation").click()
    page.get_by_role("button", name="Apply").click()
    warned = page.get_by_role("status").filter(has_text="Workload astray: LocalQueue mian")
    expect(warned).to_contain_text("Did you mean main?")


def test_an_admin_drags_the_slider_to_an_incident_and_opens_the_cycle_that_decided_it(
    screen: Screen, client: HeadgateClient
) -> None:
    page = screen.page
    admissions = client.read("/v1/events", {"type": "workload.admitted", "limit": "100"})["items"]
    # The holder's is past for certain: others were submitted after it.
    incident = next(found for found in admissions if found["stream"].endswith(f"/{HOLDER}"))
    name = HOLDER
    screen.open("/workloads", "Workloads")
    page.get_by_role("button", name="Time travel").click()
    slider = _bar(screen).get_by_label("Revision", exact=True)
    expect(slider).to_be_visible()
    head = slider.get_attribute("max")
    assert head is not None
    slider.fill(str(incident["position"]))
    client.submit_batch([workload(LATER, gpus=8)])
    expect(slider).not_to_have_attribute("max", head)
    slider.press("Tab")

    seen = _bar(screen).get_by_title(f"Event #{incident['position']}", exact=True)
    expect(seen.first).to_contain_text("Viewing")
    expect(page).to_have_url(f"{screen.url}/workloads?at={incident['position']}&v=2")
    _bar(screen).get_by_role("link", name="Open the last scheduling cycle").click()
    expect(page.get_by_role("heading", level=1, name="Scheduling cycle")).to_be_visible()
    expect(page.get_by_role("main").get_by_role("link", name=name).first).to_be_visible()
    decisions = page.get_by_role("group", name="Workloads in order").get_by_role("row")
    expect(decisions.filter(has_text=name).first).to_contain_text(re.compile(r"^\d"))
    page.get_by_role("button", name="Verify").click()
    expect(page.get_by_text("Same events: yes")).to_be_visible()
    # A red banner tells that no worker plans, and when one last did.
    page.route("**/v1/attention*", _without_a_worker)
    screen.open("/cycles", "Scheduling cycles")
    banner = page.get_by_role("alert").filter(has_text="No worker makes scheduling decisions")
    expect(banner).to_contain_text(re.compile("Last cycle .+ ago|Last cycle just now"))
    expect(page.get_by_role("figure", name="Duration of cycles")).to_contain_text("commit p50")
    assert screen.violations() == []


def _without_a_worker(route: Route) -> None:
    """Adds the alert that the server raises once work has waited for a worker for half a minute."""
    answer = route.fetch()
    told = answer.json()
    title = "No worker makes scheduling decisions"
    alert = {"kind": "SchedulingStalled", "severity": "critical", "title": title, "link": "/events"}
    items = [{**alert, "detail": "1 of 1 partition: work not evaluated for 30 s."}]
    counted = {"unit": "Object", "count": 1, "gpuSeconds": 0, "since": told["at"], "state": "Open"}
    told["causes"].append({**alert, **counted, "key": "SchedulingStalled", "items": items})
    route.fulfill(response=answer, json=told)


def test_nothing_can_be_changed_in_the_past(screen: Screen, client: HeadgateClient) -> None:
    page = screen.page
    position = client.head()
    screen.open(f"/queues/gpu?at={position}", "gpu")
    button = page.get_by_role("button", name="Stop", exact=True)
    expect(button).to_have_attribute("aria-disabled", "true")
    _bar(screen).get_by_role("button", name="Return to live").click()
    expect(page.get_by_role("button", name="Stop", exact=True)).not_to_have_attribute(
        "aria-disabled", "true"
    )
    expect(page).to_have_url(f"{screen.url}/queues/gpu")


def test_the_history_tells_what_taking_a_change_back_would_do(screen: Screen) -> None:
    page = screen.page
    screen.open("/history?stream=clusterqueue/gpu", "Configuration")
    page.get_by_role("listitem").get_by_role("button", name="Roll back").first.click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_text("evicted ·")).to_be_visible()
    dialog.get_by_role("button", name="Cancel").click()


@pytest.mark.nightly
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_pages_are_accessible(browser: Browser, headgate: Up, scheme: str) -> None:
    context = new_context(browser, scheme)
    screen = sign_in(context.new_page(), headgate)
    found = {}
    for path, title in PAGES.items():
        screen.open(path, title)
        found[path] = screen.violations()
    context.close()
    assert {path: violations for path, violations in found.items() if violations} == {}
    assert screen.complaints == []


def test_one_time_range_goes_along_and_an_incident_link_shows_the_past(screen: Screen) -> None:
    """Line 11: a range for all pages, a past that is read-only, and a link to an incident."""
    page = screen.page
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    screen.open("/?last=1h", "Overview")
    page.get_by_role("navigation", name="Pages").get_by_role("link", name="Preemptions").click()
    expect(page).to_have_url(re.compile("/preemptions.*last=1h"))
    page.get_by_role("button", name="Time range: Last hour").click()
    page.get_by_role("button", name="Copy incident link").click()
    expect(page.get_by_text("Incident link copied")).to_be_visible()
    link = page.evaluate("navigator.clipboard.readText()")
    assert all(part in link for part in ("/preemptions?", "from=", "to=", "at="))
    page.goto(link)
    expect(screen.freshness).to_contain_text("Past")
    expect(screen.freshness).not_to_contain_text("Live")
    expect(page.get_by_role("main")).to_have_attribute("data-past", "true")
    assert screen.violations() == []
