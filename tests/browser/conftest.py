"""One installation and one browser for all tests of the page, a fresh tab for each."""

import shutil
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, Playwright, expect, sync_playwright

from headgate.client.client import HeadgateClient
from headgate.client.transport import Connection
from tests.browser.cleanup import clear
from tests.browser.cluster import configuration
from tests.browser.screen import MILLISECONDS_TO_APPEAR, Screen
from tests.processes.up import Up, services

# The first has no window and costs a third of the others' processor time.
NAMES = (
    "chromium-headless-shell", "chromium", "chromium-browser", "google-chrome",
    "google-chrome-stable",
)  # fmt: skip
# A browser that reaches no host but the page's own server, and that root may run.
ARGUMENTS = (
    "--no-sandbox",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--no-default-browser-check",
)


# For the folder as the browser is: its processes would work on beside all other tests.
@pytest.fixture(scope="package")
def headgate() -> Iterator[Up]:
    """All of Headgate, with the small cluster in it."""
    with services() as up:
        up.start()
        with client_of(up) as client:
            applied = client.apply_objects(configuration())
            assert not [result for result in applied.results if result.outcome == "rejected"]
        yield up
        up.stop()


@pytest.fixture(scope="module", autouse=True)
def left_as_found(headgate: Up) -> Iterator[None]:
    """Whatever the tests of a file leave behind is taken away before those of the next begin."""
    yield
    with client_of(headgate) as client:
        clear(client)


@pytest.fixture
def client(headgate: Up) -> Iterator[HeadgateClient]:
    """The API as the admin."""
    with client_of(headgate) as found:
        yield found


# Not for the session: while Playwright is at work, other tests of the process cannot use asyncio.
@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """The machine's own browser."""
    expect.set_options(timeout=MILLISECONDS_TO_APPEAR)
    with sync_playwright() as playwright:
        launched = launch(playwright)
        yield launched
        launched.close()


def launch(playwright: Playwright) -> Browser:
    """Start the machine's own browser."""
    found = next((path for name in NAMES if (path := shutil.which(name))), None)
    assert found, "No browser is installed: apt-get install chromium"
    return playwright.chromium.launch(executable_path=found, args=list(ARGUMENTS))


@pytest.fixture(scope="module")
def profile(browser: Browser, headgate: Up) -> Iterator[BrowserContext]:
    """A browser context for all tests of a file, so that the page is fetched and compiled once."""
    context = new_context(browser)
    yield context
    context.close()


@pytest.fixture
def tab(profile: BrowserContext) -> Iterator[BrowserContext]:
    """A browser context without stored data and without tabs."""
    yield profile
    profile.set_offline(offline=False)
    for page in profile.pages:
        # An answer that a test changes may still be fetched.
        page.unroute_all(behavior="ignoreErrors")
        if page.url.startswith("http"):
            page.evaluate("localStorage.clear()")
        page.close()


@pytest.fixture
def screen(tab: BrowserContext, headgate: Up) -> Iterator[Screen]:
    """A tab of the admin, signed in by the first page that a test opens.

    Each load takes a second of processor time. A complaint in the console fails the test.
    """
    found = sign_in(tab.new_page(), headgate)
    yield found
    assert found.complaints == []


@pytest.fixture
def overview(screen: Screen) -> Screen:
    """The page as it is once the admin has signed in."""
    screen.open("/", "Overview")
    return screen


def new_context(browser: Browser, scheme: str = "light") -> BrowserContext:
    """A separate browser profile; motion is off so that nothing is waited for in vain."""
    context = browser.new_context(
        viewport={"width": 1440, "height": 900},
        color_scheme="dark" if scheme == "dark" else "light",
        reduced_motion="reduce",
    )
    context.set_default_timeout(MILLISECONDS_TO_APPEAR)
    return context


def sign_in(page: Page, up: Up) -> Screen:
    """A tab whose first page has the admin's token in its address, as `headgate up` prints it."""
    return Screen(page, up.url, token_of(up))


def token_of(up: Up) -> str:
    """The admin's token."""
    return (up.data / "admin-token").read_text().strip()


def client_of(up: Up) -> HeadgateClient:
    """The API as the admin."""
    return HeadgateClient(Connection(url=up.url, token=token_of(up), source="test"))
