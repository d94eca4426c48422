"""Writes `conformance.md` from `conformance.toml`: what Headgate does about each requirement.

Run as a script it writes the page; a test keeps the page fresh and checks that each named test and
module exists.
"""

import tomllib
from collections import Counter
from pathlib import Path
from typing import TypedDict

HERE = Path(__file__).resolve().parent
DATA, PAGE = HERE / "conformance.toml", HERE / "conformance.md"


class Requirement(TypedDict):
    """One requirement of a founding document, with the module that meets it and its test."""

    id: str
    status: str
    does: str
    code: str
    test: str


DOCUMENTS = {
    "5710": ("KEP-5710, workload-aware preemption", 50),
    "KOO": ("Koordinator, job-level preemption", 34),
    "2724": ("Kueue KEP-2724, topology-aware scheduling", 48),
    "KAI": ("KAI, priority and preemptibility", 16),
    "1282": ("Kueue KEP-1282, pods-ready requeue strategy", 32),
    "K20": ("Kueue 0.20, changes since August 2026", 50),
}
"""The founding documents, and the release that is followed, by the beginning of their ids.

Each with how many requirements it makes.
"""

STATUSES = ("done", "differs", "not ours", "partly", "missing")

INTRODUCTION = """# Conformance

What Headgate does about the requirements of its five founding documents and about the changes of
Kueue 0.20, where, and which test shows it. `done` is as the document says; `differs` is another
behaviour on purpose, and the section or decision that says why stands beside it; `not ours` belongs
to what Headgate does not have, such as other clusters; `partly` is some of it. A test holds that
every requirement has a row and that none is partly met or missing.
"""


def requirements() -> list[Requirement]:
    """All rows, in the order of the file."""
    found: list[Requirement] = tomllib.loads(DATA.read_text())["requirement"]
    return found


def document_of(requirement: Requirement) -> str:
    """The beginning of a requirement's id."""
    return requirement["id"].rpartition("-")[0]


def page() -> str:
    """The whole page."""
    rows = requirements()
    parts = [INTRODUCTION, _counts(rows)]
    for document, (title, _) in DOCUMENTS.items():
        mine = [row for row in rows if document_of(row) == document]
        parts.append(f"## {title}\n\n{_table(mine)}")
    return "\n".join(parts)


def _counts(rows: list[Requirement]) -> str:
    lines = [
        f"| document | requirements | {' | '.join(STATUSES)} | without a row |",
        f"|---|---|{'---|' * len(STATUSES)}---|",
    ]
    for document, (title, number) in DOCUMENTS.items():
        count = Counter(row["status"] for row in rows if document_of(row) == document)
        figures = " | ".join(str(count[status]) for status in STATUSES)
        lines.append(f"| {title} | {number} | {figures} | {number - count.total()} |")
    return "\n".join(lines) + "\n"


def _table(rows: list[Requirement]) -> str:
    lines = ["| id | status | what Headgate does | where | test |", "|---|---|---|---|---|"]
    for row in rows:
        file, _, name = row["test"].partition("::")
        where = (f"`{row['code']}`", f"`{file}` `{name}`") if row["code"] else ("", "")
        cells = (row["id"], row["status"], row["does"], *where)
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def write_page() -> None:
    """Write the page."""
    PAGE.write_text(page())


if __name__ == "__main__":
    write_page()
