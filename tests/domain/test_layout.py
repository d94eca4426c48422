"""What follows from configuration alone is known without going through the workloads."""

from headgate.domain.scheduling.partition.partition_layout import INSTALLATION
from tests.builders.world import World, quotas


def test_the_layout_follows_every_change_of_the_configuration() -> None:
    world = World()
    world.flavor()
    assert world.cluster_state.layout.keys == (INSTALLATION,)
    world.cluster_queue("main", quotas(default=1))
    assert world.cluster_state.layout.of_cluster_queue == {"main": "clusterqueue/main"}
    world.local_queue("main", "main")
    key = world.submit("one", "main")
    assert (
        world.cluster_state.layout.key_of(world.cluster_state.workloads[key]) == "clusterqueue/main"
    )
    world.cohort("team")
    world.change_cluster_queue("main", cohort_name="team")
    assert world.cluster_state.layout.of_cluster_queue == {"main": "cohort/team"}
    assert world.cluster_state.layout is world.cluster_state.layout
    assert world.cluster_state.partition_index.layout == world.cluster_state.layout


def test_an_overlay_leaves_no_layout_behind() -> None:
    world = World()
    world.flavor()
    before = world.cluster_state.layout
    with world.cluster_state.overlay():
        tried = World()
        tried.cluster_queue("tried", quotas(default=1))
        fact = tried.history[0]
        world.cluster_state.assume(fact.stream, fact.event, world.at)
        assert "tried" in world.cluster_state.layout.of_cluster_queue
    assert world.cluster_state.layout == before
