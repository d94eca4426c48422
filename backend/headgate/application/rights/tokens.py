"""Make, list and revoke tokens."""

import asyncio

import msgspec

from headgate.application.application_services import ApplicationServices
from headgate.application.rights.access import Role, Token
from headgate.application.rights.token_book import digest_of
from headgate.domain.rejection import AlreadyExists, InvalidObject, NotFound, Violation
from headgate.domain.values.instants import Instant


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """The token that is wanted."""

    name: str
    role: Role
    namespaces: tuple[str, ...] = ()
    expires_at: Instant | None = None


async def list_tokens(services: ApplicationServices) -> list[Token]:
    """Every token, by name."""
    return await asyncio.to_thread(services.tokens.all)


async def create(services: ApplicationServices, asked: Asked, secret: str) -> Token:
    """Keep a new token; raises `InvalidObject` or `AlreadyExists`."""
    at = services.clock.now()
    _refuse(asked, at)
    token = Token(
        name=asked.name,
        role=asked.role,
        digest=digest_of(secret),
        namespaces=tuple(sorted(set(asked.namespaces))),
        created_at=at,
        expires_at=asked.expires_at,
    )
    if not await asyncio.to_thread(services.tokens.add, token):
        raise AlreadyExists(
            f"There is a token {asked.name!r}.", remedy="Revoke it first, or choose another name."
        )
    services.book.forget()
    return token


async def revoke(services: ApplicationServices, name: str) -> None:
    """Forget a token; raises `NotFound`."""
    if not await asyncio.to_thread(services.tokens.remove, name):
        raise NotFound(f"There is no token {name!r}.", remedy="List the tokens.")
    services.book.forget()


def _refuse(asked: Asked, at: Instant) -> None:
    violations = []
    if asked.role == "submitter" and not asked.namespaces:
        violations.append(
            Violation(
                pointer="/namespaces",
                rule="A submitter is confined to namespaces.",
                remedy="Name at least one.",
            )
        )
    if asked.role != "submitter" and asked.namespaces:
        violations.append(
            Violation(
                pointer="/namespaces",
                rule=f"A token of role {asked.role} sees every namespace.",
                remedy="Leave namespaces out.",
            )
        )
    if asked.expires_at is not None and asked.expires_at <= at:
        violations.append(
            Violation(
                pointer="/expiresAt", rule="It lies in the future.", remedy="Choose a later time."
            )
        )
    if violations:
        raise InvalidObject(
            "This token cannot be made.",
            remedy="Correct what each entry of errors points to.",
            violations=tuple(violations),
        )
