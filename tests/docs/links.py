"""The links of the built documentation: where each leads, and whether there is anything."""

import re
from collections.abc import Iterator
from functools import cache
from html import unescape
from pathlib import Path
from urllib.parse import unquote, urlsplit

from tests.architecture.sources import ROOT

SITE = ROOT / "docs" / "_build" / "html"
ATTRIBUTE = re.compile(r"""<(?:a|img|link|script)\b[^>]*?\s(?:href|src)="([^"]*)\"""")
ANCHOR = re.compile(r"""\sid="([^"]+)\"""")
OF_THE_SERVER = ("/docs", "/help", "/v1/", "/problems")


def site_pages() -> list[Path]:
    """Every page of the built documentation."""
    return sorted(SITE.rglob("*.html"))


def links() -> Iterator[tuple[Path, str]]:
    """Every link of every page that does not leave the documentation."""
    for page in site_pages():
        for found in ATTRIBUTE.findall(page.read_text()):
            target = unescape(found)
            if not urlsplit(target).scheme and not target.startswith(OF_THE_SERVER):
                yield page, target


def is_broken(page: Path, target: str) -> bool:
    """Whether a link leads to no file, or to no place in its page."""
    parts = urlsplit(target)
    path = unquote(parts.path)
    file = (page.parent / path).resolve() if path else page
    if file.is_dir():
        file /= "index.html"
    if not file.is_file() or not file.is_relative_to(SITE):
        return True
    return bool(parts.fragment) and file.suffix == ".html" and parts.fragment not in _anchors(file)


@cache
def _anchors(page: Path) -> frozenset[str]:
    return frozenset(unescape(found) for found in ANCHOR.findall(page.read_text()))
