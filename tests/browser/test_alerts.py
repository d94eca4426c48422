"""Alerts on the page: acknowledged, snoozed, reopened, and told by signed webhooks."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import expect
from standardwebhooks.webhooks import Webhook

from headgate.client.client import HeadgateClient
from tests.api.receiver import Receiver, receiving
from tests.browser.hands import Keyboard, Pointer
from tests.browser.screen import Screen

pytestmark = pytest.mark.browser


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as found:
        yield found


def create_webhook(screen: Screen, does: Pointer | Keyboard, name: str, url: str) -> str:
    """Make a webhook on the page; the secret that is shown once."""
    page = screen.page
    screen.open("/needs-attention?view=webhooks", "Needs attention")
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
    expect(deliveries.get_by_text("Delivered")).to_be_visible()
    expect(deliveries.get_by_text(re.compile("Status 204"))).to_be_visible()
    assert screen.violations() == []

    client.act("/v1/clusterqueues/lender/stop", {"reason": "budget review"})
    opened = receiver.wait_for("test")
    assert opened.content["data"]["key"] == ""
    screen.open("/needs-attention?alert=QueueInactive", "Needs attention")
    causes = page.get_by_role("list", name="Alerts by cause")
    expect(causes.get_by_role("link", name="ClusterQueue lender is inactive")).to_be_visible()
    assert screen.violations() == []
    acknowledge = page.get_by_role("button", name="Acknowledge ClusterQueue lender is inactive")
    acknowledge.focus()
    page.keyboard.press("a")
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Reason").fill("planned, CHG-12")
    dialog.get_by_role("button", name="Acknowledge").click()
    expect(page.get_by_text("Acknowledged by admin")).to_be_visible()
    expect(page.get_by_text("planned, CHG-12")).to_be_visible()
    assert screen.violations() == []
    page.get_by_role("button", name="Snooze ClusterQueue lender is inactive").click()
    dialog.get_by_label("Reason").fill("until the review")
    dialog.get_by_label("Snooze for").select_option("3600")
    dialog.get_by_role("button", name="Snooze").click()
    expect(page.get_by_text(re.compile("Snoozed until .* by admin"))).to_be_visible()
    page.get_by_role("button", name="Reopen ClusterQueue lender is inactive").click()
    expect(page.get_by_text(re.compile("Snoozed until"))).to_have_count(0)
    client.act("/v1/clusterqueues/lender/resume", {"reason": "reviewed"})
    page.goto(f"{screen.url}/needs-attention?view=webhooks")
    page.get_by_role("button", name="Delete attention").click()
    expect(page.get_by_text("No webhooks")).to_be_visible()
