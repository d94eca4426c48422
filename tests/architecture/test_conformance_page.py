"""`docs/conformance.md` says of each requirement what holds, and each test it names exists."""

import ast
import re
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


HELD = ("done", "differs")
ARGUMENT = re.compile(r"ADR (\d{4})|([a-z]+\.md)(?: §([\d.]*\d))?|(in Kueue|Kueue's API)")
REMEDY = "Correct docs/conformance.toml and run python docs/conformance_page.py:"


def test_every_row_names_a_test_that_exists() -> None:
    named = [(row["id"], *row["test"].split("::")) for row in ours()]
    gone = [f"{id_}: {path}::{name}" for id_, path, name in named if name not in known_tests(path)]
    assert_none(gone, REMEDY)


def test_every_row_names_a_module_that_exists() -> None:
    named = [(row["id"], row["code"]) for row in ours()]
    assert_none([f"{id_}: {code}" for id_, code in named if not (ROOT / code).is_file()], REMEDY)


def test_the_page_has_each_requirement_once_and_only_paths_and_tests_that_resolve() -> None:
    """Of the page itself, as people read it: whatever wrote it."""
    rows = [line.strip("| ").split(" | ") for line in PAGE.read_text().splitlines()]
    found = [row for row in rows if is_known(row[0])]
    cells = {row[0]: row for row in found}
    assert len(found) == len(cells)
    assert len(cells) == sum(count for _, count in DOCUMENTS.values())
    assert_none([row[0] for row in cells.values() if row[1] not in STATUSES], REMEDY)
    broken = [
        f"{id_}: {where} {named}"
        for id_, status, _, where, named in (each for each in cells.values() if each[1] in HELD)
        if not resolves(where, named) or not status
    ]
    assert_none(broken, REMEDY)


def resolves(where: str, named: str) -> bool:
    """Whether a module is there, and a test of its name in the file beside it."""
    quoted = named.strip("`").split("` `")
    return (
        (ROOT / where.strip("`")).is_file()
        and len(quoted) == len(("file", "name"))
        and quoted[1] in known_tests(quoted[0])
    )


def test_every_difference_says_what_argues_it() -> None:
    """`differs` is on purpose: what it names is there to be read."""
    silent = [row["id"] for row in requirements() if row["status"] == "differs" and not argued(row)]
    assert_none(silent, REMEDY)


def argued(row: Requirement) -> bool:
    """Whether a row names a decision or a section that exists, or that Kueue does the same."""
    found = ARGUMENT.findall(row["does"])
    return bool(found) and all(is_there(*each[:3]) for each in found)


def is_there(decision: str, document: str, section: str) -> bool:
    """Whether a decision has its file, and a document its section."""
    if decision:
        return any((ROOT / "backend" / "adr").glob(f"{decision}-*.md"))
    if not document:
        return True
    path = ROOT / "docs" / "semantics" / document
    text = path.read_text() if path.is_file() else ""
    heading = rf"^#+ {re.escape(section)}\.? " if section else "^# "
    return re.search(heading, text, re.MULTILINE) is not None


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
    is_one = document in DOCUMENTS and number.isdecimal()
    return is_one and 1 <= int(number) <= DOCUMENTS[document][1]


def test_the_page_is_what_its_data_say() -> None:
    assert PAGE.read_text() == page(), REMEDY
