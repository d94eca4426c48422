"""What a submitter may see: its own namespaces, the queues, and that others are there.

JSON of structs is redacted by type: references to objects that a reader may not see are replaced.
"""

from collections.abc import Callable, Iterable
from functools import cache, partial
from typing import Any, TypeAlias

import msgspec
from msgspec import inspect

from headgate.domain.kinds.registry import KINDS_BY_STREAM, NAMESPACED_STREAMS
from headgate.domain.object_set import ObjectSet
from headgate.domain.recorded_event import kind_and_key
from headgate.domain.values.message import Message, ObjectReference
from headgate.messages.catalogue import AS_RECORDED, text_of
from headgate.messages.rendering import IsVisible, everything_visible, foreign_objects

NamespaceScope: TypeAlias = frozenset[str] | None
"""The namespaces that a user may read; None means all of them."""

IN_NAMESPACES = ("workload", *NAMESPACED_STREAMS)
OPEN_KINDS = tuple(
    name for name in KINDS_BY_STREAM if name not in NAMESPACED_STREAMS and name != "namespace"
)
FOREIGN_WORKLOAD = foreign_objects("workload", 0)
NO_STREAM = "nothing"
"""A stream that does not exist: a filter for a hidden object matches nothing."""
WITHHELD_DIAGNOSTIC = "Shown to readers of all namespaces only"


def namespace_of(stream: str) -> str:
    """The namespace a stream belongs to; empty for what belongs to none."""
    kind, key = kind_and_key(stream)
    if kind == "namespace":
        return key
    return key.partition("/")[0] if kind in IN_NAMESPACES else ""


def allows(scope: NamespaceScope, stream: str) -> bool:
    """Whether facts of that stream may be seen; rounds name several teams and have their page."""
    if scope is None:
        return True
    kind, _ = kind_and_key(stream)
    return kind in OPEN_KINDS or namespace_of(stream) in scope


def visible_to(scope: NamespaceScope) -> IsVisible:
    """Returns which objects messages may name to a reader of these namespaces."""
    if scope is None:
        return everything_visible
    return lambda reference: allows(scope, f"{reference.kind}/{reference.key}")


def cluster_queues_of(config: ObjectSet, scope: frozenset[str]) -> frozenset[str]:
    """The ClusterQueues that LocalQueues of these namespaces lead to."""
    return frozenset(
        queue.spec.cluster_queue
        for queue in config.local_queues.values()
        if queue.namespace in scope
    )


def open_prefixes(scope: frozenset[str]) -> tuple[str, ...]:
    """The streams that may be seen, as prefixes ending in `/` and whole names."""
    own = (f"{kind}/{namespace}/" for kind in IN_NAMESPACES for namespace in sorted(scope))
    names = (f"namespace/{namespace}" for namespace in sorted(scope))
    return (*(f"{kind}/" for kind in OPEN_KINDS), *own, *names)


def visible_streams(streams: tuple[str, ...], scope: NamespaceScope) -> tuple[str, ...]:
    """Returns the requested streams that the scope may read, or all of them."""
    if scope is None:
        return streams
    if not streams:
        return open_prefixes(scope)
    narrowed = [stream for wanted in streams for stream in _narrowed(wanted, scope)]
    return tuple(narrowed) or (NO_STREAM,)


def _narrowed(wanted: str, scope: frozenset[str]) -> tuple[str, ...]:
    if allows(scope, wanted) and not wanted.endswith("/"):
        return (wanted,)
    if not wanted.endswith("/"):
        return ()
    prefixes = open_prefixes(scope)
    if any(wanted.startswith(prefix) for prefix in prefixes):
        return (wanted,)
    return tuple(prefix for prefix in prefixes if prefix.startswith(wanted))


def number_shown(config: ObjectSet, kind: str, scope: NamespaceScope) -> int:
    """Returns how many objects of a kind, by its name in streams, a reader may see."""
    objects = config.of_kind(kind)
    if scope is None or kind in OPEN_KINDS:
        return len(objects)
    return sum(allows(scope, f"{kind}/{key}") for key in objects)


def diagnostic(text: str, scope: NamespaceScope) -> str:
    """Returns what workers or the database told of a failure, for readers of all namespaces.

    It may name any object, and has no types to tell which.
    """
    return text if scope is None or not text else WITHHELD_DIAGNOSTIC


def foreign_workloads(number: int) -> str:
    """Returns how workloads of other namespaces are counted."""
    return foreign_objects("workload", number)


def shown_key(key: str, scope: NamespaceScope) -> str:
    """Returns the key of a workload, or what a reader reads who may not see it."""
    return key if _is_visible_key(key, "workload", visible_to(scope)) else FOREIGN_WORKLOAD


def shown_keys(keys: Iterable[str], scope: NamespaceScope) -> list[str]:
    """Returns the keys that a reader may see; the others are counted at the end."""
    return shown_references(keys, "workload", visible_to(scope))


def shown_references(keys: Iterable[str], kind: str, is_visible: IsVisible) -> list[str]:
    """Returns the keys of visible objects of a kind; the others are counted at the end."""
    listed = list(keys)
    kept = [key for key in listed if _is_visible_key(key, kind, is_visible)]
    hidden = len(listed) - len(kept)
    return [*kept, foreign_objects(kind, hidden)] if hidden else kept


def _is_visible_key(key: str, kind: str, is_visible: IsVisible) -> bool:
    """Whether the key may be shown; a text that is no key (`namespace/name`) always may."""
    return "/" not in key or is_visible(ObjectReference(kind, key))


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
