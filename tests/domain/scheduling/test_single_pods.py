"""Which single pods a preemption takes of a workload (preemption.md §6.6, units)."""

from typing import Any

import pytest
from msgspec.structs import replace

from headgate.domain.kinds.configuration import FairSharing
from headgate.domain.kinds.priority_classes import DisruptionBudgetCreated, DisruptionBudgetSpec
from headgate.domain.kinds.queue_settings import ClusterQueuePreemption, MinimumRuntime
from headgate.domain.kinds.topology import HOSTNAME_LABEL
from headgate.domain.rounds.state import RoundCommitted, RoundVictim
from headgate.domain.scheduling.partition.budget_status import budget_statuses
from headgate.domain.scheduling.placement.host_table import ACTUAL, PROJECTED
from headgate.domain.values.index_ranges import IndexRanges
from headgate.domain.values.message import message
from headgate.domain.values.selectors import LabelSelector
from headgate.domain.workloads.commands import ChangeSpec, PodReport, ReportPods
from headgate.domain.workloads.events import WorkloadDeleted
from headgate.domain.workloads.pods.attempt_pods import AttemptPod, attempt_pods
from headgate.domain.workloads.pods.eviction_units import pods_of_evictions
from headgate.domain.workloads.preemption_events import WorkloadPodsEvicted, WorkloadShrunk
from headgate.domain.workloads.specs import (
    ELASTIC,
    PodIndex,
    PodSet,
    Scheduling,
    SliceLayer,
    TopologyRequest,
)
from headgate.domain.workloads.state import phase_of
from headgate.messages.catalogue import sentence_of
from tests.builders.single_pods import (
    LOWER,
    a_queue,
    counts,
    evicted,
    example_20,
    released_by,
    shrinks,
    single,
    used,
)
from tests.builders.world import StreamEvent, World, quotas
from tests.verify.histories import findings_of

RACK, ANYWHERE = TopologyRequest(required="rack"), TopologyRequest(unconstrained=True)


def victims(made: list[StreamEvent]) -> tuple[RoundVictim, ...]:
    return next(event.victims for _, event in made if isinstance(event, RoundCommitted))


def test_example_20_the_last_pods_beyond_the_core_go() -> None:
    world, semi = example_20()
    p = world.submit("p", "q", {"gpu": 8}, priority=50)
    made = world.settle()
    assert shrinks(made) == {semi: {"main": 4}}
    (victim,) = victims(made)
    assert (victim.pods, victim.shrinks_to, victim.freed) == (2, {"main": 4}, {"default/gpu": 8})
    assert phase_of(world[semi]) == "Starting"
    assert phase_of(world[p]) == "Nominated"
    world.give_up_pods(semi)
    assert released_by(world.settle()) == ["Shrunk"]
    assert counts(world, semi) == {"main": 4}
    assert {semi, p} <= set(world.admitted())
    assert used(world, ACTUAL) == used(world, PROJECTED) == 24


def test_a_pending_workload_is_told_the_number_of_pods_of_each_victim() -> None:
    world, _ = example_20()
    p = world.submit("p", "q", {"gpu": 8}, priority=50)
    world.settle()
    explained = world[p].explanation
    assert explained is not None
    assert sentence_of(explained) == "Waiting for 1 eviction to finish: 2 pods of team/semi"


def test_example_20_the_core_is_never_touched() -> None:
    world, semi = example_20()
    p = world.submit("p", "q", {"gpu": 20}, priority=50)
    made = world.settle()
    assert shrinks(made) == {}
    assert evicted(made) == []
    explained = world[p].explanation
    assert explained is not None
    (refused,) = [r for blocker in explained.blockers for r in blocker.refused]
    assert (refused.workload, refused.rule) == (
        semi,
        message("PodsNotPreemptible", preemptibility="SemiPreemptible", pods=2),
    )


def test_of_a_pod_set_disrupted_singly_the_last_pods_go_and_the_first_one_stays() -> None:
    world = a_queue(4)
    low = world.submit_pod_sets("low", "q", single())
    world.settle()
    world.submit("p", "q", {"gpu": 3}, priority=5)
    assert shrinks(world.settle()) == {low: {"main": 1}}


def test_a_preemption_that_needs_the_last_pod_evicts_the_whole_workload() -> None:
    world = a_queue(4)
    low = world.submit_pod_sets("low", "q", single())
    world.settle()
    world.submit("p", "q", {"gpu": 4}, priority=5)
    made = world.settle()
    assert shrinks(made) == {}
    assert evicted(made) == [low]
    (victim,) = victims(made)
    assert (victim.pods, victim.shrinks_to, victim.freed) == (4, {}, {"default/gpu": 4})


