"""Backoff, its limits and reactivation after any history, against a model that shares nothing."""

from dataclasses import dataclass
from typing import NamedTuple

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from headgate.domain.kinds.cluster_queue import ClusterQueueResumed, ClusterQueueStopped
from headgate.domain.kinds.queue_stop import Stop, StopPolicy
from headgate.domain.kinds.wait_for_pods_ready import RequeuingStrategy, WaitForPodsReady
from headgate.domain.recorded_event import DomainEvent
from headgate.domain.rejection import IllegalNow
from headgate.domain.scheduling.queueing.queue_checks import check_queues
from headgate.domain.workloads.commands import (
    ActivateWorkload,
    DeactivateWorkload,
    HoldWorkload,
    ReleaseWorkload,
    RequeueWorkload,
    WorkloadCommand,
)
from headgate.domain.workloads.events import (
    RequeueCountReset,
    WorkloadActivated,
    WorkloadAdmitted,
    WorkloadDeactivated,
    WorkloadEvicted,
    WorkloadHeld,
    WorkloadPodsNotReady,
    WorkloadPodsReady,
    WorkloadQuotaReserved,
    WorkloadReleased,
    WorkloadRequeued,
    WorkloadStopped,
)
from headgate.domain.workloads.predicates import has_quota_reservation
from headgate.domain.workloads.state import Workload, is_admitted, is_condition_true
from tests.builders.world import World, quotas
from tests.hypothesis_profiles import examples

SECONDS = 1_000_000
JITTER_DIVISOR = 10_000
TIMEOUT, RECOVERY, MAX_SECONDS = 60, 30, 500
PICK = st.integers(0, 99)


class Rules(NamedTuple):
    """A requeuing strategy as drawn by chance."""

    base: int
    most: int
    limit: int | None
    retry_limit: int | None
    reset_after: int | None
    by_creation: bool


RULES = st.builds(
    Rules,
    base=st.integers(0, 40),
    most=st.sampled_from([0, 15, 100]),
    limit=st.sampled_from([None, 0, 1, 2, 3]),
    retry_limit=st.sampled_from([None, None, 150, 400]),
    reset_after=st.sampled_from([None, 90]),
    by_creation=st.booleans(),
)


@dataclass
class Story:
    """What the model knows of one workload."""

    created_at: int
    timeouts: int = 0
    requeue_at: int | None = None
    queued_at: int | None = None
    is_held: bool = False
    is_active: bool = True
    activated_at: int | None = None
    was_caused_by: str = ""
    admitted_at: int | None = None
    may_run: int | None = None
    ran: int = 0
    runs_since: int | None = None

    def ran_by(self, at: int) -> int:
        """How long it ran since it last used up its time."""
        return self.ran + (0 if self.runs_since is None else at - self.runs_since)

    def has_run_as_long_as_it_may(self, at: int) -> bool:
        return self.may_run is not None and self.ran_by(at) >= self.may_run * SECONDS


