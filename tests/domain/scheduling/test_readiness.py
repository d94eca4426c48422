"""Readiness: default timeouts, retry limits by time, counts that start over, blocked admission."""

from typing import Any

import pytest
from msgspec.structs import replace

from headgate.domain.kinds.cluster_queue import AdmissionCheckRule
from headgate.domain.kinds.configuration import ConfigurationCreated, ConfigurationSpec, Retention
from headgate.domain.kinds.local_queue import LocalQueueDeletionRequested
from headgate.domain.kinds.queue_settings import ClusterQueuePreemption
from headgate.domain.kinds.wait_for_pods_ready import (
    WORKLOAD_TIMEOUTS,
    RequeuingStrategy,
    WaitForPodsReady,
    workload_timeout_violations,
)
from headgate.domain.scheduling.ordering.entry_order import queued_at
from headgate.domain.scheduling.pending_reasons import recorded_reason
from headgate.domain.scheduling.queueing.queue_checks import effective_spec
from headgate.domain.workloads.events import (
    WorkloadActivated,
    WorkloadDeactivated,
    WorkloadEvicted,
    WorkloadHeld,
    WorkloadPodsNotReady,
    WorkloadPodsReady,
    WorkloadPodsReported,
    WorkloadReleased,
)
from headgate.domain.workloads.pod_events import FailedPods, ReportedPods, WorkloadRetried
from headgate.domain.workloads.specs import PodSet, Scheduling
from headgate.domain.workloads.state import is_condition_true, phase_of
from headgate.messages.catalogue import sentence_of
from tests.builders.world import World, names, quotas

SECONDS = 1_000_000
EVICTED = WorkloadEvicted(eviction="by-hand", reason="Requeued", message="")


def waits(**strategy: Any) -> WaitForPodsReady:
    """A timeout of 100 s, a recovery timeout of 20 s, and a backoff from 10 s up to 30 s."""
    usual = {"backoff_base_seconds": 10, "backoff_max_seconds": 30}
    return WaitForPodsReady(
        timeout_seconds=100,
        recovery_timeout_seconds=20,
        requeuing_strategy=RequeuingStrategy(**usual | strategy),
    )


def world_with(configuration: ConfigurationSpec, **queue: Any) -> World:
    """Two queues that share nothing, under these installation-wide rules."""
    world = World()
    world.flavor("default")
    created = ConfigurationCreated(uid="c", name="default", spec=configuration)
    world.record("configuration/default", created)
    world.cluster_queue("q", quotas(default=4), **queue)
    world.cluster_queue("other", quotas(default=4), **queue)
    return world


def fail_to_start(world: World, key: str) -> None:
    """Let its pods time out and stop, and let its backoff pass."""
    world.wait(100)
    world.settle()
    if is_condition_true(world[key], "Evicted"):
        world.stop(key)
    world.wait(31)
    world.settle()


def test_a_queue_without_rules_has_the_installations() -> None:
    world = world_with(ConfigurationSpec(wait_for_pods_ready=waits(timestamp="Creation")))
    key = world.submit("w", "q")
    world.settle()
    world.wait(100)
    assert names(world.settle()) == ["WorkloadEvicted"]
    world.stop(key)
    spec = effective_spec(world.cluster_state.config, "q")
    assert queued_at(world[key], spec) == world[key].created_at


@pytest.mark.parametrize(("timestamp", "takes_it"), [("Creation", True), ("Eviction", False)])
def test_nominated_capacity_yields_by_the_installations_timestamp(
    timestamp: str, *, takes_it: bool
) -> None:
    """KEP-1282, Proposed sorting: one order holds wherever claims are compared (1282-6)."""
    lower = ClusterQueuePreemption(within_cluster_queue="LowerPriority")
    rules = ConfigurationSpec(wait_for_pods_ready=waits(timestamp=timestamp))
    world = world_with(rules, preemption=lower)
    early = world.submit("early", "q", {"gpu": 2}, priority=5)
    world.submit("low", "q", {"gpu": 2})
    world.settle()
    world.record("workload/team/low", WorkloadPodsReady())
    world.wait(50)
    world.submit("late", "q", {"gpu": 4}, priority=5)
    world.wait(50)
    world.settle()
    world.stop(early)
    world.settle()
    assert phase_of(world["team/late"]) == "Nominated"
    world.wait(11)
    world.settle()
    assert (early in world.admitted()) is takes_it


