"""Multi-document YAML or JSON as plain values: limited in size and depth, no key twice."""

import json
import math
import re
from collections.abc import Hashable, Iterator
from contextlib import suppress
from typing import Any

import msgspec
import yaml

from headgate.application.cooperative import in_steps, stop_if_cancelled
from headgate.domain.rejection import InvalidObject
from headgate.domain.values.message import Argument, Message

MAX_BODY_BYTES = 16 * 1024 * 1024
MAX_NESTING = 60
MAX_INTEGER = 2**63 - 1
MAX_KEYS = 100_000
"""Of one mapping: making one of more would hold up all other threads for too long."""
VALUES_OF_STEP = 1_000
"""So many values are counted before the thread gives way, within half a millisecond."""


class Document(msgspec.Struct, frozen=True):
    """One document as plain values; `line` is where it begins, from 1 (0: unknown, in JSON)."""

    value: Any
    line: int = 0


def read_documents(body: bytes, content_type: str = "") -> tuple[Document, ...]:
    """The documents of `body`, empty ones left out; raises `InvalidObject` for broken syntax.

    What does not say that it is JSON is YAML, of which JSON is a part: it is only read faster.
    """
    if len(body) > MAX_BODY_BYTES:
        raise _unreadable("BodyTooLong", maximum=MAX_BODY_BYTES, length=len(body))
    try:
        text = body.decode()
    except UnicodeDecodeError as problem:
        raise _unreadable("NotUtf8", offset=problem.start) from problem
    if "json" in content_type:
        try:
            value = _json_value(text)
        except json.JSONDecodeError as problem:
            place = (problem.lineno, problem.colno)
            raise _unreadable("JsonInvalid", place, reason=problem.msg) from problem
        return () if value is None else (Document(value),)
    if text.lstrip()[:1] in {"{", "["}:
        with suppress(json.JSONDecodeError):
            return (Document(_json_value(text)),)
    return tuple(Document(value, line) for value, line in yaml_documents(text))


def _json_value(text: str) -> Any:
    try:
        value = _DECODER.decode(text)
    except RecursionError as problem:
        raise _unreadable("NestedTooDeep", maximum=MAX_NESTING) from problem
    if text.count("{") + text.count("[") > MAX_NESTING:
        _check_depth(value)
    if "\\u" in text:
        _check_characters(value)
    return value


def _object_without_repetition(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    stop_if_cancelled()
    if len(pairs) > MAX_KEYS:
        raise _unreadable("TooManyKeys", maximum=MAX_KEYS, count=len(pairs))
    found = dict(pairs)
    if len(found) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise _unreadable("KeyRepeated", key=key)
            seen.add(key)
    return found


def _refused_constant(name: str) -> None:
    raise _unreadable("NumberNotFinite", value=name)


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise _unreadable("NumberNotFinite", value=text[:40])
    return number


def _limited(text: str) -> int:
    if len(text) > 20 or abs(int(text)) > MAX_INTEGER:  # noqa: PLR2004  (64 bits and a sign)
        raise _unreadable("IntegerTooLarge", value=text[:40])
    return int(text)


_DECODER = json.JSONDecoder(
    object_pairs_hook=_object_without_repetition,
    parse_constant=_refused_constant,
    parse_float=_finite,
    parse_int=_limited,
)


def _check_depth(value: Any) -> None:
    level = [value]
    for _ in range(MAX_NESTING):
        level = [
            inner
            for start in in_steps(range(0, len(level), VALUES_OF_STEP))
            for outer in level[start : start + VALUES_OF_STEP]
            for inner in _inner_values(outer)
        ]
        if not level:
            return
    raise _unreadable("NestedTooDeep", maximum=MAX_NESTING)


def _inner_values(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        yield from value.values()
    elif isinstance(value, list):
        yield from value


def _check_characters(value: Any) -> None:
    written = json.dumps(value, ensure_ascii=False)
    try:
        written.encode()
    except UnicodeEncodeError as problem:
        raise _unreadable("CharacterInvalid") from problem
    if "\\u0000" in written:
        raise _unreadable("CharacterInvalid")


def _unreadable(
    code: str, place: tuple[int, int] | None = None, **arguments: Argument
) -> InvalidObject:
    """The rejection of a body that cannot be read, at a line and column from 1 where known."""
    line, column = place or (None, None)
    problem = Message(code, arguments)
    return InvalidObject.at("", "BodyUnreadable", line=line, column=column, problem=problem)


YAML_MAX_NESTING = 60


MAX_NODES = 2_000_000
"""Nodes of all documents together, each alias counted as often as it is used."""


YAML_MAX_INTEGER = 2**63 - 1


_NULL = re.compile(r"~|null|Null|NULL|")


_TRUE = re.compile(r"true|True|TRUE|yes|Yes|YES|on|On|ON")


_FALSE = re.compile(r"false|False|FALSE|no|No|NO|off|Off|OFF")


_INTEGER = re.compile(r"[-+]?(0x[0-9a-fA-F]{1,16}|0o?[0-7]{1,22}|0|[1-9][0-9]{0,19})", re.ASCII)


_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]{1,3})?", re.ASCII)


