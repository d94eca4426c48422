"""An alert from its notification to its cause, and what is done about it, on real services."""

import json
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import psycopg
import pytest
from playwright.sync_api import Locator, expect
from standardwebhooks.webhooks import Webhook

from headgate.client.client import HeadgateClient
from tests.api.receiver import Receiver, receiving
from tests.browser.cluster import HOSTS, NAMESPACE, workload
from tests.browser.hands import Keyboard, Pointer
from tests.browser.screen import Screen
from tests.browser.test_lost_hosts import OFFERED
from tests.processes.programs import wait_until
from tests.processes.up import Up

pytestmark = pytest.mark.browser

RACK_SILENT = "2 nodes of rack-1 not ready"
KEY = "NodeNotReady/rack-1"
MAX_ABOVE_ROWS = 112
CLOSED = """
    INSERT INTO cause_record
    SELECT 'NodeNotReady/rack-9', now - 7200000000, now - 3600000000, 'NodeNotReady', 'warning',
        '8 nodes of rack-9 not ready', 'Node', 8, 345600, '/topology'
    FROM (SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint AS now) AS clock
"""


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as found:
        yield found


@pytest.fixture
def silent_rack(client: HeadgateClient) -> Iterator[None]:
    """Both hosts of the rack are heard of once more, for a lease of a second, and no more."""
    for host in HOSTS:
        beat(client, host, leaseSeconds=1)
    yield
    for host in HOSTS:
        beat(client, host)


def beat(client: HeadgateClient, host: str, **more: Any) -> None:
    client.act(f"/v1/nodes/{host}/heartbeat", {"ready": True, "allocatable": OFFERED, **more})


def create_webhook(screen: Screen, does: Pointer | Keyboard, name: str, url: str) -> str:
    """Make a webhook on the page; the secret that is shown once."""
    page = screen.page
    screen.open("/attention?view=webhooks", "Needs attention")
    does.press(page.get_by_role("button", name="New webhook"))
    dialog = page.get_by_role("dialog", name="New webhook")
    does.write(dialog.get_by_label("Name"), name)
    does.write(dialog.get_by_label("Address"), url)
    does.press(dialog.get_by_role("button", name="Create webhook"))
    shown = page.get_by_role("dialog", name=f"Secret of {name}")
    secret = shown.get_by_text("whsec_").inner_text()
    does.press(shown.get_by_role("button", name="Close").last)
    return secret


def test_needs_attention_and_webhooks(
    screen: Screen, client: HeadgateClient, receiver: Receiver
) -> None:
    """Group, acknowledge, snooze, reopen; signed webhooks with a test and their deliveries."""
    page, does = screen.page, Pointer(screen.page)
    secret = create_webhook(screen, does, "attention", receiver.url)
    page.get_by_role("button", name="Test attention").click()
    sent = receiver.wait_for("test")
    Webhook(secret).verify(sent.body, sent.headers)
    page.get_by_role("button", name="attention", exact=True).click()
    deliveries = page.get_by_role("group", name="Deliveries of attention")
    expect(deliveries.get_by_text("Delivered").first).to_be_visible()
    expect(deliveries.get_by_text(re.compile("Status 204")).first).to_be_visible()
    assert screen.violations() == []

    client.act("/v1/clusterqueues/lender/stop", {"reason": "budget review"})
    opened = receiver.wait_for("test")
    assert opened.content["data"]["key"] == ""
    screen.open("/attention?alert=QueueInactive", "Needs attention")
    causes = page.get_by_role("list", name="Alerts by cause")
    expect(causes.get_by_role("link", name="ClusterQueue lender is inactive")).to_be_visible()
    assert screen.violations() == []
    page.get_by_label("Severity").select_option("critical")
    expect(causes.get_by_text("ClusterQueue lender is inactive")).to_have_count(0)
    page.get_by_label("Severity").select_option("")
    acknowledge = page.get_by_role("button", name="Acknowledge ClusterQueue lender is inactive")
    acknowledge.focus()
    page.keyboard.press("a")
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Reason").fill("planned, CHG-12")
    dialog.get_by_role("button", name="Acknowledge").click()
    expect(page.get_by_text("Acknowledged by admin")).to_be_visible()
    expect(page.get_by_text("planned, CHG-12")).to_be_visible()
    assert screen.violations() == []
    page.get_by_role("button", name="Actions on ClusterQueue lender is inactive").click()
    page.get_by_role("menuitem", name="Snooze…").click()
    dialog.get_by_label("Reason").fill("until the review")
    dialog.get_by_label("Snooze for").select_option("3600")
    dialog.get_by_role("button", name="Snooze").click()
    expect(page.get_by_text(re.compile("Snoozed until .* by admin"))).to_be_visible()
    page.get_by_role("button", name="Reopen ClusterQueue lender is inactive").click()
    expect(page.get_by_text(re.compile("Snoozed until"))).to_have_count(0)
    client.act("/v1/clusterqueues/lender/resume", {"reason": "reviewed"})
    page.goto(f"{screen.url}/attention?view=webhooks")
    page.get_by_role("button", name="Delete attention").click()
    expect(page.get_by_text("No webhooks")).to_be_visible()