def test_with_a_least_count_of_0_one_pod_stays_where_it_is_the_whole_workload() -> None:
    """Without any pod a workload is not running: it is evicted, and waits as a whole."""
    for needs, shrunk, gone in ((3, {"main": 1}, []), (4, None, ["team/low"])):
        world = a_queue(4)
        low = world.submit_pod_sets("low", "q", single(least=0))
        world.settle()
        world.submit("p", "q", {"gpu": needs}, priority=5)
        made = world.settle()
        assert shrinks(made).get(low) == shrunk
        assert evicted(made) == gone


def test_with_a_least_count_of_0_all_workers_leave_beside_their_launcher() -> None:
    world = a_queue(4)
    launcher = PodSet(name="launcher", count=1, scheduling=Scheduling(requests={"gpu": 1}))
    low = world.submit_pod_sets("low", "q", launcher, single("workers", count=3, least=0))
    world.settle()
    p = world.submit("p", "q", {"gpu": 3}, priority=5)
    assert shrinks(world.settle()) == {low: {"workers": 0}}
    world.give_up_pods(low)
    world.settle()
    assert counts(world, low) == {"launcher": 1, "workers": 0}
    assert {low, p} <= set(world.admitted())


def test_semi_preemptible_work_without_a_guaranteed_pod_may_leave_as_a_whole() -> None:
    world = a_queue(4)
    low = world.submit("low", "q", {"gpu": 1}, count=(4, 0), preemptibility="SemiPreemptible")
    world.settle()
    world.submit("p", "q", {"gpu": 4}, priority=5)
    assert evicted(world.settle()) == [low]


def test_a_gang_is_not_left_below_its_least_count() -> None:
    world = a_queue(6)
    low = world.submit_pod_sets("low", "q", single(count=6, least=4))
    world.settle()
    world.submit("two", "q", {"gpu": 2}, priority=5)
    assert shrinks(world.settle()) == {low: {"main": 4}}
    world.give_up_pods(low)
    world.settle()
    world.submit("one", "q", {"gpu": 1}, priority=5)
    assert evicted(world.settle()) == [low]


@pytest.mark.parametrize(
    ("needs", "asks", "shrunk", "gone"),
    [
        (2, 5, {"workers": 1}, []),
        (4, 5, None, []),
        (4, 10, None, ["team/low"]),
    ],
)
def test_a_leader_with_a_priority_of_its_own_stays_where_workers_leave(
    needs: int, asks: int, shrunk: dict[str, int] | None, gone: list[str]
) -> None:
    """KEP-5710, non-uniform priority (5710-45): a leader of 9 in a workload of 1."""
    world = a_queue(4)
    leader = PodSet(name="leader", count=1, scheduling=Scheduling(requests={"gpu": 1}))
    pod_sets = leader, single("workers", count=3)
    protections = {"leader": 9}
    low = world.submit_pod_sets("low", "q", *pod_sets, priority=1, pod_set_protections=protections)
    world.settle()
    world.submit("p", "q", {"gpu": needs}, priority=asks)
    made = world.settle()
    assert shrinks(made).get(low) == shrunk
    assert evicted(made) == gone


def test_a_gang_with_a_protected_pod_set_is_protected_as_a_whole() -> None:
    world = a_queue(4)
    pod_sets = (PodSet(name=n, count=2, scheduling=Scheduling(requests={"gpu": 1})) for n in "ab")
    low = world.submit_pod_sets("low", "q", *pod_sets, priority=1, pod_set_protections={"a": 9})
    world.settle()
    p = world.submit("p", "q", {"gpu": 1}, priority=9)
    assert evicted(world.settle()) == []
    explained = world[p].explanation
    assert explained is not None
    (refused,) = [r for blocker in explained.blockers for r in blocker.refused]
    rule = message("NotLowerPriority", priority=9, preemptor_priority=9)
    assert (refused.workload, refused.rule) == (low, rule)


