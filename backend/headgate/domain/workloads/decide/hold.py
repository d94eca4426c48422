"""Decides on holding and releasing a workload.

A hold records its owner by authority and name, as `admin:<name>` or `user:<name>`. A hold of higher
authority covers a lower one and is released only by that authority or a higher one, after which the
covered hold applies again.
"""

from headgate.domain.field_rules import action_violations, raise_if_invalid
from headgate.domain.rejection import IllegalNow
from headgate.domain.values.instants import Instant
from headgate.domain.workloads.commands import HoldWorkload, ReleaseWorkload
from headgate.domain.workloads.decide.preconditions import require_exists, require_not_terminating
from headgate.domain.workloads.events import WorkloadEvent, WorkloadHeld, WorkloadReleased
from headgate.domain.workloads.state import (
    Hold,
    WorkloadState,
    authority_rank,
    ordered_by,
    rank_of_order,
)


def hold(state: WorkloadState, command: HoldWorkload, at: Instant) -> tuple[WorkloadEvent, ...]:
    """Holds the workload, unless an equal hold exists."""
    workload = require_not_terminating(state)
    violations = action_violations(command.reason, command.expires_at, at)
    raise_if_invalid("Workload", workload.key, violations)
    owner = ordered_by(command.authority, command.owner)
    wanted = WorkloadHeld(owner=owner, reason=command.reason, expires_at=command.expires_at)
    holds = (workload.hold, workload.covered_hold)
    return () if any(found and _held_event(found) == wanted for found in holds) else (wanted,)


def release(
    state: WorkloadState, command: ReleaseWorkload, at: Instant
) -> tuple[WorkloadEvent, ...]:
    """Releases the workload if it is held; `expired` releases only a hold that has expired."""
    workload = require_exists(state)
    present = workload.hold
    if present is None:
        return ()
    if command.expired:
        if not _has_expired(present, at):
            return ()
    elif rank_of_order(present.owner) > authority_rank(command.authority):
        raise IllegalNow("HeldByAdmin", owner=present.owner, reason=present.reason)
    released = WorkloadReleased(expired=command.expired)
    beneath = workload.covered_hold
    if beneath is None or _has_expired(beneath, at):
        return (released,)
    return (released, _held_event(beneath))


def _held_event(hold: Hold) -> WorkloadHeld:
    return WorkloadHeld(owner=hold.owner, reason=hold.reason, expires_at=hold.expires_at)


def _has_expired(hold: Hold, at: Instant) -> bool:
    return hold.expires_at is not None and hold.expires_at <= at
