"""How facts change an AdmissionCheck."""

from msgspec.structs import replace

from headgate.domain.checks.events import (
    AdmissionCheckChanged,
    AdmissionCheckCreated,
    AdmissionCheckDeleted,
    AdmissionCheckDeletionRequested,
    AdmissionCheckReported,
    CheckEvent,
)
from headgate.domain.checks.state import AdmissionCheckState
from headgate.domain.configured import (
    Absent,
    changed,
    created,
    terminating,
    with_status,
)
from headgate.domain.values.instants import Instant


def evolve_admission_check(
    state: AdmissionCheckState, event: CheckEvent, at: Instant
) -> AdmissionCheckState:
    """The AdmissionCheck after the event."""
    match event:
        case AdmissionCheckCreated():
            return created(event, at)
        case AdmissionCheckChanged():
            return changed(state, event)
        case AdmissionCheckDeletionRequested():
            return terminating(state, at)
        case AdmissionCheckDeleted():
            return Absent()
        case AdmissionCheckReported(active=active):
            return _reported(state, active=active)


def _reported(state: AdmissionCheckState, *, active: bool) -> AdmissionCheckState:
    if isinstance(state, Absent):
        return state
    return with_status(state, replace(state.spec, active=active))
