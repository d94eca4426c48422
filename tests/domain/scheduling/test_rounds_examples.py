"""The worked examples of rounds, by their numbers (reference preemption.md §7)."""

from typing import Any

from headgate.domain.facts import DomainEvent
from headgate.domain.queues.specs import (
    AdmissionCheckRule,
    BorrowWithinCohort,
    ClusterQueuePreemption,
    PreemptionRate,
    SoftEviction,
)
from headgate.domain.rounds.state import Round
from headgate.domain.scheduling.waiting import explain_now
from headgate.domain.topology.events import NodeReported
from headgate.domain.workloads.commands import (
    AcknowledgeEviction,
    ChangeProtection,
    ReportEvictionProgress,
    ReportStopping,
)
from headgate.domain.workloads.decide import WORKLOAD
from headgate.domain.workloads.events import (
    WorkloadDeleted,
    WorkloadDeletionRequested,
    WorkloadHeld,
)
from headgate.domain.workloads.preemption_events import EvictionCancelled, EvictionForced
from headgate.domain.workloads.specs import EvictionPolicy, TopologyRequest
from headgate.domain.workloads.state import phase_of
from tests.builders.world import Fact, World, names, quotas

LOWER = ClusterQueuePreemption(within_cluster_queue="LowerPriority")
RECLAIM = ClusterQueuePreemption(reclaim_within_cohort="Any")
SOFT = EvictionPolicy(grace_period_seconds=300, require_ack=True, handler="ckpt")
RACK = TopologyRequest(required="rack")


def told(world: World, key: str, command: Any) -> list[DomainEvent]:
    """What a workload answers to a report, recorded."""
    events = WORKLOAD.decide(world[key], command, world.at)
    for event in events:
        world.record(f"workload/{key}", event)
    return list(events)


def acknowledge(world: World, key: str, ends_in: int | None = None) -> None:
    eviction = world[key].eviction
    assert eviction is not None, f"{key} is not being evicted"
    until = None if ends_in is None else world.at + ends_in * 1_000_000
    command = AcknowledgeEviction(
        uid=world[key].uid, eviction=eviction.id, handler="ckpt", expected_end_at=until
    )
    told(world, key, command)


def progress(world: World, key: str) -> None:
    eviction = world[key].eviction
    assert eviction is not None, f"{key} is not being evicted"
    told(world, key, ReportEvictionProgress(uid=world[key].uid, eviction=eviction.id))


def only_round(world: World) -> Round:
    (found,) = world.cell.rounds.values()
    return found


def of_kind(made: list[Fact], kind: type[Any]) -> list[str]:
    return [stream for stream, event in made if isinstance(event, kind)]


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


def test_example_19b_who_protects_itself_enough_is_not_preempted() -> None:
    world = World()
    world.flavor("default")
    world.cluster_queue("q", quotas(default=1), preemption=LOWER)
    a = world.submit("a", "q", priority=50, preemption_priority=100)
    world.settle()
    world.submit("b", "q", priority=80)
    world.settle()
    assert world.admitted() == [a]
    assert world.cell.rounds == {}


def test_example_19c_a_round_stands_though_its_victim_is_protected_afterwards() -> None:
    world = World()
    world.flavor("default")
    world.cluster_queue("q", quotas(default=1), preemption=LOWER)
    world.submit("a", "q", priority=50, preemption_priority=60)
    world.settle()
    world.submit("b", "q", priority=80)
    world.settle()
    told(world, "team/a", ChangeProtection(priority=90, authority="Admin"))
    made = world.settle()
    assert of_kind(made, EvictionCancelled) == []
    assert world["team/a"].eviction is not None
    world.stop("team/a")
    world.settle()
    assert world.admitted() == ["team/b"]


def test_example_19e_who_never_preempts_waits_and_can_still_be_evicted() -> None:
    world = World()
    world.flavor("default")
    world.cluster_queue("q", quotas(default=1), preemption=LOWER)
    world.submit("low", "q")
    world.settle()
    never = world.submit("never", "q", priority=1000, can_preempt=False)
    world.settle()
    assert world.cell.rounds == {}
    world.finish("team/low")
    world.settle()
    assert world.admitted() == [never]
    world.submit("higher", "q", priority=2000)
    world.settle()
    assert world[never].eviction is not None


def test_example_24_what_one_victim_frees_is_kept_until_the_other_has_gone() -> None:
    world = World()
    world.flavor("default")
    world.cluster_queue("q1", quotas(default=7), preemption=RECLAIM, cohort_name="c")
    world.cluster_queue("q2", quotas(default=3), cohort_name="c")
    world.submit("a", "q2", {"gpu": 4}, priority=10)
    world.settle()
    world.submit("b", "q2", {"gpu": 4}, priority=10, eviction_policy=SOFT)
    world.settle()
    world.submit("p", "q1", {"gpu": 7})
    world.settle()
    assert {victim.workload for victim in only_round(world).victims} == {"team/a", "team/b"}
    acknowledge(world, "team/b")
    world.wait(5)
    world.stop("team/a")
    world.settle()
    assert "team/a" not in world.admitted(), "it would take what is kept for p, and borrow"
    small = world.submit("small", "q2", {"gpu": 3}, priority=20)
    world.settle()
    assert small in world.admitted(), "it fits beside everyone in the end"
    world.wait(55)
    world.stop("team/b")
    world.settle()
    assert "team/p" in world.admitted()
    assert only_round(world).stage == "Completed"


