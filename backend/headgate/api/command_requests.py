"""Command requests from HTTP requests: identity, idempotency key and response."""

import hashlib
from typing import Any

import msgspec

from headgate.api.answers import Answer, answer
from headgate.api.callers import Caller, origin_of
from headgate.application.commands.requests import CommandRequest, CommandResponse, Responder


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
