"""The ledger: a round from plan to start, told in words a person understands."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import expect

from headgate.client.client import HeadgateClient
from tests.browser.conftest import client_of
from tests.browser.screen import SMALL_TARGETS, Screen
from tests.hypothesis_profiles import is_full_depth
from tests.processes.programs import wait_until
from tests.processes.up import Up

pytestmark = pytest.mark.browser

API_VERSION = "kueue.x-k8s.io/v1beta2"
HERE = "/v1/namespaces/story/workloads"
SECONDS = 180.0
SAVES_FIRST = {"mode": "Soft", "gracePeriodSeconds": 600, "handler": "ckpt"}


def named(kind: str, name: str, spec: dict[str, Any], namespace: str = "") -> dict[str, Any]:
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    return {"apiVersion": API_VERSION, "kind": kind, "metadata": metadata, "spec": spec}


def gang(name: str, queue: str, pods: int, **spec: Any) -> dict[str, Any]:
    """A gang of pods of one core each."""
    container = {"name": "c", "resources": {"requests": {"cpu": "1"}}}
    template = {"spec": {"containers": [container]}}
    pod_sets = [{"name": "main", "count": pods, "template": template}]
    return named("Workload", name, {"queueName": queue, "podSets": pod_sets, **spec}, "story")


def objects() -> list[dict[str, Any]]:
    """Two queues that lend to each other; each may take back what it owns."""
    policies = {"withinClusterQueue": "LowerPriority", "reclaimWithinCohort": "Any"}
    quota = {"name": "plain", "resources": [{"name": "cpu", "nominalQuota": "4"}]}
    spec = {
        "cohortName": "tale",
        "namespaceSelector": {},
        "preemption": policies,
        "resourceGroups": [{"coveredResources": ["cpu"], "flavors": [quota]}],
    }
    return [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "story"}},
        named("ResourceFlavor", "plain", {}),
        named("ClusterQueue", "mine", spec),
        named("ClusterQueue", "theirs", spec),
        named("LocalQueue", "mine", {"clusterQueue": "mine"}, "story"),
        named("LocalQueue", "theirs", {"clusterQueue": "theirs"}, "story"),
    ]


def phase(client: HeadgateClient, name: str) -> str:
    return str(client.read(f"{HERE}/{name}")["status"]["phase"])


def becomes(client: HeadgateClient, name: str, *phases: str) -> None:
    wait_until(lambda: phase(client, name) in phases, f"{name} is {phases}", SECONDS)


def report(client: HeadgateClient, name: str, step: str, **body: Any) -> None:
    """A handler, or the executor, reports the progress of the eviction."""
    found = client.read(f"{HERE}/{name}")
    eviction = found["status"]["eviction"]["id"]
    told = {"uid": found["metadata"]["uid"], **body}
    client.act(f"{HERE}/{name}/evictions/{eviction}/{step}", told)


def tell_the_story(client: HeadgateClient) -> None:
    """`borrower` makes `first` go, and must itself go when `owner` wants its quota back."""
    applied = client.apply_objects(objects())
    assert not [result for result in applied.results if result.outcome == "rejected"]
    client.submit_batch([gang("first", "theirs", 4)])
    becomes(client, "first", "Starting", "Running")
    client.submit_batch([gang("second", "mine", 4, evictionPolicy=SAVES_FIRST)])
    becomes(client, "second", "Starting", "Running")
    client.submit_batch([gang("borrower", "theirs", 4, priority=50)])
    becomes(client, "first", "Evicting")
    report(client, "first", "stopped")
    becomes(client, "borrower", "Starting", "Running")
    client.submit_batch([gang("urgent", "mine", 4, priority=90)])
    becomes(client, "second", "Evicting")


@pytest.fixture(scope="module", autouse=True)
def story(headgate: Up) -> Iterator[None]:
    """Two rounds: one is over, in the other a handler has not answered yet."""
    with client_of(headgate) as client:
        tell_the_story(client)
        yield


def told_of(screen: Screen, sentence: str) -> None:
    """The caption under the picture tells this round."""
    expect(screen.page.locator("p[aria-live]")).to_contain_text(sentence)


def test_the_ledger_tells_each_of_its_rounds(screen: Screen) -> None:
    screen.open("/preemptions?cohort=tale", "Preemptions")
    expect(screen.page.get_by_text("Preemption 2 of 2")).to_be_visible()
    slider = screen.page.get_by_label("Shown up to")
    slider.fill("1")
    told_of(screen, "story/borrower (priority 50) preempted story/first.")
    slider.fill("2")
    expect(screen.page.get_by_text("Preemption 2 of 2")).to_be_visible()
    told_of(screen, "story/urgent (priority 90) preempted story/second.")
    names = screen.page.get_by_role("list", name="Workloads").get_by_role("listitem")
    expect(names).to_have_count(4)
    drawing = screen.page.get_by_role("region", name="Preemptions over time")
    right, left = names.first.bounding_box(), drawing.bounding_box()
    assert right is not None
    assert left is not None
    assert right["x"] + right["width"] <= left["x"], "no mark is on a name"
    screen.page.get_by_role("button", name="Table").click()
    table = screen.page.get_by_role("group", name="Preemptions of the picture")
    expect(table.get_by_role("row").filter(has_text="story/borrower")).to_contain_text(
        "story/first"
    )
    screen.page.keyboard.press("t")
    expect(drawing).to_be_visible()
    if is_full_depth():
        assert screen.violations() == []


def test_a_round_is_followed_from_plan_to_start(screen: Screen, client: HeadgateClient) -> None:
    (found,) = client.read("/v1/preemptions", {"workload": "story/urgent"})["items"]
    screen.open(f"/preemptions/{found['id']}", "story/urgent preempted")
    expect(screen.page.get_by_text("Eviction requested", exact=True)).to_be_visible()
    expect(screen.page.get_by_role("group", name="Quota figures")).to_contain_text("mine")
    report(client, "second", "acknowledge", handler="ckpt")
    expect(screen.page.get_by_text("Checkpointing", exact=True)).to_be_visible()
    expect(screen.page.get_by_text(re.compile(r"\d s to the deadline$"))).to_be_visible()
    expect(
        screen.page.get_by_text(re.compile(r"\d candidates?, 0 protected, 1 preempted"))
    ).to_be_visible()
    report(client, "second", "progress", message="half saved")
    expect(screen.page.get_by_text("half saved")).to_be_visible()
    assert screen.violations() == []
    report(client, "second", "stopped")
    expect(screen.page.get_by_text("Stopped", exact=True)).to_be_visible()
    expect(screen.page.get_by_text("Admitted after")).to_be_visible()
    victims = screen.page.get_by_role("group", name="Evicted workloads")
    expect(victims.get_by_role("row").last).to_contain_text("Pending")


def test_a_workload_tells_what_preempted_it_and_what_it_preempted(screen: Screen) -> None:
    """Line 6: the preemption history of a workload, both ways."""
    screen.open("/workloads/story/first", "story/first")
    page = screen.page
    rounds = page.get_by_role("listitem").filter(
        has=page.get_by_role("link", name="View", exact=True)
    )
    expect(rounds).to_contain_text("Preempted by story/borrower")
    rounds.get_by_role("link", name="story/borrower").click()
    expect(page.get_by_role("heading", level=1, name="story/borrower")).to_be_visible()
    expect(rounds.last).to_contain_text("Preempted 1: story/first")


def test_the_ledger_is_narrowed_in_the_address(screen: Screen) -> None:
    """Line 10: each filter is a token that holds at once, with values to choose from."""
    screen.open("/preemptions", "Preemptions")
    page = screen.page
    field = page.get_by_role("combobox", name="Filter preemptions")
    field.fill("workload:")
    page.get_by_role("option", name="workload:story/first").click()
    expect(page).to_have_url(re.compile("workload=story/first"))
    expect(page.get_by_text("Preemption 1 of 1")).to_be_visible()
    field.fill("rule:InCohortReclamation")
    field.press("Enter")
    expect(page.get_by_text("No matching preemptions")).to_be_visible()
    page.get_by_role("button", name="Remove rule:InCohortReclamation").last.click()
    expect(page.get_by_text("Preemption 1 of 1")).to_be_visible()
    field.fill("rule:InClus")
    page.get_by_role("option", name="rule:InClusterQueue").click()
    expect(page.get_by_text("Preemption 1 of 1")).to_be_visible()
    page.get_by_role("button", name="Remove workload:story/first").click()
    expect(page).not_to_have_url(re.compile("workload="))
    assert screen.violations() == []


def test_rounds_are_summed_by_preemptor_and_opened_by_keys(screen: Screen) -> None:
    """Line 10: each preemptor with what it cost, and the victims of a round in the list."""
    screen.open("/preemptions?cohort=tale", "Preemptions")
    page = screen.page
    ledger = page.get_by_role("grid", name="Preemptions, newest first")
    expect(ledger).to_have_attribute("aria-rowcount", "3")
    page.keyboard.press("j")
    page.keyboard.press("v")
    expect(ledger.get_by_text("Victims: story/second")).to_be_visible()
    page.keyboard.press("v")
    expect(ledger.get_by_text("Victims: story/second")).to_have_count(0)
    page.get_by_role("button", name="By preemptor").click()
    sums = page.get_by_role("grid", name="Preemptors, most costly first")
    expect(sums.get_by_role("row").filter(has_text="story/borrower")).to_contain_text("1")
    assert screen.violations() == []
    sums.get_by_role("row").filter(has_text="story/borrower").click()
    expect(page.get_by_role("button", name="Remove workload:story/borrower")).to_be_visible()
    expect(ledger).to_have_attribute("aria-rowcount", "2")


def test_a_round_has_its_events_as_they_were_recorded(
    screen: Screen, client: HeadgateClient
) -> None:
    (found,) = client.read("/v1/preemptions", {"workload": "story/urgent"})["items"]
    screen.open(f"/preemptions/{found['id']}", "story/urgent preempted")
    committed = screen.page.get_by_role("region", name="Payload").locator("details").last
    committed.locator("summary").click()
    expect(committed.get_by_role("region", name="event")).to_contain_text('"story/urgent"')
    assert screen.violations() == []


def test_each_row_tells_rule_victims_and_cost_at_every_width(
    screen: Screen, client: HeadgateClient
) -> None:
    """Line 10: preemptor, rule, victims and cost of each round, readable at every width."""
    rounds = client.read("/v1/preemptions", {"cohort": "tale"})["items"]
    screen.open("/preemptions?cohort=tale", "Preemptions")
    page = screen.page
    ledger = page.get_by_role("grid", name="Preemptions, newest first")
    expect(ledger).to_have_attribute("aria-rowcount", str(len(rounds) + 1))
    first = ledger.get_by_role("row").nth(1).bounding_box()
    assert first is not None
    assert first["y"] <= 112
    for found in rounds:
        row = ledger.get_by_role("row").filter(has_text=found["preemptor"])
        (victim,) = found["victims"]
        expect(row).to_contain_text(victim["reason"])
        expect(row).to_contain_text(victim["workload"])
    pairs = page.get_by_role("group", name="Preemptions by queue pair")
    expect(page.get_by_text("lost 0 GPU-h, 2 rounds")).to_be_visible()
    pair = "mine preempted 1 victim of mine in 1 round, lost 0 GPU-h"
    pairs.get_by_role("button", name=pair).click()
    expect(ledger).to_have_attribute("aria-rowcount", "2")
    expect(page.get_by_text("lost 0 GPU-h, 1 round", exact=True)).to_be_visible()
    pairs.get_by_role("button", name=pair).click()
    expect(ledger).to_have_attribute("aria-rowcount", str(len(rounds) + 1))
    for width in (1024, 390):
        page.set_viewport_size({"width": width, "height": 900})
        expect(pairs.get_by_role("button", name=pair)).to_be_visible()
        expect(ledger.get_by_role("link", name=rounds[0]["preemptor"]).first).to_be_in_viewport()
        overflow = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        assert page.evaluate(overflow) == 0
    assert screen.violations() == []
    # On a phone the victims of a row are in a sheet.
    (victim,) = rounds[0]["victims"]
    # At its left edge, where no link is.
    ledger.get_by_role("row").nth(1).click(position={"x": 6, "y": 30})
    sheet = page.get_by_role("dialog")
    listed = sheet.get_by_role("list", name="Victims")
    expect(listed.get_by_role("link", name=victim["workload"])).to_be_visible()
    expect(listed).to_contain_text(victim["reason"])
    assert screen.violations() == []
    assert page.evaluate(SMALL_TARGETS, 44) == []
    page.keyboard.press("Escape")
    expect(sheet).to_have_count(0)
