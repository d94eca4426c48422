"""Worked examples of placement, as the code that defines them answered (topology.md §8)."""

import pytest

from headgate.domain.values.message import message
from headgate.domain.values.selectors import Taint
from headgate.domain.workloads.explanation import HostExclusion
from headgate.domain.workloads.specs import SliceLayer, TopologyRequest
from headgate.domain.workloads.state import condition
from tests.builders.world import World, quotas

HOST = "kubernetes.io/hostname"

E1 = {"b/r/a": 3, "b/r/b": 3, "b/r/c": 2, "b/r/d": 1}
E2 = {"b/r/a": 4, "b/r/b": 2, "b/r/c": 2}
E3 = {"b/r1/a": 2, "b/r2/b": 2, "b/r3/c": 1, "b/r3/d": 1, "b/r3/e": 1, "b/r3/f": 1}
E4 = {"b1/r1/a": 2, "b1/r2/b": 2, "b2/r1/c": 5}
E4B = {"b1/r1/a": 2, "b1/r2/b": 2, "b2/r1/c": 1, "b2/r2/d": 2}
E6 = {"b1/r1/a": 1, "b1/r1/b": 3, "b2/r1/c": 2}
E7 = {"b1/r1/z": 1, "b2/r1/a": 1}
E8 = {"b/r/a": 6, "b/r/b": 5, "b/r/c": 4, "b/r/d": 3, "b/r/e": 2}
E9 = {"b1/r1/a": 2, "b1/r1/b": 1, "b1/r2/c": 2, "b2/r1/d": 4}
E10 = {"b/r/h1": 1, "b/r/h2": 2, "b/r/h3": 3, "b/r/h6": 6}
E11 = {"b/r1/a": 1, "b/r1/b": 4, "b/r2/c": 3, "b/r2/d": 4}
E21 = {"b1/r1/a": 3, "b2/r1/b": 3, "b2/r2/c": 2}
E23 = {"b1/r1/a": 2, "b1/r1/b": 2, "b2/r1/c": 4}


def sliced(level: str, size: int) -> tuple[SliceLayer, ...]:
    return (SliceLayer(level=level, size=size),)


EXAMPLES = {
    "E1": (E1, 7, TopologyRequest(required="rack"), {"a": 3, "b": 3, "d": 1}),
    "E1b": (E1, 7, TopologyRequest(unconstrained=True), {"a": 3, "b": 1, "c": 2, "d": 1}),
    "E2": (E2, 2, TopologyRequest(required="rack"), {"b": 2}),
    "E3": (E3, 4, TopologyRequest(required="block"), {"c": 1, "d": 1, "e": 1, "f": 1}),
    "E4": (E4, 4, TopologyRequest(preferred="rack"), {"c": 4}),
    "E4b": (E4B, 4, TopologyRequest(preferred="rack"), {"a": 2, "b": 2}),
    "E4c": (E4B, 6, TopologyRequest(preferred="rack"), {"a": 2, "b": 2, "d": 2}),
    "E6": (E6, 2, TopologyRequest(unconstrained=True), {"c": 2}),
    "E7": (E7, 2, TopologyRequest(unconstrained=True), {"z": 1, "a": 1}),
    "E8": (
        E8,
        12,
        TopologyRequest(required="block", slice_layers=sliced(HOST, 2)),
        {"a": 6, "c": 4, "e": 2},
    ),
    "E8b": (
        E8,
        10,
        TopologyRequest(slice_layers=sliced(HOST, 2)),
        {"b": 2, "c": 4, "d": 2, "e": 2},
    ),
    "E9": (E9, 4, TopologyRequest(required="block", slice_layers=sliced("rack", 2)), {"d": 4}),
    "E10": (
        E10,
        6,
        TopologyRequest(required="block", slice_layers=sliced("rack", 6)),
        {"h1": 1, "h2": 2, "h3": 3},
    ),
    "E11": (
        E11,
        8,
        TopologyRequest(
            required="block",
            slice_layers=(SliceLayer(level="rack", size=4), SliceLayer(level=HOST, size=2)),
        ),
        {"b": 4, "c": 2, "d": 2},
    ),
    "E16": ({"b1/r1/a": 1, "b1/r1/b": 4}, 2, None, {"b": 2}),
    "E21": (E21, 4, TopologyRequest(preferred=HOST), {"b": 3, "c": 1}),
    "E23": (
        E23,
        4,
        TopologyRequest(unconstrained=True, slice_layers=sliced(HOST, 2)),
        {"a": 2, "b": 2},
    ),
}


