"""`python -m tests.bench.page`: what a person waits for on the page, beside a bare static page.

Prints medians of five runs in Chromium, each with an empty cache: the time to the first row of the
workloads with its parts, the longest interaction up to the next paint, and how large the scripts of
the first page are. Then, of five viewers while workloads keep arriving: layout shift of the
overview, and requests of an idle viewer, both per minute. The yardstick is a static page of as many
rows, measured the same way. Figures of a machine with other work count for nothing; the ratio of
both pages says most.
"""

import argparse
import asyncio
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from statistics import median
from typing import Any

from playwright.sync_api import Browser, Page, Request, sync_playwright

from headgate.client.client import HeadgateClient
from headgate.client.transport import Connection
from headgate.settings import found_page
from tests.api.callers import workload
from tests.bench.installation import TOKEN, Installation, running_installation
from tests.bench.settling import until_nothing_waits
from tests.browser.conftest import launch, new_context
from tests.browser.screen import FRONTEND

BUILT = FRONTEND / "dist"
RUNS = 5
BATCH = 500
ROWS = 40
ARRIVALS_PER_SECOND = 2
SECONDS_UNTIL_IDLE = 21
PARTS = {"fetched": "scripts fetched", "asked": "rows asked", "answered": "rows answered"}
AIMS = {"first page": 1_000.0, "interaction": 100.0, "layout shift": 0.02, "requests": 12.0}
OBSERVE = """
window.seen = {row: 0, interaction: 0, shift: 0};
new PerformanceObserver((list) => {
  for (const {interactionId, duration} of list.getEntries())
    if (interactionId) window.seen.interaction = Math.max(window.seen.interaction, duration);
}).observe({type: 'event', durationThreshold: 16, buffered: true});
new PerformanceObserver((list) => {
  for (const {hadRecentInput, value} of list.getEntries())
    if (!hadRecentInput) window.seen.shift += value;
}).observe({type: 'layout-shift', buffered: true});
const look = () => {
  if (document.querySelector('[role=gridcell], td') !== null) window.seen.row = performance.now();
  else requestAnimationFrame(look);
};
look();
"""
FETCHED = """
(() => {
  const fetched = performance.getEntriesByType('resource');
  const scripts = fetched.filter((entry) => entry.name.endsWith('.js'));
  const rows = fetched.find((entry) => entry.name.includes('/v1/workload-rows'));
  return {
    scripts: scripts.map((entry) => entry.decodedBodySize),
    fetched: Math.max(...scripts.map((entry) => entry.responseEnd)),
    asked: rows.startTime,
    answered: rows.responseEnd,
  };
})()
"""
BARE = "<!doctype html><title>Bare</title><button>GPU</button><input><table>{}</table>".format(
    "".join(f"<tr><td>w-{number}</td><td>Pending</td></tr>" for number in range(ROWS))
)
BARE_SCRIPT = """
document.querySelector('button').onclick = () => document.querySelector('table').append(
  document.querySelector('tr'));
"""


def main() -> None:
    """Measure on an installation of its own, and print one line for each figure."""
    parser = argparse.ArgumentParser("python -m tests.bench.page", description=__doc__)
    parser.add_argument("--workloads", type=int, default=50_000, help="in the list that is opened")
    parser.add_argument("--seconds", type=int, default=60, help="for which viewers are idle")
    asked = parser.parse_args()
    if found_page(BUILT) is None:
        sys.exit("The page is not built: make interface")
    with (
        tempfile.TemporaryDirectory(prefix="hgb-") as directory,
        running_installation(Path(directory)) as services,
    ):
        url = f"http://127.0.0.1:{services.port}"
        with HeadgateClient(Connection(url=url, token=TOKEN, source="bench")) as client:
            _submit(client, services, asked.workloads)
            with sync_playwright() as playwright:
                browser = launch(playwright)
                opened = [_open(browser, url) for _ in range(RUNS)]
                with _bare_server() as bare:
                    yardstick = [_open_bare(browser, bare) for _ in range(RUNS)]
                idle = _watch_idle(browser, url, client, asked.seconds)
                browser.close()
    for name in ("first page", "interaction"):
        ours, theirs = _median(opened, name), _median(yardstick, name)
        _tell(name, f"{ours:,.0f} ms", ours, f"; bare page {theirs:,.0f} ms")
    parts = {name: _median(opened, name) for name in ("fetched", "asked", "answered")}
    print(
        "of the first page: "
        + ", ".join(f"{at:,.0f} ms {PARTS[name]}" for name, at in parts.items())
    )
    shift, requests = _median(idle, "layout shift"), _median(idle, "requests")
    _tell("layout shift", f"{shift:.3f} a minute", shift)
    _tell("requests", f"{requests:.1f} a minute of an idle viewer", requests)
    sizes = opened[-1]["scripts"]
    largest, whole = max(sizes) / 1_000, sum(sizes) / 1_000
    print(f"scripts: {len(sizes)} of {whole:,.0f} kB, the largest {largest:,.0f} kB")
    print(f"workloads: {asked.workloads:,}, runs: {RUNS}")


