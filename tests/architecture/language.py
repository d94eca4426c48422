"""Names and texts hold to the rules of language; `python -m tests.architecture.language` counts.

Names: one public type name has one definition in domain, application and adapters together; no
definition or module is named by a pronoun for persons, constants are not `MOST_` or `LONGEST_`, and
modules are nouns. Texts: docstrings, comments and what users read do not speak of workloads, queues
and hosts as of persons; `who` and `whose` are right where a sentence names a person. Strings: what
the page shows, and what the product's texts and documents say, has the field's word where there is
one, not a phrase around it.
"""

import ast
import io
import re
import sys
import tokenize
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from tests.architecture.page_strings import page_strings
from tests.architecture.sources import (
    BACKEND,
    ROOT,
    WORKERS,
    definitions,
    files,
    nodes,
    shown,
    strings,
    tree,
)

PRONOUN = re.compile(
    r"who|whom|whose|whoever|somebody|someone|nobody|everybody|everyone|anybody|anyone"
    r"|he|him|his|himself",
    re.IGNORECASE,
)
ANY_PRONOUN = re.compile(rf"\b(?:{PRONOUN.pattern})\b", re.IGNORECASE)
PERSON = re.compile(
    r"(user|admin|administrator|submitter|watcher|caller|person|reader|operator|owner|author"
    r"|developer|member|newcomer|viewer|reviewer|maintainer)s?|people",
    re.IGNORECASE,
)
NUMBER_PREFIXES = ("MOST_", "LONGEST_", "LARGEST_", "FEW_", "FEWEST_", "SMALLEST_", "SHORTEST_")
NOUNS_IN_ING = {
    "append_encoding": "the encoding of an append as rows",
    "fair_sharing": "Kueue's feature",
    "ordering": "the order of the pending workloads",
    "queueing": "the field's word for what a queue manager does",
    "rendering": "the rendering of codes as texts",
    "scheduling": "the field's word",
    "settling": "the settling of a simulation until it is quiescent",
}
"""Modules and packages in `-ing` that are nouns of the field, with the reason."""

PHRASES = {
    r"in the way": "constraint, pending reason",
    r"(?:had|have|has) to (?:go|leave)": "evicted, preempted",
    r"mak(?:e|es|ing) (?:more )?room|made room": "preempt, free capacity",
    r"by (?:it|them)sel(?:f|ves)": "automatically, individually",
    r"back(?:s|ed|ing) off": "retrying, backoff",
    r"fares?": "is affected",
    r"clinic|inbox": "stuck workloads, needs attention",
    r"in vain": "inadmissible",
    r"tak(?:e[sn]?|ing) (?:\w+ )?back": "undo, roll back, reclaim",
    r"try(?:ing)? (?:\w+ )?out|tri(?:ed|es) out": "simulate",
    r"in earnest": "apply",
    r"would help": "remedy, how to unblock",
    r"hardly meant": "warning, likely mistake",
    r"ask(?:ed)? to leave|made (?:\w+ )?leave": "eviction requested, preempted",
    r"colou?red in|colours?|coloured": "color",
    r"room elsewhere|no room": "capacity",
    r"looked at": "evaluated, considered",
}
"""Phrases that stand around a term of the field, with the terms to write instead."""
PHRASE = re.compile(rf"\b(?:{'|'.join(PHRASES)})\b", re.IGNORECASE)

ONE_DEFINITION = tuple(BACKEND / layer for layer in ("domain", "application", "adapters"))
OF_THE_LANGUAGE = frozenset({"tests/architecture/language.py"})
"""Files that name the refused words because they refuse them."""

SENTENCE_END = re.compile(r"(?<=[.!?;])\s+|\n\s*\n")
COMMENT = re.compile(r"(^|\s)# ")
WORD = re.compile(r"[A-Za-z]+")
NAME_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
WORDS_OF_A_TEXT = 3
"""String literals of fewer words are keys and names, not texts."""


class Text(NamedTuple):
    """A docstring, a comment or a string, with the file and line it begins on."""

    path: Path
    line: int
    text: str


