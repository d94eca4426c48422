"""With blockAdmission no workload starts while another is not ready."""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from headgate.domain.kinds.cluster_queue import AdmissionCheckRule
from headgate.domain.kinds.wait_for_pods_ready import RequeuingStrategy, WaitForPodsReady
from headgate.domain.workloads.events import (
    WorkloadAdmitted,
    WorkloadFinished,
    WorkloadPodsNotReady,
    WorkloadPodsReady,
    WorkloadStopped,
)
from headgate.domain.workloads.predicates import has_quota_reservation
from headgate.domain.workloads.state import Workload, is_admitted, is_condition_true
from tests.builders.world import World, quotas
from tests.hypothesis_profiles import examples

WAITS = WaitForPodsReady(
    timeout_seconds=60,
    recovery_timeout_seconds=30,
    requeuing_strategy=RequeuingStrategy(backoff_base_seconds=5),
)
QUEUES = ("plain", "checked", "other")
PICK = st.integers(0, 99)


class BlockedAdmission(RuleBasedStateMachine):
    """Three partitions, one with a check; `awaited` is the workload that is not ready."""

    @initialize()
    def install(self) -> None:
        self.world = World()
        self.world.flavor("default")
        self.world.admission_check("budget")
        self.world.configure(block_admission=True, wait_for_pods_ready=WAITS)
        for name in QUEUES:
            self.world.cluster_queue(name, quotas(default=3))
        rules = (AdmissionCheckRule(name="budget"),)
        self.world.change_cluster_queue("checked", admission_checks=rules)
        self.awaited: set[str] = set()
        self.read = 0

    @rule(queue=st.sampled_from(QUEUES), priority=st.integers(0, 2))
    def submit(self, queue: str, priority: int) -> None:
        name = f"w{len(self.world.cluster_state.workloads)}"
        self.world.submit(name, queue, priority=priority)

    @rule(pick=PICK, state=st.sampled_from(["Ready", "Ready", "Ready", "Retry", "Pending"]))
    def report_check(self, pick: int, state: str) -> None:
        asked = [key for key, found in self._alive() if found.checks]
        if asked:
            self.world.check(asked[pick % len(asked)], "budget", state)

    @rule(pick=PICK, is_ready=st.booleans())
    def report_pods(self, pick: int, is_ready: bool) -> None:
        running = [
            key
            for key, found in self._alive()
            if is_admitted(found)
            and found.eviction is None
            and is_condition_true(found, "PodsReady") != is_ready
        ]
        if running:
            told = WorkloadPodsReady() if is_ready else WorkloadPodsNotReady()
            self.world.record(f"workload/{running[pick % len(running)]}", told)

    @rule(pick=PICK)
    def finish(self, pick: int) -> None:
        running = [key for key, found in self._alive() if is_admitted(found)]
        if running:
            self.world.finish(running[pick % len(running)])

    @rule(seconds=st.integers(1, 70))
    def wait(self, seconds: int) -> None:
        self.world.wait(seconds)

    @rule(pick=PICK)
    def stop(self, pick: int) -> None:
        leaving = [key for key, found in self._alive() if found.eviction is not None]
        if leaving:
            self.world.stop(leaving[pick % len(leaving)])

    @rule(number=st.integers(0, 2))
    def turn(self, number: int) -> None:
        """One partition's worker has its turn; the others stand where they stood."""
        self.world.cycle(f"clusterqueue/{QUEUES[number]}")
        self._no_workload_started_while_blocked()

    def _no_workload_started_while_blocked(self) -> None:
        for recorded in self.world.history[self.read :]:
            match recorded.event:
                case WorkloadAdmitted():
                    assert not self.awaited, f"started beside {self.awaited}"
                    self.awaited.add(recorded.stream)
                case WorkloadPodsNotReady():
                    self.awaited.add(recorded.stream)
                case WorkloadPodsReady() | WorkloadStopped() | WorkloadFinished():
                    self.awaited.discard(recorded.stream)
                case _:
                    pass
        self.read = len(self.world.history)

    def teardown(self) -> None:
        """In the end every workload that fits starts."""
        for _ in range(2 * len(self.world.cluster_state.workloads)):
            self.world.settle()
            self._no_workload_started_while_blocked()
            for key, found in self._alive():
                if found.eviction is not None:
                    self.world.stop(key)
                elif is_admitted(found):
                    self.world.finish(key)
                elif found.checks:
                    self.world.check(key, "budget", "Ready")
            self.world.wait(60)
        if self.world.cluster_state.workloads:
            self.world.settle()
            assert not self.world.cluster_state.partition_index.startable, (
                "a workload was never started"
            )

    def _alive(self) -> list[tuple[str, Workload]]:
        return [
            (k, w)
            for k, w in sorted(self.world.cluster_state.workloads.items())
            if has_quota_reservation(w)
        ]


TestBlockedAdmission = BlockedAdmission.TestCase
TestBlockedAdmission.settings = settings(
    max_examples=examples(600), stateful_step_count=40, deadline=None
)
