"""Answers: JSON with the log position, an ETag for what has a version, 304 for nothing new.

The command of a request has its identity, its idempotency key, and how it is answered.
"""

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any, Protocol

import msgspec
from litestar import Response
from litestar.openapi import ResponseSpec

from headgate.api.callers import Caller, origin_of
from headgate.api.parameters import whole_number
from headgate.api.problems import PRECONDITION_REQUIRED, ApiFailure
from headgate.application.commands.requests import CommandRequest, CommandResponse, Responder
from headgate.application.cooperative import each, run_yielding
from headgate.application.failures import StaleVersion

JSON = "application/json"
Answer = Response[bytes]


def answer(
    body: Any,  # noqa: ANN401 - whatever msgspec can write down
    *,
    position: int,
    status: int = 200,
    version: int | None = None,
    headers: Mapping[str, str] | None = None,
) -> Answer:
    """A JSON answer; bytes are taken to be JSON already."""
    content = body if isinstance(body, bytes) else msgspec.json.encode(body)
    all_headers = {"X-Log-Position": str(position), **(headers or {})}
    if version is not None:
        all_headers["ETag"] = etag_of(version)
    return Response(content, status_code=status, media_type=JSON, headers=all_headers)


async def encoded(items: Iterable[object]) -> list[msgspec.Raw]:
    """The items of a long list as JSON, written in slices."""
    return await run_yielding(each(msgspec.Raw(msgspec.json.encode(item)) for item in items))


class Positioned(Protocol):
    """A view that says at which position it holds."""

    @property
    def position(self) -> int:
        """The position."""
        ...


def answer_view(view: Positioned) -> Answer:
    """A view that carries its own position."""
    return answer(view, position=view.position)


def etag_of(version: int) -> str:
    """The strong ETag of a stream version."""
    return f'"{version}"'


def not_modified(version: int, if_none_match: str | None, *, position: int) -> Answer | None:
    """The 304 answer if the caller has this version already."""
    if if_none_match is None or not _names(if_none_match, version):
        return None
    headers = {"ETag": etag_of(version), "X-Log-Position": str(position)}
    return Response(b"", status_code=304, headers=headers)


def expected_version(if_match: str | None, *, required: bool = False) -> int | None:
    """The version an If-Match header names; None for `*` or no header where none is required."""
    if if_match is None:
        if required:
            raise ApiFailure(PRECONDITION_REQUIRED, "This change needs an If-Match header.")
        return None
    if if_match.strip() == "*":
        return None
    version = whole_number(if_match.strip().strip('"'))
    if version is None:
        raise StaleVersion("EtagUnknown", etag=if_match[:80])
    return version


def _names(header: str, version: int) -> bool:
    tags = [tag.strip().removeprefix("W/") for tag in header.split(",")]
    return "*" in tags or etag_of(version) in tags


def response(shape: Any, description: str = "", status: int = 200) -> dict[int, ResponseSpec]:  # noqa: ANN401
    """The shape of a good answer, for the OpenAPI document."""
    text = description or (shape.__doc__ or "Done").strip().splitlines()[0]
    return {status: ResponseSpec(shape, generate_examples=False, description=text)}


class CommandOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What a request says of itself beside its body."""

    reason: str = ""
    key: str | None = None
    is_dry_run: bool = False
    tells_failures: bool = False


async def command_request(
    request: Caller, writer: Responder, options: CommandOptions
) -> CommandRequest:
    """The call that a request makes."""
    key = None if options.is_dry_run else options.key
    return CommandRequest(
        identity=request.user,
        metadata=origin_of(request, options.reason),
        respond=writer,
        key=key,
        request_hash="" if key is None else await _hash(request),
        is_dry_run=options.is_dry_run,
        tells_failures=options.tells_failures,
    )


def answer_command(handled: CommandResponse, *, location: str | None = None) -> Answer:
    """The answer of a command."""
    headers = {"Location": location} if location and not handled.is_replayed else {}
    if handled.is_replayed:
        headers["Idempotency-Replayed"] = "true"
    return answer(
        at_position(handled.content, handled.position),
        position=handled.position,
        status=handled.status,
        version=handled.version,
        headers=headers,
    )


def at_position(content: Any, position: int) -> Any:  # noqa: ANN401 - any JSON value
    """The content with the position of its append wherever `position` or a version is open."""
    if not isinstance(content, dict):
        return content
    found = {name: _object_at(value, position) for name, value in content.items()}
    if "position" in found and found["position"] is None:
        found["position"] = position
    if "results" in found:
        found["results"] = [_object_at(one, position) for one in found["results"]]
    return found


def _object_at(value: Any, position: int) -> Any:  # noqa: ANN401 - any JSON value
    if isinstance(value, dict) and value.get("resourceVersion", "") is None:
        return {**value, "resourceVersion": str(position)}
    return value


async def _hash(request: Caller) -> str:
    """What tells this request from others: method, address and body."""
    digest = hashlib.sha256()
    for part in (request.method.encode(), request.url.path.encode(), request.scope["query_string"]):
        digest.update(part + b"\0")
    digest.update(await request.body())
    return digest.hexdigest()
