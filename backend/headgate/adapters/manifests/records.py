"""Records: a struct and the mapping that holds it in manifests, read and rendered by one table."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import NoneType, UnionType
from typing import Any, Generic, Literal, TypeVar, Union, get_args, get_origin

import msgspec

from headgate.adapters.manifests.fields import Fields, duration_of, quantities, read_seconds
from headgate.domain.values.quantities import milli_quantity

NEVER = "Never"
"""Instead of a length of time: nothing happens by time alone."""

S = TypeVar("S", bound=msgspec.Struct)

ReadField = Callable[[Fields, str, Any], Any]
"""Takes a mapping, the name of a field, and the usual value, for a field that is absent."""

RenderField = Callable[[Any], Any]
"""Returns a value as it stands in a manifest; None leaves the field out."""


@dataclass(frozen=True, slots=True)
class RecordField:
    """The field `name` of a mapping, which holds `attribute` of the struct.

    Without `read` or `render` the type of the attribute decides. `omits_usual`: the field is left
    out while it has the usual value.
    """

    name: str
    attribute: str
    read: ReadField | None = None
    render: RenderField | None = None
    omits_usual: bool = False


@dataclass(frozen=True, slots=True)
class _BoundField:
    name: str
    attribute: str
    usual: Any
    read: ReadField
    render: RenderField
    omits_usual: bool


class Record(Generic[S]):
    """How a struct is read from a mapping and rendered to one, field by field in this order.

    The usual values are the defaults of the struct; `ignored` fields mean nothing to us,
    fields `without_effect` are warned
    about, and `unsupported` ones are rejected with their codes.
    """

    def __init__(
        self,
        struct: type[S],
        *fields: RecordField,
        ignored: tuple[str, ...] = (),
        without_effect: tuple[str, ...] = (),
        unsupported: Mapping[str, str] | None = None,
    ) -> None:
        attributes = {found.name: found for found in msgspec.structs.fields(struct)}
        self._struct = struct
        self._ignored = ignored
        self._without_effect = without_effect
        self._unsupported = unsupported or {}
        self._fields = [_bound(each, attributes[each.attribute]) for each in fields]

    def read(self, fields: Fields, **others: object) -> S:
        """Returns the struct, with `others` as attributes that are no fields of the mapping.

        Unknown fields are the caller's to reject.
        """
        fields.ignore(*self._ignored)
        fields.pass_over(*self._without_effect)
        for name, code in self._unsupported.items():
            fields.reject_unsupported(name, code)
        read = {each.attribute: each.read(fields, each.name, each.usual) for each in self._fields}
        return self._struct(**read, **others)

    def read_nested(self, fields: Fields) -> S:
        """Returns the struct of a mapping that has no other fields."""
        read = self.read(fields)
        fields.reject_unknown()
        return read

    def render(self, value: S) -> dict[str, Any]:
        """Returns the mapping of a struct."""
        return dict(self._rendered(value))

    def _rendered(self, value: S) -> Iterator[tuple[str, Any]]:
        for each in self._fields:
            found = getattr(value, each.attribute)
            if each.omits_usual and found == each.usual:
                continue
            rendered = each.render(found)
            if rendered is not None:
                yield each.name, rendered


def field(
    name: str,
    attribute: str = "",
    *,
    read: ReadField | None = None,
    render: RenderField | None = None,
    omits_usual: bool = False,
) -> RecordField:
    """Returns a field; its attribute has the same name in snake case unless another is given."""
    snake_case = "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name)
    return RecordField(name, attribute or snake_case, read, render, omits_usual)


def nested(
    name: str, record: Record[Any], attribute: str = "", *, omits_usual: bool = False
) -> RecordField:
    """Returns a field that holds a record; the usual value stands where it is absent."""

    def read(fields: Fields, name: str, usual: object) -> object:
        found = fields.child(name)
        return usual if found is None else record.read_nested(found)

    def render(value: Any) -> Any:
        return None if value is None else record.render(value)

    return field(name, attribute, read=read, render=render, omits_usual=omits_usual)


def listed(
    name: str, record: Record[Any], attribute: str = "", *, omits_usual: bool = False
) -> RecordField:
    """Returns a field that holds a list of records."""

    def read(fields: Fields, name: str, _: object) -> object:
        return tuple(record.read_nested(each) for each in fields.children(name))

    def render(values: Any) -> Any:
        return [record.render(each) for each in values]

    return field(name, attribute, read=read, render=render, omits_usual=omits_usual)


def duration(
    name: str, attribute: str, *, read: ReadField | None = None, omits_usual: bool = False
) -> RecordField:
    """Returns a field that holds a length of time; None is left out."""
    return field(
        name,
        attribute,
        read=read or _read_duration,
        render=_rendered_duration,
        omits_usual=omits_usual,
    )


def duration_or_never(name: str, attribute: str) -> RecordField:
    """Returns a field that holds a length of time, or `Never` for None."""

    def read(fields: Fields, name: str, usual: object) -> object:
        return None if fields.raw(name) == NEVER else _read_duration(fields, name, usual)

    return field(
        name, attribute, read=read, render=lambda seconds: _rendered_duration(seconds) or NEVER
    )


def milli_map(
    name: str,
    attribute: str,
    *,
    missing: int,
    render: RenderField | None = None,
    omits_usual: bool = False,
) -> RecordField:
    """Returns a field that holds numbers by key in thousandths; a null entry is `missing`."""

    def read(fields: Fields, name: str, _: object) -> object:
        found = fields.child_or_empty(name)
        return {key: found.milli(key, missing) for key in sorted(found.values)}

    def rendered(numbers: Mapping[str, int]) -> dict[str, str]:
        return {key: milli_quantity(number) for key, number in numbers.items()}

    return field(name, attribute, read=read, render=render or rendered, omits_usual=omits_usual)


def read_required_text(fields: Fields, name: str, _: object) -> str:
    """Returns a text that must be there and not be empty."""
    return fields.required_text(name)


def _bound(each: RecordField, found: msgspec.structs.FieldInfo) -> _BoundField:
    usual = found.default
    if usual is msgspec.NODEFAULT:
        factory = found.default_factory
        usual = None if factory is msgspec.NODEFAULT else factory()
    read = each.read or _reader(found.type, is_required=found.required)
    render = each.render or _renderer(found.type)
    return _BoundField(each.name, each.attribute, usual, read, render, each.omits_usual)


def _reader(annotation: Any, *, is_required: bool) -> ReadField:
    annotation = _without_none(annotation)
    if get_origin(annotation) is Literal:
        choices = get_args(annotation)
        return lambda fields, name, usual: fields.choice(name, choices, usual)
    if is_required and annotation is str:
        return read_required_text
    return _READERS[annotation]


def _renderer(annotation: Any) -> RenderField:
    if get_origin(annotation) is tuple:
        return list
    return quantities if annotation == dict[str, int] else lambda value: value


def _without_none(annotation: Any) -> Any:
    if get_origin(annotation) in {Union, UnionType}:
        (annotation,) = (each for each in get_args(annotation) if each is not NoneType)
    return annotation


def _read_integer(fields: Fields, name: str, usual: object) -> object:
    value = fields.optional_integer(name)
    return usual if value is None else value


def _read_duration(fields: Fields, name: str, usual: object) -> object:
    seconds = read_seconds(fields, name)
    return usual if seconds is None else seconds


def _rendered_duration(seconds: int | None) -> str | None:
    return None if seconds is None else duration_of(seconds)


_READERS: dict[Any, ReadField] = {
    bool: lambda fields, name, usual: fields.flag(name, default=usual),
    int: _read_integer,
    str: lambda fields, name, usual: fields.text(name, usual),
    tuple[str, ...]: lambda fields, name, _: fields.texts(name),
    dict[str, str]: lambda fields, name, _: fields.text_map(name),
    dict[str, int]: lambda fields, name, _: fields.amounts(name),
}
