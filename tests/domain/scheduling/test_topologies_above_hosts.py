"""Topologies with a rack as lowest level check each node (KEP-2724, Beta; 2724-44).

Kueue: `TASNodeFeasibilityForAllLevels`, on by default since 0.20.
"""

from typing import Any

import pytest

from headgate.domain.kinds.queue_settings import ClusterQueuePreemption
from headgate.domain.kinds.topology import TopologyRules
from headgate.domain.nodes.state import NodeReported
from headgate.domain.values.selectors import Taint
from headgate.domain.workloads.specs import PodSet, Scheduling, SliceLayer, TopologyRequest
from tests.builders.world import World, quotas

RACK = TopologyRequest(required="rack")
GROUP = TopologyRequest(required="rack", pod_set_group_name="g")
LOWER = ClusterQueuePreemption(within_cluster_queue="LowerPriority")


def racks(*, checks_nodes: bool = True, **nodes: dict[str, Any]) -> World:
    """Hosts of 4 cores in racks `b/r1` and so on, of a topology that ends there."""
    world = World()
    world.configure(topology=TopologyRules(node_feasibility_for_all_levels=checks_nodes))
    world.topology(levels=("block", "rack"))
    world.flavor("tas", node_labels={"pool": "gpu"}, topology_name="tree")
    for name, given in nodes.items():
        world.node(f"b/{name[:2]}/{name}", **{"allocatable": {"cpu": 4, "pods": 110}, **given})
    world.cluster_queue("q", quotas("cpu", tas=1_000), preemption=LOWER)
    return world


@pytest.mark.parametrize("checks_nodes", [True, False])
def test_a_pod_larger_than_any_node_of_the_rack_waits(*, checks_nodes: bool) -> None:
    world = racks(r1a={}, r1b={}, checks_nodes=checks_nodes)
    key = world.submit("w", "q", {"cpu": 6}, topology=RACK)
    world.settle()
    assert (key in world.admitted()) is not checks_nodes
    found = world[key].explanation
    assert (found is not None and found.dominant) == ("Unschedulable" if checks_nodes else False)


@pytest.mark.parametrize(
    ("given", "pod"),
    [
        ({"labels": {"disk": "ssd"}}, {"node_selector": {"disk": "ssd"}}),
        ({}, {}),
    ],
)
def test_only_nodes_that_take_the_pods_count(given: dict[str, Any], pod: dict[str, Any]) -> None:
    others = {} if given else {"taints": (Taint(key="out", effect="NoSchedule"),)}
    world = racks(r1a=given, r1b=others)
    for count in (5, 4):
        pod_set = PodSet(
            count=count,
            scheduling=Scheduling(requests={"cpu": 1}, **pod),
            topology_request=RACK,
        )
        world.submit_pod_sets(f"of-{count}", "q", pod_set)
    world.settle()
    assert world.admitted() == ["team/of-4"]


def test_what_other_workloads_use_counts_for_the_rack_as_a_whole() -> None:
    world = racks(r1a={}, r1b={})
    first = world.submit("first", "q", {"cpu": 3}, count=2, topology=RACK)
    world.settle()
    world.submit("second", "q", {"cpu": 3}, topology=RACK)
    third = world.submit("third", "q", {"cpu": 1}, count=2, topology=RACK)
    world.settle()
    assert world.admitted() == [first, third]
    assert world.placed(third) == {"r1": 2}


def test_slices_are_counted_within_the_bound_of_the_nodes() -> None:
    world = racks(r1a={}, r1b={}, r2a={})
    slices = TopologyRequest(required="block", slice_layers=(SliceLayer(level="rack", size=2),))
    too_many = world.submit("eight", "q", {"cpu": 3}, count=4, topology=slices)
    fits = world.submit("two", "q", {"cpu": 3}, count=2, topology=slices)
    world.settle()
    assert too_many not in world.admitted()
    assert world.placed(fits) == {"r1": 2}


@pytest.mark.parametrize(("workers", "fits"), [(2, True), (3, False)])
def test_a_leader_takes_room_of_one_node(workers: int, *, fits: bool) -> None:
    """Of a leader of 4 and workers of 3 one node has the leader, and two have one worker each."""
    world = racks(r1a={}, r1b={}, r1c={})
    leader = PodSet(
        name="leader", count=1, scheduling=Scheduling(requests={"cpu": 4}), topology_request=GROUP
    )
    rest = PodSet(
        name="workers",
        count=workers,
        scheduling=Scheduling(requests={"cpu": 2}),
        topology_request=GROUP,
    )
    big = PodSet(
        name="workers",
        count=workers,
        scheduling=Scheduling(requests={"cpu": 3}),
        topology_request=GROUP,
    )
    key = world.submit_pod_sets("big", "q", leader, big)
    world.settle()
    assert (key in world.admitted()) is fits
    world.finish(key) if fits else None
    small = world.submit_pod_sets("small", "q", leader, rest)
    world.settle()
    assert small in world.admitted()


def test_nothing_is_evicted_for_a_pod_that_no_node_could_hold() -> None:
    world = racks(r1a={}, r1b={})
    low = world.submit("low", "q", {"cpu": 4}, count=2, topology=RACK)
    world.settle()
    world.submit("large", "q", {"cpu": 6}, topology=RACK, priority=9)
    world.settle()
    assert world[low].eviction is None
    world.submit("two", "q", {"cpu": 3}, count=2, topology=RACK, priority=5)
    world.settle()
    assert world[low].eviction is not None


def test_a_node_that_comes_back_counts_again() -> None:
    world = racks(r1a={}, r1b={"ready": False}, r2a={"allocatable": {"cpu": 2, "pods": 110}})
    key = world.submit("w", "q", {"cpu": 3}, count=2, topology=RACK)
    world.settle()
    assert key not in world.admitted()
    world.record("node/r1b", NodeReported(ready=True, allocatable={"cpu": 4, "pods": 110}))
    world.settle()
    assert world.placed(key) == {"r1": 2}
