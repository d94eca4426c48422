"""What AdmissionChecks answer to commands."""

from msgspec.structs import replace

from headgate.domain.checks.commands import AdmissionCheckCommand, ReportCheck
from headgate.domain.checks.events import (
    AdmissionCheckChanged,
    AdmissionCheckCreated,
    AdmissionCheckDeleted,
    AdmissionCheckDeletionRequested,
    AdmissionCheckReported,
    CheckEvent,
)
from headgate.domain.checks.evolve import evolve_admission_check
from headgate.domain.checks.rules import check_change_violations, check_violations
from headgate.domain.checks.specs import AdmissionCheckSpec
from headgate.domain.checks.state import AdmissionCheckState
from headgate.domain.configured import Absent
from headgate.domain.configuring import (
    Change,
    Create,
    FinishDeletion,
    Life,
    RequestDeletion,
    change,
    create,
    existing,
    finish_deletion,
    request_deletion,
)
from headgate.domain.decider import Decider
from headgate.domain.values.instants import Instant

_ADMISSION_CHECK: Life[AdmissionCheckSpec, CheckEvent] = Life(
    kind="AdmissionCheck",
    created=lambda command: AdmissionCheckCreated(
        uid=command.uid,
        name=command.name,
        labels=command.labels,
        annotations=command.annotations,
        spec=command.spec,
    ),
    changed=lambda command: AdmissionCheckChanged(
        labels=command.labels, annotations=command.annotations, spec=command.spec
    ),
    deletion_requested=AdmissionCheckDeletionRequested(),
    deleted=AdmissionCheckDeleted(),
    rules=check_violations,
    rules_of_change=check_change_violations,
    when_in_use="Waits",
)


def decide_admission_check(
    state: AdmissionCheckState,
    command: AdmissionCheckCommand,
    at: Instant,  # noqa: ARG001  (the one shape of every decider)
) -> tuple[CheckEvent, ...]:
    """The facts that follow for an AdmissionCheck, or a `Rejection`."""
    match command:
        case Create():
            return create(_ADMISSION_CHECK, state, command)
        case Change():
            return change(_ADMISSION_CHECK, state, _as_served(state, command))
        case RequestDeletion():
            return request_deletion(_ADMISSION_CHECK, state, command)
        case FinishDeletion():
            return finish_deletion(_ADMISSION_CHECK, state, command)
        case ReportCheck():
            return _report(state, command)


def _as_served(
    state: AdmissionCheckState, command: Change[AdmissionCheckSpec]
) -> Change[AdmissionCheckSpec]:
    """Whether it is served is for its controller to say, not for whoever changes it."""
    known = existing("AdmissionCheck", state)
    return replace(command, spec=replace(command.spec, active=known.spec.active))


def _report(state: AdmissionCheckState, command: ReportCheck) -> tuple[CheckEvent, ...]:
    if existing("AdmissionCheck", state).spec.active == command.active:
        return ()
    return (AdmissionCheckReported(active=command.active),)


ADMISSION_CHECK: Decider[AdmissionCheckCommand, AdmissionCheckState, CheckEvent] = Decider(
    initial_state=Absent(), decide=decide_admission_check, evolve=evolve_admission_check
)
