"""JSON of structs for a reader: references to objects that it may not see are replaced by type.

Fields that hold keys say so in their types (`WorkloadKey`, `ObjectReference`, `Message`). Texts
that users wrote are shown as they were written. A message is shown as its code, its arguments and
its text.
"""

from collections.abc import Callable
from functools import cache, partial
from typing import Any, TypeAlias

import msgspec
from msgspec import inspect

from headgate.application.access.redaction import shown_references
from headgate.domain.values.message import Message, ObjectReference
from headgate.messages.catalogue import AS_RECORDED, text_of
from headgate.messages.rendering import IsVisible, everything_visible, foreign_objects

Redactor: TypeAlias = Callable[[Any, IsVisible], Any]
"""JSON of one type as a reader may see it, who sees the objects that the predicate tells."""

SEQUENCES = (
    inspect.VarTupleType,
    inspect.ListType,
    inspect.SetType,
    inspect.FrozenSetType,
)
UIDS = ("uid", "job_uid")
"""Arguments of messages that tell as much as the reference beside them."""


@cache
def redactor_of(kind: Any) -> Redactor | None:  # noqa: ANN401 - a type
    """Returns how JSON of a type is redacted; None where it has neither references nor messages."""
    return _compiled(inspect.type_info(kind))


def _compiled(kind: inspect.Type) -> Redactor | None:
    if (reference := _reference_kind(kind)) is not None:
        return partial(_reference, kind=reference)
    match kind:
        case inspect.Metadata():
            return _compiled(kind.type)
        case inspect.StructType():
            return _of_struct(kind)
        case inspect.UnionType():
            return _of_union(kind)
        case inspect.DictType():
            return _of_dict(kind)
        case inspect.VarTupleType() | inspect.ListType() | inspect.SetType():
            return _of_sequence(kind.item_type)
        case _:
            return None


def _extra(kind: inspect.Type, name: str) -> str | None:
    found = kind.extra if isinstance(kind, inspect.Metadata) else None
    return None if found is None else found.get(name)


def _reference_kind(kind: inspect.Type) -> str | None:
    return _extra(kind, "reference")


def _reference(value: Any, is_visible: IsVisible, kind: str) -> Any:  # noqa: ANN401 - JSON
    hidden = "/" in value and not is_visible(ObjectReference(kind, value))
    return foreign_objects(kind, 0) if hidden else value


def _of_struct(kind: inspect.StructType) -> Redactor | None:
    if kind.cls is Message:
        return _message
    if kind.cls is ObjectReference:
        return _object_reference
    redactors = {
        field.encode_name: found
        for field in kind.fields
        if (found := _compiled(field.type)) is not None
    }
    keys = [field.encode_name for field in kind.fields if _reference_kind(field.type)]
    uids = [field.encode_name for field in kind.fields if _extra(field.type, "uid_of")]
    if not redactors:
        return None

    def redacted(value: Any, is_visible: IsVisible) -> Any:  # noqa: ANN401 - JSON
        shown = dict(value)
        for name, redact in redactors.items():
            if name in shown:
                shown[name] = redact(shown[name], is_visible)
        if any(value.get(name, "") != shown.get(name, "") for name in keys):
            shown |= {name: "" for name in uids if name in shown}
        return shown

    return redacted


def _of_union(kind: inspect.UnionType) -> Redactor | None:
    found = [(each, redact) for each in kind.types if (redact := _compiled(each)) is not None]
    if not found:
        return None

    def redacted(value: Any, is_visible: IsVisible) -> Any:  # noqa: ANN401 - JSON
        for each, redact in found:
            if _is_of(value, each):
                return redact(value, is_visible)
        return value

    return redacted


def _is_of(value: Any, kind: inspect.Type) -> bool:  # noqa: ANN401 - JSON
    """Whether a JSON value of a union is of one of its types."""
    match kind:
        case inspect.Metadata():
            return _is_of(value, kind.type)
        case inspect.StructType():
            is_object = isinstance(value, dict)
            return is_object and (kind.tag is None or value.get(str(kind.tag_field)) == kind.tag)
        case inspect.DictType():
            return isinstance(value, dict)
        case inspect.StrType():
            return isinstance(value, str)
        case _:
            return isinstance(kind, SEQUENCES) and isinstance(value, list | tuple)


def _of_dict(kind: inspect.DictType) -> Redactor | None:
    of_key, of_value = _compiled(kind.key_type), _compiled(kind.value_type)
    if of_key is None and of_value is None:
        return None

    def redacted(value: Any, is_visible: IsVisible) -> Any:  # noqa: ANN401 - JSON
        return {
            of_key(key, is_visible) if of_key else key: of_value(item, is_visible)
            if of_value
            else item
            for key, item in value.items()
        }

    return redacted


def _of_sequence(item: inspect.Type) -> Redactor | None:
    reference = _reference_kind(item)
    if reference is not None:
        return lambda value, is_visible: shown_references(value, reference, is_visible)
    redact = _compiled(item)
    if redact is None:
        return None
    return lambda value, is_visible: [redact(each, is_visible) for each in value]


def _message(value: Any, is_visible: IsVisible) -> Any:  # noqa: ANN401 - JSON
    found = msgspec.convert(value, Message)
    return message_json(found, is_visible)


def message_json(found: Message, is_visible: IsVisible = everything_visible) -> dict[str, Any]:
    """Returns a message as readers get it: its code, its arguments and its text."""
    is_withheld = found.code == AS_RECORDED and is_visible is not everything_visible
    given = {} if is_withheld else _arguments(found, is_visible)
    return {"code": found.code, "arguments": given, "text": text_of(found, is_visible)}


def _arguments(found: Message, is_visible: IsVisible) -> dict[str, Any]:
    hides = any(
        isinstance(each, ObjectReference) and not is_visible(each)
        for each in found.arguments.values()
    )
    return {
        name: "" if hides and name in UIDS else _argument(value, is_visible)
        for name, value in found.arguments.items()
    }


def _argument(value: Any, is_visible: IsVisible) -> Any:  # noqa: ANN401 - an Argument to JSON
    if isinstance(value, Message):
        return message_json(value, is_visible)
    if isinstance(value, ObjectReference):
        return _object_reference(msgspec.to_builtins(value), is_visible)
    if not isinstance(value, tuple):
        return msgspec.to_builtins(value)
    hidden: dict[str, int] = {}
    shown: list[Any] = []
    for each in value:
        if isinstance(each, ObjectReference) and not is_visible(each):
            hidden[each.kind] = hidden.get(each.kind, 0) + 1
        else:
            shown.append(_argument(each, is_visible))
    counted = (ObjectReference(kind, foreign_objects(kind, n)) for kind, n in hidden.items())
    return [*shown, *map(msgspec.to_builtins, counted)]


def _object_reference(value: Any, is_visible: IsVisible) -> Any:  # noqa: ANN401 - JSON
    kind, key = value["kind"], value["key"]
    if is_visible(ObjectReference(kind, key)):
        return value
    return {**value, "key": foreign_objects(kind, 0)}
