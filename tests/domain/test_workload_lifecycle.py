"""What workloads answer: submission, requeueing, (de)activation, cancelling, deleting."""

import pytest
from msgspec.structs import replace

from headgate.domain.kinds.configured_object import Absent
from headgate.domain.rejection import AlreadyExists, IllegalNow, InvalidObject, NotFound
from headgate.domain.values.message import message
from headgate.domain.workloads.commands import (
    ActivateWorkload,
    CancelWorkload,
    ChangeSpec,
    DeactivateWorkload,
    DeleteWorkload,
    HoldWorkload,
    ReportFinished,
    ReportStopped,
    RequeueWorkload,
    Submit,
    WorkloadCommand,
)
from headgate.domain.workloads.decide.decider import WORKLOAD
from headgate.domain.workloads.ended import deletion_of
from headgate.domain.workloads.events import (
    ReservationDropped,
    WorkloadActivated,
    WorkloadCancellationRequested,
    WorkloadDeactivated,
    WorkloadDeleted,
    WorkloadDeletionRequested,
    WorkloadEvicted,
    WorkloadFinished,
    WorkloadHeld,
    WorkloadOwner,
    WorkloadRequeued,
    WorkloadStopped,
    WorkloadSubmitted,
)
from headgate.domain.workloads.predicates import is_admissible
from headgate.domain.workloads.preemption_events import EvictionForced
from headgate.domain.workloads.state import EvictionCount, Workload, condition, phase_of
from headgate.messages.catalogue import remedy_of, text_of
from tests.builders.instants import after
from tests.builders.scenario import Scenario
from tests.builders.workloads import RESERVED, a_workload, a_workload_spec, an_eviction, running

SPEC = a_workload_spec()
STOPPED = ReportStopped(uid="uid-1", eviction="e-1")
REQUEUE = RequeueWorkload(eviction="e-1", reason="try again")
DEACTIVATE = DeactivateWorkload(eviction="e-1")
CANCEL = CancelWorkload(eviction="e-1", message="no longer needed")
DELETE = DeleteWorkload(eviction="e-1")
ENDED = a_workload(after=(WorkloadFinished(reason="Succeeded"),))


def story_of(workload: Workload) -> Scenario:
    return Scenario(WORKLOAD).given_state(workload)


def timed_out() -> Workload:
    """Evicted after a pods-ready timeout, stopped, and backing off."""
    eviction = an_eviction("PodsReadyTimeout", count=3, requeue_at=after(600))
    story = story_of(running()).given(eviction)
    story.when(STOPPED)
    assert phase_of(story.state) == "Retrying"
    workload: Workload = story.state
    return workload


def test_a_submitted_workload_waits() -> None:
    story = Scenario(WORKLOAD)
    (event,) = story.when(Submit(uid="u", namespace="team-a", name="train", spec=SPEC))
    assert isinstance(event, WorkloadSubmitted)
    assert phase_of(story.state) == "Pending"


def test_a_workload_may_be_submitted_inactive() -> None:
    story = Scenario(WORKLOAD)
    spec = a_workload_spec(active=False)
    story.when(Submit(uid="u", namespace="team-a", name="train", spec=spec))
    assert phase_of(story.state) == "Inactive"


def test_a_name_is_used_once_until_it_is_deleted() -> None:
    submit = Submit(uid="v", namespace="team-a", name="train", spec=SPEC)
    story = story_of(ENDED)
    story.refuses(submit, AlreadyExists)
    story.when(DELETE)
    assert story.when(submit)[0].uid == "v"


@pytest.mark.parametrize(
    "command",
    [REQUEUE, DEACTIVATE, CANCEL, DELETE, ActivateWorkload(), ChangeSpec(spec=SPEC, eviction="e")],
)
def test_nothing_can_be_asked_of_a_workload_that_is_not_there(command: WorkloadCommand) -> None:
    Scenario(WORKLOAD).refuses(command, NotFound)


@pytest.mark.parametrize(
    "command",
    [REQUEUE, DEACTIVATE, CANCEL, ActivateWorkload(), HoldWorkload(owner="ann", reason="x")],
)
def test_what_has_ended_can_only_be_deleted(command: WorkloadCommand) -> None:
    refusal = story_of(ENDED).refuses(command, IllegalNow)
    assert "Succeeded" in text_of(refusal.message)
    assert story_of(ENDED).when(DELETE) == (deletion_of(ENDED),)
    assert deletion_of(ENDED).phase == "Succeeded"


def test_requeueing_what_runs_stops_it_and_it_waits_again() -> None:
    story = story_of(running())
    (evicted,) = story.when(REQUEUE)
    assert (evicted.eviction, evicted.reason, evicted.message) == ("e-1", "Requeued", "try again")
    assert phase_of(story.state) == "Evicting"
    assert story.when(REQUEUE) == ()
    story.when(STOPPED)
    assert phase_of(story.state) == "Pending"
    assert is_admissible(story.state)


def test_requeueing_a_reservation_only_drops_it() -> None:
    story = story_of(a_workload(after=(RESERVED,)))
    assert story.when(REQUEUE) == (ReservationDropped(reason=message("RequeueRequested")),)
    assert phase_of(story.state) == "Pending"


