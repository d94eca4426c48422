"""Pages beside the API: the interface, the documentation, the OpenAPI document, problem types.

And the headers of every response, with the security rules for browsers.
"""

import asyncio
import mimetypes
from html import escape
from pathlib import Path
from typing import Annotated, Any

from litestar import Request, Response, get
from litestar.datastructures import State
from litestar.params import PathParameter
from litestar.types import Message, Scope

from headgate.api.callers import services_of
from headgate.api.openapi import rendered_document
from headgate.api.problems import (
    BAD_CONTINUE,
    BY_FAILURE,
    BY_STATUS,
    INVALID,
    NOT_FOUND,
    UNKNOWN_PARAMETER,
    ApiFailure,
    Kind,
    request_id_of,
)
from headgate.settings import found_help

PAGE_FILES = Path(__file__).parent / "documentation_page"


@get("/v1/openapi.json", include_in_schema=False)
async def openapi_document(request: Request[None, None, State]) -> Response[bytes]:
    """The document as the client is generated from; deriving it the first time takes a while."""
    document = await asyncio.to_thread(rendered_document, request.app)
    return Response(document, media_type="application/json")


@get("/docs", include_in_schema=False)
async def docs_page() -> Response[bytes]:
    """A page that reads the document and shows it."""
    return Response((PAGE_FILES / "page.html").read_bytes(), media_type="text/html")


@get("/docs/page.js", include_in_schema=False)
async def docs_script() -> Response[bytes]:
    """The page's script."""
    content = (PAGE_FILES / "page.js").read_bytes()
    return Response(content, media_type="text/javascript")


@get("/docs/page.css", include_in_schema=False)
async def docs_style() -> Response[bytes]:
    """The page's style."""
    content = (PAGE_FILES / "page.css").read_bytes()
    return Response(content, media_type="text/css")


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


MAX_PATH_CHARACTERS = 1_000
"""No file of the build has a longer path."""

IMMUTABLE = "public, max-age=31536000, immutable"


REVALIDATE = "no-cache"


NOT_BUILT = b"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Headgate</title></head>
<body><main>
<h1>Headgate is running</h1>
<p>The web page has not been built here. Build it with <code>make up</code>, or install a wheel that
<code>make package</code> has built.</p>
<p>The API is described at <a href="/docs">/docs</a>.</p>
</main></body></html>
"""


NO_DOCUMENTATION = b"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Headgate</title></head>
<body><main>
<h1>The documentation has not been built here</h1>
<p>Build it with <code>make docs</code> and reload.</p>
</main></body></html>
"""


@get(["/help", "/help/{path:path}"], include_in_schema=False)
async def help_page(request: Request[Any, Any, Any]) -> Response[bytes]:
    """A file of the documentation; a folder leads to its index, so that relative links work."""
    directory = found_help()
    if directory is None:
        return Response(NO_DOCUMENTATION, media_type="text/html", status_code=404)
    path = request.url.path.removeprefix("/help").strip("/")
    file = _file_of(directory, path)
    if file is not None:
        return _served(file, REVALIDATE)
    if _file_of(directory, f"{path}/index.html") is not None:
        place = "/".join(part for part in ("/help", path, "index.html") if part)
        return Response(b"", status_code=302, headers={"Location": place})
    raise ApiFailure(NOT_FOUND, f"The documentation has no page {path}.")


@get(["/", "/{path:path}"], include_in_schema=False)
async def user_interface(request: Request[Any, Any, Any]) -> Response[bytes]:
    """A file of the build if there is one of that name, the index for addresses of pages."""
    path = request.url.path
    if path == "/v1" or path.startswith("/v1/"):
        raise ApiFailure(NOT_FOUND, f"The API has nothing at {path}.")
    directory = services_of(request).ui_directory.resolve()
    file = _file_of(directory, path)
    if file is not None:
        return _served(file, IMMUTABLE if "/assets/" in path else REVALIDATE)
    if Path(path).suffix and "/assets/" in path:
        raise ApiFailure(NOT_FOUND, f"There is no file {path}.")
    index = directory / "index.html"
    if index.is_file():
        return _served(index, REVALIDATE)
    return Response(NOT_BUILT, media_type="text/html")


def _file_of(directory: Path, path: str) -> Path | None:
    """The file at that path, if it lies inside the build."""
    if "\0" in path or len(path) > MAX_PATH_CHARACTERS:
        return None
    try:
        found = (directory / path.lstrip("/")).resolve()
        return found if found.is_file() and found.is_relative_to(directory) else None
    except (OSError, RuntimeError):
        # A part of the path is longer than names may be, or links lead in a circle.
        return None


def _served(file: Path, cache: str) -> Response[bytes]:
    kind = mimetypes.guess_type(file.name)[0] or "application/octet-stream"
    return Response(file.read_bytes(), media_type=kind, headers={"Cache-Control": cache})


CONTENT_SECURITY_POLICY = (
    "default-src 'self'; script-src 'self'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; connect-src 'self'; object-src 'none'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'"
)
SAFETY = (
    (b"content-security-policy", CONTENT_SECURITY_POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
)
SECURED = (b"strict-transport-security", b"max-age=31536000")
NOT_KEPT = (b"cache-control", b"no-store")
ALLOWED = "allowed"
"""The option of a handler for OPTIONS that has the methods of its path (`routes_only`)."""


async def add_headers(message: Message, scope: Scope) -> None:
    """Add them as the answer begins; on the raw list, as this happens for every request."""
    if message["type"] != "http.response.start":
        return
    headers = list(message["headers"])
    headers.append((b"x-request-id", request_id_of(scope).encode("latin-1")))
    headers.extend(SAFETY)
    if scope["scheme"] == "https":
        headers.append(SECURED)
    is_of_api = scope["path"].startswith("/v1/")
    if is_of_api and not any(name == b"cache-control" for name, _ in headers):
        headers.append(NOT_KEPT)
    if scope.get("method") == "OPTIONS" and (allowed := scope["route_handler"].opt.get(ALLOWED)):
        headers = [(name, value) for name, value in headers if name != b"allow"]
        headers.append((b"allow", allowed.encode()))
    message["headers"] = headers
