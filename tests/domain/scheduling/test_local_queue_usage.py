"""LocalQueues that used little of late go first; what they used fades and is never lost."""

from typing import Literal

import pytest
from msgspec.structs import replace

from headgate.application.queries.queue_status import consumed_by, pending_order
from headgate.domain.cluster_state import ClusterState
from headgate.domain.kinds.cluster_queue import AdmissionCheckRule
from headgate.domain.kinds.configuration import AdmissionFairSharing
from headgate.domain.kinds.queue_settings import ClusterQueuePreemption
from headgate.domain.scheduling.cycle import plan_cycle
from headgate.domain.scheduling.queueing.local_queue_usage import Consumption
from headgate.domain.workloads.events import WorkloadEvicted
from headgate.event_log.folds import fold_digest
from tests.builders.world import World, quotas

BY_USAGE = "UsageBasedAdmissionFairSharing"
UNIT = 10**9
HOUR = AdmissionFairSharing(usage_half_life_seconds=3600, usage_sampling_interval_seconds=600)
FROM_ADMISSION = replace(HOUR, usage_anchor="Admitted")


def two_local_queues(nominal: int = 4, rules: AdmissionFairSharing = HOUR, **spec: object) -> World:
    """One ClusterQueue by usage, reached through LocalQueues `a` and `b`."""
    world = World()
    world.configure(admission_fair_sharing=rules)
    world.flavor("default")
    world.cluster_queue("q", quotas(default=nominal), admission_mode=BY_USAGE, **spec)
    world.local_queue("a", "q")
    world.local_queue("b", "q")
    return world


def used(world: World, queue: str) -> float:
    found = consumed_by(world.cluster_state, f"team/{queue}", world.at)
    assert found is not None
    return found.nanos.get("gpu", 0) / UNIT


def test_usage_halves_in_every_half_life_after_the_end() -> None:
    world = two_local_queues()
    world.submit("w", "a", {"gpu": 4})
    world.settle()
    world.wait(200 * 3600)
    assert used(world, "a") == 4
    world.finish("team/w")
    world.wait(3600)
    assert used(world, "a") == 2
    world.wait(2 * 3600)
    assert used(world, "a") == 0.5


def test_letting_a_workload_in_counts_at_once() -> None:
    world = two_local_queues()
    world.submit("w", "a", {"gpu": 4})
    world.settle()
    penalty = 4 * (1 - 0.5 ** (600 / 3600))
    assert abs(used(world, "a") - penalty) < 1e-6


def test_the_queue_that_used_less_precedes_a_higher_priority() -> None:
    world = two_local_queues()
    world.submit("past", "a", {"gpu": 4})
    world.settle()
    world.wait(3600)
    world.finish("team/past")
    world.submit("urgent", "a", {"gpu": 3}, priority=9)
    modest = world.submit("modest", "b", {"gpu": 3})
    world.settle()
    assert world.admitted() == [modest]


def test_queues_take_turns_within_one_moment() -> None:
    world = two_local_queues(nominal=4)
    for name, queue in (("a1", "a"), ("a2", "a"), ("b1", "b"), ("b2", "b")):
        world.submit(name, queue, {"gpu": 2})
    world.settle()
    assert world.admitted() == ["team/a1", "team/b1"]


def test_a_queue_without_weight_is_last_whatever_it_used() -> None:
    world = two_local_queues()
    world.local_queue("none", "q", fair_weight_milli=0)
    world.submit("past", "a", {"gpu": 4})
    world.settle()
    world.wait(3600)
    world.finish("team/past")
    world.submit("idle", "none", {"gpu": 3}, priority=9)
    busy = world.submit("busy", "a", {"gpu": 3})
    world.settle()
    assert world.admitted() == [busy]


def test_a_double_weight_halves_what_counts() -> None:
    world = two_local_queues()
    world.local_queue("heavy", "q", fair_weight_milli=3000)
    for name, queue, gpus in (("p1", "b", 1), ("p2", "heavy", 2)):
        world.submit(name, queue, {"gpu": gpus})
    world.settle()
    world.wait(360_000)
    world.finish("team/p1")
    world.finish("team/p2")
    world.submit("light", "b", {"gpu": 3})
    world.submit("weighty", "heavy", {"gpu": 3})
    assert pending_order(world.cluster_state, "q").keys == ("team/weighty", "team/light")


