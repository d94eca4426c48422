"""The page follows the log, and what people do on it is in the log."""

import subprocess
import time
from collections.abc import Callable
from typing import Literal

import pytest
from playwright.sync_api import Browser, expect

from headgate.client.client import HeadgateClient
from headgate.client.schemas import Report
from tests.browser.cluster import NAMESPACE, workload
from tests.browser.conftest import new_context, sign_in, token_of
from tests.browser.screen import Screen
from tests.processes.up import HEADGATE, Up, environment

pytestmark = pytest.mark.browser


def phase_of(client: HeadgateClient, name: str) -> str:
    """The phase by the API."""
    found = client.read(f"/v1/namespaces/{NAMESPACE}/workloads/{name}")
    return str(found["status"]["phase"])


def wait_for(is_so: Callable[[], bool], what: str) -> None:
    """Return once it is so."""
    deadline = time.monotonic() + 180
    while not is_so():
        assert time.monotonic() < deadline, f"waited in vain: {what}"
        time.sleep(0.05)


def make_ready(client: HeadgateClient, name: str) -> None:
    """Report its pods ready once it is admitted, as an executor does."""
    wait_for(lambda: phase_of(client, name) == "Starting", f"{name} is admitted")
    client.report([report(client, name, "podsReady")])


def report(client: HeadgateClient, name: str, kind: Literal["podsReady", "finished"]) -> Report:
    """What an executor says of a workload."""
    found = client.read(f"/v1/namespaces/{NAMESPACE}/workloads/{name}")
    uid, attempt = found["metadata"]["uid"], found["status"]["attempt"]
    return Report(workload=f"{NAMESPACE}/{name}", uid=uid, attempt=attempt, type=kind)


def finish(client: HeadgateClient, name: str) -> None:
    """Let it end and give its place back."""
    client.report([report(client, name, "finished")])


def test_a_submitted_workload_appears_and_becomes_running(
    screen: Screen, client: HeadgateClient
) -> None:
    client.submit_batch([workload("before")])
    screen.open("/workloads", "Workloads")
    expect(screen.row("before")).to_be_visible()
    client.submit_batch([workload("arriving")])
    screen.let_in()
    expect(screen.row("arriving")).to_be_visible()
    make_ready(client, "arriving")
    expect(screen.row("arriving")).to_contain_text("Running")
    make_ready(client, "before")
    for name in ("before", "arriving"):
        finish(client, name)
    expect(screen.row("arriving")).to_contain_text("Succeeded")


def listed_reasons(client: HeadgateClient) -> dict[str, str]:
    """The reason of each workload that does not run, as the list of the API has it."""
    query = {"minPosition": str(client.head())}
    items = client.items(f"/v1/namespaces/{NAMESPACE}/workloads", query)
    return {item["metadata"]["name"]: item["status"]["explanation"]["summary"] for item in items}


def test_every_pending_row_has_its_current_reason(screen: Screen, client: HeadgateClient) -> None:
    """Refused, equal to a refused one, unschedulable, held, and of a queue that does not exist."""
    lost = workload("reason-lost")
    lost["spec"]["queueName"] = "nowhere"
    client.submit_batch([workload("reason-fills-1", gpus=4), workload("reason-fills-2", gpus=4)])
    for name in ("reason-fills-1", "reason-fills-2"):
        make_ready(client, name)
    short = [workload("reason-short", gpus=2), workload("reason-equal", gpus=2)]
    client.submit_batch([*short, workload("reason-never", gpus=9), workload("reason-held"), lost])
    path = f"/v1/namespaces/{NAMESPACE}/workloads/reason-held/hold"
    client.act(path, {"reason": "wrong data"})
    pending = ("short", "equal", "never", "held", "lost")
    # Each is evaluated in its turn, the unschedulable one last.
    said = {"short": "short", "equal": "short", "never": "9", "lost": "nowhere"}
    told: dict[str, str] = {}

    def are_evaluated() -> bool:
        found = listed_reasons(client)
        told.update({name: found[f"reason-{name}"] for name in pending})
        return all(text in told[name] for name, text in said.items())

    wait_for(are_evaluated, "all are evaluated")

    screen.open("/workloads", "Workloads")
    for name, reason in told.items():
        expect(screen.row(f"reason-{name}")).to_contain_text(reason)
    expect(screen.row("reason-never")).to_contain_text("Unschedulable")

    # The reason of a row that stays pending follows what happens to it.
    client.act(f"/v1/namespaces/{NAMESPACE}/workloads/reason-short/hold", {"reason": "a pause"})
    expect(screen.row("reason-short")).to_contain_text("a pause")
    finish(client, "reason-fills-1")
    expect(screen.row("reason-equal")).to_contain_text("Starting")
    expect(screen.row("reason-equal")).not_to_contain_text(told["equal"])

    for name in ("reason-fills-2", "reason-equal"):
        finish(client, name)
    for name in ("short", "never", "held", "lost"):
        workload_path = f"/v1/namespaces/{NAMESPACE}/workloads/reason-{name}"
        client.act(f"{workload_path}/cancel", {"reason": "the test is over"})
    expect(screen.row("reason-lost")).to_contain_text("Cancelled")


