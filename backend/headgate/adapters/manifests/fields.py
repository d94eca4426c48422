"""Typed reading of one mapping of a manifest; every problem is noted with its pointer."""

import math
import re
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

from headgate.domain.field_rules import shown
from headgate.domain.rejection import Violation, child, violation
from headgate.domain.values.instants import Instant
from headgate.domain.values.message import Argument
from headgate.domain.values.quantities import (
    MAX_AMOUNT,
    NotAQuantity,
    amount_of,
    exceeds_max_amount,
    milli_of,
    quantity_of,
)
from headgate.messages.rendering import nearest


class Problems(list[Violation]):
    """What is wrong with a document; `warnings` are about fields that are read without effect."""

    def __init__(self) -> None:
        super().__init__()
        self.warnings: list[Violation] = []


MAX_INT32 = 2**31 - 1
MAX_PROBLEMS = 100
"""The first of a document are told: a body of ten megabytes may hold a problem in each line."""


class Fields:
    """A mapping of which each field is asked for by name and type.

    Problems go to a list shared by the whole document and the reading goes on with a default, so
    that `MAX_PROBLEMS` of them are told at once. `reject_unknown` names the fields that were
    not asked for. A field that is null counts as absent, as in Kubernetes.
    """

    def __init__(self, values: dict[str, Any], pointer: str, problems: Problems) -> None:
        self.values = values
        self.pointer = pointer
        self.problems = problems
        self._known: set[str] = set()
        self._ignored_settings: tuple[str, ...] = ()
        self._below: dict[tuple[str, int], Fields] = {}

    def has(self, name: str) -> bool:
        """Whether the field is given."""
        self._known.add(name)
        return self.values.get(name) is not None

    def raw(self, name: str) -> Any:
        """The field as it is."""
        self._known.add(name)
        return self.values.get(name)

    def ignore(self, *names: str) -> None:
        """Fields that may be there and mean nothing to us."""
        self._ignored_settings += names

    def text(self, name: str, default: str = "") -> str:
        """A text."""
        value = self.raw(name)
        if value is None:
            return default
        if isinstance(value, str):
            return value
        self.note(name, "NotString")
        return default

    def optional_text(self, name: str) -> str | None:
        """A text, or None where it is absent."""
        return self.text(name) if self.has(name) else None

    def required_text(self, name: str) -> str:
        """A text that must be there and not be empty."""
        if self.values.get(name) == "":
            self.note(name, "Required", field=name)
        self.require(name)
        return self.text(name)

    def require(self, name: str) -> None:
        """Note a field that is absent."""
        if not self.has(name):
            self.note(name, "Required", field=name)

    def optional_integer(self, name: str) -> int | None:
        """An integer, or None where it is absent."""
        value = self.raw(name)
        if value is None:
            return None
        if isinstance(value, int) and not isinstance(value, bool):
            return self._of_32_bits(name, value)
        self.note(name, "NotInteger")
        return None

    def _of_32_bits(self, name: str, value: int) -> int | None:
        """The value if it is one of Kubernetes' int32, as all integers in Kueue's manifests are."""
        if -MAX_INT32 - 1 <= value <= MAX_INT32:
            return value
        self.note(name, "NotInRange", value=value, minimum=-MAX_INT32 - 1, maximum=MAX_INT32)
        return None

    def integer(self, name: str, default: int) -> int:
        """An integer."""
        value = self.optional_integer(name)
        return default if value is None else value

    def flag(self, name: str, *, default: bool) -> bool:
        """True or false."""
        value = self.raw(name)
        if value is None:
            return default
        if isinstance(value, bool):
            return value
        self.note(name, "NotBoolean")
        return default

    def choice(self, name: str, choices: tuple[Any, ...], default: Any) -> Any:
        """One of a few words."""
        value = self.raw(name)
        if value is None or value in choices:
            return default if value is None else value
        words = tuple(str(choice) for choice in choices)
        near, said = nearest(str(value), words), shown(str(value))
        self.note(name, "NotOneOf", value=said, choices=words, nearest=near)
        return default

    def texts(self, name: str) -> tuple[str, ...]:
        """A list of texts."""
        found = []
        for index, value in enumerate(self._list(name)):
            if isinstance(value, str):
                found.append(value)
            else:
                self._note_at(child(name, index), "NotString")
        return tuple(found)

    def words(self, name: str, choices: tuple[Any, ...]) -> tuple[Any, ...]:
        """A list of words out of a few."""
        found = self.texts(name)
        for index, value in enumerate(found):
            if value not in choices:
                self._note_at(child(name, index), "NotOneOf", value=shown(value), choices=choices)
        return tuple(value for value in found if value in choices)

    def text_map(self, name: str) -> dict[str, str]:
        """Texts by key, as in labels."""
        found = {}
        for key, value in self._mapping(name).items():
            if isinstance(value, str):
                found[key] = value
            elif value is not None:
                self._note_at(child(name, key), "NotString")
        return found

    def amounts(self, name: str) -> dict[str, int]:
        """Amounts by resource, from quantities; sorted by resource."""
        found = {}
        for resource, value in sorted(self._mapping(name).items()):
            amount = self._amount(child(name, resource), resource, value)
            if amount is not None:
                found[resource] = amount
        return found

    def amount(self, name: str, resource: str) -> int | None:
        """An amount of `resource` from a quantity, or None where it is absent."""
        value = self.raw(name)
        return None if value is None else self._amount(child("", name)[1:], resource, value)

    def quota(self, name: str, resource: str) -> int | None:
        """An amount of quota; more than can be counted is the largest amount: `1E` cores of cpu."""
        value = self.raw(name)
        text = quantity_text(value)
        if text and exceeds_max_amount(resource, text):
            return MAX_AMOUNT
        return self.amount(name, resource)

    def milli(self, name: str, default: int) -> int:
        """A number in thousandths from a quantity."""
        value = self.raw(name)
        if value is None:
            return default
        text = quantity_text(value)
        try:
            return milli_of(text or "?")
        except NotAQuantity:
            self.note(name, "NotQuantity")
            return default

    def child(self, name: str) -> "Fields | None":
        """The mapping under a field, or None where it is absent."""
        value = self.raw(name)
        if value is None:
            return None
        if isinstance(value, dict):
            return self._mapping_below(value, name)
        self.note(name, "NotMapping")
        return None

    def _mapping_below(self, value: dict[str, Any], name: str, index: int = -1) -> "Fields":
        """The mapping under a field or in its list; every call for it returns one `Fields`."""
        found = self._below.get((name, index))
        if found is None or found.values is not value:
            steps = (name,) if index < 0 else (name, index)
            found = Fields(value, child(self.pointer, *steps), self.problems)
            self._below[name, index] = found
        return found

    def child_or_empty(self, name: str) -> "Fields":
        """The mapping under a field, or one without fields."""
        return self.child(name) or Fields({}, child(self.pointer, name), self.problems)

    def children(self, name: str) -> Iterator["Fields"]:
        """The mappings of a list."""
        for index, value in enumerate(self._list(name)):
            if isinstance(value, dict):
                yield self._mapping_below(value, name, index)
            else:
                self._note_at(child(name, index), "NotMapping")

    def note(self, name: str, code: str, **arguments: Argument) -> None:
        """Note a problem with one field; an empty name is the mapping itself."""
        self._note_at(child("", name)[1:], code, **arguments)

    def warn(self, name: str, code: str, **arguments: Argument) -> None:
        """Tells of a field that is accepted and has no effect, or another one than meant.

        An empty name is the mapping itself.
        """
        if len(self.problems.warnings) < MAX_PROBLEMS:
            pointer = child(self.pointer, name) if name else self.pointer
            self.problems.warnings.append(violation(pointer, code, **arguments))

    def pass_over(self, *names: str) -> None:
        """Fields that mean nothing here; each that is given is warned about."""
        self.ignore(*names)
        for name in names:
            if self.values.get(name) not in (None, {}, [], ""):
                self.warn(name, "FieldWithoutEffect", field=name)

    def unread(self) -> Iterator[str]:
        """Pointers of the fields that no reader asked for, in this mapping and in those below."""
        known = self._known.union(self._ignored_settings)
        for name, value in self.values.items():
            if name not in known and value not in (None, {}, [], ""):
                yield child(self.pointer, name)
        for below in self._below.values():
            yield from below.unread()

    def reject_unsupported(self, name: str, code: str) -> None:
        """Note a field that Kueue has and we do not serve."""
        if self.has(name) and self.values[name] not in ([], {}, ""):
            self.note(name, code)

    def reject_unknown(self) -> None:
        """Note every field that no reader asked for, with the nearest name that one did."""
        known = self._known.union(self._ignored_settings)
        if self.values.keys() <= known:
            return
        listed = sorted(known)
        for name in self.values:
            if name in known or len(self.problems) >= MAX_PROBLEMS:
                continue
            near = nearest(name, listed)
            others = () if near else tuple(listed)
            self.note(name, "FieldUnknown", field=shown(name), nearest=near, known=others)

    def _list(self, name: str) -> list[Any]:
        value = self.raw(name)
        if value is None:
            return []
        if isinstance(value, list):
            return value
        self.note(name, "NotList")
        return []

    def _mapping(self, name: str) -> dict[str, Any]:
        value = self.raw(name)
        if value is None:
            return {}
        if isinstance(value, dict):
            return value
        self.note(name, "NotMapping")
        return {}

    def _amount(self, place: str, resource: str, value: Any) -> int | None:
        text = quantity_text(value)
        try:
            return amount_of(resource, text or "?")
        except NotAQuantity:
            self._note_at(place, "NotQuantity")
            return None

    def _note_at(self, place: str, code: str, **arguments: Argument) -> None:
        if len(self.problems) < MAX_PROBLEMS:
            pointer = f"{self.pointer}/{place}" if place else self.pointer
            self.problems.append(violation(pointer, code, **arguments))


