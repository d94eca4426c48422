"""Inadmissible workloads are skipped, which decides nothing: the log alone does (ADR 0017).

`StatefulWorld` keeps its plans, and so what it found inadmissible; `anew` uses a state that was
folded from the same log and knows none of it.
"""

from typing import Any

from msgspec.structs import replace

from headgate.domain.cluster_state import ClusterState
from headgate.domain.kinds.cluster_queue import AdmissionCheckRule
from headgate.domain.kinds.configuration import ResourceRules, Transformation
from headgate.domain.kinds.priority_classes import DisruptionBudgetCreated, DisruptionBudgetSpec
from headgate.domain.kinds.queue_settings import (
    BorrowWithinCohort,
    ClusterQueuePreemption,
    MinimumRuntime,
)
from headgate.domain.nodes.state import NodeReported
from headgate.domain.scheduling.cycle import Plan, plan_cycle
from headgate.domain.scheduling.pending_reasons import recorded_reason
from headgate.domain.scheduling.queueing.pending_entry import equivalence_class
from headgate.domain.values.selectors import LabelSelector
from headgate.domain.workloads.events import (
    WorkloadEvicted,
    WorkloadHeld,
    WorkloadReleased,
    WorkloadSpecChanged,
)
from headgate.domain.workloads.specs import PodSet, Scheduling
from tests.builders.world import StreamEvent, World, names, quotas

LOWER = ClusterQueuePreemption(within_cluster_queue="LowerPriority")
ANY = ClusterQueuePreemption(reclaim_within_cohort="Any")
MAX_CYCLES = 50


class StatefulWorld(World):
    """A world that keeps its plans, as the live state of a worker does; it counts evaluations."""

    def live(self) -> list[StreamEvent]:
        """Every partition until it settles."""
        made = []
        self.looks = 0
        for key in self.cluster_state.partition_keys():
            with self.cluster_state.overlay() as overlay:
                for number in range(MAX_CYCLES):
                    plan = plan_cycle(
                        self.cluster_state, key, self.at, f"{self.cluster_state.position}.{number}"
                    )
                    made += _events(plan)
                    self.looks += plan.evaluation_count
                    if not plan.decisions:
                        break
                overlay.keep(self.cluster_state.position)
        return made

    def anew(self) -> list[StreamEvent]:
        """The next decisions by the log alone."""
        return self._next_cycle(ClusterState.load(self.cluster_state.dump()))

    def remembered(self) -> list[StreamEvent]:
        """The next decisions by this state."""
        return self._next_cycle(self.cluster_state)

    def _next_cycle(self, cluster_state: ClusterState) -> list[StreamEvent]:
        made: list[StreamEvent] = []
        for key in cluster_state.partition_keys():
            with cluster_state.overlay():
                made += _events(plan_cycle(cluster_state, key, self.at, "next"))
        return made


def _events(plan: Plan) -> list[StreamEvent]:
    return [fact for decision in plan.decisions for fact in decision.events]


def cohort(**preemption: ClusterQueuePreemption) -> StatefulWorld:
    """A queue that owns 4, and one that owns 2 and borrows."""
    world = StatefulWorld()
    world.flavor("default")
    for name, nominal in (("own", 4), ("side", 2)):
        rules = preemption.get(name, ClusterQueuePreemption())
        world.cluster_queue(name, quotas(default=nominal), cohort_name="team", preemption=rules)
    return world


def one_queue(nominal: int = 4, **spec: Any) -> StatefulWorld:
    world = StatefulWorld()
    world.flavor("default")
    world.cluster_queue("q", quotas(default=nominal), **spec)
    return world


def test_an_inadmissible_workload_reserves_no_capacity() -> None:
    world = cohort()
    world.submit("runs", "side", {"gpu": 3})
    world.submit("large", "own", {"gpu": 4}, priority=1)
    world.live()
    small = world.submit("small", "side", {"gpu": 2})
    assert world.anew() == world.remembered()
    world.live()
    assert small in world.admitted()


def test_a_workload_without_a_recorded_reason_reserves_capacity_for_the_cycle() -> None:
    world = cohort()
    world.submit("runs", "side", {"gpu": 3})
    world.live()
    large = world.submit("large", "own", {"gpu": 4}, priority=1)
    small = world.submit("small", "side", {"gpu": 2})
    first = world.remembered()
    assert [stream for stream, _ in first] == [f"workload/{large}", f"workload/{small}"]
    assert set(names(first)) == {"WorkloadExplained"}


def test_an_inadmissible_head_lets_the_next_workload_be_nominated() -> None:
    world = cohort()
    world.submit("never", "own", {"gpu": 9}, priority=9)
    world.live()
    urgent = world.submit("urgent", "own", {"gpu": 4}, priority=2)
    world.submit("other", "side", {"gpu": 4}, priority=1)
    assert world.anew() == world.remembered()
    assert (f"workload/{urgent}", "WorkloadAdmitted") in [
        (stream, type(event).__name__) for stream, event in world.anew()
    ]


