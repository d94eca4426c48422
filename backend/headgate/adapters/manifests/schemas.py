"""Schemas that the manifests of all kinds share, for the description of the API."""

from typing import Annotated, Any, Literal

import msgspec

from headgate.application.queries.views import Schema, Timestamp


class ManifestSchema(Schema, kw_only=True, frozen=True):
    """A part of a manifest; the suffix `Schema` is no part of its name in the API's description."""

    def __init_subclass__(cls, **_: object) -> None:
        """Name the class as the description of the API does."""
        cls.__name__ = cls.__qualname__ = cls.__name__.removesuffix("Schema")


class ObjectMeta(ManifestSchema, kw_only=True, frozen=True):
    """The identity of an object; `resourceVersion` is the log position of its last change."""

    name: str
    namespace: str | None = None
    uid: str | None = None
    resource_version: str | None = None
    generation: int | None = None
    creation_timestamp: Timestamp | None = None
    deletion_timestamp: Timestamp | None = None
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}


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
