"""Preconditions of commands: they return the workload or raise a `Rejection`."""

from headgate.domain.rejection import IllegalNow, NotFound
from headgate.domain.workloads.state import Workload, WorkloadState, phase_of


def require_exists(state: WorkloadState) -> Workload:
    """The workload; raises `NotFound` if the stream has none."""
    if not isinstance(state, Workload):
        raise NotFound(
            "Stated",
            rule="There is no such workload.",
            remedy="Check its name and namespace, or submit it.",
        )
    return state


def require_unfinished(state: WorkloadState) -> Workload:
    """The workload; raises `IllegalNow` if it has finished."""
    workload = require_exists(state)
    if workload.finished_at is not None:
        raise IllegalNow(
            "Stated",
            rule=f"Workload {workload.key} has ended as {phase_of(workload)}.",
            remedy="Submit it again under another name, or delete it first.",
        )
    return workload


def require_not_terminating(state: WorkloadState) -> Workload:
    """The workload; raises `IllegalNow` if it has finished or is being deleted or cancelled."""
    workload = require_unfinished(state)
    if workload.terminating_at is not None or workload.cancelling_at is not None:
        wish = "deleted" if workload.terminating_at is not None else "cancelled"
        raise IllegalNow(
            "Stated",
            rule=f"Workload {workload.key} is being {wish} and goes once its pods have stopped.",
            remedy="Submit it again when it is gone.",
        )
    return workload


def require_same_uid(state: WorkloadState, uid: str) -> Workload:
    """The workload; raises `IllegalNow` if the report carries the uid of an earlier workload."""
    workload = require_exists(state)
    if workload.uid != uid:
        raise IllegalNow(
            "Stated",
            rule=f"The report is about an earlier workload {workload.key} (uid {uid}).",
            remedy=f"Stop what runs for it; the present one has uid {workload.uid}.",
        )
    return workload
