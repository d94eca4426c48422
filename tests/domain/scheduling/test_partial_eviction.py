"""What happens until pods that were asked for have gone, and after (preemption.md §6.6, units)."""

from headgate.domain.kinds.cluster_queue import AdmissionCheckRule
from headgate.domain.recorded_event import DomainEvent
from headgate.domain.scheduling.placement.host_table import ACTUAL, PROJECTED
from headgate.domain.workloads.commands import (
    AcknowledgeEviction,
    ReportEvictionProgress,
    ReportReclaimable,
    ReportStopped,
)
from headgate.domain.workloads.events import WorkloadDeleted, WorkloadFinished
from headgate.domain.workloads.preemption_events import (
    EvictionCancelled,
    EvictionExtended,
    EvictionForced,
    WorkloadShrunk,
)
from tests.builders.rounds import SOFT
from tests.builders.single_pods import (
    LOWER,
    a_queue,
    counts,
    evicted,
    example_20,
    released_by,
    shrinks,
    single,
    used,
)
from tests.builders.world import StreamEvent, World, quotas


def of_kind(made: list[StreamEvent], kind: type[DomainEvent]) -> list[DomainEvent]:
    return [event for _, event in made if isinstance(event, kind)]


def test_quota_of_evicted_pods_is_in_use_until_they_have_stopped() -> None:
    world, semi = example_20()
    p = world.submit("p", "q", {"gpu": 8}, priority=50)
    world.settle()
    assert (used(world, ACTUAL), used(world, PROJECTED)) == (24, 24)
    passer_by = world.submit("passer-by", "q", {"gpu": 4}, priority=1)
    made = world.settle()
    assert passer_by not in world.admitted()
    assert p not in world.admitted()
    assert shrinks(made) == {}
    world.give_up_pods(semi)
    world.settle()
    assert p in world.admitted()
    assert passer_by not in world.admitted()


def soft_pods() -> tuple[World, str, str]:
    """A workload that gives up two pods softly for another one."""
    world = a_queue(4)
    low = world.submit_pod_sets("low", "q", single(), eviction_policy=SOFT)
    world.settle()
    p = world.submit("p", "q", {"gpu": 2}, priority=5)
    world.settle()
    return world, low, p


def acknowledge(world: World, low: str) -> tuple[DomainEvent, ...]:
    pod_eviction = world[low].pod_evictions[0]
    command = AcknowledgeEviction(
        uid=world[low].uid, eviction=pod_eviction.eviction.id, handler="ckpt"
    )
    return world.tell(low, command)


def test_pods_that_are_given_up_softly_have_time_that_reports_extend() -> None:
    world, low, p = soft_pods()
    acknowledge(world, low)
    pod_eviction = world[low].pod_evictions[0]
    assert pod_eviction.eviction.handler == "ckpt"
    world.wait(200)
    still = ReportEvictionProgress(uid=world[low].uid, eviction=pod_eviction.eviction.id)
    assert any(isinstance(event, EvictionExtended) for event in world.tell(low, still))
    world.wait(200)
    assert of_kind(world.settle(), EvictionForced) == []
    world.wait(101)
    assert len(of_kind(world.settle(), EvictionForced)) == 1
    world.give_up_pods(low)
    world.settle()
    assert p in world.admitted()
    assert counts(world, low) == {"main": 2}


def test_an_unacknowledged_pod_eviction_is_cancelled_when_not_needed() -> None:
    world, low, p = soft_pods()
    world.record(f"workload/{p}", WorkloadDeleted())
    assert len(of_kind(world.settle(), EvictionCancelled)) == 1
    assert world[low].pod_evictions == ()
    assert counts(world, low) == {"main": 4}
    assert used(world, PROJECTED) == 4
    (found,) = world.cluster_state.rounds.values()
    assert found.called_back == (low,)


def test_pods_that_were_taken_over_run_out_and_their_capacity_is_free() -> None:
    world, low, p = soft_pods()
    acknowledge(world, low)
    world.record(f"workload/{p}", WorkloadDeleted())
    assert of_kind(world.settle(), EvictionCancelled) == []
    world.give_up_pods(low)
    assert counts(world, low) == {"main": 2}
    assert used(world, ACTUAL) == 2


def test_a_workload_that_finishes_while_shrinking_frees_the_same_capacity() -> None:
    world, low, p = soft_pods()
    world.finish(low)
    made = world.settle()
    assert released_by(made) == ["Finished"]
    assert p in world.admitted()


def test_a_whole_eviction_includes_an_ongoing_partial_eviction() -> None:
    world, low, p = soft_pods()
    world.change_cluster_queue("q", stop_policy="HoldAndDrain")
    assert evicted(world.settle()) == [low]
    world.stop(low)
    assert world[low].pod_evictions == ()
    world.change_cluster_queue("q", stop_policy="None")
    world.settle()
    assert counts(world, p) == {"main": 1}


def test_a_report_about_pods_that_are_gone_already_changes_nothing() -> None:
    world, low, _ = soft_pods()
    pod_eviction = world[low].pod_evictions[0]
    stopped = ReportStopped(uid=world[low].uid, eviction=pod_eviction.eviction.id)
    assert [type(event) for event in world.tell(low, stopped)] == [WorkloadShrunk]
    assert world.tell(low, stopped) == ()
    assert world.tell(low, ReportStopped(uid=world[low].uid)) == ()


def test_a_reservation_without_pods_shrinks_at_once() -> None:
    world = World()
    world.flavor("default")
    world.admission_check("check")
    world.cluster_queue(
        "q",
        quotas(default=4),
        preemption=LOWER,
        admission_checks=(AdmissionCheckRule(name="check"),),
    )
    low = world.submit_pod_sets("low", "q", single())
    world.settle()
    world.submit("p", "q", {"gpu": 2}, priority=5)
    world.settle()
    assert counts(world, low) == {"main": 2}
    assert world[low].pod_evictions == ()


def test_pods_that_have_ended_are_not_taken_once_more() -> None:
    world = a_queue(6)
    low = world.submit_pod_sets("low", "q", single(count=6))
    world.settle()
    world.ready(low)
    world.tell(low, ReportReclaimable(uid=world[low].uid, pods={"main": 2}))
    assert used(world, ACTUAL) == 4
    world.submit("p", "q", {"gpu": 4}, priority=5)
    assert shrinks(world.settle()) == {low: {"main": 2}}
    world.give_up_pods(low)
    world.settle()
    assert used(world, ACTUAL) == 6


def test_a_requeued_workload_starts_with_all_its_pods() -> None:
    world, low, p = soft_pods()
    world.give_up_pods(low)
    world.settle()
    finished = WorkloadFinished(reason="Succeeded")
    world.record(f"workload/{p}", finished)
    assert counts(world, low) == {"main": 2}
    world.submit("high", "q", {"gpu": 4}, priority=9)
    assert evicted(world.settle()) == [low]
    world.stop(low)
    world.settle()
    world.finish("team/high")
    world.settle()
    assert counts(world, low) == {"main": 4}
