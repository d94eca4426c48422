"""Make, list and revoke tokens."""

import asyncio
from collections.abc import Iterator

import msgspec

from headgate.application.access.identity import Role, Token, digest_of
from headgate.application.application_services import ApplicationServices
from headgate.domain.field_rules import expiry_violations
from headgate.domain.metadata import raise_if_invalid
from headgate.domain.rejection import AlreadyExists, NotFound, Violation, violation
from headgate.domain.values.instants import Instant


class TokenSpec(msgspec.Struct, frozen=True, kw_only=True):
    """The token that is wanted."""

    name: str
    role: Role
    namespaces: tuple[str, ...] = ()
    expires_at: Instant | None = None


async def list_tokens(services: ApplicationServices) -> list[Token]:
    """Every token, by name."""
    return await asyncio.to_thread(services.tokens.all)


async def create(services: ApplicationServices, spec: TokenSpec, secret: str) -> Token:
    """Keep a new token; raises `InvalidObject` or `AlreadyExists`."""
    at = services.clock.now()
    raise_if_invalid("Token", spec.name, _violations(spec, at))
    token = Token(
        name=spec.name,
        role=spec.role,
        digest=digest_of(secret),
        namespaces=tuple(sorted(set(spec.namespaces))),
        created_at=at,
        expires_at=spec.expires_at,
    )
    if not await asyncio.to_thread(services.tokens.add, token):
        raise AlreadyExists("ObjectExists", kind="Token", name=spec.name)
    services.token_cache.forget()
    return token


async def revoke(services: ApplicationServices, name: str) -> None:
    """Forget a token; raises `NotFound`."""
    if not await asyncio.to_thread(services.tokens.remove, name):
        raise NotFound("ObjectNotFound", kind="Token", name=name)
    services.token_cache.forget(name)


def _violations(spec: TokenSpec, at: Instant) -> Iterator[Violation]:
    if spec.role == "submitter" and not spec.namespaces:
        yield violation("/namespaces", "Required", field="namespaces")
    if spec.role != "submitter" and spec.namespaces:
        yield violation("/namespaces", "TokenOfAllNamespaces", role=spec.role)
    yield from expiry_violations(spec.expires_at, at)
