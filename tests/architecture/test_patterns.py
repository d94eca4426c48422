"""Every regular expression takes time linear in its input, whatever the input is.

Each compiled pattern is run, by the methods that the code calls, on long texts that make it
backtrack as far as it can. An alarm ends a pattern that takes minutes where linear ones take
a second; only the texts of the nightly run are long enough for it.
"""

import ast
import importlib
import re
import signal
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.architecture.sources import BACKEND, files_below, nodes, tree
from tests.hypothesis_profiles import examples, is_full_depth

LENGTH = 300_000 if is_full_depth() else 3_000
SECONDS = 20
PIECES = [
    *"aA0-.,/_:=!()[{}`'\\~+e",
    *("a-", "a.", "a/b", "a=b,", "(a,", "[a", "{a}", "0.", "0h"),
    *(" ", "\n", "\x00", '"', "a ", "1.1h", r"\u0000", " in (", "FROM ('1') TO ('", " says "),
]
ENDS = ("", "!", "\n", "(")
METHODS = frozenset({"fullmatch", "match", "search", "findall", "finditer", "split", "sub"})


class Use(NamedTuple):
    """A pattern and a method by which it is run."""

    place: str
    pattern: "re.Pattern[Any]"
    method: str


@cache
def uses() -> tuple[Use, ...]:
    """Each pattern of a module with each method that the code calls on its name."""
    return tuple(_uses())


def _uses() -> Iterator[Use]:
    for path in files_below(BACKEND, ".py"):
        names = dict.fromkeys(name for name, _ in _compilations(path) if name)
        parts = path.relative_to(BACKEND.parent).with_suffix("").parts
        for name in names:
            module = importlib.import_module(".".join(part for part in parts if part != "__init__"))
            for pattern in _patterns(getattr(module, name)):
                for method in sorted(_methods()[name]):
                    yield Use(f"{module.__name__}.{name}", pattern, method)


def _patterns(value: object) -> list["re.Pattern[Any]"]:
    values = value.values() if isinstance(value, dict) else [value]
    return [each for each in values if isinstance(each, re.Pattern)]


def _compilations(path: Path) -> Iterator[tuple[str, ast.Call]]:
    """Each call of `re.compile` with the name of the constant it stands in; empty where in none."""
    body = tree(path).body
    if not any(isinstance(node, ast.Import) and node.names[0].name == "re" for node in body):
        return
    named = {
        id(inner): target.id
        for node in body
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if isinstance(target, ast.Name)
        for inner in ast.walk(node.value)
    }
    for node in nodes(path, ast.Call):
        if ast.unparse(node.func) == "re.compile":
            yield named.get(id(node), ""), node


@cache
def _methods() -> dict[str, set[str]]:
    """By name of constant: the methods called on it, or `fullmatch` on each value of a table."""
    found: dict[str, set[str]] = {}
    for path in files_below(BACKEND, ".py"):
        for node in nodes(path, ast.Attribute, ast.Call):
            match node:
                case ast.Attribute(value=ast.Name(id=name), attr=method) if method in METHODS:
                    found.setdefault(name, set()).add(method)
                case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="items")):
                    found.setdefault(name, set()).add("fullmatch")
                case _:
                    pass
    return found


def test_every_pattern_stands_in_a_constant_and_has_a_method() -> None:
    for path in files_below(BACKEND, ".py"):
        for name, node in _compilations(path):
            assert name, f"{path}:{node.lineno}: name the pattern, so that its time is tested"
            assert _methods().get(name), f"{path}:{node.lineno}: no use of {name} is found"


@given(piece=st.sampled_from(PIECES) | st.text(min_size=1, max_size=3), end=st.sampled_from(ENDS))
@settings(max_examples=examples(400, quick=10))
def test_every_pattern_takes_linear_time(piece: str, end: str) -> None:
    text = piece * (LENGTH // len(piece)) + end
    for use in uses():
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
        try:
            _run(use, text.encode() if isinstance(use.pattern.pattern, bytes) else text)
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)


def _run(use: Use, text: Any) -> None:
    replaced = [text[:0]] if use.method == "sub" else []
    found = getattr(use.pattern, use.method)(*replaced, text)
    if use.method == "finditer":
        list(found)
