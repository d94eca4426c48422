"""The first page answers in five seconds, and nothing on it moves while the log grows."""

import re
from datetime import datetime

import pytest
from playwright.sync_api import Route, expect

from headgate.client.client import HeadgateClient
from tests.browser.cleanup import clear
from tests.browser.cluster import GPU, LENDER, NAMESPACE, QUEUE, workload
from tests.browser.screen import Screen
from tests.processes.programs import wait_until

pytestmark = pytest.mark.browser

MAX_LAYOUT_SHIFT = 0.02
WATCH_SHIFTS = """
window.shifts = 0;
new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) if (!entry.hadRecentInput) window.shifts += entry.value;
}).observe({type: 'layout-shift', buffered: true});
"""


def admit(client: HeadgateClient, name: str) -> None:
    """Submit a workload of one GPU, and wait until it has its quota."""
    client.submit_batch([workload(name)])
    path = f"/v1/namespaces/{NAMESPACE}/workloads/{name}"
    wait_until(lambda: client.read(path)["status"]["phase"] == "Starting", f"{name} is admitted")


def test_overview_answers_in_five_seconds_and_does_not_shift(
    screen: Screen, client: HeadgateClient
) -> None:
    """Line 2: figures, causes with their impact, queues, changes on the chart, and a brush."""
    # Figures are those of all work, and other tests of this file leave some.
    clear(client)
    for verb in ("stop", "resume"):
        client.act(f"/v1/clusterqueues/{LENDER}/{verb}", {"reason": "budget review"})
    admit(client, "shown-first")
    client.submit_batch([workload("never", gpus=99)])
    # In its first second it has cost nothing yet.
    wait_until(
        lambda: any(
            one["kind"] == "NeverStarts" and one["gpuSeconds"] > 0
            for one in client.read("/v1/attention")["causes"]
        ),
        "the alert is there",
    )
    screen.page.add_init_script(WATCH_SHIFTS)
    screen.open("/?last=5m", "Overview")
    page = screen.page
    figures = page.get_by_role("list", name="Figures")
    expect(figures).to_contain_text("1 of 8 GPU")
    expect(figures).to_contain_text("99 GPU")
    expect(figures).to_contain_text("1 workload")
    # It is compared with the beginning of the range.
    change = re.compile("1 workload, ([+\u2212]\\d+ in|as) \\d+ [smh]")
    expect(figures).to_contain_text(change)
    causes = page.get_by_role("region", name="Needs attention")
    cause = causes.get_by_role("listitem").filter(has_text="never is unschedulable")
    (told,) = [
        one for one in client.read("/v1/attention")["causes"] if one["kind"] == "NeverStarts"
    ]
    expect(cause).to_contain_text(str(told["count"]))
    assert told["gpuSeconds"] > 0
    expect(cause).to_contain_text("GPU-h")
    changes = page.get_by_role("list", name="Changes, stops and outages").get_by_role("link")
    expect(changes.and_(page.get_by_role("link", name=LENDER)).first).to_be_attached()
    queues = page.get_by_role("region", name="Queues")
    row = queues.get_by_role("row").filter(has=page.get_by_role("link", name=QUEUE, exact=True))
    expect(row).to_contain_text("1/4")
    for head in ("Borrowed", "Pending", "Wait p95", "Oldest"):
        expect(queues.get_by_role("columnheader", name=head)).to_be_visible()
    expect(queues.get_by_role("row").filter(has_text=LENDER)).to_contain_text("0/4")
    # While the log grows every figure stays where it is.
    for number in range(3):
        admit(client, f"shown-{number}")
        expect(row).to_contain_text(f"{number + 2}/4")
    assert page.evaluate("window.shifts") <= MAX_LAYOUT_SHIFT
    assert screen.violations() == []
    _a_chart_has_a_table_and_a_brush(screen, client)
    # On a phone a queue has two lines, and the chart shows use alone.
    page.set_viewport_size({"width": 390, "height": 844})
    line = queues.get_by_role("listitem").filter(has_text=QUEUE)
    expect(line).to_contain_text(re.compile(r"\d/4.*pending.*p95 .*oldest"))
    expect(page.get_by_role("figure", name="Pending demand")).to_be_hidden()
    assert screen.violations() == []