class Name(NamedTuple):
    """A defined name, with the file and line of its definition."""

    path: Path
    line: int
    name: str


def refused_names(names: Iterable[Name]) -> list[str]:
    """Every name that breaks a rule, as `file:line: name: rule`."""
    found = []
    for path, line, name in names:
        if has_pronoun(NAME_WORD.findall(name)):
            found.append(f"{shown(path)}:{line}: {name}: a pronoun for persons")
        if name.lstrip("_").startswith(NUMBER_PREFIXES):
            found.append(f"{shown(path)}:{line}: {name}: MAX_, MIN_ or _LIMIT")
    return found


def refused_modules(paths: Iterable[Path]) -> list[str]:
    """Every module whose name ends in a gerund or has a pronoun for persons."""
    found = []
    for path in paths:
        stem = path.parent.name if path.name == "__init__.py" else path.stem
        is_gerund = stem.endswith("ing") and stem not in NOUNS_IN_ING
        in_product = not path.is_relative_to(ROOT / "tests") and path.suffix == ".py"
        if (is_gerund and in_product) or has_pronoun(re.split(r"[_\-.]", stem)):
            found.append(f"{shown(path)}: a module is a noun or the command it implements")
    return found


def defined_twice(paths: Iterable[Path]) -> list[str]:
    """Every public type name that is defined more than once in domain, application, adapters."""
    places = defaultdict(list)
    for path in paths:
        if path.suffix == ".py" and any(path.is_relative_to(layer) for layer in ONE_DEFINITION):
            for found in types_in(path):
                places[found.name].append(f"{shown(path)}:{found.line}")
    return [
        f"{', '.join(where)}: {name}: one public type name, one definition"
        for name, where in sorted(places.items())
        if len(where) > 1
    ]


def refused_texts(texts: Iterable[Text]) -> list[str]:
    """Every sentence with a pronoun for persons that names no person."""
    found = []
    for path, line, text in texts:
        if not ANY_PRONOUN.search(text):
            continue
        for sentence in SENTENCE_END.split(text):
            words = WORD.findall(sentence)
            if has_pronoun(words) and not any(map(PERSON.fullmatch, words)):
                found.append(f"{shown(path)}:{line}: {' '.join(sentence.split())[:100]}")
    return found


def refused_phrases(texts: Iterable[Text]) -> list[str]:
    """Every text with a phrase for which the field has a term, with that term."""
    return [
        f"{shown(path)}:{line}: {found.group()}: write {term_for(found.group())}"
        for path, line, text in texts
        for found in PHRASE.finditer(" ".join(text.split()))
    ]


def term_for(phrase: str) -> str:
    """The terms to write instead of a refused phrase."""
    return next(terms for one, terms in PHRASES.items() if re.fullmatch(one, phrase, re.IGNORECASE))


def strings_in(path: Path) -> Iterator[Text]:
    """What people read of a product's file: strings of the page, strings of Python, paragraphs."""
    if path.suffix in {".ts", ".tsx"}:
        for string in page_strings(path.read_text()):
            yield Text(path, string.line, string.text)
    elif path.suffix == ".py":
        yield from literals_in(path)
    else:
        yield from other_texts(path)


def is_read_by_people(path: Path) -> bool:
    """Whether a file is the page's, the product's or a document, and not a test or a record."""
    name = shown(path)
    if path.suffix in {".ts", ".tsx"}:
        return name.startswith("frontend/src/") and ".test." not in path.name
    if path.suffix == ".py":
        return path.is_relative_to(BACKEND) or path.is_relative_to(WORKERS)
    return name.startswith("docs/") or path.name == "README.md"


def has_pronoun(words: Iterable[str]) -> bool:
    """Whether a pronoun for persons is among the words."""
    return any(map(PRONOUN.fullmatch, words))


