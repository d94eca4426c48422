"""The demo brings nothing that is refused, and every part of it does what it is for."""

import pytest

from headgate.adapters.system.clocks_and_randomness import seeded
from headgate.cli.demo import review, serve_check
from headgate.cli.demo_objects import (
    CHECK,
    CLASSES,
    TEAMS,
    TEMPLATES,
    Incidents,
    configuration,
    grown,
    next_workload,
    path_of,
)
from headgate.cli.replay.arrivals import Object
from headgate.cli.replay.command import configure
from headgate.client.client import HeadgateClient
from tests.processes.programs import wait_until

SECONDS = 180.0


@pytest.fixture(scope="module", autouse=True)
def submitted(client: HeadgateClient) -> list[Object]:
    """What the teams want to run, in a cluster that is set up as the demo's."""
    configure(client, configuration())
    serve_check(client)
    chance = seeded("demo", 7)
    manifests = [next_workload(chance, f"{number}") for number in range(120)]
    results = client.submit_batch(manifests).results
    assert [each for each in results if each.outcome == "rejected"] == []
    return manifests


def test_the_teams_want_every_sort_of_work(submitted: list[Object]) -> None:
    sorts = {manifest["metadata"]["labels"]["sort"] for manifest in submitted}
    assert sorts == {sort.name for sort in TEMPLATES}
    used = {manifest["spec"]["priorityClassName"] for manifest in submitted}
    assert used < {found["name"] for found in CLASSES}


def test_an_elastic_workload_may_grow(client: HeadgateClient, submitted: list[Object]) -> None:
    elastic = next(m for m in submitted if m["metadata"]["labels"]["sort"] == "simulate")
    (result,) = client.submit_batch([grown(client.read(path_of(elastic)), "grown")]).results
    assert result.outcome != "rejected", result.problem


def test_robots_start_once_the_office_has_answered(client: HeadgateClient) -> None:
    def states() -> set[str]:
        found = client.items("/v1/workloads", {"clusterQueue": "robotics"})
        checks = [check for each in found for check in each["status"].get("admissionChecks", ())]
        return {check["state"] for check in checks if check["name"] == CHECK}

    wait_until(lambda: "Pending" in states(), "a workload waits for the check", SECONDS)

    def is_answered() -> bool:
        review(client)
        return "Ready" in states()

    wait_until(is_answered, "a check is ready", SECONDS)


def test_incidents_go_through_and_are_put_right(client: HeadgateClient) -> None:
    incidents = Incidents(client, seeded("incidents", 1))
    for _ in range(12):
        incidents.stage_next()
    incidents.release_leftovers()
    nodes = client.items("/v1/nodes")
    assert not any(node.get("spec", {}).get("unschedulable") for node in nodes)
    doors = [queue for queue in client.items("/v1/localqueues") if queue["spec"].get("stopPolicy")]
    assert {queue["metadata"]["namespace"] for queue in doors} <= {f"team-{name}" for name in TEAMS}
    assert any(queue["spec"]["stopPolicy"] == "Hold" for queue in doors)