def two_racks() -> World:
    """v1 and v2 on rack 1 of four hosts; rack 2 is filled by `other`, which may end."""
    world = World()
    hosts = {f"b/r{rack}/h{rack}{n}": 8 for rack in (1, 2) for n in range(4)}
    world.hosts(hosts)
    world.cluster_queue("q", quotas("cpu", tas=1000), preemption=LOWER)
    world.submit("other", "q", {"cpu": 8}, count=4, topology=RACK, priority=90)
    world.settle()
    for name in ("v1", "v2"):
        world.submit(name, "q", {"cpu": 8}, eviction_policy=SOFT, topology=RACK, priority=1)
        world.settle()
    return world


def lose(world: World, host: str) -> None:
    world.record(f"node/{host}", NodeReported(ready=False, allocatable={"cpu": 8, "pods": 110}))


def rack_of(world: World, key: str) -> str:
    return next(iter(world.placed(key)))[:2]


def test_example_25_a_lost_host_sends_the_preemptor_elsewhere_and_calls_victims_back() -> None:
    world = two_racks()
    rack = rack_of(world, "team/v1")
    world.submit("p", "q", {"cpu": 8}, count=4, topology=RACK, priority=50)
    world.settle()
    found = only_round(world)
    assert {victim.workload for victim in found.victims} == {"team/v1", "team/v2"}
    assert phase_of(world["team/p"]) == "Nominated"
    world.stop("team/v1")
    world.finish("team/other")
    free = [h for h in (f"{rack}{n}" for n in range(4)) if h not in world.placed("team/v2")]
    lose(world, free[0])
    made = world.settle()
    assert "team/p" in world.admitted()
    assert rack_of(world, "team/p") != rack
    ended = world.cell.rounds[found.id]
    assert (ended.stage, ended.invalidated_by) == ("Superseded", "HostLost")
    assert of_kind(made, EvictionCancelled) == ["workload/team/v2"]
    assert phase_of(world["team/v2"]) == "Starting"


def test_example_25_who_was_taken_over_runs_out() -> None:
    world = two_racks()
    rack = rack_of(world, "team/v1")
    world.submit("p", "q", {"cpu": 8}, count=4, topology=RACK, priority=50)
    world.settle()
    world.stop("team/v1")
    acknowledge(world, "team/v2")
    world.finish("team/other")
    free = [h for h in (f"{rack}{n}" for n in range(4)) if h not in world.placed("team/v2")]
    lose(world, free[0])
    made = world.settle()
    assert of_kind(made, EvictionCancelled) == []
    assert phase_of(world["team/v2"]) == "Evicting"


def test_example_25_a_stronger_one_may_take_the_place() -> None:
    world = World()
    world.flavor("default")
    world.cluster_queue("q", quotas(default=2), preemption=LOWER)
    for name in ("v1", "v2"):
        world.submit(name, "q", priority=1, eviction_policy=SOFT)
        world.settle()
    world.submit("p", "q", {"gpu": 2}, priority=50)
    world.settle()
    first = only_round(world).id
    world.stop("team/v1")
    world.settle()
    stronger = world.submit("u", "q", priority=90)
    made = world.settle()
    assert stronger in world.admitted()
    assert "PlacementInvalidated" in names(made)
    assert world.cell.rounds[first].invalidated_by == "Taken"
    assert world.cell.rounds[first].taken_by == stronger


def test_example_26_reports_extend_the_time_and_then_it_is_killed() -> None:
    world = one_victim()
    world.wait(40)
    acknowledge(world, "team/v", ends_in=240)
    world.wait(230)
    world.settle()
    progress(world, "team/v")
    world.wait(300)
    assert of_kind(world.settle(), EvictionForced) == ["workload/team/v"]
    world.wait(20)
    world.stop("team/v")
    world.settle()
    assert world.admitted() == ["team/p"]
    assert only_round(world).stage == "Completed"


def test_example_26_without_an_acknowledgement_it_is_killed_at_the_deadline() -> None:
    world = one_victim()
    world.wait(299)
    progress(world, "team/v")
    assert world.settle() == []
    world.wait(1)
    assert of_kind(world.settle(), EvictionForced) == ["workload/team/v"]


def test_example_26_no_report_extends_beyond_the_longest_time() -> None:
    world = one_victim(most=400)
    acknowledge(world, "team/v")
    world.wait(250)
    progress(world, "team/v")
    world.wait(149)
    assert world.settle() == []
    world.wait(1)
    assert of_kind(world.settle(), EvictionForced) == ["workload/team/v"]


