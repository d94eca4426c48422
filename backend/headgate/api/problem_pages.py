"""What stands behind the type of a problem: a page that says what it means and what to do."""

from html import escape
from typing import Annotated

from litestar import Response, get
from litestar.params import PathParameter

from headgate.api.problems import (
    BAD_CONTINUE,
    BY_FAILURE,
    BY_STATUS,
    INVALID,
    UNKNOWN_PARAMETER,
    Kind,
)

HEAD = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Problems</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="stylesheet" href="/docs/page.css"></head>
<body><main><h1>Problems</h1>
<p>Every refusal is a problem document (RFC 9457). Its <code>type</code> leads here, its
<code>errors</code> point at fields, and its <code>remedy</code> says what to do there and then.
The API itself is described at <a href="/docs">/docs</a>.</p>
"""
FOOT = "</main></body></html>\n"


Slug = Annotated[str, PathParameter(description="The last word of a problem's type")]


@get("/problems", include_in_schema=False)
async def all_problems() -> Response[str]:
    """Every problem there is."""
    return _page("".join(_section(kind) for kind in _kinds()))


@get("/problems/{slug:str}", include_in_schema=False)
async def one_problem(slug: Slug) -> Response[str]:
    """The problem of that name; a name nothing has is answered with 404."""
    found = [_section(kind) for kind in _kinds() if kind.slug == slug]
    if found:
        return _page(found[0])
    missing = f'<p>There is no problem {escape(slug)}; see <a href="/problems">all</a>.</p>'
    return _page(missing, status=404)


def _page(content: str, status: int = 200) -> Response[str]:
    return Response(HEAD + content + FOOT, status_code=status, media_type="text/html")


def _kinds() -> list[Kind]:
    """Every kind there is, in order of status and name."""
    kinds = (*BY_STATUS.values(), *BY_FAILURE.values(), INVALID, BAD_CONTINUE, UNKNOWN_PARAMETER)
    return sorted({kind.slug: kind for kind in kinds}.values(), key=lambda k: (k.status, k.slug))


def _section(kind: Kind) -> str:
    remedy = f"<p>{escape(kind.remedy)}</p>" if kind.remedy else ""
    again = kind.retry_after_seconds
    retry = f"<p>Worth another try after {again} s.</p>" if again is not None else ""
    return (
        f'<section id="{kind.slug}"><h2>{escape(kind.title)}</h2>'
        f"<p><code>/problems/{kind.slug}</code>, status {kind.status}</p>{remedy}{retry}</section>"
    )
