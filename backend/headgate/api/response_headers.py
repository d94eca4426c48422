"""Headers that every answer carries: the request's name and the browser's safety rules."""

from litestar.datastructures import MutableScopeHeaders
from litestar.types import Message, Scope

from headgate.api.request_ids import request_id_of

CONTENT_SECURITY_POLICY = (
    "default-src 'self'; script-src 'self'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; connect-src 'self'; object-src 'none'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'"
)
SAFETY = {
    "content-security-policy": CONTENT_SECURITY_POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
}


async def add_headers(message: Message, scope: Scope) -> None:
    """Add them as the answer begins."""
    if message["type"] != "http.response.start":
        return
    headers = MutableScopeHeaders.from_message(message)
    headers["x-request-id"] = request_id_of(scope)
    for name, value in SAFETY.items():
        headers.setdefault(name, value)
    if scope["path"].startswith("/v1/"):
        headers.setdefault("cache-control", "no-store")
