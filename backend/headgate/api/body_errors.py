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

from headgate.api.schemas import ProblemError
from headgate.messages.suggestions import nearest

UNKNOWN = re.compile(r"Object contains unknown field `(.*)`")


MISSING = re.compile(r"Object missing required field `(.*)`")


NO_SUCH_VALUE = re.compile(r"Invalid enum value (.*)")


OF_ANOTHER_TYPE = re.compile(r"Expected `([^`]*)`, got `([^`]*)`")


TOO_SHORT = re.compile(r"Expected `str` of length >= 1")


TYPES = {
    "str": "text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "array": "a list",
    "object": "an object",
    "null": "nothing",
}


def error_at(parts: Sequence[str], message: str, shape: Any = None) -> ProblemError:  # noqa: ANN401 - any type
    """The broken rule at a place of a request; `shape` is the type that was expected of it all."""
    if found := UNKNOWN.fullmatch(message):
        name = found[1]
        fields = [field.encode_name for one in _structs(shape, parts) for field in one.fields]
        rule = f"There is no field {name!r:.80} here."
        return _error([*parts, name], rule, _nearest(name, fields, "Fields here are"))
    if found := MISSING.fullmatch(message):
        return _error([*parts, found[1]], "This field is required.", "Give it.")
    if found := NO_SUCH_VALUE.fullmatch(message):
        rule = f"{found[1]:.80} is not one of the values there are."
        return _error(parts, rule, _nearest(found[1], _values(shape, parts), "Choose one of"))
    if found := OF_ANOTHER_TYPE.fullmatch(message):
        wanted = " or ".join(TYPES.get(word, word) for word in found[1].split(" | "))
        return _error(parts, f"It is {wanted}, not {TYPES.get(found[2], found[2])}.", "")
    if TOO_SHORT.fullmatch(message):
        return _error(parts, "It is not empty.", "Give it in a few words.")
    return _error(parts, message, "")


def _error(parts: Iterable[str], rule: str, remedy: str) -> ProblemError:
    pointer = "".join("/" + part.replace("~", "~0").replace("/", "~1") for part in parts)
    return ProblemError(pointer=pointer, rule=rule, remedy=remedy)


def _nearest(said: str, known: Sequence[str], else_: str) -> str:
    """What was most likely meant, or everything there is."""
    near = nearest(said.strip("'"), known)
    if near:
        return f"Did you mean {near}?"
    return f"{else_} {', '.join(known)}." if known else ""


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
