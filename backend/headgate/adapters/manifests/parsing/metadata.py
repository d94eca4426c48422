"""The part that all manifests share: apiVersion, kind and metadata."""

import msgspec

from headgate.adapters.manifests.fields import Fields
from headgate.adapters.manifests.kinds import ManifestKind

READ_BY_SERVER_ONLY = (
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "finalizers",
    "generation",
    "managedFields",
    "ownerReferences",
    "selfLink",
)


class Metadata(msgspec.Struct, frozen=True, kw_only=True):
    """What a manifest says of its object beside the spec."""

    name: str
    namespace: str
    generate_name: str
    uid: str
    resource_version: str
    labels: dict[str, str]
    annotations: dict[str, str]


def read_metadata(root: Fields, kind: ManifestKind, namespace: str) -> Metadata:
    """The metadata; `namespace` is the one for objects that name none."""
    root.ignore("apiVersion", "kind", "status")
    fields = root.child_or_empty("metadata")
    fields.ignore(*READ_BY_SERVER_ONLY)
    named = fields.text("namespace")
    if named and not kind.namespaced:
        fields.note("namespace", "Objects of this kind have no namespace.", "Remove it.")
    read = Metadata(
        name=fields.text("name", kind.only_name),
        namespace=(named or namespace) if kind.namespaced else "",
        generate_name=fields.text("generateName"),
        uid=fields.text("uid"),
        resource_version=fields.text("resourceVersion"),
        labels=fields.text_map("labels"),
        annotations=fields.text_map("annotations"),
    )
    if not read.name and not read.generate_name:
        fields.note("name", "name is required.", "Give the object a name.")
    fields.reject_unknown()
    return read
