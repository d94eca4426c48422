"""What executors report: old news and news told twice change nothing."""

from typing import Any

import pytest

from headgate.domain.rejection import IllegalNow, InvalidObject, NotFound
from headgate.domain.workloads.commands import (
    AcknowledgeEviction,
    HoldWorkload,
    ReleaseWorkload,
    ReportEvictionProgress,
    ReportFinished,
    ReportPodsReady,
    ReportStopped,
)
from headgate.domain.workloads.decide.decider import WORKLOAD
from headgate.domain.workloads.events import (
    EvictionAcknowledged,
    EvictionProgressed,
    WorkloadFinished,
    WorkloadHeld,
    WorkloadPodsNotReady,
    WorkloadPodsReady,
    WorkloadReleased,
)
from headgate.domain.workloads.state import Workload, phase_of
from headgate.messages.catalogue import remedy_of, text_of
from tests.builders.instants import T0, after
from tests.builders.scenario import Scenario, pointers
from tests.builders.workloads import RESERVED, a_workload, an_eviction, running

READY = ReportPodsReady(uid="uid-1", ready=True)
NOT_READY = ReportPodsReady(uid="uid-1", ready=False, message="host-3 is gone")
SUCCEEDED = ReportFinished(uid="uid-1", succeeded=True)
ADMIN_HOLD = HoldWorkload(owner="ann", authority="Admin", reason="investigation")
USER_HOLD = HoldWorkload(owner="bo", reason="not yet")


def story_of(workload: Workload) -> Scenario:
    return Scenario(WORKLOAD).given_state(workload)


def leaving() -> Scenario:
    return story_of(running()).given(an_eviction("Preempted"))


REPORTS = [
    READY,
    SUCCEEDED,
    AcknowledgeEviction(uid="uid-1", eviction="e-1"),
    ReportEvictionProgress(uid="uid-1", eviction="e-1"),
    ReportStopped(uid="uid-1", eviction="e-1"),
]


@pytest.mark.parametrize("report", REPORTS)
def test_a_report_about_an_earlier_workload_of_the_name_is_refused(report: Any) -> None:
    story = Scenario(WORKLOAD).given_state(running(uid="uid-2"))
    assert "uid-2" in remedy_of(story.refuses(report, IllegalNow).message)


@pytest.mark.parametrize("report", REPORTS)
def test_a_report_about_nothing_is_refused(report: Any) -> None:
    Scenario(WORKLOAD).refuses(report, NotFound)


def test_pods_become_ready_once() -> None:
    story = story_of(running())
    assert phase_of(story.state) == "Starting"
    assert story.when(READY) == (WorkloadPodsReady(),)
    assert phase_of(story.state) == "Running"
    assert story.when(READY) == ()


def test_pods_that_were_never_ready_do_not_become_unready() -> None:
    assert story_of(running()).when(NOT_READY) == ()


def test_pods_recover_after_having_been_lost() -> None:
    story = story_of(running())
    story.when(READY)
    assert story.when(NOT_READY) == (WorkloadPodsNotReady(message="host-3 is gone"),)
    assert story.when(NOT_READY) == ()
    assert story.state.not_ready_cause == "WaitForRecovery"
    assert story.when(READY) == (WorkloadPodsReady(recovered=True),)


@pytest.mark.parametrize("report", [READY, SUCCEEDED])
@pytest.mark.parametrize("events", [(), (RESERVED,)])
def test_what_was_never_admitted_has_no_pods_to_report_of(report: Any, events: Any) -> None:
    story_of(a_workload(after=events)).refuses(report, IllegalNow)


def test_readiness_no_longer_matters_once_it_leaves_or_has_ended() -> None:
    assert leaving().when(READY) == ()
    ended = story_of(a_workload(after=(WorkloadFinished(reason="Failed"),)))
    assert ended.when(READY) == ()


def test_the_end_is_reported_once() -> None:
    story = story_of(running())
    assert story.when(SUCCEEDED) == (WorkloadFinished(reason="Succeeded"),)
    assert story.when(SUCCEEDED) == ()
    assert story.when(ReportFinished(uid="uid-1", succeeded=False)) == ()
    assert phase_of(story.state) == "Succeeded"


def test_an_end_that_comes_while_it_is_evicted_ends_both() -> None:
    story = leaving()
    story.when(ReportFinished(uid="uid-1", succeeded=False, message="exit 1"))
    assert phase_of(story.state) == "Failed"
    assert story.state.eviction is None
    assert story.when(ReportStopped(uid="uid-1", eviction="e-1")) == ()


def test_the_first_handler_takes_an_eviction_over() -> None:
    story = leaving()
    acknowledge = AcknowledgeEviction(
        uid="uid-1", eviction="e-1", handler="checkpoints", expected_end_at=after(60)
    )
    assert story.when(acknowledge) == (
        EvictionAcknowledged(eviction="e-1", handler="checkpoints", expected_end_at=after(60)),
    )
    assert story.when(acknowledge) == ()
    assert story.state.eviction.handler == "checkpoints"


