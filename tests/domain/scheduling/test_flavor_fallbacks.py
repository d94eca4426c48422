"""Which flavor a workload ends up with when the preferred one cannot be had (queueing.md §3.5)."""

from typing import Any

import pytest

from headgate.application.queries.detectors import detected_problems
from headgate.domain.kinds.cluster_queue import FlavorFungibility
from headgate.domain.kinds.queue_settings import ClusterQueuePreemption
from headgate.domain.scheduling.pending_reasons import current_reason, recorded_reason
from headgate.domain.values.message import message
from headgate.domain.workloads.events import WorkloadSubmitted
from headgate.domain.workloads.explanation import Blocker, Explanation
from headgate.domain.workloads.specs import PodSet, Scheduling, TopologyRequest, WorkloadSpec
from headgate.domain.workloads.state import phase_of
from headgate.messages.catalogue import remedies_of
from tests.builders.world import World, quotas

LOWER = ClusterQueuePreemption(within_cluster_queue="LowerPriority")
PREEMPT_FIRST = FlavorFungibility(
    when_can_borrow="TryNextFlavor",
    when_can_preempt="TryNextFlavor",
    preference="PreemptionOverBorrowing",
)
STOP_AT_PREEMPTION = FlavorFungibility(when_can_preempt="MayStopSearch")


def two_flavors(fungibility: FlavorFungibility, lender: int = 0) -> World:
    """Two gpus in each of two flavors; a second queue of the cohort may lend more of the second."""
    world = World()
    for name in ("one", "two"):
        world.flavor(name)
    world.cohort("r")
    world.cluster_queue(
        "q",
        quotas(one=2, two=2),
        cohort_name="r",
        preemption=LOWER,
        flavor_fungibility=fungibility,
    )
    world.cluster_queue("lender", quotas(two=lender), cohort_name="r")
    return world


def fill(world: World, *priorities: int) -> list[str]:
    """Workloads of two gpus, one after the other, each filling the next flavor."""
    keys = []
    for number, priority in enumerate(priorities):
        keys.append(world.submit(f"old{number}", "q", {"gpu": 2}, priority=priority))
        world.settle()
    return keys


def why(world: World, key: str) -> Explanation:
    found = recorded_reason(world.cluster_state, world[key], world.at)
    assert found is not None, f"{key} does not wait"
    return found


def flavor_of(world: World, key: str) -> str:
    found = world[key].nomination or world[key].admission
    assert found is not None, f"{key} has no place"
    (given,) = found.pod_set_assignments
    return given.flavors["gpu"]


def test_a_flavor_without_victims_gives_way_to_one_with_some() -> None:
    """A pointer to resume from is not needed: each look tries what the last one could not have."""
    for fungibility in (FlavorFungibility(), STOP_AT_PREEMPTION):
        world = two_flavors(fungibility)
        important, other = fill(world, 9, 1)
        key = world.submit("new", "q", {"gpu": 2}, priority=5)
        world.settle()
        assert flavor_of(world, key) == "two"
        assert phase_of(world[other]) == "Evicting"
        assert phase_of(world[important]) == "Starting"


def test_the_first_flavor_with_victims_is_taken() -> None:
    world = two_flavors(FlavorFungibility())
    fill(world, 1, 1)
    key = world.submit("new", "q", {"gpu": 2}, priority=5)
    world.settle()
    assert flavor_of(world, key) == "one"


def test_preempt_first_borrows_without_candidates() -> None:
    world = two_flavors(PREEMPT_FIRST, lender=2)
    fill(world, 9, 9)
    key = world.submit("new", "q", {"gpu": 2}, priority=5)
    world.settle()
    assert flavor_of(world, key) == "two"
    assert phase_of(world[key]) == "Starting"


def test_an_earlier_flavor_that_has_capacity_again_is_taken_at_once() -> None:
    """Trap Q20: a look never begins behind the flavors that did not fit last time."""
    world = two_flavors(FlavorFungibility())
    first, _ = fill(world, 5, 5)
    key = world.submit("new", "q", {"gpu": 2}, priority=5)
    world.settle()
    assert phase_of(world[key]) == "Pending"
    world.finish(first)
    world.settle()
    assert flavor_of(world, key) == "one"


def test_a_workload_with_a_never_fitting_pod_set_becomes_inadmissible() -> None:
    """Trap Q19: nothing is left to do after one look at every flavor."""
    world = two_flavors(STOP_AT_PREEMPTION)
    key = world.submit("new", "q", {"gpu": 1, "none": 1})
    assert len(world.settle()) == 1
    assert world.settle() == []
    found = why(world, key)
    assert found.blockers[0].message == message("NoQuotaForResource", resource="none")


def test_the_reason_reported_is_that_of_the_preferred_flavor() -> None:
    world = two_flavors(FlavorFungibility())
    fill(world, 9, 9)
    key = world.submit("new", "q", {"gpu": 2}, priority=5)
    world.settle()
    found = why(world, key)
    told = found.blockers[found.deciding]
    assert (told.flavor, told.need, told.have) == ("one", 2, 0)


