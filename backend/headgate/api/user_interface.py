"""The single-page application: its files, and its index for every address it routes itself."""

import mimetypes
from pathlib import Path
from typing import Any

from litestar import Request, Response, get

from headgate.api.callers import services_of
from headgate.api.problems import NOT_FOUND, ApiFailure

IMMUTABLE = "public, max-age=31536000, immutable"
REVALIDATE = "no-cache"
NOT_BUILT = b"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Headgate</title></head>
<body><main>
<h1>Headgate is running</h1>
<p>The web interface has not been built here.
Build it with <code>make interface</code> and reload.</p>
<p>The API is described at <a href="/docs">/docs</a>.</p>
</main></body></html>
"""


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
    if "\0" in path:
        return None
    found = (directory / path.lstrip("/")).resolve()
    return found if found.is_file() and found.is_relative_to(directory) else None


def _served(file: Path, cache: str) -> Response[bytes]:
    kind = mimetypes.guess_type(file.name)[0] or "application/octet-stream"
    return Response(file.read_bytes(), media_type=kind, headers={"Cache-Control": cache})
