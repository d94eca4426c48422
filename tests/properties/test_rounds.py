"""What always holds of preemption rounds while victims leave one after the other (§6.12)."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headgate.domain.cluster_state import ClusterState
from headgate.domain.kinds.priority_classes import DisruptionBudgetCreated, DisruptionBudgetSpec
from headgate.domain.kinds.queue_settings import (
    BorrowWithinCohort,
    ClusterQueuePreemption,
    ReclaimPolicy,
    WithinClusterQueuePolicy,
)
from headgate.domain.values.selectors import LabelSelector
from headgate.domain.workloads.commands import AcknowledgeEviction
from headgate.domain.workloads.events import WorkloadDeletionRequested
from headgate.domain.workloads.predicates import has_quota_reservation
from headgate.domain.workloads.specs import EvictionPolicy, PodSet, Preemptibility, Scheduling
from headgate.domain.workloads.state import Workload
from headgate.domain.workloads.transitions.preemption import (
    oldest_ongoing_eviction,
    ongoing_evictions,
)
from tests.builders.world import World, quotas
from tests.simulation.invariants import Invariants
from tests.verify.histories import findings_of

QUEUES = ("a", "b", "c")
SOFT = EvictionPolicy(grace_period_seconds=60, handler="ckpt")
PREEMPTIBILITIES: tuple[Preemptibility, ...] = (
    "Preemptible", "Preemptible", "NonPreemptible", "SemiPreemptible",
)  # fmt: skip
WITHIN: tuple[WithinClusterQueuePolicy, ...] = (
    "Never",
    "LowerPriority",
    "LowerOrNewerEqualPriority",
)
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
        "single": st.booleans(),
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
        self.witness = ClusterState()
        self.promises = Invariants(self.witness)
        self.submitted = 0
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
        pod_set = PodSet(
            count=asked["size"],
            min_count=least,
            disruption_mode="Single" if asked["single"] else "All",
            scheduling=Scheduling(requests={"gpu": 1}),
        )
        kind = asked["preemptibility"]
        self.world.submit_pod_sets(
            f"w{self.submitted}",
            asked["queue"],
            pod_set,
            priority=asked["priority"],
            can_preempt=asked["can_preempt"],
            preemptibility="Preemptible" if kind == "SemiPreemptible" and not least else kind,
            eviction_policy=SOFT if asked["soft"] else None,
        )
        self.world.wait(1)

    def report(self, step: str, choice: int) -> None:
        wanted: dict[str, Callable[[Workload], bool]] = {
            "stop": lambda w: oldest_ongoing_eviction(w) is not None,
            "acknowledge": lambda w: oldest_ongoing_eviction(w) is not None,
            "finish": lambda w: has_quota_reservation(w) and w.eviction is None,
            "delete": lambda w: w.round_id is not None,
        }
        everyone = sorted(self.world.cluster_state.workloads.items())
        found = [w for _, w in everyone if wanted[step](w)]
        if not found:
            return
        workload = found[choice % len(found)]
        if step == "stop":
            self.stop(workload, choice)
        elif step == "finish":
            self.world.finish(workload.key)
        elif step == "delete":
            self.world.record(f"workload/{workload.key}", WorkloadDeletionRequested())
        else:
            self.acknowledge(workload)

    def stop(self, workload: Workload, choice: int) -> None:
        """All of it, or the pods that one of its rounds asked for."""
        if workload.eviction is not None:
            self.world.stop(workload.key)
        else:
            self.world.give_up_pods(workload.key, choice % len(workload.pod_evictions))

    def acknowledge(self, workload: Workload) -> None:
        eviction = ongoing_evictions(workload)[-1]
        command = AcknowledgeEviction(uid=workload.uid, eviction=eviction.id)
        self.world.tell(workload.key, command)

    def judge(self) -> None:
        """Fold what is new into the witness, looking at it before and after."""
        for recorded in self.world.history[self.witness.position :]:
            self.promises.before(recorded)
            self.witness.apply(recorded)
            self.promises.after(recorded)
        self.promises.at_rest()


@pytest.mark.slow
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
    folded = ClusterState()
    for recorded in tale.world.history:
        folded.apply(recorded)
    assert folded.dump() == tale.world.cluster_state.dump(), "I15: folding again gives the same"
    assert findings_of(tale.world.history) == []
