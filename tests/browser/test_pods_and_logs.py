"""Pods of a real agent of this machine on the page: their states, and their output as it comes."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from headgate.cli.operations.local_agent import LOCAL, QUEUE, executor, queue
from headgate.client.client import HeadgateClient
from headgate.executor.substrates.agent.inventory import NodeSettings, describe_host
from tests.browser.conftest import client_of, token_of
from tests.browser.hands import Keyboard, Pointer
from tests.browser.screen import Screen
from tests.processes.programs import wait_until
from tests.processes.up import Up

pytestmark = pytest.mark.browser

HEADGATE = str(Path(sys.executable).with_name("headgate"))
NODE = "this-machine"
TOKEN = "page-agent"
WORKLOADS = "/v1/namespaces/default/workloads"
AGENT = (HEADGATE, "agent", "--name", LOCAL, "--node", NODE, "--allow-root")
STOP_SECONDS = 180.0
SCRIPT = r"""
printf 'rank \033[31m%s\033[0m of <b>%s</b>\n' "$RANK" "$WORLD_SIZE"
while [ ! -e "$SIGNS/go" ]; do sleep 0.05; done
echo "live line of $RANK"
while [ ! -e "$SIGNS/end" ]; do sleep 0.05; done
[ "$RANK" = 2 ] && exit 3
exit 0
"""


@pytest.fixture(scope="module")
def agent(headgate: Up, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """An agent of this machine with a queue; both are gone with the tests of this file."""
    directory = tmp_path_factory.mktemp("agent")
    objects = [executor(), *queue(describe_host(NodeSettings(name=NODE, executor=LOCAL), []))]
    with client_of(headgate) as client:
        applied = client.apply_objects(objects)
        assert not [result for result in applied.results if result.outcome == "rejected"]
        made = {"name": TOKEN, "role": "executor", "executor": LOCAL}
        token = str(client.act("/v1/tokens", made)["secret"])
        with (directory / "agent.out").open("wb") as output:
            process = subprocess.Popen(
                [*AGENT, "--directory", str(directory / "state")],
                env={**os.environ, "HEADGATE_URL": headgate.url, "HEADGATE_TOKEN": token},
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        yield
        # The agent itself stops what a test that failed left running.
        wait_until(lambda: _has_no_workload(client), "the workloads are gone", STOP_SECONDS)
        process.send_signal(signal.SIGTERM)
        process.wait(STOP_SECONDS)
        client.remove(f"/v1/tokens/{TOKEN}")
        wait_until(lambda: _is_removed(client), "the agent's objects are gone", STOP_SECONDS)


def _is_removed(client: HeadgateClient) -> bool:
    """Removes what the agent's queue is made of; whether nothing of it is left."""
    kinds = {
        "localqueues": [QUEUE],
        "clusterqueues": [QUEUE],
        "nodes": [NODE],
        "resourceflavors": [LOCAL],
        "topologies": [LOCAL],
        "executors": [LOCAL],
    }
    found = []
    for kind, names in kinds.items():
        base = f"/v1/namespaces/default/{kind}" if kind == "localqueues" else f"/v1/{kind}"
        for each in client.items(base):
            if each["metadata"]["name"] in names:
                found.append(each)
                client.remove(f"{base}/{each['metadata']['name']}")
    return not found


def _has_no_workload(client: HeadgateClient) -> bool:
    found = list(client.items(WORKLOADS))
    for each in found:
        client.remove(f"{WORKLOADS}/{each['metadata']['name']}")
    return not found