def test_progress_is_noted_for_the_eviction_that_is_open() -> None:
    story = leaving()
    progress = ReportEvictionProgress(uid="uid-1", eviction="e-1", note="half saved")
    assert story.when(progress) == (EvictionProgressed(eviction="e-1", note="half saved"),)
    other = ReportEvictionProgress(uid="uid-1", eviction="e-0")
    assert story.when(other) == ()


def test_reports_about_an_eviction_that_is_closed_are_no_events() -> None:
    story = leaving()
    story.when(ReportStopped(uid="uid-1", eviction="e-1"))
    for report in REPORTS[2:]:
        assert story.when(report) == ()


def test_a_late_report_of_an_old_eviction_does_not_end_the_next_one() -> None:
    story = story_of(running()).given(an_eviction("Preempted", eviction="e-2"))
    assert story.when(ReportStopped(uid="uid-1", eviction="e-1")) == ()
    assert phase_of(story.state) == "Evicting"


def test_stopped_without_naming_an_eviction_means_the_open_one() -> None:
    story = leaving()
    story.when(ReportStopped(uid="uid-1"))
    assert phase_of(story.state) == "Pending"
    assert story.when(ReportStopped(uid="uid-1")) == ()


def test_a_hold_keeps_what_waits_and_leaves_alone_what_runs() -> None:
    story = story_of(a_workload())
    assert story.when(USER_HOLD) == (WorkloadHeld(owner="user:bo", reason="not yet"),)
    assert phase_of(story.state) == "OnHold"
    assert story.when(USER_HOLD) == ()
    runs = story_of(running())
    runs.when(USER_HOLD)
    assert phase_of(runs.state) == "Starting"


def test_a_hold_can_be_changed() -> None:
    story = story_of(a_workload())
    story.when(USER_HOLD)
    story.when(HoldWorkload(owner="bo", reason="not yet", expires_at=after(60)))
    assert story.state.hold.expires_at == after(60)


def test_what_an_admin_holds_no_user_releases() -> None:
    story = story_of(a_workload())
    story.when(ADMIN_HOLD)
    assert "investigation" in text_of(story.refuses(ReleaseWorkload(), IllegalNow).message)
    assert story.when(ReleaseWorkload(authority="Admin")) == (WorkloadReleased(),)
    assert story.when(ReleaseWorkload(authority="Admin")) == ()


@pytest.mark.parametrize("holds", [(USER_HOLD, ADMIN_HOLD), (ADMIN_HOLD, USER_HOLD)])
def test_a_user_s_hold_outlives_the_admin_s_over_it(holds: tuple[HoldWorkload, ...]) -> None:
    story = story_of(a_workload())
    for hold in holds:
        story.when(hold)
    assert story.state.hold.owner == "admin:ann"
    assert story.when(USER_HOLD) == ()
    assert story.when(ADMIN_HOLD) == ()
    released, held = story.when(ReleaseWorkload(authority="Admin"))
    assert (released, held.owner) == (WorkloadReleased(), "user:bo")
    assert phase_of(story.state) == "OnHold"
    assert story.when(ReleaseWorkload()) == (WorkloadReleased(),)
    assert phase_of(story.state) == "Pending"


def test_a_user_s_hold_that_ran_out_beneath_an_admin_s_does_not_come_back() -> None:
    story = story_of(a_workload())
    story.when(HoldWorkload(owner="bo", reason="x", expires_at=after(60)))
    story.when(ADMIN_HOLD)
    assert story.later(after(60)).when(ReleaseWorkload(authority="Admin")) == (WorkloadReleased(),)


def test_a_user_cannot_pass_for_an_admin_by_name() -> None:
    story = story_of(a_workload())
    story.when(HoldWorkload(owner="admin:ann", reason="x"))
    assert story.state.hold.owner == "user:ann"


def test_a_hold_runs_out_at_its_expiry_and_not_before() -> None:
    story = story_of(a_workload())
    story.when(HoldWorkload(owner="bo", reason="x", expires_at=after(60)))
    assert story.later(after(59)).when(ReleaseWorkload(expired=True)) == ()
    assert story.later(after(60)).when(ReleaseWorkload(expired=True)) == (
        WorkloadReleased(expired=True),
    )
    story.later(T0).when(USER_HOLD)
    assert story.later(after(10**9)).when(ReleaseWorkload(expired=True)) == ()


def test_a_hold_needs_a_reason_and_an_end_to_come() -> None:
    command = HoldWorkload(owner="bo", reason=" ", expires_at=T0)
    refusal = story_of(a_workload()).refuses(command, InvalidObject)
    assert pointers(refusal) == ["/reason", "/expiresAt"]
