"""The worked examples of protection from preemption (reference preemption.md §7)."""

import pytest

from headgate.domain.kinds.queue_settings import ClusterQueuePreemption
from headgate.domain.workloads.commands import ChangeProtection
from headgate.domain.workloads.events import WorkloadHeld
from headgate.domain.workloads.preemption_events import EvictionCancelled
from headgate.domain.workloads.state import phase_of
from headgate.messages.catalogue import remedies_of
from tests.builders.rounds import only_round, streams_with
from tests.builders.world import World, quotas

LOWER = ClusterQueuePreemption(within_cluster_queue="LowerPriority")


def test_example_19b_a_high_preemption_priority_protects() -> None:
    world = World()
    world.flavor("default")
    world.cluster_queue("q", quotas(default=1), preemption=LOWER)
    a = world.submit("a", "q", priority=50, preemption_priority=100)
    world.settle()
    world.submit("b", "q", priority=80)
    world.settle()
    assert world.admitted() == [a]
    assert world.cluster_state.rounds == {}


def test_example_19c_a_round_stands_though_its_victim_is_protected_afterwards() -> None:
    world = World()
    world.flavor("default")
    world.cluster_queue("q", quotas(default=1), preemption=LOWER)
    world.submit("a", "q", priority=50, preemption_priority=60)
    world.settle()
    world.submit("b", "q", priority=80)
    world.settle()
    world.tell("team/a", ChangeProtection(priority=90, authority="Admin"))
    made = world.settle()
    assert streams_with(made, EvictionCancelled) == []
    assert world["team/a"].eviction is not None
    world.stop("team/a")
    world.settle()
    assert world.admitted() == ["team/b"]


def test_example_19e_a_never_preempting_workload_waits_and_can_be_evicted() -> None:
    world = World()
    world.flavor("default")
    world.cluster_queue("q", quotas(default=1), preemption=LOWER)
    world.submit("low", "q")
    world.settle()
    never = world.submit("never", "q", priority=1000, can_preempt=False)
    world.settle()
    assert world.cluster_state.rounds == {}
    world.finish("team/low")
    world.settle()
    assert world.admitted() == [never]
    world.submit("higher", "q", priority=2000)
    world.settle()
    assert world[never].eviction is not None


def example_20(*, reserve: bool = False) -> World:
    """Nominal 6, borrowing limit 4; non-preemptible work uses 4, preemptible 5."""
    world = World()
    world.flavor("default")
    preemption = ClusterQueuePreemption(
        within_cluster_queue="LowerPriority", reserve_for_pending_non_preemptible=reserve
    )
    world.cluster_queue("q", quotas(default=(6, 4, None)), preemption=preemption, cohort_name="c")
    world.cluster_queue("lender", quotas(default=10), cohort_name="c")
    world.submit("np", "q", {"gpu": 4}, preemptibility="NonPreemptible")
    world.settle()
    for number in range(5):
        world.submit(f"p{number}", "q")
        world.settle()
    assert len(world.admitted()) == 6
    return world


def test_example_20_non_preemptible_work_within_nominal_may_preempt() -> None:
    world = example_20()
    key = world.submit("np2", "q", {"gpu": 2}, preemptibility="NonPreemptible", priority=1)
    world.settle()
    assert phase_of(world[key]) == "Nominated"
    assert len(only_round(world).victims) == 1


def test_example_20_non_preemptible_work_beyond_nominal_waits_whatever_could_leave() -> None:
    world = example_20()
    key = world.submit("np3", "q", {"gpu": 3}, preemptibility="NonPreemptible", priority=9)
    world.settle()
    assert world.cluster_state.rounds == {}
    explained = world[key].explanation
    assert explained is not None
    assert explained.dominant == "WaitingForQuota"


def test_example_20_nominal_quota_may_be_kept_for_non_preemptible_work_that_waits() -> None:
    for reserve, starts in ((False, True), (True, False)):
        world = example_20(reserve=reserve)
        world.record("workload/team/np", WorkloadHeld(owner="user:x", reason="keeps running"))
        waiting = world.submit("np1", "q", {"gpu": 3}, preemptibility="NonPreemptible", priority=-1)
        world.settle()
        assert waiting not in world.admitted()
        one = world.submit("one", "q")
        world.settle()
        assert (one in world.admitted()) == starts
        assert world.cluster_state.rounds == {}


@pytest.mark.parametrize("cohort", ["", "c"])
@pytest.mark.parametrize(("reserve", "starts"), [(False, True), (True, False)])
def test_nominal_quota_is_kept_without_a_borrowing_limit(
    cohort: str, *, reserve: bool, starts: bool
) -> None:
    """Koordinator: min(min, requested) + preemptible use + request <= max (KOO-6).

    The maximum is 4 in no Cohort, and 4 + 4 where the other queue lends without a limit.
    """
    world = World()
    world.flavor("default")
    rules = ClusterQueuePreemption(reserve_for_pending_non_preemptible=reserve)
    world.cluster_queue("q", quotas(default=4), cohort_name=cohort, preemption=rules)
    world.cluster_queue("lender", quotas(default=4), cohort_name=cohort)
    uses = world.submit("uses", "q", {"gpu": 6 if cohort else 2})
    world.settle()
    world.submit("safe", "q", {"gpu": 4}, preemptibility="NonPreemptible", priority=1)
    one = world.submit("one", "q", {"gpu": 2})
    world.settle()
    assert uses in world.admitted()
    assert (one in world.admitted()) is starts
    if not starts:
        explained = world["team/one"].explanation
        assert explained is not None
        assert explained.dominant == "WaitingForQuota"
        (remedy,) = remedies_of(explained)
        assert remedy.startswith("Set reserveForPendingNonPreemptible of ClusterQueue q to false")


def test_example_20_only_the_core_of_semi_preemptible_work_counts() -> None:
    world = World()
    world.flavor("default")
    world.cluster_queue("q", quotas(default=(2, 4, None)), cohort_name="c")
    world.cluster_queue("lender", quotas(default=4), cohort_name="c")
    key = world.submit("semi", "q", count=(6, 2), preemptibility="SemiPreemptible")
    world.settle()
    assert key in world.admitted()
    other = world.submit("np", "q", preemptibility="NonPreemptible")
    world.settle()
    assert other not in world.admitted()