@pytest.mark.parametrize(("recovery", "evicted_after"), [(None, 100), (20, 20), (0, None)])
def test_lost_readiness_is_waited_for_as_long_as_the_timeout_unless_told(
    recovery: int | None, evicted_after: int | None
) -> None:
    """Kueue v1beta2, SetDefaults: recoveryTimeout is the timeout, and 0 disables it (1282-28)."""
    rules = WaitForPodsReady(timeout_seconds=100, recovery_timeout_seconds=recovery)
    world = world_with(ConfigurationSpec(wait_for_pods_ready=rules))
    key = world.submit("w", "q")
    world.settle()
    world.ready(key)
    world.record(f"workload/{key}", WorkloadPodsNotReady())
    world.wait((evicted_after or 100_000) - 1)
    assert world.settle() == []
    world.wait(1)
    assert names(world.settle()) == (["WorkloadEvicted"] if evicted_after else [])


def started(world: World, key: str, *indices: tuple[int, int]) -> None:
    """Its executor has started these pods."""
    pods = ReportedPods(pod_set="main", indices=indices, run=1, node="n", type="started")
    reported = WorkloadPodsReported(
        uid=world[key].uid, attempt=world[key].attempt, executor="x", pods=(pods,)
    )
    world.record(f"workload/{key}", reported)


@pytest.mark.parametrize(
    ("indices", "evicted_after", "cause"),
    [
        ((), 40, "WaitForScheduling"),
        ((0, 0), 40, "WaitForScheduling"),
        ((0, 1), 100, "WaitForStart"),
    ],
)
def test_pods_that_are_not_started_have_a_timeout_of_their_own(
    indices: tuple[int, int] | tuple[()], evicted_after: int, cause: str
) -> None:
    """KEP-13502: timeout 100 s and unscheduledTimeout 40 s, both from the admission."""
    rules = replace(waits(), unscheduled_timeout_seconds=40)
    world = world_with(ConfigurationSpec(wait_for_pods_ready=rules))
    key = world.submit("w", "q", count=2)
    world.settle()
    if indices:
        started(world, key, indices)
    world.wait(evicted_after - 1)
    assert world.settle() == []
    world.wait(1)
    ((_, evicted),) = world.settle()
    assert isinstance(evicted, WorkloadEvicted)
    assert (evicted.reason, evicted.underlying_cause) == ("PodsReadyTimeout", cause)
    assert evicted.count == 1


def test_pods_that_start_again_are_not_waited_for_as_unstarted_ones() -> None:
    rules = replace(waits(), unscheduled_timeout_seconds=40)
    world = world_with(ConfigurationSpec(wait_for_pods_ready=rules))
    key = world.submit("w", "q")
    world.settle()
    started(world, key, (0, 0))
    failed = FailedPods(pod_set="main", indices=((0, 0),), run=1, reason="Error", counts=True)
    world.record(f"workload/{key}", WorkloadRetried(action="RetryPod", pods=(failed,), retries=1))
    world.wait(99)
    assert world.settle() == []
    assert world[key].pods_scheduled


@pytest.mark.parametrize(
    ("is_on", "text", "evicted_after"),
    [
        (True, '{"timeoutSeconds": 30}', 30),
        (True, '{"timeoutSeconds": 30, "recoveryTimeoutSeconds": 5}', 30),
        (False, '{"timeoutSeconds": 30}', 100),
        (True, "soon", 100),
    ],
)
def test_a_workload_may_have_a_timeout_of_its_own(
    text: str, evicted_after: int, *, is_on: bool
) -> None:
    """KEP-4803: the annotation overrides the timeouts where the installation lets it."""
    rules = replace(waits(), workload_timeouts=is_on)
    world = world_with(ConfigurationSpec(wait_for_pods_ready=rules))
    pods = PodSet(scheduling=Scheduling(requests={"gpu": 1}))
    key = world.submit_pod_sets("w", "q", pods, annotations={WORKLOAD_TIMEOUTS: text})
    world.settle()
    world.wait(evicted_after - 1)
    assert world.settle() == []
    world.wait(1)
    assert names(world.settle()) == ["WorkloadEvicted"]
    assert world[key].requeue.count == 1


