"""Pod sets that share a flavor, flavors a workload allows, and what counts for quota at all."""

import pytest

from headgate.domain.kinds.configuration import ResourceRules, Transformation
from headgate.domain.kinds.queue_settings import FlavorQuotas, ResourceGroup, ResourceQuota
from headgate.domain.scheduling.pending_reasons import recorded_reason
from headgate.domain.values.message import Message, message
from headgate.domain.workloads.specs import ALLOWED_FLAVORS, PodSet, Scheduling, TopologyRequest
from tests.builders.world import World, quotas

GROUP = TopologyRequest(pod_set_group_name="group")


def pods(name: str, cpu: int, count: int = 1, topology: TopologyRequest | None = GROUP) -> PodSet:
    requests = {"cpu": cpu} if cpu else {}
    return PodSet(
        name=name,
        count=count,
        scheduling=Scheduling(requests=requests),
        topology_request=topology,
    )


def two_flavors(**nominal: int) -> World:
    world = World()
    for name in nominal:
        world.flavor(name)
    world.cluster_queue("q", quotas("cpu", **nominal))
    return world


def given(world: World, key: str) -> list[tuple[str, dict[str, str], dict[str, int]]]:
    admission = world[key].admission
    assert admission is not None, f"{key} has no quota"
    return [(a.name, a.flavors, a.resource_usage) for a in admission.pod_set_assignments]


def reason(world: World, key: str) -> Message:
    found = recorded_reason(world.cluster_state, world[key], world.at)
    assert found is not None
    return found.blockers[found.deciding].message


def test_a_leader_and_its_workers_go_together_where_all_of_them_fit() -> None:
    world = two_flavors(one=8, two=9)
    key = world.submit_pod_sets("w", "q", pods("workers", 2, 4), pods("leader", 1))
    world.settle()
    assert given(world, key) == [
        ("workers", {"cpu": "two"}, {"cpu": 8}),
        ("leader", {"cpu": "two"}, {"cpu": 1}),
    ]


def test_a_pod_set_of_a_group_has_no_flavor_for_what_it_does_not_request() -> None:
    """Issue 17, line 16: a leader without GPUs was kept to the nodes of its GPU workers."""
    world = World()
    world.flavor("cores")
    world.flavor("cards", node_labels={"gpu": "a100"})
    world.cluster_queue("q", (*quotas("cpu", cores=8), *quotas("gpu", cards=8)))
    workers = PodSet(
        name="workers",
        count=2,
        scheduling=Scheduling(requests={"cpu": 1, "gpu": 4}),
        topology_request=GROUP,
    )
    key = world.submit_pod_sets("w", "q", pods("leader", 1), workers)
    world.settle()
    assert given(world, key) == [
        ("leader", {"cpu": "cores"}, {"cpu": 1}),
        ("workers", {"cpu": "cores", "gpu": "cards"}, {"cpu": 2, "gpu": 8}),
    ]


def test_a_pod_set_of_a_group_keeps_the_flavor_of_its_hosts() -> None:
    """Issue 17, line 16: the leader lies beside its workers, in their topology."""
    world = World()
    world.hosts({"b/r/h1": 8, "b/r/h2": 8}, "gpu")
    world.flavor("credits")
    world.cluster_queue("q", (*quotas("gpu", tas=16), *quotas("cpu", credits=8)))
    rack = TopologyRequest(required="rack", pod_set_group_name="group")
    workers = PodSet(
        name="workers",
        count=2,
        scheduling=Scheduling(requests={"gpu": 4}),
        topology_request=rack,
    )
    key = world.submit_pod_sets("w", "q", pods("leader", 0, 1, rack), workers)
    world.settle()
    assert given(world, key)[0][1] == {"gpu": "tas"}
    admission = world[key].admission
    assert admission is not None
    assert all(a.topology_assignment is not None for a in admission.pod_set_assignments)


def test_pod_sets_of_no_group_go_each_where_it_fits() -> None:
    world = two_flavors(one=8, two=9)
    alone = (pods("workers", 2, 4, None), pods("leader", 1, 1, None))
    key = world.submit_pod_sets("w", "q", *alone)
    world.settle()
    assert [flavors["cpu"] for _, flavors, _ in given(world, key)] == ["one", "two"]


def test_a_leader_that_needs_no_quota_lies_on_the_hosts_of_its_workers() -> None:
    world = World()
    world.hosts({"b/r/h1": 8, "b/r/h2": 8})
    world.cluster_queue("q", quotas("cpu", tas=16))
    together = TopologyRequest(required="rack", pod_set_group_name="group")
    key = world.submit_pod_sets(
        "w", "q", pods("leader", 0, 1, together), pods("workers", 2, 4, together)
    )
    world.settle()
    admission = world[key].admission
    assert admission is not None
    assert all(a.topology_assignment is not None for a in admission.pod_set_assignments)


def test_a_wish_for_places_that_no_flavor_can_meet_is_reported() -> None:
    world = World()
    world.hosts({"b/r/h1": 8})
    world.cluster_queue("q", quotas("cpu", tas=16))
    rack = TopologyRequest(required="rack")
    key = world.submit_pod_sets("w", "q", pods("leader", 0, 1, rack))
    world.settle()
    assert reason(world, key) == message("NoFlavorWithTopology")


def test_only_flavors_that_the_workload_allows_are_evaluated() -> None:
    world = two_flavors(one=8, two=9)
    allowed = {ALLOWED_FLAVORS: "two, other"}
    key = world.submit_pod_sets("w", "q", pods("main", 1), annotations=allowed)
    never = world.submit_pod_sets("v", "q", pods("main", 1), annotations={ALLOWED_FLAVORS: "other"})
    world.settle()
    assert given(world, key) == [("main", {"cpu": "two"}, {"cpu": 1})]
    assert reason(world, never) == message("FlavorNotAllowed")


