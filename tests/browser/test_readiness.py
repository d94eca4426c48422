"""KEP-1282's three stories, as an admin lives them on the page."""

import time
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, expect

from headgate.client.client import HeadgateClient
from headgate.client.schemas import Report
from tests.browser.cluster import API_VERSION, NAMESPACE
from tests.browser.conftest import new_context, sign_in
from tests.browser.screen import Screen
from tests.processes.up import Up

pytestmark = pytest.mark.browser

MANY = 50
Object = dict[str, Any]


def queue(name: str, flavors: dict[str, str], waits: Object) -> list[Object]:
    """A ClusterQueue of these flavors and cores, with a LocalQueue of its name."""
    given = [
        {"name": flavor, "resources": [{"name": "cpu", "nominalQuota": cores}]}
        for flavor, cores in flavors.items()
    ]
    spec = {
        "namespaceSelector": {},
        "resourceGroups": [{"coveredResources": ["cpu"], "flavors": given}],
        "waitForPodsReady": waits,
    }
    flavor_objects = [
        {"apiVersion": API_VERSION, "kind": "ResourceFlavor", "metadata": {"name": flavor}}
        for flavor in flavors
    ]
    return [
        *flavor_objects,
        {
            "apiVersion": API_VERSION,
            "kind": "ClusterQueue",
            "metadata": {"name": name},
            "spec": spec,
        },
        {
            "apiVersion": API_VERSION,
            "kind": "LocalQueue",
            "metadata": {"name": name, "namespace": NAMESPACE},
            "spec": {"clusterQueue": name},
        },
    ]


def strategy(**fields: Any) -> Object:
    """A timeout of one second, and a requeuing strategy."""
    usual = {"backoffBaseSeconds": 1, "backoffMaxSeconds": 1}
    return {"timeout": "1s", "requeuingStrategy": {**usual, **fields}}


def work(name: str, queue_name: str, cores: str = "1") -> Object:
    container = {"name": "main", "image": "train", "resources": {"requests": {"cpu": cores}}}
    template = {"spec": {"containers": [container], "restartPolicy": "Never"}}
    pod_set = {"name": "main", "count": 1, "template": template}
    return {
        "apiVersion": API_VERSION,
        "kind": "Workload",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {"queueName": queue_name, "podSets": [pod_set]},
    }


def apply(client: HeadgateClient, objects: list[Object]) -> None:
    applied = client.apply_objects(objects)
    assert not [result for result in applied.results if result.outcome == "rejected"]


def found(client: HeadgateClient, prefix: str, phase: str) -> list[Object]:
    """The workloads of a phase by a prefix of their names."""
    path = f"/v1/namespaces/{NAMESPACE}/workloads"
    items = client.items(path, {"phase": phase, "name": prefix})
    return [item for item in items if item["metadata"]["name"].startswith(prefix)]


def tell(client: HeadgateClient, kind: Any, workloads: list[Object]) -> None:
    """What an executor reports of each."""
    reports = [
        Report(
            workload=f"{NAMESPACE}/{one['metadata']['name']}",
            uid=one["metadata"]["uid"],
            attempt=one["status"]["attempt"],
            type=kind,
        )
        for one in workloads
    ]
    if reports:
        client.report(reports)


def until(is_so: Callable[[], bool], client: HeadgateClient, prefix: str, what: str) -> None:
    """Stop what is evicted, as an executor does, until it is so."""
    deadline = time.monotonic() + 180
    while not is_so():
        assert time.monotonic() < deadline, f"waited in vain: {what}"
        tell(client, "stopped", found(client, prefix, "Evicting"))
        time.sleep(0.1)


def status(client: HeadgateClient, name: str) -> Object:
    read: Object = client.read(f"/v1/namespaces/{NAMESPACE}/workloads/{name}")["status"]
    return read


def flavor_of(client: HeadgateClient, name: str) -> str:
    admission = status(client, name).get("admission")
    return admission["podSetAssignments"][0]["flavors"]["cpu"] if admission else ""


