"""Transitions that follow from time and from stopped queues alone."""

import pytest

from headgate.domain.kinds.admission_check import AdmissionCheckCreated, AdmissionCheckSpec
from headgate.domain.kinds.cluster_queue import (
    AdmissionCheckRule,
    ClusterQueueDeletionRequested,
    ClusterQueueResumed,
    ClusterQueueStopped,
)
from headgate.domain.kinds.local_queue import LocalQueueResumed, LocalQueueStopped
from headgate.domain.kinds.queue_stop import Stop, StopPolicy
from headgate.domain.kinds.wait_for_pods_ready import (
    RequeuingStrategy,
    WaitForPodsReady,
    backoff_microseconds,
    backoff_seconds,
)
from headgate.domain.scheduling.cycle import plan_cycle
from headgate.domain.scheduling.pending_reasons import recorded_reason
from headgate.domain.values.message import message
from headgate.domain.workloads.events import (
    WorkloadActivated,
    WorkloadEvicted,
    WorkloadHeld,
    WorkloadPodsNotReady,
)
from headgate.domain.workloads.state import phase_of
from headgate.messages.catalogue import remedies_of, sentence_of
from tests.builders.world import World, names, quotas

SECONDS = 1_000_000
STRATEGY = RequeuingStrategy(backoff_base_seconds=60, backoff_max_seconds=3600)


def timed_queue(limit: int | None = None) -> tuple[World, str]:
    """A queue with a timeout of 100 s (recovery 20 s), and one workload that was admitted."""
    world = World()
    world.flavor("default")
    strategy = RequeuingStrategy(
        backoff_limit_count=limit, backoff_base_seconds=10, backoff_max_seconds=30
    )
    waits = WaitForPodsReady(
        timeout_seconds=100, recovery_timeout_seconds=20, requeuing_strategy=strategy
    )
    world.cluster_queue("q", quotas(default=4), wait_for_pods_ready=waits)
    key = world.submit("w", "q")
    world.settle()
    return world, key


def next_due(world: World) -> int | None:
    with world.cluster_state.overlay():
        return plan_cycle(world.cluster_state, "clusterqueue/q", world.at, "look").next_due


def test_the_backoff_doubles_from_the_base_up_to_the_most() -> None:
    delays = [backoff_seconds(STRATEGY, count) for count in range(1, 9)]
    assert delays == [60, 120, 240, 480, 960, 1920, 3600, 3600]


def test_the_first_delay_is_not_capped_and_no_most_means_no_cap() -> None:
    high = RequeuingStrategy(backoff_base_seconds=90, backoff_max_seconds=50)
    endless = RequeuingStrategy(backoff_base_seconds=60, backoff_max_seconds=0)
    assert [backoff_seconds(high, count) for count in (1, 2)] == [90, 50]
    assert backoff_seconds(endless, 10) == 60 * 2**9


@pytest.mark.parametrize("uid", ["a", "b", "c"])
def test_jitter_is_a_ten_thousandth_at_most_and_always_the_same(uid: str) -> None:
    waits = [backoff_microseconds(STRATEGY, 1, uid) for _ in range(2)]
    assert waits[0] == waits[1]
    assert 60 * SECONDS <= waits[0] < 60 * SECONDS + 6_000


def test_pods_that_are_not_ready_in_time_are_evicted_with_a_backoff() -> None:
    world, _ = timed_queue()
    assert next_due(world) == world.at + 100 * SECONDS
    world.wait(100)
    (fact,) = world.settle()
    event = fact[1]
    assert isinstance(event, WorkloadEvicted)
    assert (event.reason, event.underlying_cause, event.count) == (
        "PodsReadyTimeout",
        "WaitForStart",
        1,
    )
    assert event.requeue_at is not None
    assert 0 <= event.requeue_at - world.at - 10 * SECONDS < 1_001


def test_nothing_is_due_a_microsecond_before_its_time() -> None:
    world, _ = timed_queue()
    world.wait(99)
    assert world.settle() == []


