"""What submitters do on the page: find workloads, learn why they wait, submit, and act."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from headgate.client.client import HeadgateClient
from tests.browser.cluster import workload
from tests.browser.screen import Screen

pytestmark = pytest.mark.browser


def test_workload_grid(screen: Screen, client: HeadgateClient) -> None:
    """Line 4: filtered by tokens, grouped with sums, ordered, exported, and shared by address."""
    client.submit_batch(
        [workload("grid-few"), workload("grid-many", gpus=99), workload("grid-most", gpus=120)]
    )
    page = screen.page
    screen.open("/workloads?filter=grid-", "Workloads")
    field = page.get_by_role("combobox", name="Filter workloads")
    field.fill("own")
    page.get_by_role("option", name="owner:").click()
    page.get_by_role("option", name="owner:me").click()
    field.fill("gpu:>8")
    field.press("Enter")
    expect(page.get_by_role("button", name="Remove gpu:>8")).to_be_visible()
    expect(page.get_by_text("2 workloads, 219 GPU")).to_be_visible()
    expect(screen.row("grid-few")).to_have_count(0)
    page.get_by_role("columnheader", name="GPU").get_by_role("button").click()
    expect(page.get_by_role("columnheader", name="GPU")).to_have_attribute(
        "aria-sort", "descending"
    )
    expect(page.get_by_role("row").nth(1)).to_contain_text("grid-most")
    page.get_by_role("button", name="Group").click()
    page.get_by_role("menuitemcheckbox", name="LocalQueue").click()
    head = screen.row("team-a/main").first
    expect(head).to_contain_text("2 workloads")
    expect(head).to_contain_text("219 GPU")
    with page.expect_download() as saving:
        page.get_by_role("button", name="Export as CSV").click()
    lines = Path(saving.value.path()).read_text().splitlines()
    assert [line.split(",")[1] for line in lines] == ["name", "grid-most", "grid-many"]
    page.reload()
    expect(head).to_contain_text("219 GPU")
    expect(page.get_by_role("button", name="Remove owner:me")).to_be_visible()
    page.get_by_role("link", name="Unschedulable").click()
    expect(page).to_have_url(re.compile(r"filter=phase%3AUnschedulable"))
    expect(screen.row("grid-most")).to_contain_text("Unschedulable")
    assert screen.serious_violations() == []