_TAG = "tag:yaml.org,2002:"


_MERGE = object()


class _Container:
    """A mapping or sequence that is being read: a resource of the reading, not of the result."""

    def __init__(self, value: dict[Any, Any] | list[Any], anchor: str | None) -> None:
        self.value = value
        self.anchor = anchor
        self.size = 1
        self.merged: list[Any] = []
        self.key: Any = None
        self.has_key = False


def yaml_documents(text: str) -> Iterator[tuple[Any, int]]:
    """Each document that is not empty, with the line it begins on; raises `InvalidObject`."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        yield from _documents(yaml.parse(text, Loader=loader))
    except yaml.YAMLError as problem:
        place = _place(getattr(problem, "problem_mark", None))
        reason = getattr(problem, "problem", None) or str(problem).partition("\n")[0]
        raise _unreadable("YamlInvalid", place, reason=reason) from problem


def _documents(events: Iterator[Any]) -> Iterator[tuple[Any, int]]:
    reading = _Reading()
    line = 1
    for event in events:
        stop_if_cancelled()
        if isinstance(event, yaml.DocumentStartEvent):
            reading.begin()
            line = event.start_mark.line + 1 if event.start_mark else 0
        elif isinstance(event, yaml.DocumentEndEvent):
            if reading.result is not None:
                yield reading.result, line
        elif isinstance(event, yaml.NodeEvent | yaml.CollectionEndEvent):
            reading.take(event)


class _Reading:
    """One document as far as it has been read; holds the open containers and the anchors."""

    def __init__(self) -> None:
        self.nodes = 0
        self.begin()

    def begin(self) -> None:
        """Forget the document before."""
        self.result: Any = None
        self.stack: list[_Container] = []
        self.anchors: dict[str, tuple[Any, int]] = {}

    def take(self, event: Any) -> None:
        """Take the next event of the document into account."""
        match event:
            case yaml.ScalarEvent():
                self._put(_scalar(event), 1, event)
            case yaml.AliasEvent():
                self._alias(event)
            case yaml.MappingStartEvent():
                self._open({}, event)
            case yaml.SequenceStartEvent():
                self._open([], event)
            case _:
                self._close(event)

    def _open(self, value: dict[Any, Any] | list[Any], event: Any) -> None:
        if len(self.stack) >= YAML_MAX_NESTING:
            raise _problem(event, "NestedTooDeep", maximum=YAML_MAX_NESTING)
        if event.tag not in {None, "!", f"{_TAG}map", f"{_TAG}seq"}:
            raise _problem(event, "TagUnknown", tag=event.tag)
        self.stack.append(_Container(value, event.anchor))

    def _close(self, event: Any) -> None:
        closed = self.stack.pop()
        if isinstance(closed.value, dict) and len(closed.value) > MAX_KEYS:
            count = len(closed.value)
            raise _problem(event, "TooManyKeys", maximum=MAX_KEYS, count=count)
        for merged in closed.merged:
            if isinstance(closed.value, dict):
                closed.value = {**merged, **closed.value}
        self._put(closed.value, closed.size, event, closed.anchor)

    def _alias(self, event: Any) -> None:
        if event.anchor not in self.anchors:
            raise _problem(event, "AliasUnknown", alias=event.anchor)
        value, size = self.anchors[event.anchor]
        self._put(value, size, event, None)

    def _put(self, value: Any, size: int, event: Any, anchor: str | None = None) -> None:
        anchor = anchor or (event.anchor if isinstance(event, yaml.ScalarEvent) else None)
        self.nodes += size if isinstance(event, yaml.AliasEvent) else 1
        if self.nodes > MAX_NODES:
            raise _problem(event, "TooManyValues", maximum=MAX_NODES)
        if anchor:
            self.anchors[anchor] = (None if value is _MERGE else value, size)
        if not self.stack:
            self.result = "<<" if value is _MERGE else value
            return
        container = self.stack[-1]
        container.size += size
        if isinstance(container.value, list):
            container.value.append("<<" if value is _MERGE else value)
        elif container.has_key:
            self._value(container, value, event)
        else:
            _key(container, value, event)

    def _value(self, container: _Container, value: Any, event: Any) -> None:
        container.has_key = False
        assert isinstance(container.value, dict)
        if container.key is not _MERGE:
            container.value[container.key] = "<<" if value is _MERGE else value
            return
        sources = value if isinstance(value, list) else [value]
        if not all(isinstance(source, dict) for source in sources):
            raise _problem(event, "MergeInvalid")
        container.merged.extend(sources)


def _key(container: _Container, key: Any, event: Any) -> None:
    if key is not _MERGE and not isinstance(key, str):
        if not isinstance(key, Hashable) or key is None:
            raise _problem(event, "KeyNotString")
        key = str(key).lower() if isinstance(key, bool) else str(key)
    if key is not _MERGE and key in container.value:
        raise _problem(event, "KeyRepeated", key=key)
    container.key = key
    container.has_key = True


def _scalar(event: yaml.ScalarEvent) -> Any:
    text: str = event.value
    if "\x00" in text or any("\ud800" <= character <= "\udfff" for character in text):
        raise _problem(event, "CharacterInvalid")
    tag = (event.tag or "").removeprefix(_TAG)
    if tag in {"str", "!"} or (not event.implicit[0] and not event.tag):
        return text
    if tag not in {"", "null", "bool", "int", "float", "timestamp"}:
        raise _problem(event, "TagUnknown", tag=event.tag)
    return _plain(text, event)


def _plain(text: str, event: Any) -> Any:
    if text == "<<":
        return _MERGE
    if _NULL.fullmatch(text):
        return None
    if _TRUE.fullmatch(text):
        return True
    if _FALSE.fullmatch(text):
        return False
    if _INTEGER.fullmatch(text):
        number = _integer(text)
        if abs(number) > YAML_MAX_INTEGER:
            raise _problem(event, "IntegerTooLarge", value=text)
        return number
    if _FLOAT.fullmatch(text) and len(text) <= 64:  # noqa: PLR2004  (the longest quantity)
        number_or_infinity = float(text)
        if abs(number_or_infinity) == float("inf"):
            raise _problem(event, "NumberNotFinite", value=text)
        return number_or_infinity
    return text


def _integer(text: str) -> int:
    digits = text.lstrip("+-")
    sign = -1 if text.startswith("-") else 1
    if digits.startswith("0x"):
        return sign * int(digits, 16)
    if digits.startswith("0") and len(digits) > 1:
        return sign * int(digits.removeprefix("0o"), 8)
    return sign * int(digits)


def _problem(event: Any, code: str, **arguments: Argument) -> InvalidObject:
    return _unreadable(code, _place(event.start_mark), **arguments)


def _place(mark: Any) -> tuple[int, int] | None:
    return None if mark is None else (mark.line + 1, mark.column + 1)