@pytest.mark.parametrize(
    ("replicas", "needs", "shrunk", "gone"),
    [
        (3, 1, {"main": 4}, []),
        (3, 3, {"main": 2}, []),
        (3, 5, None, ["team/low"]),
        (0, 1, None, ["team/low"]),
    ],
)
def test_pods_of_a_replica_go_together_and_other_replicas_stay(
    replicas: int, needs: int, shrunk: dict[str, int] | None, gone: list[str]
) -> None:
    """KEP-5710: several preemption units within a gang (5710-50); without replicas it is one."""
    world = a_queue(6)
    index = PodIndex(label="index", sub_group_label="job", sub_group_count=replicas)
    low = world.submit_pod_sets(
        "low",
        "q",
        PodSet(
            count=6,
            disruption_mode="Replica",
            pod_index=index,
            scheduling=Scheduling(requests={"gpu": 1}),
        ),
    )
    world.settle()
    world.submit("p", "q", {"gpu": needs}, priority=5)
    made = world.settle()
    assert shrinks(made).get(low) == shrunk
    assert evicted(made) == gone


def test_pods_that_only_go_together_go_together() -> None:
    world = a_queue(4)
    low = world.submit("low", "q", count=(4, 1))
    world.settle()
    world.submit("p", "q", priority=5)
    made = world.settle()
    assert (shrinks(made), evicted(made)) == ({}, [low])


def test_pod_sets_that_do_not_block_are_left_alone() -> None:
    world = World()
    world.flavor("default")
    groups = (*quotas("cpu", default=8), *quotas("gpu", default=4))
    world.cluster_queue("q", groups, preemption=LOWER)
    helpers = PodSet(
        name="helpers",
        count=4,
        disruption_mode="Single",
        scheduling=Scheduling(requests={"cpu": 1}),
    )
    low = world.submit_pod_sets("low", "q", single("workers"), helpers)
    world.settle()
    world.submit("p", "q", {"gpu": 2}, priority=5)
    assert shrinks(world.settle()) == {low: {"workers": 2}}


def test_pods_of_lower_priority_go_before_others_and_no_more_than_needed() -> None:
    world = a_queue(6)
    lowest = world.submit_pod_sets("lowest", "q", single(count=3), priority=1)
    lower = world.submit_pod_sets("lower", "q", single(count=3), priority=2)
    world.settle()
    world.submit("p", "q", {"gpu": 1}, priority=5)
    assert shrinks(world.settle()) == {lowest: {"main": 2}}
    world.submit("equal", "q", {"gpu": 4}, priority=2)
    assert lower in world.admitted()


def named(made: list[StreamEvent]) -> dict[str, dict[str, IndexRanges]]:
    """The partial evictions among the events: the indices that leave by workload and pod set."""
    return {
        stream.removeprefix("workload/"): event.indices
        for stream, event in made
        if isinstance(event, WorkloadPodsEvicted)
    }


def pods_of(world: World, key: str) -> tuple[AttemptPod, ...]:
    admission = world[key].admission
    assert admission is not None, f"{key} is not admitted"
    return tuple(attempt_pods(admission, world[key].layout))


def on_hosts(*pod_sets: PodSet, **fields: Any) -> tuple[World, str]:
    """Hosts of two gpus, two in rack r1 and one in rack r2, all taken by one workload."""
    world = World()
    world.hosts({"b/r1/a": 2, "b/r1/b": 2, "b/r2/c": 2}, "gpu")
    world.cluster_queue("q", quotas("gpu", tas=100), preemption=LOWER)
    low = world.submit_pod_sets("low", "q", *pod_sets, **fields)
    world.settle()
    return world, low


def test_on_hosts_the_last_in_rank_order_go_and_no_others() -> None:
    world, low = on_hosts(single(count=6, topology_request=ANYWHERE))
    before = list(world.placed(low).items())
    p = world.submit("p", "q", {"gpu": 2}, priority=5, topology=RACK)
    made = world.settle()
    assert shrinks(made) == {low: {"main": 4}}
    world.give_up_pods(low)
    world.settle()
    assert list(world.placed(low).items()) == before[:2]
    assert world.placed(p) == {before[2][0]: 1}


def in_rack(name: str, count: int = 1, gpus: int = 2) -> PodSet:
    """Pods that only the hosts of one rack can take."""
    scheduling = Scheduling(requests={"gpu": gpus}, node_selector={"rack": name})
    return PodSet(count=count, scheduling=scheduling, topology_request=RACK)


def indices(world: World, key: str) -> list[int]:
    """The indices of the pods that run, or are still to stop."""
    return [pod.index for pod in pods_of(world, key)]


