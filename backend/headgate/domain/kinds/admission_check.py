"""AdmissionCheck: something outside that must agree before a workload is admitted."""

import msgspec
from msgspec.structs import replace

from headgate.domain.field_rules import length_violations
from headgate.domain.kinds.configured_object import (
    Absent,
    ObjectChanged,
    ObjectCreated,
    ObjectDeleted,
    ObjectDeletionRequested,
    ObjectEvent,
    evolve_object,
    with_status,
)
from headgate.domain.kinds.object_commands import (
    Change,
    Kind,
    ObjectState,
    decide_object,
    existing_object,
)
from headgate.domain.rejection import Violation, violation
from headgate.domain.values.instants import Instant


class CheckParameters(msgspec.Struct, frozen=True, kw_only=True):
    """What the controller reads its settings from."""

    api_group: str = ""
    kind: str = ""
    name: str = ""


class AdmissionCheckSpec(msgspec.Struct, frozen=True, kw_only=True):
    """Which controller reports on it; `active` is what that controller last said of itself."""

    controller_name: str
    parameters: CheckParameters | None = None
    active: bool = True


class AdmissionCheckCreated(
    ObjectCreated[AdmissionCheckSpec], frozen=True, kw_only=True, tag="admission_check.created"
):
    """The AdmissionCheck exists, as generation 1."""


class AdmissionCheckChanged(
    ObjectChanged[AdmissionCheckSpec], frozen=True, kw_only=True, tag="admission_check.changed"
):
    """Labels, annotations or spec of the AdmissionCheck are replaced."""


class AdmissionCheckDeletionRequested(
    ObjectDeletionRequested, frozen=True, tag="admission_check.deletion_requested"
):
    """Deletion of the AdmissionCheck was requested while others referenced it."""


class AdmissionCheckDeleted(ObjectDeleted, frozen=True, tag="admission_check.deleted"):
    """The AdmissionCheck is gone; its name is free."""


class AdmissionCheckReported(
    ObjectEvent, frozen=True, kw_only=True, tag="admission_check.reported"
):
    """Its controller says that it serves the check, or no longer does."""

    active: bool


MAX_CONTROLLER_NAME_LENGTH = 253
_CONTROLLER = "/spec/controllerName"


def check_violations(spec: AdmissionCheckSpec) -> tuple[Violation, ...]:
    """Returns broken rules of an AdmissionCheck."""
    name = spec.controller_name
    return tuple(length_violations(_CONTROLLER, name, MAX_CONTROLLER_NAME_LENGTH, minimum=1))


def check_change_violations(
    before: AdmissionCheckSpec, after: AdmissionCheckSpec
) -> tuple[Violation, ...]:
    """Returns the violation by a change of the controller."""
    if before.controller_name == after.controller_name:
        return ()
    return (violation(_CONTROLLER, "FieldImmutable", value=before.controller_name),)


class ReportCheck(msgspec.Struct, frozen=True, kw_only=True):
    """The controller of a check says that it serves it, or no longer does."""

    active: bool


def _decide(
    state: ObjectState[AdmissionCheckSpec],
    command: object,
    at: Instant,  # noqa: ARG001
) -> tuple[ObjectEvent, ...]:
    """Reports change `active`; a change by a user never does."""
    match command:
        case ReportCheck(active=active):
            is_known = existing_object("AdmissionCheck", state).spec.active == active
            return () if is_known else (AdmissionCheckReported(active=active),)
        case Change():
            active = existing_object("AdmissionCheck", state).spec.active
            served = replace(command, spec=replace(command.spec, active=active))
            return decide_object(ADMISSION_CHECK, state, served)
        case _:
            return decide_object(ADMISSION_CHECK, state, command)


def _evolve(
    state: ObjectState[AdmissionCheckSpec], event: ObjectEvent, at: Instant
) -> ObjectState[AdmissionCheckSpec]:
    if isinstance(event, AdmissionCheckReported) and not isinstance(state, Absent):
        return with_status(state, replace(state.spec, active=event.active))
    return evolve_object(state, event, at)


ADMISSION_CHECK: Kind[AdmissionCheckSpec] = Kind(
    name="AdmissionCheck",
    plural="AdmissionChecks",
    short_names=("ac",),
    spec=AdmissionCheckSpec,
    created=AdmissionCheckCreated,
    changed=AdmissionCheckChanged,
    deletion_requested=AdmissionCheckDeletionRequested,
    deleted=AdmissionCheckDeleted,
    rules=check_violations,
    rules_of_change=check_change_violations,
    when_in_use="Waits",
    status_events=(AdmissionCheckReported,),
    own_decide=_decide,
    own_evolve=_evolve,
)
