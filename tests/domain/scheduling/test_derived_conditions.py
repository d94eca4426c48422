"""QuotaReserved as queues stand now, and PodsReady while pods are not scheduled.

Source: Kueue's `syncQuotaReservedFalseCondition` (KEP-10852) and KEP-13502.
"""

import pytest

from headgate.domain.kinds.local_queue import LocalQueueDeleted
from headgate.domain.kinds.wait_for_pods_ready import WaitForPodsReady
from headgate.domain.scheduling.pending_reasons import derived_conditions
from headgate.domain.values.selectors import LabelSelector
from headgate.domain.workloads.events import (
    WorkloadActivated,
    WorkloadDeactivated,
    WorkloadEvicted,
    WorkloadHeld,
    WorkloadPodsReported,
    WorkloadReleased,
)
from headgate.domain.workloads.pod_events import ReportedPods
from headgate.domain.workloads.specs import PodSet, Scheduling
from headgate.domain.workloads.state import Condition, condition
from headgate.messages.catalogue import worded
from tests.builders.world import World, quotas

ANOTHER_NAMESPACE = LabelSelector(match_labels={"team": "another"})
GATED = {"kueue.x-k8s.io/admission-gated-by": "example.com/review"}


def a_world() -> World:
    world = World()
    world.flavor("default")
    world.cluster_queue("open", quotas(default=4))
    world.cluster_queue("stopped", quotas(default=4), stop_policy="Hold")
    world.cluster_queue("flavorless", quotas(gone=4))
    world.cluster_queue("elsewhere", quotas(default=4), namespace_selector=ANOTHER_NAMESPACE)
    world.local_queue("closed", "open", stop_policy="Hold")
    world.local_queue("dangling", "nowhere")
    return world


def reserved(world: World, key: str) -> Condition | None:
    """The condition QuotaReserved as it is shown."""
    found = derived_conditions(world.cluster_state.config, world[key])
    shown = {each.type: each for each in (*world[key].conditions, *found)}
    return shown.get("QuotaReserved")


@pytest.mark.parametrize(
    ("queue", "reason", "told"),
    [
        ("nowhere", "Misconfigured", "LocalQueue nowhere does not exist"),
        ("", "Misconfigured", "No queue named"),
        ("dangling", "Misconfigured", "ClusterQueue nowhere does not exist"),
        ("elsewhere", "Misconfigured", "namespace"),
        ("closed", "Suspended", "LocalQueue"),
        ("stopped", "Suspended", "ClusterQueue"),
        ("flavorless", "Suspended", "gone"),
    ],
)
def test_kept_out_by_its_queues_a_workload_says_so_without_an_evaluation(
    queue: str, reason: str, told: str
) -> None:
    """Kueue: getQueueBlocker and ValidateAdmissibility."""
    world = a_world()
    key = world.submit("w", queue)
    world.settle()
    found = reserved(world, key)
    assert found is not None
    assert (found.status, found.reason) == (False, reason)
    assert found.last_transition_at == world[key].created_at
    assert told.lower() in worded(found.message, lambda _: True).lower()
    assert condition(world[key], "QuotaReserved") is None


def test_deactivated_held_and_gated_workloads_say_so_in_the_order_of_kueue() -> None:
    """Kueue: the deactivation comes before queues, and these before admission gates."""
    world = a_world()
    pods = PodSet(scheduling=Scheduling(requests={"gpu": 1}))
    key = world.submit_pod_sets("w", "open", pods, annotations=GATED)
    lost = world.submit_pod_sets("lost", "nowhere", pods, annotations=GATED)
    seen = []
    for event in (
        None,
        WorkloadHeld(owner="user:ann", reason="wrong data"),
        WorkloadDeactivated(cause="Requested"),
    ):
        if event is not None:
            world.record(f"workload/{key}", event)
        world.settle()
        found = reserved(world, key)
        seen.append(found.reason if found else "")
    assert seen == ["AdmissionGated", "OnHold", "Deactivated"]
    found = reserved(world, lost)
    assert found is not None
    assert found.reason == "Misconfigured"


def test_before_its_first_evaluation_a_workload_has_no_condition() -> None:
    """Kueue: the gate UnadmittedWorkloadsExplicitStatus, which is off."""
    world = a_world()
    key = world.submit("w", "open")
    assert reserved(world, key) is None