@pytest.mark.parametrize(
    ("text", "before", "codes"),
    [
        ('{"timeoutSeconds": 30, "recoveryTimeoutSeconds": 0}', None, []),
        ('{"timeoutSeconds": 0}', None, ["NotInRange"]),
        ('{"timeoutSeconds": 7201}', None, ["NotInRange"]),
        ('{"timeoutSeconds": 30, "recoveryTimeoutSeconds": 7201}', None, ["NotInRange"]),
        ('{"recoveryTimeoutSeconds": 5}', None, ["WorkloadTimeoutsInvalid"]),
        ('{"timeoutSeconds": 30, "unscheduledTimeout": 5}', None, ["WorkloadTimeoutsInvalid"]),
        ('{"timeoutSeconds": 30}', '{"timeoutSeconds": 30}', []),
        ('{"timeoutSeconds": 40}', '{"timeoutSeconds": 30}', ["TimeoutsOfRunningWorkload"]),
        ("", '{"timeoutSeconds": 30}', ["TimeoutsOfRunningWorkload"]),
    ],
)
def test_the_rules_of_a_workloads_own_timeouts(
    text: str, before: str | None, codes: list[str]
) -> None:
    rules = WaitForPodsReady(workload_timeouts=True)
    annotations = {WORKLOAD_TIMEOUTS: text} if text else {}
    found = list(workload_timeout_violations(rules, annotations, before))
    assert [each.message.code for each in found] == codes
    off = WaitForPodsReady()
    assert list(workload_timeout_violations(off, annotations, before)) == []


def test_a_queues_own_rules_count_before_the_installations() -> None:
    slow = WaitForPodsReady(timeout_seconds=500)
    world = world_with(ConfigurationSpec(wait_for_pods_ready=waits()), wait_for_pods_ready=slow)
    world.submit("w", "q")
    world.settle()
    world.wait(499)
    assert world.settle() == []
    world.wait(1)
    assert names(world.settle()) == ["WorkloadEvicted"]


def test_a_workload_that_exceeds_the_requeuing_timeout_is_deactivated_while_it_starts() -> None:
    world = world_with(ConfigurationSpec(), wait_for_pods_ready=waits(retry_limit_seconds=240))
    key = world.submit("w", "q")
    world.settle()
    fail_to_start(world, key)
    assert phase_of(world[key]) == "Starting"
    world.wait(240 - 131)
    assert names(world.settle())[:1] == ["WorkloadDeactivated"]
    found = world[key].deactivation
    assert found is not None
    assert (found.cause, found.requeues) == ("RequeuingTimeExceeded", 1)


def backed_off_for_too_long() -> tuple[World, str]:
    """A workload evicted by its pods-ready timeout, with its retry limit just used up; its key."""
    rules = waits(retry_limit_seconds=105)
    world = world_with(ConfigurationSpec(), wait_for_pods_ready=rules)
    key = world.submit("w", "q")
    world.settle()
    world.wait(100)
    world.settle()
    world.stop(key)
    world.wait(5)
    return world, key


def test_a_workload_that_exceeds_the_requeuing_timeout_is_deactivated_while_it_backs_off() -> None:
    world, key = backed_off_for_too_long()
    assert names(world.settle()) == ["WorkloadDeactivated"]
    assert phase_of(world[key]) == "Inactive"


def test_pending_time_before_the_first_start_is_outside_the_requeuing_timeout() -> None:
    rules = waits(retry_limit_seconds=105, timestamp="Creation")
    world = world_with(ConfigurationSpec(), wait_for_pods_ready=rules)
    holder, waiter = (world.submit(name, "q", {"gpu": 4}) for name in ("holder", "waiter"))
    world.settle()
    world.ready(holder)
    world.wait(1_000)
    world.finish(holder)
    world.settle()
    assert phase_of(world[waiter]) == "Starting"