def test_example_26_who_may_go_on_stalls_until_the_round_expires() -> None:
    waits = EvictionPolicy(grace_period_seconds=60, on_deadline="Wait")
    world = one_victim(waits)
    world.wait(60)
    assert "EvictionStalled" in names(world.settle())
    world.wait(3600)
    world.settle()
    assert [found.stage for found in world.cell.rounds.values()] == ["Expired"]
    assert world["team/v"].eviction is not None, "it is leaving, and is credited"
    assert len(world.cell.rounds) == 1, "nobody else is made to go meanwhile"
    world.stop("team/v")
    world.settle()
    assert world.admitted() == ["team/p"]


def test_example_27_a_preemptor_that_goes_calls_back_who_was_not_taken_over() -> None:
    world = one_victim()
    world.record("workload/team/p", WorkloadDeletionRequested())
    made = world.settle()
    assert of_kind(made, EvictionCancelled) == ["workload/team/v"]
    assert only_round(world).stage == "Aborted"
    assert world.admitted() == ["team/v"]
    assert world["team/v"].eviction is None


def test_example_27_who_was_taken_over_leaves_and_its_room_is_free_for_the_next() -> None:
    world = one_victim()
    acknowledge(world, "team/v")
    world.record("workload/team/p", WorkloadDeleted())
    second = world.submit("second", "q", priority=3)
    made = world.settle()
    assert of_kind(made, EvictionCancelled) == []
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
    told(world, "team/v", stopping)
    world.settle()
    assert world.admitted() == ["team/p", "team/v"]
    assert world["team/v"].eviction is not None
    world.stop("team/v")
    assert names(world.settle()) == ["WorkloadExplained"]
    assert world.admitted() == ["team/p"]


def test_a_queue_starts_no_more_rounds_than_it_may() -> None:
    world = World()
    world.flavor("default")
    rate = PreemptionRate(per_minute=1, burst=1)
    preemption = ClusterQueuePreemption(within_cluster_queue="LowerPriority", rate_limit=rate)
    world.cluster_queue("q", quotas(default=2), preemption=preemption)
    for name in ("v1", "v2"):
        world.submit(name, "q")
        world.settle()
    for name in ("p1", "p2"):
        world.submit(name, "q", priority=5)
        world.settle()
    assert len(world.cell.rounds) == 1
    limit = "ClusterQueue q starts at most 1 round of preemption a minute"
    known = world["team/p2"].explanation
    assert known is not None
    assert known.dominant == "PreemptionRateLimited"
    assert known.sentence == f"Room could be made for it, but {limit}, and has started as many"
    world.wait(59)
    assert "RoundCommitted" not in names(world.settle())
    fresh = explain_now(world.cell, world["team/p2"], world.at)
    assert fresh is not None
    assert fresh.sentence == f"{known.sentence}; the next may start in 1 s"
    world.wait(1)
    assert "RoundCommitted" in names(world.settle())


def test_who_stays_within_its_nominal_quota_may_take_what_a_borrower_waits_for() -> None:
    world = World()
    world.flavor("default")
    borrowing = ClusterQueuePreemption(
        within_cluster_queue="LowerPriority",
        reclaim_within_cohort="LowerPriority",
        borrow_within_cohort=BorrowWithinCohort(policy="LowerPriority"),
    )
    world.cluster_queue("rich", quotas(default=1), preemption=borrowing, cohort_name="c")
    world.cluster_queue("own", quotas(default=2), cohort_name="c")
    for name in ("v1", "v2"):
        world.submit(name, "rich", priority=1, eviction_policy=SOFT)
        world.settle()
    world.submit("p", "rich", {"gpu": 3}, priority=50)
    world.settle()
    assert not any(v.reason == "InCohortReclamation" for v in only_round(world).victims)
    mine = world.submit("mine", "own", priority=0)
    world.settle()
    assert mine in world.admitted()


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


def test_example_20_immune_work_within_nominal_may_make_others_leave() -> None:
    world = example_20()
    key = world.submit("np2", "q", {"gpu": 2}, preemptibility="NonPreemptible", priority=1)
    world.settle()
    assert phase_of(world[key]) == "Nominated"
    assert len(only_round(world).victims) == 1


def test_example_20_immune_work_beyond_nominal_waits_whatever_could_leave() -> None:
    world = example_20()
    key = world.submit("np3", "q", {"gpu": 3}, preemptibility="NonPreemptible", priority=9)
    world.settle()
    assert world.cell.rounds == {}
    explained = world[key].explanation
    assert explained is not None
    assert explained.dominant == "WaitingForQuota"


def test_example_20_nominal_quota_may_be_kept_for_immune_work_that_waits() -> None:
    for reserve, starts in ((False, True), (True, False)):
        world = example_20(reserve=reserve)
        world.record("workload/team/np", WorkloadHeld(owner="user:x", reason="keeps running"))
        waiting = world.submit("np1", "q", {"gpu": 3}, preemptibility="NonPreemptible", priority=-1)
        world.settle()
        assert waiting not in world.admitted()
        one = world.submit("one", "q")
        world.settle()
        assert (one in world.admitted()) == starts
        assert world.cell.rounds == {}


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
