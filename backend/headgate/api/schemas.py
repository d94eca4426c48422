"""The JSON shapes that several nouns share."""

from typing import Annotated, Any

import msgspec

from headgate.application.queries.views import Free, Position, Schema, Timestamp, Whole

__all__ = ["Free", "Position", "Schema", "Timestamp", "Whole"]


ShortText = Annotated[str, msgspec.Meta(max_length=1024)]
"""A text of a request: a name, an id, a label, a value."""
AnnotationText = Annotated[str, msgspec.Meta(max_length=262_144)]


class RequestBody(
    msgspec.Struct, rename="camel", kw_only=True, frozen=True, forbid_unknown_fields=True
):
    """What every small request body is built from: unknown fields are refused."""


class ProblemError(Schema, kw_only=True, frozen=True):
    """One broken rule, where it is broken, and what to do."""

    pointer: Annotated[str, msgspec.Meta(examples=["/spec/podSets/0/count"])]
    code: Annotated[str, msgspec.Meta(examples=["NotInRange"])] = ""
    arguments: dict[str, Any] = {}
    rule: str
    remedy: str = ""


class Problem(Schema, kw_only=True, frozen=True):
    """What went wrong, as RFC 9457 has it, with what to do about it."""

    type: Annotated[str, msgspec.Meta(examples=["/problems/invalid-object"])]
    title: str
    status: int
    code: Annotated[str, msgspec.Meta(examples=["ObjectInvalid"])] = ""
    detail: str = ""
    remedy: str = ""
    errors: list[ProblemError] = []
    instance: str = ""
    request_id: str = ""
