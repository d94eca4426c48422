"""Kubernetes conditions of a workload: set one, and move its time only when its status flips."""

import msgspec

from headgate.domain.values.instants import Instant
from headgate.domain.workloads.state import Condition, ConditionType, Workload, condition


class ConditionChange(msgspec.Struct, frozen=True):
    """A condition that is to hold from now on, or not to hold."""

    type: ConditionType
    status: bool
    reason: str
    message: str = ""
    about: str = ""


def with_conditions(
    workload: Workload, at: Instant, *changes: ConditionChange
) -> tuple[Condition, ...]:
    """The conditions of `workload` after these changes, in the order they were first set."""
    found = {known.type: known for known in workload.conditions}
    for change in changes:
        before = found.get(change.type)
        flipped = before is None or before.status != change.status
        found[change.type] = Condition(
            type=change.type,
            status=change.status,
            reason=change.reason,
            message=change.message,
            last_transition_at=at if flipped or before is None else before.last_transition_at,
            observed_generation=workload.generation,
            about=change.about,
        )
    return tuple(found.values())


def reset_condition(workload: Workload, kind: ConditionType) -> tuple[ConditionChange, ...]:
    """The change that ends a condition, if it holds, when quota is reserved again."""
    known = condition(workload, kind)
    if known is None or not known.status:
        return ()
    message = f"Previously: {known.message}"
    return (
        ConditionChange(
            kind, status=False, reason="QuotaReserved", message=message, about=known.about
        ),
    )
