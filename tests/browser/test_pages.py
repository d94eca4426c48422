"""Every page shows its data, is accessible and logs no error."""

import re
from collections import Counter
from contextlib import suppress
from itertools import product
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Browser, Page, expect

from headgate.client.client import HeadgateClient
from headgate.client.transport import ServerProblem
from tests.browser.cluster import HOSTS, LENDER, QUEUE, named, workload
from tests.browser.conftest import client_of, new_context, sign_in
from tests.browser.every_page import every_page
from tests.browser.screen import SMALL_TARGETS, Screen
from tests.hypothesis_profiles import is_full_depth
from tests.processes.programs import wait_until
from tests.processes.up import Up

pytestmark = pytest.mark.browser

IN_EVERY_RUN = (
    "queues", "workloads-panel", "events", "configuration-object", "simulator", "needs-attention",
)  # fmt: skip
"""Pages of different parts; the nightly run looks at all, and tests of other pages at theirs."""
PRESSED_IN_EVERY_RUN = (
    "overview", "workloads", "queues", "topology", "events", "queue", "workload-pending",
    "configuration-object",
)  # fmt: skip
"""Pages with targets that each run measures; the nightly run measures all pages."""
LISTS = {
    "/workloads": "[role=row]:has([role=gridcell])",
    "/workloads?filter=gpu:>8&sort=-gpu": "[role=row]:has([role=gridcell])",
    "/queues": "[role=row]:has([role=gridcell])",
    "/attention": "[aria-label='Alerts by cause'] > li",
    "/simulations": "tbody tr",
    "/configuration": "tbody tr",
    "/topology?view=table": "[role=row]:has([role=gridcell])",
}
"""Pages that are a list, with what selects its rows."""
UNDER_CHARTS = ("/events", "/cycles")
"""Lists that stand below a chart of the same time range."""
ROWS = 22
LATEST = {"limit": "1000"}
MAX_GROUP = 50
"""Of more events the page shows a part at first."""


@pytest.fixture(scope="module", autouse=True)
def shown(headgate: Up) -> None:
    """Workloads to look at, and a backtest."""
    with client_of(headgate) as client:
        client.submit_batch([workload("shown"), workload("never", gpus=99)])
        wait_until(lambda: _has_backtest(client), "a backtest is there")


def _has_backtest(client: HeadgateClient) -> bool:
    """False until the API has read more than the beginning of the log."""
    with suppress(ServerProblem):
        client.ask_for_backtest(b"", {"from": "1"})
    return bool(client.read("/v1/backtests")["items"])


def test_axe_finds_nothing_on_any_page(browser: Browser, headgate: Up) -> None:
    """As it is, at 200 % zoom and in forced colors; each page in one of them in a short run."""
    context = new_context(browser)
    screen = sign_in(context.new_page(), headgate)
    with client_of(headgate) as client:
        pages = every_page(client)
    looks = (look_light, look_zoomed, look_forced, look_dark)
    found: list[str] = []
    for number, name in enumerate(pages if is_full_depth() else IN_EVERY_RUN):
        screen.open(*pages[name])
        for look in looks if is_full_depth() else [looks[number % len(looks)]]:
            look(screen.page)
            found += [f"{name}, {look.__name__}: {one}" for one in screen.violations()]
        look_light(screen.page)
    context.close()
    assert found == []
    assert screen.complaints == []


def look_light(page: Page) -> None:
    page.set_viewport_size({"width": 1440, "height": 900})
    page.emulate_media(color_scheme="light", forced_colors="none")


def look_dark(page: Page) -> None:
    look_light(page)
    page.emulate_media(color_scheme="dark", forced_colors="none")


def look_zoomed(page: Page) -> None:
    look_light(page)
    # What 1440 by 900 pixels show at 200 %.
    page.set_viewport_size({"width": 720, "height": 450})


def look_forced(page: Page) -> None:
    look_light(page)
    page.emulate_media(color_scheme="light", forced_colors="active")


def test_targets_are_large_enough_for_fingers_and_pointers(
    screen: Screen, client: HeadgateClient
) -> None:
    """44 pixels on a phone and 24 on a desk, but for links in sentences, on maps and time axes."""
    pages = every_page(client)
    found: list[str] = []
    for name in pages if is_full_depth() else PRESSED_IN_EVERY_RUN:
        screen.open(*pages[name])
        for width, height, pixels in ((390, 844, 44), (1440, 900, 24)):
            screen.resize(width, height)
            small = screen.page.evaluate(SMALL_TARGETS, pixels)
            found += [f"{name}, {width} wide: {target}" for target in small]
    assert found == []