def test_stuck_workloads_belong_to_their_cause_and_are_acted_on_at_once(
    screen: Screen, client: HeadgateClient
) -> None:
    """§2.9: one list, one first action for each cause, and the page of a cause in one click."""
    page = screen.page
    client.act("/v1/clusterqueues/lender/stop", {"reason": "budget review"})
    screen.open("/attention", "Needs attention")
    causes = page.get_by_role("list", name="Alerts by cause")
    stopped = "ClusterQueue lender is inactive"
    # What is more severe comes behind what is shown while the pointer is in the list.
    causes.get_by_role("listitem").filter(has_text=stopped).hover()
    client.submit_batch([workload(name, gpus=99) for name in ("held-1", "held-2")])
    for name in ("held-1", "held-2"):
        path = f"/v1/namespaces/{NAMESPACE}/workloads/{name}/hold"
        client.act(path, {"reason": "the data is not there yet"})
    expect(page.get_by_text("order from")).to_be_visible()
    expect(causes).to_contain_text(re.compile("lender.*Workloads on hold", re.DOTALL))
    assert screen.violations() == []
    page.get_by_role("button", name="Refresh", exact=True).click()
    expect(causes).to_contain_text(re.compile("Workloads on hold.*lender", re.DOTALL))
    expect(page.get_by_text("order from")).to_have_count(0)
    row = causes.get_by_role("listitem").filter(has_text="Workloads on hold").first
    row.get_by_role("button", name="Workloads on hold", exact=True).click()
    expect(row.get_by_role("grid", name="Stuck workloads")).to_contain_text("held-1")
    assert screen.violations() == []
    # The first action of a cause is about all of its workloads.
    row.get_by_role("button", name="Release 2: Workloads on hold").click()
    dialog = page.get_by_role("dialog", name="Release 2 workloads")
    expect(dialog.get_by_text("Applies to 2 of 2 selected workloads")).to_be_visible()
    dialog.get_by_label("Reason").fill("the data is there")
    dialog.get_by_role("button", name="Release 2").click()
    expect(dialog.get_by_text("2 succeeded, 0 skipped")).to_be_visible()
    dialog.get_by_role("button", name="Close").last.click()
    expect(causes.get_by_text("Workloads on hold")).to_have_count(0)
    page.get_by_role("button", name=f"Acknowledge {stopped}").focus()
    page.keyboard.press(".")
    expect(page.get_by_role("menuitem", name="Acknowledge…")).to_be_focused()
    page.keyboard.press("Escape")
    page.get_by_role("button", name=f"Show queue: {stopped}").click()
    expect(page.get_by_role("heading", level=1, name="lender")).to_be_visible()
    client.act("/v1/clusterqueues/lender/resume", {"reason": "reviewed"})


def test_closed_alerts_and_the_rules_are_listed(screen: Screen, headgate: Up) -> None:
    """§2.9: what closed stays for a week, and what raises alerts is told."""
    running = json.loads((headgate.data / "run.json").read_text())
    with psycopg.connect(running["database_url"]) as connection:
        connection.execute(CLOSED)
    page = screen.page
    screen.open("/attention", "Needs attention")
    page.get_by_role("button", name=re.compile("^Closed [1-9]")).click()
    closed = page.get_by_role("list", name="Alerts closed in the last 7 days")
    row = closed.get_by_role("listitem").filter(has_text="8 nodes of rack-9 not ready")
    expect(row).to_contain_text("96 GPU-h")
    expect(row).to_contain_text("open for 1 h")
    assert screen.violations() == []
    screen.resize(1024, 900)
    assert _top_of(closed) <= MAX_ABOVE_ROWS
    screen.resize(390, 844)
    row.scroll_into_view_if_needed()
    expect(row.get_by_text("open for 1 h")).to_be_in_viewport()
    # Two lines of 44 pixels: the title with a menu of what is secondary, and the states.
    menu = page.get_by_role("button", name="Views")
    controls = page.locator("main header").bounding_box()
    assert controls is not None
    assert controls["height"] <= 2 * 44 + 4
    menu.click()
    page.get_by_role("menuitemcheckbox", name="Severity: critical").click()
    expect(row).to_have_count(0)
    page.get_by_role("button", name="Severity: critical, views").click()
    page.get_by_role("menuitemcheckbox", name="Severity: all").click()
    expect(row).to_be_visible()
    menu.click()
    page.get_by_role("menuitemcheckbox", name="Alert rules").click()
    rules = page.get_by_role("group", name="Alert rules")
    stalled = rules.get_by_role("row").filter(has_text="Stalled evictions")
    expect(stalled).to_contain_text("critical")
    expect(stalled).to_contain_text("An eviction takes longer than 5 min")
    assert screen.violations() == []