def test_a_workload_that_exceeds_the_requeuing_timeout_is_deactivated_while_it_is_pending() -> None:
    rules = waits(retry_limit_seconds=150, timestamp="Eviction")
    world = world_with(ConfigurationSpec(), wait_for_pods_ready=rules)
    key = world.submit("w", "q", {"gpu": 4})
    world.settle()
    world.wait(1)
    world.submit("next", "q", {"gpu": 4})
    fail_to_start(world, key)
    assert phase_of(world[key]) == "Pending"
    world.wait(150 - 132)
    world.settle()
    found = world[key].deactivation
    assert found is not None
    assert found.cause == "RequeuingTimeExceeded"


@pytest.mark.parametrize(
    ("counts", "limit", "timeouts"),
    [("Requeues", 2, 3), ("Timeouts", 2, 2), ("Requeues", 0, 1), ("Timeouts", 0, 1)],
)
def test_the_count_limits_requeues_or_timeouts(counts: str, limit: int, timeouts: int) -> None:
    """KEP-1282: "the maximum number of requeuing retries", and "reaches" of the evaluation."""
    rules = waits(backoff_limit_count=limit, backoff_limit_counts=counts)
    world = world_with(ConfigurationSpec(wait_for_pods_ready=rules))
    key = world.submit("w", "q")
    world.settle()
    for number in range(1, timeouts + 1):
        assert world[key].deactivation is None, f"before timeout {number}"
        fail_to_start(world, key)
    found = world[key].deactivation
    assert found is not None
    assert (found.cause, found.requeues) == ("RequeuingLimitExceeded", timeouts - 1)


@pytest.mark.parametrize(
    ("start", "is_deactivated"), [("QueueOrderTimestamp", True), ("FirstAdmission", False)]
)
def test_the_retry_time_counts_from_the_first_admission_or_the_queue_order(
    start: str, *, is_deactivated: bool
) -> None:
    """KEP-1282, Evaluation: currentTime - queueOrderingTimestamp; by Creation the creation."""
    rules = waits(retry_limit_seconds=240, retry_limit_from=start, timestamp="Creation")
    world = world_with(ConfigurationSpec(wait_for_pods_ready=rules))
    key = world.submit("w", "q", {"gpu": 4})
    world.record(f"workload/{key}", WorkloadHeld(owner="user:x", reason="later"))
    world.wait(200)
    assert world.settle() == []
    world.record(f"workload/{key}", WorkloadReleased())
    world.settle()
    world.wait(39)
    assert world.settle() == []
    world.wait(1)
    world.settle()
    assert (world[key].deactivation is not None) is is_deactivated


def test_activation_resets_the_retry_limit_after_a_deactivation_in_backoff() -> None:
    world, key = backed_off_for_too_long()
    world.settle()
    world.record(f"workload/{key}", WorkloadActivated())
    world.settle()
    assert phase_of(world[key]) == "Starting"
    assert world[key].requeue.count == 0


def test_the_requeuing_timeout_begins_again_when_it_is_activated() -> None:
    world = world_with(ConfigurationSpec(), wait_for_pods_ready=waits(retry_limit_seconds=50))
    key = world.submit("w", "q")
    world.settle()
    world.wait(50)
    world.settle()
    world.stop(key)
    world.wait(1_000)
    world.record(f"workload/{key}", WorkloadActivated())
    world.settle()
    world.wait(49)
    assert world.settle() == []
    assert phase_of(world[key]) == "Starting"


def test_the_requeuing_timeout_is_over_once_pods_are_ready() -> None:
    world = world_with(ConfigurationSpec(), wait_for_pods_ready=waits(retry_limit_seconds=50))
    key = world.submit("w", "q")
    world.settle()
    world.ready(key)
    world.wait(1_000)
    assert world.settle() == []


def test_without_a_limit_a_workload_is_requeued_without_end() -> None:
    """KEP-1282: maxBackOffRetryCount is null by default (1282-7)."""
    world = world_with(ConfigurationSpec(wait_for_pods_ready=waits()))
    key = world.submit("w", "q")
    world.settle()
    for _ in range(50):
        fail_to_start(world, key)
    assert world[key].requeue.count == 50
    assert world[key].deactivation is None


