"""What can have happened to a Namespace; the names are the storage format."""

import msgspec

from headgate.domain.namespaces.specs import NamespaceSpec


class NamespaceCreated(msgspec.Struct, frozen=True, kw_only=True, tag="namespace.created"):
    """The namespace exists from now on, as generation 1."""

    uid: str
    name: str
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    spec: NamespaceSpec


class NamespaceChanged(msgspec.Struct, frozen=True, kw_only=True, tag="namespace.changed"):
    """Its labels, annotations or spec are now these; a changed spec is a new generation."""

    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    spec: NamespaceSpec


class NamespaceDeletionRequested(msgspec.Struct, frozen=True, tag="namespace.deletion_requested"):
    """Someone asked to delete it while it was in use; it goes when nothing uses it any more."""


class NamespaceDeleted(msgspec.Struct, frozen=True, tag="namespace.deleted"):
    """The namespace is gone; the name is free."""


NamespaceEvent = NamespaceCreated | NamespaceChanged | NamespaceDeletionRequested | NamespaceDeleted