def test_the_mildest_reason_within_a_group_and_the_worst_of_all_groups_is_reported() -> None:
    """Both groups are needed: new is only full for cpu, but there is no memory of it at all."""
    world = World()
    for pool in ("old", "new"):
        world.flavor(pool, node_labels={"pool": pool})
    world.cluster_queue("q", (*quotas("cpu", old=4, new=4), *quotas("memory", old=4)))
    scheduling = Scheduling(requests={"cpu": 5, "memory": 1}, node_selector={"pool": "new"})
    spec = WorkloadSpec(queue_name="q", pod_sets=(PodSet(scheduling=scheduling),))
    submitted = WorkloadSubmitted(uid="w", namespace="team", name="w", spec=spec)
    world.record("workload/team/w", submitted)
    world.settle()
    found = why(world, "team/w")
    assert (found.dominant, found.condition_reason) == ("Unschedulable", "NoMatchingFlavor")
    reasons = [(b.flavor, b.reason) for b in found.blockers]
    unfit = "NoMatchingFlavor"
    assert reasons == [("old", unfit), ("new", "ExceedsMaxQuota"), ("old", unfit)]


def test_what_can_never_be_had_is_reported_before_what_is_only_taken_now() -> None:
    """All resources of a flavor are needed: more slots do not help a request for too many gpus."""
    world = World()
    world.flavor("one")
    world.cluster_queue("q", (*quotas("slots", one=4), *quotas("gpu", one=4)))
    world.submit("old", "q", {"slots": 3, "gpu": 1})
    world.settle()
    key = world.submit("new", "q", {"slots": 2, "gpu": 6})
    world.settle()
    found = why(world, key)
    assert (found.dominant, found.condition_reason) == ("Unschedulable", "ExceedsMaxQuota")
    told = found.blockers[found.deciding]
    assert (told.message.code, told.need, told.have) == ("RequestExceedsMaximum", 6, 4)
    assert remedies_of(found) == [
        "Raise nominalQuota by 2 gpu (flavor one), or request at most 4 gpu",
        "Free up 1 slots of one (in use by team/old)",
    ]


def test_a_flavor_that_is_only_taken_now_is_reported_before_one_that_can_never_be_had() -> None:
    world = World()
    for name in ("one", "two"):
        world.flavor(name)
    world.cluster_queue("q", (*quotas("cpu", one=4, two=4), *quotas("gpu", one=1, two=4)))
    world.submit("old", "q", {"cpu": 1, "gpu": 3})
    world.settle()
    key = world.submit("new", "q", {"cpu": 1, "gpu": 2})
    world.settle()
    found = why(world, key)
    told = found.blockers[found.deciding]
    assert (told.flavor, told.resource, told.need, told.have) == ("two", "gpu", 2, 1)


def test_a_request_for_an_absent_level_is_told_the_levels() -> None:
    world = World()
    world.topology()
    world.flavor("one", topology_name="tree")
    world.cluster_queue("q", quotas(one=4))
    key = world.submit("w", "q", {"gpu": 1}, topology=TopologyRequest(required="shelf"))
    world.settle()
    found = why(world, key)
    refusal = found.blockers[found.deciding].message
    assert refusal.code == "FlavorLacksLevel"
    assert refusal.arguments["missing"] == "shelf"


def test_pods_never_lie_on_hosts_of_two_flavors_at_once() -> None:
    world = World()
    world.topology()
    for pool in ("old", "new"):
        world.flavor(pool, node_labels={"pool": pool}, topology_name="tree")
        world.node(f"b/r/{pool}", {"pool": pool}, allocatable={"cpu": 9, "gpu": 9, "pods": 9})
    rack = TopologyRequest(required="rack")
    world.cluster_queue("split", (*quotas("cpu", old=9), *quotas("gpu", new=9)))
    world.cluster_queue("joint", (*quotas("cpu", old=9), *quotas("gpu", new=9, old=9)))
    keys = [
        world.submit("w" + queue, queue, {"cpu": 1, "gpu": 1}, topology=rack)
        for queue in ("split", "joint")
    ]
    world.settle()
    assert world.admitted() == ["team/wjoint"]
    found = why(world, keys[0])
    told = found.blockers[found.deciding]
    assert (told.flavor, told.message) == ("new", message("FlavorOfOtherHosts", other="old"))


def test_full_hosts_of_one_flavor_do_not_keep_victims_in_another_safe() -> None:
    world = World()
    world.topology()
    for pool in ("old", "new"):
        world.flavor(pool, node_labels={"pool": pool}, topology_name="tree")
        world.node(f"b/r/{pool}", {"pool": pool}, allocatable={"gpu": 2, "pods": 9})
    world.cluster_queue("q", quotas(old=9, new=9), preemption=LOWER)
    rack = TopologyRequest(required="rack")
    for name, priority in (("keeps", 9), ("goes", 1)):
        world.submit(name, "q", {"gpu": 2}, priority=priority, topology=rack)
        world.settle()
    key = world.submit("new", "q", {"gpu": 2}, priority=5, topology=rack)
    world.settle()
    assert flavor_of(world, key) == "new"
    assert phase_of(world["team/goes"]) == "Evicting"


