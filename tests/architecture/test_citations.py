"""What code, tests and documents cite of the semantics stands in `docs/semantics`."""

import re
from functools import cache

from tests.architecture.sources import ROOT, assert_none, files, shown

PAGES = ROOT / "docs" / "semantics"
CITATION = re.compile(
    r"\b(queueing|topology|preemption|event-store)\.md((?:[ ,;and\n#*-]*§§?[\d.-]+)+)"
)
SECTION = re.compile(r"§§?(\d+(?:\.\d+)*)(?:-(\d+(?:\.\d+)*))?")
HEADING = re.compile(r"^#{2,3} (\d+(?:\.\d+)*)\.? ", re.MULTILINE)
ROW = re.compile(r"^\| ([QP]?\d+) \|", re.MULTILINE)
TRAP = re.compile(r"\b[Tt]raps? ((?:#?[A-Z]?\d+(?:, | and | to |/)?)+)")
NUMBER = re.compile(r"(?<!#)\b[A-Z]?\d+")


@cache
def sections(page: str) -> frozenset[str]:
    """The numbers of a page's headings."""
    return frozenset(HEADING.findall((PAGES / f"{page}.md").read_text()))


@cache
def traps() -> frozenset[str]:
    """The numbers of all traps: `Q12` of queueing, `P12` of preemption, `12` of topology."""
    return frozenset(
        number for page in PAGES.glob("*.md") for number in ROW.findall(page.read_text())
    )


def test_every_cited_section_exists() -> None:
    cited = [
        (shown(path), page, number)
        for path in files()
        if path.suffix in {".py", ".md", ".toml", ".ts", ".tsx", ".sql"}
        for page, numbers in CITATION.findall(path.read_text())
        for first, last in SECTION.findall(numbers)
        for number in (first, full(first, last))
    ]
    assert len(cited) > 100
    found = [
        f"{name}: {page}.md §{number}"
        for name, page, number in cited
        if number not in sections(page)
    ]
    assert_none(found, "Write the section in docs/semantics, or cite the one that is meant:")


def test_every_cited_trap_is_described() -> None:
    assert len(traps()) > 30
    found = [
        f"{shown(path)}: {number}"
        for path in files()
        if path.suffix in {".py", ".toml"} and path.name != "test_citations.py"
        for cited in TRAP.findall(path.read_text())
        for number in NUMBER.findall(cited)
        if number not in traps()
    ]
    assert_none(found, "Describe the trap in docs/semantics, or cite the one that is meant:")


def full(first: str, last: str) -> str:
    """The last section of a range, which may leave out what it shares with the first."""
    if not last:
        return first
    return last if "." in last else ".".join([*first.split(".")[:-1], last])