def test_lists_begin_high_up_and_show_many_rows(screen: Screen, client: HeadgateClient) -> None:
    """At 1440 by 900: at most 112 pixels above the first row, and room for 22 rows."""
    client.submit_batch([workload(f"many-{number}", gpus=99) for number in range(ROWS)])
    client.simulate(b"", {"cordon": HOSTS[0], "record": "true"})
    for path, rows in LISTS.items():
        screen.go(path)
        first = screen.page.locator(f"main {rows}").first
        expect(first).to_be_visible()
        screen.wait_until_settled()
        box = first.bounding_box()
        assert box is not None
        assert box["y"] <= 112, path
        assert box["y"] + ROWS * box["height"] <= 900, path
    for path, width in product(UNDER_CHARTS, (1024, 1440)):
        screen.page.set_viewport_size({"width": width, "height": 900})
        screen.go(path)
        screen.wait_until_settled()
        chart = screen.page.locator("main figure").first.bounding_box()
        grid = screen.page.locator("main [role=grid]")
        row = grid.locator("[role=row]").nth(1).bounding_box()
        assert chart is not None
        assert row is not None
        assert chart["y"] <= 112, path
        assert row["y"] + ROWS * row["height"] <= 900, (path, width)
    screen.open("/workloads", "Workloads")
    inside = "rows => rows.filter(row => row.getBoundingClientRect().bottom <= innerHeight).length"
    shown = screen.page.locator("main [role=row]:has([role=gridcell])")
    expect(shown.nth(ROWS - 1)).to_be_in_viewport(ratio=1)
    assert shown.evaluate_all(inside) >= ROWS


def test_the_queues_show_quota_and_usage(screen: Screen) -> None:
    screen.open("/queues", "Queues")
    for name in ("everyone", QUEUE, LENDER):
        expect(screen.page.get_by_role("treegrid").get_by_text(name).first).to_be_visible()
    expect(screen.page.get_by_role("img", name="GPU of a100").first).to_be_visible()
    cohort = screen.row("everyone")
    # Rows of others may name a queue that they borrow from.
    lender = screen.page.get_by_role("row", name=re.compile(f"^{LENDER} "))
    expect(cohort.get_by_role("gridcell").nth(3)).to_have_text("8")
    expect(lender.get_by_role("gridcell").nth(3)).to_have_text("4")
    for head in ("Used, GPU", "Nominal, GPU", "Pending, GPU"):
        expect(screen.page.get_by_role("columnheader", name=head)).to_be_visible()
    cohort.get_by_role("button", name="Collapse cohort").click()
    expect(lender).to_have_count(0)
    # The arrow keys of a tree open and close the row that j and k have reached.
    screen.reach("everyone")
    screen.page.keyboard.press("ArrowRight")
    expect(lender).to_be_visible()
    expect(cohort).to_have_attribute("aria-expanded", "true")
    screen.page.get_by_role("button", name="Collapse all").click()
    expect(lender).to_have_count(0)
    screen.page.get_by_role("columnheader").get_by_role("button", name="Name").click()
    expect(lender).to_be_visible()
    expect(cohort).to_have_count(0)
    screen.page.get_by_label("Resource").select_option("cpu")
    expect(lender.get_by_role("gridcell").nth(3)).to_have_text("16")


def test_the_map_shows_a_host_and_takes_it_out_of_use(
    screen: Screen, client: HeadgateClient
) -> None:
    screen.open("/topology", "Topology")
    screen.page.get_by_label("Find host or rack").fill(HOSTS[1])
    screen.page.keyboard.press("Enter")
    panel = screen.page.get_by_role("complementary", name=f"Host {HOSTS[1]}")
    panel.get_by_role("button", name="Cordon", exact=True).click()
    screen.page.get_by_label("Reason").fill("new memory")
    screen.page.get_by_role("dialog").get_by_role("button", name="Cordon", exact=True).click()
    expect(panel.get_by_text("Cordoned", exact=True)).to_be_visible()
    event = client.read("/v1/events", {"type": "node.cordoned"})["items"][0]
    assert event["reason"] == "new memory"
    client.act(f"/v1/nodes/{HOSTS[1]}/uncordon", {"reason": "done"})
    expect(panel.get_by_text("Ready", exact=True)).to_be_visible()


