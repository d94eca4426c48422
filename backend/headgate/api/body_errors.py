"""Broken rules of request bodies as msgspec tells them, with pointers and the nearest names."""

import re
from collections.abc import Iterable, Sequence
from typing import Any

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

from headgate.domain.field_rules import shown
from headgate.domain.rejection import Violation, violation
from headgate.messages.suggestions import nearest

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
