"""What Kueue gets wrong about hosts and Headgate does not (reference topology.md §10)."""

from headgate.domain.workloads.specs import PodSet, Scheduling, TopologyRequest
from tests.builders.world import World, quotas

ANYWHERE = TopologyRequest(unconstrained=True)
GROUP = TopologyRequest(required="block", pod_set_group_name="g")


def pods(
    name: str,
    count: int,
    cpu: int,
    request: TopologyRequest,
    selector: dict[str, str] | None = None,
) -> PodSet:
    asked = Scheduling(requests={"cpu": cpu}, node_selector=selector or {})
    return PodSet(name=name, count=count, scheduling=asked, topology_request=request)


def a_world(hosts: dict[str, int]) -> World:
    world = World()
    world.hosts(hosts)
    world.cluster_queue("q", quotas("cpu", tas=1_000))
    return world


def test_unconstrained_false_asks_for_nothing() -> None:
    world = a_world({"b/r/a": 2})
    key = world.submit("w", "q", {"cpu": 1}, topology=TopologyRequest(unconstrained=False))
    world.settle()
    assert world.placed(key) == {"a": 1}


def test_pod_sets_of_workloads_of_one_cycle_never_share_what_a_host_has_once() -> None:
    world = a_world({"b/r/a": 96})
    world.cluster_queue("other", quotas("cpu", tas=1_000))
    keys = [
        world.submit_pod_sets(
            name, queue, pods("one", 1, 30, ANYWHERE), pods("two", 1, 30, ANYWHERE)
        )
        for name, queue in (("x", "q"), ("y", "other"))
    ]
    world.settle()
    assert world.admitted() == keys[:1]


def test_every_pod_takes_one_of_the_pods_that_a_host_allows_also_within_a_cycle() -> None:
    world = a_world({"b/r/a": 1_000})
    world.cluster_queue("other", quotas("cpu", tas=1_000))
    for name, queue in (("x", "q"), ("y", "other")):
        world.submit(name, queue, {"cpu": 1}, count=100, topology=ANYWHERE)
    world.settle()
    assert world.admitted() == ["team/x"]


def test_a_leader_goes_where_its_own_selector_lets_it() -> None:
    world = a_world({"b/r/a": 4, "b/r/b": 4})
    world.node("b/r/c", {"disk": "ssd"}, allocatable={"cpu": 4, "pods": 110})
    key = world.submit_pod_sets(
        "w", "q", pods("leader", 1, 1, GROUP, {"disk": "ssd"}), pods("workers", 4, 1, GROUP)
    )
    world.settle()
    admission = world[key].admission
    assert admission is not None
    (leader, _) = admission.pod_set_assignments
    assert leader.topology_assignment is not None
    assert [domain.values for domain in leader.topology_assignment.domains] == [("c",)]


def test_flavors_on_one_host_see_each_others_pods_within_a_cycle() -> None:
    world = World()
    world.topology()
    for name in ("day", "night"):
        world.flavor(name, node_labels={"pool": "gpu"}, topology_name="tree")
    world.node("b/r/a", allocatable={"cpu": 4, "pods": 110})
    world.cluster_queue("q", quotas("cpu", day=100))
    world.cluster_queue("other", quotas("cpu", night=100))
    world.submit("x", "q", {"cpu": 3}, topology=ANYWHERE)
    world.submit("y", "other", {"cpu": 3}, topology=ANYWHERE)
    world.settle()
    assert world.admitted() == ["team/x"]
