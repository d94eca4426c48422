"""What can have happened to a AdmissionCheck; the names are the storage format."""

import msgspec

from headgate.domain.checks.specs import AdmissionCheckSpec


class AdmissionCheckCreated(
    msgspec.Struct, frozen=True, kw_only=True, tag="admission_check.created"
):
    """The check exists from now on, as generation 1."""

    uid: str
    name: str
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    spec: AdmissionCheckSpec


class AdmissionCheckChanged(
    msgspec.Struct, frozen=True, kw_only=True, tag="admission_check.changed"
):
    """Its labels, annotations or spec are now these; a changed spec is a new generation."""

    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    spec: AdmissionCheckSpec


class AdmissionCheckDeletionRequested(
    msgspec.Struct, frozen=True, tag="admission_check.deletion_requested"
):
    """Someone asked to delete it while it was in use; it goes when nothing uses it any more."""


class AdmissionCheckDeleted(msgspec.Struct, frozen=True, tag="admission_check.deleted"):
    """The check is gone; the name is free."""


class AdmissionCheckReported(
    msgspec.Struct, frozen=True, kw_only=True, tag="admission_check.reported"
):
    """Its controller says that it serves the check, or no longer does."""

    active: bool


CheckEvent = (
    AdmissionCheckCreated
    | AdmissionCheckChanged
    | AdmissionCheckDeletionRequested
    | AdmissionCheckDeleted
    | AdmissionCheckReported
)