def test_an_evicted_workload_competes_again_when_its_backoff_ends() -> None:
    world, key = timed_queue()
    world.wait(100)
    world.settle()
    world.stop(key)
    world.settle()
    assert phase_of(world[key]) == "Retrying"
    found = recorded_reason(world.cluster_state, world[key], world.at)
    assert found is not None
    assert found.reason_message.code == "RetryAfterBackoff"
    assert sentence_of(found) == "Retry 1 in 10 s (backoff)"
    due = next_due(world)
    assert due == world[key].requeue.requeue_at
    world.wait(11)
    assert names(world.settle()) == [
        "WorkloadRequeued",
        "WorkloadQuotaReserved",
        "WorkloadAdmitted",
    ]


def test_a_backoff_lasts_although_its_local_queue_was_stopped_and_resumed() -> None:
    """Trap Q3."""
    world, key = timed_queue()
    world.wait(100)
    world.settle()
    world.stop(key)
    given = Stop(owner="test-admin", reason="", stopped_at=world.at)
    world.record("localqueue/team/q", LocalQueueStopped(policy="Hold", stop=given))
    world.settle()
    world.record("localqueue/team/q", LocalQueueResumed())
    world.settle()
    assert phase_of(world[key]) == "Retrying"
    world.wait(11)
    world.settle()
    assert world.admitted() == [key]


def test_past_the_limit_a_timeout_deactivates() -> None:
    world, key = timed_queue(limit=1)
    for _ in range(2):
        world.wait(100)
        world.settle()
        world.stop(key)
        world.wait(11)
        world.settle()
    assert phase_of(world[key]) == "Inactive"
    assert world[key].requeue.count == 0
    world.record(f"workload/{key}", WorkloadActivated())
    world.settle()
    assert world.admitted() == [key]


def test_pods_that_do_not_recover_in_time_are_evicted() -> None:
    world, key = timed_queue()
    world.ready(key)
    world.wait(500)
    assert world.settle() == []
    world.record(f"workload/{key}", WorkloadPodsNotReady())
    world.wait(20)
    ((_, event),) = world.settle()
    assert isinstance(event, WorkloadEvicted)
    assert event.underlying_cause == "WaitForRecovery"


def test_execution_time_is_counted_over_all_runs() -> None:
    world = World()
    world.flavor("default")
    world.cluster_queue("q", quotas(default=4))
    key = world.submit("w", "q", maximum_execution_time_seconds=60)
    world.settle()
    world.wait(40)
    evicted = WorkloadEvicted(eviction="e", reason="Requeued", message="")
    world.record(f"workload/{key}", evicted)
    world.stop(key)
    world.settle()
    assert world[key].accumulated_execution_seconds == 40
    world.wait(19)
    assert world.settle() == []
    world.wait(1)
    assert names(world.settle()) == ["WorkloadDeactivated", "WorkloadEvicted"]
    world.stop(key)
    world.record(f"workload/{key}", WorkloadActivated())
    world.settle()
    assert world.admitted() == [key]
    assert world[key].accumulated_execution_seconds == 0


def test_a_hold_with_an_end_ends_by_itself() -> None:
    world, _ = timed_queue()
    key = world.submit("held", "q")
    until = world.at + 30 * SECONDS
    held = WorkloadHeld(owner="test-admin", reason="maintenance", expires_at=until)
    world.record(f"workload/{key}", held)
    world.settle()
    found = recorded_reason(world.cluster_state, world[key], world.at)
    assert found is not None
    assert found.blockers[0].message == message(
        "OnHold", owner="test-admin", until=until, why="maintenance"
    )
    world.wait(30)
    world.settle()
    assert key in world.admitted()


def stop(world: World, policy: StopPolicy, seconds: int | None = None) -> None:
    until = world.at + seconds * SECONDS if seconds else None
    given = Stop(owner="test-admin", reason="upgrade", stopped_at=world.at, expires_at=until)
    world.record("clusterqueue/q", ClusterQueueStopped(policy=policy, stop=given))


