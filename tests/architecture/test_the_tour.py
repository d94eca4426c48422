"""What the README tells a newcomer to open, type and call is there."""

import ast
import re
from pathlib import Path

from typer.main import get_command

from headgate.cli.main import Program, app
from tests.architecture.readme import BACKEND_README, README, shell_lines, symbols_named
from tests.architecture.sources import (
    BACKEND,
    ROOT,
    WORKERS,
    assert_none,
    files_below,
    shown,
    tree,
)

TARGET = re.compile(r"^([a-z-]+):", re.MULTILINE)
TOLD = re.compile(r"(?:`|<code>)make ([a-z-]+)")
LINES_OF_HELP = re.compile(r"^([a-z]+):.*  ## .+$", re.MULTILINE)


def test_the_tour_names_what_exists() -> None:
    tour = symbols_named(README)
    assert len(tour) > 8, "The README has lost its tour."
    found = [f"{path}::{name}" for path, name in tour if not defines(ROOT / path, name)]
    assert_none(found, "Moved or renamed; mend the tour in README.md:")


def test_the_rules_of_kueue_stand_where_the_table_says() -> None:
    rules = symbols_named(BACKEND_README)
    assert len(rules) > 50, "backend/README.md has lost its table of rules."
    found = [
        f"{path}::{name}"
        for path, name in rules
        if not (
            is_last_definition(ROOT / path, name)
            if path.endswith(".sql")
            else defines(BACKEND / path, name)
        )
    ]
    assert_none(found, "Moved or renamed; mend the table in backend/README.md:")


def test_make_commands_named_in_the_guides_exist() -> None:
    targets = set(TARGET.findall((ROOT / "Makefile").read_text()))
    found = [
        line
        for guide in (README, BACKEND_README)
        for line in shell_lines(guide)
        if line.startswith("make ") and line.split()[1] not in targets
    ]
    assert_none(found, "The Makefile has no such command:")


def test_make_commands_that_people_are_told_of_exist() -> None:
    targets = set(TARGET.findall((ROOT / "Makefile").read_text()))
    found = [
        f"{shown(source)}: make {name}"
        for folder in (BACKEND, WORKERS)
        for source in files_below(folder, ".py")
        for name in TOLD.findall(source.read_text())
        if name not in targets
    ]
    assert_none(found, "The Makefile has no such command:")


def test_make_lists_the_commands_of_the_house() -> None:
    listed = set(LINES_OF_HELP.findall((ROOT / "Makefile").read_text()))
    promised = {"up", "demo", "test", "check", "fix", "bench", "simulate", "chaos", "docs", "clean"}
    assert_none(sorted(promised - listed), "Give the command its line in the Makefile:")


def test_headgate_commands_named_in_the_readme_exist() -> None:
    program = get_command(app)
    assert isinstance(program, Program)
    known = program.commands
    found = [
        line
        for line in shell_lines(README)
        if line.startswith("headgate ")
        and not line.split()[1].startswith("-")
        and line.split()[1] not in known
    ]
    assert_none(found, "headgate has no such command:")


def defines(path: Path, name: str) -> bool:
    """Whether a file defines a name; `Class.method` looks inside the class."""
    if not path.is_file():
        return False
    body: list[ast.stmt] = tree(path).body
    for part in name.split("."):
        found = [node for node in body if part in names_of(node)]
        if not found:
            return False
        body = getattr(found[0], "body", [])
    return True


def is_last_definition(path: Path, name: str) -> bool:
    """Whether a SQL file defines a function that no later migration replaces."""
    definition = re.compile(rf"CREATE (?:OR REPLACE )?FUNCTION {name}\(")
    files = [file for file in path.parent.glob("*.sql") if definition.search(file.read_text())]
    return path == max(files, key=migration_number, default=None)


def migration_number(path: Path) -> int:
    """The number at the end of the name of a SQL file."""
    return int(path.stem.rpartition("_v")[2])


def names_of(node: ast.stmt) -> list[str]:
    """The names a statement binds."""
    match node:
        case ast.ClassDef(name=name) | ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
            return [name]
        case ast.AnnAssign(target=ast.Name(id=name)):
            return [name]
        case ast.Assign(targets=targets):
            return [target.id for target in targets if isinstance(target, ast.Name)]
        case _:
            return []
