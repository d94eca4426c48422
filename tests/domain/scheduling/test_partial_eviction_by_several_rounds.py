"""A workload gives up pods for several rounds at a time (preemption.md §6.6, units; I2)."""

import pytest

from headgate.domain.kinds.queue_settings import ClusterQueuePreemption, SoftEviction
from headgate.domain.rounds.state import RoundCommitted, VictimReleased
from headgate.domain.scheduling.placement.host_table import ACTUAL, PROJECTED
from headgate.domain.values.message import message
from headgate.domain.workloads.events import WorkloadDeleted, WorkloadEvicted
from headgate.domain.workloads.preemption_events import (
    EvictionCancelled,
    EvictionForced,
    WorkloadPodsEvicted,
)
from headgate.domain.workloads.specs import EvictionPolicy, PodSet, Scheduling, TopologyRequest
from headgate.domain.workloads.state import phase_of
from tests.builders.world import StreamEvent, World, quotas
from tests.verify.histories import findings_of

LOWER = ClusterQueuePreemption(
    within_cluster_queue="LowerPriority", soft_eviction=SoftEviction(max_grace_seconds=600)
)
SOFT = EvictionPolicy(grace_period_seconds=300, handler="ckpt")
GPU = ("default", "gpu")


def six_pods(soft: EvictionPolicy | None = None) -> tuple[World, str]:
    """Six pods of four gpus on all there is; the first two must stay."""
    world = World()
    world.flavor("default")
    world.cluster_queue("q", quotas(default=24), preemption=LOWER)
    semi = world.submit(
        "semi",
        "q",
        {"gpu": 4},
        count=(6, 2),
        preemptibility="SemiPreemptible",
        eviction_policy=soft,
    )
    world.settle()
    return world, semi


def wants(world: World, name: str, gpus: int, priority: int) -> list[StreamEvent]:
    world.submit(name, "q", {"gpu": gpus}, priority=priority)
    return world.settle()


def shrinks(made: list[StreamEvent]) -> dict[str, tuple[int, int]]:
    """By workload, how many pods of its only set are evicted, and how many stay."""
    return {
        stream.removeprefix("workload/"): (event.pods["main"], event.counts["main"])
        for stream, event in made
        if isinstance(event, WorkloadPodsEvicted)
    }


def of_kind(made: list[StreamEvent], kind: type) -> list[str]:
    return [stream for stream, event in made if isinstance(event, kind)]


def pods(world: World, key: str) -> int:
    admission = world[key].admission
    assert admission is not None, f"{key} is not admitted"
    return admission.pod_set_assignments[0].count


def in_use(world: World) -> tuple[int, int]:
    usage = world.cluster_state.partition("clusterqueue/q").usage
    actual, projected = (usage[view]["clusterqueue/q"].get(GPU, 0) for view in (ACTUAL, PROJECTED))
    return actual, projected


def test_a_second_round_takes_the_pods_before_those_of_the_first() -> None:
    world, semi = six_pods()
    assert shrinks(wants(world, "first", 8, 50)) == {semi: (2, 4)}
    assert shrinks(wants(world, "second", 4, 40)) == {semi: (1, 3)}
    assert [phase_of(world[f"team/{name}"]) for name in ("first", "second")] == ["Nominated"] * 2
    assert in_use(world) == (24, 24)


def test_a_third_round_gets_nothing_of_the_core() -> None:
    world, semi = six_pods()
    wants(world, "first", 8, 50)
    wants(world, "second", 8, 40)
    made = wants(world, "third", 4, 30)
    assert (shrinks(made), of_kind(made, RoundCommitted)) == ({}, [])
    explained = world["team/third"].explanation
    assert explained is not None
    (refused,) = [
        r for blocker in explained.blockers for r in blocker.refused if r.workload == semi
    ]
    assert refused.rule == message("PodsNotPreemptible", preemptibility="SemiPreemptible", pods=2)