def names_in(path: Path) -> Iterator[Name]:
    """Functions, classes, and names bound at the top of the module or of a class."""
    for definition in definitions(path):
        yield Name(path, definition.lineno, definition.name)
    scopes: list[ast.Module | ast.ClassDef] = [tree(path), *nodes(path, ast.ClassDef)]
    for node in scopes:
        for statement in node.body:
            yield from (
                Name(path, statement.lineno, target.id)
                for target in targets_of(statement)
                if isinstance(target, ast.Name)
            )


def types_in(path: Path) -> Iterator[Name]:
    """Public classes and CamelCase aliases at the top of a module."""
    for statement in tree(path).body:
        if isinstance(statement, ast.ClassDef) and not statement.name.startswith("_"):
            yield Name(path, statement.lineno, statement.name)
        for target in targets_of(statement):
            if isinstance(target, ast.Name) and re.match(r"[A-Z][a-zA-Z]*[a-z]", target.id):
                yield Name(path, statement.lineno, target.id)


def targets_of(statement: ast.stmt) -> list[ast.expr]:
    """What an assignment binds; nothing for other statements."""
    if isinstance(statement, ast.Assign):
        return statement.targets
    return [statement.target] if isinstance(statement, ast.AnnAssign) else []


def texts_in(path: Path) -> Iterator[Text]:
    """Docstrings, comments and string literals of some words of a file."""
    if path.suffix == ".py":
        yield from python_texts(path)
    else:
        yield from other_texts(path)


def python_texts(path: Path) -> Iterator[Text]:
    """Each string literal of some words, f-strings by their constant parts, and each comment."""
    yield from literals_in(path)
    source = path.read_text()
    if not ANY_PRONOUN.search(source):
        # Nothing can be refused, so that the lines with a comment are only counted.
        for line, text in enumerate(source.splitlines(), 1):
            if COMMENT.search(text):
                yield Text(path, line, "")
        return
    for found in tokenize.generate_tokens(io.StringIO(source).readline):
        if found.type == tokenize.COMMENT:
            yield Text(path, found.start[0], found.string)


def literals_in(path: Path) -> Iterator[Text]:
    """Each string literal of some words, docstrings too; f-strings by their constant parts."""
    for line, value in strings(path):
        if len(value.split()) >= WORDS_OF_A_TEXT:
            yield Text(path, line, value)


def other_texts(path: Path) -> Iterator[Text]:
    """Paragraphs of a document, or lines of the page's source."""
    text = path.read_text()
    parts = re.split(r"\n\s*\n", text) if path.suffix == ".md" else text.splitlines()
    line = 1
    for part in parts:
        yield Text(path, line, part)
        line += part.count("\n") + (2 if path.suffix == ".md" else 1)


def sources(prefixes: Iterable[str] = ()) -> list[Path]:
    """The files that the rules hold for, below the given paths if there are any."""
    below = tuple(prefixes)
    return [
        path
        for path in files()
        if path.suffix in {".py", ".ts", ".tsx", ".md"}
        and shown(path) not in OF_THE_LANGUAGE
        and "/generated/" not in shown(path)
        and (not below or shown(path).startswith(below))
    ]


class Counted(NamedTuple):
    """How many names, texts and strings were read, and every one that breaks a rule."""

    names: int
    texts: int
    strings: int
    refused: list[str]


def refused(paths: list[Path]) -> Counted:
    """What breaks a rule in files, with how much was read of them."""
    python = [path for path in paths if path.suffix == ".py"]
    names = [name for path in python for name in names_in(path)]
    texts = [text for path in paths for text in texts_in(path)]
    strings = [text for path in paths if is_read_by_people(path) for text in strings_in(path)]
    found = [
        *defined_twice(paths),
        *refused_modules(paths),
        *refused_names(names),
        *refused_texts(texts),
        *refused_phrases(strings),
    ]
    return Counted(len(names), len(texts), len(strings), found)


def main(prefixes: list[str]) -> int:
    """Print what is refused and the counts; 1 if anything is."""
    names, texts, strings, found = refused(sources(prefixes))
    for line in found:
        sys.stdout.write(f"{line}\n")
    counts = f"names {names}, texts {texts}, strings {strings}, refused {len(found)}"
    sys.stdout.write(f"{counts}\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