def items_of(dialog: Locator) -> Locator:
    return dialog.get_by_role("list").get_by_role("listitem")


def test_story_1_an_evicted_workload_is_requeued_on_capacity_that_became_free(
    screen: Screen, client: HeadgateClient
) -> None:
    apply(client, queue("story-1", {"on-demand": "1", "stocked-out": "1"}, strategy()))
    client.submit_batch([work("holder", "story-1")])
    until(lambda: flavor_of(client, "holder") == "on-demand", client, "none", "the first is used")
    tell(client, "podsReady", found(client, "holder", "Starting"))
    client.submit_batch([work("unlucky", "story-1")])
    until(lambda: flavor_of(client, "unlucky") == "stocked-out", client, "none", "it is admitted")
    tell(client, "finished", found(client, "holder", "Running"))
    until(lambda: flavor_of(client, "unlucky") == "on-demand", client, "unlucky", "it is back")
    tell(client, "podsReady", found(client, "unlucky", "Starting"))
    screen.open(f"/workloads/{NAMESPACE}/unlucky", f"{NAMESPACE}/unlucky")
    main = screen.page.get_by_role("main")
    expect(main.get_by_text("Evicted: PodsReadyTimeout").first).to_be_visible()
    expect(main.get_by_text("on-demand").first).to_be_visible()


def test_story_2_a_workload_that_never_starts_backs_off_and_is_given_up(
    screen: Screen, client: HeadgateClient
) -> None:
    apply(client, queue("story-2", {"broken": "1"}, strategy(timestamp="Creation")))
    patient = queue("story-2", {"broken": "1"}, strategy(backoffBaseSeconds=600))
    apply(client, patient[1:2])
    client.submit_batch([work("no-image", "story-2")])
    until(lambda: bool(found(client, "no-image", "Retrying")), client, "no-image", "a backoff")
    screen.open("/attention?name=no-image", "Needs attention")
    row = screen.row("no-image")
    expect(row.get_by_text("Retrying")).to_be_visible()
    expect(row.get_by_text("Pods not ready")).to_be_visible()
    apply(client, queue("story-2", {"broken": "1"}, strategy(maxBackOffRetryCount=1))[1:2])
    # A list that was shown before tells of the limit only once its workload changes.
    screen.open("/attention?name=no-image", "Needs attention")
    row.click()
    panel = screen.page.get_by_role("complementary", name=f"Workload {NAMESPACE}/no-image")
    expect(panel.get_by_text("1 of 1 requeues")).to_be_visible()
    screen.page.keyboard.press("Escape")
    screen.page.keyboard.press("x")
    choose(screen, "Retry now", "the image is there by now")
    until(lambda: bool(found(client, "no-image", "Inactive")), client, "no-image", "the end")
    expect(row.get_by_text("Requeue limit exceeded")).to_be_visible()


def choose(screen: Screen, verb: str, reason: str) -> None:
    """Act on the chosen workloads, and close the result."""
    screen.page.get_by_role("button", name=verb, exact=True).click()
    dialog = screen.page.get_by_role("dialog")
    dialog.get_by_label("Reason").fill(reason)
    dialog.get_by_role("button", name=f"{verb} 1").click()
    expect(dialog.get_by_text("1 succeeded, 0 skipped")).to_be_visible()
    dialog.get_by_role("button", name="Close").last.click()


