"""What a person sees and does on the page, in their words."""

import json
from pathlib import Path
from typing import Any

from playwright.sync_api import ConsoleMessage, Locator, Page, expect

FRONTEND = Path(__file__).resolve().parents[2] / "frontend"
AXE = FRONTEND / "node_modules" / "axe-core" / "axe.min.js"
STOP_CLOCK = "() => { const at = Date.now(); window.now = Date.now; Date.now = () => at; }"
MILLISECONDS_TO_APPEAR = 120_000
"""How long a text may take to appear; other tests may keep the machine busy."""

MAX_ROWS = 60
SMALL_TARGETS = """
(pixels) => {
  const controls = 'a[href], button, input, select, textarea, summary, [role=tab], [role=option],'
    + ' [role=menuitem], [role=menuitemcheckbox]';
  const besides = '.cm-editor, [inert], [aria-hidden=true], [data-placed], .visually-hidden';
  const isInSentence = (element) => {
    if (element.tagName !== 'A' || getComputedStyle(element).display !== 'inline') return false;
    const beside = [...element.parentElement.childNodes];
    return beside.some((node) => node.nodeType === Node.TEXT_NODE && node.data.trim() !== '');
  };
  const isHit = (element, x, y) => {
    const hit = document.elementFromPoint(x, y);
    if (hit === null || element.contains(hit)) return hit !== null;
    return hit.tagName === 'LABEL' && hit.contains(element);
  };
  // How far from its middle it is still hit, both ways together.
  const extent = (element, x, y, alongX, most) => {
    let sum = 1;
    for (const way of [-1, 1]) {
      for (let far = 1; far <= most; far += 1) {
        if (!isHit(element, x + (alongX ? way * far : 0), y + (alongX ? 0 : way * far))) break;
        sum += 1;
      }
    }
    return sum;
  };
  const found = [];
  for (const element of document.querySelectorAll(controls)) {
    const { visibility, clipPath } = getComputedStyle(element);
    if (visibility === 'hidden' || clipPath !== 'none' || isInSentence(element)) continue;
    if (element.closest(besides)) continue;
    const whole = element.closest('[role=row], tr, label') ?? element;
    // In the middle, as heads that stay cover rows at the upper edge.
    whole.scrollIntoView({block: 'center', inline: 'nearest'});
    const {left, top, width, height} = element.getBoundingClientRect();
    if (!element.isConnected || width <= 1 || height <= 1) continue;
    const [x, y] = [left + width / 2, top + height / 2];
    // What lies below something else cannot be pressed there.
    if (!isHit(element, x, y)) continue;
    // A pixel is lost on each side where the browser rounds.
    const [wide, high] = [true, false].map((way) => extent(element, x, y, way, pixels));
    if (wide >= pixels - 2 && high >= pixels - 2) continue;
    const name = element.getAttribute('aria-label') ?? element.innerText ?? '';
    found.push(`${element.tagName.toLowerCase()} "${name.trim().slice(0, 40)}" ${wide}x${high}`);
  }
  return [...new Set(found)];
}
"""
"""What can be pressed and is smaller; links within sentences may be, and what stands
on a map or a time axis close to its neighbors, as WCAG 2.5.8 says."""


class Screen:
    """One tab on the page, which the first page it opens signs in if there is a token."""

    def __init__(self, page: Page, url: str, token: str = "") -> None:
        self.page = page
        self.url = url
        self._token = token
        self.complaints: list[str] = []
        page.on("console", self._listen)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))

    def open(self, path: str, title: str) -> None:
        """Go to a page by its address and wait for its heading, if it has one."""
        self.go(path)
        if title:
            expect(self.page.get_by_role("heading", level=1, name=title)).to_be_visible()
        self.wait_until_settled()

    def go(self, path: str) -> None:
        """Go to a page by its address only; the first address has the token, as one is given it."""
        given, self._token = self._token, ""
        self.page.goto(f"{self.url}{path}#token={given}" if given else f"{self.url}{path}")

    def wait_until_live(self) -> None:
        """Wait for the stream to be connected."""
        expect(self.freshness).to_have_attribute("data-link", "connected")

    def wait_until_settled(self) -> None:
        """Wait until nothing is loading any more."""
        self.wait_until_live()
        expect(self.page.get_by_role("status", name="Loading")).to_have_count(0)

    def resize(self, width: int, height: int) -> None:
        """Change the window, and wait until rows stand where it leaves room for them."""
        self.page.set_viewport_size({"width": width, "height": height})
        # What observes sizes changes the page in a frame, and is drawn in the next one.
        self.page.evaluate(
            "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
        )
        self.wait_until_settled()

    @property
    def freshness(self) -> Locator:
        """The badge that says how fresh everything is."""
        return self.page.get_by_test_id("freshness")

    def row(self, text: str) -> Locator:
        """The row of a table that has a text in it."""
        return self.page.get_by_role("row").filter(has_text=text)

    def reach(self, text: str) -> Locator:
        """The row of a table that has a text in it, once keys have reached it from above."""
        row = self.row(text).first
        expect(row).to_be_visible()
        for _ in range(MAX_ROWS):
            self.page.keyboard.press("j")
            if row.get_attribute("data-active") is not None:
                return row
        raise AssertionError(f"no row with {text} was reached")

    def let_in(self) -> None:
        """Press the button that lets new rows in, if anything waits behind it."""
        button = self.page.get_by_role("button", name="new")
        expect(button).to_be_visible()
        button.click()

    def press_pair(self, first: str, second: str) -> None:
        """Press two keys as fast as a person, however busy the machine is."""
        self.page.evaluate(STOP_CLOCK)
        self.page.keyboard.press(first)
        self.page.keyboard.press(second)
        self.page.evaluate("() => { Date.now = window.now; }")

    def type(self, text: str) -> None:
        """Type into the field that has the focus, or is about to have it."""
        expect(self.page.locator("input:focus, textarea:focus")).to_be_visible()
        self.page.keyboard.type(text)

    def phases(self) -> dict[str, str]:
        """Every workload in the list with its phase as it is written there."""
        rows = self.page.get_by_role("row").filter(has=self.page.get_by_role("gridcell"))
        found = [row.get_by_role("gridcell").all_inner_texts() for row in rows.all()]
        return {cells[2].replace("\n", ""): cells[1].strip() for cells in found}

    def violations(self) -> list[str]:
        """What axe-core finds."""
        # Given to the page by the debugger, so that the content policy stays as it is.
        self.page.evaluate(AXE.read_text() + "; undefined")
        found: Any = self.page.evaluate("axe.run(document, {resultTypes: ['violations']})")
        return [
            f"{violation['id']}: {json.dumps([node['target'] for node in violation['nodes']][:3])}"
            for violation in found["violations"]
        ]

    def _listen(self, message: ConsoleMessage) -> None:
        if message.type in {"error", "warning"}:
            self.complaints.append(message.text)


def written_in(editor: Locator) -> str:
    """The text of an editor, line by line."""
    return "\n".join(line.rstrip("\n") for line in editor.locator(".cm-line").all_inner_texts())
