"""What can be asked of an AdmissionCheck."""

import msgspec

from headgate.domain.checks.specs import AdmissionCheckSpec
from headgate.domain.configuring import Change, Create, FinishDeletion, RequestDeletion


class ReportCheck(msgspec.Struct, frozen=True, kw_only=True):
    """The controller of a check says that it serves it, or no longer does."""

    active: bool


AdmissionCheckCommand = (
    Create[AdmissionCheckSpec]
    | Change[AdmissionCheckSpec]
    | RequestDeletion
    | FinishDeletion
    | ReportCheck
)