def test_pods_on_the_hosts_that_the_preemptor_needs_go_whatever_their_ranks() -> None:
    world, low = on_hosts(single(count=6, topology_request=ANYWHERE))
    assert list(world.placed(low)) == ["a", "b", "c"]
    p = world.submit_pod_sets("p", "q", in_rack("r1"), priority=5)
    made = world.settle()
    assert named(made) == {low: {"main": ((2, 3),)}}
    (victim,) = victims(made)
    assert (victim.pods, victim.indices, victim.shrinks_to) == (2, {"main": ((2, 3),)}, {"main": 4})
    world.give_up_pods(low)
    assert (indices(world, low), world.placed(low)) == ([0, 1, 4, 5], {"a": 2, "c": 2})
    world.settle()
    assert world.placed(p) == {"b": 1}
    assert findings_of(world.history) == []


def test_lost_pods_fill_the_gap_that_they_left() -> None:
    world, low = on_hosts(single(count=6, topology_request=ANYWHERE))
    p = world.submit_pod_sets("p", "q", in_rack("r1"), priority=5)
    world.settle()
    world.give_up_pods(low)
    world.settle()
    world.finish(p)
    world.settle()
    assert (indices(world, low), world.placed(low)) == (list(range(6)), {"a": 2, "b": 2, "c": 2})
    runs = {pod.index: pod.run for pod in pods_of(world, low)}
    assert runs == {0: 1, 1: 1, 2: 2, 3: 2, 4: 1, 5: 1}


def test_guaranteed_pods_are_a_number_and_not_the_first_ranks() -> None:
    world, low = on_hosts(single(count=6, topology_request=ANYWHERE))
    both = in_rack("r1", count=2)
    world.submit_pod_sets("p", "q", both, priority=5)
    made = world.settle()
    assert (named(made), evicted(made)) == ({low: {"main": ((0, 3),)}}, [])
    world.give_up_pods(low)
    assert (indices(world, low), world.placed(low)) == ([4, 5], {"c": 2})


def test_no_more_pods_go_than_may_whatever_hosts_are_needed() -> None:
    pods = single(count=6, least=3, topology_request=ANYWHERE)
    world, low = on_hosts(pods)
    world.submit_pod_sets("p", "q", in_rack("r1", count=2), priority=5)
    made = world.settle()
    assert (named(made), evicted(made)) == ({}, [low]), "four of six may not leave"


def test_several_pods_without_a_level_take_those_on_hosts_that_they_can_use() -> None:
    world, low = on_hosts(single(count=6, topology_request=ANYWHERE))
    gang = replace(in_rack("r1", count=2, gpus=1), topology_request=ANYWHERE)
    world.submit_pod_sets("p", "q", gang, priority=5)
    assert named(world.settle()) == {low: {"main": ((2, 3),)}}


def test_a_plan_that_leaves_no_gap_is_taken_where_it_costs_the_same() -> None:
    world, low = on_hosts(single(count=6, topology_request=ANYWHERE))
    world.submit("p", "q", {"gpu": 2}, priority=5, topology=ANYWHERE)
    assert named(world.settle()) == {low: {"main": ((4, 5),)}}


def test_a_gap_costs_less_than_another_pod() -> None:
    """The last ranks share their hosts with work that stays: they would free nothing."""
    world = World()
    world.hosts({"b/r1/a": 2, "b/r1/b": 2, "b/r2/c": 2, "b/r3/d": 2}, "gpu")
    world.cluster_queue("q", quotas("gpu", tas=100), preemption=LOWER)
    for rack in ("r2", "r3"):
        world.submit_pod_sets(f"on-{rack}", "q", in_rack(rack, gpus=1), priority=9)
    world.settle()
    low = world.submit_pod_sets("low", "q", single(count=6, topology_request=ANYWHERE))
    world.settle()
    nodes = [pod.node for pod in pods_of(world, low)]
    assert nodes == ["a", "a", "b", "b", "c", "d"]
    world.submit("p", "q", {"gpu": 2}, priority=5, topology=RACK)
    assert named(world.settle()) == {low: {"main": ((2, 3),)}}


def test_two_rounds_take_different_pods_and_end_in_any_order() -> None:
    for order in ((0, 0), (1, 0)):
        world, low = on_hosts(single(count=6, topology_request=ANYWHERE))
        world.submit_pod_sets("p", "q", in_rack("r1"), priority=5)
        assert named(world.settle()) == {low: {"main": ((2, 3),)}}
        world.submit_pod_sets("o", "q", in_rack("r1"), priority=5)
        assert named(world.settle()) == {low: {"main": ((0, 1),)}}
        for number in order:
            world.give_up_pods(low, number)
            world.settle()
        assert indices(world, low) == [4, 5]
        assert {*world.placed("team/p"), *world.placed("team/o")} == {"a", "b"}
        assert findings_of(world.history) == []


