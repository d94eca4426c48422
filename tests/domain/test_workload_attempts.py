"""Each quota reservation begins an attempt, and reports of another attempt change nothing."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.domain.rejection import IllegalNow, Rejection
from headgate.domain.values.message import message
from headgate.domain.workloads.commands import (
    AcknowledgeEviction,
    ReportCheckState,
    ReportEvictionProgress,
    ReportFinished,
    ReportPodsGone,
    ReportPodsReady,
    ReportReclaimable,
    ReportStopped,
    ReportStopping,
)
from headgate.domain.workloads.decide.decider import WORKLOAD
from headgate.domain.workloads.events import (
    ReservationDropped,
    WorkloadEvent,
    WorkloadFinished,
    WorkloadPodsReady,
    WorkloadStopped,
)
from headgate.domain.workloads.evolve import evolve
from headgate.domain.workloads.state import Workload, phase_of
from headgate.messages.catalogue import text_of
from tests.builders.instants import T0
from tests.builders.scenario import Scenario
from tests.builders.workloads import ADMITTED, RESERVED, a_submission, a_workload, an_eviction

STOPPED = WorkloadStopped(eviction="e-1")
FIRST_ATTEMPT = (RESERVED, ADMITTED, an_eviction("Preempted"), STOPPED)
REPORTS = (
    ReportPodsReady,
    ReportPodsGone,
    ReportReclaimable,
    ReportCheckState,
    ReportFinished,
    AcknowledgeEviction,
    ReportEvictionProgress,
    ReportStopping,
    ReportStopped,
)
FIELDS: dict[type, dict[str, Any]] = {
    ReportPodsReady: {"ready": True},
    ReportPodsGone: {"hosts": ("host-1",)},
    ReportReclaimable: {"pods": {"main": 1}},
    ReportCheckState: {"check": "budget", "state": "Ready"},
    ReportFinished: {"succeeded": False},
    AcknowledgeEviction: {"eviction": "e-1"},
    ReportEvictionProgress: {"eviction": "e-1"},
    ReportStopping: {},
    ReportStopped: {},
}
NEEDS_ATTEMPT = (ReportPodsReady, ReportReclaimable, ReportFinished)


def a_report(of_type: type, attempt: int | None) -> Any:
    return of_type(uid="uid-1", attempt=attempt, **FIELDS[of_type])


def in_second_attempt(*events: WorkloadEvent) -> Scenario:
    workload = a_workload(after=(*FIRST_ATTEMPT, RESERVED, ADMITTED, *events))
    return Scenario(WORKLOAD).given_state(workload)


def test_each_quota_reservation_begins_an_attempt() -> None:
    dropped = ReservationDropped(reason=message("LocalQueueUnavailable", queue="lq"))
    assert a_workload().attempt == 0
    assert a_workload(after=(RESERVED,)).attempt == 1
    assert a_workload(after=(RESERVED, dropped, *FIRST_ATTEMPT)).attempt == 2
    assert in_second_attempt().state.attempt == 2


def test_a_workload_that_is_submitted_again_begins_with_its_first_attempt() -> None:
    again = evolve(a_workload(after=FIRST_ATTEMPT), a_submission(uid="uid-2"), T0)
    assert isinstance(again, Workload)
    assert again.attempt == 0


@pytest.mark.parametrize("of_type", REPORTS)
@pytest.mark.parametrize("attempt", [1, 3])
def test_a_report_of_another_attempt_is_refused(of_type: type, attempt: int) -> None:
    story = in_second_attempt(an_eviction("Preempted"))
    refused = story.refuses(a_report(of_type, attempt), IllegalNow)
    assert refused.message.code == "StaleAttempt"
    assert "attempt 2" in text_of(refused.message)


def test_a_late_end_of_the_first_attempt_does_not_fail_the_second() -> None:
    story = in_second_attempt()
    story.refuses(ReportFinished(uid="uid-1", attempt=1, succeeded=False), IllegalNow)
    assert phase_of(story.state) == "Starting"
    done = ReportFinished(uid="uid-1", attempt=2, succeeded=True)
    assert story.when(done) == (WorkloadFinished(reason="Succeeded"),)


@pytest.mark.parametrize("of_type", NEEDS_ATTEMPT)
def test_a_report_without_attempt_is_taken_in_the_first_one_alone(of_type: type) -> None:
    first = Scenario(WORKLOAD).given_state(a_workload(after=(RESERVED, ADMITTED)))
    assert first.when(a_report(of_type, None))
    refused = in_second_attempt().refuses(a_report(of_type, None), IllegalNow)
    assert refused.message.code == "AttemptMissing"


def test_a_stop_without_attempt_is_taken_where_it_names_the_eviction() -> None:
    story = in_second_attempt(an_eviction("Preempted", eviction="e-2"))
    refused = story.refuses(ReportStopped(uid="uid-1"), IllegalNow)
    assert refused.message.code == "AttemptMissing"
    assert story.when(ReportStopped(uid="uid-1", eviction="e-1")) == ()
    assert story.when(ReportStopped(uid="uid-1", eviction="e-2"))[0] == WorkloadStopped(
        eviction="e-2"
    )


def test_a_report_without_attempt_that_says_nothing_new_is_no_event() -> None:
    story = in_second_attempt(WorkloadPodsReady())
    assert story.when(ReportPodsReady(uid="uid-1", ready=True)) == ()


@given(
    st.lists(
        st.tuples(st.sampled_from(REPORTS), st.integers(1, 4), st.booleans()),
        min_size=1,
        max_size=12,
    )
)
def test_no_interleaving_of_attempts_changes_another_attempt(
    steps: list[tuple[type, int, bool]],
) -> None:
    """Between any executions, whatever earlier or later attempts report leaves the present one."""
    state: Any = a_workload(after=(RESERVED, ADMITTED))
    for of_type, attempt, begins_anew in steps:
        before = state
        try:
            events = WORKLOAD.decide(state, a_report(of_type, attempt), T0)
        except Rejection:
            events = ()
        for event in events:
            state = evolve(state, event, T0)
        assert state is before or attempt == before.attempt
        if begins_anew and state.finished_at is None:
            for event in (an_eviction("Preempted"), STOPPED, RESERVED, ADMITTED):
                state = evolve(state, event, T0)
