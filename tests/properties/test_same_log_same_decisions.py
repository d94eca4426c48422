"""The same log gives the same decisions, whatever a worker has in memory (ADR 0017).

Every cycle is planned on a live cluster state, which keeps its inadmissible workloads, and on one
that was just folded from the log. Both must decide the same to the byte. Left out are only changes
of a recorded pending reason: no decision follows from them, and their number depends on how often a
worker plans.
"""

from contextlib import suppress
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule
from msgspec.structs import replace

from headgate.application.queries.cycles import digest
from headgate.domain.cluster_state import ClusterState
from headgate.domain.kinds.configuration import AdmissionFairSharing, FairSharing
from headgate.domain.kinds.configured_object import ObjectEvent
from headgate.domain.kinds.priority_classes import DisruptionBudgetCreated, DisruptionBudgetSpec
from headgate.domain.kinds.queue_settings import (
    BorrowWithinCohort,
    ClusterQueuePreemption,
    MinimumRuntime,
    PreemptionRate,
)
from headgate.domain.nodes.state import NodeCordoned, NodeReported, NodeUncordoned
from headgate.domain.recorded_event import RecordedEvent
from headgate.domain.rejection import Rejection
from headgate.domain.scheduling.cycle import plan_cycle
from headgate.domain.values.selectors import LabelSelector
from headgate.domain.workloads.commands import (
    CancelWorkload,
    DeactivateWorkload,
    HoldWorkload,
    ReleaseWorkload,
)
from headgate.domain.workloads.events import WorkloadSpecChanged
from headgate.domain.workloads.preemption_events import PreemptionGateClosed, PreemptionGateOpened
from headgate.domain.workloads.specs import TopologyRequest
from headgate.domain.workloads.state import phase_of
from tests.builders.world import ORIGIN, StreamEvent, World, quotas
from tests.cycles.reason_changes import explained_streams, without_reason_changes
from tests.hypothesis_profiles import examples
from tests.properties.state_digest import state_digest_text

QUEUES = ("a", "b", "c", "hosts", "more")
HOSTS = ("b1/r1/h1", "b1/r1/h2", "b1/r2/h3", "b2/r3/h4")
PICK = st.integers(0, 99)
MAX_CYCLES = 300


class Rules(NamedTuple):
    """What is drawn once for an installation."""

    policies: list[ClusterQueuePreemption]
    strict: list[bool]
    nested: bool
    fair: bool
    by_usage: bool
    block: bool
    budget: str


POLICIES = st.builds(
    lambda within, reclaim, borrow, others: ClusterQueuePreemption(
        within_cluster_queue=within,
        reclaim_within_cohort=reclaim,
        borrow_within_cohort=BorrowWithinCohort(policy=borrow if reclaim != "Never" else "Never"),
        **others,
    ),
    st.sampled_from(["Never", "LowerPriority", "LowerOrNewerEqualPriority"]),
    st.sampled_from(["Never", "LowerPriority", "Any"]),
    st.sampled_from(["Never", "LowerPriority"]),
    st.sampled_from(
        [
            {},
            {},
            {"rate_limit": PreemptionRate(per_minute=2)},
            {"min_runtime": MinimumRuntime(preempt_seconds=40, reclaim_seconds=20)},
            {"reserve_for_pending_non_preemptible": True},
        ]
    ),
)
RULES = st.builds(
    Rules,
    policies=st.lists(POLICIES, min_size=len(QUEUES), max_size=len(QUEUES)),
    strict=st.lists(st.booleans(), min_size=len(QUEUES), max_size=len(QUEUES)),
    nested=st.booleans(),
    fair=st.booleans(),
    by_usage=st.booleans(),
    block=st.sampled_from([False, False, False, True]),
    budget=st.sampled_from(["", "", "BestEffort", "Strict"]),
)
WANTED = st.fixed_dictionaries(
    {
        "queue": st.sampled_from(QUEUES),
        "amount": st.integers(1, 2),
        "pods": st.integers(1, 3),
        "priority": st.integers(0, 3),
        "least": st.sampled_from([None, None, 1]),
        "topology": st.sampled_from(
            [
                None,
                TopologyRequest(required="rack"),
                TopologyRequest(preferred="rack"),
                TopologyRequest(unconstrained=True),
            ]
        ),
        "others": st.sampled_from(
            [
                {},
                {},
                {},
                {"can_preempt": False},
                {"preemptibility": "NonPreemptible"},
                {"preemptibility": "SemiPreemptible"},
                {"preemption_gates": ("gate",)},
            ]
        ),
    }
)


