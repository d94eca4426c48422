"""Leaders with their workers, balanced shares, and several flavors on the same machines."""

from typing import Any

import pytest

from headgate.domain.kinds.topology import TopologyRules
from headgate.domain.values.selectors import NodeSelectorTerm, PreferredTerm, Requirement
from headgate.domain.workloads.specs import PodSet, Scheduling, SliceLayer, TopologyRequest
from tests.builders.world import World, quotas

HOST = "kubernetes.io/hostname"


def a_group(
    leader: dict[str, int], workers: dict[str, int], count: int, **asked: Any
) -> tuple[PodSet, PodSet]:
    """A leader and its workers with the requests of each pod."""
    request = TopologyRequest(pod_set_group_name="ring", **asked)
    return (
        PodSet(
            name="leader", count=1, scheduling=Scheduling(requests=leader), topology_request=request
        ),
        PodSet(
            name="workers",
            count=count,
            scheduling=Scheduling(requests=workers),
            topology_request=request,
        ),
    )


def world_of(hosts: dict[str, int], **rules: Any) -> World:
    world = World()
    world.hosts(hosts)
    world.cluster_queue("q", quotas("cpu", tas=1_000))
    if rules:
        world.configure(topology=TopologyRules(**rules))
    return world


def places(world: World, key: str) -> dict[str, dict[str, int]]:
    """Pods per host of each pod set; empty if it was not admitted."""
    admission = world[key].admission
    return {
        given.name: {
            domain.values[-1]: domain.count for domain in given.topology_assignment.domains
        }
        for given in (admission.pod_set_assignments if admission else ())
        if given.topology_assignment is not None
    }


def test_the_leader_lies_where_it_costs_no_worker_its_place() -> None:
    world = world_of({"b/r/h1": 2, "b/r/h2": 4, "b/r/h3": 3})
    sets = a_group({"cpu": 1}, {"cpu": 2}, 4, required="rack")
    key = world.submit_pod_sets("w", "q", *sets)
    world.settle()
    assert places(world, key) == {"leader": {"h3": 1}, "workers": {"h1": 1, "h2": 2, "h3": 1}}


def test_the_tightest_domain_is_chosen_with_the_leader_counted() -> None:
    world = world_of({"b1/r1/a": 11, "b2/r2/b": 5})
    sets = a_group({"cpu": 1}, {"cpu": 1}, 4, required="block")
    key = world.submit_pod_sets("w", "q", *sets)
    world.settle()
    assert places(world, key) == {"leader": {"b": 1}, "workers": {"b": 4}}


def test_the_leader_asks_for_its_own_kind_of_host() -> None:
    world = World()
    world.topology()
    world.flavor("tas", node_labels={"pool": "gpu"}, topology_name="tree")
    world.node("b/r/login", {"kind": "login"}, allocatable={"cpu": 4, "pods": 110})
    world.node("b/r/plain", {"kind": "plain"}, allocatable={"cpu": 4, "pods": 110})
    world.cluster_queue("q", quotas("cpu", tas=1_000))
    request = TopologyRequest(pod_set_group_name="ring", required="rack")
    sets = [
        PodSet(
            name=name,
            count=count,
            scheduling=Scheduling(requests={"cpu": 1}, node_selector={"kind": kind}),
            topology_request=request,
        )
        for name, count, kind in (("leader", 1, "login"), ("workers", 4, "plain"))
    ]
    key = world.submit_pod_sets("w", "q", *sets)
    world.settle()
    assert places(world, key) == {"leader": {"login": 1}, "workers": {"plain": 4}}


def test_a_group_without_capacity_for_its_leader_waits_and_says_so() -> None:
    world = world_of({"b/r/a": 2, "b/r/b": 2})
    sets = a_group({"cpu": 4}, {"cpu": 1}, 2, required="rack")
    key = world.submit_pod_sets("w", "q", *sets)
    world.settle()
    found = world[key].explanation
    assert world[key].admission is None
    assert found is not None
    assert found.blockers[found.deciding].message.code == "NoDomainHoldsLeader"


@pytest.mark.parametrize(
    ("balanced", "expected"), [(True, {"a": 6, "b": 6}), (False, {"a": 10, "b": 2})]
)
def test_balanced_pods_lie_in_equal_shares(balanced: bool, expected: dict[str, int]) -> None:
    world = world_of({"b/r/a": 10, "b/r/b": 10})
    request = TopologyRequest(preferred="rack", balanced=balanced)
    key = world.submit("w", "q", {"cpu": 1}, count=12, topology=request)
    world.settle()
    assert world.placed(key) == expected


@pytest.mark.parametrize(
    ("hosts", "count", "expected"),
    [
        ({"b/r/a": 15, "b/r/b": 13, "b/r/c": 10}, 23, {"a": 12, "b": 11}),
        (
            {"b/r1/a": 20, "b/r1/b": 10, "b/r2/c": 15, "b/r2/d": 15},
            22,
            {"c": 11, "d": 11},
        ),
    ],
)
def test_the_largest_smallest_share_wins_then_the_fewest_hosts(
    hosts: dict[str, int], count: int, expected: dict[str, int]
) -> None:
    world = world_of(hosts)
    request = TopologyRequest(preferred="rack", balanced=True)
    key = world.submit("w", "q", {"cpu": 1}, count=count, topology=request)
    world.settle()
    assert world.placed(key) == expected


