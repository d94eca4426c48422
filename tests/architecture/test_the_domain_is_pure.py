"""The domain imports nothing of the world, and nothing in it depends on the order of a set."""

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.architecture.set_iteration import iterations_over_sets
from tests.architecture.sources import DOMAIN, assert_none, files_below, nodes, shown, tree

PURE = frozenset(
    {
        "abc",
        "bisect",
        "collections",
        "contextlib",
        "copy",
        "dataclasses",
        "datetime",
        "decimal",
        "enum",
        "fractions",
        "functools",
        "hashlib",
        "heapq",
        "itertools",
        "math",
        "operator",
        "re",
        "types",
        "typing",
    }
)
OURS = frozenset({"headgate", "msgspec"})
MAY_USE_NUMPY = (DOMAIN / "scheduling" / "placement", DOMAIN / "scheduling" / "quota")


def test_the_domain_imports_only_pure_modules() -> None:
    found = [
        f"{shown(path)}:{line}: {name}"
        for path in files_below(DOMAIN, ".py")
        for line, name in imported(path)
        if name not in allowed_in(path)
    ]
    assert_none(found, "Pass what the rule needs as an argument; the domain may not import these:")


def test_the_domain_never_iterates_over_a_set() -> None:
    found = [
        f"{shown(path)}:{line}: {source}"
        for path in files_below(DOMAIN, ".py")
        for line, source in iterations_over_sets(tree(path))
    ]
    assert_none(found, "The order of a set changes from run to run; write sorted(...) around it:")


def test_the_domain_counts_in_integers() -> None:
    found = [
        f"{shown(path)}:{node.lineno}: {node.value}"
        for path in files_below(DOMAIN, ".py")
        for node in nodes(path, ast.Constant)
        if isinstance(node.value, float)
    ]
    assert_none(found, "Floats round differently along different ways; use integers or a ratio:")


def test_nothing_postpones_annotations() -> None:
    found = [
        shown(path)
        for path in files_below(DOMAIN.parents[2], ".py")
        for _, name in imported(path)
        if name == "__future__"
    ]
    assert_none(found, "Libraries read annotations while running; remove the __future__ import:")


def allowed_in(path: Path) -> frozenset[str]:
    """The top-level modules a file of the domain may import."""
    with_numpy = any(path.is_relative_to(folder) for folder in MAY_USE_NUMPY)
    return PURE | OURS | ({"numpy"} if with_numpy else frozenset())


def imported(path: Path) -> Iterator[tuple[int, str]]:
    """Line and top-level name of each import of a file."""
    for node in nodes(path, ast.Import):
        yield from ((node.lineno, alias.name.partition(".")[0]) for alias in node.names)
    for absolute in nodes(path, ast.ImportFrom):
        if absolute.module is not None:
            yield absolute.lineno, absolute.module.partition(".")[0]