def test_pods_and_their_output_are_seen_while_they_run(
    screen: Screen, headgate: Up, agent: None, tmp_path: Path
) -> None:
    command = [HEADGATE, "run", "--name", "seen", "--pods", "3", "--env", f"SIGNS={tmp_path}"]
    run = subprocess.Popen(
        [*command, "--", "sh", "-c", SCRIPT],
        env={**os.environ, "HEADGATE_URL": headgate.url, "HEADGATE_TOKEN": token_of(headgate)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    page = screen.page
    with client_of(headgate) as client:
        wait_until(lambda: _has(client, "seen"), "the workload is there")
    screen.open("/workloads/default/seen?tab=pods", "default/seen")
    pods = page.get_by_role("grid", name="Pods")
    expect(pods.get_by_text("Running")).to_have_count(3)
    expect(pods.get_by_role("link", name=NODE)).to_have_count(3)

    page.get_by_role("tab", name="Logs").click()
    log = page.get_by_role("log", name="Logs")
    for rank in range(3):
        expect(log.get_by_text(f"rank {rank} of <b>3</b>")).to_be_visible()
    colored = log.get_by_text("1", exact=True).filter(has_not_text="rank").last
    assert colored.evaluate("each => each.style.color") == "var(--ansi-red)"
    page.get_by_role("searchbox", name="Search").fill("RANK 1 OF")
    expect(page.get_by_text("1", exact=True).and_(page.get_by_role("status"))).to_be_visible()

    (tmp_path / "go").touch()
    for rank in range(3):
        expect(log.get_by_text(f"live line of {rank}")).to_be_visible()
    assert screen.violations() == []
    page.get_by_role("combobox", name="Pod", exact=True).select_option("main/2")
    expect(log.get_by_text("live line of 2")).to_be_visible()
    expect(log.get_by_text("live line of 1")).to_have_count(0)

    (tmp_path / "end").touch()
    output, _ = run.communicate(timeout=60)
    assert run.returncode == 3, output
    expect(page.get_by_text("End of output")).to_be_visible()
    page.get_by_role("tab", name="Pods").click()
    expect(pods.get_by_text("exit 3")).to_be_visible()
    expect(page.get_by_role("group", name="Attempts").get_by_text("1 Failed")).to_be_visible()
    assert screen.violations() == []

    # The verdict says how it failed, with the last lines of the pod that did.
    page.keyboard.press("1")
    verdict = page.get_by_role("heading", level=2, name="Failed: exit 3 on rank 2")
    expect(verdict).to_be_visible()
    expect(page.get_by_role("region", name="last lines of main/2")).to_contain_text(
        "live line of 2"
    )
    first = page.get_by_role("list", name="Phases of attempt 1")
    expect(first.get_by_role("button", name="Running")).to_be_visible()
    expect(page.get_by_role("list", name="Attempts")).to_contain_text("exit 3 on rank 2")
    assert screen.violations() == []
    page.get_by_role("link", name="Open logs of main/2").first.click()
    expect(log.get_by_text("live line of 2")).to_be_visible()


@pytest.mark.nightly
@pytest.mark.parametrize("hand", [Pointer, Keyboard])
def test_story_of_a_researcher_from_a_gang_that_cannot_fit_to_one_that_succeeds(
    overview: Screen, client: HeadgateClient, agent: None, hand: type[Pointer | Keyboard]
) -> None:
    """Submitted, told at once, lowered by the remedy, logs watched, resubmitted after a failure."""
    page, does = overview.page, hand(overview.page)
    wait_until(lambda: NODE in _cpus_of_nodes(client), "the agent has told of its host")
    overview.press_pair("g", "n")
    does.press(page.get_by_role("button", name="CPU job"))
    does.choose(page.get_by_label("LocalQueue"), f"default/{QUEUE}")
    name = f"story-{hand.__name__.lower()}-1"
    for label, value in (
        ("Name", name),
        ("Pods", "3"),
        ("CPU per pod", _cpus_of_nodes(client)[NODE]),
        ("Memory per pod", ""),
        ("Command", "echo attempt of a story; exit 3"),
    ):
        does.write(page.get_by_label(label, exact=True), value)
    forecast = page.get_by_role("region", name="Forecast")
    expect(forecast.get_by_role("status")).to_contain_text("Unschedulable")
    page.keyboard.press("Control+Enter")
    expect(forecast.get_by_role("alert")).to_contain_text("can never start")
    does.press(forecast.get_by_role("button", name="Submit anyway"))
    expect(page.get_by_role("heading", level=1, name=f"default/{name}")).to_be_visible()
    expect(page.get_by_role("heading", level=2, name="Unschedulable")).to_be_visible()
    remedy = page.get_by_role("listitem").filter(has_text="1 pod instead of 3")
    expect(remedy.get_by_text("Starts now")).to_be_visible()
    # A remedy that is simulated once the workload has started is refused, which the console tells.
    expect(page.get_by_text("Simulating…")).to_have_count(0)
    does.press(remedy.get_by_role("button", name="Apply"))

    does.tab(page.get_by_role("tab", name="Summary"), page.get_by_role("tab", name="Logs"))
    log = page.get_by_role("log", name="Logs")
    expect(log.get_by_text("attempt of a story")).to_be_visible()
    expect(page.get_by_role("heading", level=2, name="Failed").first).to_be_visible()
    does.press(page.get_by_role("link", name="Resubmit with changes"))
    expect(page.get_by_label("Name", exact=True)).to_have_value(name.replace("-1", "-2"))
    does.write(page.get_by_label("Command", exact=True), "echo the second one")
    expect(forecast.get_by_role("status")).to_contain_text("Starts now")
    page.keyboard.press("Control+Enter")
    expect(page.get_by_role("heading", level=2, name="Succeeded")).to_be_visible()


def _has(client: HeadgateClient, name: str) -> bool:
    return any(each["metadata"]["name"] == name for each in client.items(WORKLOADS))


def _cpus_of_nodes(client: HeadgateClient) -> dict[str, str]:
    nodes = client.items("/v1/nodes")
    return {each["metadata"]["name"]: str(each["status"]["allocatable"]["cpu"]) for each in nodes}