@pytest.mark.parametrize(("base", "phase"), [(0, "Starting"), (10, "Retrying")])
def test_an_evicted_workload_takes_another_flavor_after_its_backoff(base: int, phase: str) -> None:
    """KEP-1282, story 1: capacity came free on the first flavor meanwhile (1282-19)."""
    rules = waits(backoff_base_seconds=base)
    world = World()
    for flavor in ("first", "second"):
        world.flavor(flavor)
    world.cluster_queue("q", quotas(first=4, second=4), wait_for_pods_ready=rules)
    holder = world.submit("holder", "q", {"gpu": 4})
    world.settle()
    world.ready(holder)
    key = world.submit("w", "q", {"gpu": 4})
    world.settle()
    world.finish(holder)
    world.wait(100)
    world.settle()
    world.stop(key)
    world.settle()
    assert phase_of(world[key]) == phase
    admission = world[key].admission
    if admission is not None:
        (given,) = admission.pod_set_assignments
        assert given.flavors == {"gpu": "first"}


@pytest.mark.parametrize(("rules", "evicted"), [(None, False), (WaitForPodsReady(), True)])
def test_pods_are_waited_for_where_the_installation_says_so(
    rules: WaitForPodsReady | None, *, evicted: bool
) -> None:
    """Kueue waits 30 min by default; here the section switches that on (1282-29)."""
    world = world_with(ConfigurationSpec(wait_for_pods_ready=rules))
    world.submit("w", "q")
    world.settle()
    world.wait(1_799)
    assert world.settle() == []
    world.wait(1)
    assert names(world.settle()) == (["WorkloadEvicted"] if evicted else [])


def test_a_workload_that_has_finished_is_never_deactivated() -> None:
    """KEP-1282, Evaluation: the controller looks whether it is finished first (1282-13)."""
    rules = waits(retry_limit_seconds=240, backoff_limit_count=0)
    world = world_with(ConfigurationSpec(), wait_for_pods_ready=rules)
    key = world.submit("w", "q")
    world.settle()
    world.wait(99)
    world.finish(key)
    world.wait(1_000)
    assert world.settle() == []
    assert world[key].deactivation is None


@pytest.mark.parametrize(("reset", "count"), [(300, 1), (None, 2)])
def test_the_count_starts_over_only_where_the_queue_says_so(reset: int | None, count: int) -> None:
    world = world_with(ConfigurationSpec(), wait_for_pods_ready=waits(reset_after_seconds=reset))
    key = world.submit("w", "q")
    world.settle()
    fail_to_start(world, key)
    world.ready(key)
    world.wait(299)
    assert world.settle() == []
    world.wait(1)
    assert names(world.settle()) == (["RequeueCountReset"] if reset else [])
    world.record(f"workload/{key}", WorkloadPodsNotReady())
    world.wait(20)
    world.settle()
    assert world[key].requeue.count == count


def test_a_reservation_of_a_deleted_queue_is_dropped() -> None:
    world = world_with(ConfigurationSpec())
    world.admission_check("budget")
    world.change_cluster_queue("q", admission_checks=(AdmissionCheckRule(name="budget"),))
    key = world.submit("w", "q")
    world.settle()
    assert phase_of(world[key]) == "QuotaReserved"
    world.record("localqueue/team/q", LocalQueueDeletionRequested())
    assert names(world.settle())[:1] == ["ReservationDropped"]


def test_activation_before_the_stop_resets_the_execution_time() -> None:
    world = world_with(ConfigurationSpec())
    key = world.submit("w", "q", maximum_execution_time_seconds=60)
    world.settle()
    world.wait(60)
    world.settle()
    world.record(f"workload/{key}", WorkloadActivated())
    world.stop(key)
    world.settle()
    assert phase_of(world[key]) == "Starting"
    world.wait(59)
    assert world.settle() == []


def without_time_left(world: World) -> str:
    """One that may run for 100 s, and went on for 20 s more while it was being evicted."""
    key = world.submit("w", "q", maximum_execution_time_seconds=100)
    world.settle()
    world.wait(60)
    world.record(f"workload/{key}", EVICTED)
    world.wait(60)
    return key