def test_a_range_drawn_over_the_histogram_narrows_the_log(
    screen: Screen, client: HeadgateClient
) -> None:
    screen.open("/events", "Event log")
    grid = screen.page.get_by_role("grid")
    everything = int(grid.get_attribute("aria-rowcount") or 0)
    plot = screen.page.get_by_role("slider", name="Events: time")
    box = plot.bounding_box()
    assert box is not None
    middle = box["y"] + box["height"] / 2
    # Left of the labels of the vertical axis there is no plot.
    screen.page.mouse.move(box["x"] + 80, middle)
    screen.page.mouse.down()
    screen.page.mouse.move(box["x"] + 200, middle, steps=4)
    screen.page.mouse.up()
    expect(screen.page).to_have_url(re.compile("from=.*to="))
    # What is left of the log is that of the range, which may have begun before the log.
    bounds = parse_qs(urlsplit(screen.page.url).query)
    query = {"since": bounds["from"][0], "until": bounds["to"][0], **LATEST}
    told = client.read("/v1/events", query)["items"]
    if told:
        name = told[0]["stream"].partition("/")[2]
        expect(grid.get_by_role("row").nth(1)).to_contain_text(name)
    else:
        expect(screen.page.get_by_text("No event matches")).to_be_visible()
    screen.page.get_by_role("button", name="Clear time range").click()
    # The worker may have recorded more since.
    wait_until(
        lambda: int(grid.get_attribute("aria-rowcount") or 0) >= everything, "all are shown again"
    )


def test_events_are_filtered_by_tokens_and_grouped_by_what_caused_them(
    screen: Screen, client: HeadgateClient
) -> None:
    causes = [one.get("correlation") for one in client.read("/v1/events", LATEST)["items"]]
    # Others of a cause may stand before the latest events, and more than a page of them.
    wholes = (
        (cause, len(client.read("/v1/events", {**LATEST, "correlation": cause})["items"]))
        for cause, _ in Counter(filter(None, causes)).most_common()
    )
    cause, number = next(each for each in wholes if each[1] < MAX_GROUP)
    page = screen.page
    group = page.get_by_role("button", name=re.compile(f"^Expand .*: {number} events$"))
    grid = page.get_by_role("grid", name="Events, newest first")
    # A group has all its events, also where the list has one of them.
    newest = client.read("/v1/events", {"correlation": cause, "limit": "1"})["items"][0]
    alone = f"type={newest['type']}&stream={newest['stream']}"
    for filters in (f"&{alone}", ""):
        screen.open(f"/events?view=grouped&correlation={cause}{filters}", "Event log")
        group.click()
        expect(grid).to_have_attribute("aria-rowcount", str(number + 2))
    page.get_by_role("button", name=f"Remove correlation:{cause}").click()
    expect(page).to_have_url(f"{screen.url}/events?view=grouped&v=2")
    # Types that there are can be chosen by their beginning, and one that there is not leads back.
    page.keyboard.press("/")
    screen.type("type:node.cr")
    option = page.get_by_role("option", name="type:node.created")
    expect(option).to_be_visible()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page).to_have_url(f"{screen.url}/events?view=grouped&type=node.created&v=2")
    screen.open("/events?actor=user:zoe", "Event log")
    page.get_by_role("button", name="Remove actor:user:zoe").last.click()
    expect(grid).to_be_visible()


def test_a_page_that_does_not_exist_leads_back(screen: Screen) -> None:
    screen.go("/nowhere")
    expect(screen.page.get_by_role("heading", name="Page not found")).to_be_visible()


def test_kept_links_lead_to_what_needs_attention(screen: Screen) -> None:
    for old in ("inbox", "needs-attention"):
        screen.go(f"/{old}?state=Snoozed")
        heading = screen.page.get_by_role("heading", level=1, name="Needs attention")
        expect(heading).to_be_visible()
        expect(screen.page).to_have_url(f"{screen.url}/attention?state=Snoozed&v=2")


