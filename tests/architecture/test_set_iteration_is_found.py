"""The check for set iteration sees the ways a set's order leaks, and leaves harmless ones alone."""

import ast

import pytest

from tests.architecture.set_iteration import iterations_over_sets

LEAKS = [
    "for name in {a, b}: use(name)",
    "for name in set(names): use(name)",
    "first = [name for name in frozenset(names)]",
    "order = tuple({name for name in names})",
    "for key in old.keys() | new.keys(): use(key)",
    "seen: set[str] = set()\nfor name in seen: use(name)",
    "def walk(names: frozenset[str]):\n    return list(names)",
    "class Group:\n    names: frozenset[str]\ndef walk(group): return [n for n in group.names]",
]
HARMLESS = [
    "for name in sorted({a, b}): use(name)",
    "known = name in {a, b}",
    "found = any(name in held for name in {a, b})",
    "more = {*frozenset(names), name}",
    "both = {name for name in frozenset(names)}",
    "for name in names: use(name)",
    "for name in tuple(names): use(name)",
]


@pytest.mark.parametrize("source", LEAKS, ids=range(len(LEAKS)))
def test_a_leaking_order_is_found(source: str) -> None:
    assert list(iterations_over_sets(ast.parse(source)))


@pytest.mark.parametrize("source", HARMLESS, ids=range(len(HARMLESS)))
def test_a_harmless_use_is_not(source: str) -> None:
    assert not list(iterations_over_sets(ast.parse(source)))
