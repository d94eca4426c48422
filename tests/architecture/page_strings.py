"""The strings of the page's sources that people read: JSX text, literals and templates.

The scanner knows as much of TypeScript as it takes to tell texts from code: comments, literals,
templates with their expressions, regular expressions, and JSX elements with their children.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

OPENING_TAG = re.compile(r"<(?:[A-Za-z]|>)")
TYPE_PARAMETER = re.compile(r"<[A-Z]\w*(?:,| extends )")
BEFORE_AN_EXPRESSION = frozenset("(,=?:&|[{};>!")
WORDS_BEFORE_AN_EXPRESSION = frozenset({"", "return", "default", "case"})
IDENTIFIER = re.compile(r"[\w$]+")
SPACE = re.compile(r"\s+")
REGULAR_EXPRESSION = re.compile(r"/(?:[^/\\\n\[]|\\.|\[(?:[^\]\\\n]|\\.)*\])+/[a-z]*")
ENTITY = {"&nbsp;": " ", "&amp;": "&", "&lt;": "<", "&gt;": ">", "&apos;": "'", "&quot;": '"'}
READ_BY_PEOPLE = re.compile(r"[A-Z]|.*\w.* .*\w", re.DOTALL)
"""A literal of one lower-case word is a key; one with a space or a capital letter is a text."""


class PageString(NamedTuple):
    """A text with the line it begins on; an expression inside a template is `{}`."""

    line: int
    text: str


def page_strings(source: str) -> Iterator[PageString]:
    """Every text of a TypeScript source that people can read, in the order of the source."""
    scanner = _Scanner(source)
    scanner.code("")
    for began, text, is_jsx in sorted(scanner.found):
        at = began + len(text) - len(text.lstrip()) if is_jsx else began
        shown = SPACE.sub(" ", text).strip()
        for entity, character in ENTITY.items():
            shown = shown.replace(entity, character)
        if re.search(r"[A-Za-z]", shown) and (is_jsx or READ_BY_PEOPLE.match(shown)):
            yield PageString(source.count("\n", 0, at) + 1, shown)


class _Scanner:
    """A position in a source, and the texts that stand before it."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.at = 0
        self.found: list[tuple[int, str, bool]] = []

    def code(self, closing: str) -> None:
        """Read code up to and with the brace that closes it, or up to the end."""
        previous = ""
        while self.at < len(self.source):
            character = self.source[self.at]
            if character == closing:
                self.at += 1
                return
            if character.isspace() or self.comment():
                self.at += character.isspace()
                continue
            opens_expression = previous in WORDS_BEFORE_AN_EXPRESSION or (
                previous[-1] in BEFORE_AN_EXPRESSION
            )
            word = IDENTIFIER.match(self.source, self.at)
            if word:
                previous, self.at = word.group(), word.end()
                continue
            if not self.literal():
                self.punctuation(character, opens_expression)
            previous = character

    def punctuation(self, character: str, opens_expression: bool) -> None:
        """Read a brace with its block, an element, a regular expression, or one character."""
        regular_expression = REGULAR_EXPRESSION.match(self.source, self.at)
        if character == "{":
            self.at += 1
            self.code("}")
        elif character == "/" and opens_expression and regular_expression:
            self.at = regular_expression.end()
        elif (
            opens_expression
            and OPENING_TAG.match(self.source, self.at)
            and not TYPE_PARAMETER.match(self.source, self.at)
        ):
            self.element()
        else:
            self.at += 1

    def comment(self) -> bool:
        """Whether a comment stood here; it is read."""
        for opening, closing in (("//", "\n"), ("/*", "*/")):
            if self.source.startswith(opening, self.at):
                end = self.source.find(closing, self.at)
                self.at = len(self.source) if end < 0 else end + len(closing)
                return True
        return False

    def literal(self) -> bool:
        """Whether a string or a template stood here; it is read and found."""
        quote = self.source[self.at]
        if quote not in "\"'`":
            return False
        began = self.at
        self.at += 1
        text = ""
        while self.at < len(self.source) and self.source[self.at] != quote:
            if self.source[self.at] == "\\":
                text += self.source[self.at + 1]
                self.at += 2
            elif quote == "`" and self.source.startswith("${", self.at):
                self.at += 2
                self.code("}")
                text += "{}"
            else:
                text += self.source[self.at]
                self.at += 1
        self.at += 1
        self.found.append((began, text, False))
        return True

    def element(self) -> None:
        """Read an element: its tag with the attributes, then its children up to its end."""
        if not self.tag():
            return
        text, began = "", self.at
        while self.at < len(self.source):
            character = self.source[self.at]
            if character not in "<{":
                text += character
                self.at += 1
                continue
            self.found.append((began, text, True))
            if self.source.startswith("</", self.at):
                self.at = self.source.index(">", self.at) + 1
                return
            if character == "<":
                self.element()
            else:
                self.at += 1
                self.code("}")
            text, began = "", self.at

    def tag(self) -> bool:
        """Read an opening tag; whether children follow."""
        depth = 0
        while True:
            character = self.source[self.at]
            if character == "{":
                self.at += 1
                self.code("}")
                continue
            if self.comment() or self.literal():
                continue
            self.at += 1
            depth += (character == "<") - (character == ">")
            if depth == 0:
                return self.source[self.at - 2] != "/"
