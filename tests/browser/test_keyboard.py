"""Everything is within reach of the keyboard."""

import pytest
from playwright.sync_api import expect

from headgate.client.client import HeadgateClient
from tests.browser.cluster import QUEUE, workload
from tests.browser.screen import Screen

pytestmark = pytest.mark.browser


PAGES = {
    "q": "Queues",
    "w": "Workloads",
    "t": "Topology",
    "p": "Preemptions",
    "e": "Event log",
}


def test_g_and_a_letter_go_to_a_page(overview: Screen) -> None:
    for key, title in PAGES.items():
        overview.press_pair("g", key)
        expect(overview.page.get_by_role("heading", level=1, name=title)).to_be_visible()
    overview.open("/workloads", "Workloads")
    # Alone the second would select a row here.
    overview.press_pair("g", "x")
    expect(overview.page.get_by_role("heading", level=1, name="Executors")).to_be_visible()


def test_a_row_is_found_opened_and_closed_without_a_mouse(
    screen: Screen, client: HeadgateClient
) -> None:
    client.submit_batch([workload("by-keys", gpus=99)])
    screen.open("/workloads", "Workloads")
    screen.page.keyboard.press("/")
    screen.type("by-keys")
    expect(screen.page).to_have_url(f"{screen.url}/workloads?filter=by-keys&v=2")
    screen.page.keyboard.press("Escape")
    expect(screen.row("by-keys")).to_be_visible()
    screen.page.keyboard.press("j")
    screen.page.keyboard.press("Enter")
    panel = screen.page.get_by_role("complementary", name="Workload team-a/by-keys")
    expect(panel).to_be_visible()
    expect(screen.page).to_have_url(
        f"{screen.url}/workloads?filter=by-keys&panel=team-a/by-keys&v=2"
    )
    screen.page.keyboard.press("Escape")
    expect(panel).to_have_count(0)


def test_a_point_opens_the_actions_of_the_row(screen: Screen) -> None:
    screen.open("/queues", "Queues")
    page = screen.page
    screen.reach("lender")
    page.keyboard.press(".")
    menu = page.get_by_role("menu")
    expect(menu.get_by_role("menuitem").first).to_be_focused()
    expect(menu.get_by_role("menuitem", name="Edit quota")).to_be_visible()
    page.keyboard.press("Escape")
    expect(menu).to_have_count(0)


def test_the_palette_finds_a_queue_by_name(overview: Screen) -> None:
    overview.page.keyboard.press("Control+k")
    overview.type("lend")
    found = overview.page.get_by_role("option", name="lender")
    expect(found).to_have_attribute("aria-selected", "true")
    overview.page.keyboard.press("Enter")
    expect(overview.page.get_by_role("heading", level=1, name="lender")).to_be_visible()


def test_the_question_mark_shows_all_commands(overview: Screen) -> None:
    overview.page.keyboard.press("?")
    expect(overview.page.get_by_role("dialog", name="Keyboard shortcuts")).to_be_visible()
    overview.page.keyboard.press("Escape")
    expect(overview.page.get_by_role("dialog")).to_have_count(0)


def test_the_menu_of_a_queue_leads_to_its_actions(screen: Screen) -> None:
    screen.open("/queues", "Queues")
    page = screen.page
    page.get_by_role("button", name=f"Actions on {QUEUE}").press("Enter")
    menu = page.get_by_role("menu")
    names = ["Stop", "Edit quota", "Open in policy lab", "Drain…"]
    expect(menu.get_by_role("menuitem")).to_have_text(names)
    # The menu moves the focus a moment after a key, and Enter takes the item that has it.
    expect(menu.get_by_role("menuitem").first).to_be_focused()
    page.keyboard.press("End")
    expect(menu.get_by_role("menuitem").last).to_be_focused()
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog", name=f"Drain {QUEUE}")
    expect(dialog).to_be_visible()
    # The row below did not open: what was pressed is no part of it.
    expect(page).to_have_url(f"{screen.url}/queues")
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)


def test_a_queue_is_stopped_and_resumed_with_a_reason(screen: Screen) -> None:
    screen.open(f"/queues/{QUEUE}", QUEUE)
    for verb, seen in (("Stop", "Stopped by user:admin"), ("Resume", "")):
        screen.page.get_by_role("button", name=verb, exact=True).click()
        screen.type("maintenance")
        screen.page.keyboard.press("Enter")
        expect(screen.page.get_by_role("dialog")).to_have_count(0)
        if seen:
            expect(screen.page.get_by_text(seen).first).to_be_visible()
    expect(screen.page.get_by_role("button", name="Stop", exact=True)).to_be_visible()