def test_usage_has_no_say_where_the_cluster_queue_does_not_ask_for_it() -> None:
    world = two_local_queues()
    world.change_cluster_queue("q", admission_mode="NoAdmissionFairSharing")
    world.submit("past", "a", {"gpu": 4})
    world.settle()
    world.wait(3600)
    world.finish("team/past")
    urgent = world.submit("urgent", "a", {"gpu": 3}, priority=9)
    world.submit("modest", "b", {"gpu": 3})
    world.settle()
    assert world.admitted() == [urgent]


def test_a_reserved_workload_is_counted_while_it_waits_for_its_checks() -> None:
    checks = (AdmissionCheckRule(name="budget"),)
    world = two_local_queues(rules=FROM_ADMISSION, admission_checks=checks)
    world.admission_check("budget")
    key = world.submit("w", "a", {"gpu": 4})
    world.settle()
    found = consumed_by(world.cluster_state, "team/a", world.at)
    assert found is not None
    assert (used(world, "a"), found.about_to_count["gpu"] > 0) == (0, True)
    world.check(key, "budget", "Ready")
    world.settle()
    later = consumed_by(world.cluster_state, "team/a", world.at)
    assert later is not None
    assert (later.nanos, later.about_to_count) == (found.about_to_count, {})


def test_a_reservation_that_comes_to_nothing_leaves_no_trace() -> None:
    checks = (AdmissionCheckRule(name="budget"),)
    world = two_local_queues(rules=FROM_ADMISSION, admission_checks=checks)
    world.admission_check("budget")
    key = world.submit("w", "a", {"gpu": 4})
    world.settle()
    world.check(key, "budget", "Rejected")
    world.settle()
    found = consumed_by(world.cluster_state, "team/a", world.at)
    assert found is not None
    assert (found.nanos, found.about_to_count) == ({}, {})


def test_history_and_pending_penalties_survive_a_restart() -> None:
    checks = (AdmissionCheckRule(name="budget"),)
    world = two_local_queues(rules=FROM_ADMISSION, admission_checks=checks)
    world.admission_check("budget")
    for name, queue in (("x", "a"), ("y", "b")):
        world.submit(name, queue, {"gpu": 2})
    world.settle()
    world.check("team/x", "budget", "Ready")
    world.settle()
    world.wait(1234)
    again = ClusterState.load(world.cluster_state.dump())
    for queue in ("team/a", "team/b"):
        assert consumed_by(again, queue, world.at) == consumed_by(
            world.cluster_state, queue, world.at
        )
    assert again.usage_history.queues == world.cluster_state.usage_history.queues


def test_a_fold_with_use_beyond_64_bits_has_a_digest() -> None:
    world = two_local_queues()
    world.cluster_state.usage_history.queues["team/a"] = Consumption(
        at=world.at, consumed={"memory": 2**90}
    )
    before = fold_digest(world.cluster_state)
    assert fold_digest(ClusterState.load(world.cluster_state.dump())) == before
    world.cluster_state.usage_history.queues["team/a"].consumed["memory"] += 1
    assert fold_digest(world.cluster_state) != before


def test_what_was_only_tried_leaves_the_history_alone() -> None:
    world = two_local_queues()
    world.submit("w", "a", {"gpu": 4})
    before = world.cluster_state.dump()
    with world.cluster_state.overlay():
        assert plan_cycle(world.cluster_state, "clusterqueue/q", world.at + 99, "try").decisions
        assert world.cluster_state.usage_history.queues["team/a"].usage == {"gpu": 4}
    assert world.cluster_state.dump() == before


def test_pods_that_ended_are_used_no_more() -> None:
    world = two_local_queues()
    key = world.submit("w", "a", {"gpu": 1}, count=4)
    world.settle()
    world.reclaim(key, 3)
    world.wait(200 * 3600)
    assert used(world, "a") == 1


@pytest.mark.parametrize(("anchor", "consumed"), [("QuotaReserved", 2.0), ("Admitted", 0.0)])
def test_usage_counts_from_the_reservation_or_the_admission(
    anchor: Literal["QuotaReserved", "Admitted"], consumed: float
) -> None:
    """Kueue 0.20: a check takes an hour, and its workload holds 4 GPUs meanwhile (#15000)."""
    world = two_local_queues(admission_checks=(AdmissionCheckRule(name="slow"),))
    world.configure(admission_fair_sharing=replace(HOUR, usage_anchor=anchor))
    world.admission_check("slow")
    world.submit("w", "a", {"gpu": 4})
    world.settle()
    penalty = 4 * (1 - 0.5 ** (600 / 3600)) if anchor == "QuotaReserved" else 0
    assert abs(used(world, "a") - penalty) < 1e-6
    world.wait(3600)
    assert abs(used(world, "a") - consumed - penalty / 2) < 1e-6


