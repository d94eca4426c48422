"""Changes of configuration, and the request to take one back."""

from typing import Annotated, Any

import msgspec

from headgate.api.schemas import Position, RequestBody, Schema, Timestamp


class Difference(Schema, kw_only=True, frozen=True):
    """One place of an object's manifest; what was not there, or is gone, is left out."""

    path: str
    before: Any = None
    after: Any = None


class Revision(Schema, kw_only=True, frozen=True):
    """One change of one object: by whom, why, and every place that differs."""

    position: Position
    at: Timestamp
    stream: str
    kind: str
    name: str
    namespace: str = ""
    type: str
    actor: str
    reason: str = ""
    differences: list[Difference]


class RevisionList(Schema, kw_only=True, frozen=True):
    """Changes, newest first; `next` is the `before` of the page after it."""

    position: Position
    items: list[Revision]
    next: int | None = None


class RevertRequest(RequestBody, kw_only=True, frozen=True):
    """Which object is to be as it was right after which event, and why."""

    stream: Annotated[str, msgspec.Meta(max_length=600)]
    position: Annotated[int, msgspec.Meta(ge=0)]
    reason: Annotated[str, msgspec.Meta(max_length=1024)] = ""