def test_a_stopped_queue_admits_nothing_and_names_the_user_that_stopped_it() -> None:
    world, running = timed_queue()
    stop(world, "Hold")
    key = world.submit("late", "q")
    world.settle()
    assert world.admitted() == [running]
    found = recorded_reason(world.cluster_state, world[key], world.at)
    assert found is not None
    assert sentence_of(found) == "ClusterQueue q is stopped by test-admin: upgrade"


def test_draining_evicts_what_runs_and_resuming_brings_it_back() -> None:
    world, key = timed_queue()
    stop(world, "HoldAndDrain")
    ((_, event),) = world.settle()
    assert isinstance(event, WorkloadEvicted)
    assert event.reason == "ClusterQueueStopped"
    world.stop(key)
    assert world.settle() == []
    world.record("clusterqueue/q", ClusterQueueResumed())
    made = world.settle()
    assert names(made)[0] == "WorkloadRequeued"
    assert world.admitted() == [key]


def test_a_drain_of_many_continues_until_all_are_evicted() -> None:
    world = World()
    world.flavor("default")
    world.cluster_queue("q", quotas(default=600))
    for number in range(600):
        world.submit(f"w{number}", "q")
    world.settle()
    stop(world, "HoldAndDrain")
    with world.cluster_state.overlay():
        first = plan_cycle(world.cluster_state, "clusterqueue/q", world.at, "first")
    assert len(first.decisions) == 500
    assert names(world.settle()) == ["WorkloadEvicted"] * 600


def test_a_stop_with_an_end_ends_by_itself() -> None:
    world, _ = timed_queue()
    stop(world, "Hold", seconds=50)
    key = world.submit("late", "q")
    world.settle()
    assert next_due(world) == world.at + 50 * SECONDS
    world.wait(50)
    world.settle()
    assert key in world.admitted()


def test_a_stopped_local_queue_keeps_only_its_own_out() -> None:
    world, _ = timed_queue()
    world.local_queue("other", "q")
    given = Stop(owner="test-admin", reason="", stopped_at=world.at)
    world.record("localqueue/team/q", LocalQueueStopped(policy="Hold", stop=given))
    world.submit("mine", "q")
    other = world.submit("theirs", "other")
    world.settle()
    assert world.admitted() == [other, "team/w"]


def test_checks_keep_a_reservation_from_being_admitted_and_a_stop_drops_it() -> None:
    world = World()
    world.flavor("default")
    check = AdmissionCheckSpec(controller_name="c")
    created = AdmissionCheckCreated(uid="check", name="check", spec=check)
    world.record("admissioncheck/check", created)
    rules = (AdmissionCheckRule(name="check"),)
    world.cluster_queue("q", quotas(default=4), admission_checks=rules)
    key = world.submit("w", "q")
    assert names(world.settle()) == ["WorkloadQuotaReserved"]
    assert phase_of(world[key]) == "QuotaReserved"
    stop(world, "Hold")
    assert names(world.settle()) == ["ReservationDropped"]
    assert world.admitted() == []


def test_a_cluster_queue_goes_when_its_last_workload_has() -> None:
    world, key = timed_queue()
    world.record("clusterqueue/q", ClusterQueueDeletionRequested())
    assert world.settle() == []
    world.finish(key)
    assert names(world.settle()) == ["ClusterQueueDeleted"]
    assert world.cluster_state.partition_keys() == ("installation",)


@pytest.mark.parametrize(
    ("queue", "help_"),
    [("nowhere", "Create LocalQueue nowhere, or name another queue."), ("", "Name a queue.")],
)
def test_a_workload_without_a_queue_is_told_how_to_get_one(queue: str, help_: str) -> None:
    world = World()
    key = world.submit("w", queue)
    world.settle()
    found = recorded_reason(world.cluster_state, world[key], world.at)
    assert found is not None
    assert remedies_of(found) == [help_]
