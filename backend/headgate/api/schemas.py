"""The JSON shapes that several nouns share."""

from typing import Annotated

import msgspec

from headgate.application.queries.views import Free, Position, Schema, Timestamp, Whole

__all__ = ["Free", "Position", "Schema", "Timestamp", "Whole"]


class RequestBody(
    msgspec.Struct, rename="camel", kw_only=True, frozen=True, forbid_unknown_fields=True
):
    """What every small request body is built from: unknown fields are refused."""


class ObjectMeta(Schema, kw_only=True, frozen=True):
    """Who an object is; `resourceVersion` is the log position of its last change."""

    name: str
    namespace: str | None = None
    uid: str | None = None
    resource_version: str | None = None
    generation: int | None = None
    creation_timestamp: Timestamp | None = None
    deletion_timestamp: Timestamp | None = None
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}


class ListMeta(Schema, kw_only=True, frozen=True):
    """Where a list stands; `continue` asks for its next page."""

    resource_version: str
    continue_: str | None = msgspec.field(default=None, name="continue")


class Condition(Schema, kw_only=True, frozen=True):
    """A Kubernetes condition; `lastTransitionTime` moves only when `status` does."""

    type: str
    status: Annotated[str, msgspec.Meta(examples=["True", "False", "Unknown"])]
    reason: str
    message: str = ""
    last_transition_time: Timestamp
    observed_generation: int | None = None


class LabelSelectorRequirement(Schema, kw_only=True, frozen=True):
    """One condition on a label."""

    key: str
    operator: str
    values: list[str] = []


class LabelSelector(Schema, kw_only=True, frozen=True):
    """Kubernetes' label selector; empty selects everything."""

    match_labels: dict[str, str] = {}
    match_expressions: list[LabelSelectorRequirement] = []


class ProblemError(Schema, kw_only=True, frozen=True):
    """One broken rule, where it is broken, and what to do."""

    pointer: Annotated[str, msgspec.Meta(examples=["/spec/podSets/0/count"])]
    rule: str
    remedy: str = ""


class Problem(Schema, kw_only=True, frozen=True):
    """What went wrong, as RFC 9457 has it, with what to do about it."""

    type: Annotated[str, msgspec.Meta(examples=["/problems/invalid-object"])]
    title: str
    status: int
    detail: str = ""
    remedy: str = ""
    errors: list[ProblemError] = []
    instance: str = ""
    request_id: str = ""