def quantity_text(value: Any) -> str | None:
    """A quantity as text, however it was written; None for what can be none."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float) and math.isfinite(value):
        return repr(value)
    return None


T = TypeVar("T")


def either(fields: Fields, name: str, also: str, read: Callable[[str], T | None]) -> T | None:
    """What stands under one of two names; noted if both are there and disagree.

    `read` gives the meaning of the field of a name, or None where it is absent.
    """
    found, other = read(name), read(also)
    if found is not None and other is not None and found != other:
        fields.note(also, "FieldsDiffer", fields=(name, also))
    return other if found is None else found


def read_seconds(fields: Fields, name: str) -> int | None:
    """A length of time as Go writes it, or an integer under the name with `Seconds`."""
    value = fields.raw(name)
    in_seconds = fields.optional_integer(f"{name}Seconds")
    if value is None:
        return in_seconds
    seconds = seconds_of(value) if isinstance(value, str) else None
    if seconds is None:
        fields.note(name, "NotDuration")
    return seconds


def quantities(amounts: Mapping[str, int]) -> dict[str, str]:
    """Amounts by resource as quantities."""
    return {resource: quantity_of(resource, amount) for resource, amount in amounts.items()}


EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def rfc3339(at: Instant) -> str:
    """The instant in UTC, to the second, as in `creationTimestamp`."""
    moment = EPOCH + timedelta(microseconds=at)
    return moment.replace(tzinfo=None).isoformat(timespec="seconds") + "Z"


def read_instant(fields: Fields, name: str) -> Instant | None:
    """A time as Kubernetes writes it; noted if it is none."""
    text = fields.text(name)
    if not text:
        return None
    try:
        found = datetime.fromisoformat(text)
        return (found - EPOCH) // timedelta(microseconds=1)
    except (ValueError, TypeError, OverflowError):
        fields.note(name, "NotTimestamp")
        return None


_PART = re.compile(r"(\d{1,12}(?:\.\d{1,9})?)(h|ms|m|s)", re.ASCII)
_WHOLE = re.compile(r"(?:\d{1,12}(?:\.\d{1,9})?(?:h|ms|m|s))+|0", re.ASCII)
_MILLISECONDS = {"h": 3_600_000, "m": 60_000, "s": 1000, "ms": 1}


def seconds_of(text: str) -> int | None:
    """The length in seconds, rounded up; None if it is none."""
    if not _WHOLE.fullmatch(text):
        return None
    milliseconds = 0
    for number, unit in _PART.findall(text):
        whole, _, fraction = number.partition(".")
        scaled = int(whole + fraction) * _MILLISECONDS[unit]
        milliseconds += -(-scaled // int("1" + "0" * len(fraction)))
    return -(-milliseconds // 1000)


def duration_of(seconds: int) -> str:
    """The length as Go writes it."""
    minutes, rest = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours}h{minutes}m{rest}s"
    return f"{minutes}m{rest}s" if minutes else f"{rest}s"