def test_capacity_that_will_be_left_requeues_preemptors() -> None:
    """Nothing is free before the drained one stops, but now fewer others have to leave."""
    world = one_queue(preemption=LOWER)
    equal = world.submit("equal", "q", {"gpu": 2}, priority=1)
    world.submit("lower", "q", {"gpu": 2})
    world.live()
    wants = world.submit("wants", "q", {"gpu": 4}, priority=1)
    world.live()
    assert world[wants].round_id is None
    evicted = WorkloadEvicted(eviction="e", reason="Requeued", message="drained")
    world.record(f"workload/{equal}", evicted)
    assert world.anew() == world.remembered()
    world.live()
    assert world[wants].round_id is not None


def test_borrowing_requeues_workloads_that_may_reclaim() -> None:
    """With it that queue is above its quota, so that an older one there may have to leave."""
    lower = BorrowWithinCohort(policy="LowerPriority")
    rules = ClusterQueuePreemption(
        reclaim_within_cohort="LowerPriority", borrow_within_cohort=lower
    )
    world = cohort(own=rules)
    world.submit("owns its place", "side", {"gpu": 2})
    wants = world.submit("wants", "own", {"gpu": 5}, priority=2)
    world.live()
    assert world[wants].round_id is None
    world.submit("borrows", "side", {"gpu": 1}, priority=1)
    world.live()
    assert world.anew() == []
    assert world[wants].round_id is not None


def test_taken_capacity_requeues_a_workload_that_then_fits_with_fewer_pods() -> None:
    """It waits for room for all its pods; once that is taken, one fits in the other flavor."""
    world = StatefulWorld()
    world.flavor("default")
    world.flavor("small")
    world.cluster_queue("own", quotas(default=4, small=2), cohort_name="team")
    world.cluster_queue("side", quotas(default=2), cohort_name="team")
    leaving = world.submit("leaving", "own", {"gpu": 2})
    world.submit("stays", "side", {"gpu": 2})
    world.live()
    evicted = WorkloadEvicted(eviction="e", reason="Requeued", message="drained")
    world.record(f"workload/{leaving}", evicted)
    gang = world.submit("gang", "own", {"gpu": 2}, count=(2, 1))
    world.live()
    assert gang not in world.admitted()
    world.submit("borrows", "side", {"gpu": 2})
    world.live()
    assert world.anew() == []
    assert gang in world.admitted()


def test_a_victims_lower_priority_requeues_preemptors() -> None:
    world = one_queue(preemption=LOWER)
    runs = world.submit("runs", "q", {"gpu": 4}, priority=1)
    world.live()
    wants = world.submit("wants", "q", {"gpu": 4}, priority=1)
    world.live()
    changed = replace(world[runs].spec, priority=0)
    world.record(f"workload/{runs}", WorkloadSpecChanged(spec=changed))
    assert world.anew() == world.remembered()
    world.live()
    assert world[wants].round_id is not None


def test_a_workload_before_the_first_of_its_equivalence_class_is_evaluated() -> None:
    """It is older than the running workload, and the failed one of its class is not."""
    newer = ClusterQueuePreemption(within_cluster_queue="LowerOrNewerEqualPriority")
    world = one_queue(preemption=newer)
    old = world.submit("old", "q", {"gpu": 4})
    world.record(f"workload/{old}", WorkloadHeld(owner="someone", reason="later"))
    world.wait(1)
    world.submit("runs", "q", {"gpu": 4})
    world.live()
    world.wait(1)
    world.submit("young", "q", {"gpu": 4})
    world.live()
    world.record(f"workload/{old}", WorkloadReleased())
    assert world.anew() == world.remembered()
    world.live()
    assert world[old].round_id is not None


def test_a_budget_that_allows_more_requeues_preemptors_of_all_partitions() -> None:
    world = one_queue(preemption=LOWER)
    world.cluster_queue("apart", quotas(default=4))
    spec = DisruptionBudgetSpec(selector=LabelSelector(), min_available=2, enforcement="Strict")
    created = DisruptionBudgetCreated(uid="b", name="b", namespace="team", spec=spec)
    world.record("disruptionbudget/team/b", created)
    world.submit("lower", "q", {"gpu": 4})
    world.submit("one", "apart")
    world.live()
    wants = world.submit("wants", "q", {"gpu": 4}, priority=1)
    world.live()
    assert world[wants].round_id is None
    world.submit("two", "apart")
    world.live()
    assert world.anew() == world.remembered()
    world.live()
    assert world[wants].round_id is not None


def test_a_failed_host_requeues_workloads_that_counted_on_it() -> None:
    world = StatefulWorld()
    world.hosts({"b1/r1/h1": 4, "b1/r1/h2": 4}, resource="gpu")
    world.cluster_queue("q", quotas(tas=8), preemption=LOWER)
    world.submit("lower", "q", {"gpu": 4})
    leaves = world.submit("leaves", "q", {"gpu": 4})
    world.live()
    world.record(
        f"workload/{leaves}", WorkloadEvicted(eviction="e", reason="Requeued", message="drained")
    )
    world.submit("wants", "q", {"gpu": 4}, priority=1)
    world.live()
    host = world.placed(leaves)
    for name in host:
        lost = NodeReported(ready=False, allocatable={"gpu": 4, "pods": 110})
        world.record(f"node/{name}", lost)
    assert world.anew() == world.remembered()


