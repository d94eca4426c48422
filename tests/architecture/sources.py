"""The project's own files, as git sees them: what is tracked and what is about to be."""

import ast
import subprocess
from collections import defaultdict
from functools import cache
from pathlib import Path
from typing import TypeVar, cast

ROOT = Path(__file__).resolve().parents[2]
BACKEND = ROOT / "backend" / "headgate"
DOMAIN = BACKEND / "domain"
WORKERS = ROOT / "workers" / "headgate_workers"
MIGRATIONS = ROOT / "migrations"

Node = TypeVar("Node", bound=ast.AST)
Definition = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


@cache
def files() -> tuple[Path, ...]:
    """Every file of the project that is not ignored, in a fixed order."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    paths = (ROOT / name for name in listed.split("\0") if name)
    return tuple(sorted(path for path in paths if path.is_file()))


def is_ignored(name: str) -> bool:
    """Whether git ignores a path, as it does what is built and what is fetched."""
    command = ["git", "check-ignore", name, f"{name.rstrip('/')}/"]
    return subprocess.run(command, cwd=ROOT, check=False, capture_output=True).returncode == 0


def files_below(folder: Path, *suffixes: str) -> list[Path]:
    """Those below a folder with one of the suffixes."""
    return [path for path in files() if path.suffix in suffixes and path.is_relative_to(folder)]


@cache
def tree(path: Path) -> ast.Module:
    """The syntax tree of a Python file."""
    return ast.parse(path.read_text(), filename=str(path))


@cache
def nodes_by_kind(path: Path) -> dict[type[ast.AST], list[ast.AST]]:
    """Every node of a Python file by its class; all tests share the one walk over the tree."""
    found = defaultdict(list)
    for node in ast.walk(tree(path)):
        found[type(node)].append(node)
    return found


def nodes(path: Path, *kinds: type[Node]) -> list[Node]:
    """The nodes of some classes of a Python file, class by class."""
    found = nodes_by_kind(path)
    return cast("list[Node]", [node for kind in kinds for node in found.get(kind, ())])


def definitions(path: Path) -> list[Definition]:
    """Every class and function of a Python file."""
    found: list[Definition] = [*nodes(path, ast.ClassDef)]
    found += nodes(path, ast.FunctionDef)
    found += nodes(path, ast.AsyncFunctionDef)
    return found


def strings(path: Path) -> list[tuple[int, str]]:
    """Line and value of every string literal of a Python file, f-strings by their parts."""
    found = nodes(path, ast.Constant)
    return [(node.lineno, node.value) for node in found if isinstance(node.value, str)]


def shown(path: Path) -> str:
    """A path as a reader of a message wants it."""
    return path.relative_to(ROOT).as_posix()


def first_sentence(path: Path) -> str:
    """The first paragraph of a module's docstring on one line, empty if it has none."""
    docstring = ast.get_docstring(tree(path)) or ""
    return " ".join(docstring.split("\n\n")[0].split())


def assert_none(found: list[str], remedy: str) -> None:
    """Fail with all that was found and what to do about it."""
    listing = "".join(f"\n  {line}" for line in found)
    assert not found, f"{remedy}{listing}"
