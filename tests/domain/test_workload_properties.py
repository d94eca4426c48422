"""Random lives of workloads: whatever is asked and reported, the life cycle holds together."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from headgate.domain.kinds.configured_object import Absent
from headgate.domain.rejection import Rejection
from headgate.domain.workloads.commands import (
    AcknowledgeEviction,
    ActivateWorkload,
    CancelWorkload,
    ChangeSpec,
    DeactivateWorkload,
    DeleteWorkload,
    HoldWorkload,
    ReleaseWorkload,
    ReportCheckState,
    ReportFinished,
    ReportPodsReady,
    ReportReclaimable,
    ReportStopped,
    RequeueWorkload,
    Submit,
)
from headgate.domain.workloads.decide.decider import WORKLOAD
from headgate.domain.workloads.events import WorkloadEvicted, WorkloadReleased, WorkloadRequeued
from headgate.domain.workloads.predicates import is_admissible
from headgate.domain.workloads.state import Workload, WorkloadState, is_admitted, phase_of
from tests.builders.instants import after
from tests.builders.workloads import ADMITTED, RESERVED, a_workload_spec, an_eviction

UIDS = st.sampled_from(["uid-1", "uid-2"])
EVICTIONS = st.sampled_from(["e-1", "e-2", "e-3"])
COMMANDS = st.one_of(
    st.builds(
        Submit,
        uid=UIDS,
        namespace=st.just("team-a"),
        name=st.just("train"),
        spec=st.just(a_workload_spec()),
    ),
    st.builds(
        ChangeSpec,
        spec=st.builds(a_workload_spec, active=st.booleans(), priority=st.integers(0, 2)),
        eviction=EVICTIONS,
    ),
    st.builds(ReportPodsReady, uid=UIDS, ready=st.booleans()),
    st.builds(
        ReportReclaimable, uid=UIDS, pods=st.dictionaries(st.just("main"), st.integers(0, 1))
    ),
    st.builds(
        ReportCheckState,
        uid=UIDS,
        check=st.just("check"),
        state=st.sampled_from(["Pending", "Ready", "Retry", "Rejected"]),
    ),
    st.builds(ReportFinished, uid=UIDS, succeeded=st.booleans()),
    st.builds(AcknowledgeEviction, uid=UIDS, eviction=EVICTIONS),
    st.builds(ReportStopped, uid=UIDS, eviction=EVICTIONS),
    st.builds(
        HoldWorkload,
        owner=st.just("ann"),
        authority=st.sampled_from(["User", "Admin"]),
        reason=st.just("because"),
    ),
    st.builds(ReleaseWorkload, authority=st.sampled_from(["User", "Admin"])),
    st.builds(RequeueWorkload, eviction=EVICTIONS),
    st.builds(ActivateWorkload),
    st.builds(DeactivateWorkload, eviction=EVICTIONS),
    st.builds(CancelWorkload, eviction=EVICTIONS),
    st.builds(DeleteWorkload, eviction=EVICTIONS),
)
SCHEDULER = st.sampled_from(["reserve", "admit", "preempt", "time out", "back off ends"])


def scheduled(state: WorkloadState, step: str) -> tuple[Any, ...]:
    """What the scheduler does at this step, if the workload is at the stage for it."""
    if not isinstance(state, Workload) or state.finished_at is not None:
        return ()
    free_to_evict = is_admitted(state) and state.eviction is None
    match step:
        case "reserve" if is_admissible(state):
            return (replace(RESERVED, checks=("check",)),)
        case "admit" if phase_of(state) == "QuotaReserved":
            return (ADMITTED,)
        case "preempt" if free_to_evict:
            return (an_eviction("Preempted", eviction="e-1"),)
        case "time out" if free_to_evict:
            late = an_eviction("PodsReadyTimeout", eviction="e-2", requeue_at=after(60), count=1)
            return (late,)
        case "back off ends" if phase_of(state) == "Retrying":
            return (WorkloadRequeued(reason="BackoffFinished"),)
        case _:
            return ()


def step(state: WorkloadState, wish: Any) -> tuple[Any, ...]:
    if isinstance(wish, str):
        return scheduled(state, wish)
    try:
        return WORKLOAD.decide(state, wish, after(0))
    except Rejection:
        return ()


def after_events(state: WorkloadState, events: tuple[Any, ...]) -> WorkloadState:
    for event in events:
        state = WORKLOAD.evolve(state, event, after(0))
    return state


def assert_sound(state: WorkloadState) -> None:
    if isinstance(state, Absent):
        return
    if state.eviction is not None:
        assert state.admission is not None, "only what has a place is evicted"
        assert state.finished_at is None, "an end ends the eviction"
    if is_admitted(state):
        assert state.admission is not None
    if state.cancelling_at is not None or state.terminating_at is not None:
        over = state.finished_at is not None
        assert over or state.eviction is not None, "a victim is being evicted"
    if not state.spec.active and state.finished_at is None:
        going = state.eviction is not None or state.admission is None
        assert going, "what is inactive has no place, or is losing it"


@given(st.lists(st.one_of(COMMANDS, SCHEDULER), max_size=40))
def test_no_sequence_of_commands_breaks_the_life_cycle(wishes: list[Any]) -> None:
    state: WorkloadState = Absent()
    for wish in wishes:
        events = step(state, wish)
        evictions = [event for event in events if isinstance(event, WorkloadEvicted)]
        assert len(evictions) <= 1
        if evictions and isinstance(state, Workload):
            assert state.eviction is None, "nothing is evicted twice at a time"
        state = after_events(state, events)
        assert_sound(state)


@given(st.lists(st.one_of(COMMANDS, SCHEDULER), max_size=30), COMMANDS)
def test_what_was_said_changes_nothing_when_said_again(wishes: list[Any], last: Any) -> None:
    state: WorkloadState = Absent()
    for wish in wishes:
        state = after_events(state, step(state, wish))
    once = after_events(state, step(state, last))
    if isinstance(last, RequeueWorkload | ReportStopped | DeleteWorkload):
        return  # These ask for the next step of a story, which may go on by itself.
    assert after_events(once, step(once, last)) == once


@given(st.lists(st.one_of(COMMANDS, SCHEDULER), max_size=30))
def test_every_unfinished_workload_can_be_brought_to_compete(wishes: list[Any]) -> None:
    state: WorkloadState = Absent()
    for wish in wishes:
        state = after_events(state, step(state, wish))
    if not isinstance(state, Workload) or state.finished_at is not None:
        return
    if state.cancelling_at is not None or state.terminating_at is not None:
        return
    state = after_events(state, (WorkloadReleased(),) if state.hold else ())
    assert isinstance(state, Workload)
    stopped = ReportStopped(uid=state.uid)
    for wish in (ActivateWorkload(), stopped, RequeueWorkload(eviction="e-9"), stopped):
        state = after_events(state, step(state, wish))
    assert isinstance(state, Workload)
    assert is_admissible(state)


@given(st.lists(st.one_of(COMMANDS, SCHEDULER), max_size=30))
def test_every_workload_can_be_removed(wishes: list[Any]) -> None:
    state: WorkloadState = Absent()
    for wish in wishes:
        state = after_events(state, step(state, wish))
    state = after_events(state, step(state, DeleteWorkload(eviction="e-9")))
    if isinstance(state, Workload):
        state = after_events(state, step(state, ReportStopped(uid=state.uid)))
    assert state == Absent()
