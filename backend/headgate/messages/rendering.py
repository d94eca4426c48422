"""Text of a message from its template: references, amounts, durations and lists as users read them.

A template is a sentence with arguments in braces. `{name}` formats by type; `{name:word}` counts
(`{pods:pod}` is `1 pod` or `3 pods`); `{name:duration}`, `{name:time}`, `{name:label}`,
`{name:number}`, `{name:user}`, `{name:all}`, `{name:lower}` and `{name:place}` format as `_FORMATS`
says, and `{name:kind}` writes references with their kinds. `{name:uid}` is UNKNOWN where it is
empty or the message refers to an object that is not visible. A part in square brackets is left out
where an argument in it is absent, empty or false.
"""

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from datetime import UTC, datetime
from typing import NamedTuple, TypeAlias

from headgate.domain.values.instants import MICROSECONDS_PER_SECOND
from headgate.domain.values.message import Amount, Argument, Message, ObjectReference

IsVisible: TypeAlias = Callable[[ObjectReference], bool]
"""Tells whether a reader may see the object of a reference."""

LISTED = 3
"""So many items of a list are named; the rest is a number."""

BINARY_UNITS = (("TiB", 2**40), ("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10))
UNKNOWN_UID = "UNKNOWN"

_PART = re.compile(r"\[([^][]*)\]")
_ARGUMENT = re.compile(r"\{(\w+)(?::([\w -]+))?\}")


def everything_visible(reference: ObjectReference) -> bool:  # noqa: ARG001
    """Returns True: for readers who see all namespaces."""
    return True


class Text(NamedTuple):
    """The template of a sentence, and that of its remedy where users can do something."""

    text: str
    remedy: str = ""


class Absent(LookupError):
    """A template names an argument that the message does not have."""


def arguments_of(template: str) -> frozenset[str]:
    """Returns the names of all arguments that a template uses."""
    return frozenset(found[1] for found in _ARGUMENT.finditer(template))


def required_arguments_of(template: str) -> frozenset[str]:
    """Returns the names of arguments that a template uses outside of square brackets."""
    return arguments_of(_PART.sub("", template))


def fill(
    template: str,
    arguments: Mapping[str, Argument],
    text_of: Callable[[Message], str],
    is_visible: IsVisible = everything_visible,
) -> str:
    """Returns the template with its arguments filled in; `text_of` renders nested messages.

    Raises `Absent` for an argument outside of square brackets that is missing.
    """
    units = _units(arguments)

    def shown(found: re.Match[str]) -> str:
        name, how = found[1], found[2] or ""
        value = arguments.get(name)
        if value is None:
            raise Absent(name)
        if how == "uid" and (not value or not _is_all_visible(arguments, is_visible)):
            return UNKNOWN_UID
        return _formatted(value, how, units, text_of, is_visible)

    def part(found: re.Match[str]) -> str:
        names = arguments_of(found[1])
        if any(_is_empty(arguments.get(name)) for name in names):
            return ""
        return found[1]

    return _ARGUMENT.sub(shown, _PART.sub(part, template))


def _is_all_visible(arguments: Mapping[str, Argument], is_visible: IsVisible) -> bool:
    references = (each for each in arguments.values() if isinstance(each, ObjectReference))
    return all(map(is_visible, references))


def _is_empty(value: Argument) -> bool:
    return value is None or value is False or value in ("", ())


def _formatted(
    value: Argument,
    how: str,
    units: Mapping[str, tuple[str, int]],
    text_of: Callable[[Message], str],
    is_visible: IsVisible,
) -> str:
    if isinstance(value, tuple):
        return _listed(list(_items(value, how, units, text_of, is_visible)), how)
    if isinstance(value, Message):
        text = text_of(value)
        return text[:1].lower() + text[1:] if how == "lower" else text
    if isinstance(value, ObjectReference):
        if not is_visible(value):
            return foreign_objects(value.kind, 0)
        return f"{value.kind}/{value.key}" if how == "kind" else value.key
    if isinstance(value, Amount):
        return _number(value, units) if how == "number" else amount_text(value, units)
    if how in _FORMATS:
        return _FORMATS[how](value)
    return _counted(value, how) if how and isinstance(value, int) else str(value)


def _items(
    values: tuple[Argument, ...],
    how: str,
    units: Mapping[str, tuple[str, int]],
    text_of: Callable[[Message], str],
    is_visible: IsVisible,
) -> Iterator[str]:
    hidden: dict[str, int] = {}
    for value in values:
        if isinstance(value, ObjectReference) and not is_visible(value):
            hidden[value.kind] = hidden.get(value.kind, 0) + 1
        else:
            yield _formatted(value, how if how == "kind" else "", units, text_of, is_visible)
    yield from (foreign_objects(kind, number) for kind, number in hidden.items())


def foreign_objects(kind: str, number: int) -> str:
    """Returns the words for objects that a reader may not see; 0 for one that is not counted."""
    noun = "workload" if kind == "workload" else "object"
    if number == 0:
        return f"{'a' if noun == 'workload' else 'an'} {noun} of another team"
    return f"{number} {noun if number == 1 else f'{noun}s'} of other teams"


def _listed(items: list[str], how: str) -> str:
    if how == "all" or len(items) <= LISTED:
        return ", ".join(items)
    return f"{', '.join(items[:LISTED])} and {len(items) - LISTED} more"


def _counted(count: int, noun: str) -> str:
    plural = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    if noun.endswith("s"):
        plural = f"{noun}es"
    return f"{count:,} {noun if count == 1 else plural}"


def duration_text(seconds: int) -> str:
    """Returns a duration in its two largest units: `45 s`, `5 min`, `2 h 10 min`, `3 d 4 h`."""
    units = ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"))
    for place, (size, word) in enumerate(units):
        if seconds >= size:
            rest = seconds % size
            smaller, small_word = units[place + 1] if place + 1 < len(units) else (0, "")
            part = f" {rest // smaller} {small_word}" if smaller and rest >= smaller else ""
            return f"{seconds // size} {word}{part}"
    return "0 s"


def amount_text(amount: Amount, units: Mapping[str, tuple[str, int]] | None = None) -> str:
    """Returns an amount with its unit: `1.5 CPU`, `4 GiB`, `8 GPU`, `2 example.com/fpga`."""
    number = _number(amount, units or _units({"": amount}))
    word = resource_word(amount.resource)
    if not _is_bytes(amount.resource):
        return f"{number} {word}"
    return number if amount.resource == "memory" else f"{number} {word}"


def resource_word(resource: str) -> str:
    """Returns how texts name a resource: `CPU`, `memory`, `GPU`; others by their own name."""
    if resource == "cpu":
        return "CPU"
    return "GPU" if resource.endswith("/gpu") else resource


def _is_bytes(resource: str) -> bool:
    return "memory" in resource or "storage" in resource


def _number(amount: Amount, units: Mapping[str, tuple[str, int]]) -> str:
    if amount.resource == "cpu":
        return (
            f"{amount.quantity // 1000:,}"
            if amount.quantity % 1000 == 0
            else (f"{amount.quantity / 1000:g}")
        )
    if not _is_bytes(amount.resource):
        return f"{amount.quantity:,}"
    word, size = units.get(amount.resource) or _unit_of((amount.quantity,))
    return f"{amount.quantity / size:g} {word}"


def _units(arguments: Mapping[str, Argument]) -> dict[str, tuple[str, int]]:
    """Returns one unit for each resource in bytes, so that amounts of a text can be compared."""
    found: dict[str, list[int]] = {}
    for value in arguments.values():
        for item in value if isinstance(value, tuple) else (value,):
            if isinstance(item, Amount) and _is_bytes(item.resource):
                found.setdefault(item.resource, []).append(item.quantity)
    return {resource: _unit_of(tuple(amounts)) for resource, amounts in found.items()}


def _unit_of(quantities: tuple[int, ...]) -> tuple[str, int]:
    """Returns the largest unit in which every quantity has at most one decimal place."""
    for word, size in BINARY_UNITS:
        if any(quantities) and all(q * 10 % size == 0 for q in quantities):
            return word, size
    return "bytes", 1


def _time_text(value: Argument) -> str:
    if not isinstance(value, int):
        return str(value)
    at = datetime.fromtimestamp(value // MICROSECONDS_PER_SECOND, tz=UTC)
    return f"{at:%Y-%m-%d %H:%M:%S} UTC"


def _duration_argument(value: Argument) -> str:
    return duration_text(value) if isinstance(value, int) else str(value)


def _label_text(value: Argument) -> str:
    return str(value).rpartition("/")[2] or str(value)


NAMESPACED = frozenset(
    {"workload", "localqueue", "disruptionbudget", "limitrange", "cronjob", "trainingruntime"}
)
"""Kinds of objects that live in namespaces, as streams name them."""


def _place_text(kind: Argument) -> str:
    return "name and the namespace" if str(kind).lower() in NAMESPACED else "name"


_FORMATS: dict[str, Callable[[Argument], str]] = {
    "duration": _duration_argument,
    "time": _time_text,
    "label": _label_text,
    "resource": lambda value: resource_word(str(value)),
    "user": lambda value: str(value).partition(":")[2] or str(value),
    "all": str,
    "lower": lambda value: str(value)[:1].lower() + str(value)[1:],
    "uid": str,
    "place": _place_text,
}


MAX_LENGTH = 316
"""Longer texts are not compared: no name is longer (`MAX_LEVEL_KEY_LENGTH`)."""
MIN_LIKENESS = 60
"""In per cent of the characters of both names that stand in both in the same order."""


def nearest(name: str, known: Collection[str], min_likeness: int = MIN_LIKENESS) -> str | None:
    """The first of the known names that are most like `name`; None where none is like it.

    Time grows with the number of known names times the length of `name`, a machine word of
    characters at a time, whatever the names are: texts of hostile requests come here.
    """
    if len(name) > MAX_LENGTH:
        return None
    from rapidfuzz import fuzz, process  # noqa: PLC0415 - only mistakes need it, at the command line

    found = process.extractOne(name, known, scorer=fuzz.ratio, score_cutoff=min_likeness)
    return found[0] if found else None
