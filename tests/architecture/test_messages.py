"""Every code of the program has a text and gives its arguments; no text is unused."""

import ast
from collections.abc import Iterator

from headgate.messages import findings, pending_reasons, rejections, workload_events
from headgate.messages.catalogue import AS_RECORDED, TEXTS
from headgate.messages.rendering import required_arguments_of
from tests.architecture.sources import BACKEND, files_below, shown, tree

CONSTRUCTORS = {"message", "violation", "Message"}
"""Calls with a code as their first literal argument; keyword arguments are those of its text."""


def calls() -> Iterator[tuple[str, str, frozenset[str], bool]]:
    """The place, code and argument names of each message made with a literal code.

    The last is true where further arguments come from a mapping.
    """
    for path in files_below(BACKEND, ".py"):
        for node in ast.walk(tree(path)):
            if not isinstance(node, ast.Call):
                continue
            name = node.func.id if isinstance(node.func, ast.Name) else ""
            codes = [
                a.value
                for a in node.args
                if isinstance(a, ast.Constant) and isinstance(a.value, str) and a.value in TEXTS
            ]
            first = node.args[0] if node.args else None
            if name == "message" and isinstance(first, ast.Constant):
                codes = [str(first.value)]
            if name not in CONSTRUCTORS or not codes:
                continue
            given = frozenset(k.arg for k in node.keywords if k.arg)
            opened = any(k.arg is None for k in node.keywords) or name == "Message"
            yield f"{shown(path)}:{node.lineno}", codes[0], given, opened


def test_every_code_has_a_text_with_the_arguments_given() -> None:
    wrong = []
    for place, code, given, opened in calls():
        if code == AS_RECORDED:
            continue
        text = TEXTS.get(code)
        if text is None:
            wrong.append(f"{place}: no text for {code}")
            continue
        needed = required_arguments_of(text.text) | required_arguments_of(text.remedy)
        missing = needed - given
        if missing and not opened:
            wrong.append(f"{place}: {code} lacks {sorted(missing)}")
    assert not wrong, "\n".join(wrong)


def test_no_two_families_share_a_code() -> None:
    families = (pending_reasons, workload_events, rejections, findings)
    assert sum(len(family.TEXTS) for family in families) == len(TEXTS)


def test_every_text_belongs_to_a_code_that_the_program_gives() -> None:
    literals = {
        node.value
        for path in files_below(BACKEND, ".py")
        if "/messages/" not in str(path)
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    assert not sorted(TEXTS.keys() - literals)