def test_a_workload_out_of_execution_time_while_evicting_is_not_started_again() -> None:
    world = world_with(ConfigurationSpec())
    key = without_time_left(world)
    world.stop(key)
    assert names(world.settle()) == ["WorkloadDeactivated"]
    found = world[key].deactivation
    assert found is not None
    assert found.cause == "MaximumExecutionTimeExceeded"


@pytest.mark.parametrize("cause", ["MaximumExecutionTimeExceeded", "Requested"])
def test_activation_resets_the_execution_time_when_none_is_left(cause: str) -> None:
    world = world_with(ConfigurationSpec())
    key = without_time_left(world)
    if cause == "Requested":
        world.record(f"workload/{key}", WorkloadDeactivated(cause="Requested"))
    world.stop(key)
    world.settle()
    world.record(f"workload/{key}", WorkloadActivated())
    world.settle()
    assert phase_of(world[key]) == "Starting"
    world.wait(99)
    assert world.settle() == []


def test_activation_keeps_the_execution_time_when_some_is_left() -> None:
    world = world_with(ConfigurationSpec())
    key = world.submit("w", "q", maximum_execution_time_seconds=100)
    world.settle()
    world.wait(60)
    world.record(f"workload/{key}", EVICTED)
    world.record(f"workload/{key}", WorkloadDeactivated(cause="Requested"))
    world.stop(key)
    world.record(f"workload/{key}", WorkloadActivated())
    world.settle()
    world.wait(40)
    assert names(world.settle())[:1] == ["WorkloadDeactivated"]


def test_what_has_ended_is_deleted_when_it_has_been_kept_long_enough() -> None:
    world = world_with(ConfigurationSpec(retention=Retention(after_finished_seconds=600)))
    key = world.submit("w", "q")
    world.settle()
    world.finish(key)
    world.wait(599)
    assert world.settle() == []
    world.wait(1)
    assert names(world.settle()) == ["WorkloadDeleted"]


def test_what_has_a_lifetime_of_its_own_is_deleted_at_its_end_whatever_is_kept() -> None:
    world = world_with(ConfigurationSpec(retention=Retention(after_finished_seconds=600)))
    key = world.submit("w", "q", ttl_seconds_after_finished=5)
    world.settle()
    world.finish(key)
    world.wait(4)
    assert world.settle() == []
    world.wait(1)
    assert names(world.settle()) == ["WorkloadDeleted"]


def test_pods_start_again_when_their_backoff_is_over() -> None:
    world = world_with(ConfigurationSpec())
    key = world.submit("w", "q")
    world.settle()
    until = world.at + 7_000_000
    failed = FailedPods(
        pod_set="main", indices=((0, 0),), run=1, reason="Error", counts=True, retry_at=until
    )
    world.record(f"workload/{key}", WorkloadRetried(action="RetryPod", pods=(failed,), retries=1))
    world.wait(6)
    assert world.settle() == []
    world.wait(1)
    assert names(world.settle()) == ["WorkloadPodsReleased"]
    assert world.settle() == []


def test_only_those_deactivated_by_a_rule_are_deleted_after_a_time() -> None:
    world = world_with(ConfigurationSpec(retention=Retention(after_deactivated_seconds=600)))
    by_rule, by_hand = world.submit("a", "q"), world.submit("b", "q")
    rule = WorkloadDeactivated(cause="RequeuingLimitExceeded")
    world.record(f"workload/{by_rule}", rule)
    world.record(f"workload/{by_hand}", WorkloadDeactivated(cause="Requested"))
    world.wait(600)
    world.settle()
    assert sorted(world.cluster_state.workloads) == [by_hand]


@pytest.mark.parametrize(
    ("message", "sentence"),
    [
        ("Its pods were not ready in time", "Deactivated: Its pods were not ready in time"),
        ("IT moves the cables", "Deactivated: IT moves the cables"),
        ("", "Deactivated"),
    ],
)
def test_why_it_is_inactive_reads_as_one_sentence(message: str, sentence: str) -> None:
    world = world_with(ConfigurationSpec())
    key = world.submit("w", "q")
    deactivated = WorkloadDeactivated(cause="Requested", message=message)
    world.record(f"workload/{key}", deactivated)
    found = recorded_reason(world.cluster_state, world[key], world.at)
    assert found is not None
    assert sentence_of(found) == sentence
