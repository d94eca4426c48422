"""Fields of events that hold keys of namespaced objects say so by their types."""

from collections.abc import Iterator

from msgspec import inspect

from headgate.domain.values.message import Message, ObjectReference
from headgate.event_log.codec import EVENT_CLASSES

NAMES_OF_KEYS = frozenset(
    {
        *("workload", "workloads", "victim", "victims", "preemptor", "preempted_by", "by_workload"),
        *("held_by", "taken_by", "called_back", "stalled", "blocked_by", "behind", "replaces"),
        *("replaced_by", "violates", "budget", "budgets"),
    }
)


def text_fields() -> Iterator[tuple[str, str, bool]]:
    """Struct, field name, and whether it is typed as a reference, of all texts in events."""
    seen: set[type] = {Message, ObjectReference}
    left = [inspect.type_info(event) for event in EVENT_CLASSES]
    while left:
        kind = left.pop()
        if not isinstance(kind, inspect.StructType):
            left.extend(_parts(kind))
        elif kind.cls not in seen:
            seen.add(kind.cls)
            for field in kind.fields:
                left.append(field.type)
                if found := list(_texts(field.type)):
                    yield kind.cls.__name__, field.name, all(found)


def _parts(kind: inspect.Type) -> list[inspect.Type]:
    match kind:
        case inspect.Metadata():
            return [kind.type]
        case inspect.UnionType():
            return list(kind.types)
        case inspect.DictType():
            return [kind.key_type, kind.value_type]
        case inspect.VarTupleType() | inspect.ListType():
            return [kind.item_type]
        case _:
            return []


def _texts(kind: inspect.Type) -> Iterator[bool]:
    """For each text of a field that is not within a struct, whether it is typed as a reference."""
    if isinstance(kind, inspect.Metadata) and "reference" in (kind.extra or {}):
        yield True
    elif isinstance(kind, inspect.StrType):
        yield False
    else:
        for part in _parts(kind):
            yield from _texts(part)


def test_every_field_of_an_event_that_holds_keys_is_typed_as_a_reference() -> None:
    found = list(text_fields())
    wrong = [
        f"{struct}.{name}" for struct, name, typed in found if name in NAMES_OF_KEYS and not typed
    ]
    assert not wrong, "give them WorkloadKey, BudgetKey or ObjectReference: " + ", ".join(wrong)
    assert sum(typed for *_, typed in found) > 8
