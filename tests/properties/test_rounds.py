"""What always holds of preemption rounds while victims leave one after the other (§6.12)."""

from collections.abc import Callable
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headgate.domain.budgets.events import DisruptionBudgetCreated
from headgate.domain.budgets.specs import DisruptionBudgetSpec
from headgate.domain.cell import Cell
from headgate.domain.facts import Recorded
from headgate.domain.queues.specs import (
    BorrowWithinCohort,
    ClusterQueuePreemption,
    PreemptionPolicy,
    ReclaimPolicy,
)
from headgate.domain.rounds.events import PlacementInvalidated, RoundCommitted
from headgate.domain.rounds.state import Round, is_guaranteeing, is_open
from headgate.domain.scheduling.disruption import budget_standings, violated_budgets, whole
from headgate.domain.scheduling.pledges import claim_of
from headgate.domain.scheduling.quota.usage import available
from headgate.domain.values.selectors import LabelSelector
from headgate.domain.workloads.commands import AcknowledgeEviction
from headgate.domain.workloads.decide import WORKLOAD
from headgate.domain.workloads.events import (
    WorkloadDeletionRequested,
    WorkloadEvicted,
    WorkloadQuotaReserved,
)
from headgate.domain.workloads.leaving import holds_quota
from headgate.domain.workloads.protecting import protection_of
from headgate.domain.workloads.specs import EvictionPolicy, Preemptibility
from headgate.domain.workloads.state import Workload
from tests.builders.world import World, quotas

QUEUES = ("a", "b", "c")
GPU = ("default", "gpu")
SOFT = EvictionPolicy(grace_period_seconds=60, handler="ckpt")
PREEMPTIBILITIES: tuple[Preemptibility, ...] = ("Preemptible", "Preemptible", "NonPreemptible")
WITHIN: tuple[PreemptionPolicy, ...] = ("Never", "LowerPriority", "LowerOrNewerEqualPriority")
RECLAIM: tuple[ReclaimPolicy, ...] = ("Never", "LowerPriority", "Any")

POLICIES = st.builds(
    lambda within, reclaim, borrow: ClusterQueuePreemption(
        within_cluster_queue=within,
        reclaim_within_cohort=reclaim,
        borrow_within_cohort=BorrowWithinCohort(
            policy="LowerPriority" if borrow and reclaim != "Never" else "Never"
        ),
    ),
    st.sampled_from(WITHIN),
    st.sampled_from(RECLAIM),
    st.booleans(),
)
SUBMISSION = st.fixed_dictionaries(
    {
        "queue": st.sampled_from(QUEUES),
        "size": st.integers(1, 4),
        "priority": st.integers(0, 4),
        "can_preempt": st.sampled_from([True, True, True, False]),
        "preemptibility": st.sampled_from(PREEMPTIBILITIES),
        "soft": st.booleans(),
        "least": st.sampled_from([None, None, 1]),
    }
)
STEP = st.one_of(
    SUBMISSION,
    st.sampled_from(["stop", "stop", "stop", "acknowledge", "finish", "delete", "wait"]),
)


