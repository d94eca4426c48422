"""Pods that preemption took come back where there is room (KEP-5710, story 3)."""

from typing import Any

import pytest
from msgspec.structs import replace

from headgate.application.queries.explanations import explanation_of
from headgate.domain.kinds.cluster_queue import ClusterQueueStopped
from headgate.domain.kinds.queue_stop import Stop
from headgate.domain.scheduling.placement.host_table import ACTUAL, PROJECTED
from headgate.domain.workloads.commands import ChangeSpec
from headgate.domain.workloads.events import WorkloadHeld, WorkloadReleased
from headgate.domain.workloads.pods.attempt_pods import attempt_pods
from headgate.domain.workloads.preemption_events import WorkloadGrown
from headgate.domain.workloads.specs import PodSet, Scheduling, SliceLayer, TopologyRequest
from headgate.messages.catalogue import sentence_of
from tests.builders.single_pods import LOWER, a_queue, counts, single, used
from tests.builders.world import StreamEvent, World, quotas
from tests.verify.histories import findings_of


def grown(made: list[StreamEvent]) -> dict[str, dict[str, int]]:
    """The pods that come back among the events, by workload."""
    return {
        stream.removeprefix("workload/"): event.pods
        for stream, event in made
        if isinstance(event, WorkloadGrown)
    }


def shrunk(gpus: int = 3, nominal: int = 4, **more: Any) -> tuple[World, str]:
    """A workload of four pods on the whole queue, of which a preemptor has taken some."""
    world = a_queue(nominal)
    low = world.submit_pod_sets("low", "q", single(**more))
    world.settle()
    world.submit("high", "q", {"gpu": gpus}, priority=5)
    world.settle()
    world.give_up_pods(low)
    world.settle()
    assert "team/high" in world.admitted()
    return world, low


def test_all_pods_come_back_when_the_preemptor_has_ended() -> None:
    world, low = shrunk()
    assert counts(world, low) == {"main": 1}
    world.finish("team/high")
    assert grown(world.settle()) == {low: {"main": 3}}
    assert counts(world, low) == {"main": 4}
    assert used(world, ACTUAL) == used(world, PROJECTED) == 4
    assert world.settle() == []
    assert findings_of(world.history) == []


def test_workers_leave_without_their_leader_and_come_back() -> None:
    """The degraded mode of KEP-5710: 1 + 4 pods run as 1 + 2, and as 1 + 4 again."""
    world = a_queue(5)
    leader = PodSet(name="leader", scheduling=Scheduling(requests={"gpu": 1}))
    key = world.submit_pod_sets("ring", "q", leader, single("workers"))
    world.settle()
    high = world.submit("high", "q", {"gpu": 2}, priority=5)
    world.settle()
    world.give_up_pods(key)
    world.settle()
    assert high in world.admitted()
    assert counts(world, key) == {"leader": 1, "workers": 2}
    world.finish(high)
    assert grown(world.settle()) == {key: {"workers": 2}}
    assert counts(world, key) == {"leader": 1, "workers": 4}


def test_a_workload_that_lacks_pods_says_what_it_waits_for() -> None:
    world, low = shrunk()
    found = explanation_of(world.cluster_state, world[low], world.at)
    assert (
        sentence_of(found)
        == "Running; preempted pods start again once there is room: 3 of main (indices 1-3)"
    )
    world.finish("team/high")
    world.settle()
    found = explanation_of(world.cluster_state, world[low], world.at)
    assert sentence_of(found) == "Admitted; starting pods"


def test_as_many_come_back_as_there_is_room_for() -> None:
    world, low = shrunk()
    world.submit("other", "q", {"gpu": 2}, priority=3)
    world.settle()
    world.finish("team/high")
    assert grown(world.settle()) == {low: {"main": 1}}
    assert counts(world, low) == {"main": 2}


def test_a_pending_workload_of_the_same_priority_goes_first() -> None:
    """It needs more than is free, and what is free is left to it."""
    world, low = shrunk()
    world.submit("other", "q", {"gpu": 2}, priority=3)
    waits = world.submit("waits", "q", {"gpu": 2})
    world.settle()
    world.finish("team/high")
    assert grown(world.settle()) == {}
    world.finish("team/other")
    world.settle()
    assert waits in world.admitted()
    assert counts(world, low) == {"main": 2}
    world.finish(waits)
    assert grown(world.settle()) == {low: {"main": 2}}


