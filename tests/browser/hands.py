"""Two ways to use the page: with a pointer, and by keyboard alone."""

from playwright.sync_api import Locator, Page, expect

MAX_TABS = 200


class Pointer:
    """Clicks what it uses."""

    def __init__(self, page: Page) -> None:
        self._page = page

    def press(self, control: Locator) -> None:
        """Use a button or a link."""
        control.click()

    def write(self, field: Locator, text: str) -> None:
        """Replace what a field says."""
        field.fill(text)

    def choose(self, field: Locator, option: str) -> None:
        """Choose one of the options of a field."""
        field.select_option(option)

    def tab(self, _current: Locator, wanted: Locator) -> None:
        """Show another tab of a page."""
        wanted.click()


class Keyboard:
    """Reaches everything in the order of focus."""

    def __init__(self, page: Page) -> None:
        self._page = page

    def press(self, control: Locator) -> None:
        """Use a button or a link."""
        self._reach(control)
        self._page.keyboard.press("Enter")

    def write(self, field: Locator, text: str) -> None:
        """Replace what a field says."""
        self._reach(field)
        self._page.keyboard.press("Control+a")
        self._page.keyboard.press("Delete")
        self._page.keyboard.type(text)

    def choose(self, field: Locator, option: str) -> None:
        """Choose one of the options of a field by the beginning of its name."""
        self._reach(field)
        self._page.keyboard.type(option)
        expect(field).to_have_value(option)

    def tab(self, current: Locator, wanted: Locator) -> None:
        """Show another tab of a page: the arrow keys go from one to the next."""
        self._reach(current)
        for _ in range(MAX_TABS):
            if wanted.get_attribute("aria-selected") == "true":
                return
            self._page.keyboard.press("ArrowRight")
        raise AssertionError(f"no arrow key leads to {wanted}")

    def _reach(self, control: Locator) -> None:
        expect(control).to_be_visible()
        for _ in range(MAX_TABS):
            if control.evaluate("element => element === document.activeElement"):
                return
            self._page.keyboard.press("Tab")
        raise AssertionError(f"the Tab key does not lead to {control}")
