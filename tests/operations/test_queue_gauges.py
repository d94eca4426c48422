"""Gauges of ClusterQueues, cohorts and LocalQueues, from one state."""

from typing import Any

from prometheus_client import Metric

from headgate.application.cooperative import at_once
from headgate.application.metrics_gauges import read_gauges
from headgate.application.queries.queue_status import ReservedUsage, reserved_usage
from headgate.domain.kinds.cluster_queue import AdmissionCheckRule
from headgate.domain.kinds.configuration import AdmissionFairSharing
from headgate.domain.kinds.queue_settings import ClusterQueuePreemption
from tests.builders.world import World, quotas


def shown(world: World, name: str) -> dict[tuple[str, ...], float]:
    """The figures of one metric by the values of its labels, zeros left out."""
    (found,) = [one for one in _gauges(world) if one.name == f"kueue_{name}"]
    return {tuple(s.labels.values()): s.value for s in found.samples if s.value}


def _gauges(world: World) -> list[Metric]:
    return at_once(read_gauges(world.cluster_state))


def two_queues(**spec: Any) -> World:
    """`a` has 4 and `b` 2, in the cohort `team` below `all`; quota of `all` is 1."""
    world = World()
    world.flavor("default")
    world.cohort("all", groups=quotas(default=1))
    world.cohort("team", parent="all")
    for name, nominal in (("a", 4), ("b", 2)):
        world.cluster_queue(name, quotas(default=nominal), cohort_name="team", **spec)
    return world


def test_the_usage_of_a_queue_leaves_out_what_waits_for_its_checks() -> None:
    world = World()
    world.flavor("default")
    world.admission_check("prov")
    world.cluster_queue("a", quotas(default=9))
    rules = (AdmissionCheckRule(name="prov"),)
    world.cluster_queue("b", quotas(default=9), admission_checks=rules)
    world.submit("runs", "a", {"gpu": 2})
    world.submit("waits", "b", {"gpu": 3})
    world.settle()
    two, three = {("default", "gpu"): 2}, {("default", "gpu"): 3}
    for queue, local, held in (("a", "team/a", (two, two)), ("b", "team/b", (three, {}))):
        assert reserved_usage(world.cluster_state, queue) == ReservedUsage(*held)
        assert reserved_usage(world.cluster_state, queue, local) == ReservedUsage(*held)
    reserved = shown(world, "local_queue_resource_reservation")
    assert sorted(reserved.values()) == [2, 3]
    assert list(shown(world, "local_queue_resource_usage").values()) == [2]


def test_pending_work_is_told_by_class_and_resource() -> None:
    world = two_queues()
    world.submit("runs", "a", {"gpu": 7})
    world.settle()
    for number in range(3):
        world.submit(f"same-{number}", "b", {"gpu": 2}, count=2)
    world.submit("other", "b", {"gpu": 1})
    world.settle()
    assert shown(world, "pending_scheduling_hashes") == {("b", "inadmissible"): 2}
    assert shown(world, "cluster_queue_resource_pending") == {("b", "gpu"): 13}


def test_what_is_not_admitted_is_counted_by_its_reasons() -> None:
    world = two_queues()
    world.submit("runs", "a", {"gpu": 7})
    world.settle()
    world.submit("waits", "b", {"gpu": 2})
    world.submit("never", "b", {"gpu": 99})
    world.settle()
    told = shown(world, "unadmitted_workloads")
    assert told == {
        ("b", "NoReservation", "WaitingForQuota"): 1,
        ("b", "NoReservation", "ExceedsMaxQuota"): 1,
    }
    by_local = shown(world, "local_queue_unadmitted_workloads")
    assert by_local == {("b", "team", *labels): count for labels, count in told.items()}


def test_cohorts_tell_their_tree_and_what_is_held_below() -> None:
    world = two_queues()
    world.submit("one", "a", {"gpu": 3})
    world.submit("two", "b", {"gpu": 4})
    world.settle()
    assert shown(world, "cohort_info") == {("all", "", "all"): 1, ("team", "all", "all"): 1}
    assert shown(world, "cluster_queue_info") == {("a", "team", "all"): 1, ("b", "team", "all"): 1}
    assert shown(world, "cohort_subtree_quota") == {
        ("all", "default", "gpu"): 7,
        ("team", "default", "gpu"): 6,
    }
    assert shown(world, "cohort_subtree_admitted_active_workloads") == {("all",): 2, ("team",): 2}
    assert shown(world, "cohort_subtree_resource_reservations")["team", "default", "gpu"] == 7


def test_recent_usage_is_told_where_it_orders_local_queues() -> None:
    world = two_queues(admission_mode="UsageBasedAdmissionFairSharing")
    assert shown(world, "local_queue_admission_fair_sharing_usage") == {}
    world.configure(admission_fair_sharing=AdmissionFairSharing(usage_half_life_seconds=60))
    world.submit("one", "a", {"gpu": 3})
    world.settle()
    ((labels, usage),) = shown(world, "local_queue_admission_fair_sharing_usage").items()
    assert labels == ("a", "team", "a")
    assert usage > 0


def test_the_oldest_open_round_of_a_queue_is_told_by_its_beginning() -> None:
    """KEP-5710, Risks: a round that victims hold up is seen by its age."""
    lower = ClusterQueuePreemption(within_cluster_queue="LowerPriority")
    world = World()
    world.flavor("default")
    world.cluster_queue("a", quotas(default=2), preemption=lower)
    for name in ("v", "w"):
        world.submit(name, "a")
    world.settle()
    began = []
    for name in ("first", "second"):
        world.wait(60)
        world.submit(name, "a", priority=5)
        world.settle()
        began.append(world.at / 1_000_000)
    name = "headgate_oldest_preemption_round_start_time_seconds"

    def oldest() -> list[float]:
        (found,) = [one for one in _gauges(world) if one.name == name]
        return [sample.value for sample in found.samples]

    assert oldest() == [began[0]]
    (first, _) = sorted(world.cluster_state.rounds.values(), key=lambda each: each.committed_at)
    for victim in first.victims:
        world.stop(victim.workload)
    world.settle()
    assert oldest() == [began[1]]
