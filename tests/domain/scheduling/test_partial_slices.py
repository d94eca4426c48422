"""Counts that slices do not divide, and slices in groups (kueue 0.20: #15640, #15111)."""

from typing import Any

import pytest
from msgspec.structs import replace

from headgate.domain.kinds.queue_settings import ClusterQueuePreemption
from headgate.domain.kinds.topology import HOSTNAME_LABEL, TopologyRules
from headgate.domain.nodes.state import NodeDeleted
from headgate.domain.workloads.decide.topology_rules import slice_violations
from headgate.domain.workloads.pods.eviction_units import divisible_workload
from headgate.domain.workloads.specs import PodSet, Scheduling, SliceLayer, TopologyRequest
from tests.builders.workloads import a_pod_set, a_workload_spec
from tests.builders.world import World, quotas

LOWER = ClusterQueuePreemption(within_cluster_queue="LowerPriority")


def on(hosts: dict[str, int]) -> World:
    world = World()
    world.hosts(hosts)
    world.cluster_queue("q", quotas("cpu", tas=100), preemption=LOWER)
    return world


def sliced(size: int, level: str = "rack", **asked: Any) -> TopologyRequest:
    return TopologyRequest(slice_layers=(SliceLayer(level=level, size=size),), **asked)


def placed(world: World, key: str) -> list[tuple[str, int]]:
    admission = world[key].admission
    assert admission is not None, f"{key} is not admitted"
    (given,) = admission.pod_set_assignments
    assert given.topology_assignment is not None
    return [(domain.values[-1], domain.count) for domain in given.topology_assignment.domains]


def test_the_pods_beyond_whole_slices_are_the_last_of_the_assignment() -> None:
    """The example of the release: racks for 4 and 3 pods, 5 pods in slices of 2."""
    world = on({"b1/r1/h1": 3, "b1/r2/h2": 4})
    key = world.submit("w", "q", {"cpu": 1}, count=5, topology=sliced(2, required="block"))
    world.settle()
    assert placed(world, key) == [("h2", 4), ("h1", 1)]


def test_the_tail_joins_whole_slices_where_it_can() -> None:
    world = on({"b1/r1/h1": 3, "b1/r2/h2": 5})
    key = world.submit("w", "q", {"cpu": 1}, count=5, topology=sliced(2, required="block"))
    world.settle()
    assert placed(world, key) == [("h2", 5)]


def test_a_tail_that_fits_nowhere_counts_as_one_slice() -> None:
    world = on({"b1/r1/h1": 4, "b1/r2/h2": 1})
    key = world.submit("w", "q", {"cpu": 1}, count=6, topology=sliced(4, required="block"))
    world.settle()
    explanation = world[key].explanation
    assert explanation is not None
    (blocker,) = explanation.blockers
    assert (blocker.have, blocker.need) == (1, 2)


def with_a_tail() -> tuple[World, str]:
    """A slice of 4 on h3, and one of 4 with the tail of 1 in rack r1, which is the last."""
    world = on({"b1/r1/h1": 2, "b1/r1/h2": 3, "b1/r2/h3": 4})
    key = world.submit("w", "q", {"cpu": 1}, count=9, topology=sliced(4, required="block"))
    world.settle()
    assert placed(world, key) == [("h3", 4), ("h1", 2), ("h2", 3)]
    return world, key


def test_lost_pods_of_the_rack_with_the_tail_stay_there() -> None:
    world, key = with_a_tail()
    world.node("b1/r1/h4", allocatable={"cpu": 3, "pods": 110})
    world.node("b1/r3/h5", allocatable={"cpu": 9, "pods": 110})
    world.record("node/h2", NodeDeleted())
    world.settle()
    assert placed(world, key) == [("h3", 4), ("h1", 2), ("h4", 3)]


