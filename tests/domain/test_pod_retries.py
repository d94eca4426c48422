"""Failed pods and completions: retries by the policy, and each index once in whatever order."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.domain.values.index_ranges import absent, members
from headgate.domain.workloads.commands import PodReport, ReportFinished, ReportPods
from headgate.domain.workloads.decide.decider import WORKLOAD
from headgate.domain.workloads.decide.pod_reports import pod_report_refusals
from headgate.domain.workloads.events import (
    WorkloadAdmitted,
    WorkloadEvicted,
    WorkloadFinished,
    WorkloadPodsReclaimed,
    WorkloadPodsReported,
    WorkloadQuotaReserved,
    WorkloadRequeued,
    WorkloadScaledDown,
    WorkloadStopped,
)
from headgate.domain.workloads.evolve import evolve
from headgate.domain.workloads.pod_events import (
    WorkloadIndexesFailed,
    WorkloadPodsReleased,
    WorkloadRetried,
)
from headgate.domain.workloads.pods.attempt_pods import attempt_pods
from headgate.domain.workloads.specs import PodIndex, RetryPolicy, RetryRule, SuccessRule
from headgate.domain.workloads.state import phase_of
from headgate.domain.workloads.transitions.retry import due_pods
from tests.builders.instants import T0
from tests.builders.workloads import ADMITTED, a_pod_set, a_workload, an_eviction
from tests.domain.test_pod_reports import an_admission_of

NODES = frozenset({"a", "b"})
SECOND = 1_000_000


def started(
    policy: RetryPolicy | None = None, completions: int | None = None, **fields: Any
) -> Any:
    pods = (a_pod_set(count=4, completions=completions),)
    reserved = WorkloadQuotaReserved(admission=an_admission_of(a=2, b=2))
    return a_workload(after=(reserved, ADMITTED), pod_sets=pods, retry_policy=policy, **fields)


def a_failure(index: int, run: int = 1, code: int | None = 1, **fields: Any) -> PodReport:
    usual: dict[str, Any] = {"attempt": 1, "exit_code": code, "type": "finished"}
    return PodReport(uid="uid-1", index=index, run=run, **usual | fields)


def an_end(index: int, run: int = 1, attempt: int = 1) -> PodReport:
    return a_failure(index, run, 0, attempt=attempt)


def reported(state: Any, *reports: PodReport, at: int = T0) -> tuple[Any, list[Any]]:
    command = ReportPods(executor="x", reports=reports, nodes=NODES, eviction="e-9")
    assert pod_report_refusals(state, command) == [None] * len(reports)
    events = list(WORKLOAD.decide(state, command, at))
    for event in events:
        state = evolve(state, event, at)
    return state, events


def layout_of(state: Any) -> list[tuple[int, int, str]]:
    return [(p.index, p.run, p.node) for p in attempt_pods(state.admission, state.layout)]


def test_without_a_policy_the_first_failure_fails_the_workload() -> None:
    _, events = reported(started(), a_failure(1))
    assert isinstance(events[-1], WorkloadEvicted)
    assert events[-1].reason == "PodFailed"


def test_a_failed_pod_has_its_next_run_on_its_node_after_a_backoff() -> None:
    state, events = reported(started(RetryPolicy(limit=2)), a_failure(1))
    (_, retried) = events
    assert isinstance(retried, WorkloadRetried)
    (cause,) = retried.pods
    assert (retried.action, retried.retries, cause.indices) == ("RetryPod", 1, ((1, 1),))
    assert cause.retry_at is not None
    assert 10 * SECOND <= cause.retry_at - T0 < 11 * SECOND
    assert layout_of(state)[1] == (1, 2, "a")
    assert state.retry.is_delayed("main", 1)
    released = WorkloadPodsReleased(pods=due_pods(state.retry, cause.retry_at))
    assert not evolve(state, released, T0).retry.is_delayed("main", 1)  # type: ignore[union-attr]


def test_a_retry_above_the_limit_fails_the_workload() -> None:
    policy = RetryPolicy(limit=1, backoff_base_seconds=0)
    state, _ = reported(started(policy), a_failure(1))
    state, events = reported(state, a_failure(1, run=2))
    assert events[-1].reason == "PodFailed"
    assert events[-1].message.code == "RetryLimitReached"
    assert state.retry.count == 1


def test_the_loss_of_a_node_counts_against_no_limit_with_or_without_a_policy() -> None:
    for policy in (None, RetryPolicy(limit=0), RetryPolicy(limit=3, limit_per_index=0)):
        lost = a_failure(2, code=None, reason="NodeLost")
        state, events = reported(started(policy), lost)
        assert isinstance(events[1], WorkloadRetried)
        assert (events[1].retries, events[1].pods[0].counts) == (0, False)
        assert layout_of(state)[2][:2] == (2, 2)
        assert phase_of(state) == "Starting"


def test_the_first_rule_that_matches_says_what_follows() -> None:
    rules = (
        RetryRule(action="FailWorkload", on_exit_codes=(42,)),
        RetryRule(action="Ignore", on_signals=(9,)),
        RetryRule(action="RetryWorkload", on_exit_codes=(1, 2), excludes_exit_codes=True),
    )
    policy = RetryPolicy(limit=5, rules=rules)
    _, events = reported(started(policy), a_failure(0, code=42))
    assert events[-1].reason == "PodFailed"
    state, _ = reported(started(policy), a_failure(0, code=None, signal=9))
    assert state.retry.count == 0
    state, _ = reported(started(policy), a_failure(0, code=2))
    assert state.retry.count == 1
    _, events = reported(started(policy), a_failure(0, code=7))
    assert [type(event) for event in events[1:]] == [WorkloadRetried, WorkloadEvicted]
    assert events[-1].reason == "Retried"


def test_a_retried_workload_is_requeued_after_its_backoff_once_its_pods_are_gone() -> None:
    policy = RetryPolicy(limit=2, rules=(RetryRule(action="RetryWorkload"),))
    state, events = reported(started(policy), a_failure(0))
    assert events[-1].requeue_at - T0 >= 10 * SECOND
    others = [PodReport(uid="uid-1", attempt=1, index=i, run=1, type="stopped") for i in (1, 2, 3)]
    state, events = reported(state, *others)
    assert isinstance(events[-1], WorkloadStopped)
    assert phase_of(state) == "Retrying"
    again = evolve(state, WorkloadRequeued(reason="BackoffFinished"), T0)
    assert phase_of(again) == "Pending"  # type: ignore[arg-type]


def test_an_executor_that_reports_whole_workloads_retries_them() -> None:
    failed = ReportFinished(uid="uid-1", attempt=1, succeeded=False, eviction="e-9")
    state: Any = started(RetryPolicy(limit=1, backoff_base_seconds=0))
    for event in WORKLOAD.decide(state, failed, T0):
        state = evolve(state, event, T0)
    assert (phase_of(state), state.retry.count) == ("Pending", 1)
    (only,) = WORKLOAD.decide(started(), failed, T0)
    assert isinstance(only, WorkloadFinished)


def test_an_index_past_its_own_limit_has_failed_and_the_others_go_on() -> None:
    policy = RetryPolicy(limit=None, limit_per_index=0, max_failed_indexes=1)
    state, events = reported(started(policy, completions=6), a_failure(1))
    assert isinstance(events[1], WorkloadIndexesFailed)
    assert [index for index, _, _ in layout_of(state)] == [0, 2, 3, 4]
    _, events = reported(state, a_failure(2))
    assert events[-1].message.code == "TooManyIndexesFailed"


def test_an_index_that_has_failed_for_good_fails_the_workload_at_its_end() -> None:
    policy = RetryPolicy(limit=None, limit_per_index=0)
    state, _ = reported(started(policy, completions=4), a_failure(1))
    state, events = reported(state, *(an_end(index) for index in (0, 2, 3)))
    finished: Any = events[-1]
    assert (finished.reason, finished.message.code) == ("Failed", "IndexesHaveFailed")


def test_the_next_index_takes_the_node_of_one_that_completed_without_an_event_of_its_own() -> None:
    state, events = reported(started(completions=10), an_end(0), an_end(3))
    assert [type(event) for event in events] == [WorkloadPodsReported]
    assert layout_of(state) == [(1, 1, "a"), (2, 1, "b"), (4, 1, "a"), (5, 1, "b")]
    again, events = reported(state, an_end(0))
    assert (again, events) == (state, [])


def test_an_index_that_a_scale_down_took_comes_again_with_its_next_run() -> None:
    """Its executor stopped the run that was there, and starts no run twice."""
    state, _ = reported(started(completions=8), an_end(0))
    assert layout_of(state) == [(1, 1, "a"), (2, 1, "b"), (3, 1, "b"), (4, 1, "a")]
    state = evolve(
        state, WorkloadScaledDown(admission=an_admission_of(a=1, b=1), next_runs=True), T0
    )
    assert [(index, run) for index, run, _ in layout_of(state)] == [(1, 1), (2, 1)]
    state, _ = reported(state, an_end(1), an_end(2))
    assert [(index, run) for index, run, _ in layout_of(state)] == [(3, 2), (4, 2)]
    for index, run in ((3, 2), (4, 2), (5, 1), (6, 1)):
        state, _ = reported(state, an_end(index, run))
    _, events = reported(state, an_end(7))
    assert events[-1].reason == "Succeeded"


def test_quota_is_given_back_at_the_tail() -> None:
    state, events = reported(started(completions=5), *(an_end(i) for i in range(4)))
    assert isinstance(events[1], WorkloadPodsReclaimed)
    assert events[1].reclaimable == {"main": 3}
    assert [index for index, _, _ in layout_of(state)] == [4]
    _, events = reported(state, an_end(4))
    assert events[-1].reason == "Succeeded"


def test_the_next_attempt_begins_with_the_indices_that_are_left() -> None:
    state, _ = reported(started(completions=7), an_end(0), an_end(2))
    evicted = (an_eviction("Preempted"), WorkloadStopped(eviction="e-1"))
    for event in (
        *evicted,
        WorkloadQuotaReserved(admission=an_admission_of(a=1, b=2)),
        WorkloadAdmitted(waited_seconds=0),
    ):
        state = evolve(state, event, T0)
    assert layout_of(state) == [(1, 1, "a"), (3, 1, "b"), (4, 1, "b")]


REPLICAS = PodIndex(label="index", sub_group_label="job", sub_group_count=2)
"""Of two Jobs: with four pods at a time each has two places."""


def replicated(completions: int) -> Any:
    pods = (a_pod_set(count=4, completions=completions, pod_index=REPLICAS),)
    reserved = WorkloadQuotaReserved(admission=an_admission_of(a=2, b=2))
    return a_workload(after=(reserved, ADMITTED), pod_sets=pods)


def test_replicas_complete_their_own_indices_with_their_own_places() -> None:
    """Replicas of three completions each, two at a time: 0 to 2 and 3 to 5."""
    state = replicated(6)
    assert layout_of(state) == [(0, 1, "a"), (1, 1, "a"), (3, 1, "b"), (4, 1, "b")]
    state, _ = reported(state, an_end(1))
    assert layout_of(state) == [(0, 1, "a"), (2, 1, "a"), (3, 1, "b"), (4, 1, "b")]
    state, events = reported(state, an_end(0))
    assert [index for index, _, _ in layout_of(state)] == [2, 3, 4]
    assert events[-1].reclaimable == {"main": 1}
    state, _ = reported(state, an_end(2))
    state, _ = reported(state, an_end(3))
    assert [index for index, _, _ in layout_of(state)] == [4, 5]
    _, events = reported(state, an_end(4), an_end(5))
    assert events[-1].reason == "Succeeded"


def test_the_next_attempt_gives_each_replica_its_places() -> None:
    state, _ = reported(replicated(6), an_end(0), an_end(1))
    assert state.reclaimable == {"main": 1}
    state = _in_next_attempt(state)
    assert layout_of(state) == [(2, 1, "a"), (3, 1, "b"), (4, 1, "b")]


@given(st.lists(st.integers(0, 3), max_size=40), st.integers(1, 5), st.integers(1, 4))
def test_no_replica_runs_more_pods_at_a_time_than_its_places(
    steps: list[int], completions: int, given_places: int
) -> None:
    """Whatever the order of ends, and with fewer hosts than places; every index completes."""
    size = max(2, completions)
    pods = (a_pod_set(count=4, completions=2 * size, pod_index=REPLICAS),)
    reserved = WorkloadQuotaReserved(admission=an_admission_of(a=given_places))
    state = a_workload(after=(reserved, ADMITTED), pod_sets=pods)
    for step in (*steps, *[0] * 2 * size):
        running = [index for index, _, _ in layout_of(state)]
        if state.finished_at is not None:
            break
        assert 0 < len(running) <= given_places
        assert max(Counter(index // size for index in running).values()) <= 2
        state, _ = reported(state, an_end(running[step % len(running)]))
    assert phase_of(state) == "Succeeded"
    assert list(members(state.progress["main"].succeeded)) == list(range(2 * size))


def test_many_ends_at_once_look_at_each_index_of_their_replicas_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Eight replicas of ten completions, five at a time."""
    seen: list[int] = []

    def noted(*given: Any) -> Iterator[int]:
        for index in absent(*given):
            seen.append(index)
            yield index

    replicas = PodIndex(label="index", sub_group_label="job", sub_group_count=8)
    pods = (a_pod_set(count=40, completions=80, pod_index=replicas),)
    reserved = WorkloadQuotaReserved(admission=an_admission_of(a=40))
    state = a_workload(after=(reserved, ADMITTED), pod_sets=pods)
    monkeypatch.setattr("headgate.domain.workloads.pods.completions.absent", noted)

    state, _ = reported(state, *map(an_end, (0, 1, 2, 3, 4)))

    assert [index for index, _, _ in layout_of(state)][:6] == [5, 6, 7, 8, 9, 10]
    assert seen == [5, 6, 7, 8, 9] * 2, "folded as it is decided, and as it is recorded"

    seen.clear()
    reported(state, *map(an_end, (5, 6, 7, 8, 9)))
    assert seen == [], "no other replica has fewer pods than places"