def world_of(hosts: dict[str, int]) -> World:
    world = World()
    world.hosts(hosts)
    world.cluster_queue("q", quotas("cpu", tas=1_000))
    return world


@pytest.mark.parametrize("example", EXAMPLES)
def test_pods_go_where_the_example_says(example: str) -> None:
    hosts, count, request, expected = EXAMPLES[example]
    world = world_of(hosts)
    key = world.submit("w", "q", {"cpu": 1}, count=count, topology=request)
    world.settle()
    assert world.placed(key) == expected


def test_hosts_are_listed_by_their_whole_path() -> None:
    world = world_of(E7)
    key = world.submit("w", "q", {"cpu": 1}, count=2, topology=TopologyRequest(unconstrained=True))
    world.settle()
    assert list(world.placed(key)) == ["z", "a"]


def test_required_never_climbs() -> None:
    world = world_of({"b1/r1/a": 2, "b1/r2/b": 2})
    key = world.submit("w", "q", {"cpu": 1}, count=3, topology=TopologyRequest(required="rack"))
    world.settle()
    found = world[key].explanation
    assert found is not None
    assert (found.dominant, found.condition_reason) == ("Unschedulable", "TopologyPlacementFailed")
    assert found.blockers[found.deciding].message.code == "PodsExceedLargestDomain"
    assert (found.blockers[0].level, found.blockers[0].domain) == ("rack", "b1/r1")
    assert (found.blockers[0].need, found.blockers[0].have, found.blockers[0].short_by) == (3, 2, 1)


def test_rounding_to_inner_slices_can_make_an_outer_slice_impossible() -> None:
    world = world_of({"b/r/a": 3, "b/r/b": 3})
    layers = (SliceLayer(level="rack", size=6), SliceLayer(level=HOST, size=2))
    request = TopologyRequest(required="block", slice_layers=layers)
    key = world.submit("w", "q", {"cpu": 1}, count=6, topology=request)
    world.settle()
    assert world[key].admission is None


def test_a_host_takes_no_more_pods_than_it_allows() -> None:
    world = World()
    world.topology()
    world.flavor("tas", node_labels={"pool": "gpu"}, topology_name="tree")
    world.node("b/r/a", allocatable={"cpu": 8, "pods": 3})
    world.node("b/r/b", allocatable={"cpu": 8, "pods": 2})
    world.cluster_queue("q", quotas("cpu", tas=1_000))
    key = world.submit("w", "q", {"cpu": 1}, count=4, topology=TopologyRequest(required="rack"))
    world.settle()
    assert world.placed(key) == {"a": 3, "b": 1}


def test_what_others_use_on_a_host_is_not_given_away() -> None:
    world = World()
    world.topology()
    world.flavor("tas", node_labels={"pool": "gpu"}, topology_name="tree")
    world.node("b/r/a", allocatable={"cpu": 8, "pods": 110}, used_by_others={"cpu": 6, "pods": 1})
    world.node("b/r/b", allocatable={"cpu": 3, "pods": 110})
    world.cluster_queue("q", quotas("cpu", tas=1_000))
    key = world.submit("w", "q", {"cpu": 1}, count=3, topology=TopologyRequest(required="rack"))
    world.settle()
    assert world.placed(key) == {"b": 3}


def test_every_host_left_out_is_counted_under_one_reason() -> None:
    world = World()
    world.topology()
    world.flavor("tas", node_labels={"pool": "gpu"}, topology_name="tree")
    taint = Taint(key="broken", value="yes")
    world.node("b/r/a", {"zone": "z"}, allocatable={"cpu": 1, "pods": 9}, taints=(taint,))
    world.node("b/r/b", {"zone": "z"}, allocatable={"cpu": 1, "pods": 9})
    world.node("b/r/c", {"zone": "z"}, allocatable={"cpu": 0, "pods": 9})
    world.node("b/r/d", {"zone": "y"}, allocatable={"cpu": 2, "pods": 9})
    world.node("b/r/e", {"zone": "z"}, allocatable={"cpu": 2, "pods": 9}, ready=False)
    world.cluster_queue("q", quotas("cpu", tas=1_000))
    key = world.submit_selecting("w", "q", {"zone": "z"}, count=3)
    world.settle()
    found = world[key].explanation
    assert found is not None
    assert found.blockers[0].excluded_hosts == (
        HostExclusion(cause="NodeSelector", hosts=1),
        HostExclusion(cause="Resource", detail="cpu", hosts=1),
        HostExclusion(cause="Taint", detail="broken=yes:NoSchedule", hosts=1),
        HostExclusion(cause="Unusable", hosts=1),
    )
    assert found.blockers[0].have == 1