def test_a_lost_slice_goes_anywhere_and_the_tail_stays_last() -> None:
    world, key = with_a_tail()
    world.node("b1/r3/h5", allocatable={"cpu": 9, "pods": 110})
    world.record("node/h3", NodeDeleted())
    world.settle()
    assert placed(world, key) == [("h5", 4), ("h1", 2), ("h2", 3)]


def test_victims_make_room_for_the_tail_too() -> None:
    world = on({"b1/r1/h1": 3, "b1/r2/h2": 4})
    low = world.submit("low", "q", {"cpu": 1}, count=1, topology=TopologyRequest(required="rack"))
    world.settle()
    assert placed(world, low) == [("h1", 1)]
    high = world.submit(
        "high", "q", {"cpu": 1}, count=6, priority=5, topology=sliced(4, required="block")
    )
    world.settle()
    assert world[high].admission is not None, "two pods still fit h1"
    world.finish(high)
    high = world.submit(
        "higher", "q", {"cpu": 1}, count=7, priority=5, topology=sliced(4, required="block")
    )
    world.settle()
    world.stop(low)
    world.settle()
    assert placed(world, high) == [("h2", 4), ("h1", 3)]


def test_the_tail_is_the_first_that_is_evicted_alone() -> None:
    world = on({"b1/r1/h1": 3, "b1/r2/h2": 4})
    single = PodSet(
        count=5,
        min_count=2,
        disruption_mode="Single",
        scheduling=Scheduling(requests={"cpu": 1}),
        topology_request=sliced(2, required="block"),
    )
    low = world.submit_pod_sets("low", "q", single, preemptibility="SemiPreemptible")
    world.settle()
    divisible = divisible_workload(world[low])
    assert divisible is not None
    units = divisible.units()
    assert [unit.pods for unit in units if not unit.is_remainder] == [{"main": 1}, {"main": 2}]
    tail = units[0].admission.pod_set_assignments[0].topology_assignment
    assert tail is not None
    assert [domain.values for domain in tail.domains] == [("h1",)]


def group(hosts: dict[str, int]) -> tuple[World, str]:
    """A leader and 8 workers in slices of 4 on a host, all in one rack."""
    world = on(hosts)
    request = replace(sliced(4, HOSTNAME_LABEL, required="rack"), pod_set_group_name="g")
    one = Scheduling(requests={"cpu": 1})
    leader = replace(request, slice_layers=())
    key = world.submit_pod_sets(
        "w",
        "q",
        PodSet(name="leader", scheduling=one, topology_request=leader),
        PodSet(name="workers", count=8, scheduling=one, topology_request=request),
    )
    world.settle()
    return world, key


@pytest.mark.parametrize(
    ("hosts", "is_placed"),
    [
        ({"b/r/h1": 4, "b/r/h2": 4}, False),
        ({"b/r/h1": 4, "b/r/h2": 4, "b/r/h3": 1}, True),
        ({"b/r/h1": 4, "b/r/h2": 5}, True),
        ({"b/r/h1": 4, "b/r/h2": 4, "b/q/h3": 1}, False),
    ],
)
def test_a_leader_lies_beside_whole_slices_of_its_group(
    hosts: dict[str, int], is_placed: bool
) -> None:
    world, key = group(hosts)
    assert (world[key].admission is not None) == is_placed


def test_what_the_configuration_switches_off_is_refused() -> None:
    """The gates TASPartialSlices and TASGroupedPodSetSlicing."""
    grouped = replace(sliced(2, required="rack"), pod_set_group_name="g")
    spec = a_workload_spec(pod_sets=(a_pod_set(count=5, topology_request=grouped),))
    off = TopologyRules(partial_slices=False, grouped_pod_set_slicing=False)
    found = [violation.pointer for violation in slice_violations(spec, off)]
    place = "/spec/podSets/0/topologyRequest"
    assert found == [f"{place}/podSetSliceSize", f"{place}/podSetGroupName"]
    assert list(slice_violations(spec, TopologyRules())) == []
