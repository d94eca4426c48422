"""Headers of every response: the id of its request and the security rules for browsers."""

import re
from collections.abc import Callable, Mapping
from typing import Any

from litestar.datastructures import Headers
from litestar.types import Message, Scope

ACCEPTABLE = re.compile(r"[A-Za-z0-9._:-]{1,64}")


def request_id_of(scope: Mapping[str, Any]) -> str:
    """The request's name; made when first asked for."""
    state = scope["state"]
    if "request_id" not in state:
        asked = Headers.from_scope(scope).get("x-request-id", "")  # type: ignore[arg-type]
        new: Callable[[], str] = scope["litestar_app"].state.services.ids.new
        state["request_id"] = asked if ACCEPTABLE.fullmatch(asked) else new()
    return str(state["request_id"])


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
