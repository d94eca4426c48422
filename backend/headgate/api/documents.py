"""Manifests in request bodies: long ones are read beside the event loop."""

from functools import partial

from headgate.adapters.manifests.desired import Desired, Refused
from headgate.adapters.manifests.documents import Document, read_documents
from headgate.adapters.manifests.parse import DEFAULT_NAMESPACE, parse, parse_object
from headgate.api.callers import Caller, services_of

MAX_INLINE_BYTES = 16 * 1024
"""So much is read within a few milliseconds; changing threads would take longer."""


async def parsed(request: Caller, body: bytes) -> tuple[Desired | Refused, ...]:
    """Every object of a body, as `parse` reads them."""
    work = partial(parse, body, content_type=_content_type(request))
    return work() if _is_short(body) else await services_of(request).reading.do(work)


async def parsed_object(
    request: Caller, body: bytes, kind: str, namespace: str = DEFAULT_NAMESPACE
) -> Desired:
    """The one object of a body, as `parse_object` reads it."""
    content_type = _content_type(request)
    work = partial(parse_object, body, kind, content_type=content_type, namespace=namespace)
    return work() if _is_short(body) else await services_of(request).reading.do(work)


async def documents_of(request: Caller, body: bytes) -> tuple[Document, ...]:
    """The documents of a body as plain values, as `read_documents` reads them."""
    work = partial(read_documents, body, _content_type(request))
    return work() if _is_short(body) else await services_of(request).reading.do(work)


def _content_type(request: Caller) -> str:
    return str(request.headers.get("content-type", ""))


def _is_short(body: bytes) -> bool:
    return len(body) <= MAX_INLINE_BYTES
