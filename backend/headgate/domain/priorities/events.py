"""What can have happened to a WorkloadPriorityClass; the names are the storage format."""

import msgspec

from headgate.domain.priorities.specs import WorkloadPriorityClassSpec


class WorkloadPriorityClassCreated(
    msgspec.Struct, frozen=True, kw_only=True, tag="workload_priority_class.created"
):
    """The class exists from now on, as generation 1."""

    uid: str
    name: str
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    spec: WorkloadPriorityClassSpec


class WorkloadPriorityClassChanged(
    msgspec.Struct, frozen=True, kw_only=True, tag="workload_priority_class.changed"
):
    """Its labels, annotations or spec are now these; a changed spec is a new generation."""

    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    spec: WorkloadPriorityClassSpec


class WorkloadPriorityClassDeletionRequested(
    msgspec.Struct, frozen=True, tag="workload_priority_class.deletion_requested"
):
    """Someone asked to delete it while it was in use; it goes when nothing uses it any more."""


class WorkloadPriorityClassDeleted(
    msgspec.Struct, frozen=True, tag="workload_priority_class.deleted"
):
    """The class is gone; the name is free."""


PriorityEvent = (
    WorkloadPriorityClassCreated
    | WorkloadPriorityClassChanged
    | WorkloadPriorityClassDeletionRequested
    | WorkloadPriorityClassDeleted
)