class Readiness(RuleBasedStateMachine):
    """One queue of four places under drawn rules; pods become ready, or not, as chance has it."""

    @initialize(rules=RULES)
    def install(self, rules: Rules) -> None:
        self.drawn = rules
        self.world = World()
        self.stories: dict[str, Story] = {}
        self.read = 0
        strategy = RequeuingStrategy(
            timestamp="Creation" if rules.by_creation else "Eviction",
            backoff_base_seconds=rules.base,
            backoff_max_seconds=rules.most,
            backoff_limit_count=rules.limit,
            retry_limit_seconds=rules.retry_limit,
            reset_after_seconds=rules.reset_after,
        )
        waits = WaitForPodsReady(
            timeout_seconds=TIMEOUT,
            recovery_timeout_seconds=RECOVERY,
            requeuing_strategy=strategy,
        )
        self.world.flavor("default")
        self.world.cluster_queue("q", quotas(default=4), wait_for_pods_ready=waits)

    @rule(count=st.integers(1, 4), limit=st.sampled_from([None, None, 100]))
    def submit(self, count: int, limit: int | None) -> None:
        for _ in range(count):
            number = len(self.stories)
            key = self.world.submit(f"w{number}", "q", maximum_execution_time_seconds=limit)
            self.stories[key] = Story(created_at=self.world.at, may_run=limit)
            self.world.wait(1)
        self.settle()

    @rule(pick=PICK)
    def become_ready(self, pick: int) -> None:
        self._report(pick, is_ready=True)

    @rule(pick=PICK)
    def lose_readiness(self, pick: int) -> None:
        self._report(pick, is_ready=False)

    @rule(pick=PICK)
    def stop_one(self, pick: int) -> None:
        leaving = [key for key, found in self._workloads() if found.eviction is not None]
        if leaving:
            self.world.stop(leaving[pick % len(leaving)])
            self.settle()

    @rule(seconds=st.integers(1, MAX_SECONDS), stops_first=st.booleans())
    def wait(self, seconds: int, stops_first: bool) -> None:
        if stops_first:
            for key, found in list(self._workloads()):
                if found.eviction is not None:
                    self.world.stop(key)
        self.world.wait(seconds)
        self.settle()

    @rule(times=st.integers(1, 4))
    def never_start(self, times: int) -> None:
        """All pods time out and stop, and backoffs end, repeatedly."""
        for _ in range(times):
            self.wait(TIMEOUT, stops_first=False)
            self.wait(self.drawn.base * 8 + 1, stops_first=True)

    @rule(seconds=st.integers(100, MAX_SECONDS))
    def run_on(self, seconds: int) -> None:
        """All pods become ready and stay so."""
        for key, found in self._workloads():
            if (
                is_admitted(found)
                and found.eviction is None
                and not is_condition_true(found, "PodsReady")
            ):
                self.world.ready(key)
        self.wait(seconds, stops_first=False)
        self.wait(1, stops_first=True)

    @rule()
    def activate_all(self) -> None:
        for key, found in self._workloads():
            if not found.spec.active:
                self.world.record(f"workload/{key}", WorkloadActivated())
        self.settle()

    @rule(
        pick=PICK,
        command=st.sampled_from(
            [
                ActivateWorkload(),
                DeactivateWorkload(eviction="by-hand"),
                HoldWorkload(owner="ann", reason="x"),
                ReleaseWorkload(),
                RequeueWorkload(eviction="by-hand"),
            ]
        ),
    )
    def ask(self, pick: int, command: WorkloadCommand) -> None:
        keys = sorted(self.world.cluster_state.workloads)
        if not keys:
            return
        key = keys[pick % len(keys)]
        try:
            self.world.tell(key, command)
        except IllegalNow:
            return
        self.settle()

    @rule(drains=st.booleans())
    def stop_or_resume_the_queue(self, drains: bool) -> None:
        stopped = self.world.cluster_state.config.cluster_queues["q"].spec.stop_policy != "None"
        policy: StopPolicy = "HoldAndDrain" if drains else "Hold"
        stop = Stop(owner="admin:ann", reason="x", stopped_at=self.world.at)
        event: DomainEvent = (
            ClusterQueueResumed() if stopped else ClusterQueueStopped(policy=policy, stop=stop)
        )
        self.world.record("clusterqueue/q", event)
        self.settle()

    def settle(self) -> None:
        """Let everything happen that is due, and read it."""
        self.world.settle()
        for recorded in self.world.history[self.read :]:
            kind, _, key = recorded.stream.partition("/")
            if kind == "workload" and key in self.stories:
                self._follow(self.stories[key], recorded.event, recorded.at)
        self.read = len(self.world.history)

    def _follow(self, story: Story, event: DomainEvent, at: int) -> None:
        match event:
            case WorkloadEvicted():
                self._evicted(story, event, at)
            case WorkloadDeactivated():
                self._deactivated(story, event, at)
            case WorkloadQuotaReserved():
                assert story.requeue_at is None or story.requeue_at <= at, "admitted in backoff"
                assert story.is_active, "admitted while inactive"
                assert not story.is_held, "admitted while held"
                assert not story.has_run_as_long_as_it_may(at), "admitted with no time left"
                story.queued_at, story.requeue_at = None, None
            case WorkloadAdmitted():
                story.admitted_at, story.runs_since = at, at
            case WorkloadStopped():
                story.ran, story.runs_since = story.ran_by(at), None
            case WorkloadRequeued():
                if event.reason == "BackoffFinished" and story.requeue_at is not None:
                    assert story.requeue_at <= at, "requeued before its time"
                story.requeue_at = None
            case WorkloadActivated():
                story.is_active, story.activated_at, story.admitted_at = True, at, None
                story.timeouts, story.requeue_at = 0, None
                if story.runs_since is None and story.has_run_as_long_as_it_may(at):
                    story.ran = 0
            case RequeueCountReset():
                assert self.drawn.reset_after is not None
                story.timeouts = 0
            case WorkloadHeld():
                story.is_held = True
            case WorkloadReleased():
                story.is_held = False
            case _:
                pass

    def _evicted(self, story: Story, event: WorkloadEvicted, at: int) -> None:
        story.queued_at = None
        if event.reason != "PodsReadyTimeout":
            return
        story.timeouts += 1
        assert event.count == story.timeouts, "the count is one more each time"
        assert self.drawn.limit is None or event.count <= self.drawn.limit, "past the limit"
        assert event.requeue_at is not None
        wait, delay = event.requeue_at - at, self._delay_seconds(story.timeouts) * SECONDS
        assert delay <= wait <= delay + delay // JITTER_DIVISOR, "the backoff is exact"
        story.requeue_at = event.requeue_at
        story.queued_at = None if self.drawn.by_creation else at

    def _delay_seconds(self, count: int) -> int:
        doubled = self.drawn.base * int(2 ** (count - 1))
        is_capped = count > 1 and self.drawn.most > 0
        return min(doubled, self.drawn.most) if is_capped else doubled

    def _deactivated(self, story: Story, event: WorkloadDeactivated, at: int) -> None:
        if event.cause == "RequeuingLimitExceeded":
            assert story.timeouts == self.drawn.limit, "deactivated at the limit, not before"
        again = story.activated_at is not None and event.cause == story.was_caused_by
        if event.cause == "MaximumExecutionTimeExceeded":
            assert story.has_run_as_long_as_it_may(at), "deactivated before its time was up"
            story.ran, story.runs_since = 0, None
        elif again and event.cause != "Requested":
            assert story.admitted_at is not None, "deactivated anew without another try"
            least = min(RECOVERY, self.drawn.retry_limit or RECOVERY)
            assert at - story.admitted_at >= least * SECONDS, (
                "deactivated at once for the old cause"
            )
        story.was_caused_by = event.cause
        story.is_active, story.timeouts, story.requeue_at = False, 0, None

    @invariant()
    def no_workload_is_forgotten(self) -> None:
        partition = self.world.cluster_state.partition("clusterqueue/q")
        for key, found in self._workloads():
            if has_quota_reservation(found) or not found.spec.active:
                continue
            has_place = key in partition.pending["q"].in_heap
            is_kept_out = check_queues(self.world.cluster_state.config, found) is not None
            has_timer = key in partition.timers.due
            kept = found.hold is not None
            assert has_place or has_timer or is_kept_out or kept, f"{key} is nowhere"

    @invariant()
    def the_line_stands_as_the_document_says(self) -> None:
        order = self.world.cluster_state.partition("clusterqueue/q").pending["q"].in_order()
        wanted = sorted(order, key=lambda key: (self._queued_at(key), f"uid-{key[5:]}"))
        assert list(order) == wanted

    def _queued_at(self, key: str) -> int:
        story = self.stories[key]
        return story.created_at if story.queued_at is None else story.queued_at

    @invariant()
    def counts_and_backoffs_are_those_of_the_story(self) -> None:
        for key, found in self._workloads():
            story = self.stories[key]
            assert found.requeue.count == story.timeouts
            if not has_quota_reservation(found) and found.spec.active:
                assert found.accumulated_execution_seconds * SECONDS == story.ran
            if not is_admitted(found):
                assert found.requeue.requeue_at == story.requeue_at

    def _workloads(self) -> list[tuple[str, Workload]]:
        return sorted(self.world.cluster_state.workloads.items())

    def _report(self, pick: int, *, is_ready: bool) -> None:
        running = [
            key
            for key, found in self._workloads()
            if is_admitted(found)
            and found.eviction is None
            and is_condition_true(found, "PodsReady") != is_ready
        ]
        if running:
            key = running[pick % len(running)]
            told = WorkloadPodsReady() if is_ready else WorkloadPodsNotReady()
            self.world.record(f"workload/{key}", told)
            self.settle()


def test_found_before_a_workload_without_execution_time_left_restarted() -> None:
    """It ran on while it was being evicted, for longer than it may run."""
    readiness = Readiness()
    readiness.install(Rules(0, 0, None, None, None, by_creation=False))
    readiness.submit(1, 100)
    readiness.run_on(100)
    readiness.activate_all()
    readiness.wait(60, stops_first=False)
    readiness.never_start(1)
    readiness.counts_and_backoffs_are_those_of_the_story()
    readiness.no_workload_is_forgotten()
    assert readiness.stories["team/w0"].was_caused_by == "MaximumExecutionTimeExceeded"


TestReadiness = pytest.mark.slow(Readiness.TestCase)
TestReadiness.settings = settings(
    max_examples=examples(800),
    stateful_step_count=40,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
