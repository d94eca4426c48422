"""Bodies of requests: how they are decoded, shapes that several share, and their OpenAPI.

Rules that msgspec finds broken get pointers and the nearest names.
"""

import asyncio
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Annotated, Any

import msgspec
from litestar import Request
from litestar.exceptions import SerializationException, ValidationException
from litestar.openapi.spec import OpenAPIMediaType, OpenAPIType, Operation, Reference
from litestar.openapi.spec import RequestBody as DescribedBody
from litestar.openapi.spec import Schema as DescribedSchema
from litestar.types import Empty
from msgspec.inspect import (
    EnumType,
    ListType,
    LiteralType,
    Metadata,
    StructType,
    Type,
    UnionType,
    type_info,
)

from headgate.application.queries.views import Free, Position, Schema, Timestamp, Whole
from headgate.domain.field_rules import shown
from headgate.domain.rejection import Violation, violation
from headgate.messages.rendering import nearest

__all__ = ["Free", "Position", "Schema", "Timestamp", "Whole"]


MAX_INLINE_BYTES = 16 * 1024
"""So much is decoded within a few milliseconds; changing threads would take longer."""
MIN_JOINED_ASIDE_BYTES = 1_048_576
"""From so much on Python joins bytes while other threads go on."""
PLACE = re.compile(r" - at `\$\.?(.*)`$")


class TypedRequest(Request[Any, Any, Any]):
    """A request with a body that is decoded as what its handler takes, a long one in a thread.

    Litestar decodes to plain values first: hundreds of thousands of fields that no handler knows
    would hold up the event loop for a tenth of a second before they are refused.
    """

    async def body(self) -> bytes:
        """The body; the parts of a long one are joined in a thread, beside the event loop."""
        if self._body is Empty and self._connection_state.body is Empty:
            parts = [part async for part in self.stream()]
            is_long = sum(map(len, parts)) >= MIN_JOINED_ASIDE_BYTES
            whole = await asyncio.to_thread(b"".join, parts) if is_long else b"".join(parts)
            self._body = self._connection_state.body = whole
        return await super().body()

    async def json(self) -> Any:  # noqa: ANN401 - as its handler says
        """The body; raises `ValidationException` where it is another than the handler takes."""
        body, wanted = await self.body(), self.route_handler.parsed_data_field
        decode = partial(_decoded, body, Any if wanted is None else wanted.annotation)
        if len(body) <= MAX_INLINE_BYTES:
            return decode()
        return await self.app.state.services.reading.do(decode)


def _decoded(body: bytes, shape: Any) -> Any:  # noqa: ANN401 - any type
    try:
        try:
            return _decoder(shape).decode(body)
        except msgspec.ValidationError as failure:
            # What is no JSON is answered so, wherever it is broken.
            msgspec.json.decode(body, type=msgspec.Raw)
            raise _validation_failure(failure) from failure
    except msgspec.DecodeError as failure:
        raise SerializationException(str(failure)) from failure


@cache
def _decoder(shape: Any) -> msgspec.json.Decoder[Any]:  # noqa: ANN401 - any type
    return msgspec.json.Decoder(shape)


def _validation_failure(failure: msgspec.ValidationError) -> ValidationException:
    """The failure as Litestar has it for parameters: a message, and the place it is about."""
    told = str(failure)
    place = PLACE.search(told)
    entry = {
        "message": told[: place.start()] if place else told,
        "key": (place[1] if place else "") or "data",
        "source": "body",
    }
    return ValidationException(detail="Validation failed", extra=[entry])


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


JSON = "application/json"
YAML = "application/yaml"


def request_body(shape: type, *, example: Any = None) -> type[Operation]:  # noqa: ANN401 - any JSON
    """Returns an operation with an object of schema `shape` as its body, in JSON or YAML."""
    schema = Reference(ref=f"#/components/schemas/{shape.__name__}")
    media = {
        JSON: OpenAPIMediaType(schema=schema, example=example),
        YAML: OpenAPIMediaType(schema=schema),
    }
    return _operation(DescribedBody(content=media, required=True))


def request_documents(example: Any, *, required: bool = True) -> type[Operation]:  # noqa: ANN401 - any JSON
    """Returns an operation with any number of objects of any kind as its body.

    Where none is required, a document that is null counts as none, as it does in a YAML stream.
    """
    schema: DescribedSchema | Reference = Reference(ref="#/components/schemas/AnyObject")
    if not required:
        schema = DescribedSchema(one_of=[schema, DescribedSchema(type=OpenAPIType.NULL)])
    media = {
        YAML: OpenAPIMediaType(schema=schema),
        JSON: OpenAPIMediaType(schema=schema, example=example),
    }
    return _operation(DescribedBody(content=media, required=required))


