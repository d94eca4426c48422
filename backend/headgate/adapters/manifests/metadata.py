"""The part that all manifests share: apiVersion, kind, metadata, conditions, and their schemas."""

from typing import Annotated, Any, Literal

import msgspec

from headgate.adapters.manifests.fields import Fields, read_instant, rfc3339
from headgate.application.queries.views import Schema, Timestamp
from headgate.domain.kinds.configured_object import Configured
from headgate.domain.values.instants import Instant
from headgate.domain.workloads.state import Workload


class ManifestSchema(Schema, kw_only=True, frozen=True):
    """A part of a manifest; the suffix `Schema` is no part of its name in the API's description."""

    def __init_subclass__(cls, **_: object) -> None:
        """Name the class as the description of the API does."""
        cls.__name__ = cls.__qualname__ = cls.__name__.removesuffix("Schema")


class ObjectMeta(ManifestSchema, kw_only=True, frozen=True):
    """The identity of an object; `resourceVersion` is the log position of its last change.

    Labels and annotations that are null, as some writers leave them, count as none, each of them
    and all together.
    """

    name: str
    namespace: str | None = None
    uid: str | None = None
    resource_version: str | None = None
    generation: int | None = None
    creation_timestamp: Timestamp | None = None
    deletion_timestamp: Timestamp | None = None
    labels: dict[str, str | None] | None = None
    annotations: dict[str, str | None] | None = None


class ListMeta(ManifestSchema, kw_only=True, frozen=True):
    """Where a list stands; `continue` asks for its next page."""

    resource_version: str
    continue_: str | None = msgspec.field(default=None, name="continue")


class ConditionSchema(ManifestSchema, kw_only=True, frozen=True):
    """A Kubernetes condition; `lastTransitionTime` moves only when `status` does."""

    type: str
    status: Annotated[str, msgspec.Meta(examples=["True", "False", "Unknown"])]
    reason: str
    message: str = ""
    last_transition_time: Timestamp
    observed_generation: int | None = None


class LabelSelectorRequirementSchema(ManifestSchema, kw_only=True, frozen=True):
    """One condition on a label."""

    key: str
    operator: str
    values: list[str] = []


class LabelSelectorSchema(ManifestSchema, kw_only=True, frozen=True):
    """Kubernetes' label selector; empty selects everything."""

    match_labels: dict[str, str] = {}
    match_expressions: list[LabelSelectorRequirementSchema] = []


def object_schema(
    kind: str,
    about: str,
    spec: type[msgspec.Struct] | None = None,
    status: type[msgspec.Struct] | None = None,
) -> type[msgspec.Struct]:
    """Returns the schema of an object of a kind; `about` describes it."""
    parts: list[Any] = [("spec", spec)] if spec else []
    if status:
        parts.append(("status", status | None, None))
    return msgspec.defstruct(
        f"{kind}Object",
        [("api_version", str), ("kind", Literal[kind]), ("metadata", ObjectMeta), *parts],
        bases=(ManifestSchema,),
        module=__name__,
        namespace={"__doc__": about},
        kw_only=True,
        frozen=True,
    )


Quantity = str | float
"""An integer is a number as well: named beside it, it would fit two schemas of a oneOf."""


Duration = str


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


class ManifestKind(msgspec.Struct, frozen=True, kw_only=True):
    """A kind of manifest: the versions it is read in, and the kind of object that it becomes.

    `only_name` is the name of the one object of a kind of which there is one.
    """

    name: str
    versions: tuple[str, ...]
    becomes: str
    namespaced: bool = False
    only_name: str = ""


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
    """The metadata; `namespace` is the one for objects that name none.

    What only the server sets has no effect, and must be well-formed, as Kubernetes has it.
    """
    root.ignore("apiVersion", "kind", "status")
    fields = root.child_or_empty("metadata")
    for name in ("creationTimestamp", "deletionTimestamp"):
        read_instant(fields, name)
    fields.optional_integer("generation")
    fields.ignore(*READ_BY_SERVER_ONLY)
    named = fields.text("namespace")
    if named and not kind.namespaced:
        fields.note("namespace", "NamespaceNotAllowed")
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
        fields.note("name", "Required", field="name")
    fields.reject_unknown()
    return read


def rendered_head(
    version: str, kind: str, state: Configured[Any] | Workload, position: int
) -> dict[str, Any]:
    """The object without spec and status; `position` is that of its last change in the log."""
    metadata: dict[str, Any] = {"name": state.name}
    if state.namespace:
        metadata["namespace"] = state.namespace
    metadata |= {
        "uid": state.uid,
        "resourceVersion": str(position),
        "generation": state.generation,
        "creationTimestamp": rfc3339(state.created_at),
    }
    if state.terminating_at is not None:
        metadata["deletionTimestamp"] = rfc3339(state.terminating_at)
    if state.labels:
        metadata["labels"] = state.labels
    if state.annotations:
        metadata["annotations"] = state.annotations
    return {"apiVersion": version, "kind": kind, "metadata": metadata}


def rendered_condition(  # noqa: PLR0913  (the fields of a condition)
    kind: str, *, status: bool, reason: str, message: str, at: Instant, generation: int
) -> dict[str, Any]:
    """A Kubernetes condition."""
    return {
        "type": kind,
        "status": "True" if status else "False",
        "reason": reason,
        "message": message,
        "lastTransitionTime": rfc3339(at),
        "observedGeneration": generation,
    }
