"""Reads what the README files claim: paths, commands, the map, the glossary, the tour."""

import re
from pathlib import Path

from tests.architecture.sources import ROOT

README = ROOT / "README.md"
BACKEND_README = ROOT / "backend" / "README.md"

CODE_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
CODE_SPAN = re.compile(r"`([^`\n]+)`")
ROW = re.compile(r"^\| (.+?) \| (.+) \|$", re.MULTILINE)
PATH = re.compile(r"^\.?[\w][\w.-]*(/[\w.-]+)*/?$")
FILE_ENDING = re.compile(r"\.(py|md|toml|lock|yaml|json|ts|tsx|sql)$")
SYMBOL = re.compile(r"^([\w./-]+\.(?:py|sql))::([\w.]+)$")


def section(path: Path, title: str) -> str:
    """The text below a heading up to the next heading of the same rank."""
    _, _, after = path.read_text().partition(f"\n## {title}\n")
    return after.partition("\n## ")[0]


def code_spans(path: Path) -> list[str]:
    """What stands between single backquotes, code blocks left out."""
    return CODE_SPAN.findall(CODE_BLOCK.sub("", path.read_text()))


def shell_lines(path: Path) -> list[str]:
    """The commands in the shell blocks and the code spans of a file."""
    blocks = [body for language, body in CODE_BLOCK.findall(path.read_text()) if language == "sh"]
    lines = [line.partition("#")[0].strip() for body in blocks for line in body.splitlines()]
    return [line for line in [*lines, *code_spans(path)] if line]


def paths_named(path: Path) -> list[str]:
    """Code spans that are plainly paths: with a slash inside or behind, or a file's ending."""
    spans = [span.partition("::")[0] for span in code_spans(path)]
    return [
        span for span in spans if PATH.match(span) and ("/" in span or FILE_ENDING.search(span))
    ]


def package_lines() -> dict[str, str]:
    """The map of backend/README.md: package to its sentence."""
    rows = ROW.findall(section(BACKEND_README, "The map"))
    return {name.strip("`"): told for name, told in rows if name.startswith("`")}


def glossary() -> list[tuple[str, str]]:
    """The words of backend/README.md with their meanings, in the order they stand in."""
    rows = ROW.findall(section(BACKEND_README, "Glossary"))
    return [(word, meaning) for word, meaning in rows if word not in {"word", "---"}]


def symbols_named(path: Path) -> list[tuple[str, str]]:
    """File and symbol of each code span `path.py::symbol`."""
    found = (SYMBOL.match(span) for span in code_spans(path))
    return [(match[1], match[2]) for match in found if match]
