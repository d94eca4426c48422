"""The alert for a flavor of which no executor is connected."""

import pytest

from headgate.application.queries.attention import Attention, attention
from headgate.domain.executor_assignments import SECONDS_WITHOUT_REPORT
from headgate.domain.kinds.executor import (
    ExecutorClaimed,
    ExecutorCreated,
    ExecutorLost,
    ExecutorReturned,
    ExecutorSpec,
)
from tests.builders.world import World, quotas

LABELS = {"pool": "gpu"}


def a_world() -> World:
    world = World()
    world.flavor("default", node_labels=LABELS)
    world.cluster_queue("q", quotas(default=16))
    return world


def with_executor(world: World, name: str, *nodes: str) -> None:
    """An Executor that selects the flavor by its labels, with these nodes; nothing claims it."""
    spec = ExecutorSpec(node_selector=LABELS)
    world.record(f"executor/{name}", ExecutorCreated(uid=name, name=name, spec=spec))
    for node in nodes:
        world.node(f"b/r/{node}", executor=name)


def claim(world: World, name: str) -> None:
    world.record(f"executor/{name}", ExecutorClaimed(epoch=1))


def alerts(world: World) -> list[Attention]:
    found = attention(world.cluster_state, world.at, None)
    return [each for each in found if each.kind == "NoExecutorConnected"]


def test_an_executor_that_was_never_claimed_is_named_with_its_flavor_and_nodes() -> None:
    world = a_world()
    with_executor(world, "rack-1", "n1", "n2")
    (found,) = alerts(world)
    assert found.title == "No executor is connected for flavor default"
    assert "on n1, n2," in found.detail
    assert "rack-1" in found.detail
    assert found.severity == "warning"


def test_the_alert_is_critical_while_workloads_are_pending_or_admitted() -> None:
    world = a_world()
    with_executor(world, "rack-1")
    world.submit("w", "q")
    assert [each.severity for each in alerts(world)] == ["critical"]


def test_the_alert_follows_claim_loss_and_return() -> None:
    world = a_world()
    with_executor(world, "rack-1", "n1")
    seen = [len(alerts(world))]
    for event in (ExecutorClaimed(epoch=1), ExecutorLost(epoch=1), ExecutorReturned(epoch=1)):
        world.record("executor/rack-1", event)
        seen.append(len(alerts(world)))
    assert seen == [1, 0, 1, 0]


def test_one_connected_executor_of_a_flavor_is_enough() -> None:
    world = a_world()
    with_executor(world, "rack-1", "n1")
    with_executor(world, "rack-2", "n2")
    claim(world, "rack-2")
    assert alerts(world) == []


def test_nodes_of_a_program_without_an_executor_are_no_reason_for_an_alert() -> None:
    world = a_world()
    with_executor(world, "rack-1", "n1")
    world.node("b/r/n2")
    assert alerts(world) == []


@pytest.mark.parametrize(("early", "count"), [(1, 0), (0, 1)])
def test_without_any_executor_a_start_that_is_not_reported_is_told_in_seconds(
    early: int, count: int
) -> None:
    world = a_world()
    world.node("b/r/n1")
    world.submit("w", "q")
    world.settle()
    world.wait(SECONDS_WITHOUT_REPORT - early)
    found = alerts(world)
    assert len(found) == count
    assert all("on n1: no Executor selects the flavor" in each.detail for each in found)


def test_a_program_that_reports_without_an_executor_counts_as_connected() -> None:
    world = a_world()
    first, _second = world.submit("w1", "q"), world.submit("w2", "q")
    world.settle()
    world.ready(first)
    world.wait(SECONDS_WITHOUT_REPORT)
    assert alerts(world) == []


def test_flavors_that_no_cluster_queue_offers_are_no_reason_for_an_alert() -> None:
    world = World()
    world.flavor("spare", node_labels=LABELS)
    with_executor(world, "rack-1", "n1")
    assert alerts(world) == []