def test_what_an_evaluation_found_stands_again_once_the_queue_is_resumed() -> None:
    world = a_world()
    key = world.submit("w", "open", {"gpu": 5})
    world.wait(1)
    world.settle()
    evaluated = reserved(world, key)
    assert evaluated is not None
    assert evaluated.reason == "ExceedsMaxQuota"
    world.change_cluster_queue("open", stop_policy="Hold")
    world.wait(60)
    stopped = reserved(world, key)
    assert stopped is not None
    assert (stopped.reason, stopped.last_transition_at) == (
        "Suspended",
        evaluated.last_transition_at,
    )
    world.change_cluster_queue("open", stop_policy="None")
    assert reserved(world, key) == evaluated


def test_a_reason_of_the_past_gives_way_to_pending_evaluation() -> None:
    """Kueue: Deactivated and Suspended do not stay once the workload may be evaluated."""
    world = a_world()
    key = world.submit("w", "open")
    world.settle()
    stop = WorkloadEvicted(eviction="e", reason="Deactivated", message="")
    world.record(f"workload/{key}", WorkloadDeactivated(cause="Requested"))
    world.record(f"workload/{key}", stop)
    world.stop(key)
    found = reserved(world, key)
    assert found is not None
    assert found.reason == "Deactivated"
    world.record(f"workload/{key}", WorkloadActivated())
    found = reserved(world, key)
    assert found is not None
    assert found.reason == "PendingEvaluation"


def test_a_reservation_is_not_talked_away_by_its_queue() -> None:
    """A queue that is stopped or deleted takes no quota from what was admitted (queueing.md §6)."""
    world = a_world()
    key = world.submit("w", "open")
    world.settle()
    world.record("localqueue/team/open", LocalQueueDeleted())
    found = reserved(world, key)
    assert found is not None
    assert found.status


def reported(world: World, key: str, *indices: tuple[int, int]) -> None:
    """Its executor has started these pods."""
    pods = ReportedPods(pod_set="main", indices=indices, run=1, node="n", type="started")
    found = world[key]
    event = WorkloadPodsReported(uid=found.uid, attempt=found.attempt, executor="x", pods=(pods,))
    world.record(f"workload/{key}", event)


def scheduled(world: World, key: str) -> tuple[bool, str, int] | None:
    found = condition(world[key], "PodsScheduled")
    since = 0 if found is None else found.last_transition_at // 1_000_000
    return None if found is None else (found.status, found.reason, since)


def test_pods_scheduled_follows_the_reports_of_one_admission_after_the_other() -> None:
    """KEP-13502: WaitForScheduling, AllRequiredPodsScheduled, and WaitForStart at the end."""
    world = a_world()
    key = world.submit("w", "open", count=2)
    world.settle()
    assert scheduled(world, key) is None
    world.wait(1)
    reported(world, key, (0, 0))
    assert scheduled(world, key) == (False, "WaitForScheduling", 1001)
    world.wait(1)
    reported(world, key, (1, 1))
    assert scheduled(world, key) == (True, "AllRequiredPodsScheduled", 1002)
    world.wait(1)
    world.record(f"workload/{key}", WorkloadEvicted(eviction="e", reason="Requeued", message=""))
    world.stop(key)
    assert scheduled(world, key) == (False, "WaitForStart", 1003)
    world.settle()
    world.wait(1)
    assert world[key].admission is not None
    # The status stays, and the time tells that it is of this admission.
    reported(world, key, (0, 0))
    assert scheduled(world, key) == (False, "WaitForScheduling", 1004)


@pytest.mark.parametrize(
    ("unscheduled", "reason"), [(40, "WaitForScheduling"), (0, "WaitForStart")]
)
def test_pods_ready_waits_for_scheduling_where_that_has_a_timeout(
    unscheduled: int, reason: str
) -> None:
    """KEP-13502, Workload PodsReady condition."""
    world = a_world()
    rules = WaitForPodsReady(timeout_seconds=100, unscheduled_timeout_seconds=unscheduled)
    world.configure(wait_for_pods_ready=rules)
    key = world.submit("w", "open", count=2)
    world.settle()

    def ready() -> str:
        found = derived_conditions(world.cluster_state.config, world[key])
        shown = {each.type: each.reason for each in (*world[key].conditions, *found)}
        return shown["PodsReady"]

    assert ready() == "WaitForStart"
    reported(world, key, (0, 0))
    assert ready() == reason
    reported(world, key, (1, 1))
    assert ready() == "WaitForStart"
    world.ready(key)
    assert ready() == "Started"


def test_a_released_hold_leaves_what_was_found_before() -> None:
    world = a_world()
    key = world.submit("w", "open", {"gpu": 5})
    world.settle()
    before = reserved(world, key)
    world.record(f"workload/{key}", WorkloadHeld(owner="admin:eve", reason=""))
    world.record(f"workload/{key}", WorkloadReleased())
    assert reserved(world, key) == before
