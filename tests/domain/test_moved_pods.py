"""A running workload reports the hosts that its pods moved to after hosts failed."""

import pytest

from headgate.application.queries.pods import moved_pods
from headgate.domain.nodes.state import NodeReported
from headgate.domain.workloads.specs import TopologyRequest
from headgate.messages.catalogue import text_of
from tests.builders.world import World, quotas

A_MINUTE = 60
LOST = NodeReported(ready=False, allocatable={"cpu": 2, "pods": 110})
KEY = "team/gang"


@pytest.fixture
def world() -> World:
    """A gang on two of three hosts of a rack."""
    found = World()
    found.hosts({"b/r1/a": 2, "b/r1/b": 2, "b/r1/c": 2})
    found.cluster_queue("q", quotas("cpu", tas=100))
    found.submit("gang", "q", {"cpu": 1}, count=4, topology=TopologyRequest(required="rack"))
    found.settle()
    found.ready(KEY)
    return found


def story(world: World) -> str:
    """What is told of the gang's moves."""
    found = moved_pods([each for each in world.history if each.stream == f"workload/{KEY}"])
    return "" if found is None else text_of(found)


def test_a_workload_that_never_moved_has_no_move_report(world: World) -> None:
    assert story(world) == ""


def test_the_lost_host_its_reason_and_the_new_host_are_named(world: World) -> None:
    world.record("node/a", LOST)
    world.settle()
    world.wait(A_MINUTE)
    world.settle()

    assert story(world) == "Pods on a (NotReady) moved to c"