def _operation(body: DescribedBody) -> type[Operation]:
    @dataclass
    class OperationWithBody(Operation):
        request_body: DescribedBody | Reference | None = field(default_factory=lambda: body)

        def __post_init__(self) -> None:
            self.request_body = body

    return OperationWithBody


EXAMPLE_WORKLOAD = {
    "apiVersion": "kueue.x-k8s.io/v1beta2",
    "kind": "Workload",
    "metadata": {"name": "train-7", "namespace": "team-a", "labels": {"project": "vision"}},
    "spec": {
        "queueName": "training",
        "priorityClassRef": {
            "group": "kueue.x-k8s.io",
            "kind": "WorkloadPriorityClass",
            "name": "high",
        },
        "podSets": [
            {
                "name": "main",
                "count": 4,
                "topologyRequest": {"required": "cloud.provider.com/topology-rack"},
                "template": {
                    "spec": {
                        "containers": [
                            {
                                "name": "trainer",
                                "resources": {"requests": {"cpu": "8", "nvidia.com/gpu": "8"}},
                            }
                        ]
                    }
                },
            }
        ],
    },
}


UNKNOWN = re.compile(r"Object contains unknown field `(.*)`")


MISSING = re.compile(r"Object missing required field `(.*)`")


NO_SUCH_VALUE = re.compile(r"Invalid enum value (.*)")


OF_ANOTHER_TYPE = re.compile(r"Expected `([^`]*)`, got `([^`]*)`")


TOO_SHORT = re.compile(r"Expected `str` of length >= 1")


TYPES = {
    "str": "string",
    "int": "integer",
    "float": "number",
    "bool": "boolean",
    "array": "array",
    "object": "object",
    "null": "null",
}


def violation_at(parts: Sequence[str], message: str, shape: Any = None) -> Violation:  # noqa: ANN401 - any type
    """Returns the violation at a place of a request; `shape` is the type expected of it all."""
    pointer = _pointer(parts)
    if found := UNKNOWN.fullmatch(message):
        name = found[1]
        fields = [field.encode_name for one in _structs(shape, parts) for field in one.fields]
        near = nearest(name, fields)
        known = () if near else tuple(fields)
        place = _pointer([*parts, name])
        return violation(place, "FieldUnknown", field=shown(name), nearest=near, known=known)
    if found := MISSING.fullmatch(message):
        return violation(_pointer([*parts, found[1]]), "Required", field=found[1])
    if found := NO_SUCH_VALUE.fullmatch(message):
        value, known = found[1].strip("'"), tuple(_values(shape, parts))
        if not known:
            return violation(pointer, "ValueInvalid", value=shown(value))
        near = nearest(value, known)
        return violation(pointer, "NotOneOf", value=shown(value), choices=known, nearest=near)
    if found := OF_ANOTHER_TYPE.fullmatch(message):
        expected = tuple(TYPES.get(word, word) for word in found[1].split(" | "))
        got = TYPES.get(found[2], found[2])
        return violation(pointer, "TypeDiffers", expected=expected, found=got)
    if TOO_SHORT.fullmatch(message):
        return violation(pointer, "ValueEmpty")
    return violation(pointer, "FieldInvalid", reason=message)


def _pointer(parts: Iterable[str]) -> str:
    return "".join("/" + part.replace("~", "~0").replace("/", "~1") for part in parts)


def _structs(shape: Any, parts: Sequence[str]) -> list[StructType]:  # noqa: ANN401 - any type
    return [one for one in _types_at(shape, parts) if isinstance(one, StructType)]


def _values(shape: Any, parts: Sequence[str]) -> list[str]:  # noqa: ANN401 - any type
    found: list[str] = []
    for one in _types_at(shape, parts):
        if isinstance(one, LiteralType):
            found += [str(value) for value in one.values]
        if isinstance(one, EnumType):
            found += [str(member.value) for member in one.cls]
    return found


def _types_at(shape: Any, parts: Sequence[str]) -> list[Type]:  # noqa: ANN401 - any type
    """What may stand at a place; nothing where the shape does not tell."""
    if shape is None:
        return []
    found = _alternatives(type_info(shape))
    for part in parts:
        found = [inner for one in found for inner in _below(one, part)]
    return found


def _below(one: Type, part: str) -> list[Type]:
    if isinstance(one, ListType):
        return _alternatives(one.item_type)
    if isinstance(one, StructType):
        named = (field for field in one.fields if field.encode_name == part)
        return [inner for field in named for inner in _alternatives(field.type)]
    return []


def _alternatives(one: Type) -> list[Type]:
    if isinstance(one, Metadata):
        return _alternatives(one.type)
    if isinstance(one, UnionType):
        return [inner for each in one.types for inner in _alternatives(each)]
    return [one]
