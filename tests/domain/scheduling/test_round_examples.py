"""The worked examples of rounds, by their numbers (reference preemption.md §7)."""

from headgate.domain.kinds.queue_settings import (
    BorrowWithinCohort,
    ClusterQueuePreemption,
    PreemptionRate,
)
from headgate.domain.nodes.state import NodeReported
from headgate.domain.scheduling.pending_reasons import current_reason
from headgate.domain.values.message import message
from headgate.domain.workloads.preemption_events import EvictionCancelled
from headgate.domain.workloads.specs import TopologyRequest
from headgate.domain.workloads.state import phase_of
from tests.builders.rounds import SOFT, acknowledge, only_round, streams_with
from tests.builders.world import World, names, quotas

LOWER = ClusterQueuePreemption(within_cluster_queue="LowerPriority")
RECLAIM = ClusterQueuePreemption(reclaim_within_cohort="Any")
RACK = TopologyRequest(required="rack")


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
    assert small in world.admitted(), "it fits beside all others in the end"
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
    ended = world.cluster_state.rounds[found.id]
    assert (ended.stage, ended.invalidated_by) == ("Superseded", "HostLost")
    assert streams_with(made, EvictionCancelled) == ["workload/team/v2"]
    assert phase_of(world["team/v2"]) == "Starting"


def test_example_25_an_acknowledged_eviction_runs_out() -> None:
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
    assert streams_with(made, EvictionCancelled) == []
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
    assert world.cluster_state.rounds[first].invalidated_by == "Taken"
    assert world.cluster_state.rounds[first].taken_by == stronger


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
    assert len(world.cluster_state.rounds) == 1
    known = world["team/p2"].explanation
    assert known is not None
    assert known.dominant == "PreemptionRateLimited"
    assert known.blockers[0].message == message(
        "PreemptionRateLimited", cluster_queue="q", rounds=1, burst=1
    )
    world.wait(59)
    assert "RoundCommitted" not in names(world.settle())
    fresh = current_reason(world.cluster_state, world["team/p2"], world.at)
    assert fresh is not None
    assert fresh.reason_message.arguments["next_in"] == 1
    world.wait(1)
    assert "RoundCommitted" in names(world.settle())


def test_a_workload_within_nominal_quota_may_override_the_round_of_a_borrower() -> None:
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
