"""The order of pending workloads, blocking heads, and requeueing of inadmissible workloads."""

from headgate.application.queries.queue_status import pending_order
from headgate.domain.kinds.priority_classes import (
    WorkloadPriorityClassChanged,
    WorkloadPriorityClassCreated,
    WorkloadPriorityClassSpec,
)
from headgate.domain.kinds.queue_settings import ClusterQueuePreemption
from headgate.domain.scheduling.pending_reasons import recorded_reason
from headgate.domain.workloads.events import WorkloadEvicted, WorkloadHeld, WorkloadSubmitted
from headgate.domain.workloads.preemption_events import WorkloadPriorityChanged
from headgate.domain.workloads.protection import protection_of
from headgate.domain.workloads.specs import (
    PodSet,
    PriorityClassReference,
    Scheduling,
    WorkloadSpec,
)
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


def with_class(value: int) -> World:
    world = World()
    world.flavor("default")
    lower = ClusterQueuePreemption(within_cluster_queue="LowerPriority")
    world.cluster_queue("q", quotas(default=4), preemption=lower)
    given = WorkloadPriorityClassSpec(value=value)
    created = WorkloadPriorityClassCreated(uid="team", name="team", spec=given)
    world.record("workloadpriorityclass/team", created)
    return world


def edit_class(world: World, value: int) -> None:
    changed = WorkloadPriorityClassChanged(spec=WorkloadPriorityClassSpec(value=value))
    world.record("workloadpriorityclass/team", changed)


TEAM = PriorityClassReference(name="team")


def test_an_edited_class_reorders_the_workloads_that_wait() -> None:
    """Trap Q31: Kueue rewrites the priority of every workload of an edited class."""
    world = with_class(5)
    world.submit("runs", "q", {"gpu": 4}, priority=9)
    world.settle()
    of_class = world.submit("of-class", "q", {"gpu": 4}, priority=5, priority_class=TEAM)
    other = world.submit("other", "q", {"gpu": 4}, priority=7)
    world.settle()
    edit_class(world, 8)
    made = [event for stream, event in world.settle() if stream == f"workload/{of_class}"]
    assert made[0] == WorkloadPriorityChanged(before=5, after=8, class_name="team")
    world.finish("team/runs")
    world.settle()
    assert world.admitted() == [of_class]
    assert world[other].admission is None
    assert world.settle() == []


def test_an_edited_class_counts_for_what_runs_and_not_for_what_has_ended() -> None:
    world = with_class(5)
    ended = world.submit("ended", "q", {"gpu": 4}, priority=5, priority_class=TEAM)
    world.settle()
    world.finish(ended)
    runs = world.submit("runs", "q", {"gpu": 4}, priority=5, priority_class=TEAM)
    world.settle()
    edit_class(world, 1)
    world.settle()
    assert (world[runs].spec.priority, world[ended].spec.priority) == (1, 5)
    world.submit("higher", "q", {"gpu": 4}, priority=2)
    world.settle()
    assert world[runs].eviction is not None


def test_a_boost_and_a_protection_outlast_an_edited_class() -> None:
    world = with_class(5)
    world.submit("full", "q", {"gpu": 4}, priority=100)
    boosted = WorkloadSpec(
        queue_name="q",
        pod_sets=(PodSet(scheduling=Scheduling(requests={"gpu": 4})),),
        priority=7,
        priority_boost=2,
        boost_in_priority=2,
        priority_class=TEAM,
        preemption_priority=20,
    )
    submitted = WorkloadSubmitted(uid="uid-w", namespace="team", name="w", spec=boosted)
    world.record("workload/team/w", submitted)
    world.settle()
    edit_class(world, 15)
    world.settle()
    spec = world["team/w"].spec
    assert (spec.priority, spec.preemption_priority) == (17, 20)
    edit_class(world, 30)
    world.settle()
    spec = world["team/w"].spec
    assert (spec.priority, spec.preemption_priority, protection_of(spec)) == (32, None, 32)
