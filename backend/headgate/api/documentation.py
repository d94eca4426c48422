"""The OpenAPI document and a page that shows it, both without a token and without the network."""

import asyncio
from pathlib import Path

from litestar import Request, Response, get
from litestar.datastructures import State

from headgate.api.openapi import rendered_document

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
