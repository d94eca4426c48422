"""Command requests from HTTP requests: identity, idempotency key and response."""

import hashlib

import msgspec

from headgate.api.answers import Answer, answer
from headgate.api.callers import Caller, origin_of
from headgate.application.commands.requests import CommandRequest, CommandResponse, Key, Writer


class CommandOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What a request says of itself beside its body."""

    reason: str = ""
    key: str | None = None
    is_dry_run: bool = False
    tells_failures: bool = False


async def command_request(
    request: Caller, writer: Writer, options: CommandOptions
) -> CommandRequest:
    """The call that a request makes."""
    key = None
    if options.key is not None and not options.is_dry_run:
        key = Key(text=options.key, request_hash=await _hash(request))
    return CommandRequest(
        identity=request.user,
        origin=origin_of(request, options.reason),
        answer=writer,
        key=key,
        is_dry_run=options.is_dry_run,
        tells_failures=options.tells_failures,
    )


def answer_command(handled: CommandResponse, *, location: str | None = None) -> Answer:
    """The answer of a command."""
    headers = {"Location": location} if location and not handled.is_replayed else {}
    if handled.is_replayed:
        headers["Idempotency-Replayed"] = "true"
    return answer(
        handled.body,
        position=handled.position,
        status=handled.status,
        version=handled.version,
        headers=headers,
    )


async def _hash(request: Caller) -> str:
    """What tells this request from others: method, address and body."""
    digest = hashlib.sha256()
    for part in (request.method.encode(), request.url.path.encode(), request.scope["query_string"]):
        digest.update(part + b"\0")
    digest.update(await request.body())
    return digest.hexdigest()
