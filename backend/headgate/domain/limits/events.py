"""What can have happened to LimitRanges and RuntimeClasses; the names are the storage format."""

import msgspec

from headgate.domain.limits.specs import LimitRangeSpec, RuntimeClassSpec


class LimitRangeCreated(msgspec.Struct, frozen=True, kw_only=True, tag="limit_range.created"):
    """The range exists from now on, as generation 1."""

    uid: str
    name: str
    namespace: str
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    spec: LimitRangeSpec


class LimitRangeChanged(msgspec.Struct, frozen=True, kw_only=True, tag="limit_range.changed"):
    """Its labels, annotations or spec are now these; a changed spec is a new generation."""

    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    spec: LimitRangeSpec


class LimitRangeDeletionRequested(
    msgspec.Struct, frozen=True, tag="limit_range.deletion_requested"
):
    """Someone asked to delete it while it was in use; it goes when nothing uses it any more."""


class LimitRangeDeleted(msgspec.Struct, frozen=True, tag="limit_range.deleted"):
    """The range is gone; the name is free."""


class RuntimeClassCreated(msgspec.Struct, frozen=True, kw_only=True, tag="runtime_class.created"):
    """The class exists from now on, as generation 1."""

    uid: str
    name: str
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    spec: RuntimeClassSpec


class RuntimeClassChanged(msgspec.Struct, frozen=True, kw_only=True, tag="runtime_class.changed"):
    """Its labels, annotations or spec are now these; a changed spec is a new generation."""

    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    spec: RuntimeClassSpec


class RuntimeClassDeletionRequested(
    msgspec.Struct, frozen=True, tag="runtime_class.deletion_requested"
):
    """Someone asked to delete it while it was in use; it goes when nothing uses it any more."""


class RuntimeClassDeleted(msgspec.Struct, frozen=True, tag="runtime_class.deleted"):
    """The class is gone; the name is free."""


LimitRangeEvent = (
    LimitRangeCreated | LimitRangeChanged | LimitRangeDeletionRequested | LimitRangeDeleted
)
RuntimeClassEvent = (
    RuntimeClassCreated | RuntimeClassChanged | RuntimeClassDeletionRequested | RuntimeClassDeleted
)
LimitEvent = LimitRangeEvent | RuntimeClassEvent
