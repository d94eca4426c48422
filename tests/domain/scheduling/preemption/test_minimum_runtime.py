"""No workload is a victim within the minimum runtime of its ClusterQueue (C21)."""

from typing import Any

import pytest
from msgspec.structs import replace

from headgate.domain.kinds.cluster_queue import CohortCreated, CohortSpec
from headgate.domain.kinds.queue_settings import MinimumRuntime
from headgate.domain.scheduling.cycle import plan_cycle
from headgate.domain.values.instants import MICROSECONDS_PER_SECOND, Instant
from headgate.domain.values.message import Message, message
from headgate.domain.workloads.events import WorkloadAdmitted, WorkloadQuotaReserved
from headgate.domain.workloads.specs import TopologyRequest
from tests.builders.cohorts import Cohorts, policies
from tests.builders.world import World, quotas


def granting(preempt: int = 0, reclaim: int = 0, **rules: Any) -> Any:
    shield = MinimumRuntime(preempt_seconds=preempt, reclaim_seconds=reclaim)
    return replace(policies(**rules), min_runtime=shield)


def next_due(world: World) -> Instant | None:
    key = next(key for key in world.cluster_state.partition_keys() if key != "installation")
    with world.cluster_state.overlay():
        return plan_cycle(world.cluster_state, key, world.at, "due").next_due


def refused(world: World, key: str) -> dict[str, Message]:
    found = world[key].explanation
    assert found is not None
    return {each.workload: each.rule for blocker in found.blockers for each in blocker.refused}


def test_a_workload_that_just_started_is_safe_from_its_own_queue() -> None:
    world = Cohorts()
    world.queue("q", 2, granting(preempt=60, within="LowerPriority"))
    world.runs("low@q", 2, 0)
    assert world.victims_for("high@q", 2, 5) == {}
    rule = message("WithinMinimumRuntime", minimum=60, kind="ClusterQueue", name="q")
    assert refused(world, "team/high") == {"team/low": rule}


def test_when_the_time_granted_is_over_it_may_be_evicted_and_nothing_else_is_needed() -> None:
    world = Cohorts()
    world.queue("q", 2, granting(preempt=60, within="LowerPriority"))
    began = world.seconds
    world.runs("low@q", 2, 0)
    world.victims_for("high@q", 2, 5)
    assert next_due(world) == (began + 60) * MICROSECONDS_PER_SECOND
    world.wait(60)
    world.settle()
    assert world.victims_of("high") == {"low": "InClusterQueue"}


def test_what_a_queue_owns_is_reclaimed_after_the_time_the_borrowers_queue_grants() -> None:
    world = Cohorts()
    world.queue("lender", 2, policies(reclaim="Any"))
    world.queue("borrower", 0, granting(preempt=500, reclaim=30))
    world.runs("guest@borrower", 2, 9)
    assert world.victims_for("owner@lender", 2, 0) == {}
    world.wait(30)
    world.settle()
    assert world.victims_of("owner") == {"guest": "InCohortReclamation"}


def test_time_spent_with_a_reservation_alone_does_not_count_as_running() -> None:
    world = Cohorts()
    world.queue("q", 2, granting(preempt=60, within="LowerPriority"))
    key = world.runs("low@q", 2, 0)
    world.finish(key)
    later = world.asks("later@q", 2, 0)
    admission = world[key].admission
    assert admission is not None
    world.record(f"workload/{later}", WorkloadQuotaReserved(admission=admission))
    world.wait(1_000)
    world.record(f"workload/{later}", WorkloadAdmitted(waited_seconds=1_000))
    assert world.victims_for("high@q", 2, 5) == {}


def test_on_hosts_too_the_minimum_runtime_protects() -> None:
    world = World()
    world.hosts({"b/r0/h0": 8, "b/r1/h1": 8}, "gpu")
    rules = granting(preempt=60, within="LowerPriority")
    world.cluster_queue("q", quotas(tas=100), preemption=rules)
    rack = TopologyRequest(required="rack")
    world.submit("old", "q", {"gpu": 8}, priority=3, topology=rack)
    world.settle()
    world.wait(60)
    world.submit("young", "q", {"gpu": 8}, priority=0, topology=rack)
    world.settle()
    world.submit("high", "q", {"gpu": 8}, priority=5, topology=rack)
    world.settle()
    (found,) = world.cluster_state.rounds.values()
    assert [victim.workload for victim in found.victims] == ["team/old"]
    assert [each.workload for each in found.refused] == ["team/young"]


def tree(*, outer: int = 0, inner: int = 0, queue: int = 0, own: int = 0) -> Cohorts:
    """Two borrowers in cohort inner and a lender beside it, all below cohort outer."""
    world = Cohorts()
    for name, parent, seconds in (("outer", "", outer), ("inner", "outer", inner)):
        shield = MinimumRuntime(reclaim_seconds=seconds, preempt_seconds=own)
        spec = CohortSpec(parent_name=parent, min_runtime=shield)
        world.record(f"cohort/{name}", CohortCreated(uid=name, name=name, spec=spec))
    lends, borrows = policies(reclaim="Any"), granting(reclaim=queue)
    world.queue("lender", 4, lends, cohort="outer")
    world.queue("guest", 0, borrows, cohort="inner")
    world.queue("sibling", 2, policies(reclaim="Any", within="LowerPriority"), cohort="inner")
    return world


@pytest.mark.parametrize(
    ("granted", "named"),
    [
        ({"inner": 30, "outer": 90, "queue": 500}, "inner"),
        ({"outer": 30, "queue": 500}, "outer"),
    ],
)
def test_from_outside_the_cohort_where_both_meet_says_how_long(
    granted: dict[str, int], named: str
) -> None:
    world = tree(**granted)
    world.runs("visitor@guest", 6, 9)
    assert world.victims_for("owner@lender", 4, 0) == {}
    rule = message("WithinMinimumRuntime", minimum=30, kind="Cohort", name=named)
    assert refused(world, "team/owner") == {"team/visitor": rule}
    world.wait(30)
    world.settle()
    assert world.victims_of("owner") == {"visitor": "InCohortReclamation"}


def test_between_siblings_the_queue_of_the_victim_says_how_long() -> None:
    world = tree(inner=500, queue=30)
    world.runs("visitor@guest", 6, 9)
    assert world.victims_for("owner@sibling", 2, 0) == {}
    world.wait(30)
    world.settle()
    assert world.victims_of("owner") == {"visitor": "InCohortReclamation"}


def test_within_a_queue_the_nearest_that_grants_a_time_says_how_long() -> None:
    world = tree(own=60)
    world.runs("low@sibling", 6, 0)
    assert world.victims_for("high@sibling", 2, 5) == {}
    world.wait(60)
    world.settle()
    assert world.victims_of("high") == {"low": "InClusterQueue"}
