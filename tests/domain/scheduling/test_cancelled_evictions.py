"""Evictions that are not needed any more are cancelled unless begun (preemption.md §6.8, §6.10)."""

from typing import Any

from headgate.domain.kinds.queue_settings import ClusterQueuePreemption, SoftEviction
from headgate.domain.nodes.state import NodeReported
from headgate.domain.scheduling.placement.host_table import PROJECTED
from headgate.domain.values.message import message
from headgate.domain.workloads.commands import AcknowledgeEviction
from headgate.domain.workloads.events import WorkloadDeleted, WorkloadHeld
from headgate.domain.workloads.preemption_events import EvictionCancelled
from headgate.domain.workloads.specs import EvictionPolicy, TopologyRequest
from headgate.domain.workloads.state import is_condition_true, phase_of
from tests.builders.rounds import streams_with
from tests.builders.world import World, names, quotas
from tests.verify.histories import findings_of

SOFT = EvictionPolicy(grace_period_seconds=300, handler="ckpt")
LOWER = ClusterQueuePreemption(
    within_cluster_queue="LowerPriority", soft_eviction=SoftEviction(max_grace_seconds=600)
)


def queue_of(nominal: int) -> World:
    world = World()
    world.flavor("default")
    world.cluster_queue("q", quotas(default=nominal), preemption=LOWER)
    return world


def submitted(world: World, name: str, size: int, priority: int, **spec: Any) -> str:
    key = world.submit(name, "q", {"gpu": size}, priority=priority, **spec)
    world.settle()
    return key


def one_leaves_and_one_ends(soft: EvictionPolicy | None = SOFT) -> World:
    """P makes v leave, and could have the room of `other` as well."""
    world = queue_of(2)
    submitted(world, "v", 1, 1, eviction_policy=soft)
    submitted(world, "other", 1, 9)
    submitted(world, "p", 1, 5)
    assert world["team/v"].eviction is not None
    return world


def in_use(world: World) -> int:
    usage = world.cluster_state.partition("clusterqueue/q").usage[PROJECTED]
    return usage["clusterqueue/q"][("default", "gpu")]


def test_a_victim_runs_on_when_its_preemptor_starts_before_it_has_begun_to_leave() -> None:
    world = one_leaves_and_one_ends()
    world.wait(60)
    world.finish("team/other")
    made = world.settle()
    assert streams_with(made, EvictionCancelled) == ["workload/team/v"]
    assert world.admitted() == ["team/p", "team/v"]
    assert phase_of(world["team/v"]) == "Starting"
    assert not is_condition_true(world["team/v"], "Evicted")
    (found,) = world.cluster_state.rounds.values()
    assert (found.stage, found.called_back) == ("Completed", ("team/v",))
    assert found.outcome == message("PreemptorStarted", waited=60)
    assert in_use(world) == 2
    assert world.settle() == [], "nothing is left to do, and no time runs out"
    assert findings_of(world.history) == []


def test_an_acknowledged_eviction_is_not_cancelled() -> None:
    world = one_leaves_and_one_ends()
    victim = world["team/v"]
    assert victim.eviction is not None
    taken = AcknowledgeEviction(uid=victim.uid, eviction=victim.eviction.id, handler="ckpt")
    world.tell("team/v", taken)
    world.finish("team/other")
    assert streams_with(world.settle(), EvictionCancelled) == []
    assert phase_of(world["team/v"]) == "Evicting"
    (found,) = world.cluster_state.rounds.values()
    assert (found.stage, found.called_back) == ("Completed", ())


def test_an_immediate_eviction_is_not_cancelled() -> None:
    world = one_leaves_and_one_ends(None)
    world.finish("team/other")
    assert streams_with(world.settle(), EvictionCancelled) == []
    assert phase_of(world["team/v"]) == "Evicting"


def two_rounds() -> World:
    """p1 evicts a and b, which free one more than it needs; p2 needs that and what c frees."""
    world = queue_of(5)
    for name, size, priority in (("a", 2, 0), ("b", 2, 0), ("c", 1, 1)):
        submitted(world, name, size, priority, eviction_policy=SOFT)
    submitted(world, "p1", 3, 9)
    submitted(world, "p2", 2, 8)
    victims = [{v.workload for v in each.victims} for each in world.cluster_state.rounds.values()]
    assert sorted(map(sorted, victims)) == [["team/a", "team/b"], ["team/c"]]
    return world


def test_no_more_evictions_are_cancelled_than_another_round_can_spare() -> None:
    world = two_rounds()
    world.record("workload/team/p1", WorkloadDeleted())
    made = world.settle()
    assert len(streams_with(made, EvictionCancelled)) == 1, (
        "either alone could stay; both would take the room of p2"
    )
    assert "PlacementInvalidated" not in names(made)
    assert in_use(world) <= 5


def test_capacity_of_an_invalid_round_does_not_prevent_cancelling_evictions() -> None:
    world = two_rounds()
    world.record("workload/team/p1", WorkloadHeld(owner="user:x", reason="not now"))
    made = world.settle()
    assert len(streams_with(made, EvictionCancelled)) == 1
    assert "PlacementInvalidated" not in names(made)


def test_evictions_of_a_superseded_round_are_cancelled_with_the_new_one() -> None:
    world = World()
    world.hosts({"b/r1/h1": 2, "b/r1/h2": 2, "b/r2/h3": 2, "b/r2/h4": 2}, "gpu")
    world.cluster_queue("q", quotas("gpu", tas=100), preemption=LOWER)
    rack = TopologyRequest(required="rack")
    for name, priority in (("a", 1), ("b", 1), ("c", 2), ("d", 2)):
        submitted(world, name, 2, priority, topology=rack, eviction_policy=SOFT)
    p = submitted(world, "p", 2, 9, count=2, topology=rack)
    (host,) = world.placed("team/a")
    world.stop("team/a")
    world.settle()
    world.record(f"node/{host}", NodeReported(ready=False, allocatable={"gpu": 2, "pods": 110}))
    world.settle()
    stages = [found.stage for found in world.cluster_state.rounds.values()]
    assert stages == ["Superseded", "Committed"], "it plans anew, and counts on b leaving"
    world.record(f"workload/{p}", WorkloadDeleted())
    back = streams_with(world.settle(), EvictionCancelled)
    assert sorted(back) == ["workload/team/b", "workload/team/c", "workload/team/d"]
    assert findings_of(world.history) == []
