"""Rounds from the decision to make room until the preemptor starts, or not."""

from headgate.domain.kinds.queue_settings import ClusterQueuePreemption
from headgate.domain.nodes.state import NodeReported
from headgate.domain.scheduling.pending_reasons import recorded_reason
from headgate.domain.values.message import message, workload_reference
from headgate.domain.workloads.events import WorkloadDeleted, WorkloadHeld
from headgate.domain.workloads.specs import TopologyRequest
from headgate.domain.workloads.state import phase_of
from tests.builders.world import StreamEvent, World, names, quotas

LOWER = ClusterQueuePreemption(within_cluster_queue="LowerPriority")
ANYWHERE = TopologyRequest(unconstrained=True)


def full_queue(preemption: ClusterQueuePreemption = LOWER) -> World:
    """Four of four gpus in use by four workloads; the later, the younger."""
    world = World()
    world.flavor("default")
    world.cluster_queue("q", quotas(default=4), preemption=preemption)
    for number in range(4):
        world.submit(f"low{number}", "q", priority=number // 2)
        world.settle()
        world.wait(10)
    return world


def victims(made: list[StreamEvent]) -> list[str]:
    return [stream for stream, event in made if type(event).__name__ == "WorkloadEvicted"]


def test_the_lowest_priority_is_first_and_of_equals_the_youngest() -> None:
    world = full_queue()
    world.submit("urgent", "q", {"gpu": 1}, priority=5)
    assert victims(world.settle()) == ["workload/team/low1"]


def test_no_more_go_than_must() -> None:
    world = full_queue()
    world.submit("urgent", "q", {"gpu": 3}, priority=5)
    made = world.settle()
    assert victims(made) == [f"workload/team/low{n}" for n in (1, 0, 3)]


def test_a_round_is_one_decision_with_its_evictions_and_the_nomination() -> None:
    world = full_queue()
    world.submit("urgent", "q", {"gpu": 2}, priority=5)
    kinds = names(world.settle())
    assert kinds == [
        "RoundCommitted",
        "PlacementNominated",
        "WorkloadEvicted",
        "WorkloadEvicted",
        "WorkloadExplained",
    ]


def test_the_preemptor_starts_when_its_victims_have_stopped() -> None:
    world = full_queue()
    key = world.submit("urgent", "q", {"gpu": 2}, priority=5)
    world.settle()
    assert phase_of(world[key]) == "Nominated"
    world.wait(30)
    for victim in ("team/low0", "team/low1"):
        assert key not in world.admitted()
        world.stop(victim)
        world.settle()
    assert key in world.admitted()
    (found,) = world.cluster_state.rounds.values()
    assert (found.stage, found.released) == ("Completed", ("team/low0", "team/low1"))


def test_no_second_round_while_one_is_open() -> None:
    world = full_queue()
    key = world.submit("urgent", "q", {"gpu": 2}, priority=5)
    world.settle()
    other = world.submit("also", "q", {"gpu": 2}, priority=5)
    made = world.settle()
    assert sorted(victims(made)) == ["workload/team/low2", "workload/team/low3"]
    assert world.settle() == []
    assert {phase_of(world[name]) for name in (key, other)} == {"Nominated"}


def test_a_passer_by_cannot_take_nominated_capacity() -> None:
    world = full_queue()
    key = world.submit("urgent", "q", {"gpu": 2}, priority=5)
    passer = world.submit("passer", "q", {"gpu": 1}, priority=1)
    world.settle()
    world.stop("team/low1")
    world.settle()
    assert passer not in world.admitted()
    world.stop("team/low0")
    world.settle()
    assert key in world.admitted()
    assert passer not in world.admitted()


def test_a_workload_behind_a_round_is_told_the_preemptor() -> None:
    world = full_queue()
    key = world.submit("urgent", "q", {"gpu": 1}, priority=5)
    world.settle()
    found = recorded_reason(world.cluster_state, world[key], world.at)
    assert found is not None
    assert found.dominant == "WaitingForPreemptedWorkloads"
    assert found.blockers[0].held_by == ("team/low1",)


def test_equal_priority_is_safe_unless_newer_ones_may_go() -> None:
    world = full_queue()
    world.submit("equal", "q", {"gpu": 1}, priority=0)
    made = world.settle()
    assert victims(made) == []
    refused = world["team/equal"].explanation
    assert refused is not None
    rules = {r.workload: r.rule for b in refused.blockers for r in b.refused}
    assert rules["team/low2"] == message("NotLowerPriority", priority=1, preemptor_priority=0)


def test_what_may_not_be_preempted_stays() -> None:
    world = World()
    world.flavor("default")
    world.cluster_queue("q", quotas(default=1), preemption=LOWER)
    kept = world.submit("kept", "q", preemptibility="NonPreemptible")
    world.settle()
    world.submit("urgent", "q", priority=5)
    world.settle()
    assert world.admitted() == [kept]
    assert world[kept].eviction is None


def test_a_preemptor_that_is_held_gives_its_round_up() -> None:
    world = full_queue()
    key = world.submit("urgent", "q", {"gpu": 1}, priority=5)
    world.settle()
    world.record(f"workload/{key}", WorkloadHeld(owner="someone", reason="later"))
    world.settle()
    (found,) = world.cluster_state.rounds.values()
    assert found.stage == "Aborted"
    assert world[key].nomination is None


def test_a_round_of_a_deleted_preemptor_is_aborted() -> None:
    world = full_queue()
    key = world.submit("urgent", "q", {"gpu": 1}, priority=5)
    world.settle()
    world.record(f"workload/{key}", WorkloadDeleted())
    world.settle()
    (found,) = world.cluster_state.rounds.values()
    assert (found.stage, found.outcome) == (
        "Aborted",
        message("PreemptorDeleted", preemptor=workload_reference(key)),
    )


def test_a_round_with_victims_that_never_stop_expires() -> None:
    world = full_queue()
    key = world.submit("urgent", "q", {"gpu": 1}, priority=5)
    world.settle()
    world.wait(3600)
    world.settle()
    (found,) = world.cluster_state.rounds.values()
    assert found.stage == "Expired"
    assert world[key].round_id is None


def test_a_preemptor_that_finds_capacity_elsewhere_leaves_its_round() -> None:
    world = World()
    world.hosts({"b/r1/a": 2, "b/r2/b": 2})
    world.cluster_queue("q", quotas("cpu", tas=10), preemption=LOWER)
    one = TopologyRequest(required="rack")
    world.submit("low1", "q", {"cpu": 1}, count=2, topology=one)
    world.submit("low2", "q", {"cpu": 1}, count=2, topology=one, priority=1)
    world.settle()
    key = world.submit("urgent", "q", {"cpu": 1}, count=2, topology=one, priority=5)
    world.settle()
    (found,) = world.cluster_state.rounds.values()
    assert [victim.workload for victim in found.victims] == ["team/low1"]
    elsewhere = world.placed("team/low2")
    world.finish("team/low2")
    world.settle()
    assert world.placed(key) == elsewhere
    assert world.cluster_state.rounds[found.id].stage == "Superseded"


def test_victims_must_free_capacity_on_hosts_and_not_only_in_quota() -> None:
    world = World()
    world.hosts({"b/r1/a": 2, "b/r2/b": 2})
    world.cluster_queue("q", quotas("cpu", tas=100), preemption=LOWER)
    one = TopologyRequest(required="kubernetes.io/hostname")
    for number, priority in enumerate((1, 0, 0, 1)):
        world.submit(f"low{number}", "q", {"cpu": 1}, topology=one, priority=priority)
    world.settle()
    by_host = {key: next(iter(world.placed(key))) for key in world.admitted()}
    world.submit("urgent", "q", {"cpu": 2}, topology=one, priority=5)
    gone = [stream.removeprefix("workload/") for stream in victims(world.settle())]
    assert len({by_host[key] for key in gone}) == 1
    assert len(gone) == 2


def test_victims_leave_only_for_the_pods_of_a_job_that_have_no_place() -> None:
    """Koordinator, story 1 (KOO-20): of three hosts one is free and one victim is cheaper."""
    world = World()
    world.hosts({f"b/r/{name}": 1 for name in ("h1", "h2", "h3")})
    world.cluster_queue("q", quotas("cpu", tas=9), preemption=LOWER)
    low, middle = (
        world.submit(name, "q", {"cpu": 1}, priority=priority)
        for name, priority in (("low", 1), ("middle", 2))
    )
    world.settle()
    world.submit("job", "q", {"cpu": 1}, count=2, priority=5, topology=ANYWHERE)
    made = world.settle()
    assert victims(made) == [f"workload/{low}"]
    assert middle in world.admitted()


def test_a_running_job_that_lost_a_host_gets_a_place_by_preemption() -> None:
    """Without another host it gives way, and preempts as a whole (KOO-20; topology.md §7.2)."""
    world = World()
    world.hosts({f"b/r/{name}": 1 for name in ("h1", "h2", "h3")})
    world.cluster_queue("q", quotas("cpu", tas=9), preemption=LOWER)
    job = world.submit("job", "q", {"cpu": 1}, count=2, priority=5, topology=ANYWHERE)
    low = world.submit("low", "q", {"cpu": 1}, priority=1)
    world.settle()
    world.ready(job)
    lost = next(iter(world.placed(job)))
    world.record(f"node/{lost}", NodeReported(ready=False, allocatable={"cpu": 1, "pods": 110}))
    world.settle()
    world.wait(60)
    world.settle()
    world.stop(job)
    assert victims(world.settle()) == [f"workload/{low}"]
    world.stop(low)
    world.settle()
    assert job in world.admitted()
    assert lost not in world.placed(job)


def test_a_placement_on_a_failed_host_is_sought_again() -> None:
    world = World()
    world.hosts({"b/r1/a": 2, "b/r2/b": 2})
    world.cluster_queue("q", quotas("cpu", tas=10), preemption=LOWER)
    one = TopologyRequest(required="rack")
    world.submit("low1", "q", {"cpu": 1}, count=2, topology=one)
    world.submit("low2", "q", {"cpu": 1}, count=2, topology=one, priority=1)
    world.settle()
    world.submit("urgent", "q", {"cpu": 1}, count=2, topology=one, priority=5)
    world.settle()
    (first,) = world.cluster_state.rounds.values()
    host = world.placed("team/low1").popitem()[0]
    lost = NodeReported(ready=False, allocatable={"cpu": 2, "pods": 110})
    world.record(f"node/{host}", lost)
    world.stop("team/low1")
    world.settle()
    stages = sorted(found.stage for found in world.cluster_state.rounds.values())
    assert stages == ["Committed", "Superseded"]
    assert world.cluster_state.rounds[first.id].invalidated_by == "HostLost"
    outcome = world.cluster_state.rounds[first.id].outcome
    assert outcome is not None
    assert outcome.code == "RoundReplaced"


def test_a_workload_larger_than_its_nominal_quota_reclaims_nothing() -> None:
    world = World()
    world.flavor("default")
    world.cluster_queue("q", quotas(default=2), preemption=LOWER, cohort_name="team")
    world.cluster_queue("lender", quotas(default=2), cohort_name="team")
    world.submit("low", "q", {"gpu": 2})
    world.settle()
    world.submit("large", "q", {"gpu": 3}, priority=5)
    assert victims(world.settle()) == []
