"""The order of pending workloads, blocking heads, and requeueing of inadmissible workloads."""

from headgate.application.queries.pending_order import pending_order
from headgate.domain.kinds.queue_preemption import ClusterQueuePreemption
from headgate.domain.scheduling.pending_reasons import recorded_reason
from headgate.domain.workloads.events import WorkloadEvicted, WorkloadHeld
from tests.builders.world import World, names, quotas


def one_queue(nominal: int = 4, **spec: object) -> World:
    world = World()
    world.flavor("default")
    world.cluster_queue("q", quotas(default=nominal), **spec)
    return world


def test_higher_priority_is_first_then_age() -> None:
    world = one_queue(nominal=2)
    world.submit("old", "q", priority=1)
    world.wait(1)
    world.submit("young", "q", priority=1)
    world.submit("urgent", "q", priority=2)
    world.settle()
    assert world.admitted() == ["team/old", "team/urgent"]


def test_best_effort_passes_one_that_does_not_fit() -> None:
    world = one_queue()
    world.submit("big", "q", {"gpu": 5}, priority=1)
    world.submit("small", "q")
    world.settle()
    assert world.admitted() == ["team/small"]


def test_strict_order_blocks_behind_its_head() -> None:
    world = one_queue(queueing_strategy="StrictFIFO")
    world.submit("first", "q", {"gpu": 3})
    world.settle()
    big = world.submit("big", "q", {"gpu": 2}, priority=1)
    small = world.submit("small", "q")
    world.settle()
    assert world.admitted() == ["team/first"]
    found = recorded_reason(world.cluster_state, world[small], world.at)
    assert found is not None
    assert (found.dominant, found.blockers[0].held_by) == ("BehindHead", (big,))


def test_a_strict_head_that_is_held_no_longer_blocks() -> None:
    world = one_queue(queueing_strategy="StrictFIFO")
    big = world.submit("big", "q", {"gpu": 5}, priority=1)
    small = world.submit("small", "q")
    world.settle()
    world.record(f"workload/{big}", WorkloadHeld(owner="someone", reason="later"))
    world.settle()
    assert world.admitted() == [small]


def test_others_of_an_equivalence_class_that_failed_are_not_evaluated() -> None:
    world = one_queue()
    for number in range(50):
        world.submit(f"w{number}", "q", {"gpu": 3})
    made = world.settle()
    assert names(made).count("WorkloadExplained") == 1
    last = world["team/w49"]
    found = recorded_reason(world.cluster_state, last, world.at)
    assert found is not None
    assert found.dominant == "WaitingForQuota"
    assert not found.evaluated


def test_the_next_of_an_equivalence_class_is_explained_once_the_explained_one_is_held() -> None:
    world = one_queue()
    first, second = (world.submit(name, "q", {"gpu": 5}) for name in ("first", "second"))
    world.settle()
    world.record(f"workload/{first}", WorkloadHeld(owner="someone", reason="later"))
    world.settle()
    found = recorded_reason(world.cluster_state, world[second], world.at)
    assert found is not None
    assert (found.dominant, found.evaluated) == ("Unschedulable", True)


def test_freed_capacity_requeues_them() -> None:
    world = one_queue()
    first = world.submit("first", "q", {"gpu": 3})
    second = world.submit("second", "q", {"gpu": 3})
    world.settle()
    assert world.admitted() == [first]
    world.finish(first)
    world.settle()
    assert world.admitted() == [second]


def test_a_higher_quota_requeues_them() -> None:
    world = one_queue()
    key = world.submit("w", "q", {"gpu": 6})
    world.settle()
    found = world[key].explanation
    assert found is not None
    assert (found.dominant, found.condition_reason) == ("Unschedulable", "ExceedsMaxQuota")
    world.change_cluster_queue("q", resource_groups=quotas(default=6))
    world.settle()
    assert world.admitted() == [key]


def test_a_cycle_without_news_decides_nothing() -> None:
    world = one_queue()
    world.submit("big", "q", {"gpu": 5})
    world.settle()
    assert world.settle() == []


def test_the_lower_borrowing_level_comes_first() -> None:
    world = World()
    world.flavor("default")
    world.cluster_queue("own", quotas(default=2), cohort_name="team")
    world.cluster_queue("none", quotas(default=0), cohort_name="team")
    world.submit("borrower", "none", {"gpu": 2}, priority=9)
    owner = world.submit("owner", "own", {"gpu": 2})
    world.settle()
    assert world.admitted() == [owner]


def test_the_first_fitting_flavor_is_taken() -> None:
    world = World()
    world.flavor("reserved")
    world.flavor("spot")
    world.cluster_queue("q", quotas(reserved=2, spot=9))
    world.submit("a", "q", {"gpu": 2})
    key = world.submit("b", "q", {"gpu": 3})
    world.settle()
    admission = world[key].admission
    assert admission is not None
    assert admission.pod_set_assignments[0].flavors == {"gpu": "spot"}


def test_a_poison_workload_is_quarantined_and_the_rest_continues() -> None:
    world = one_queue()
    bad = world.submit("bad", "q", {"gpu": "many"}, priority=9)  # type: ignore[dict-item]
    good = world.submit("good", "q")
    world.settle()
    assert world.admitted() == [good]
    assert list(world.cluster_state.quarantined) == [f"workload/{bad}"]
    found = recorded_reason(world.cluster_state, world[bad], world.at)
    assert found is not None
    assert found.dominant == "Quarantined"


def test_one_that_backs_off_keeps_its_place_in_the_shown_order() -> None:
    """Kueue shows it nowhere (trap Q9)."""
    world = one_queue(nominal=1)
    for name in ("runs", "waits"):
        world.submit(name, "q")
        world.wait(1)
    world.settle()
    again = world.at + 60_000_000
    evicted = WorkloadEvicted(
        eviction="e", reason="PodsReadyTimeout", message="late", count=1, requeue_at=again
    )
    world.record("workload/team/runs", evicted)
    world.stop("team/runs")
    assert pending_order(world.cluster_state, "q").keys == ("team/waits", "team/runs")
    world.settle()
    assert world.admitted() == ["team/waits"]


def test_one_with_a_round_is_kept_first_in_its_queue() -> None:
    lower = ClusterQueuePreemption(within_cluster_queue="LowerPriority")
    world = one_queue(nominal=2, preemption=lower)
    world.submit("low", "q", {"gpu": 2})
    world.settle()
    mid = world.submit("mid", "q", {"gpu": 2}, priority=1)
    world.settle()
    high = world.submit("high", "q", {"gpu": 9}, priority=2)
    assert pending_order(world.cluster_state, "q").keys == (mid, high)


def test_no_workload_precedes_a_strict_fifo_head() -> None:
    lower = ClusterQueuePreemption(within_cluster_queue="LowerPriority")
    world = one_queue(nominal=2, preemption=lower, queueing_strategy="StrictFIFO")
    world.submit("low", "q", {"gpu": 2})
    world.settle()
    mid = world.submit("mid", "q", {"gpu": 2}, priority=1)
    world.settle()
    high = world.submit("high", "q", {"gpu": 9}, priority=2)
    assert pending_order(world.cluster_state, "q").keys == (high, mid)
