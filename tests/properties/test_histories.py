"""What holds after any history: nothing is overdrawn or forgotten, and everything settles."""

from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from headgate.domain.cluster_state import ClusterState
from headgate.domain.kinds.cluster_queue import (
    AdmissionCheckRule,
    ClusterQueueResumed,
    ClusterQueueStopped,
)
from headgate.domain.kinds.configuration import AdmissionFairSharing
from headgate.domain.kinds.local_queue import LocalQueueResumed, LocalQueueStopped
from headgate.domain.kinds.queue_settings import ClusterQueuePreemption
from headgate.domain.kinds.queue_stop import Stop
from headgate.domain.kinds.wait_for_pods_ready import RequeuingStrategy, WaitForPodsReady
from headgate.domain.nodes.state import NodeCordoned, NodeReported, NodeUncordoned
from headgate.domain.rounds.state import RoundCommitted, is_open
from headgate.domain.scheduling.cycle import plan_cycle
from headgate.domain.scheduling.pending_reasons import current_reason, recorded_reason
from headgate.domain.scheduling.placement.host_table import ACTUAL, PROJECTED
from headgate.domain.scheduling.quota.usage import available
from headgate.domain.workloads.events import (
    WorkloadActivated,
    WorkloadDeactivated,
    WorkloadHeld,
    WorkloadPodsNotReady,
    WorkloadQuotaReserved,
    WorkloadReleased,
)
from headgate.domain.workloads.predicates import has_quota_reservation
from headgate.domain.workloads.specs import TopologyRequest
from headgate.domain.workloads.state import is_admitted, phase_of
from headgate.messages.catalogue import TEXTS, sentence_of
from headgate.messages.rendering import required_arguments_of
from tests.builders.world import StreamEvent, World, quotas
from tests.hypothesis_profiles import examples
from tests.properties.state_digest import folded, state_digest_text

QUEUES = ("a", "b", "c", "tight")
HOSTS = ("b1/r1/h1", "b1/r1/h2", "b1/r2/h3", "b2/r3/h4", "b2/r3/h5")
SECONDS = 1_000_000
CHECKS = (AdmissionCheckRule(name="budget"),)


class Wanted(NamedTuple):
    """A workload as drawn by chance."""

    queue: str
    gpus: int
    pods: int
    priority: int
    topology: TopologyRequest | None
    limit: int | None
    least: int | None


WANTED = st.builds(
    Wanted,
    queue=st.sampled_from(QUEUES),
    gpus=st.integers(1, 5),
    pods=st.integers(1, 4),
    priority=st.integers(0, 3),
    topology=st.sampled_from(
        [
            None,
            TopologyRequest(required="rack"),
            TopologyRequest(preferred="rack"),
            TopologyRequest(required="kubernetes.io/hostname"),
            TopologyRequest(unconstrained=True),
        ]
    ),
    limit=st.sampled_from([None, None, 45]),
    least=st.sampled_from([None, None, 1]),
)


