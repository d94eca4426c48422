"""Workloads on hosts that grow by slices and shrink in place: kept pods do not move."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from headgate.application.verify.verify import History
from headgate.domain.kinds.kubernetes_kinds import NamespaceCreated, NamespaceSpec
from headgate.domain.kinds.queue_settings import ClusterQueuePreemption
from headgate.domain.nodes.state import NodeCordoned, NodeReported
from headgate.domain.scheduling.pending_reasons import recorded_reason
from headgate.domain.topology_fits import near_fits
from headgate.domain.workloads.commands import ChangeSpec
from headgate.domain.workloads.events import WorkloadPodsGone, WorkloadScaledDown
from headgate.domain.workloads.pods.attempt_pods import attempt_pods
from headgate.domain.workloads.pods.pod_ranks import ExecutorPod, assign_ranks
from headgate.domain.workloads.specs import (
    ELASTIC,
    REPLACES,
    PodSet,
    Scheduling,
    SliceLayer,
    TopologyRequest,
)
from headgate.domain.workloads.state import phase_of
from headgate.messages.catalogue import sentence_of
from tests.builders.world import World, quotas
from tests.hypothesis_profiles import examples

ANYWHERE = TopologyRequest(unconstrained=True)
RACK = TopologyRequest(required="rack")
NEAR = TopologyRequest(preferred="rack")
PAIRS = TopologyRequest(required="block", slice_layers=(SliceLayer(level="rack", size=2),))
LEADER = TopologyRequest(required="rack", pod_set_group_name="g")


def pods(count: int, topology: TopologyRequest | None = ANYWHERE, name: str = "main") -> PodSet:
    asked = Scheduling(requests={"cpu": 1})
    return PodSet(name=name, count=count, scheduling=asked, topology_request=topology)


def a_world(hosts: dict[str, int], **spec: object) -> World:
    world = World()
    world.record("namespace/team", NamespaceCreated(uid="n", name="team", spec=NamespaceSpec()))
    world.hosts(hosts)
    world.cluster_queue("q", quotas("cpu", tas=100), **spec)
    return world


def running(world: World, *pod_sets: PodSet, name: str = "a") -> str:
    key = world.submit_pod_sets(name, "q", *pod_sets, annotations={ELASTIC: "true"})
    world.settle()
    if world[key].admission is not None:
        world.ready(key)
    return key


def grown(world: World, old: str, *pod_sets: PodSet, name: str = "b", priority: int = 0) -> str:
    annotations = {ELASTIC: "true", REPLACES: old}
    key = world.submit_pod_sets(name, "q", *pod_sets, annotations=annotations, priority=priority)
    world.settle()
    return key


def nodes(world: World, key: str) -> list[str]:
    """The nodes of the pods by rank."""
    admission = world[key].admission
    assert admission is not None
    return [pod.node for pod in attempt_pods(admission, world[key].layout)]


def shrink(world: World, key: str, *pod_sets: PodSet) -> None:
    spec = replace(world[key].spec, pod_sets=pod_sets)
    command = ChangeSpec(annotations=world[key].annotations, spec=spec, eviction="e")
    world.tell(key, command)


def by_pod_set(world: World, key: str) -> dict[str, dict[str, int]]:
    admission = world[key].admission
    assert admission is not None
    return {
        given.name: {d.values[-1]: d.count for d in given.topology_assignment.domains}
        for given in admission.pod_set_assignments
        if given.topology_assignment
    }


def test_added_pods_are_placed_beside_those_that_run() -> None:
    world = a_world({"b/r/a": 2, "b/r/b": 2, "b/r/c": 2})
    old = running(world, pods(2))
    assert world.placed(old) == {"a": 2}
    new = grown(world, old, pods(5))
    assert world.placed(new) == {"a": 2, "b": 2, "c": 1}
    assert phase_of(world[old]) == "Succeeded"


def test_growth_moves_no_pods_for_a_better_placement() -> None:
    world = a_world({"b/r/a": 2, "b/r/b": 3, "b/r/c": 9})
    old = running(world, pods(2))
    new = grown(world, old, pods(3))
    assert world.placed(new) == {"a": 2, "b": 1}


def test_a_required_domain_is_kept() -> None:
    world = a_world({"b/r1/a": 2, "b/r1/b": 2, "b/r2/x": 9})
    old = running(world, pods(3, RACK))
    assert world.placed(old) == {"a": 2, "b": 1}
    assert world.placed(grown(world, old, pods(4, RACK))) == {"a": 2, "b": 2}


def test_growth_that_its_required_domain_cannot_take_waits_and_is_told_why() -> None:
    world = a_world({"b/r1/a": 2, "b/r1/b": 2, "b/r2/x": 9})
    old = running(world, pods(3, RACK))
    new = grown(world, old, pods(6, RACK))
    assert phase_of(world[old]) == "Running"
    found = recorded_reason(world.cluster_state, world[new], world.at)
    assert found is not None
    assert sentence_of(found) == (
        "Topology: 3 pods must share one rack with 3 running; best fit is r1 with space for 1"
    )


def test_only_the_domain_of_those_that_run_is_near_to_what_is_added() -> None:
    world = a_world({"b/r1/a": 2, "b/r1/b": 2, "b/r2/x": 9})
    old = running(world, pods(3, RACK))
    new = grown(world, old, pods(6, RACK))
    (near,) = near_fits(world.cluster_state, "tree", world[new])
    assert (near.nearest.domain, near.nearest.fits, near.nearest.needs) == (("b", "r1"), 1, 3)
    assert near.blocking_holders == ()


def test_an_unconstrained_workload_is_told_of_all_hosts_together() -> None:
    world = a_world({"b/r1/a": 2, "b/r2/x": 2})
    other = running(world, pods(1), name="other")
    key = world.submit_pod_sets("w", "q", pods(4))
    world.settle()
    (near,) = near_fits(world.cluster_state, "tree", world[key])
    assert (near.nearest.domain, near.nearest.fits, near.nearest.needs) == ((), 3, 4)
    assert [each.workload for each in near.blocking_holders] == [other]


def test_growth_with_a_preferred_level_stays_near() -> None:
    world = a_world({"b/r1/a": 2, "b/r1/b": 1, "b/r2/x": 9})
    old = running(world, pods(2, NEAR))
    assert world.placed(old) == {"a": 2}
    assert world.placed(grown(world, old, pods(3, NEAR))) == {"a": 2, "b": 1}


def test_growth_by_whole_slices_keeps_the_slices_that_run() -> None:
    world = a_world({"b/r1/a": 2, "b/r2/x": 2, "b/r3/y": 1, "b/r3/z": 1})
    old = running(world, pods(2, PAIRS))
    before = world.placed(old)
    new = grown(world, old, pods(4, PAIRS))
    assert before.items() <= world.placed(new).items()
    assert sum(world.placed(new).values()) == 4


def test_a_leader_stays_with_its_workers() -> None:
    world = a_world({"b/r1/a": 2, "b/r1/b": 2, "b/r2/x": 9, "b/r2/y": 9})
    world.record("node/x", NodeCordoned())
    world.record("node/y", NodeCordoned())
    old = running(world, pods(1, LEADER, "leader"), pods(2, LEADER, "workers"))
    new = grown(world, old, pods(1, LEADER, "leader"), pods(3, LEADER, "workers"))
    before, after = by_pod_set(world, old), by_pod_set(world, new)
    assert after["leader"] == before["leader"]
    assert sum(after["workers"].values()) == 3
    assert after["workers"].keys() <= {"a", "b"}


def test_no_other_workload_is_placed_on_the_kept_hosts() -> None:
    world = a_world({"b/r/a": 2, "b/r/b": 2})
    old = running(world, pods(2))
    new = world.submit_pod_sets("b", "q", pods(3), annotations={REPLACES: old})
    other = world.submit_pod_sets("c", "q", pods(1))
    world.settle()
    assert world.placed(new) == {"a": 2, "b": 1}
    assert world.placed(other) == {"b": 1}


def test_pods_on_a_cordoned_host_stay_there_when_others_are_added() -> None:
    world = a_world({"b/r/a": 2, "b/r/b": 2})
    old = running(world, pods(1))
    world.record("node/a", NodeCordoned())
    world.settle()
    assert world.placed(old) == {"a": 1}
    assert world.placed(grown(world, old, pods(3))) == {"a": 1, "b": 2}


def test_a_workload_that_lost_a_host_is_placed_again_by_its_replacing_slice() -> None:
    world = a_world({"b/r1/a": 2, "b/r1/b": 2, "b/r2/x": 5})
    world.configure(
        topology=replace(world.cluster_state.config.configuration.topology, fail_fast=False)
    )
    old = running(world, pods(4, RACK))
    assert world.placed(old) == {"a": 2, "b": 2}
    world.record("node/a", NodeReported(ready=False, allocatable={"cpu": 2, "pods": 110}))
    world.record(f"workload/{old}", WorkloadPodsGone(hosts=("a",)))
    world.settle()
    assert world[old].unhealthy_nodes.keys() == {"a"}
    assert world.placed(grown(world, old, pods(5, RACK))) == {"x": 5}


def test_growth_preempts_others() -> None:
    lower = ClusterQueuePreemption(within_cluster_queue="LowerPriority")
    world = a_world({"b/r1/a": 2, "b/r1/b": 2, "b/r2/x": 4}, preemption=lower)
    old = running(world, pods(2, RACK))
    victim = running(world, pods(2, RACK), name="victim")
    other = running(world, pods(4, RACK), name="other")
    assert (world.placed(old), world.placed(victim), world.placed(other)) == (
        {"a": 2},
        {"b": 2},
        {"x": 4},
    )
    new = grown(world, old, pods(4, RACK), priority=5)
    assert phase_of(world[victim]) == "Evicting"
    assert phase_of(world[other]) == "Running"
    world.stop(victim)
    world.settle()
    assert world.placed(new) == {"a": 2, "b": 2}
    assert phase_of(world[old]) == "Succeeded"


def test_fewer_pods_give_the_last_places_back_at_once() -> None:
    world = a_world({"b/r/a": 3, "b/r/b": 2})
    key = running(world, pods(5))
    waiting = world.submit_pod_sets("b", "q", pods(2))
    world.settle()
    shrink(world, key, pods(3))
    assert world.placed(key) == {"a": 3}
    world.settle()
    assert world.placed(waiting) == {"b": 2}


def test_the_last_ranks_leave_wherever_they_run() -> None:
    world = a_world({"b/r/a": 2, "b/r/b": 2, "b/r/c": 2})
    key = running(world, pods(4))
    assert nodes(world, key) == ["a", "a", "b", "b"]
    world.record("node/a", NodeReported(ready=False, allocatable={"cpu": 2, "pods": 110}))
    world.wait(3_600)
    world.settle()
    assert (nodes(world, key), world.placed(key)) == (["c", "c", "b", "b"], {"b": 2, "c": 2})
    shrink(world, key, pods(3))
    assert (nodes(world, key), world.placed(key)) == (["c", "c", "b"], {"b": 1, "c": 2})
    assert world[key].layout.runs == {"main": {0: 2, 1: 2}}, "no pod that stays starts again"


def test_a_workload_with_hosts_for_more_than_it_wants_tells_the_fact() -> None:
    world = a_world({"b/r/a": 3, "b/r/b": 2})
    key = running(world, pods(5))
    shrink(world, key, pods(4))
    assert isinstance(world.history[-1].event, WorkloadScaledDown)
    assert world.placed(key) == {"a": 3, "b": 1}


def test_new_pods_are_sent_where_the_old_ones_leave_capacity() -> None:
    world = a_world({"b/r/a": 2, "b/r/b": 2, "b/r/c": 2})
    old = running(world, pods(2))
    new = grown(world, old, pods(5))
    there = [ExecutorPod(name=f"old-{n}", values=("a",)) for n in range(2)]
    waiting = [ExecutorPod(name=f"new-{n}") for n in range(3)]
    sent = assign_ranks(world[new], "main", [*there, *waiting])
    assert [(place.pod, place.values) for place in sent] == [
        ("new-0", ("b",)),
        ("new-1", ("b",)),
        ("new-2", ("c",)),
    ]


def test_a_pod_that_is_too_many_after_shrinking_is_sent_nowhere() -> None:
    world = a_world({"b/r/a": 3, "b/r/b": 2})
    key = running(world, pods(5))
    shrink(world, key, pods(3))
    seen = [ExecutorPod(name=f"pod-{n}") for n in range(5)]
    sent = assign_ranks(world[key], "main", seen)
    assert [place.values for place in sent] == [("a",)] * 3


@pytest.mark.parametrize("request_", [ANYWHERE, RACK, NEAR, None])
@settings(max_examples=examples(500), deadline=None)
@given(
    capacities=st.lists(st.integers(min_value=1, max_value=4), min_size=2, max_size=6),
    counts=st.lists(st.integers(min_value=1, max_value=8), min_size=2, max_size=5),
)
def test_no_history_of_sizes_moves_a_pod_or_fills_a_host_beyond_what_it_has(
    request_: TopologyRequest | None, capacities: list[int], counts: list[int]
) -> None:
    world = a_world(
        {f"b/r{number // 3}/h{number}": amount for number, amount in enumerate(capacities)}
    )
    key = running(world, pods(counts[0], request_), name="w0")
    for step, count in enumerate(counts[1:], 1):
        if world[key].admission is None:
            break
        before = world.placed(key)
        if count < sum(before.values()):
            shrink(world, key, pods(count, request_))
            after = world.placed(key)
            assert all(after[host] <= before[host] for host in after)
        else:
            new = grown(world, key, pods(count, request_), name=f"w{step}")
            if world[new].admission is None:
                assert world.placed(key) == before
                break
            after = world.placed(new)
            assert all(after.get(host, 0) >= number for host, number in before.items())
            key = new
        assert sum(after.values()) == count
    book = History()
    for recorded in world.history:
        book.read(recorded)
    assert [finding.rule for finding in book.findings.found] == []