def test_preemptible_work_starts_behind_refused_work_that_is_not() -> None:
    """Koordinator, Quota assignment: the two kinds are judged apart (requirement KOO-7)."""
    world = StatefulWorld()
    world.flavor("default")
    for name in ("own", "side"):
        world.cluster_queue(name, quotas(default=4), cohort_name="team")
    refused = world.submit("refused", "own", {"gpu": 5}, preemptibility="NonPreemptible")
    world.live()
    behind = world.submit("behind", "own", {"gpu": 5})
    assert world.anew() == world.remembered()
    world.live()
    assert world.admitted() == [behind]
    found = recorded_reason(world.cluster_state, world[refused], world.at)
    assert found is not None
    assert (found.dominant, found.condition_reason) == ("Unschedulable", "ExceedsMaxQuota")


def test_a_submit_to_a_full_queue_costs_one_evaluation() -> None:
    world = one_queue(preemption=LOWER)
    world.submit("runs", "q", {"gpu": 4}, priority=9)
    for number in range(20):
        world.submit(f"w{number}", "q", {"gpu": 3}, priority=number % 5)
    world.live()
    world.submit("one more", "q", {"gpu": 2})
    world.live()
    assert world.looks == 1


def test_released_withheld_quota_requeues_other_workloads() -> None:
    rules = ClusterQueuePreemption(reserve_for_pending_non_preemptible=True)
    world = StatefulWorld()
    world.flavor("default")
    world.cluster_queue("q", quotas(default=(4, 0, None)), cohort_name="team", preemption=rules)
    world.submit("runs", "q", {"gpu": 2})
    world.live()
    safe = world.submit("safe", "q", {"gpu": 4}, priority=1, preemptibility="NonPreemptible")
    wants = world.submit("wants", "q", {"gpu": 2})
    world.live()
    assert world.admitted() == ["team/runs"]
    world.record(f"workload/{safe}", WorkloadHeld(owner="someone", reason="later"))
    assert world.anew() == world.remembered()
    world.live()
    assert wants in world.admitted()


def test_a_shield_begins_with_the_start_also_after_a_check() -> None:
    shield = MinimumRuntime(preempt_seconds=60)
    rules = ClusterQueuePreemption(within_cluster_queue="LowerPriority", min_runtime=shield)
    world = StatefulWorld()
    world.flavor("default")
    world.admission_check("budget")
    checks = (AdmissionCheckRule(name="budget"),)
    world.cluster_queue("q", quotas(default=4), preemption=rules, admission_checks=checks)
    lower = world.submit("lower", "q", {"gpu": 4})
    world.live()
    world.wait(30)
    world.check(lower, "budget", "Ready")
    world.live()
    world.submit("wants", "q", {"gpu": 4}, priority=1)
    world.live()
    world.wait(40)
    assert world.anew() == world.remembered()
    assert world.live() == []
    world.wait(30)
    assert "RoundCommitted" in names(world.live())


def test_the_next_of_an_equivalence_class_is_evaluated_for_itself_once_the_first_has_gone() -> None:
    world = one_queue()
    first = world.submit("first", "q", {"gpu": 5})
    second = world.submit("second", "q", {"gpu": 5})
    world.live()
    world.record(f"workload/{first}", WorkloadHeld(owner="someone", reason="later"))
    assert world.anew() == world.remembered()
    assert names(world.live()) == ["WorkloadExplained"]
    assert world[second].explanation is not None


def test_names_of_pod_sets_do_not_part_an_equivalence_class() -> None:
    """Kueue 0.20, change 24 (#14784): one evaluation serves workloads that only differ in them."""
    world = one_queue()
    requests = Scheduling(requests={"gpu": 5})
    keys = [
        world.submit_pod_sets(name, "q", PodSet(name=name, scheduling=requests))
        for name in ("workers", "trainers", "readers")
    ]
    assert len({equivalence_class(world[key]) for key in keys}) == 1
    world.live()
    assert world.looks == 1


def test_what_requests_count_for_is_read_when_workloads_are_skipped() -> None:
    """Kueue 0.20, change 30 (#15096): a transformation that counts less brings a workload back."""
    world = one_queue(nominal=4)
    counts_double = Transformation(input="card", strategy="Replace", outputs_milli={"gpu": 2_000})
    counts_once = replace(counts_double, outputs_milli={"gpu": 1_000})
    world.configure(resources=ResourceRules(transformations=(counts_double,)))
    key = world.submit("w", "q", {"card": 4})
    world.live()
    assert world.admitted() == []
    world.configure(resources=ResourceRules(transformations=(counts_once,)))
    assert world.anew() == world.remembered()
    world.live()
    assert world.admitted() == [key]
