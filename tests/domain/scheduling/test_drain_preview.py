"""A drain is foretold without changing anything, and comes out as foretold."""

from headgate.domain.kinds.topology import TopologyRules
from headgate.domain.nodes.state import NodeDrainStarted
from headgate.domain.scheduling.second_pass import (
    PodMove,
    preview_drain,
    preview_joint_drain,
)
from headgate.domain.workloads.specs import TopologyRequest
from tests.builders.world import World, quotas
from tests.properties.state_digest import state_digest_text

RACK = TopologyRequest(required="rack")


def a_world(spare: int) -> World:
    """Two gangs of one pod each on host `a`, and `spare` room beside them in the rack."""
    world = World()
    world.hosts({"b/r/a": 2})
    world.cluster_queue("q", quotas("cpu", tas=9))
    for name, priority in (("low", 1), ("high", 9)):
        world.submit(name, "q", {"cpu": 1}, topology=RACK, priority=priority)
    world.settle()
    world.node("b/r/spare", allocatable={"cpu": spare, "pods": 9})
    return world


def test_two_workloads_never_count_on_the_same_capacity_and_the_higher_priority_is_first() -> None:
    world = a_world(spare=1)

    found = preview_drain(world.cluster_state, "a")

    high, low = found
    assert high == PodMove("team/high", 1, "Moves", (("spare", 1),))
    assert (low.workload, low.outcome, low.hosts) == ("team/low", "Evicted", ())


def test_an_unplaceable_workload_waits_without_fail_fast() -> None:
    world = a_world(spare=0)
    world.configure(topology=TopologyRules(fail_fast=False))

    assert [each.outcome for each in preview_drain(world.cluster_state, "a")] == ["Waits", "Waits"]


def test_the_preview_changes_nothing() -> None:
    world = a_world(spare=1)
    before = state_digest_text(world.cluster_state)

    preview_drain(world.cluster_state, "a")

    assert state_digest_text(world.cluster_state) == before


def test_nodes_that_are_drained_together_take_no_pods_of_each_other() -> None:
    world = a_world(spare=1)
    world.node("b/r/last", allocatable={"cpu": 1, "pods": 9})
    before = state_digest_text(world.cluster_state)

    high, low = preview_joint_drain(world.cluster_state, ["a", "spare"], world.at)

    assert high == PodMove("team/high", 1, "Moves", (("last", 1),))
    assert (low.workload, low.pods, low.outcome) == ("team/low", 1, "Evicted")
    assert preview_joint_drain(world.cluster_state, ["spare"], world.at) == ()
    assert state_digest_text(world.cluster_state) == before


def test_pods_of_a_gang_on_several_drained_nodes_move_together() -> None:
    world = World()
    world.hosts({"b/r/a": 1, "b/r/c": 1})
    world.cluster_queue("q", quotas("cpu", tas=9))
    world.submit("gang", "q", {"cpu": 1}, count=2, topology=RACK)
    world.settle()
    world.node("b/r/free", allocatable={"cpu": 2, "pods": 9})

    (found,) = preview_joint_drain(world.cluster_state, ["a", "c"], world.at)

    assert found == PodMove("team/gang", 2, "Moves", (("free", 2),))


def test_the_drain_comes_out_as_predicted() -> None:
    world = a_world(spare=1)

    world.record("node/a", NodeDrainStarted())
    world.settle()

    assert world.placed("team/high") == {"spare": 1}
    assert world["team/low"].eviction is not None


def test_an_empty_node_has_no_workload_to_move() -> None:
    assert preview_drain(a_world(spare=1).cluster_state, "spare") == ()
