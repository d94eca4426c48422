"""`python -m tests.browser.screenshots`: a picture of every page, for eyes to look at.

It runs the demo for a while, opens each page once, and takes it light and dark at three widths; one
contact sheet shows all. `--url` takes the address that `headgate up` prints instead of a demo.
"""

import argparse
import html
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urldefrag

from playwright.sync_api import Page, expect, sync_playwright

from headgate.client.client import HeadgateClient
from headgate.client.transport import Connection
from tests.browser.conftest import client_of, launch, new_context, token_of
from tests.browser.every_page import every_page
from tests.browser.screen import FRONTEND, MILLISECONDS_TO_APPEAR, Screen
from tests.processes.up import services

WIDTHS = {390: 844, 1024: 768, 1440: 900}
"""Widths of the window to its smallest height."""
PICTURES = FRONTEND / "test-results" / "screenshots"
MAX_HEIGHT = 2_000
SCHEMES = ("light", "dark")
MILLISECONDS_FOR_SHEET = 180_000
THUMBNAIL = 240
STYLE = (
    f"img {{width: {THUMBNAIL}px; margin: 4px; vertical-align: top}} h2 {{font: 16px sans-serif}}"
)
PAGES_HEIGHT = """
(() => {
  const main = document.querySelector('main');
  const beside = window.innerHeight - (main ? main.clientHeight : window.innerHeight);
  return beside + (main ? main.scrollHeight : document.documentElement.scrollHeight);
})()
"""


def main() -> None:
    """Write the pictures and the contact sheet, and say where."""
    parser = argparse.ArgumentParser("python -m tests.browser.screenshots", description=__doc__)
    parser.add_argument("--directory", type=Path, default=PICTURES)
    parser.add_argument("--url", help="the address of an installation, as `headgate up` prints it")
    parser.add_argument(
        "--seconds", type=float, default=120.0, help="for which the demo runs first"
    )
    parser.add_argument("--only", default="", help="names of pages, by comma")
    asked = parser.parse_args()
    asked.directory.mkdir(parents=True, exist_ok=True)
    expect.set_options(timeout=MILLISECONDS_TO_APPEAR)
    with _installation(asked.url, asked.seconds) as (url, token), sync_playwright() as playwright:
        with HeadgateClient(Connection(url=url, token=token, source="screenshots")) as client:
            pages = every_page(client)
        only = {name for name in asked.only.split(",") if name}
        browser = launch(playwright)
        screen = Screen(new_context(browser).new_page(), url)
        screen.page.goto(f"{url}/#token={token}")
        screen.wait_until_live()
        for name, (address, title) in pages.items():
            if not only or name in only:
                _photograph(screen, address, title, asked.directory / name)
        sheet = _contact_sheet(browser.new_page(), asked.directory)
        browser.close()
    pictures = len(list(asked.directory.glob("*-*-*.png")))
    sys.stdout.write(f"pictures {pictures}, contact sheet {sheet}\n")


@contextmanager
def _installation(address: str | None, seconds: float) -> Iterator[tuple[str, str]]:
    """The address and the admin's token."""
    if address:
        url, token = urldefrag(address)
        yield url.rstrip("/"), token.removeprefix("token=")
        return
    with services() as up:
        up.start("--demo")
        time.sleep(seconds)
        with client_of(up) as client:
            client.ask_for_backtest(b"", {"from": "1"})
            _simulate(client)
        yield up.url, token_of(up)
        up.stop()


def _simulate(client: HeadgateClient) -> None:
    """Records what the cordon of a host and the end of a workload would do."""
    (node,) = client.read("/v1/nodes", {"limit": "1"})["items"]
    (workload,) = client.read("/v1/workloads", {"limit": "1", "phase": "Running"})["items"]
    metadata = workload["metadata"]
    client.simulate(b"", {"cordon": node["metadata"]["name"], "record": "true"})
    ended = f"workload/{metadata['namespace']}/{metadata['name']}"
    client.simulate(b"", {"delete": ended, "record": "true", "title": "If one had ended"})


def _photograph(screen: Screen, address: str, title: str, stem: Path) -> None:
    """One page in every scheme and width, from one load."""
    page = screen.page
    screen.open(address, title)
    for width, height in WIDTHS.items():
        page.set_viewport_size({"width": width, "height": height})
        tall = min(max(int(page.evaluate(PAGES_HEIGHT)), height), MAX_HEIGHT)
        page.set_viewport_size({"width": width, "height": tall})
        for scheme in SCHEMES:
            page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
            screen.wait_until_settled()
            page.screenshot(path=stem.with_name(f"{stem.name}-{width}-{scheme}.png"))


def _contact_sheet(page: Page, directory: Path) -> Path:
    """All pictures side by side, a row for each page."""
    rows: dict[str, list[str]] = {}
    for path in sorted(directory.glob("*-*-*.png")):
        name = path.stem.rsplit("-", 2)[0]
        rows.setdefault(name, []).append(f"<img src='{path.name}' alt='{path.stem}'>")
    lines = [f"<h2>{html.escape(name)}</h2><p>{''.join(rows[name])}</p>" for name in sorted(rows)]
    sheet = directory / "index.html"
    head = f"<!doctype html><title>Headgate</title><style>{STYLE}</style>"
    sheet.write_text(head + "".join(lines))
    across = (THUMBNAIL + 8) * len(WIDTHS) * len(SCHEMES) + 16
    page.set_viewport_size({"width": across, "height": 800})
    page.goto(sheet.as_uri())
    picture = directory / "contact-sheet.png"
    page.screenshot(path=picture, full_page=True, timeout=MILLISECONDS_FOR_SHEET)
    return picture


if __name__ == "__main__":
    main()