def test_pods_known_to_have_ended_are_not_evicted() -> None:
    world = a_queue(6)
    low = world.submit_pod_sets("low", "q", single(count=6))
    world.settle()
    workload = world[low]
    ended = PodReport(
        uid=workload.uid, attempt=1, pod_set="main", index=5, run=1, type="finished", exit_code=0
    )
    world.tell(low, ReportPods(executor="", reports=(ended,)))
    world.submit("p", "q", {"gpu": 3}, priority=5)
    assert named(world.settle()) == {low: {"main": ((3, 4),)}}


def test_a_scale_down_takes_the_last_ranks_and_leaves_the_gap() -> None:
    pods = single(count=6, topology_request=ANYWHERE)
    world, low = on_hosts(pods, annotations={ELASTIC: "true"})
    world.submit_pod_sets("p", "q", in_rack("r1"), priority=5)
    world.settle()
    world.give_up_pods(low)
    spec = replace(world[low].spec, pod_sets=(replace(pods, count=3),))
    world.tell(low, ChangeSpec(annotations=world[low].annotations, spec=spec, eviction="e"))
    assert (indices(world, low), world.placed(low)) == ([0, 1, 4], {"a": 2, "c": 1})
    world.settle()
    assert indices(world, low) == [0, 1, 4], "elastic work grows by slices alone"


def test_pods_that_a_scale_down_takes_first_are_not_subtracted_twice() -> None:
    pods = single(count=6, topology_request=ANYWHERE)
    world, low = on_hosts(pods, annotations={ELASTIC: "true"})
    world.submit("p", "q", {"gpu": 2}, priority=5, topology=ANYWHERE)
    assert named(world.settle()) == {low: {"main": ((4, 5),)}}
    spec = replace(world[low].spec, pod_sets=(replace(pods, count=5),))
    world.tell(low, ChangeSpec(annotations=world[low].annotations, spec=spec, eviction="e"))
    world.give_up_pods(low)
    assert (indices(world, low), counts(world, low)) == ([0, 1, 2, 3], {"main": 4})
    world.settle()
    assert findings_of(world.history) == []


def test_where_domains_are_no_hosts_pods_leave_theirs_by_rank() -> None:
    world = World()
    world.topology(("block", "rack"))
    world.flavor("tas", node_labels={"pool": "gpu"}, topology_name="tree")
    for path in ("b/r1/a", "b/r2/b"):
        world.node(path, allocatable={"gpu": 3, "pods": 110})
    world.cluster_queue("q", quotas("gpu", tas=100), preemption=LOWER)
    low = world.submit_pod_sets("low", "q", single(count=6, topology_request=ANYWHERE))
    world.settle()
    first, second = world.placed(low)
    world.submit_pod_sets("p", "q", in_rack(first), priority=5)
    assert named(world.settle()) == {low: {"main": ((1, 2),)}}
    world.give_up_pods(low)
    assert world.placed(low) == {first: 1, second: 3}


def test_events_that_name_no_pods_mean_the_last_ones() -> None:
    """As releases wrote them that took no others."""
    world, low = on_hosts(single(count=6, topology_request=ANYWHERE))
    for eviction, count, stay in (("one", 2, 4), ("two", 1, 3)):
        asked = WorkloadPodsEvicted(
            eviction=eviction,
            underlying_cause="InClusterQueue",
            message=message("Preempted"),
            pods={"main": count},
            counts={"main": stay},
        )
        world.record(f"workload/{low}", asked)
    taken = [found["main"] for _, found in pods_of_evictions(world[low])]
    assert taken == [(4, 5), (3,)]
    stopped = WorkloadShrunk(
        eviction="two", pods={"main": 1}, counts={"main": 3}, later={"main": 2}
    )
    world.record(f"workload/{low}", stopped)
    assert (indices(world, low), world.placed(low)) == ([0, 1, 2, 4, 5], {"a": 2, "b": 1, "c": 2})


def test_slices_leave_whole_from_the_middle_too() -> None:
    slices = TopologyRequest(
        required="block", slice_layers=(SliceLayer(level=HOSTNAME_LABEL, size=2),)
    )
    world, low = on_hosts(single(count=6, topology_request=slices))
    world.submit_pod_sets("p", "q", in_rack("r1", gpus=1), priority=5)
    assert named(world.settle()) == {low: {"main": ((2, 3),)}}


