"""A node that promised to be heard of and falls silent is not ready, by the database clock."""

from headgate.domain.nodes.decide import NODE, ReportNode
from headgate.domain.scheduling.cycle import plan_cycle
from headgate.domain.scheduling.partition.partition_layout import INSTALLATION
from headgate.domain.workloads.specs import TopologyRequest
from tests.builders.world import World, names, quotas

RACK = TopologyRequest(required="rack")


def a_world() -> World:
    world = World()
    world.hosts({"b/r/a": 2, "b/r/b": 2})
    world.cluster_queue("q", quotas("cpu", tas=9))
    return world


def beat(world: World, host: str, lease_seconds: int = 60) -> list[str]:
    """A heartbeat that says all is well; what was recorded of it."""
    told = ReportNode(ready=True, allocatable={"cpu": 2, "pods": 110}, lease_seconds=lease_seconds)
    made = NODE.decide(world.cluster_state.config.nodes[host], told, world.at)
    for event in made:
        world.record(f"node/{host}", event)
    return [type(event).__name__ for event in made]


def test_a_silent_host_is_not_ready_and_its_pods_move_after_their_time() -> None:
    world = a_world()
    beat(world, "a")
    key = world.submit("job", "q", {"cpu": 1}, count=2, topology=RACK)
    world.settle()
    assert world.placed(key) == {"a": 2}

    world.wait(61)
    assert names(world.settle()) == ["NodeFellSilent"]
    world.wait(31)
    world.settle()

    assert world.placed(key) == {"b": 2}


def test_the_installation_is_due_when_the_first_lease_ends() -> None:
    world = a_world()
    beat(world, "a", lease_seconds=60)
    beat(world, "b", lease_seconds=90)
    heard_at = world.at

    with world.cluster_state.overlay():
        plan = plan_cycle(world.cluster_state, INSTALLATION, world.at, "c")

    assert plan.next_due == heard_at + 60_000_000


def test_a_host_with_heartbeats_stays_ready() -> None:
    world = a_world()
    beat(world, "a")
    for _ in range(5):
        world.wait(40)
        beat(world, "a")
        assert world.settle() == []

    assert world.cluster_state.config.nodes["a"].spec.ready


def test_only_a_heartbeat_late_in_the_lease_is_written_down() -> None:
    world = a_world()
    beat(world, "a")

    world.wait(20)
    assert beat(world, "a") == []
    world.wait(20)
    assert beat(world, "a") == ["NodeLeaseRenewed"]


def test_a_host_that_is_heard_again_is_ready() -> None:
    world = a_world()
    beat(world, "a")
    world.wait(61)
    world.settle()

    assert beat(world, "a") == ["NodeReported"]
    assert world.cluster_state.config.nodes["a"].spec.ready


def test_a_host_without_a_lease_may_be_silent_for_ever() -> None:
    world = a_world()
    beat(world, "a", lease_seconds=0)

    world.wait(10**6)

    assert world.settle() == []