def test_a_success_rule_ends_the_workload_while_other_pods_run() -> None:
    rules = (SuccessRule(indexes=((0, 1),), count=1),)
    state, events = reported(started(completions=8, success_rules=rules), an_end(1))
    assert events[-1].reason == "SuccessPolicyMet"
    left = [p for p, _, _ in layout_of(state)]
    stops = [PodReport(uid="uid-1", attempt=1, index=i, run=1, type="stopped") for i in left]
    _, events = reported(state, *stops)
    assert (type(events[-1]), events[-1].reason) == (WorkloadFinished, "Succeeded")


STEPS = st.lists(
    st.tuples(
        st.integers(0, 3),
        st.sampled_from(["Completed", "Completed", "Error", "NodeLost", "evict"]),
    ),
    max_size=40,
)


@given(STEPS, st.integers(1, 9), st.integers(0, 4))
def test_each_index_completes_once_and_no_limit_or_quota_is_exceeded(
    steps: Any, completions: int, limit: int
) -> None:
    """Whatever fails, is lost or evicted: the log shows each index completed exactly once."""
    policy = RetryPolicy(limit=limit, backoff_base_seconds=0)
    state = started(policy, completions=max(4, completions))
    completed: list[int] = []
    counted = 0
    for place, reason in (*steps, *[(0, "Completed")] * completions * 2):
        if state.finished_at is not None or state.eviction is not None:
            break
        pods = layout_of(state)
        assert len(pods) <= 4 - state.reclaimable.get("main", 0)
        if reason == "evict":
            state = _in_next_attempt(state)
            continue
        index, run, _ = pods[place % len(pods)]
        code = {"Completed": 0, "Error": 1}.get(reason)
        report = a_failure(index, run, code, reason=reason, attempt=state.attempt)
        state, events = reported(state, report)
        completed += [index] if reason == "Completed" else []
        counted += reason == "Error"
        retried = [event for event in events if isinstance(event, WorkloadRetried)]
        assert all(event.retries <= limit for event in retried)
    assert len(completed) == len(set(completed))
    assert sorted(completed) == list(members(state.progress["main"].succeeded))
    has_failed = counted > limit
    if has_failed:
        assert state.eviction is not None or phase_of(state) == "Failed"
    elif state.finished_at is not None:
        assert phase_of(state) == "Succeeded"
        assert sorted(completed) == list(range(max(4, completions)))


def _in_next_attempt(state: Any) -> Any:
    left = 4 - state.reclaimable.get("main", 0)
    hosts = {"a": left // 2, "b": left - left // 2}
    reserved = WorkloadQuotaReserved(admission=an_admission_of(**hosts))
    for event in (
        an_eviction("Preempted"),
        WorkloadStopped(eviction="e-1"),
        reserved,
        WorkloadAdmitted(waited_seconds=0),
    ):
        state = evolve(state, event, T0)
    return state
