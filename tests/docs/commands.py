"""The commands that pages show: those that tests run, and those that must exist."""

import re
import shlex
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import typer

from headgate.cli.main import app, hoisted
from tests.architecture.sources import ROOT

DOCS = ROOT / "docs"
TUTORIAL = DOCS / "tutorial.md"
README = ROOT / "README.md"
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
ELSEWHERE = re.compile(r"^(make|.* docker) ", re.MULTILINE)
SPAN = re.compile(r"`(headgate [^`\n]+)`")
HERE_DOCUMENT = re.compile(r"<<'(\w+)'.*?^\1$", re.MULTILINE | re.DOTALL)
CALL = re.compile(r"(?:^|[|(]\s*)(headgate(?: .*)?)$")
CONNECTIVES = frozenset({"|", "||", "&&", ";", "&", ">", ">>", "<"})
PLACEHOLDER = re.compile(r"^[A-Z…][A-Z-]*$|^\.\.\.$|^…$")


class Command(NamedTuple):
    """A line of a page that calls the program."""

    place: str
    line: str


def pages() -> list[Path]:
    """Every page that people write: the documentation, README files and those of examples."""
    own = [path for path in DOCS.rglob("*.md") if not {"_build", "reference"} & set(path.parts)]
    return sorted([*own, README, ROOT / "examples" / "README.md"])


def runnable_scripts(page: Path) -> list[str]:
    """The blocks of a page that a test runs, in order; each is one script of a shell.

    Blocks with `make` or `docker` need a checkout or a container engine.
    """
    found = [body for language, body in BLOCK.findall(page.read_text()) if language == "sh"]
    return [body for body in found if not ELSEWHERE.search(body)]


def calls_in(page: Path) -> Iterator[Command]:
    """Every call of the program in the blocks and code spans of a page."""
    text = page.read_text()
    name = page.relative_to(ROOT).as_posix()
    for language, body in BLOCK.findall(text):
        if language in {"sh", "console", "text", ""}:
            whole = HERE_DOCUMENT.sub("", body).replace("\\\n", " ")
            for line in whole.splitlines():
                if found := CALL.search(line.strip().removeprefix("$ ")):
                    yield Command(name, found[1])
    for span in SPAN.findall(BLOCK.sub("", text)):
        yield Command(name, span)


def fault_of(line: str) -> str:
    """What is wrong with a call: an unknown command or option; empty if nothing is."""
    try:
        words = shlex.split(line, comments=True)[1:]
    except ValueError:
        return "is no line of a shell"
    end = next((n for n, word in enumerate(words) if word in CONNECTIVES), len(words))
    words = _own_words(words[:end])
    command, context = _root()
    skip = False
    for word in words:
        if skip:
            skip = False
        elif word.startswith("-") and word != "-":
            name, _, value = word.partition("=")
            option = _options(command).get(name)
            if option is None:
                return f"`{context}` has no option {name}"
            skip = not value and not option.is_flag and not getattr(option, "count", False)
        elif hasattr(command, "get_command"):
            group = command.make_context(context, [], resilient_parsing=True)
            found = command.get_command(group, word)
            if found is None:
                return "" if PLACEHOLDER.match(word) else f"there is no command {word}"
            command, context = found, f"{context} {word}"
    return ""


def _own_words(words: list[str]) -> list[str]:
    """The words as the program reads them, without those that it passes on to pods."""
    end = words.index("--") if "--" in words else len(words)
    own = words[:end]
    if own[:1] == ["submit"]:  # a script that does not exist here is passed on as it is
        return own
    return hoisted(own)


def _options(command: Any) -> dict[str, Any]:
    found = {name: each for each in command.params for name in (*each.opts, *each.secondary_opts)}
    return {**found, **_help(), **_global()}


@cache
def _help() -> dict[str, Any]:
    root, _ = _root()
    context = root.make_context("headgate", [], resilient_parsing=True)
    option = root.get_help_option(context)
    return dict.fromkeys(option.opts, option)


@cache
def _global() -> dict[str, Any]:
    root, _ = _root()
    return {name: each for each in root.params for name in each.opts if name.startswith("--")}


@cache
def _root() -> tuple[Any, str]:
    return typer.main.get_command(app), "headgate"