def test_the_best_fit_profile_also_holds_for_pods_that_name_no_level() -> None:
    world = world_of({"b/r/a": 3, "b/r/b": 3, "b/r/c": 2, "b/r/d": 1}, profile="BestFit")
    request = TopologyRequest(unconstrained=True)
    key = world.submit("w", "q", {"cpu": 1}, count=7, topology=request)
    world.settle()
    assert world.placed(key) == {"a": 3, "b": 3, "d": 1}


@pytest.mark.parametrize(("respect", "host"), [(True, "b"), (False, "a")])
def test_preferred_affinity_counts_where_the_installation_says_so(respect: bool, host: str) -> None:
    world = World()
    world.topology()
    world.flavor("tas", node_labels={"pool": "gpu"}, topology_name="tree")
    world.node("b/r/a", {"disk": "slow"}, allocatable={"cpu": 1, "pods": 110})
    world.node("b/r/b", {"disk": "fast"}, allocatable={"cpu": 4, "pods": 110})
    world.cluster_queue("q", quotas("cpu", tas=1_000))
    world.configure(topology=TopologyRules(respect_preferred_affinity=respect))
    fast = NodeSelectorTerm(
        match_expressions=(Requirement(key="disk", operator="In", values=("fast",)),)
    )
    pod_set = PodSet(
        count=1,
        scheduling=Scheduling(
            requests={"cpu": 1}, preferred_affinity=(PreferredTerm(weight=10, term=fast),)
        ),
        topology_request=TopologyRequest(required="rack"),
    )
    key = world.submit_pod_sets("w", "q", pod_set)
    world.settle()
    assert places(world, key) == {"main": {host: 1}}


def test_flavors_on_the_same_hosts_share_what_is_used_of_them() -> None:
    world = World()
    world.topology()
    for flavor in ("day", "night"):
        world.flavor(flavor, node_labels={"pool": "gpu"}, topology_name="tree")
        world.cluster_queue(flavor, quotas("cpu", **{flavor: 100}))
    world.node("b/r/a", allocatable={"cpu": 5, "pods": 110})
    request = TopologyRequest(required="rack")
    first = world.submit("first", "day", {"cpu": 1}, count=3, topology=request)
    second = world.submit("second", "night", {"cpu": 1}, count=3, topology=request)
    world.settle()
    assert sorted(world.admitted()) == [first]
    assert world[second].admission is None


def test_flavors_in_the_same_rack_count_only_their_own_machines_above_hosts() -> None:
    world = World()
    world.topology(("block", "rack"))
    for pool in ("old", "new"):
        world.flavor(pool, node_labels={"pool": pool}, topology_name="tree")
        world.node(f"b/r/{pool}", {"pool": pool}, allocatable={"cpu": 2, "pods": 110})
    world.cluster_queue("q", quotas("cpu", old=100))
    request = TopologyRequest(required="rack")
    key = world.submit("w", "q", {"cpu": 1}, count=3, topology=request)
    world.settle()
    assert world[key].admission is None


def test_sixteen_levels_with_values_that_repeat_below_different_parents() -> None:
    levels = (*(f"l{number}" for number in range(15)), HOST)
    world = World()
    world.topology(levels)
    world.flavor("tas", node_labels={"pool": "gpu"}, topology_name="tree")
    for name, top in (("a", "x"), ("b", "y")):
        labels = {"l0": top, **{f"l{number}": "same" for number in range(1, 15)}}
        world.node(f"b/r/{name}", labels, allocatable={"cpu": 2, "pods": 110})
    world.cluster_queue("q", quotas("cpu", tas=100))
    together = world.submit("w", "q", {"cpu": 1}, count=3, topology=TopologyRequest(required="l14"))
    spread = world.submit(
        "v",
        "q",
        {"cpu": 1},
        count=4,
        topology=TopologyRequest(preferred="l14", slice_layers=(SliceLayer(level="l14", size=2),)),
    )
    world.settle()
    assert world[together].admission is None
    assert world.placed(spread) == {"a": 2, "b": 2}


def test_pod_sets_of_a_group_are_known_by_their_names_and_not_by_their_order() -> None:
    """Kueue 0.20, change 29 (#16273)."""
    found = []
    for backwards in (False, True):
        world = world_of({"b/r/h1": 2, "b/r/h2": 4, "b/r/h3": 3})
        sets = a_group({"cpu": 1}, {"cpu": 2}, 4, required="rack")
        key = world.submit_pod_sets("w", "q", *(sets[::-1] if backwards else sets))
        world.settle()
        found.append(places(world, key))
    assert found[0] == found[1]
    assert found[0]["leader"] == {"h3": 1}
