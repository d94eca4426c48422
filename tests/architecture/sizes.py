"""How long files and functions are; `python -m tests.architecture.sizes` shows offenders."""

import ast
import json
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests.architecture.sources import ROOT, files, nodes, shown

FILE_LINES = 400
TEST_FILE_LINES = 600
FUNCTION_LINES = 60
RECORD = Path(__file__).parent / "offenders.json"
GENERATED = ("frontend/src/lib/api/generated/", "migrations/versions/")
TYPESCRIPT_FUNCTION = re.compile(
    r"^(?:export )?(?:default )?(?:async )?(?:function\*? (\w+)|const (\w+)\b.*=>\s*[{(]$)"
)
Function = ast.FunctionDef | ast.AsyncFunctionDef


@cache
def offenders() -> dict[str, int]:
    """Every file and function over its limit, with its length; functions are `file::function`."""
    found = {}
    for path in files():
        if path.suffix not in {".py", ".ts", ".tsx"} or shown(path).startswith(GENERATED):
            continue
        lines = len(path.read_text().splitlines())
        if lines > file_limit(path):
            found[shown(path)] = lines
        functions = python_functions(path) if path.suffix == ".py" else typescript_functions(path)
        found |= {
            f"{shown(path)}::{name}": length
            for name, length in functions
            if length > FUNCTION_LINES
        }
    return found


def file_limit(path: Path) -> int:
    """Tests may be longer: their cases stand side by side."""
    is_test = path.is_relative_to(ROOT / "tests") or ".test." in path.name
    return TEST_FILE_LINES if is_test else FILE_LINES


def python_functions(path: Path) -> Iterator[tuple[str, int]]:
    """Each function with its length; docstrings and functions inside it count by themselves."""
    around: list[tuple[Function, int]] = []
    for node in sorted(functions_in(path), key=lambda each: (each.lineno, each.col_offset)):
        while around and last_line(around[-1][0]) < node.lineno:
            outer, length = around.pop()
            yield outer.name, length
        if around:
            outer, length = around.pop()
            around.append((outer, length - span(node)))
        told = len((ast.get_docstring(node, clean=False) or "").splitlines())
        around.append((node, span(node) - told))
    yield from ((outer.name, length) for outer, length in around)


def functions_in(path: Path) -> list[Function]:
    """Every function of a file, those inside functions too."""
    return [*nodes(path, ast.FunctionDef), *nodes(path, ast.AsyncFunctionDef)]


def span(node: Function) -> int:
    """From `def` to the last line."""
    return last_line(node) - node.lineno + 1


def last_line(node: Function) -> int:
    """The line on which it ends."""
    return node.end_lineno or node.lineno


def typescript_functions(path: Path) -> Iterator[tuple[str, int]]:
    """Each top-level function with its length: from its first line to a bracket in column one."""
    name, start = "", 0
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if opening := TYPESCRIPT_FUNCTION.match(line):
            name, start = opening[1] or opening[2], number
        elif (
            name and line.startswith(("}", ")")) and not line.startswith(("})", "}:", "):", ") {"))
        ):
            yield name, number - start + 1
            name = ""


def recorded() -> dict[str, int]:
    """The offenders that are put up with, at the length they had when they were recorded."""
    record: dict[str, int] = json.loads(RECORD.read_text())
    return record


if __name__ == "__main__":
    sys.stdout.write(json.dumps(offenders(), indent=2, sort_keys=True) + "\n")