def test_the_chart_is_grouped_as_chosen_and_filtered_by_a_queue(
    screen: Screen, client: HeadgateClient
) -> None:
    """§2.1: *By*, labels at the right edge, and an area that filters by its queue."""
    clear(client)
    admit(client, "grouped-first")
    screen.open("/?last=5m", "Overview")
    page = screen.page
    figures = page.get_by_role("list", name="Figures")
    expect(figures).to_contain_text(re.compile(r"cycle p95 [\d,.]+ ms"))
    expect(figures).to_contain_text("executors 0 of 0, lag 0.0 s")
    unit = GPU.rpartition("/")[2].upper()
    page.get_by_role("combobox", name="By", exact=True).select_option("flavor")
    expect(page).to_have_url(re.compile("by=flavor"))
    by_flavor = page.get_by_role("figure", name=f"In use by flavor, {unit}")
    expect(by_flavor.get_by_role("list", name="Areas")).to_contain_text("a100")
    assert screen.violations() == []
    page.get_by_role("combobox", name="By", exact=True).select_option("clusterQueue")
    chart = page.get_by_role("figure", name=f"In use by ClusterQueue, {unit}")
    label = chart.get_by_role("list", name="Areas").get_by_role("button", name=QUEUE)
    expect(label).to_contain_text("1")
    label.click()
    expect(page).to_have_url(re.compile(f"queue={QUEUE}"))
    expect(page.get_by_text(f"In use of ClusterQueue {QUEUE}, {unit}")).to_be_visible()
    expect(figures).to_contain_text("1 of 4 GPU")
    queues = page.get_by_role("region", name="Queues")
    expect(queues.get_by_role("row").filter(has_text=LENDER)).to_have_count(0)
    # The area itself is chosen as its label is: what is lowest in the plot is the queue.
    page.get_by_role("button", name=f"Remove filter ClusterQueue {QUEUE}").click()
    expect(figures).to_contain_text("1 of 8 GPU")
    plot = chart.locator(".u-over")
    box = plot.bounding_box()
    assert box is not None
    plot.click(position={"x": box["width"] - 2, "y": box["height"] - 3})
    expect(page).to_have_url(re.compile(f"queue={QUEUE}"))
    # Without any quota there are three steps to begin with instead.
    page.route("**/v1/usage?*", _without_quota)
    screen.open("/", "Overview")
    steps = page.get_by_role("main").get_by_role("listitem").filter(has_text="headgate")
    expect(steps).to_have_count(3)
    expect(steps.get_by_role("link", name="paste manifests")).to_be_visible()
    expect(page.get_by_role("combobox", name="Resource")).to_have_count(0)
    assert screen.violations() == []


def _without_quota(route: Route) -> None:
    """The history of an installation in which no queue has quota."""
    answer = route.fetch()
    route.fulfill(response=answer, json={**answer.json(), "resources": [], "points": []})


def test_use_of_a_queue_is_shown_from_where_a_young_log_begins(
    screen: Screen, client: HeadgateClient
) -> None:
    screen.open(f"/queues/{QUEUE}?view=usage", QUEUE)
    since = screen.page.get_by_text(re.compile("^(Log since|no data before) "))
    expect(since.first).to_be_visible()
    told = client.read(f"/v1/clusterqueues/{QUEUE}/usage", {"points": "2"})
    chart = screen.page.get_by_role("slider", name="In use", exact=False).first
    chart.focus()
    chart.press("Home")
    # The first point of the whole range is a day ago; that of the chart is as old as the log.
    began = datetime.fromisoformat(told["dataSince"]).astimezone()
    first = re.compile(f"^{began.day} \\w+, {began:%H:%M}:")
    expect(chart).to_have_attribute("aria-valuetext", first)


def test_waits_of_a_queue_are_a_histogram_that_is_a_table_as_well(
    screen: Screen, client: HeadgateClient
) -> None:
    admit(client, "waited")
    screen.open(f"/queues/{QUEUE}?view=waits", QUEUE)
    page = screen.page
    expect(page.get_by_role("img", name=re.compile(r"^Wait p50 \d+ \w+, p95 \d"))).to_be_visible()
    page.get_by_role("button", name="Table", exact=True).click()
    rows = page.get_by_role("group", name="Wait times").get_by_role("row")
    counts = [int(text) for text in rows.locator("td:nth-of-type(1)").all_inner_texts()]
    told = client.read("/v1/waits", {"clusterQueue": QUEUE})
    assert sum(counts) == told["waits"] >= 1
    shown = [bucket["count"] for bucket in told["buckets"]]
    assert counts == shown[: len(counts)], "each bucket has its row"


def _a_chart_has_a_table_and_a_brush(screen: Screen, client: HeadgateClient) -> None:
    page = screen.page
    used = f"In use by ClusterQueue, {GPU.rpartition('/')[2].upper()}"
    page.get_by_role("button", name=f"{used}: show table").click()
    table = page.get_by_role("group", name=used)
    newest = table.get_by_role("row").nth(1)
    points = client.read("/v1/usage", {"resource": GPU})["points"]
    told = {one["clusterQueue"]: one["used"] for one in points[-1]["queues"]}
    expect(newest).to_contain_text(str(told[QUEUE]))
    page.get_by_role("button", name=f"{used}: show chart").click()
    chart = page.get_by_role("slider", name=f"{used}: time")
    chart.focus()
    for key in ("End", "Shift+ArrowLeft", "Enter"):
        page.keyboard.press(key)
    expect(page).to_have_url(re.compile("from=.*to="))
