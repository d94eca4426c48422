"""The requeue state after an eviction, and check states after the list of checks changed."""

from collections.abc import Iterator
from typing import Any

from msgspec.structs import replace

from headgate.domain.workloads.events import WorkloadChecksRequired, WorkloadEvicted
from headgate.domain.workloads.state import AdmissionCheckState, RequeueState, Workload
from headgate.domain.workloads.transitions.admission_checks import (
    apply_checks_required,
    check_state_of,
)
from headgate.domain.workloads.transitions.eviction import apply_evicted
from tests.builders.workloads import a_workload
from tests.conformance.cases import Case
from tests.conformance.comparison import differences
from tests.conformance.families.family import Family
from tests.conformance.instants import NOW, instant_of

Given = dict[str, Any]


def requeue_state(case: Case) -> Iterator[str]:
    """The count and the instant after an eviction that asks for a backoff until then."""
    status = (case.mapped("workload").get("status") or {}).get("requeueState") or {}
    before = RequeueState(
        count=status.get("count") or 0,
        requeue_at=instant_of(status.get("requeueAt"), 0) or None,
    )
    counts = bool(case.given("incrementCount"))
    event = WorkloadEvicted(
        eviction="e",
        reason="PodsReadyTimeout" if counts else "AdmissionCheck",
        message="",
        count=before.count + 1 if counts else 0,
        requeue_at=instant_of(case.given("waitUntil"), 0),
    )
    after = apply_evicted(replace(a_workload(), requeue=before), event, NOW).requeue
    yield from differences("count", case.want["wantCount"] or 0, after.count)
    until = instant_of(case.want["wantRequeueAt"], 0) or None
    yield from differences("until", until, after.requeue_at)
    yield from differences("updated", case.want["wantUpdated"], after != before)


def check_states(case: Case) -> Iterator[str]:
    """The states of all checks once these are asked for, and whether anything changed."""
    known = {found["name"]: found.get("state", "Pending") for found in case.listed("states")}
    states = {
        name: AdmissionCheckState(state=state, last_transition_at=NOW)
        for name, state in known.items()
    }
    before = replace(a_workload(), checks=tuple(known), check_states=states)
    asked = tuple(case.listed("list"))
    after = apply_checks_required(before, WorkloadChecksRequired(checks=asked))
    wanted = {found["name"]: found["state"] for found in case.want["wantStates"] or ()}
    yield from differences("states", wanted, _told(after))
    yield from differences("changed", case.want["wantChange"], _told(after) != known)


def _told(workload: Workload) -> dict[str, str]:
    return {name: check_state_of(workload, name).state for name in workload.checks}


FAMILIES = {"TestSetRequeueState": Family(requeue_state)}
CHECK_FAMILIES = {
    "TestSyncCheckStates": Family(
        check_states, unread={"inputs.ignoreTransitionTime": "times are not compared"}
    )
}