@pytest.mark.parametrize("order", [(0, 0), (1, 0)], ids=["in turn", "the second first"])
def test_the_preemptor_of_the_first_stopped_pods_starts_first(
    order: tuple[int, int],
) -> None:
    world, semi = six_pods()
    wants(world, "first", 8, 50)
    wants(world, "second", 4, 40)
    starts = ["team/first", "team/second"] if order[0] == 0 else ["team/second", "team/first"]
    for number, key in zip(order, starts, strict=True):
        world.give_up_pods(semi, number)
        assert of_kind(world.settle(), VictimReleased), "the round knows that its pods have gone"
        assert key in world.admitted()
    assert pods(world, semi) == 3
    assert world[semi].pod_evictions == ()
    assert in_use(world) == (24, 24)
    assert findings_of(world.history) == []


def on_hosts() -> tuple[World, str]:
    """A pod on each of six hosts, in rank order."""
    world = World()
    world.hosts({f"b/r/h{number}": 1 for number in range(6)}, "gpu")
    world.cluster_queue("q", quotas("gpu", tas=100), preemption=LOWER)
    single = PodSet(
        count=6,
        disruption_mode="Single",
        scheduling=Scheduling(requests={"gpu": 1}),
        topology_request=TopologyRequest(unconstrained=True),
    )
    low = world.submit_pod_sets("low", "q", single)
    world.settle()
    return world, low


@pytest.mark.parametrize("order", [(0, 0), (1, 0)], ids=["in turn", "the second first"])
def test_on_hosts_each_round_gets_the_hosts_of_its_own_pods(order: tuple[int, int]) -> None:
    world, low = on_hosts()
    before = list(world.placed(low))
    rack = TopologyRequest(required="rack")
    for name, count, priority in (("first", 2, 9), ("second", 1, 8)):
        world.submit(name, "q", {"gpu": 1}, count=count, priority=priority, topology=rack)
        world.settle()
    for number in order:
        world.give_up_pods(low, number)
        world.settle()
    assert list(world.placed(low)) == before[:3]
    assert list(world.placed("team/second")) == before[3:4]
    assert list(world.placed("team/first")) == before[4:]


def test_a_preemptor_of_guaranteed_pods_takes_the_workload_from_rounds_of_its_surplus() -> None:
    world, low = on_hosts()
    world.submit("some", "q", {"gpu": 1}, count=2, priority=8)
    world.settle()
    world.submit("rest", "q", {"gpu": 1}, count=4, priority=9)
    assert of_kind(world.settle(), WorkloadEvicted) == [f"workload/{low}"]
    world.stop(low)
    world.settle()
    assert {"team/some", "team/rest"} <= set(world.admitted())


def test_only_the_pods_that_were_asked_for_last_may_stay_after_all() -> None:
    world, semi = six_pods(SOFT)
    wants(world, "first", 8, 50)
    wants(world, "second", 4, 40)
    world.record("workload/team/first", WorkloadDeleted())
    assert of_kind(world.settle(), EvictionCancelled) == [], "those before them in rank go"
    world.record("workload/team/second", WorkloadDeleted())
    assert of_kind(world.settle(), EvictionCancelled) == [f"workload/{semi}"]
    (left,) = world[semi].pod_evictions
    assert left.pods == {"main": 2}
    world.give_up_pods(semi)
    assert pods(world, semi) == 4
    world.settle()
    assert pods(world, semi) == 6, "they come back, as no round needs their place any more"


def test_pods_after_some_that_have_gone_may_not_stay_either() -> None:
    world, semi = six_pods(SOFT)
    wants(world, "first", 8, 50)
    wants(world, "second", 4, 40)
    world.give_up_pods(semi, 1)
    world.settle()
    world.record("workload/team/first", WorkloadDeleted())
    assert of_kind(world.settle(), EvictionCancelled) == []
    world.give_up_pods(semi)
    assert (pods(world, semi), findings_of(world.history)) == (3, [])
    world.settle()
    assert (pods(world, semi), findings_of(world.history)) == (5, []), "beside the second"


def test_the_time_of_each_round_runs_out_by_itself() -> None:
    world, _ = six_pods(SOFT)
    wants(world, "first", 8, 50)
    world.wait(100)
    wants(world, "second", 4, 40)
    forced = []
    for _ in range(3):
        world.wait(100)
        forced.append(len(of_kind(world.settle(), EvictionForced)))
    assert forced == [0, 1, 1]
