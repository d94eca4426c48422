"""The worked examples 13 to 15, 21, 23 and 28 of preemption.md §7: within and between cycles."""

from headgate.domain.kinds.cluster_queue import FlavorFungibility
from headgate.domain.kinds.topology import HOSTNAME_LABEL
from headgate.domain.scheduling.pending_reasons import recorded_reason
from headgate.domain.scheduling.results import BLOCKED_BY_CYCLE_GUARD
from headgate.domain.values.message import message, workload_references
from headgate.domain.workloads.events import WorkloadFinished
from headgate.domain.workloads.specs import TopologyRequest
from headgate.domain.workloads.state import phase_of
from tests.builders.cohorts import Cohorts, policies
from tests.builders.world import World, quotas

OWN, BACK = "InClusterQueue", "InCohortReclamation"
ANY = policies("LowerPriority", "Any")

LOOP = workload_references(("team/hi", "team/new", "team/old"))


def dominant(world: World, name: str) -> str:
    found = recorded_reason(world.cluster_state, world[f"team/{name}"], world.at)
    return found.dominant if found else ""


def test_13_two_wait_for_the_one_that_is_evicted_once() -> None:
    world = Cohorts()
    world.owns("root", 0)
    for cohort in ("left", "right"):
        world.owns(cohort, 0, "root")
    world.queue("hero", 3000, ANY, cohort="left")
    world.queue("tiny", 50, ANY, cohort="right")
    world.queue("rest", 0, ANY, cohort="root")
    world.queue("spare", 3005, ANY, cohort="root")
    world.runs("rest@rest", 6055)
    world.asks("small@tiny", 50)
    world.wait(1)
    world.asks("big@hero", 2950)
    world.settle()
    assert world.victims_of("small") | world.victims_of("big") == {"rest": BACK}
    assert len(world.cluster_state.rounds) == 1
    waits = {dominant(world, name) for name in ("small", "big")}
    assert waits <= {"WaitingForPreemptedWorkloads", "RoundDraining"}


def test_14_no_workload_is_evicted_where_that_is_not_enough() -> None:
    world = Cohorts()
    rules = policies("LowerPriority", "LowerPriority", "any")
    world.queue("alpha", 2, rules)
    world.queue("beta", 2, rules)
    world.queue("bank", 1)
    world.runs("a1@alpha", 2)
    world.runs("b1@beta", 2)
    world.asks("p1@alpha", 3, 100)
    world.asks("p2@beta", 3, 99)
    world.settle()
    assert world.victims_of("p1") == {"a1": OWN}
    assert world.victims_of("p2") == {}


def two_flavors(when_can_preempt: str = "TryNextFlavor") -> Cohorts:
    world = Cohorts()
    world.flavor("on-demand")
    world.flavor("spot")
    given = quotas("gpu", **{"on-demand": 10, "spot": 10})
    chosen = FlavorFungibility(when_can_preempt=when_can_preempt)  # type: ignore[arg-type]
    world.cluster_queue(
        "alpha", given, cohort_name="all", preemption=ANY, flavor_fungibility=chosen
    )
    none = quotas("gpu", **{"on-demand": 0, "spot": 0})
    world.cluster_queue("beta", none, cohort_name="all", preemption=policies())
    return world


def flavor_of(world: World, name: str) -> str:
    workload = world[f"team/{name}"]
    admission = workload.admission or workload.nomination
    assert admission is not None
    return admission.pod_set_assignments[0].flavors["gpu"]


def test_15_reclaiming_is_preferred_to_preempting_the_own() -> None:
    world = two_flavors("MayStopSearch")
    world.asks("a1@alpha", 6, 50)
    world.settle()
    world.asks("b0@beta", 4, 50)
    world.settle()
    world.asks("b1@beta", 10, 50)
    world.settle()
    world.change_cluster_queue("alpha", flavor_fungibility=FlavorFungibility())
    assert world.victims_for("p@alpha", 6, 100) == {"b1": BACK}
    assert flavor_of(world, "p") == "spot"


def test_15_capacity_in_pieces_makes_the_lowest_leave() -> None:
    world = World()
    world.hosts({"b/r/x1": 5, "b/r/y1": 5})
    world.cluster_queue("q", quotas("cpu", tas=10), preemption=policies("LowerPriority"))
    one_host = TopologyRequest(required=HOSTNAME_LABEL)
    world.submit("mid", "q", {"cpu": 4}, topology=one_host, priority=2)
    world.submit("low", "q", {"cpu": 4}, topology=one_host, priority=1)
    world.settle()
    world.submit("p", "q", {"cpu": 1}, count=2, topology=one_host, priority=3)
    world.settle()
    (found,) = world.cluster_state.rounds.values()
    assert [victim.workload for victim in found.victims] == ["team/low"]


