"""The policy lab: quotas are moved, the past is replayed with them, and a change is checked."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import APIResponse, Locator, Route, expect

from headgate.cli.commands.wait import goal_of, wait_for
from headgate.client.client import HeadgateClient
from tests.browser.cluster import API_VERSION, NAMESPACE, Object
from tests.browser.conftest import client_of
from tests.browser.hands import Keyboard, Pointer
from tests.browser.screen import Screen
from tests.processes.up import Up

pytestmark = pytest.mark.browser

QUEUE = "tuned"
PENDING = f"{NAMESPACE}/waits"
SLIDER = f"Nominal quota of {QUEUE}, {QUEUE}"


def _object(kind: str, spec: Object, namespace: str = "") -> Object:
    metadata = {"name": QUEUE, **({"namespace": namespace} if namespace else {})}
    return {"apiVersion": API_VERSION, "kind": kind, "metadata": metadata, "spec": spec}


def _queue(cores: str) -> Object:
    flavors = [{"name": QUEUE, "resources": [{"name": "cpu", "nominalQuota": cores}]}]
    groups = [{"coveredResources": ["cpu"], "flavors": flavors}]
    return _object("ClusterQueue", {"namespaceSelector": {}, "resourceGroups": groups})


def _workload(name: str) -> Object:
    container = {"name": "main", "resources": {"requests": {"cpu": "2"}}}
    pods = {"name": "main", "count": 1, "template": {"spec": {"containers": [container]}}}
    made = _object("Workload", {"queueName": QUEUE, "podSets": [pods]}, NAMESPACE)
    return {**made, "metadata": {"name": name, "namespace": NAMESPACE}}


@pytest.fixture
def waits(headgate: Up) -> Iterator[None]:
    """A queue of two cores that a workload uses, and another workload that waits for them."""
    with client_of(headgate) as client:
        client.apply_objects(
            [
                _object("ResourceFlavor", {}),
                _queue("2"),
                _object("LocalQueue", {"clusterQueue": QUEUE}, NAMESPACE),
            ]
        )
        client.submit_batch([_workload("runs")])
        wait_for(client, f"{NAMESPACE}/runs", goal_of("condition=Admitted"), 60)
        client.submit_batch([_workload("waits")])
        yield
        for name in ("runs", "waits"):
            client.remove(f"/v1/namespaces/{NAMESPACE}/workloads/{name}")


def _cores(client: HeadgateClient) -> str:
    spec: dict[str, Any] = client.read(f"/v1/clusterqueues/{QUEUE}")["spec"]
    return str(spec["resourceGroups"][0]["flavors"][0]["resources"][0]["nominalQuota"])


def _outcome(screen: Screen) -> Locator:
    """The replay of what is tried, once it is done."""
    result = screen.page.get_by_role("region", name="Result, actual → backtest")
    expect(result.get_by_text("Backtest done")).to_be_visible()
    return result


def test_policy_lab_replays_a_moved_quota_and_checks_the_applied_one(
    screen: Screen, client: HeadgateClient, waits: None
) -> None:
    """Line 9: a moved slider is replayed, its chart is a table too, and what is applied checked."""
    page = screen.page
    # Opened from a queue, the lab begins with the quota of that queue.
    screen.open(f"/queues/{QUEUE}", QUEUE)
    page.get_by_role("button", name=f"Actions on {QUEUE}").click()
    page.get_by_role("menuitem", name="Open in policy lab").click()
    slider = page.get_by_role("slider", name=SLIDER)
    expect(slider).to_be_focused()
    expect(page.get_by_label("Resource")).to_have_value("cpu")
    for key, cores in (("ArrowRight", "3"), ("ArrowLeft", "2"), ("Shift+ArrowRight", "10")):
        slider.press(key)
        expect(slider).to_have_value(cores)
    result = _outcome(screen)
    expect(page).to_have_url(re.compile(r"set=tuned"))
    expect(result.get_by_text(re.compile("1 only in the backtest"))).to_be_visible()
    expect(result.get_by_label("Use of")).to_have_value(QUEUE)
    result.get_by_role("button", name=f"CPU of {QUEUE}: show table").click()
    table = result.get_by_role("group", name=f"CPU of {QUEUE}")
    expect(table.get_by_role("row").first).to_contain_text(re.compile("Time.*backtest.*actual"))
    assert _cores(client) == "2"
    # On a phone quotas are fields, and each queue has a card.
    page.set_viewport_size({"width": 390, "height": 844})
    expect(slider).to_be_hidden()
    expect(page.get_by_label(f"{SLIDER}, number")).to_have_value("10")
    cards = result.get_by_role("list", name="Waits and preemptions by queue")
    expect(cards.get_by_role("listitem").filter(has_text=QUEUE)).to_contain_text("Wait p95")
    assert screen.violations() == []
    page.set_viewport_size({"width": 1440, "height": 900})

    page.get_by_role("button", name="Apply…").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_text("Now: 1 start")).to_be_visible()
    dialog.get_by_label("Reason").fill("one of them waits")
    assert screen.violations() == []
    held: list[tuple[Route, APIResponse]] = []
    page.route("**/v1/apply?*", lambda route: held.append((route, route.fetch())))
    # The queues are read anew, as the change is in the log, before the page has the answer.
    with page.expect_response(re.compile(r"/v1/clusterqueues\?")):
        dialog.get_by_role("button", name="Apply", exact=True).click()
    for route, response in held:
        route.fulfill(response=response)
    applied = page.get_by_role("region", name="Applied change")
    expect(applied).to_contain_text("in 1 d")
    expect(applied).to_contain_text("nominal 2 → 10 CPU")
    predicted = page.get_by_role("region", name="Predictions and checks")
    expect(predicted.get_by_role("row").filter(has_text=QUEUE)).to_contain_text("Not due")
    assert _cores(client) == "10"
    assert screen.violations() == []


@pytest.mark.nightly
@pytest.mark.parametrize("hand", [Pointer, Keyboard])
def test_story_of_an_admin_from_a_planned_quota_to_its_rollback(
    screen: Screen, client: HeadgateClient, waits: None, hand: type[Pointer | Keyboard]
) -> None:
    """Planned in the policy lab, applied with a check of its prediction, and rolled back."""
    page, does = screen.page, hand(screen.page)
    screen.open("/", "Overview")
    screen.press_pair("g", "l")
    expect(page.get_by_role("heading", level=1, name="Policy lab")).to_be_visible()
    does.choose(page.get_by_label("Resource"), "cpu")
    does.write(page.get_by_label(f"{SLIDER}, number"), "4")
    expect(_outcome(screen).get_by_role("row").filter(has_text=QUEUE)).to_be_visible()
    does.press(page.get_by_role("button", name="Apply…"))
    dialog = page.get_by_role("dialog")
    does.write(dialog.get_by_label("Reason"), "one of them waits")
    does.press(dialog.get_by_role("button", name="Apply", exact=True))
    applied = page.get_by_role("region", name="Applied change")
    expect(applied).to_contain_text("nominal 2 → 4 CPU")
    wait_for(client, PENDING, goal_of("condition=Admitted"), 60)

    does.press(applied.get_by_role("button", name="Roll back…"))
    expect(dialog.get_by_text("Now: 0 start")).to_be_visible()
    does.write(dialog.get_by_label("Reason"), "the budget says two")
    does.press(dialog.get_by_role("button", name="Roll back", exact=True))
    expect(page.get_by_text("1 ClusterQueue rolled back")).to_be_visible()
    assert _cores(client) == "2"
    expect(page.get_by_role("slider", name=SLIDER)).to_have_value("2")