def test_flavors_behind_the_one_it_waits_for_are_reported_as_not_reached() -> None:
    world = two_flavors(STOP_AT_PREEMPTION)
    fill(world, 1, 1)
    key = world.submit("new", "q", {"gpu": 2}, priority=5)
    world.settle()
    found = current_reason(world.cluster_state, world[key], world.at)
    assert found is not None
    assert found.dominant == "WaitingForPreemptedWorkloads"
    (other,) = (blocker for blocker in found.blockers if blocker.reason == "NotReached")
    assert other.flavor == "two"
    assert other.message == message("FlavorNotTried", last="one")


def test_a_flavor_that_only_a_later_evaluation_reached_is_in_the_matrix_too() -> None:
    world = two_flavors(STOP_AT_PREEMPTION)
    fill(world, 9, 9)
    key = world.submit("new", "q", {"gpu": 2}, priority=5)
    world.settle()
    found = current_reason(world.cluster_state, world[key], world.at)
    assert found is not None
    told = {blocker.flavor: blocker.reason for blocker in found.blockers if blocker.flavor}
    assert told == {"one": "WaitingForQuota", "two": "WaitingForQuota"}


def search_for_victims(world: World, key: str) -> Blocker:
    found = current_reason(world.cluster_state, world[key], world.at)
    assert found is not None
    (told,) = (blocker for blocker in found.blockers if blocker.type == "Preemption")
    return told


def test_protected_workloads_of_any_flavor_are_named() -> None:
    world = two_flavors(FlavorFungibility())
    fill(world, 9, 8)
    key = world.submit("new", "q", {"gpu": 2}, priority=5)
    world.settle()
    told = {one.workload: one.rule for one in search_for_victims(world, key).refused}
    assert told == {
        "team/old0": message("NotLowerPriority", priority=9, preemptor_priority=5),
        "team/old1": message("NotLowerPriority", priority=8, preemptor_priority=5),
    }


def test_protected_workloads_on_hosts_of_a_later_flavor_are_named() -> None:
    world = World()
    world.topology()
    for pool in ("old", "new"):
        world.flavor(pool, node_labels={"pool": pool}, topology_name="tree")
        world.node(f"b/r/{pool}", {"pool": pool}, allocatable={"gpu": 2, "pods": 9})
    world.cluster_queue("q", quotas(old=9, new=9), preemption=LOWER)
    rack = TopologyRequest(required="rack")
    for name in ("first", "second"):
        world.submit(name, "q", {"gpu": 2}, priority=9, topology=rack)
        world.settle()
    key = world.submit("new", "q", {"gpu": 2}, priority=5, topology=rack)
    world.settle()
    told = search_for_victims(world, key)
    assert sorted(one.workload for one in told.refused) == ["team/first", "team/second"]


def two_pools(big_quota: int, **spec: Any) -> World:
    """A rack that is too small for the gang even empty, and one that is full of lesser work."""
    world = World()
    world.topology()
    for pool, room in (("small", 4), ("big", 16)):
        world.flavor(pool, node_labels={"pool": pool}, topology_name="tree")
        labels = {"pool": pool}
        world.node(f"x/{pool}/h-{pool}", labels=labels, allocatable={"cpu": room, "pods": 110})
    world.cluster_queue("q", quotas("cpu", small=99, big=big_quota), **spec)
    rack = TopologyRequest(required="rack")
    world.submit("low", "q", {"cpu": 1}, count=16, topology=rack)
    world.settle()
    world.submit("gang", "q", {"cpu": 1}, count=12, topology=rack, priority=5)
    world.settle()
    return world


@pytest.mark.parametrize("big_quota", [16, 99])
def test_hosts_that_would_not_do_even_empty_leave_those_of_the_next_flavor_to_be_cleared(
    big_quota: int,
) -> None:
    lower = ClusterQueuePreemption(within_cluster_queue="LowerPriority")
    world = two_pools(big_quota, preemption=lower)
    world.stop("team/low")
    world.settle()
    assert world.placed("team/gang") == {"h-big": 12}


def test_a_workload_waiting_for_hosts_of_another_flavor_is_not_told_of_none() -> None:
    found = why(two_pools(99), "team/gang")
    assert found.dominant == "WaitingForHosts"
    reasons = [(b.flavor, b.reason) for b in found.blockers]
    assert reasons == [("small", "TopologyPlacementFailed"), ("big", "WaitingForHosts")]


@pytest.mark.parametrize("big_quota", [16, 99])
def test_a_workload_that_fits_another_flavor_is_not_said_to_never_start(big_quota: int) -> None:
    world = two_pools(big_quota)
    assert detected_problems(world.cluster_state, world.at) == []


def test_a_resource_of_no_flavor_is_reported_before_another_that_lacks_quota() -> None:
    """Kueue 0.20, change 27 (#15304): more quota of one resource would not help."""
    world = World()
    world.flavor("one")
    world.cluster_queue("q", quotas("cpu", one=4))
    key = world.submit("new", "q", {"cpu": 5, "licenses": 1})
    world.settle()
    assert why(world, key).condition_reason == "NoMatchingFlavor"