def test_requeueing_ends_a_backoff_at_once_and_keeps_the_count() -> None:
    story = story_of(timed_out())
    assert story.when(REQUEUE) == (WorkloadRequeued(reason="Requested"),)
    assert is_admissible(story.state)
    assert story.state.requeue.count == 3


def test_requeueing_what_is_leaving_already_is_no_event() -> None:
    story = story_of(running()).given(an_eviction("Preempted"))
    assert story.when(REQUEUE) == ()


def test_requeueing_what_waits_already_is_no_event() -> None:
    assert story_of(a_workload()).when(REQUEUE) == ()


def test_an_inactive_workload_is_activated_and_not_requeued() -> None:
    refusal = story_of(a_workload(active=False)).refuses(REQUEUE, IllegalNow)
    assert "Activate" in remedy_of(refusal.message)


def test_deactivating_what_waits_takes_it_out_of_the_queues() -> None:
    story = story_of(a_workload())
    assert story.when(DEACTIVATE) == (WorkloadDeactivated(cause="Requested"),)
    assert phase_of(story.state) == "Inactive"
    assert story.when(DEACTIVATE) == ()


def test_deactivating_what_waits_counts_as_an_eviction_until_it_has_a_place_again() -> None:
    """Kueue counts it so, and only the first of several in a row (queueing.md §5.7)."""
    story = story_of(a_workload())
    for command in (DEACTIVATE, ActivateWorkload(), DEACTIVATE):
        story.when(command)
    evicted = condition(story.state, "Evicted")
    assert evicted is not None
    assert (evicted.status, evicted.reason) == (True, "Deactivated")
    assert story.state.evictions == (
        EvictionCount(reason="Deactivated", underlying_cause="", count=1),
    )


def test_deactivating_what_runs_keeps_its_quota_until_it_has_stopped() -> None:
    story = story_of(running())
    deactivated, evicted = story.when(DEACTIVATE)
    assert isinstance(deactivated, WorkloadDeactivated)
    assert evicted.reason == "Deactivated"
    assert story.state.admission is not None
    assert story.when(STOPPED) == (WorkloadStopped(eviction="e-1"),)
    assert (story.state.admission, phase_of(story.state)) == (None, "Inactive")


def test_conditions_give_the_reasons_that_kueue_gives() -> None:
    story = story_of(running()).given(an_eviction("Preempted"), WorkloadStopped(eviction="e-1"))
    waits = condition(story.state, "QuotaReserved")
    assert waits is not None
    assert waits.reason == "PendingEvaluation"
    story.given(WorkloadDeactivated(cause="RequeuingLimitExceeded"))
    requeued, evicted = (condition(story.state, kind) for kind in ("Requeued", "Evicted"))
    assert requeued is not None
    assert evicted is not None
    assert requeued.reason == "DeactivatedDueToRequeuingLimitExceeded"
    assert evicted.reason == "Preempted", "the eviction that it still is out for"


def test_deactivating_a_reservation_evicts_it_at_once() -> None:
    story = story_of(a_workload(after=(RESERVED,)))
    _, evicted, stopped = story.when(DEACTIVATE)
    assert (evicted.reason, stopped) == ("Deactivated", WorkloadStopped(eviction="e-1"))
    assert phase_of(story.state) == "Inactive"
    assert story.state.evictions[0].count == 1


def test_deactivating_what_is_leaving_starts_no_second_eviction() -> None:
    story = story_of(running()).given(an_eviction("Preempted"))
    assert story.when(DEACTIVATE) == (WorkloadDeactivated(cause="Requested"),)
    story.when(STOPPED)
    assert phase_of(story.state) == "Inactive"


@pytest.mark.parametrize(
    "cause",
    ["Requested", "RequeuingLimitExceeded", "MaximumExecutionTimeExceeded", "AdmissionCheck"],
)
def test_activation_works_the_first_time_whatever_made_it_inactive(cause: str) -> None:
    story = story_of(running())
    story.when(DeactivateWorkload(eviction="e-1", cause=cause))  # type: ignore[arg-type]
    story.when(STOPPED)
    assert not is_admissible(story.state)
    assert story.when(ActivateWorkload()) == (WorkloadActivated(),)
    assert is_admissible(story.state)
    assert story.when(ActivateWorkload()) == ()


def test_activation_before_the_pods_have_stopped_works_too() -> None:
    story = story_of(running())
    story.when(DEACTIVATE)
    story.when(ActivateWorkload())
    assert phase_of(story.state) == "Evicting"
    story.when(STOPPED)
    assert is_admissible(story.state)


def test_activation_during_a_timed_out_eviction_leaves_no_backoff() -> None:
    eviction = an_eviction("PodsReadyTimeout", count=9, requeue_at=after(600))
    story = story_of(running()).given(eviction)
    story.when(DEACTIVATE)
    story.when(ActivateWorkload())
    story.when(STOPPED)
    assert is_admissible(story.state)
    assert story.state.requeue.count == 0


