"""A page that is only watched costs the server little, however much happens."""

import pytest
from playwright.sync_api import Request, expect

from headgate.client.client import HeadgateClient
from tests.browser.cluster import NAMESPACE, workload
from tests.browser.screen import Screen

pytestmark = pytest.mark.browser

SECONDS_UNTIL_IDLE = 21
STEPS = 20
SECONDS_OF_STEP = 3
MAX_REQUESTS_PER_MINUTE = 12
MAX_SPOKEN_PER_MINUTE = 7
COUNT_SPOKEN = """
window.spoken = [];
const region = document.querySelector('main [role=status]');
new MutationObserver(() => window.spoken.push(region.textContent)).observe(
  region, {characterData: true, childList: true, subtree: true});
"""


def test_an_idle_viewer_of_a_busy_page_sends_at_most_12_requests_a_minute(
    screen: Screen, client: HeadgateClient
) -> None:
    """Line 12: changes are coalesced, and the last one is shown."""
    client.submit_batch([workload("busy", gpus=99)])
    path = f"/v1/namespaces/{NAMESPACE}/workloads/busy"
    screen.page.clock.install()
    screen.open("/workloads?name=busy", "Workloads")
    expect(screen.row("busy")).to_be_visible()
    sent: list[str] = []

    def note(request: Request) -> None:
        if "/v1/" in request.url and "/v1/stream" not in request.url:
            sent.append(request.url)

    screen.page.clock.run_for(SECONDS_UNTIL_IDLE * 1_000)
    screen.wait_until_settled()
    screen.page.on("request", note)
    screen.page.evaluate(COUNT_SPOKEN)
    for step in range(STEPS):
        client.act(f"{path}/{'release' if step % 2 else 'hold'}", {"reason": "busy"})
        client.submit_batch([workload(f"busy-{step}", gpus=99)])
        screen.page.clock.run_for(SECONDS_OF_STEP * 1_000)
    assert 1 <= len(sent) <= MAX_REQUESTS_PER_MINUTE, sent
    assert 1 <= len(screen.page.evaluate("window.spoken")) <= MAX_SPOKEN_PER_MINUTE
    # What is held back is still shown: the last change comes with the next refresh.
    client.act(f"{path}/hold", {"reason": "the last"})
    for _ in range(STEPS):
        screen.page.clock.run_for(SECONDS_OF_STEP * 1_000)
        if screen.row("busy").get_by_text("On hold").count():
            break
    expect(screen.row("busy")).to_contain_text("On hold")
