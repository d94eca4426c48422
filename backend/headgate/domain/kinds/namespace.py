"""Namespace: the labels that ClusterQueues select submitters by."""

import msgspec

from headgate.domain.field_rules import broken_rule_of_dns_label
from headgate.domain.kinds.configured_object import (
    ObjectChanged,
    ObjectCreated,
    ObjectDeleted,
    ObjectDeletionRequested,
)
from headgate.domain.kinds.object_commands import (
    Kind,
)


class NamespaceSpec(msgspec.Struct, frozen=True, kw_only=True):
    """Nothing but the name and labels of the object itself."""


class NamespaceCreated(
    ObjectCreated[NamespaceSpec], frozen=True, kw_only=True, tag="namespace.created"
):
    """The Namespace exists, as generation 1."""


class NamespaceChanged(
    ObjectChanged[NamespaceSpec], frozen=True, kw_only=True, tag="namespace.changed"
):
    """Labels, annotations or spec of the Namespace are replaced."""


class NamespaceDeletionRequested(
    ObjectDeletionRequested, frozen=True, tag="namespace.deletion_requested"
):
    """Deletion of the Namespace was requested while others referenced it."""


class NamespaceDeleted(ObjectDeleted, frozen=True, tag="namespace.deleted"):
    """The Namespace is gone; its name is free."""


NAMESPACE: Kind[NamespaceSpec] = Kind(
    name="Namespace",
    plural="Namespaces",
    short_names=("ns",),
    spec=NamespaceSpec,
    created=NamespaceCreated,
    changed=NamespaceChanged,
    deletion_requested=NamespaceDeletionRequested,
    deleted=NamespaceDeleted,
    broken_rule_of_name=broken_rule_of_dns_label,
    when_in_use="Refuses",
)