def test_a_moved_anchor_counts_reservations_anew() -> None:
    world = two_local_queues(admission_checks=(AdmissionCheckRule(name="slow"),))
    world.admission_check("slow")
    world.submit("w", "a", {"gpu": 4})
    world.settle()
    for anchor, usage in (("Admitted", {}), ("QuotaReserved", {"gpu": 4}), ("Admitted", {})):
        rules = replace(HOUR, usage_anchor=anchor)
        world.configure(admission_fair_sharing=rules)
        found = world.cluster_state.usage_history.queues["team/a"]
        assert (found.usage, found.penalties) == (usage, {})


def test_switching_it_on_starts_from_nothing_and_counts_from_then() -> None:
    world = two_local_queues()
    world.configure()
    world.submit("w", "a", {"gpu": 4})
    world.settle()
    world.wait(9 * 3600)
    world.configure(admission_fair_sharing=HOUR)
    assert used(world, "a") == 0
    world.wait(3600)
    assert used(world, "a") == 2


def test_each_stretch_fades_by_the_half_life_of_its_time() -> None:
    world = two_local_queues()
    world.submit("w", "a", {"gpu": 4})
    world.settle()
    world.wait(200 * 3600)
    world.finish("team/w")
    world.wait(3600)
    world.configure(admission_fair_sharing=AdmissionFairSharing(usage_half_life_seconds=60))
    world.wait(120)
    assert used(world, "a") == 0.5


def test_nothing_is_remembered_without_a_half_life() -> None:
    world = two_local_queues()
    world.configure(admission_fair_sharing=AdmissionFairSharing())
    world.submit("past", "a", {"gpu": 4})
    world.settle()
    world.wait(9)
    assert used(world, "a") == 0


def test_a_strict_fifo_queue_is_evaluated_again_when_another_queue_may_have_become_first() -> None:
    world = two_local_queues(queueing_strategy="StrictFIFO")
    world.submit("past", "b", {"gpu": 1})
    world.settle()
    world.submit("large", "a", {"gpu": 9})
    world.submit("small", "b", {"gpu": 1})
    with world.cluster_state.overlay():
        while (plan := plan_cycle(world.cluster_state, "clusterqueue/q", world.at, "c")).decisions:
            pass
    assert plan.next_due == world.at + HOUR.usage_sampling_interval_seconds * 1_000_000


def test_the_queue_that_used_more_gives_way_before_one_of_lower_priority() -> None:
    world = two_local_queues(
        preemption=ClusterQueuePreemption(within_cluster_queue="LowerPriority")
    )
    greedy = world.submit("greedy", "a", {"gpu": 3}, priority=2)
    world.settle()
    world.wait(3600)
    world.submit("modest", "b", {"gpu": 1}, priority=1)
    world.settle()
    world.submit("urgent", "b", {"gpu": 1}, priority=9)
    made = world.settle()
    assert [s for s, e in made if isinstance(e, WorkloadEvicted)] == [f"workload/{greedy}"]


def test_where_usage_has_no_say_the_lower_priority_gives_way() -> None:
    world = two_local_queues(
        preemption=ClusterQueuePreemption(within_cluster_queue="LowerPriority")
    )
    world.change_cluster_queue("q", admission_mode=None)
    world.submit("greedy", "a", {"gpu": 3}, priority=2)
    world.settle()
    world.wait(3600)
    modest = world.submit("modest", "b", {"gpu": 1}, priority=1)
    world.settle()
    world.submit("urgent", "b", {"gpu": 1}, priority=9)
    made = world.settle()
    assert [s for s, e in made if isinstance(e, WorkloadEvicted)] == [f"workload/{modest}"]


def test_queues_of_one_name_in_two_namespaces_use_for_themselves() -> None:
    """Kueue 0.20, change 12 (#14547)."""
    world = two_local_queues()
    world.local_queue("a", "q", namespace="other")
    world.submit("w", "a", {"gpu": 4})
    world.settle()
    world.wait(200 * 3600)
    assert used(world, "a") == 4
    elsewhere = consumed_by(world.cluster_state, "other/a", world.at)
    assert elsewhere is not None
    assert not elsewhere.nanos.get("gpu")
