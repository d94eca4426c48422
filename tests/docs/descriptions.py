"""The rows of the reference, and whether each has a meaning."""

import sys
from collections.abc import Iterator

from tests.architecture.sources import ROOT

sys.path.insert(0, str(ROOT / "docs"))

import reference_pages

PAGES = ("kinds", "api", "command-line", "settings", "metrics", "events")


def described() -> list[tuple[str, bool]]:
    """Each row of the reference that names something, and whether it has a meaning."""
    return [row for name in PAGES for row in _rows(name)]


def undescribed(name: str) -> list[str]:
    """The rows of a page without a meaning."""
    return [row for row, is_described in _rows(name) if not is_described]


def _rows(name: str) -> Iterator[tuple[str, bool]]:
    heading = ""
    for line in reference_pages.PAGES[name]().splitlines():
        if line.startswith(("#", "**")):
            heading = line.strip("#* ")
        if line.startswith("| `"):
            yield f"{heading}: {line.split(' | ')[0][2:]}", not line.endswith("|  |")
