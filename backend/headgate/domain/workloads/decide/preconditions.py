"""Preconditions of commands: they return the workload or raise a `Rejection`."""

from headgate.domain.rejection import IllegalNow, NotFound
from headgate.domain.values.message import workload_reference
from headgate.domain.workloads.state import Workload, WorkloadState, phase_of


def require_exists(state: WorkloadState) -> Workload:
    """The workload; raises `NotFound` if the stream has none."""
    if not isinstance(state, Workload):
        raise NotFound("ObjectNotFound", kind="Workload")
    return state


def require_unfinished(state: WorkloadState) -> Workload:
    """The workload; raises `IllegalNow` if it has finished."""
    workload = require_exists(state)
    if workload.finished_at is not None:
        found, phase = workload_reference(workload.key), phase_of(workload)
        raise IllegalNow("WorkloadHasEnded", workload=found, phase=phase)
    return workload


def require_not_terminating(state: WorkloadState) -> Workload:
    """The workload; raises `IllegalNow` if it has finished or is being deleted or cancelled."""
    workload = require_unfinished(state)
    found = workload_reference(workload.key)
    if workload.terminating_at is not None:
        raise IllegalNow("WorkloadTerminating", workload=found)
    if workload.cancelling_at is not None:
        raise IllegalNow("WorkloadCancelling", workload=found)
    return workload


def require_reported(state: WorkloadState, uid: str, attempt: int | None) -> Workload:
    """The workload; raises `IllegalNow` if the report carries another uid or attempt.

    A report without an attempt passes: `require_attempt` refuses it before it changes anything.
    """
    workload = require_same_uid(state, uid)
    if attempt is not None and attempt != workload.attempt:
        raise IllegalNow(
            "StaleAttempt",
            workload=workload_reference(workload.key),
            attempt=attempt,
            present_attempt=workload.attempt,
        )
    return workload


def require_attempt(workload: Workload, attempt: int | None) -> None:
    """Raises `IllegalNow` for a report that may be of an earlier attempt, as it names none."""
    if attempt is None and workload.attempt > 1:
        found = workload_reference(workload.key)
        raise IllegalNow("AttemptMissing", workload=found, present_attempt=workload.attempt)


def require_same_uid(state: WorkloadState, uid: str) -> Workload:
    """The workload; raises `IllegalNow` if the report carries the uid of an earlier workload."""
    workload = require_exists(state)
    if workload.uid != uid:
        found = workload_reference(workload.key)
        raise IllegalNow("EarlierWorkload", workload=found, uid=uid, present_uid=workload.uid)
    return workload
