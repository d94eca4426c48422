"""Make, list and revoke tokens."""

import asyncio

import msgspec

from headgate.application.access.identity import Role, Token, digest_of
from headgate.application.application_services import ApplicationServices
from headgate.domain.rejection import AlreadyExists, InvalidObject, NotFound, violation
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
    _refuse(spec, at)
    token = Token(
        name=spec.name,
        role=spec.role,
        digest=digest_of(secret),
        namespaces=tuple(sorted(set(spec.namespaces))),
        created_at=at,
        expires_at=spec.expires_at,
    )
    if not await asyncio.to_thread(services.tokens.add, token):
        raise AlreadyExists(
            "Stated",
            rule=f"There is a token {spec.name!r}.",
            remedy="Revoke it first, or choose another name.",
        )
    services.token_cache.forget()
    return token


async def revoke(services: ApplicationServices, name: str) -> None:
    """Forget a token; raises `NotFound`."""
    if not await asyncio.to_thread(services.tokens.remove, name):
        raise NotFound("Stated", rule=f"There is no token {name!r}.", remedy="List the tokens.")
    services.token_cache.forget()


def _refuse(spec: TokenSpec, at: Instant) -> None:
    violations = []
    if spec.role == "submitter" and not spec.namespaces:
        violations.append(
            violation(
                "/namespaces",
                "Stated",
                rule="A submitter is confined to namespaces.",
                remedy="Name at least one.",
            )
        )
    if spec.role != "submitter" and spec.namespaces:
        violations.append(
            violation(
                "/namespaces",
                "Stated",
                rule=f"A token of role {spec.role} sees every namespace.",
                remedy="Leave namespaces out.",
            )
        )
    if spec.expires_at is not None and spec.expires_at <= at:
        violations.append(
            violation(
                "/expiresAt", "Stated", rule="It lies in the future.", remedy="Choose a later time."
            )
        )
    if violations:
        raise InvalidObject(
            "Stated",
            rule="This token cannot be made.",
            remedy="Correct what each entry of errors points to.",
            violations=tuple(violations),
        )