def test_21_a_workload_within_its_queues_quota_is_not_evicted_for_a_borrower() -> None:
    world = Cohorts()
    world.queue("q0", 2, policies("Never", "Any"))
    world.queue("q1", 4, policies("Never", "LowerPriority", "any"))
    world.runs("s@q0", 1)
    world.runs("m@q0", 3, 1)
    assert world.victims_for("large@q1", 6, 2) == {}
    assert world.admitted() == ["team/m", "team/s"]


def test_23_the_guard_ends_a_loop_of_three_moves_and_shows_the_way_round() -> None:
    world = Cohorts()
    world.owns("root", 2)
    world.queue("q0", 2, policies("Never", "LowerPriority", "any"), cohort="root")
    world.queue("q2", 6, policies("LowerOrNewerEqualPriority", "Any"), cohort="root")
    world.runs("k@q0", 1, 2)
    world.runs("x@q2", 2)
    world.asks("old@q2", 6)
    world.wait(3)
    world.runs("new@q2", 4)
    world.asks("hi@q0", 6, 2)
    evictions = []
    for _ in range(10):
        world.settle()
        leaving = [key for key, w in sorted(world.cluster_state.workloads.items()) if w.eviction]
        evictions += leaving
        for key in leaving:
            world.stop(key)
    assert evictions == ["team/new", "team/old", "team/hi", "team/new"]
    assert world.admitted() == ["team/k", "team/old", "team/x"]
    refused = world["team/hi"].explanation
    assert refused is not None
    (blocker,) = (found for found in refused.blockers if found.type == "Preemption")
    assert blocker.reason == BLOCKED_BY_CYCLE_GUARD
    assert blocker.message == message("PreemptionLoop", chain=LOOP)


def round_in_its_second_flavor() -> Cohorts:
    """The loop of example 23, which ends with `hi` pending, that prefers the full flavor `spot`."""
    world = Cohorts()
    world.flavor("spot")
    world.owns("root", 2)
    rules = policies("Never", "LowerPriority", "any")
    world.cluster_queue(
        "q0", quotas("gpu", spot=6, default=2), cohort_name="root", preemption=rules
    )
    world.queue("q2", 6, policies("LowerOrNewerEqualPriority", "Any"), cohort="root")
    world.asks("rock@q0", 6, 9)
    world.settle()
    assert flavor_of(world, "rock") == "spot"
    world.runs("k@q0", 1, 2)
    world.runs("x@q2", 2)
    world.asks("old@q2", 6)
    world.wait(3)
    world.runs("new@q2", 4)
    world.asks("hi@q0", 6, 2)
    for _ in range(10):
        world.settle()
        for key in [key for key, w in sorted(world.cluster_state.workloads.items()) if w.eviction]:
            world.stop(key)
    return world


def test_23_the_way_round_is_shown_also_where_another_flavor_comes_first() -> None:
    refused = round_in_its_second_flavor()["team/hi"].explanation
    assert refused is not None
    (blocker,) = (found for found in refused.blockers if found.type == "Preemption")
    assert blocker.reason == BLOCKED_BY_CYCLE_GUARD
    (safe,) = (one for one in blocker.refused if one.workload == "team/old")
    assert safe.rule == message(BLOCKED_BY_CYCLE_GUARD, chain=LOOP)


def test_23_a_blocked_workload_is_requeued_where_the_cycle_opens_in_any_flavor() -> None:
    world = round_in_its_second_flavor()
    assert world.victims_of("hi") == {}
    world.record("workload/team/new", WorkloadFinished(reason="Cancelled"))
    world.settle()
    assert list(world.victims_of("hi")) == ["old"]


def test_23_an_equal_request_outside_of_the_cycle_is_not_blocked() -> None:
    world = round_in_its_second_flavor()
    assert list(world.victims_for("other@q0", 6, 2)) == ["old"]


def test_28_another_flavor_comes_before_preempting() -> None:
    world = two_flavors()
    world.asks("a1@alpha", 6, 50)
    world.settle()
    world.asks("p@alpha", 6, 100)
    world.settle()
    assert (world.victims_of("p"), flavor_of(world, "p")) == ({}, "spot")


def test_28_unless_the_queue_may_stop_at_the_first() -> None:
    world = two_flavors("MayStopSearch")
    world.asks("a1@alpha", 6, 50)
    world.settle()
    assert world.victims_for("p@alpha", 6, 100) == {"a1": OWN}
    assert flavor_of(world, "p") == "on-demand"


def test_28_all_pods_with_victims_come_before_fewer_without() -> None:
    world = Cohorts()
    world.queue("q", 10, policies("LowerPriority"), cohort="")
    world.runs("low@q", 4)
    world.submit("p", "q", {"gpu": 1}, count=(10, 6), priority=1)
    world.settle()
    assert world.victims_of("p") == {"low": OWN}
    assert phase_of(world["team/p"]) == "Nominated"
