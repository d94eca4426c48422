"""Holding a workload back and releasing it, kept apart for users and admins (product.md 9).

A hold remembers who set it as `admin:<name>` or `user:<name>`. An admin's hold takes the place of a
user's, and only an admin ends it.
"""

from headgate.domain.metadata import refuse
from headgate.domain.rejection import IllegalNow, Violation
from headgate.domain.values.instants import Instant
from headgate.domain.workloads.commands import HoldWorkload, ReleaseWorkload
from headgate.domain.workloads.events import WorkloadEvent, WorkloadHeld, WorkloadReleased
from headgate.domain.workloads.living import existing, staying
from headgate.domain.workloads.state import Hold, WorkloadState

ADMIN = "admin:"
USER = "user:"


def hold(state: WorkloadState, command: HoldWorkload, at: Instant) -> tuple[WorkloadEvent, ...]:
    """Held, unless it is so already in just this way."""
    workload = staying(state)
    refuse("The request to hold", workload.key, _violations(command, at))
    prefix = ADMIN if command.authority == "Admin" else USER
    owner = prefix + command.owner.removeprefix(ADMIN).removeprefix(USER)
    present = workload.hold
    if present is not None:
        if command.authority == "User":
            _refuse_if_admins(present)
        wanted = Hold(
            owner=owner,
            reason=command.reason,
            held_at=present.held_at,
            expires_at=command.expires_at,
        )
        if present == wanted:
            return ()
    return (WorkloadHeld(owner=owner, reason=command.reason, expires_at=command.expires_at),)


def release(
    state: WorkloadState, command: ReleaseWorkload, at: Instant
) -> tuple[WorkloadEvent, ...]:
    """Released, if it is held; an expiry ends only a hold that has run out."""
    present = existing(state).hold
    if present is None:
        return ()
    if command.expired:
        has_run_out = present.expires_at is not None and present.expires_at <= at
        return (WorkloadReleased(expired=True),) if has_run_out else ()
    if command.authority == "User":
        _refuse_if_admins(present)
    return (WorkloadReleased(),)


def _refuse_if_admins(present: Hold) -> None:
    if present.owner.startswith(ADMIN):
        raise IllegalNow(
            f"It is held by {present.owner}: {present.reason}",
            remedy="Ask an admin to release it.",
        )


def _violations(command: HoldWorkload, at: Instant) -> list[Violation]:
    found = []
    if not command.reason.strip():
        found.append(
            Violation(
                pointer="/reason",
                rule="Holding a workload needs a reason.",
                remedy="Say in a few words why.",
            )
        )
    if command.expires_at is not None and command.expires_at <= at:
        found.append(
            Violation(
                pointer="/expiresAt",
                rule="The end of a hold lies in the future.",
                remedy="Give a later time, or none.",
            )
        )
    return found