def test_kept_links_lead_to_simulations_and_changes(screen: Screen) -> None:
    page = screen.page
    for old, address, title in (
        ("what-if", "simulations/new", "Simulator"),
        ("backtests", "simulations/backtest", "Backtests"),
        ("history", "configuration?view=changes&v=2", "All changes"),
        (
            "configuration?kind=LocalQueue&name=team-a/main&tab=history",
            "configuration/LocalQueue/team-a/main?tab=history&v=2",
            "Configuration",
        ),
    ):
        screen.open(f"/{old}", title)
        expect(page).to_have_url(f"{screen.url}/{address}")
    screen.open(f"/history?stream=clusterqueue/{QUEUE}", "Configuration")
    expect(page).to_have_url(f"{screen.url}/configuration/clusterqueue/{QUEUE}?tab=history&v=2")
    expect(page.get_by_role("tab", name="History")).to_have_attribute("aria-selected", "true")
    changes = page.get_by_role("list", name="Changes, newest first")
    expect(changes.get_by_role("listitem").filter(has_text="Created")).to_be_visible()


def test_a_user_sees_the_own_tokens(screen: Screen, client: HeadgateClient) -> None:
    page = screen.page
    made = client.act("/v1/tokens", {"name": "vera", "role": "viewer"})
    page.goto(f"{screen.url}/attention#token={made['secret']}")
    page.get_by_role("button", name="Signed in as vera").click()
    page.get_by_role("menuitem", name="Your tokens").click()
    row = page.get_by_role("dialog", name="Your tokens").get_by_role("row").nth(1)
    expect(row).to_contain_text("vera")
    expect(row).to_contain_text("viewer")
    assert screen.violations() == []
    client.remove("/v1/tokens/vera")


def test_a_workload_that_does_not_exist_says_so(screen: Screen) -> None:
    screen.go("/workloads/team-a/nobody")
    expect(screen.page.get_by_role("alert").first).to_contain_text("nobody")
    # The browser itself reports the answer 404.
    screen.complaints = [text for text in screen.complaints if "404" not in text]


def test_density_and_time_zone_are_the_choice_of_the_user(screen: Screen) -> None:
    page = screen.page
    # Where the browser is in UTC, the choice would change nothing.
    browser = page.context.new_cdp_session(page)
    browser.send("Emulation.setTimezoneOverride", {"timezoneId": "Asia/Tokyo"})
    screen.open("/queues", "Queues")
    row = page.get_by_role("treegrid").get_by_role("row").nth(1)
    height = row.evaluate("row => row.clientHeight")
    page.get_by_role("button", name="Signed in as").click()
    page.get_by_role("menuitemcheckbox", name="Density: compact").click()
    lower = "height => document.querySelectorAll('[role=row]')[1].clientHeight < height"
    page.wait_for_function(lower, arg=height)
    page.get_by_role("button", name="Signed in as").click()
    expect(page.get_by_role("menuitemcheckbox", name="Time zone: Asia/Tokyo")).to_be_checked()
    page.get_by_role("menuitemcheckbox", name="Time zone: UTC").click()
    screen.wait_until_settled()
    # Both outlive the page.
    assert row.evaluate("row => row.clientHeight") < height
    page.get_by_role("button", name="Time range").click()
    expect(page.get_by_text("Time zone UTC", exact=True)).to_be_visible()


def test_the_appearance_follows_the_choice_over_the_system(overview: Screen) -> None:
    page = overview.page.locator("body")
    light = overview.page.evaluate("getComputedStyle(document.body).backgroundColor")
    overview.page.get_by_role("button", name="Signed in as").click()
    overview.page.get_by_role("menuitemcheckbox", name="Theme: dark").click()
    expect(page).not_to_have_css("background-color", light)
    overview.page.reload()
    overview.wait_until_live()
    expect(page).not_to_have_css("background-color", light)


