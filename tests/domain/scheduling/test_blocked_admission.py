"""`blockAdmission`: one workload's pods become ready before the next one starts, anywhere."""

from headgate.domain.kinds.cluster_queue import AdmissionCheckRule, ClusterQueueStopped
from headgate.domain.kinds.queue_stop import Stop
from headgate.domain.kinds.wait_for_pods_ready import RequeuingStrategy, WaitForPodsReady
from headgate.domain.scheduling.partition.wakes import wakes_of
from headgate.domain.scheduling.pending_reasons import recorded_reason
from headgate.domain.workloads.events import WorkloadAdmitted, WorkloadPodsReady
from headgate.domain.workloads.state import phase_of
from tests.builders.world import World, names, quotas

WAITS = WaitForPodsReady(
    timeout_seconds=100,
    recovery_timeout_seconds=20,
    requeuing_strategy=RequeuingStrategy(backoff_base_seconds=10, backoff_max_seconds=30),
)


def two_queues() -> World:
    """Two ClusterQueues that share nothing, in an installation that blocks admission."""
    world = World()
    world.flavor("default")
    world.configure(block_admission=True, wait_for_pods_ready=WAITS)
    world.cluster_queue("q", quotas(default=4))
    world.cluster_queue("other", quotas(default=4))
    return world


def blocked() -> tuple[World, str, str]:
    """Admission blocked until pods are ready; one workload started, one waits elsewhere."""
    world = two_queues()
    first, second = world.submit("first", "q"), world.submit("second", "other")
    world.cycle("clusterqueue/q")
    world.cycle("clusterqueue/other")
    return world, first, second


def test_no_workload_is_admitted_before_the_pods_of_the_last_one_are_ready() -> None:
    world, first, second = blocked()
    assert world.admitted() == [first]
    explanation = world[second].explanation
    assert explanation is not None
    assert explanation.dominant == "WaitingForPodsReady"
    assert explanation.blockers[0].held_by == (first,)
    assert world.settle() == []
    world.ready(first)
    assert names(world.settle()) == ["WorkloadQuotaReserved", "WorkloadAdmitted"]


def test_two_of_one_queue_start_one_after_the_other() -> None:
    world = two_queues()
    first, second = world.submit("first", "q"), world.submit("second", "q")
    world.settle()
    assert world.admitted() == [first]
    world.finish(first)
    world.settle()
    assert world.admitted() == [second]


def test_a_workload_evicted_by_pods_ready_timeout_unblocks_once_stopped() -> None:
    world, first, second = blocked()
    world.wait(100)
    world.settle()
    assert world.admitted() == [first]
    world.stop(first)
    world.settle()
    assert world.admitted() == [second]


def with_checks() -> tuple[World, str, str]:
    """One that waits for a check, and one of another partition that has started."""
    world = two_queues()
    world.admission_check("budget")
    world.change_cluster_queue("q", admission_checks=(AdmissionCheckRule(name="budget"),))
    first, second = world.submit("first", "q"), world.submit("second", "other")
    world.cycle("clusterqueue/q")
    world.cycle("clusterqueue/other")
    return world, first, second


def test_a_reservation_that_waits_for_checks_blocks_no_admission() -> None:
    world, first, second = with_checks()
    assert world.admitted() == [first, second]
    assert phase_of(world[first]) == "QuotaReserved"


def test_a_reservation_with_ready_checks_is_admitted_once_pods_are_ready() -> None:
    world, first, second = with_checks()
    world.check(first, "budget", "Ready")
    assert world.settle() == []
    found = recorded_reason(world.cluster_state, world[first], world.at)
    assert found is not None
    assert (found.dominant, found.blockers[0].held_by) == ("WaitingForPodsReady", (second,))
    world.ready(second)
    assert names(world.settle()) == ["WorkloadAdmitted"]
    assert recorded_reason(world.cluster_state, world[first], world.at) is None


def test_of_many_reservations_with_ready_checks_the_first_is_admitted_alone() -> None:
    world, first, second = with_checks()
    world.wait(1)
    urgent = world.submit("urgent", "q", priority=9)
    world.finish(second)
    world.settle()
    for key in (first, urgent):
        world.check(key, "budget", "Ready")
    world.settle()
    assert [phase_of(world[key]) for key in (first, urgent)] == ["QuotaReserved", "Starting"]
    world.ready(urgent)
    world.settle()
    assert phase_of(world[first]) == "Starting"


def test_a_reservation_with_ready_checks_is_dropped_by_a_stop() -> None:
    world, first, second = with_checks()
    world.check(first, "budget", "Ready")
    stop = Stop(owner="admin:ann", reason="x", stopped_at=world.at)
    world.record("clusterqueue/q", ClusterQueueStopped(policy="Hold", stop=stop))
    world.ready(second)
    assert names(world.settle()) == ["ReservationDropped"]


def test_a_check_that_refuses_is_reported_before_a_stop() -> None:
    world, first, _ = with_checks()
    world.check(first, "budget", "Rejected")
    stop = Stop(owner="admin:ann", reason="x", stopped_at=world.at)
    world.record("clusterqueue/q", ClusterQueueStopped(policy="Hold", stop=stop))
    assert names(world.settle())[:1] == ["WorkloadDeactivated"]


def test_a_reservation_with_ready_checks_is_admitted_when_blocking_is_disabled() -> None:
    world, first, _ = with_checks()
    world.check(first, "budget", "Ready")
    world.configure(block_admission=False, wait_for_pods_ready=WAITS)
    assert names(world.settle()) == ["WorkloadAdmitted"]


def test_an_admission_guards_every_other_plan_under_block_admission() -> None:
    world, first, _ = blocked()
    stream = f"workload/{first}"
    assert wakes_of(world.cluster_state, stream, WorkloadAdmitted(waited_seconds=0)) == (
        ("*",),
        True,
    )
    assert wakes_of(world.cluster_state, stream, WorkloadPodsReady()) == (("*",), False)
