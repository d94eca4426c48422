"""The worked examples of victims that need time to leave (reference preemption.md §7)."""

from typing import Any

import pytest

from headgate.domain.kinds.cluster_queue import AdmissionCheckRule
from headgate.domain.kinds.configuration import (
    ConfigurationCreated,
    ConfigurationSpec,
    PreemptionRules,
)
from headgate.domain.kinds.queue_settings import (
    ClusterQueuePreemption,
    EvictionMode,
    SoftEviction,
)
from headgate.domain.workloads.commands import ReportEvictionProgress, ReportStopping
from headgate.domain.workloads.events import WorkloadDeleted, WorkloadDeletionRequested
from headgate.domain.workloads.preemption_events import EvictionCancelled, EvictionForced
from headgate.domain.workloads.specs import EvictionPolicy
from headgate.domain.workloads.state import phase_of
from tests.builders.rounds import SOFT, acknowledge, only_round, streams_with
from tests.builders.world import World, names, quotas

LOWER = ClusterQueuePreemption(within_cluster_queue="LowerPriority")


def progress(world: World, key: str) -> None:
    eviction = world[key].eviction
    assert eviction is not None, f"{key} is not being evicted"
    world.tell(key, ReportEvictionProgress(uid=world[key].uid, eviction=eviction.id))


def one_victim(soft: EvictionPolicy | None = SOFT, most: int = 600, **spec: Any) -> World:
    """A queue of one gpu with a victim on it, and an urgent one that makes it go."""
    world = World()
    world.flavor("default")
    preemption = ClusterQueuePreemption(
        within_cluster_queue="LowerPriority", soft_eviction=SoftEviction(max_grace_seconds=most)
    )
    world.cluster_queue("q", quotas(default=1), preemption=preemption, **spec)
    world.submit("v", "q", eviction_policy=soft)
    world.settle()
    world.submit("p", "q", priority=5)
    world.settle()
    return world


def test_example_26_reports_extend_the_time_and_then_it_is_killed() -> None:
    world = one_victim()
    world.wait(40)
    acknowledge(world, "team/v", ends_in=240)
    world.wait(230)
    world.settle()
    progress(world, "team/v")
    world.wait(300)
    assert streams_with(world.settle(), EvictionForced) == ["workload/team/v"]
    world.wait(20)
    world.stop("team/v")
    world.settle()
    assert world.admitted() == ["team/p"]
    assert only_round(world).stage == "Completed"


def test_a_victim_waits_for_the_slower_of_two_handlers() -> None:
    """Koordinator, several operators (KOO-29): each report of progress extends the one deadline."""
    world = one_victim()
    world.wait(40)
    acknowledge(world, "team/v", ends_in=60)
    for _ in range(2):
        world.wait(200)
        assert streams_with(world.settle(), EvictionForced) == []
        progress(world, "team/v")
    world.wait(300)
    assert streams_with(world.settle(), EvictionForced) == ["workload/team/v"]


def test_example_26_without_an_acknowledgement_it_is_killed_at_the_deadline() -> None:
    world = one_victim()
    world.wait(299)
    progress(world, "team/v")
    assert world.settle() == []
    world.wait(1)
    assert streams_with(world.settle(), EvictionForced) == ["workload/team/v"]


def test_example_26_no_report_extends_beyond_the_longest_time() -> None:
    world = one_victim(most=400)
    acknowledge(world, "team/v")
    world.wait(250)
    progress(world, "team/v")
    world.wait(149)
    assert world.settle() == []
    world.wait(1)
    assert streams_with(world.settle(), EvictionForced) == ["workload/team/v"]


def test_example_26_a_victim_without_deadline_stalls_until_the_round_expires() -> None:
    waits = EvictionPolicy(grace_period_seconds=60, on_deadline="Wait")
    world = one_victim(waits)
    world.wait(60)
    assert "EvictionStalled" in names(world.settle())
    world.wait(3600)
    world.settle()
    assert [found.stage for found in world.cluster_state.rounds.values()] == ["Expired"]
    assert world["team/v"].eviction is not None, "it is leaving, and is credited"
    assert len(world.cluster_state.rounds) == 1, "no further workload is preempted meanwhile"
    world.stop("team/v")
    world.settle()
    assert world.admitted() == ["team/p"]


def test_example_27_a_deleted_preemptor_cancels_unacknowledged_evictions() -> None:
    world = one_victim()
    world.record("workload/team/p", WorkloadDeletionRequested())
    made = world.settle()
    assert streams_with(made, EvictionCancelled) == ["workload/team/v"]
    assert only_round(world).stage == "Aborted"
    assert world.admitted() == ["team/v"]
    assert world["team/v"].eviction is None


def test_example_27_an_acknowledged_victim_stops_and_its_capacity_is_released() -> None:
    world = one_victim()
    acknowledge(world, "team/v")
    world.record("workload/team/p", WorkloadDeleted())
    second = world.submit("second", "q", priority=3)
    made = world.settle()
    assert streams_with(made, EvictionCancelled) == []
    assert "RoundCommitted" not in names(made), "v is credited, not chosen again"
    world.stop("team/v")
    world.settle()
    assert world.admitted() == [second]


def test_what_only_reserved_leaves_at_once() -> None:
    world = World()
    world.flavor("default")
    world.admission_check("slow")
    world.cluster_queue("q", quotas(default=1), preemption=LOWER)
    world.change_cluster_queue("q", admission_checks=(AdmissionCheckRule(name="slow"),))
    world.submit("v", "q")
    world.settle()
    assert phase_of(world["team/v"]) == "QuotaReserved"
    world.submit("p", "q", priority=5)
    world.settle()
    assert world["team/v"].admission is None
    assert phase_of(world["team/p"]) == "QuotaReserved"


def test_quota_may_be_free_while_pods_are_killed_and_hosts_never_are() -> None:
    world = one_victim(None)
    stopping = ReportStopping(uid=world["team/v"].uid, releases_quota=True)
    world.tell("team/v", stopping)
    world.settle()
    assert world.admitted() == ["team/p", "team/v"]
    assert world["team/v"].eviction is not None
    world.stop("team/v")
    assert names(world.settle()) == ["WorkloadExplained"]
    assert world.admitted() == ["team/p"]


@pytest.mark.parametrize(
    ("installation", "queue", "mode"),
    [
        ("Immediate", None, "Immediate"),
        ("Soft", None, "Soft"),
        ("Soft", "Immediate", "Immediate"),
        ("Immediate", "Soft", "Soft"),
    ],
)
def test_the_installation_says_how_victims_leave_where_their_queue_does_not(
    installation: EvictionMode, queue: EvictionMode | None, mode: str
) -> None:
    """Koordinator: `podShouldBeDeletedWhenPreempted` (KOO-30)."""
    world = World()
    world.flavor("default")
    rules = ConfigurationSpec(preemption=PreemptionRules(soft_eviction=installation))
    created = ConfigurationCreated(uid="c", name="default", spec=rules)
    world.record("configuration/default", created)
    preemption = ClusterQueuePreemption(
        within_cluster_queue="LowerPriority", soft_eviction=SoftEviction(default=queue)
    )
    world.cluster_queue("q", quotas(default=1), preemption=preemption)
    victim = world.submit("v", "q")
    world.settle()
    world.submit("p", "q", priority=5)
    world.settle()
    eviction = world[victim].eviction
    assert eviction is not None
    assert ("Immediate" if eviction.soft is None else "Soft") == mode