def test_activation_starts_the_requeue_state_over() -> None:
    story = story_of(timed_out())
    story.when(DEACTIVATE)
    story.when(ActivateWorkload())
    assert (story.state.requeue.count, story.state.requeue.requeue_at) == (0, None)


def test_a_changed_spec_activates_and_deactivates() -> None:
    story = story_of(running())
    events = story.when(ChangeSpec(spec=a_workload_spec(active=False), eviction="e-1"))
    assert [type(event) for event in events] == [WorkloadDeactivated, WorkloadEvicted]
    story.when(STOPPED)
    assert story.when(ChangeSpec(spec=SPEC, eviction="e-2")) == (WorkloadActivated(),)


def test_cancelling_what_waits_ends_it_at_once() -> None:
    story = story_of(a_workload())
    finished = WorkloadFinished(reason="Cancelled", message="no longer needed")
    assert story.when(CANCEL) == (finished,)
    assert phase_of(story.state) == "Cancelled"


def test_cancelling_a_reservation_ends_it_at_once() -> None:
    story = story_of(a_workload(after=(RESERVED,)))
    story.when(CANCEL)
    assert phase_of(story.state) == "Cancelled"


def test_cancelling_by_force_kills_what_is_still_stopping() -> None:
    story = story_of(running())
    story.when(CANCEL)
    by_force = CancelWorkload(eviction="e-2", message="now", force=True)
    (forced,) = story.when(by_force)
    assert isinstance(forced, EvictionForced)
    assert forced.eviction == "e-1"
    assert story.when(by_force) == ()
    assert [type(event) for event in story_of(running()).when(by_force)] == [
        WorkloadCancellationRequested,
        WorkloadEvicted,
        EvictionForced,
    ]


def test_cancelling_what_runs_ends_it_when_it_has_stopped() -> None:
    story = story_of(running())
    requested, evicted = story.when(CANCEL)
    assert isinstance(requested, WorkloadCancellationRequested)
    assert evicted.reason == "Cancelled"
    assert phase_of(story.state) == "Evicting"
    assert story.when(CANCEL) == ()
    stopped, finished = story.when(STOPPED)
    assert isinstance(stopped, WorkloadStopped)
    assert finished.reason == "Cancelled"
    assert phase_of(story.state) == "Cancelled"


def test_cancelling_what_is_being_preempted_ends_it_too() -> None:
    story = story_of(running()).given(an_eviction("Preempted"))
    assert len(story.when(CANCEL)) == 1
    story.when(STOPPED)
    assert phase_of(story.state) == "Cancelled"


def test_pods_that_succeed_while_being_cancelled_have_succeeded() -> None:
    story = story_of(running())
    story.when(CANCEL)
    story.when(ReportFinished(uid="uid-1", succeeded=True))
    assert phase_of(story.state) == "Succeeded"


@pytest.mark.parametrize("command", [REQUEUE, DEACTIVATE, HoldWorkload(owner="ann", reason="x")])
def test_what_is_being_cancelled_takes_no_other_turn(command: WorkloadCommand) -> None:
    story = story_of(running())
    story.when(CANCEL)
    assert "cancelled" in text_of(story.refuses(command, IllegalNow).message)


def test_deleting_what_waits_or_has_only_reserved_removes_it_at_once() -> None:
    for workload in (a_workload(), a_workload(after=(RESERVED,)), timed_out()):
        story = story_of(workload)
        assert story.when(DELETE) == (WorkloadDeleted(),)
        assert story.state == Absent()


def test_deleting_what_runs_removes_it_when_it_has_stopped() -> None:
    story = story_of(running())
    requested, evicted = story.when(DELETE)
    assert isinstance(requested, WorkloadDeletionRequested)
    assert evicted.reason == "Deleted"
    assert story.when(DELETE) == ()
    assert story.when(STOPPED) == (WorkloadStopped(eviction="e-1"), WorkloadDeleted())
    assert story.state == Absent()


def test_what_finishes_while_being_deleted_is_removed() -> None:
    story = story_of(running())
    story.when(DELETE)
    story.when(ReportFinished(uid="uid-1", succeeded=False))
    assert story.state == Absent()


def test_deleting_precedes_cancelling() -> None:
    story = story_of(running())
    story.when(CANCEL)
    assert story.when(DELETE) == (WorkloadDeletionRequested(),)
    story.when(STOPPED)
    assert story.state == Absent()


def test_a_preempted_workload_waits_again_in_its_old_place() -> None:
    story = story_of(running()).given(an_eviction("Preempted"))
    story.when(STOPPED)
    requeued = condition(story.state, "Requeued")
    assert requeued is not None
    assert (requeued.status, requeued.reason) == (True, "Preempted")
    assert is_admissible(story.state)


def test_only_its_owner_holds_a_workload_without_a_reason() -> None:
    own = replace(a_workload(), owner=WorkloadOwner(user="ann"))

    held = story_of(own).when(HoldWorkload(owner="ann", reason=""))

    assert held == (WorkloadHeld(owner="user:ann", reason="", expires_at=None),)
    with pytest.raises(InvalidObject):
        story_of(own).when(HoldWorkload(owner="bo", reason=""))
