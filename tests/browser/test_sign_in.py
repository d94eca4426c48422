"""Signing in, and the rights of each role."""

import pytest
from playwright.sync_api import BrowserContext, expect

from headgate.client.client import HeadgateClient
from tests.browser.cluster import NAMESPACE, workload
from tests.browser.conftest import token_of
from tests.browser.screen import Screen
from tests.processes.up import Up

pytestmark = pytest.mark.browser


def test_a_token_is_asked_for_checked_and_used(tab: BrowserContext, headgate: Up) -> None:
    page = tab.new_page()
    page.goto(headgate.url)
    page.get_by_label("Token").fill("not-a-token")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("alert")).to_contain_text("Invalid or expired token")
    page.get_by_label("Token").fill(token_of(headgate))
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("heading", level=1, name="Overview")).to_be_visible()


def test_a_token_in_the_address_does_not_stay_there(overview: Screen) -> None:
    expect(overview.page).to_have_url(f"{overview.url}/")


def test_an_address_with_a_token_of_old_says_that_it_is_refused(
    tab: BrowserContext, headgate: Up
) -> None:
    page = tab.new_page()
    page.goto(f"{headgate.url}/#token=of-last-year")
    expect(page.get_by_role("alert")).to_contain_text("Invalid or expired token")


def test_a_viewer_is_told_what_they_may_not_do(
    tab: BrowserContext, headgate: Up, client: HeadgateClient
) -> None:
    client.submit_batch([workload("only-seen", gpus=99)])
    secret = client.act("/v1/tokens", {"name": "watcher", "role": "viewer"})["secret"]
    page = tab.new_page()
    page.goto(f"{headgate.url}/workloads/{NAMESPACE}/only-seen#token={secret}")
    hold = page.get_by_role("button", name="Hold", exact=True)
    expect(hold).to_have_attribute("aria-disabled", "true")
    hold.hover()
    expect(page.get_by_role("tooltip")).to_contain_text("Needs the role submitter or admin")
    hold.click(force=True)
    expect(page.get_by_role("dialog")).to_have_count(0)


def test_a_revoked_token_leads_to_the_sign_in_page(
    tab: BrowserContext, headgate: Up, client: HeadgateClient
) -> None:
    secret = client.act("/v1/tokens", {"name": "short-lived", "role": "viewer"})["secret"]
    page = tab.new_page()
    page.goto(f"{headgate.url}/#token={secret}")
    expect(page.get_by_role("heading", level=1, name="Needs attention")).to_be_visible()
    client.remove("/v1/tokens/short-lived")
    expect(page.get_by_label("Token")).to_be_visible()
