"""Names say what is inside, so the words that say nothing are not used for files or definitions."""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from tests.architecture.sources import (
    BACKEND,
    ROOT,
    WORKERS,
    assert_none,
    definitions,
    files,
    nodes,
    shown,
)

EMPTY_WORDS = frozenset({"utils", "helpers", "common", "misc", "manager", "base", "data", "info"})
SOURCES = frozenset({".py", ".ts", ".tsx", ".sql"})
WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")


def test_no_file_or_folder_has_a_name_that_says_nothing() -> None:
    found = [shown(path) for path in files() if path.suffix in SOURCES and is_empty(path)]
    assert_none(found, f"Rename by what is inside; never {', '.join(sorted(EMPTY_WORDS))}:")


def test_no_definition_has_a_name_that_says_nothing() -> None:
    found = [
        f"{shown(path)}:{node.lineno}: {node.name}"
        for path in files()
        if path.suffix == ".py" and (path.is_relative_to(BACKEND) or path.is_relative_to(WORKERS))
        for node in definitions(path)
        if words_of(node.name) & EMPTY_WORDS
    ]
    assert_none(found, f"Rename by what it is; never {', '.join(sorted(EMPTY_WORDS))}:")


def test_no_import_is_relative() -> None:
    found = [
        f"{shown(path)}:{node.lineno}"
        for path in files()
        if path.suffix == ".py"
        for node in nodes(path, ast.ImportFrom)
        if node.level
    ]
    assert_none(found, "The path one sees is the import one writes; make these absolute:")


def test_no_constant_of_a_module_is_set_twice() -> None:
    """The later value would hold for what reads the name above it, too."""
    found = [
        f"{shown(path)}: {name}"
        for path in files()
        if path.suffix == ".py"
        for name, count in Counter(constants(path)).items()
        if count > 1
    ]
    assert_none(found, "Name each constant of a module apart from the others:")


def constants(path: Path) -> Iterator[str]:
    """The names that statements of a module itself set, each as often as it is set."""
    (module,) = nodes(path, ast.Module)
    for statement in module.body:
        if isinstance(statement, ast.Assign):
            yield from (each.id for each in statement.targets if isinstance(each, ast.Name))
        elif isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            yield statement.target.id


def is_empty(path: Path) -> bool:
    """Whether a part of the path below the project's folder is, or holds, an empty word."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return any(words_of(part) & EMPTY_WORDS for part in parts)


def words_of(name: str) -> set[str]:
    """The words of a name in snake_case, kebab-case or CamelCase, in lower case."""
    return {word.lower() for word in WORD.findall(name)}