def test_a_hold_with_its_reason_is_in_the_log(screen: Screen, client: HeadgateClient) -> None:
    client.submit_batch([workload("too-big", gpus=99)])
    screen.open(f"/workloads/{NAMESPACE}/too-big", f"{NAMESPACE}/too-big")
    screen.page.get_by_role("button", name="Hold", exact=True).click()
    dialog = screen.page.get_by_role("dialog")
    expect(dialog).to_contain_text("headgate hold")
    dialog.get_by_label("Reason").fill("wrong size")
    dialog.get_by_role("button", name="Hold", exact=True).click()
    expect(dialog).to_have_count(0)
    expect(screen.page.get_by_text("On hold", exact=True).first).to_be_visible()
    event = client.read("/v1/events", {"type": "workload.held"})["items"][0]
    assert event["reason"] == "wrong size"
    assert event["stream"] == f"workload/{NAMESPACE}/too-big"
    expect(screen.page.get_by_text("wrong size").first).to_be_visible()


def test_many_are_held_at_once_with_a_result_for_each(
    screen: Screen, client: HeadgateClient
) -> None:
    client.submit_batch([workload(f"bulk-{number}", gpus=99) for number in range(3)])
    client.act(f"/v1/namespaces/{NAMESPACE}/workloads/bulk-0/hold", {"reason": "already"})
    screen.open("/workloads?name=bulk", "Workloads")
    expect(screen.row("bulk-0")).to_contain_text("On hold")
    screen.page.get_by_role("checkbox", name="Select all loaded rows").check()
    screen.page.get_by_role("button", name="Hold 2 of 3").click()
    dialog = screen.page.get_by_role("dialog")
    expect(dialog).to_contain_text("2 of 3 will be changed")
    expect(dialog).to_contain_text("Already on hold")
    dialog.get_by_label("Reason").fill("all of them")
    dialog.get_by_role("button", name="Hold", exact=True).click()
    for number in range(3):
        expect(screen.row(f"bulk-{number}")).to_contain_text("On hold")


def test_a_browser_that_was_cut_off_shows_what_a_reload_shows(
    screen: Screen, client: HeadgateClient
) -> None:
    client.submit_batch([workload(f"cut-{number}", gpus=99) for number in range(4)])
    screen.open("/workloads?name=cut", "Workloads")
    expect(screen.row("cut-3")).to_be_visible()
    screen.page.context.set_offline(True)
    expect(screen.freshness).not_to_have_attribute("data-link", "connected")
    for verb, name in (("hold", "cut-0"), ("cancel", "cut-1"), ("deactivate", "cut-2")):
        client.act(f"/v1/namespaces/{NAMESPACE}/workloads/{name}/{verb}", {"reason": "while away"})
    screen.page.context.set_offline(False)
    screen.wait_until_live()
    for name, phase in (("cut-0", "On hold"), ("cut-1", "Cancelled"), ("cut-2", "Inactive")):
        expect(screen.row(name)).to_contain_text(phase)
    seen = screen.phases()
    screen.page.reload()
    screen.wait_until_settled()
    expect(screen.row("cut-3")).to_be_visible()
    assert screen.phases() == seen
    # The browser itself reports the requests that did not get through.
    screen.complaints = [text for text in screen.complaints if "ERR_INTERNET" not in text]


def test_a_page_that_could_not_be_fetched_leaves_the_frame_and_comes_by_itself(
    overview: Screen,
) -> None:
    overview.page.context.set_offline(True)
    expect(overview.freshness).not_to_have_attribute("data-link", "connected")
    pages = overview.page.get_by_role("navigation", name="Pages")
    pages.get_by_role("link", name="Scheduling cycles").click()
    expect(overview.page.get_by_role("alert")).to_contain_text("Can't reach the server")
    expect(pages).to_be_visible()
    overview.page.context.set_offline(False)
    expect(overview.page.get_by_role("heading", level=1, name="Scheduling cycles")).to_be_visible()
    # The browser and the router report what did not get through.
    overview.complaints.clear()


def test_two_browsers_and_the_command_line_agree_at_the_end(
    browser: Browser, headgate: Up, client: HeadgateClient
) -> None:
    contexts = [new_context(browser) for _ in range(2)]
    screens = [sign_in(context.new_page(), headgate) for context in contexts]
    names = [f"seen-{number}" for number in range(4)]
    client.submit_batch([workload("seen-first", gpus=99)])
    for screen in screens:
        screen.open("/workloads?name=seen", "Workloads")
        expect(screen.row("seen-first")).to_be_visible()
    ends = ("--type", "workload.finished", "--count", str(len(names) + 1))
    given = {"HEADGATE_URL": headgate.url, "HEADGATE_TOKEN": token_of(headgate)}
    watching = subprocess.Popen(
        [HEADGATE, "watch", *ends, "--after", str(client.head())],
        env={**environment(), **given, "NO_COLOR": "1", "PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        client.submit_batch([workload(name) for name in names])
        for name in names:
            make_ready(client, name)
            finish(client, name)
        client.act(f"/v1/namespaces/{NAMESPACE}/workloads/seen-first/cancel", {"reason": "enough"})
        for screen in screens:
            screen.let_in()
            for name in names:
                expect(screen.row(name)).to_contain_text("Succeeded")
            expect(screen.row("seen-first")).to_contain_text("Cancelled")
        first, second = (screen.phases() for screen in screens)
        assert first == second
        told, _ = watching.communicate(timeout=180)
        assert all(name in told for name in [*names, "seen-first"]), told
    finally:
        watching.kill()
        watching.wait(60)
        for context in contexts:
            context.close()
    for key, phase in first.items():
        assert phase_of(client, key.split("/")[1]) == phase