class Histories(RuleBasedStateMachine):
    """One installation with a cohort, a standalone topology queue, and everything that happens."""

    @initialize()
    def install(self) -> None:
        self.world = World()
        self.world.cluster_state.ended.max_whole = 2
        self.submitted = 0
        world = self.world
        world.topology()
        world.flavor("plain")
        world.flavor("tas", node_labels={"pool": "gpu"}, topology_name="tree")
        for path in HOSTS:
            world.node(path)
        world.admission_check("budget")
        usage = AdmissionFairSharing(usage_half_life_seconds=90)
        world.configure(admission_fair_sharing=usage)
        world.cohort("team")
        lower = ClusterQueuePreemption(within_cluster_queue="LowerPriority")
        newer = ClusterQueuePreemption(within_cluster_queue="LowerOrNewerEqualPriority")
        waits = WaitForPodsReady(
            timeout_seconds=60,
            recovery_timeout_seconds=30,
            requeuing_strategy=RequeuingStrategy(
                backoff_limit_count=2, backoff_base_seconds=10, backoff_max_seconds=40
            ),
        )
        world.cluster_queue(
            "a", quotas(plain=(4, 3, 2)), cohort_name="team", preemption=lower,
            wait_for_pods_ready=waits,
        )  # fmt: skip
        world.cluster_queue(
            "b", quotas(plain=6), cohort_name="team", preemption=newer, admission_checks=CHECKS,
            admission_mode="UsageBasedAdmissionFairSharing",
        )  # fmt: skip
        world.cluster_queue("c", quotas(tas=30), preemption=lower, wait_for_pods_ready=waits)
        world.cluster_queue("tight", quotas(tas=12), queueing_strategy="StrictFIFO")

    @rule(wanted=st.lists(WANTED, min_size=1, max_size=5), then_settle=st.booleans())
    def submit(self, wanted: list[Wanted], then_settle: bool) -> None:
        for want in wanted:
            self.submitted += 1
            self.world.submit(
                f"w{self.submitted}",
                want.queue,
                {"gpu": want.gpus},
                count=(want.pods, want.least) if want.least else want.pods,
                priority=want.priority,
                topology=want.topology if want.queue in {"c", "tight"} else None,
                maximum_execution_time_seconds=want.limit,
            )
        if then_settle:
            self.settle()

    def _some(self, pick: int, keys: list[str]) -> str | None:
        return keys[pick % len(keys)] if keys else None

    @rule(pick=st.integers(0, 99))
    def finish(self, pick: int) -> None:
        running = [k for k, w in sorted(self.world.cluster_state.workloads.items()) if _runs(w)]
        key = self._some(pick, running)
        if key:
            self.world.finish(key)
            self.settle()

    @rule(pick=st.integers(0, 99))
    def become_ready(self, pick: int) -> None:
        starting = [
            k
            for k, w in sorted(self.world.cluster_state.workloads.items())
            if phase_of(w) == "Starting"
        ]
        key = self._some(pick, starting)
        if key:
            self.world.ready(key)

    @rule(pick=st.integers(0, 99))
    def lose_a_pod(self, pick: int) -> None:
        running = [
            k
            for k, w in sorted(self.world.cluster_state.workloads.items())
            if phase_of(w) == "Running"
        ]
        key = self._some(pick, running)
        if key:
            self.world.record(f"workload/{key}", WorkloadPodsNotReady())

    @rule(pick=st.integers(0, 99), pods=st.integers(1, 4))
    def end_some_pods(self, pick: int, pods: int) -> None:
        alive = [
            k
            for k, w in sorted(self.world.cluster_state.workloads.items())
            if w.finished_at is None
        ]
        key = self._some(pick, alive)
        if key:
            self.world.reclaim(key, pods)
            self.settle()

    @rule(
        pick=st.integers(0, 99),
        state=st.sampled_from(["Ready", "Ready", "Retry", "Rejected", "Pending"]),
        wait=st.sampled_from([None, 30]),
    )
    def answer_a_check(self, pick: int, state: str, wait: int | None) -> None:
        asked = [k for k, w in sorted(self.world.cluster_state.workloads.items()) if _is_checked(w)]
        key = self._some(pick, asked)
        if key:
            self.world.check(key, "budget", state, wait)
            self.settle()
            left = self.world.cluster_state.workloads[key]
            assert not (state == "Ready" and phase_of(left) == "QuotaReserved"), "all agree"

    @rule(asks=st.booleans())
    def change_checks(self, asks: bool) -> None:
        self.world.change_cluster_queue("b", admission_checks=CHECKS if asks else ())

    @rule(pick=st.integers(0, 99))
    def stop(self, pick: int) -> None:
        leaving = [
            k
            for k, w in sorted(self.world.cluster_state.workloads.items())
            if phase_of(w) == "Evicting"
        ]
        key = self._some(pick, leaving)
        if key:
            self.world.stop(key)
            self.settle()

    @rule(pick=st.integers(0, 99), seconds=st.sampled_from([None, 20]))
    def hold_or_release(self, pick: int, seconds: int | None) -> None:
        alive = [
            k
            for k, w in sorted(self.world.cluster_state.workloads.items())
            if w.finished_at is None
        ]
        key = self._some(pick, alive)
        if not key:
            return
        until = self.world.at + seconds * SECONDS if seconds else None
        held = self.world[key].hold is not None
        event = (
            WorkloadReleased() if held else WorkloadHeld(owner="x", reason="y", expires_at=until)
        )
        self.world.record(f"workload/{key}", event)

    @rule(pick=st.integers(0, 99))
    def deactivate_or_activate(self, pick: int) -> None:
        alive = [
            k
            for k, w in sorted(self.world.cluster_state.workloads.items())
            if w.finished_at is None
        ]
        key = self._some(pick, alive)
        if key:
            active = self.world[key].spec.active
            event = WorkloadDeactivated(cause="Requested") if active else WorkloadActivated()
            self.world.record(f"workload/{key}", event)

    @rule(pick=st.integers(0, 99))
    def delete(self, pick: int) -> None:
        gone = [
            k
            for k, w in sorted(self.world.cluster_state.workloads.items())
            if not has_quota_reservation(w)
        ]
        key = self._some(pick, [*gone, *sorted(self.world.left)])
        if key:
            self.world.record(f"workload/{key}", self.world.deletion(key))

    @rule(host=st.sampled_from(HOSTS), gpus=st.integers(0, 8), others=st.integers(0, 3))
    def report_node(self, host: str, gpus: int, others: int) -> None:
        name = host.rpartition("/")[2]
        reported = NodeReported(
            ready=gpus > 0,
            allocatable={"gpu": gpus, "pods": 110},
            used_by_others={"gpu": others, "pods": others},
        )
        self.world.record(f"node/{name}", reported)

    @rule(host=st.sampled_from(HOSTS), cordon=st.booleans())
    def cordon(self, host: str, cordon: bool) -> None:
        name = host.rpartition("/")[2]
        self.world.record(f"node/{name}", NodeCordoned() if cordon else NodeUncordoned())

    @rule(queue=st.sampled_from(["a", "b"]), nominal=st.integers(0, 8))
    def change_quota(self, queue: str, nominal: int) -> None:
        self.world.change_cluster_queue(queue, resource_groups=quotas(plain=(nominal, 3, 2)))

    @rule(
        queue=st.sampled_from(QUEUES),
        policy=st.sampled_from(["Hold", "HoldAndDrain"]),
        local=st.booleans(),
        seconds=st.sampled_from([None, 25]),
    )
    def stop_or_resume_queue(
        self, queue: str, policy: Any, local: bool, seconds: int | None
    ) -> None:
        config = self.world.cluster_state.config
        objects: Any = config.local_queues if local else config.cluster_queues
        key = f"team/{queue}" if local else queue
        stream = f"localqueue/{key}" if local else f"clusterqueue/{key}"
        if objects[key].spec.stop_policy != "None":
            self.world.record(stream, LocalQueueResumed() if local else ClusterQueueResumed())
            return
        until = self.world.at + seconds * SECONDS if seconds else None
        stop = Stop(owner="x", reason="y", stopped_at=self.world.at, expires_at=until)
        kind = LocalQueueStopped if local else ClusterQueueStopped
        self.world.record(stream, kind(policy=policy, stop=stop))

    @rule(seconds=st.integers(1, 90))
    def time_passes(self, seconds: int) -> None:
        self.world.wait(seconds)
        self.settle()

    @rule(queue=st.sampled_from(["cohort/team", "clusterqueue/c"]))
    def plan_and_give_up(self, queue: str) -> None:
        cluster_state = self.world.cluster_state
        before, indices = folded_copy(cluster_state), state_digest_text(cluster_state)
        with cluster_state.overlay():
            for cycle in range(5):
                plan_cycle(cluster_state, queue, self.world.at, f"lost-{cycle}")
        assert folded_copy(cluster_state) == before, "an undone trial leaves no trace in the fold"
        assert state_digest_text(cluster_state) == indices, (
            "an undone trial leaves no trace in the indices"
        )

    @rule()
    def settle(self) -> None:
        world = self.world
        for key in world.cluster_state.partition_keys():
            self._cycle(key)

    def _cycle(self, key: str) -> None:
        cluster_state = self.world.cluster_state
        made: list[StreamEvent] = []
        with cluster_state.overlay() as overlay:
            for cycle in range(500):
                plan = plan_cycle(
                    cluster_state, key, self.world.at, f"{cluster_state.position}-{cycle}"
                )
                for decision in plan.decisions:
                    made.extend(decision.events)
                    self._judge(decision.events)
                if not plan.decisions:
                    break
            else:
                raise AssertionError("it never settles")
            overlay.keep(cluster_state.position)
        self.world.note_kept(made)

    def _judge(self, events: tuple[StreamEvent, ...]) -> None:
        """A decision is judged on the state after it and those made in the same cycle."""
        for stream, event in events:
            if isinstance(event, WorkloadQuotaReserved):
                self._must_fit(stream.removeprefix("workload/"))
            if isinstance(event, RoundCommitted):
                self._must_be_fair(event)

    def _must_fit(self, key: str) -> None:
        cluster_state = self.world.cluster_state
        workload = cluster_state.workloads.get(key)
        if workload is None or workload.admission is None:
            return
        partition = cluster_state.partition(cluster_state.partition_of_workload(workload))
        charge = partition.charges.charge_of(workload, workload.admission)
        assert charge.is_whole, f"{key} stands on hosts that are there"
        node = f"clusterqueue/{charge.cluster_queue}"
        for view in (ACTUAL, PROJECTED):
            partition.charges.release(view, charge)
        try:
            for quota_key, amount in charge.amounts.items():
                for view in (ACTUAL, PROJECTED):
                    room = available(partition.tree, partition.usage[view], node, quota_key)
                    assert amount <= room, f"{key} takes {amount} of {quota_key}, {room} was free"
            for view in (ACTUAL, PROJECTED):
                assert partition.hosts.fits(view, charge.pods), f"{key} overfills a host"
        finally:
            for view in (ACTUAL, PROJECTED):
                partition.charges.acquire(view, charge)

    def _must_be_fair(self, event: RoundCommitted) -> None:
        others = [
            victim.workload
            for found in self.world.cluster_state.rounds.values()
            if is_open(found) and found.id != event.round_id
            for victim in found.victims
            if victim.workload not in found.released
        ]
        mine = [victim.workload for victim in event.victims]
        assert not set(mine) & set(others), "a victim serves one round"
        for victim in event.victims:
            assert victim.priority <= event.preemptor_priority, "no victim has a higher priority"

    @invariant()
    @precondition(lambda self: hasattr(self, "world"))
    def indices_are_as_if_built_anew(self) -> None:
        cluster_state = self.world.cluster_state
        assert not cluster_state.quarantined, cluster_state.quarantined
        built = ClusterState.load(cluster_state.dump())
        assert state_digest_text(built) == state_digest_text(cluster_state)

    @invariant()
    @precondition(lambda self: hasattr(self, "world"))
    def every_pending_workload_has_a_reason(self) -> None:
        cluster_state = self.world.cluster_state
        for key in sorted(cluster_state.workloads):
            workload = cluster_state.workloads[key]
            waits = phase_of(workload) in {"Pending", "Nominated", "Retrying", "OnHold", "Inactive"}
            if waits:
                found = recorded_reason(cluster_state, workload, self.world.at)
                assert found is not None, f"{key} is pending without a reason"
                given = {n for n, v in found.reason_message.arguments.items() if v is not None}
                text = TEXTS[found.reason_message.code].text
                assert sentence_of(found), f"{key} is pending for a reason without a text"
                assert required_arguments_of(text) <= given, f"{text} lacks arguments"
                assert current_reason(cluster_state, workload, self.world.at) is not None


def _is_checked(workload: Any) -> bool:
    return "budget" in workload.checks and has_quota_reservation(workload)


def _runs(workload: Any) -> bool:
    return is_admitted(workload) and workload.finished_at is None


def folded_copy(cluster_state: ClusterState) -> str:
    return repr(folded(cluster_state))


TestHistories = pytest.mark.slow(Histories.TestCase)
TestHistories.settings = settings(
    max_examples=examples(400, quick=12),
    stateful_step_count=40,
    suppress_health_check=[HealthCheck.too_slow],
    deadline=None,
)
