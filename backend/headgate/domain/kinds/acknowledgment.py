"""Acknowledgments of causes: webhooks are told no more of one until it changes.

An acknowledgment with an end is a snooze.
"""

from typing import Literal, get_args

import msgspec

from headgate.domain.field_rules import length_violations
from headgate.domain.kinds.configured_object import (
    ObjectChanged,
    ObjectCreated,
    ObjectDeleted,
    ObjectDeletionRequested,
    ObjectEvent,
)
from headgate.domain.kinds.object_commands import (
    Change,
    Create,
    Kind,
    ObjectState,
    decide_object,
)
from headgate.domain.rejection import Violation, violation
from headgate.domain.values.instants import Instant

CauseSeverity = Literal["info", "warning", "critical"]
SEVERITIES: tuple[CauseSeverity, ...] = get_args(CauseSeverity)
"""The mildest first."""

MAX_REASON_LENGTH = 500
MAX_CAUSE_LENGTH = 400


class AcknowledgmentSpec(msgspec.Struct, frozen=True, kw_only=True):
    """The cause, by its key, that `by` works on; with an end (`until`) it is a snooze.

    It holds while the cause is no worse than it was: not above `severity`, and of at most `count`
    objects, where a count is given.
    """

    cause: str
    reason: str = ""
    until: Instant | None = None
    severity: CauseSeverity = "critical"
    count: int | None = None
    by: str = ""


def is_worse(severity: CauseSeverity, than: CauseSeverity) -> bool:
    """Whether a severity is above another."""
    return SEVERITIES.index(severity) > SEVERITIES.index(than)


def holds(spec: AcknowledgmentSpec, severity: CauseSeverity, count: int, at: Instant) -> bool:
    """Whether an acknowledgment still holds for its cause as it now is."""
    is_over = spec.until is not None and at >= spec.until
    has_grown = spec.count is not None and count > spec.count
    return not (is_over or has_grown or is_worse(severity, spec.severity))


class AcknowledgmentCreated(
    ObjectCreated[AcknowledgmentSpec], frozen=True, kw_only=True, tag="acknowledgment.created"
):
    """A cause is acknowledged, or snoozed until an instant."""


class AcknowledgmentChanged(
    ObjectChanged[AcknowledgmentSpec], frozen=True, kw_only=True, tag="acknowledgment.changed"
):
    """The cause is acknowledged anew: as it now is, for another reason or time."""


class AcknowledgmentDeletionRequested(
    ObjectDeletionRequested, frozen=True, tag="acknowledgment.deletion_requested"
):
    """Deletion of the Acknowledgment was requested while others referenced it."""


class AcknowledgmentDeleted(ObjectDeleted, frozen=True, tag="acknowledgment.deleted"):
    """The cause is open again, or closed."""


def acknowledgment_violations(spec: AcknowledgmentSpec) -> tuple[Violation, ...]:
    """Broken rules of an Acknowledgment."""
    found = [
        *length_violations("/spec/cause", spec.cause, MAX_CAUSE_LENGTH),
        *length_violations("/spec/reason", spec.reason, MAX_REASON_LENGTH),
    ]
    if not spec.cause:
        found.append(violation("/spec/cause", "Required", field="cause"))
    return tuple(found)


def _decide_acknowledgment(
    state: ObjectState[AcknowledgmentSpec],
    command: object,
    at: Instant,  # noqa: ARG001 - an end in the past is an acknowledgment that holds no more
) -> tuple[ObjectEvent, ...]:
    """The user of the command is the one who acknowledges, whatever the manifest says."""
    if isinstance(command, Create | Change):
        spec = msgspec.structs.replace(command.spec, by=command.by)
        command = (
            msgspec.structs.replace(command, spec=spec, keeps=())
            if isinstance(command, Change)
            else msgspec.structs.replace(command, spec=spec)
        )
    return decide_object(ACKNOWLEDGMENT, state, command)


ACKNOWLEDGMENT: Kind[AcknowledgmentSpec] = Kind(
    name="Acknowledgment",
    plural="Acknowledgments",
    short_names=("ack",),
    spec=AcknowledgmentSpec,
    created=AcknowledgmentCreated,
    changed=AcknowledgmentChanged,
    deletion_requested=AcknowledgmentDeletionRequested,
    deleted=AcknowledgmentDeleted,
    rules=acknowledgment_violations,
    own_decide=_decide_acknowledgment,
)