def test_a_topology_above_hosts_counts_whole_domains() -> None:
    world = World()
    world.topology(("block", "rack"))
    world.flavor("tas", node_labels={"pool": "gpu"}, topology_name="tree")
    for path, cpu in {"b1/r1/a": 2, "b1/r1/b": 2, "b1/r2/c": 1}.items():
        world.node(path, allocatable={"cpu": cpu, "pods": 110})
    world.cluster_queue("q", quotas("cpu", tas=1_000))
    key = world.submit("w", "q", {"cpu": 1}, count=3, topology=TopologyRequest(required="rack"))
    world.settle()
    admission = world[key].admission
    assert admission is not None
    given = admission.pod_set_assignments[0].topology_assignment
    assert given is not None
    assert [(domain.values, domain.count) for domain in given.domains] == [(("b1", "r1"), 3)]


def test_a_flavor_without_a_place_gives_way_to_the_next_one() -> None:
    world = World()
    world.topology()
    for pool, path, cpu in (("small", "b/r/s", 2), ("large", "b/r/l", 8)):
        world.flavor(pool, node_labels={"pool": pool}, topology_name="tree")
        world.node(path, {"pool": pool}, allocatable={"cpu": cpu, "pods": 110})
    world.cluster_queue("q", quotas("cpu", small=100, large=100))
    key = world.submit("w", "q", {"cpu": 4}, topology=TopologyRequest(unconstrained=True))
    world.settle()
    admission = world[key].admission
    assert admission is not None
    assert admission.pod_set_assignments[0].flavors == {"cpu": "large"}


@pytest.mark.parametrize(
    "topology",
    [
        TopologyRequest(unconstrained=True),
        TopologyRequest(required="rack"),
        TopologyRequest(required=HOST),
        TopologyRequest(preferred="rack"),
    ],
    ids=["unconstrained", "rack", "host", "preferred"],
)
def test_a_pod_too_big_for_every_host_is_told_what_the_hosts_lack(
    topology: TopologyRequest,
) -> None:
    """Issue 17, line 1: "request at most 0 pods" said nothing of a pod that no host can hold."""
    world = World()
    world.hosts({"b/r/a": 2, "b/r/b": 3})
    world.cluster_queue("q", quotas("cpu", tas=1_000))
    key = world.submit("w", "q", {"cpu": 4}, topology=topology)
    world.settle()
    found = world[key].explanation
    assert found is not None
    assert found.blockers[0].message == message("PodExceedsLargestHost")
    assert (found.blockers[0].need, found.blockers[0].have, found.blockers[0].free) == (4, 3, 3)
    assert found.blockers[0].excluded_hosts == (
        HostExclusion(cause="Resource", detail="cpu", hosts=2),
    )


def test_a_pod_set_without_pods_lies_nowhere() -> None:
    world = World()
    world.hosts({"b/r/a": 1})
    world.cluster_queue("q", quotas("cpu", tas=10))
    key = world.submit("w", "q", {"cpu": 1}, count=0, topology=TopologyRequest(required="rack"))
    world.cycle()
    admission = world[key].admission
    assert admission is not None
    assert admission.pod_set_assignments[0].topology_assignment is None


def test_hosts_that_are_taken_are_waited_for_and_hosts_that_never_do_are_not() -> None:
    world = World()
    world.hosts({"b/r/a": 4})
    world.cluster_queue("q", quotas("cpu", tas=1_000))
    request = TopologyRequest(required="rack")
    world.submit("holder", "q", {"cpu": 1}, count=3, topology=request)
    world.settle()
    waits = world.submit("waits", "q", {"cpu": 1}, count=2, topology=request)
    never = world.submit("never", "q", {"cpu": 1}, count=5, topology=request)
    world.settle()
    found = [world[key].explanation for key in (waits, never)]
    assert [each and each.dominant for each in found] == [
        "WaitingForHosts",
        "Unschedulable",
    ]
    conditions = [condition(world[key], "QuotaReserved") for key in (waits, never)]
    assert [each and each.reason for each in conditions] == [
        "WaitingForQuota",
        "TopologyPlacementFailed",
    ], "conditions have Kueue's words"
