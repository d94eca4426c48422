"""Every code of the program has a text and gives its arguments; no text is unused."""

import ast
from collections.abc import Iterator

import msgspec

from headgate.domain.workloads.explanation import Blocker
from headgate.messages.catalogue import AS_RECORDED, FAMILIES, SUMMARIES, TEXTS
from headgate.messages.pending_reasons import BLOCKERS
from headgate.messages.rendering import required_arguments_of
from tests.architecture.sources import BACKEND, files_below, nodes, shown, strings

CODE_AT = {
    "message": 0,
    "violation": 1,
    "note": 1,
    "reject_unsupported": 1,
    "_unreadable": 0,
    "_problem": 1,
    "at": 1,
    **dict.fromkeys(("InvalidObject", "InvalidRequest", "NotFound", "AlreadyExists"), 0),
    **dict.fromkeys(("InUse", "IllegalNow"), 0),
    **dict.fromkeys(("StaleVersion", "KeyUsedDifferently", "Contended", "Overloaded"), 0),
    **dict.fromkeys(("PositionNotReached", "Archived", "LimitExceeded"), 0),
}
"""Calls that make messages, by the place of the code among their arguments.

Keyword arguments are those of the code's text.
"""
NO_ARGUMENTS = {"violations"}

BLOCKER_FIELDS = {
    field.name for field in msgspec.structs.fields(Blocker) if field.name != "message"
}
"""Arguments that the text of a blocker has from its fields."""


def calls() -> Iterator[tuple[str, str, frozenset[str], bool]]:
    """The place, code and argument names of each message made with a literal code.

    The last is true where further arguments come from a mapping.
    """
    for path in files_below(BACKEND, ".py"):
        for node in nodes(path, ast.Call):
            name = getattr(node.func, "id", "") or getattr(node.func, "attr", "")
            code = _code_of(node, name)
            if code:
                given = frozenset(k.arg for k in node.keywords if k.arg) - NO_ARGUMENTS
                opened = any(k.arg is None for k in node.keywords) or name == "Message"
                yield f"{shown(path)}:{node.lineno}", code, given, opened


def _code_of(call: ast.Call, name: str) -> str:
    if name == "Message":
        return next((v for v in map(_literal, call.args) if v in TEXTS), "")
    place = CODE_AT.get(name)
    return _literal(call.args[place]) if place is not None and len(call.args) > place else ""


def _literal(node: ast.expr) -> str:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def test_every_code_has_a_text_with_the_arguments_given() -> None:
    wrong = []
    for place, code, given, opened in calls():
        if code == AS_RECORDED:
            continue
        text = TEXTS.get(code)
        if text is None:
            wrong.append(f"{place}: no text for {code}")
            continue
        templates = (text.text, text.remedy, SUMMARIES.get(code, ""))
        needed = frozenset[str]().union(*map(required_arguments_of, templates))
        missing = needed - given - (BLOCKER_FIELDS if code in BLOCKERS else set())
        if missing and not opened:
            wrong.append(f"{place}: {code} lacks {sorted(missing)}")
    assert not wrong, "\n".join(wrong)


def test_no_two_families_share_a_code() -> None:
    assert sum(map(len, FAMILIES)) == len(TEXTS)


def test_every_text_belongs_to_a_code_that_the_program_gives() -> None:
    literals = {
        value
        for path in files_below(BACKEND, ".py")
        if "/messages/" not in str(path)
        for _, value in strings(path)
    }
    assert not sorted(TEXTS.keys() - literals)