def _top_of(rows: Locator) -> float:
    """How far the rows begin from the top of the window."""
    box = rows.bounding_box()
    assert box is not None
    return box["y"]


@pytest.mark.nightly
@pytest.mark.parametrize("hand", [Pointer, Keyboard])
def test_story_of_an_on_call_engineer_from_a_silent_rack_to_what_was_undone(
    screen: Screen,
    client: HeadgateClient,
    receiver: Receiver,
    request: pytest.FixtureRequest,
    hand: type[Pointer | Keyboard],
) -> None:
    """Alerted by a webhook; the cause in three clicks; bulk action with preview; undo."""
    page, does = screen.page, hand(screen.page)
    name = f"story-{hand.__name__.lower()}"
    secret = create_webhook(screen, does, name, receiver.url)
    names = [f"{name}-{number}" for number in (1, 2)]

    request.getfixturevalue("silent_rack")
    told = alert_of(receiver)
    content = Webhook(secret).verify(told.body, told.headers)["data"]
    assert (content["key"], content["title"]) == (KEY, RACK_SILENT)
    # One: the link of the notification. Two: a host of the rack. Three: what the log says of it.
    link = urlsplit(content["link"])
    page.goto(f"{screen.url}{link.path}?{link.query}")
    does.press(page.get_by_role("link", name=f"Node {HOSTS[0]} is not ready"))
    panel = page.get_by_role("complementary", name=f"Host {HOSTS[0]}")
    expect(panel.get_by_text("Not ready", exact=True)).to_be_visible()
    does.press(panel.get_by_role("link", name="Events of this host"))
    expect(page.get_by_text("Node fell silent").first).to_be_visible()

    screen.open(f"/attention?alert={KEY}", "Needs attention")
    does.press(page.get_by_role("button", name=f"Acknowledge {RACK_SILENT}"))
    dialog = page.get_by_role("dialog")
    does.write(dialog.get_by_label("Reason"), "INC-4711, power of rack-1")
    does.press(dialog.get_by_role("button", name="Acknowledge"))
    expect(page.get_by_role("button", name=re.compile("^Acknowledged 1"))).to_be_visible()

    # Not before: with a host ready they would be admitted, and stay evicting without an executor.
    client.submit_batch([workload(each) for each in names])
    for each in names:
        path = f"/v1/namespaces/{NAMESPACE}/workloads/{each}/deactivate"
        client.act(path, {"reason": "its rack does not answer"})
    screen.open(f"/attention?name={name}-", "Needs attention")
    does.press(page.get_by_role("button", name="Select all 2"))
    does.press(page.get_by_role("button", name="Activate", exact=True))
    expect(dialog.get_by_text("Applies to 2 of 2 selected workloads")).to_be_visible()
    does.write(dialog.get_by_label("Reason"), "they wait for the rack in their queue")
    does.press(dialog.get_by_role("button", name="Activate 2"))
    expect(dialog.get_by_text("2 succeeded, 0 skipped")).to_be_visible()
    does.press(dialog.get_by_role("button", name="Undo"))
    does.press(dialog.get_by_role("button", name="Undo 2"))
    expect(dialog.get_by_text("2 undone, 0 skipped")).to_be_visible()
    for each in names:
        found = client.read(f"/v1/namespaces/{NAMESPACE}/workloads/{each}")
        assert found["status"]["phase"] == "Inactive"

    for host in HOSTS:
        beat(client, host)
    resolved = receiver.wait_for("cause.resolved")
    assert resolved.content["data"]["key"] == KEY
    wait_until(lambda: not list(client.items("/v1/acknowledgments")), "it is acknowledged no more")
    client.remove(f"/v1/webhooks/{name}")
    screen.open("/attention?state=Closed", "Needs attention")
    expect(page.get_by_text(RACK_SILENT).first).to_be_visible()


def alert_of(receiver: Receiver) -> Any:
    """The first notification that tells of the whole rack: one host may fall silent first."""
    for count in range(1, 9):
        for kind in ("cause.opened", "cause.changed"):
            told = [
                each
                for each in receiver.requests
                if each.content["type"] == kind and each.content["data"]["key"] == KEY
            ]
            if told and told[-1].content["data"]["count"] == len(HOSTS):
                return told[-1]
        receiver.wait_for("cause.opened", count)
    raise AssertionError("the rack was not told of")