def _median(runs: list[dict[str, Any]], name: str) -> float:
    return float(median(run[name] for run in runs))


def _tell(name: str, words: str, value: float, beside: str = "") -> None:
    aim = AIMS[name]
    print(f"{name}: {words} (aim {aim:g}, {'met' if value <= aim else 'missed'}){beside}")


def _submit(client: HeadgateClient, services: Installation, count: int) -> None:
    """Submit them in batches, and wait until all are decided and the list has the last one."""
    for first in range(0, count, BATCH):
        numbers = range(first, min(first + BATCH, count))
        client.submit_batch([workload(f"w-{number}", "bench", "bench") for number in numbers])
        print(f"submitted {numbers.stop:,}", file=sys.stderr, flush=True)
    asyncio.run(until_nothing_waits(services))
    client.read("/v1/workload-rows", {"limit": "1", "minPosition": str(client.head())})


def _open(browser: Browser, url: str) -> dict[str, Any]:
    """The workloads from an empty cache: the first row, then four interactions."""
    with _fresh(browser) as page:
        page.goto(f"{url}/workloads#token={TOKEN}")
        page.get_by_role("gridcell").first.wait_for()
        fetched = page.evaluate(FETCHED)
        page.get_by_role("columnheader", name="GPU").get_by_role("button").click()
        page.get_by_role("grid").get_by_role("row").nth(2).get_by_role("gridcell").nth(4).click()
        page.get_by_role("complementary").wait_for()
        page.keyboard.press("Escape")
        page.get_by_role("combobox", name="Filter workloads").press_sequentially("w-1")
        return {**_figures(page), **fetched}


def _open_bare(browser: Browser, url: str) -> dict[str, Any]:
    with _fresh(browser) as page:
        page.goto(url)
        page.locator("td").first.wait_for()
        page.get_by_role("button").click()
        page.locator("input").press_sequentially("w-1")
        return _figures(page)


def _figures(page: Page) -> dict[str, Any]:
    """Milliseconds to the first row, and of the longest interaction; one below 16 counts as 16."""
    page.evaluate("new Promise((done) => requestAnimationFrame(() => setTimeout(done, 200)))")
    seen = page.evaluate("window.seen")
    return {"first page": seen["row"], "interaction": max(16, seen["interaction"])}


def _watch_idle(
    browser: Browser, url: str, client: HeadgateClient, seconds: int
) -> list[dict[str, float]]:
    """Layout shift and requests per minute of viewers of the overview while workloads arrive."""
    with ExitStack() as opened:
        pages = [opened.enter_context(_fresh(browser)) for _ in range(RUNS)]
        for page in pages:
            page.goto(f"{url}/#token={TOKEN}")
            page.get_by_role("list", name="Figures").wait_for()
        pages[-1].wait_for_timeout(1_000 * SECONDS_UNTIL_IDLE)
        sent = [_reads_of(page) for page in pages]
        before = [page.evaluate("window.seen.shift") for page in pages]
        until = time.monotonic() + seconds
        number = 0
        while time.monotonic() < until:
            client.submit_batch([workload(f"late-{number}", "bench", "bench")])
            number += 1
            pages[-1].wait_for_timeout(1_000 / ARRIVALS_PER_SECOND)
        after = [page.evaluate("window.seen.shift") for page in pages]
    a_minute = 60 / seconds
    return [
        {"layout shift": (after[n] - before[n]) * a_minute, "requests": len(sent[n]) * a_minute}
        for n in range(RUNS)
    ]


def _reads_of(page: Page) -> list[str]:
    """The addresses that a page asks the API for from now on, without the stream."""
    sent: list[str] = []

    def note(request: Request) -> None:
        if "/v1/" in request.url and "/v1/stream" not in request.url:
            sent.append(request.url)

    page.on("request", note)
    return sent


@contextmanager
def _fresh(browser: Browser) -> Iterator[Page]:
    """A page of a profile without anything kept, that observes itself."""
    context = new_context(browser)
    context.add_init_script(OBSERVE)
    yield context.new_page()
    context.close()


@contextmanager
def _bare_server() -> Iterator[str]:
    """The address of a static page with as many rows as the list shows."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Bare)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()


class _Bare(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = f"{BARE}<script>{BARE_SCRIPT}</script>".encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_arguments: object) -> None:
        """Requests of the yardstick are not told."""


if __name__ == "__main__":
    main()