def test_story_3_an_admin_reactivates_fifty_workloads_at_once(
    screen: Screen, client: HeadgateClient
) -> None:
    hasty = queue("story-3", {"spot": "50"}, strategy(backoffLimitCount=0))
    apply(client, hasty)
    client.submit_batch([work(f"fifty-{number:02}", "story-3") for number in range(MANY)])
    until(
        lambda: len(found(client, "fifty-", "Inactive")) == MANY,
        client,
        "fifty-",
        "all are given up",
    )
    patient = queue("story-3", {"spot": "50"}, {"timeout": "30m"})
    apply(client, patient[1:2])

    screen.open("/attention?name=fifty-&cause=RequeuingLimitExceeded", "Needs attention")
    screen.page.get_by_role("button", name=f"Select all {MANY}").click()
    screen.page.get_by_role("button", name="Activate", exact=True).click()
    dialog = screen.page.get_by_role("dialog", name=f"Activate {MANY} workloads")
    expect(dialog.get_by_text(f"Applies to {MANY} of {MANY} selected workloads")).to_be_visible()
    expect(items_of(dialog).first).to_contain_text("Fits in ClusterQueue story-3")
    dialog.get_by_label("Reason").fill("spot capacity is back")
    dialog.get_by_role("button", name=f"Activate {MANY}").click()
    expect(dialog.get_by_text(f"{MANY} succeeded, 0 skipped")).to_be_visible()
    dialog.get_by_role("button", name="Close").last.click()

    expect(screen.page.get_by_text("No workloads match")).to_be_visible()
    until(lambda: len(found(client, "fifty-", "Starting")) == MANY, client, "none", "all start")
    tell(client, "podsReady", found(client, "fifty-", "Starting"))
    assert len(found(client, "fifty-", "Running")) == MANY
    assert status(client, "fifty-00")["requeuedCount"] == 0


def test_a_batch_is_undone_for_workloads_without_later_changes(
    screen: Screen, client: HeadgateClient
) -> None:
    # A queue that is not there: they wait whatever is done to them.
    client.submit_batch([work(f"pair-{name}", "nowhere") for name in ("moved", "still")])
    path = f"/v1/namespaces/{NAMESPACE}/workloads/pair-"
    for name in ("moved", "still"):
        client.act(f"{path}{name}/deactivate", {"reason": "wrong data"})
    screen.open("/attention?name=pair-", "Needs attention")
    screen.page.get_by_role("button", name="Select all 2").click()
    screen.page.get_by_role("button", name="Activate", exact=True).click()
    dialog = screen.page.get_by_role("dialog")
    dialog.get_by_label("Reason").fill("data is right again")
    dialog.get_by_role("button", name="Activate 2").click()
    expect(dialog.get_by_text("2 succeeded, 0 skipped")).to_be_visible()
    client.act(f"{path}moved/deactivate", {"reason": "not yet"})
    dialog.get_by_role("button", name="Undo").click()
    expect(dialog.get_by_text("Can be undone for 1 of 2 workloads")).to_be_visible()
    expect(dialog.get_by_text("by admin: data is right again")).to_be_visible()
    record = screen.page.url
    dialog.get_by_role("button", name="Undo 1").click()
    expect(dialog.get_by_text("1 undone, 1 skipped")).to_be_visible()
    left = items_of(dialog).filter(has_text="pair-moved")
    expect(left).to_contain_text("Changed since the bulk action")
    screen.page.goto(record)
    expect(dialog.get_by_text("Can't be undone")).to_be_visible()
    expect(dialog.get_by_role("button", name="Undo")).to_have_count(0)


@pytest.mark.nightly
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_of_stuck_workloads_is_accessible(
    browser: Browser, headgate: Up, client: HeadgateClient, scheme: str
) -> None:
    # A queue that is not there: it must still wait when it is deactivated.
    client.submit_batch([work(f"out-{scheme}", "nowhere")])
    path = f"/v1/namespaces/{NAMESPACE}/workloads/out-{scheme}"
    client.act(f"{path}/deactivate", {"reason": "wrong data"})
    context = new_context(browser, scheme)
    screen = sign_in(context.new_page(), headgate)
    screen.open(f"/attention?panel={NAMESPACE}/out-{scheme}", "Needs attention")
    expect(screen.page.get_by_text("Predicted outcome")).to_be_visible()
    assert screen.violations() == []
    screen.page.set_viewport_size({"width": 390, "height": 800})
    screen.open("/attention", "Needs attention")
    width = screen.page.evaluate("document.documentElement.scrollWidth")
    assert width <= 390
    assert screen.violations() == []
    context.close()
    assert screen.complaints == []