@pytest.mark.parametrize(("gpus", "priority"), [(9, 0), (2, -1)])
def test_one_that_can_never_start_or_has_a_lower_priority_keeps_no_pods_away(
    gpus: int, priority: int
) -> None:
    world, low = shrunk(nominal=4)
    world.submit("other", "q", {"gpu": 2}, priority=3)
    world.submit("waits", "q", {"gpu": gpus}, priority=priority)
    world.settle()
    world.finish("team/high")
    assert grown(world.settle()) == {low: {"main": 1}}


def test_nothing_comes_back_to_what_is_held_or_to_a_stopped_queue() -> None:
    world, low = shrunk()
    world.record(f"workload/{low}", WorkloadHeld(owner="admin:ana", reason="later"))
    world.finish("team/high")
    assert grown(world.settle()) == {}
    stop = Stop(owner="admin:ana", reason="upgrade", stopped_at=world.at)
    world.record("clusterqueue/q", ClusterQueueStopped(policy="Hold", stop=stop))
    world.record(f"workload/{low}", WorkloadReleased())
    assert grown(world.settle()) == {}


def test_pods_that_the_user_gave_up_do_not_come_back() -> None:
    world, low = shrunk()
    spec = world[low].spec
    fewer = replace(spec, pod_sets=(replace(spec.pod_sets[0], count=2),))
    world.tell(low, ChangeSpec(spec=fewer, eviction="e", authority="Admin"))
    world.finish("team/high")
    assert grown(world.settle()) == {low: {"main": 1}}
    assert counts(world, low) == {"main": 2}


def on_hosts(pod_set: PodSet, priority: int = 5) -> tuple[World, str]:
    """Two racks of two hosts with 2 CPU; the pods of `low` fill one of them."""
    world = World()
    world.hosts({"b/r1/a": 2, "b/r1/b": 2, "b/r2/c": 2, "b/r2/d": 2})
    world.cluster_queue("q", quotas("cpu", tas=8), preemption=LOWER)
    low = world.submit_pod_sets("low", "q", pod_set)
    world.settle()
    return world, low


def cpu_pods(count: int, request: TopologyRequest) -> PodSet:
    return PodSet(
        count=count,
        disruption_mode="Single",
        scheduling=Scheduling(requests={"cpu": 1}),
        topology_request=request,
    )


def test_pods_come_back_under_their_index_beside_the_others() -> None:
    world, low = on_hosts(cpu_pods(4, TopologyRequest(required="rack")))
    before = world.placed(low)
    rack = TopologyRequest(required="rack")
    world.submit("whole", "q", {"cpu": 1}, count=4, topology=rack, priority=5)
    world.settle()
    high = world.submit("high", "q", {"cpu": 2}, topology=rack, priority=9)
    world.settle()
    world.give_up_pods(low)
    world.settle()
    assert world.placed(high), "two pods of low have left"
    left = {(pod.index, pod.node, pod.run) for pod in pods_of(world, low)}
    world.finish(high)
    assert grown(world.settle()) == {low: {"main": 2}}
    pods = {(pod.index, pod.node, pod.run) for pod in pods_of(world, low)}
    assert left < pods
    assert sorted(index for index, _, _ in pods) == [0, 1, 2, 3]
    assert {run for index, _, run in pods - left} == {2}
    assert world.placed(low) == before
    assert findings_of(world.history) == []


def pods_of(world: World, key: str) -> Any:
    admission = world[key].admission
    assert admission is not None
    return attempt_pods(admission, world[key].layout)


def test_slices_come_back_whole() -> None:
    by_host = SliceLayer(level="kubernetes.io/hostname", size=2)
    request = TopologyRequest(required="block", slice_layers=(by_host,))
    world, low = on_hosts(cpu_pods(8, request))
    for name in ("first", "second"):
        world.submit(name, "q", {"cpu": 2}, priority=5)
        world.settle()
        world.give_up_pods(low)
        world.settle()
    assert counts(world, low) == {"main": 4}
    world.finish("team/first")
    world.submit("small", "q", {"cpu": 1}, priority=3)
    made = world.settle()
    assert grown(made) == {}, "one CPU of the host is taken"
    world.finish("team/small")
    assert grown(world.settle()) == {low: {"main": 2}}
    assert findings_of(world.history) == []