class Tale:
    """A world and a second fold of its history that judges every fact as it comes."""

    def __init__(self, policies: list[ClusterQueuePreemption], nominal: list[int]) -> None:
        self.world = World()
        self.witness = Cell()
        self.submitted = 0
        self.broken_places: set[str] = set()
        self.world.flavor("default")
        for name, preemption, amount in zip(QUEUES, policies, nominal, strict=True):
            self.world.cluster_queue(
                name, quotas(default=amount), preemption=preemption, cohort_name="all"
            )
        budget = DisruptionBudgetSpec(selector=LabelSelector(), max_unavailable=1)
        created = DisruptionBudgetCreated(uid="b", name="b", namespace="team", spec=budget)
        self.world.record("disruptionbudget/team/b", created)
        self.judge()

    def take(self, step: Any, choice: int) -> None:
        """One thing happens, and then everything that follows from it."""
        if isinstance(step, dict):
            self.submit(step)
        elif step == "wait":
            self.world.wait(45)
        else:
            self.report(step, choice)
        self.world.settle()
        self.judge()

    def submit(self, asked: dict[str, Any]) -> None:
        self.submitted += 1
        least = asked["least"] if asked["least"] and asked["size"] > 1 else None
        count = (asked["size"], least) if least else asked["size"]
        self.world.submit(
            f"w{self.submitted}",
            asked["queue"],
            {"gpu": 1},
            count=count,
            priority=asked["priority"],
            can_preempt=asked["can_preempt"],
            preemptibility=asked["preemptibility"],
            eviction_policy=SOFT if asked["soft"] else None,
        )
        self.world.wait(1)

    def report(self, step: str, choice: int) -> None:
        wanted: dict[str, Callable[[Workload], bool]] = {
            "stop": lambda w: w.eviction is not None,
            "acknowledge": lambda w: w.eviction is not None,
            "finish": lambda w: holds_quota(w) and w.eviction is None,
            "delete": lambda w: w.round_id is not None,
        }
        everyone = sorted(self.world.cell.workloads.items())
        found = [w for _, w in everyone if wanted[step](w)]
        if not found:
            return
        workload = found[choice % len(found)]
        if step == "stop":
            self.world.stop(workload.key)
        elif step == "finish":
            self.world.finish(workload.key)
        elif step == "delete":
            self.world.record(f"workload/{workload.key}", WorkloadDeletionRequested())
        else:
            self.acknowledge(workload)

    def acknowledge(self, workload: Workload) -> None:
        assert workload.eviction is not None, "only who is evicted is taken over"
        command = AcknowledgeEviction(uid=workload.uid, eviction=workload.eviction.id)
        for event in WORKLOAD.decide(workload, command, self.world.at):
            self.world.record(f"workload/{workload.key}", event)

    def judge(self) -> None:
        """Fold what is new into the witness, looking at it before and after."""
        for recorded in self.world.history[self.witness.position :]:
            self.before(recorded)
            self.witness.apply(recorded)
            self.after(recorded)
        self.at_rest()

    def before(self, recorded: Recorded) -> None:
        event = recorded.event
        if isinstance(event, RoundCommitted):
            self.committed(event, recorded)
        if isinstance(event, WorkloadEvicted) and event.reason == "Preempted":
            assert event.eviction in self.witness.rounds, "I18: no eviction without its round"
        if isinstance(event, PlacementInvalidated) and event.by == "Taken":
            self.taken(self.witness.rounds[recorded.stream.removeprefix("round/")], event)

    def committed(self, event: RoundCommitted, recorded: Recorded) -> None:
        cell = self.witness
        others = [found for found in cell.rounds.values() if is_open(found)]
        serving = {v.workload for r in others for v in r.victims if v.workload not in r.released}
        for victim in event.victims:
            held = cell.workloads[victim.workload]
            assert victim.workload not in serving, "I2: a victim serves one round"
            assert holds_quota(held), "I2: a victim holds a place"
            assert held.eviction is None, "I2: who is leaving is credited, not chosen"
            assert held.spec.preemptibility == "Preemptible", "I1: immunity holds"
        mine = [r for r in others if r.preemptor == event.preemptor]
        assert all(r.stage == "Invalidated" for r in mine), "I11: no second round"
        preemptor = cell.workloads[event.preemptor]
        assert preemptor.spec.can_preempt, "I19: who may not preempt starts no round"
        assert event.basis_position < recorded.position, "I15: decided on the past"
        self.recounted(event)

    def recounted(self, event: RoundCommitted) -> None:
        cell = self.witness
        standings = budget_standings(cell.config.disruption_budgets, cell.workloads.values())
        victims = [cell.workloads[v.workload] for v in event.victims]
        ranked = sorted(victims, key=lambda w: (-protection_of(w.spec), w.uid))
        broken = violated_budgets(standings, [whole(w) for w in ranked])
        stored = sum(bool(v.violates) for v in event.victims)
        assert stored == sum(map(bool, broken)), "I10: violations are those of a recount"

    def taken(self, kept: Round, event: PlacementInvalidated) -> None:
        """I17: only a stronger claim takes what a round keeps."""
        cell = self.witness
        taker, preemptor = cell.workloads[event.taken_by], cell.workloads[kept.preemptor]
        admission = taker.admission or taker.nomination
        assert admission is not None, "who took it has it"
        queue = admission.cluster_queue
        stronger = claim_of(cell.config, taker, queue) < claim_of(
            cell.config, preemptor, kept.cluster_queue
        )
        if is_guaranteeing(kept):
            assert queue == kept.cluster_queue, "I17: what is owned yields to its own queue alone"
            assert stronger, "I17: and there only to the stronger"
        else:
            assert stronger or queue != kept.cluster_queue, "I17: to the stronger, or to nominal"

    def after(self, recorded: Recorded) -> None:
        event = recorded.event
        if isinstance(event, WorkloadQuotaReserved):
            self.reserved(recorded.stream.removeprefix("workload/"))

    def reserved(self, key: str) -> None:
        cell = self.witness
        workload = cell.workloads[key]
        assert workload.admission is not None, "it was just given a place"
        partition = cell.partition(cell.partition_of_workload(workload))
        for view in (0, 1):
            used = partition.usage[view]["cohort/all"].get(GPU, 0)
            owned = partition.tree.subtree["cohort/all"][GPU]
            if view == 0:
                assert used <= owned, "I12: usage never exceeds what there is"
        given = workload.admission.pod_set_assignments[0]
        least = workload.spec.pod_sets[0].min_count or workload.spec.pod_sets[0].count
        assert given.count >= least, "I9: no pod set below its minimum"

    def at_rest(self) -> None:
        cell = self.world.cell
        for name in QUEUES:
            immune = sum(
                given.resource_usage.get("gpu", 0)
                for w in cell.workloads.values()
                if w.spec.preemptibility == "NonPreemptible" and holds_quota(w) and w.admission
                if w.admission.cluster_queue == name
                for given in w.admission.pod_set_assignments
            )
            quota = cell.config.cluster_queues[name].spec.resource_groups[0].flavors[0]
            assert immune <= quota.resources[0].nominal_quota, "I8: immunity costs nominal quota"
        for found in cell.rounds.values():
            if is_open(found) and found.stage != "Invalidated":
                self.kept(found)

    def kept(self, found: Round) -> None:
        """I3: the place of an open round can be had once everyone has left."""
        cell = self.world.cell
        preemptor = cell.workloads[found.preemptor]
        partition = cell.partition(cell.partition_of_workload(preemptor))
        charge = partition.charge_of(preemptor, found.admission)
        node = f"clusterqueue/{found.cluster_queue}"
        partition.give_back(1, charge)
        try:
            room = available(partition.tree, partition.usage[1], node, GPU)
        finally:
            partition.take(1, charge)
        assert charge.amounts.get(GPU, 0) <= room, "I3: the place is there in the end"


@settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(
    st.lists(POLICIES, min_size=3, max_size=3),
    st.lists(st.integers(0, 5), min_size=3, max_size=3),
    st.lists(st.tuples(STEP, st.integers(0, 7)), min_size=4, max_size=24),
)
def test_rounds_keep_their_promises(
    policies: list[ClusterQueuePreemption],
    nominal: list[int],
    steps: list[tuple[Any, int]],
) -> None:
    tale = Tale(policies, nominal)
    for step, choice in steps:
        tale.take(step, choice)
    folded = Cell()
    for recorded in tale.world.history:
        folded.apply(recorded)
    assert folded.dump() == tale.world.cell.dump(), "I15: folding again gives the same"