class Lives(RuleBasedStateMachine):
    """An installation that lives on, and a fold of its log that never decides anything."""

    @initialize(rules=RULES)
    def install(self, rules: Rules) -> None:
        self.world = world = World()
        self.log, self.unasked = ClusterState(), ClusterState()
        # What a process has of ended workloads decides nothing either.
        self.log.ended.max_whole = 0
        self.submitted = 0
        self.coming: tuple[list[dict[str, Any]], int] | None = None
        world.configure(
            fair_sharing=FairSharing() if rules.fair else None,
            admission_fair_sharing=AdmissionFairSharing(usage_half_life_seconds=90)
            if rules.by_usage
            else None,
            block_admission=rules.block,
        )
        world.topology()
        world.flavor("plain")
        world.flavor("second")
        world.flavor("tas", node_labels={"pool": "gpu"}, topology_name="tree")
        for path in HOSTS:
            world.node(path, allocatable={"gpu": 4, "pods": 110})
        world.cohort("top")
        world.cohort("side", parent="top" if rules.nested else "")
        amounts: list[Any] = [
            quotas(plain=(4, 4, None)),
            quotas(plain=(3, 6, 2), second=2),
            quotas(plain=4, second=(1, 2, None)),
            quotas(tas=10),
            quotas(tas=(6, 4, None)),
        ]
        cohorts = ("top", "top", "side", "side", "side")
        for number, name in enumerate(QUEUES):
            world.cluster_queue(
                name,
                amounts[number],
                cohort_name=cohorts[number],
                preemption=rules.policies[number],
                queueing_strategy="StrictFIFO" if rules.strict[number] else "BestEffortFIFO",
                admission_mode="UsageBasedAdmissionFairSharing" if rules.by_usage else None,
            )
            world.local_queue(f"{name}-2", name)
        if rules.budget:
            enforcement: Any = rules.budget
            spec = DisruptionBudgetSpec(
                selector=LabelSelector(), max_unavailable=1, enforcement=enforcement
            )
            created = DisruptionBudgetCreated(uid="b", name="b", namespace="team", spec=spec)
            world.record("disruptionbudget/team/b", created)

    @rule(wanted=st.lists(WANTED, min_size=1, max_size=6), door=st.booleans())
    def submit(self, wanted: list[dict[str, Any]], door: bool) -> None:
        for want in wanted:
            self._ask_for(want, "-2" if door else "")
            self.decide()

    def _ask_for(self, want: dict[str, Any], door: str = "") -> None:
        self.submitted += 1
        pods, least, queue = want["pods"], want["least"], want["queue"]
        self.world.submit(
            f"w{self.submitted}",
            f"{queue}{door}",
            {"gpu": want["amount"]},
            count=(pods, least) if least else pods,
            priority=want["priority"],
            topology=want["topology"] if queue in {"hosts", "more"} else None,
            **want["others"],
        )

    @rule(pick=PICK, how=st.sampled_from(["finish", "finish", "ready", "stop", "stop", "reclaim"]))
    def report(self, pick: int, how: str) -> None:
        phases = {
            "finish": {"Running", "Starting"},
            "ready": {"Starting"},
            "stop": {"Evicting"},
            "reclaim": {"Running", "Pending"},
        }
        key = self._one(pick, lambda w: phase_of(w) in phases[how])
        if key and how == "reclaim":
            self.world.reclaim(key, 1)
        elif key:
            getattr(self.world, how)(key)
        self.decide()

    @rule(pick=PICK, how=st.sampled_from(["hold", "release", "cancel", "deactivate"]))
    def disturb(self, pick: int, how: str) -> None:
        key = self._one(pick, lambda w: w.finished_at is None)
        if key is None:
            return
        eviction = f"e-{self.world.cluster_state.position}"
        command: Any = {
            "hold": HoldWorkload(owner="x", reason="y"),
            "release": ReleaseWorkload(),
            "cancel": CancelWorkload(eviction=eviction, message="enough"),
            "deactivate": DeactivateWorkload(eviction=eviction, message="not now"),
        }[how]
        self._order(key, command)
        self.decide()

    @rule(wanted=st.lists(WANTED, min_size=1, max_size=3))
    def submit_and_lose_the_plan(self, wanted: list[dict[str, Any]]) -> None:
        """A worker plans, is overtaken by concurrent events, and plans again."""
        for want in wanted:
            self._ask_for(want)
        cluster_state = self.world.cluster_state
        for key in cluster_state.partition_keys():
            with cluster_state.overlay():
                plan_cycle(cluster_state, key, self.world.at, "lost")
        self.decide()

    @rule(wanted=st.lists(WANTED, min_size=2, max_size=4), pick=PICK)
    def submit_while_others_append(self, wanted: list[dict[str, Any]], pick: int) -> None:
        """A worker plans, and others' facts come in between that need not undo the plan."""
        first, *others = wanted
        if self.world.cluster_state.usage_history.rules is None:
            self.coming = (others, pick)
        self._ask_for(first)
        self.decide()

    @rule(pick=PICK, priority=st.integers(0, 3))
    def change_priority(self, pick: int, priority: int) -> None:
        key = self._one(pick, lambda w: w.finished_at is None)
        if key is None:
            return
        known = self.world[key]
        changed = replace(known.spec, priority=priority)
        event = WorkloadSpecChanged(
            labels=known.labels, annotations=known.annotations, spec=changed
        )
        self.world.record(f"workload/{key}", event)
        self.decide()

    @rule(pick=PICK, opens=st.booleans())
    def turn_a_gate(self, pick: int, opens: bool) -> None:
        key = self._one(pick, lambda w: bool(w.spec.preemption_gates))
        if key:
            turned = PreemptionGateOpened if opens else PreemptionGateClosed
            self.world.record(f"workload/{key}", turned(gate="gate"))
            self.decide()

    @rule(
        host=st.sampled_from(HOSTS),
        gpus=st.integers(0, 5),
        how=st.sampled_from(["report", "report", "cordon", "uncordon"]),
    )
    def change_a_node(self, host: str, gpus: int, how: str) -> None:
        reported = NodeReported(ready=gpus > 0, allocatable={"gpu": gpus, "pods": 110})
        events: dict[str, ObjectEvent] = {
            "report": reported,
            "cordon": NodeCordoned(),
            "uncordon": NodeUncordoned(),
        }
        self.world.record(f"node/{host.rpartition('/')[2]}", events[how])
        self.decide()

    @rule(nominal=st.integers(0, 6))
    def change_quota(self, nominal: int) -> None:
        self.world.change_cluster_queue("a", resource_groups=quotas(plain=(nominal, 4, None)))
        self.decide()

    @rule(seconds=st.sampled_from([1, 10, 25, 45, 90]))
    def time_passes(self, seconds: int) -> None:
        self.world.wait(seconds)
        self.decide()

    def decide(self) -> None:
        """Cycle after cycle, each on both; every one is committed before the next is planned."""
        world = self.world
        for key in world.cluster_state.partition_keys():
            for number in range(MAX_CYCLES):
                if not self._cycle(key, f"{world.cluster_state.position}.{number}"):
                    break
            else:
                raise AssertionError("it never settles")

    def _cycle(self, key: str, cycle_id: str) -> bool:
        cluster_state, at = self.world.cluster_state, self.world.at
        for recorded in self.world.history[self.log.position :]:
            self.log.apply(recorded)
        self._tell_unasked()
        fresh = self.log.fork()
        known = explained_streams(fresh)
        with fresh.overlay():
            anew = _facts(plan_cycle(fresh, key, at, cycle_id))
        with cluster_state.overlay() as overlay:
            made = _facts(plan_cycle(cluster_state, key, at, cycle_id))
            between = self._come_between(made)
            assert all(cluster_state.may_come_after(recorded) for recorded in between)
            overlay.keep(cluster_state.position + len(between), between)
        self._write_down(made)
        ours, theirs = without_reason_changes(made, known), without_reason_changes(anew, known)
        assert kinds(ours) == kinds(theirs)
        assert digest(ours) == digest(theirs), "the same facts, byte by byte"
        return bool(made)

    def _come_between(self, made: list[StreamEvent]) -> list[RecordedEvent]:
        """What others append before these decisions, which does not concern the same workloads."""
        if self.coming is None or not made:
            return []
        (wanted, pick), self.coming = self.coming, None
        world, count = self.world, len(self.world.history)
        ours, world.cluster_state = world.cluster_state, self.log.fork()
        for want in wanted:
            self._ask_for(want)
        touched = {stream.removeprefix("workload/") for stream, _ in made}
        running = {"Running", "Starting"}
        key = self._one(pick, lambda w: w.key not in touched and phase_of(w) in running)
        if key is not None:
            world.finish(key)
        world.cluster_state = ours
        return world.history[count:]

    def _write_down(self, made: list[StreamEvent]) -> None:
        history = self.world.history
        versions = {stream: self.world.cluster_state.version_of(stream) for stream, _ in made}
        for stream, _ in made:
            versions[stream] -= 1
        for stream, event in made:
            versions[stream] += 1
            history.append(
                RecordedEvent(
                    position=len(history) + 1,
                    stream=stream,
                    version=versions[stream],
                    event=event,
                    at=self.world.at,
                    metadata=ORIGIN,
                )
            )

    def teardown(self) -> None:
        """Partitions that are told only at the end know what those know that are built anew."""
        if hasattr(self, "world"):
            self._tell_unasked()
            built = ClusterState.load(self.unasked.dump())
            assert state_digest_text(self.unasked) == state_digest_text(built)

    def _tell_unasked(self) -> None:
        for recorded in self.world.history[self.unasked.position :]:
            self.unasked.apply(recorded)
        assert self.unasked.partition_keys()

    def _one(self, pick: int, wanted: Any) -> str | None:
        known = self.world.cluster_state.workloads
        keys = [key for key in sorted(known) if wanted(known[key])]
        return keys[pick % len(keys)] if keys else None

    def _order(self, key: str, command: Any) -> None:
        with suppress(Rejection):
            self.world.tell(key, command)


def kinds(facts: list[StreamEvent]) -> list[tuple[str, str]]:
    """What happens to whom, for people."""
    return [(stream, type(event).__name__) for stream, event in facts]


def _facts(plan: Any) -> list[StreamEvent]:
    return [fact for decision in plan.decisions for fact in decision.events]


TestLives = pytest.mark.slow(Lives.TestCase)
TestLives.settings = settings(
    max_examples=examples(600, quick=5),
    stateful_step_count=40,
    suppress_health_check=[HealthCheck.too_slow],
    deadline=None,
)