def test_a_queue_tells_starts_constraints_and_changes(
    screen: Screen, client: HeadgateClient
) -> None:
    client.submit_batch([workload("takes-all", gpus=4), workload("lacks-some", gpus=4)])
    screen.open(f"/queues/{QUEUE}", QUEUE)
    page = screen.page
    row = screen.row("lacks-some")
    expect(row).to_contain_text("no estimate")
    expect(row.get_by_role("img", name=re.compile(r"of 4 GPU available$"))).to_be_visible()
    # Another resource, for all of the page.
    page.keyboard.press("r")
    expect(page.get_by_label("Resource")).to_have_value("cpu")
    expect(page.get_by_text("In use, CPU").first).to_be_visible()
    page.keyboard.press("t")
    expect(page.get_by_role("columnheader", name="nominal quota")).to_be_visible()
    page.keyboard.press("t")
    page.keyboard.press("6")
    expect(page.get_by_role("tab", name="History")).to_have_attribute("aria-selected", "true")
    changes = page.get_by_role("list", name="Changes, newest first")
    expect(changes.get_by_role("listitem").last).to_contain_text("Created")
    marks = page.get_by_role("list", name="Changes, stops and outages")
    # Changes within a minute are one mark, so that this one may be among those of other tests.
    expect(marks.get_by_role("link", name=re.compile("by admin")).first).to_be_attached()
    # A queue without quota can only be given some.
    client.apply_objects([named("ClusterQueue", "unfunded", {"namespaceSelector": {}})])
    screen.open("/queues/unfunded", "unfunded")
    expect(page.get_by_text("Nothing is pending")).to_be_visible()
    expect(page.get_by_text("No workload has been admitted yet")).to_be_visible()
    assert screen.violations() == []
    page.get_by_role("button", name="Set quota").click()
    expect(page.get_by_role("tab", name="Form")).to_have_attribute("aria-selected", "true")
    client.remove("/v1/clusterqueues/unfunded")


def test_events_are_found_by_a_text(screen: Screen, client: HeadgateClient) -> None:
    client.submit_batch([workload("found-by-text")])
    screen.open("/events", "Event log")
    page = screen.page
    page.keyboard.press("/")
    screen.type("found-by")
    page.keyboard.press("Enter")
    expect(page.get_by_text(re.compile(r"^\d+ events? found in all"))).to_be_visible()
    grid = page.get_by_role("grid", name="Events, newest first")
    expect(grid.get_by_role("row").last).to_contain_text("found-by-text")
    shown = page.get_by_role("group", name="Show as")
    shown.get_by_role("button", name="Grouped").click()
    expect(shown.get_by_role("button", name="Grouped")).to_have_attribute("aria-pressed", "true")
    assert "text=found-by" in page.url
    page.get_by_role("button", name="Columns").click()
    for name in ("Correlation", "Position"):
        page.get_by_role("menuitemcheckbox", name=name).click()
    page.keyboard.press("Escape")
    expect(grid.get_by_role("columnheader", name="Position")).to_be_visible()
    correlation = grid.get_by_role("row").last.get_by_role("link", name="request ")
    expect(correlation).to_have_attribute("href", re.compile(r"/events\?correlation="))
    # Each event has an address, and tells its cause, its effects and its payload.
    (submitted,) = client.read("/v1/events", {"type": "workload.submitted", "limit": "1"})["items"]
    screen.open(f"/events?open={submitted['position']}", "Event log")
    panel = page.get_by_role("complementary", name=f"Event {submitted['position']}")
    expect(panel.get_by_role("link", name="all events of it")).to_be_visible()
    effects = panel.get_by_role("region", name="Effects").get_by_role("listitem")
    expect(effects.filter(has_text="found-by-text").first).to_be_visible()
    expect(panel.get_by_role("region", name="event")).to_contain_text("found-by-text")
    assert screen.violations() == []
    panel.get_by_role("button", name="View at this time").click()
    expect(page).to_have_url(re.compile(f"at={submitted['position']}"))
    screen.open("/events?actor=user:absent&type=workload.submitted", "Event log")
    expect(page.get_by_text(re.compile("^actor:user:absent excludes most: "))).to_be_visible()
    page.get_by_role("main").get_by_text("Remove actor:user:absent", exact=True).click()
    expect(grid.get_by_role("row").nth(1)).to_contain_text("Submitted")


def test_a_node_shows_its_pods_use_and_history(screen: Screen, client: HeadgateClient) -> None:
    client.act(f"/v1/nodes/{HOSTS[0]}/cordon", {"reason": "a loud fan"})
    client.act(f"/v1/nodes/{HOSTS[0]}/uncordon", {"reason": "quiet again"})
    screen.open(f"/nodes/{HOSTS[0]}", HOSTS[0])
    page = screen.page
    expect(page.get_by_role("figure", name="Use in 24 h, GPU")).to_be_visible()
    history = page.get_by_role("group", name="History")
    expect(history.get_by_role("row").nth(1)).to_contain_text("quiet again")
    expect(history.get_by_role("row").nth(2)).to_contain_text("a loud fan")
