"""What a workload's page says at once: its expected start, how to act on it, and what by keys."""

import re
import time
from datetime import UTC, datetime, timedelta

import pytest
from playwright.sync_api import Route, expect

from headgate.client.client import HeadgateClient
from tests.browser.cluster import NAMESPACE, workload
from tests.browser.conftest import client_of
from tests.browser.screen import Screen
from tests.browser.test_live import finish, make_ready, phase_of, wait_for
from tests.browser.test_workload_pages import gang
from tests.processes.up import Up

pytestmark = pytest.mark.browser

WAITED = [f"waited-{number}" for number in range(8)]
"""As many as an estimate needs, and as all GPUs of the cluster can run."""

SECONDS_WAITED = 45.0
"""Longer than it takes to open the page of one that is estimated from these."""

RANGE = re.compile(r"Starts about \d\d:\d\d \(\d\d:\d\d to \d\d:\d\d\)")


@pytest.fixture(scope="module", autouse=True)
def waiting(headgate: Up) -> None:
    """Workloads that wait while the other tests of the file run."""
    inactive = [workload(name) for name in WAITED]
    for manifest in inactive:
        manifest["spec"]["active"] = False
    with client_of(headgate) as client:
        client.submit_batch(inactive)


def test_a_running_workload_is_protected(screen: Screen, client: HeadgateClient) -> None:
    client.submit_batch([workload("protected")])
    make_ready(client, "protected")
    page = screen.page
    screen.open(f"/workloads/{NAMESPACE}/protected", f"{NAMESPACE}/protected")
    actions = page.get_by_role("group", name="Actions")
    expect(actions.get_by_role("button", name="Requeue")).to_be_visible()
    expect(actions.get_by_role("link", name="Edit and resubmit")).to_have_count(0)
    actions.get_by_role("button", name="Protect").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Or a preemption priority").fill("700")
    command = f"headgate protect protected -n {NAMESPACE} --priority 700"
    expect(dialog.get_by_role("region", name="command")).to_have_text(command)
    assert screen.violations() == []
    dialog.get_by_role("button", name="Protect", exact=True).click()
    expect(page.get_by_text("700; queue priority 0")).to_be_visible()
    found = client.read(f"/v1/namespaces/{NAMESPACE}/workloads/protected")
    assert found["status"]["preemptionPriority"] == 700
    expect(page.get_by_text("1 of 1 pod running")).to_be_visible()
    attempt = page.get_by_role("list", name="Phases of attempt 1")
    expect(attempt.get_by_role("button", name="Running")).to_be_visible()
    # Six hours before: long idle time is folded, and spread in place.
    page.route("**/timeline*", _submitted_six_hours_before)
    page.reload()
    folded = attempt.get_by_role("button", name="Pending, 6 h folded")
    narrow = folded.bounding_box()
    folded.click()
    expect(attempt.get_by_role("button", name=re.compile("^Pending 6 h"))).to_be_visible()
    wide = attempt.get_by_role("button", name="Pending").bounding_box()
    assert narrow is not None
    assert wide is not None
    assert wide["width"] > 1.5 * narrow["width"]
    attempt.get_by_role("button", name="Starting").click()
    timeline = page.get_by_role("region", name="Timeline")
    expect(timeline.get_by_role("listitem").filter(has_text="Admitted").first).to_be_in_viewport()
    finish(client, "protected")


def _submitted_six_hours_before(route: Route) -> None:
    """Tells the submission of a workload, which is its first event, six hours earlier."""
    answer = route.fetch()
    told = answer.json()
    first = told["entries"][-1]
    earlier = datetime.fromisoformat(first["at"]) - timedelta(hours=6)
    first["at"] = earlier.isoformat().replace("+00:00", "Z")
    route.fulfill(response=answer, json=told)


def test_keys_of_a_workload(screen: Screen, client: HeadgateClient) -> None:
    client.submit_batch([workload("keyed", gpus=99)])
    page = screen.page
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    screen.open(f"/workloads/{NAMESPACE}/keyed", f"{NAMESPACE}/keyed")
    tabs = ("Summary", "Pods 0", "Logs", "Timeline", "Manifest")
    for key, name in ((5, tabs[4]), (4, tabs[3]), (2, tabs[1]), (1, tabs[0]), (3, tabs[2])):
        page.keyboard.press(str(key))
        selected = page.get_by_role("tab", name=name)
        expect(selected).to_have_attribute("aria-selected", "true")
    expect(page).to_have_url(re.compile("tab=logs"))
    page.keyboard.press("y")
    expect(page.get_by_text(f"Copied {NAMESPACE}/keyed").first).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == f"{NAMESPACE}/keyed"
    screen.open(f"/workloads/{NAMESPACE}/keyed", f"{NAMESPACE}/keyed")
    page.keyboard.press("l")
    expect(page.get_by_role("tab", name="Logs")).to_have_attribute("aria-selected", "true")
    actions = page.get_by_role("group", name="Actions")
    expect(actions.get_by_role("link", name="Edit and resubmit")).to_be_visible()
    page.keyboard.press("e")
    expect(page.get_by_label("Name", exact=True)).to_have_value("keyed-2")


