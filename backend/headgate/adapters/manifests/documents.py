"""Multi-document YAML or JSON as plain values: limited in size and depth, no key twice."""

import json
import math
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import msgspec

from headgate.adapters.manifests.yaml_documents import SyntaxProblem, yaml_documents
from headgate.domain.rejection import InvalidObject, Violation

MAX_BODY_BYTES = 16 * 1024 * 1024
MAX_NESTING = 60
MAX_INTEGER = 2**63 - 1


class Document(msgspec.Struct, frozen=True):
    """One document as plain values; `line` is where it begins, from 1 (0: unknown, in JSON)."""

    value: Any
    line: int = 0


def read_documents(body: bytes, content_type: str = "") -> tuple[Document, ...]:
    """The documents of `body`, empty ones left out; raises `InvalidObject` for broken syntax.

    What does not say that it is JSON is YAML, of which JSON is a part: it is only read faster.
    """
    if len(body) > MAX_BODY_BYTES:
        raise _unreadable(f"A body has at most {MAX_BODY_BYTES} bytes; this one has {len(body)}.")
    try:
        text = body.decode()
    except UnicodeDecodeError as problem:
        raise _unreadable(f"Byte {problem.start} is not UTF-8.") from problem
    if "json" in content_type:
        try:
            return (Document(_json_value(text)),)
        except json.JSONDecodeError as problem:
            place = f"Line {problem.lineno}, column {problem.colno}"
            raise _unreadable(f"{place}: {problem.msg}.") from problem
    if text.lstrip()[:1] in {"{", "["}:
        with suppress(json.JSONDecodeError):
            return (Document(_json_value(text)),)
    try:
        return tuple(Document(value, line) for value, line in yaml_documents(text))
    except SyntaxProblem as problem:
        raise _unreadable(str(problem)) from problem


def _json_value(text: str) -> Any:
    try:
        value = _DECODER.decode(text)
    except RecursionError as problem:
        raise _unreadable(f"Values are nested at most {MAX_NESTING} deep.") from problem
    if text.count("{") + text.count("[") > MAX_NESTING:
        _check_depth(value)
    if "\\u" in text:
        _check_characters(value)
    return value


def _object_without_repetition(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise _unreadable(f"The key {key!r} stands twice in one object.")
            seen.add(key)
    return found


def _refused_constant(name: str) -> None:
    raise _unreadable(f"{name} is no number of JSON.")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise _unreadable(f"{text[:40]} is too large a number.")
    return number


def _limited(text: str) -> int:
    if len(text) > 20 or abs(int(text)) > MAX_INTEGER:  # noqa: PLR2004  (64 bits and a sign)
        raise _unreadable(f"{text[:40]} is too large an integer.")
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
        level = [inner for outer in level for inner in _inner_values(outer)]
        if not level:
            return
    raise _unreadable(f"Values are nested at most {MAX_NESTING} deep.")


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
        raise _unreadable("A text holds half of a surrogate pair.") from problem
    if "\\u0000" in written:
        raise _unreadable("A text holds the character U+0000.")


def _unreadable(rule: str) -> InvalidObject:
    return InvalidObject(
        f"The body cannot be read: {rule}",
        remedy="Send YAML or JSON as kubectl would take it.",
        violations=(Violation(pointer="", rule=rule, remedy="Correct it and send it again."),),
    )