def test_pods_in_slices_go_by_whole_slices() -> None:
    slices = TopologyRequest(
        required="block", slice_layers=(SliceLayer(level="kubernetes.io/hostname", size=2),)
    )
    world, low = on_hosts(single(count=6, topology_request=slices))
    world.submit("p", "q", {"gpu": 1}, priority=5, topology=RACK)
    assert shrinks(world.settle()) == {low: {"main": 4}}


def test_a_whole_workload_is_shielded_at_first_but_not_its_single_pods() -> None:
    shield = MinimumRuntime(preempt_seconds=600)
    preemption = ClusterQueuePreemption(within_cluster_queue="LowerPriority", min_runtime=shield)
    world = a_queue(4, preemption=preemption)
    low = world.submit_pod_sets("low", "q", single())
    world.settle()
    all_of_it = world.submit("all", "q", {"gpu": 4}, priority=5)
    made = world.settle()
    assert (shrinks(made), evicted(made)) == ({}, [])
    world.record(f"workload/{all_of_it}", WorkloadDeleted())
    world.submit("some", "q", {"gpu": 3}, priority=5)
    assert shrinks(world.settle()) == {low: {"main": 1}}


def test_a_strict_budget_of_pods_spares_the_pods_beyond_its_allowance() -> None:
    world = a_queue(4)
    spec = DisruptionBudgetSpec(
        selector=LabelSelector(), unit="Pod", max_unavailable=2, enforcement="Strict"
    )
    created = DisruptionBudgetCreated(uid="b", name="b", namespace="team", spec=spec)
    world.record("disruptionbudget/team/b", created)
    low = world.submit_pod_sets("low", "q", single())
    world.settle()
    three = world.submit("three", "q", {"gpu": 3}, priority=5)
    assert shrinks(world.settle()) == {}
    world.record(f"workload/{three}", WorkloadDeleted())
    world.submit("two", "q", {"gpu": 2}, priority=5)
    made = world.settle()
    assert shrinks(made) == {low: {"main": 2}}
    assert victims(made)[0].violates == ()


def test_pods_on_their_way_out_use_the_allowance_of_a_budget_up() -> None:
    world = a_queue(4)
    spec = DisruptionBudgetSpec(selector=LabelSelector(), unit="Pod", max_unavailable=2)
    created = DisruptionBudgetCreated(uid="b", name="b", namespace="team", spec=spec)
    world.record("disruptionbudget/team/b", created)
    world.submit_pod_sets("low", "q", single())
    world.settle()
    world.submit("two", "q", {"gpu": 2}, priority=5)
    world.settle()
    budgets, known = (
        world.cluster_state.config.disruption_budgets,
        world.cluster_state.workloads.values(),
    )
    (standing,) = budget_statuses(budgets, known)
    assert (standing.expected, standing.healthy, standing.allowed) == (4, 2, 0)


def test_borrowers_give_back_no_more_pods_than_what_was_borrowed() -> None:
    world = World()
    world.flavor("default")
    reclaim = ClusterQueuePreemption(reclaim_within_cohort="Any")
    world.cluster_queue("owner", quotas(default=4), cohort_name="c", preemption=reclaim)
    world.cluster_queue("borrower", quotas(default=2), cohort_name="c")
    big = world.submit_pod_sets("big", "borrower", single(count=6), priority=9)
    world.settle()
    world.submit("p", "owner", {"gpu": 3})
    assert shrinks(world.settle()) == {big: {"main": 3}}
    world.give_up_pods(big)
    world.settle()
    world.submit("q", "owner", {"gpu": 1})
    assert shrinks(world.settle()) == {big: {"main": 2}}


def test_fair_sharing_takes_single_pods_until_shares_are_even() -> None:
    world = World()
    world.flavor("default")
    world.configure(fair_sharing=FairSharing())
    reclaim = ClusterQueuePreemption(reclaim_within_cohort="Any")
    world.cohort("c", groups=quotas(default=6))
    for name in ("a", "b"):
        world.cluster_queue(name, quotas(default=0), cohort_name="c", preemption=reclaim)
    big = world.submit_pod_sets("big", "b", single(count=6))
    world.settle()
    for number in range(4):
        world.submit(f"small-{number}", "a")
        world.settle()
        if world[big].pod_evictions:
            world.give_up_pods(big)
        world.settle()
    assert counts(world, big) == {"main": 3}