def test_a_deleted_workload_keeps_its_timeline(screen: Screen, client: HeadgateClient) -> None:
    client.submit_batch([workload("deleted", gpus=99)])
    page = screen.page
    screen.open(f"/workloads/{NAMESPACE}/deleted", f"{NAMESPACE}/deleted")
    client.remove(f"/v1/namespaces/{NAMESPACE}/workloads/deleted")
    expect(page.get_by_role("heading", level=2, name="Deleted by admin")).to_be_visible()
    timeline = page.get_by_role("region", name="Timeline")
    expect(timeline.get_by_text("Submitted", exact=True)).to_be_visible()
    expect(page.get_by_role("group", name="Actions")).to_have_count(0)
    assert screen.violations() == []
    # The console tells that it is not found.
    screen.complaints[:] = [one for one in screen.complaints if "404" not in one]


def test_remedies_on_a_phone(screen: Screen, client: HeadgateClient) -> None:
    """One card at a time; one button, and all other actions in the menu."""
    client.submit_batch([gang("on-a-phone", 20)])
    page = screen.page
    page.set_viewport_size({"width": 390, "height": 844})
    screen.open(f"/workloads/{NAMESPACE}/on-a-phone", f"{NAMESPACE}/on-a-phone")
    cards = page.get_by_role("region", name="How to unblock").get_by_role("listitem")
    first, second = cards.nth(0), cards.nth(1)
    expect(first).to_contain_text("4 pods instead of 20")
    expect(second).not_to_be_in_viewport()
    pager = page.get_by_role("group", name="Edits")
    pager.get_by_role("button", name="Next edit").click()
    expect(second).to_be_in_viewport(ratio=0.9)
    expect(first).not_to_be_in_viewport()
    expect(pager).to_contain_text("2 of ")
    actions = page.get_by_role("group", name="Actions")
    expect(actions.get_by_role("button")).to_have_count(2)
    expect(page.get_by_text("Simulating…")).to_have_count(0)
    assert screen.violations() == []
    actions.get_by_role("button", name="Other actions").click()
    for name in ("Simulate a change", "Edit and resubmit", "Cancel workload"):
        expect(page.get_by_role("menuitem", name=name)).to_be_visible()
    page.keyboard.press("Escape")


@pytest.mark.nightly
def test_expected_start(screen: Screen, client: HeadgateClient) -> None:
    """Amber with the range of similar workloads; the submit page says the same before."""
    path = f"/v1/namespaces/{NAMESPACE}/workloads"
    first = client.read(f"{path}/{WAITED[0]}")["metadata"]["creationTimestamp"]
    age = (datetime.now(UTC) - datetime.fromisoformat(first)).total_seconds()
    time.sleep(max(0.0, SECONDS_WAITED - age))
    for name in WAITED:
        client.act(f"{path}/{name}/activate", {"reason": "its data is there"})
    for name in WAITED:
        make_ready(client, name)
    client.submit_batch([workload("estimated")])
    wait_for(lambda: _is_estimated(client), "there is an estimate")
    page = screen.page
    screen.open(f"/workloads/{NAMESPACE}/estimated", f"{NAMESPACE}/estimated")
    verdict = page.get_by_role("heading", level=2, name=RANGE)
    expect(verdict).to_be_visible()
    banner = page.locator("[data-tone=wait]").filter(has=verdict)
    expect(banner.get_by_text("Range: ")).to_contain_text("similar")
    assert verdict.evaluate("each => getComputedStyle(each).fontSize") == "16px"
    assert screen.violations() == []
    screen.open("/submit?template=single-gpu", "Submit")
    page.get_by_label("LocalQueue").select_option(f"{NAMESPACE}/main")
    page.get_by_label("CPU per pod").fill("1")
    page.get_by_label("Memory per pod").fill("")
    forecast = page.get_by_role("region", name="Forecast").get_by_role("status")
    expect(forecast).to_contain_text(RANGE)
    expect(forecast).to_contain_text("Queue position ")
    for name in WAITED:
        finish(client, name)
    wait_for(lambda: phase_of(client, "estimated") == "Starting", "it has started")


def _is_estimated(client: HeadgateClient) -> bool:
    found = client.read(f"/v1/namespaces/{NAMESPACE}/workloads/estimated/explanation")
    return bool((found.get("expectedStart") or {}).get("about"))
