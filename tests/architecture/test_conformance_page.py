"""`docs/conformance.md` says of each requirement what holds, and each test it names exists."""

import ast
import sys
from collections import Counter
from functools import cache

from tests.architecture.sources import ROOT, assert_none

sys.path.insert(0, str(ROOT / "docs"))

from conformance_page import DOCUMENTS, PAGE, STATUSES, Requirement, page, requirements


@cache
def known_tests(path: str) -> frozenset[str]:
    """The names of the test functions of a module; none where there is no such module."""
    file = ROOT / path
    tree = ast.parse(file.read_text()) if file.is_file() else ast.Module([], [])
    return frozenset(
        node.name
        for node in tree.body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.name.startswith("test_")
    )


REMEDY = "Correct docs/conformance.toml and run python docs/conformance_page.py:"


def test_every_row_names_a_test_that_exists() -> None:
    named = [(row["id"], *row["test"].split("::")) for row in ours()]
    gone = [f"{id_}: {path}::{name}" for id_, path, name in named if name not in known_tests(path)]
    assert_none(gone, REMEDY)


def test_every_row_names_a_module_that_exists() -> None:
    named = [(row["id"], row["code"]) for row in ours()]
    assert_none([f"{id_}: {code}" for id_, code in named if not (ROOT / code).is_file()], REMEDY)


def ours() -> list[Requirement]:
    """The rows of what Headgate has; what is not ours has neither code nor test."""
    return [row for row in requirements() if row["status"] != "not ours"]


def test_only_changes_of_a_release_may_be_about_what_headgate_has_not() -> None:
    others = [row["id"] for row in requirements() if row["status"] == "not ours"]
    assert_none([id_ for id_ in others if not id_.startswith("K20-")], REMEDY)


def test_every_row_is_one_requirement_of_one_document() -> None:
    rows = requirements()
    count = Counter(row["id"] for row in rows)
    wrong = [row["id"] for row in rows if row["status"] not in STATUSES or not is_known(row["id"])]
    assert_none([*wrong, *(id_ for id_, times in count.items() if times > 1)], REMEDY)


def test_every_requirement_has_a_row_and_none_is_partly_met_or_missing() -> None:
    rows = {row["id"]: row["status"] for row in requirements()}
    open_ones = [
        f"{document}-{number}: {rows.get(f'{document}-{number}', 'without a row')}"
        for document, (_, count) in DOCUMENTS.items()
        for number in range(1, count + 1)
        if rows.get(f"{document}-{number}") not in {"done", "differs", "not ours"}
    ]
    assert_none(open_ones, REMEDY)


def is_known(requirement: str) -> bool:
    """Whether an id is one of a founding document."""
    document, _, number = requirement.rpartition("-")
    return document in DOCUMENTS and 1 <= int(number) <= DOCUMENTS[document][1]


def test_the_page_is_what_its_data_say() -> None:
    assert PAGE.read_text() == page(), REMEDY