TO_CREDITS = ResourceRules(
    transformations=(
        Transformation(input="gpu", strategy="Replace", outputs_milli={"credits": 2500}),
    )
)


def test_quota_is_charged_by_the_rules_of_the_configuration() -> None:
    world = World()
    world.flavor("one")
    world.configure(resources=TO_CREDITS)
    world.cluster_queue("q", quotas("credits", one=10))
    key = world.submit("early", "q", {"gpu": 2}, count=2)
    late = world.submit("late", "q", {"gpu": 1})
    world.settle()
    assert given(world, key) == [("main", {"credits": "one"}, {"credits": 10})]
    assert world[late].admission is None
    assert world[key].spec.pod_sets[0].scheduling.requests == {"gpu": 2}


def test_hosts_are_filled_by_what_pods_ask_for_themselves() -> None:
    world = World()
    world.hosts({"b/r/h1": 3}, "gpu")
    world.configure(resources=TO_CREDITS)
    world.cluster_queue("q", quotas("credits", tas=100))
    rack = TopologyRequest(required="rack")
    first = world.submit("v", "q", {"gpu": 2}, topology=rack)
    second = world.submit("w", "q", {"gpu": 2}, topology=rack)
    world.settle()
    assert world[first].admission is not None
    assert world[second].admission is None


def test_a_workload_with_quota_keeps_its_charge_when_the_rules_change() -> None:
    world = World()
    world.flavor("one")
    world.configure(resources=TO_CREDITS)
    world.cluster_queue("q", quotas("credits", one=10))
    key = world.submit("w", "q", {"gpu": 2})
    world.settle()
    cheap = Transformation(input="gpu", strategy="Replace", outputs_milli={"credits": 1000})
    world.configure(resources=ResourceRules(transformations=(cheap,)))
    later = world.submit("v", "q", {"gpu": 5})
    world.settle()
    assert given(world, key) == [("main", {"credits": "one"}, {"credits": 5})]
    assert given(world, later) == [("main", {"credits": "one"}, {"credits": 5})]


def test_a_change_of_the_rules_requeues_inadmissible_workloads() -> None:
    world = World()
    world.flavor("one")
    world.cluster_queue("q", quotas("cpu", one=10))
    key = world.submit("w", "q", {"cpu": 1, "x.io/port": 1})
    world.settle()
    assert reason(world, key) == message("NoQuotaForResource", resource="x.io/port")
    world.configure(resources=ResourceRules(exclude_resource_prefixes=("x.io/",)))
    world.settle()
    assert world[key].admission is not None


@pytest.mark.parametrize("strategy", ["BlockUndeclared", "IgnoreUndeclared"])
def test_resources_without_quota_block_unless_they_are_to_be_ignored(strategy: str) -> None:
    world = World()
    world.flavor("one")
    world.configure(resources=ResourceRules(quota_check_strategy=strategy))  # type: ignore[arg-type]
    world.cluster_queue("q", quotas("cpu", one=10))
    key = world.submit("w", "q", {"cpu": 1, "memory": 1})
    world.settle()
    assert (world[key].admission is not None) == (strategy == "IgnoreUndeclared")


def test_pods_are_a_resource_where_the_queue_covers_it() -> None:
    world = World()
    world.flavor("one")
    world.cluster_queue("q", (*quotas("cpu", one=100), *quotas("pods", one=3)))
    fits = world.submit("v", "q", {"cpu": 1}, count=3)
    too_many = world.submit("w", "q", {"cpu": 1}, count=1)
    world.settle()
    assert given(world, fits)[0][2] == {"cpu": 3, "pods": 3}
    assert world[too_many].admission is None


def test_credits_come_from_a_flavor_without_hosts_beside_one_that_has_some() -> None:
    world = World()
    world.hosts({"b/r/h1": 8})
    world.flavor("credits")
    world.configure(
        resources=ResourceRules(
            transformations=(Transformation(input="cpu", outputs_milli={"credits": 1000}),)
        )
    )
    world.cluster_queue("q", (*quotas("cpu", tas=8), *quotas("credits", credits=9)))
    rack = TopologyRequest(required="rack")
    key = world.submit_pod_sets("w", "q", pods("main", 2, 1, rack))
    world.settle()
    flavors = {"cpu": "tas", "credits": "credits"}
    assert given(world, key) == [("main", flavors, {"cpu": 2, "credits": 1})]
    admission = world[key].admission
    assert admission is not None
    assert admission.pod_set_assignments[0].topology_assignment is not None


def test_gpus_come_before_cpu_and_memory_among_what_is_short() -> None:
    """Issue 20, line 1: GPU, then CPU, then memory; the first of equal severity is the reason."""
    world = World()
    world.flavor("one")
    names = ("cpu", "example.com/gpu", "memory", "slots")
    lines = tuple(ResourceQuota(name=name, nominal_quota=2) for name in names)
    flavor = FlavorQuotas(name="one", resources=lines)
    world.cluster_queue("q", (ResourceGroup(covered_resources=names, flavors=(flavor,)),))
    key = world.submit("large", "q", dict.fromkeys(names, 3))
    world.settle()
    found = recorded_reason(world.cluster_state, world[key], world.at)
    assert found is not None
    order = [each.resource for each in found.blockers if each.type == "Quota"]
    assert order == ["example.com/gpu", "cpu", "memory", "slots"]
    assert found.blockers[found.deciding].resource == "example.com/gpu"
