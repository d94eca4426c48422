"""Make, list and revoke tokens, and the service accounts that tokens belong to."""

import asyncio
from collections.abc import Iterator, Sequence

import msgspec

from headgate.application.access.identity import ADMIN, ServiceAccount, Token, digest_of
from headgate.application.access.rights import SCOPES, Grant
from headgate.application.application_services import ApplicationServices
from headgate.domain.field_rules import count_violations, expiry_violations, raise_if_invalid
from headgate.domain.rejection import AlreadyExists, NotFound, Violation, child, violation
from headgate.domain.values.instants import MICROSECONDS_PER_SECOND, Instant

MAX_GRANTS = 64
MAX_TOKEN_DAYS = 366
"""How long a token of a service account may live; tokens of users may live without end."""
_DAY = 86_400 * MICROSECONDS_PER_SECOND


class TokenSpec(msgspec.Struct, frozen=True, kw_only=True):
    """The token that is wanted: of its own with one grant, or of a service account."""

    name: str
    grant: Grant | None = None
    groups: tuple[str, ...] = ()
    account: str = ""
    expires_at: Instant | None = None


async def list_tokens(services: ApplicationServices) -> list[Token]:
    """Every token, by name."""
    return await asyncio.to_thread(services.tokens.all)


async def create(services: ApplicationServices, spec: TokenSpec, secret: str) -> Token:
    """Keep a new token; raises `InvalidObject`, `NotFound` or `AlreadyExists`."""
    at = services.clock.now()
    raise_if_invalid("Token", spec.name, _token_violations(spec, at))
    token = Token(
        name=spec.name,
        digest=digest_of(secret),
        grants=(_normal(spec.grant),) if spec.grant else (),
        groups=tuple(sorted(set(spec.groups))),
        account=spec.account,
        created_at=at,
        expires_at=spec.expires_at,
    )
    if spec.account:
        await account_named(services, spec.account)
    if spec.name == ADMIN.name or not await asyncio.to_thread(services.tokens.add, token):
        raise AlreadyExists("ObjectExists", kind="Token", name=spec.name)
    services.token_cache.forget()
    return token


async def revoke(services: ApplicationServices, name: str) -> None:
    """Forget a token; raises `NotFound`."""
    if not await asyncio.to_thread(services.tokens.remove, name):
        raise NotFound("ObjectNotFound", kind="Token", name=name)
    services.token_cache.forget(name)


async def list_accounts(services: ApplicationServices) -> list[ServiceAccount]:
    """Every service account, by name."""
    return await asyncio.to_thread(services.tokens.accounts)


async def account_named(services: ApplicationServices, name: str) -> ServiceAccount:
    """The service account of that name; raises `NotFound`."""
    found = [each for each in await list_accounts(services) if each.name == name]
    if not found:
        raise NotFound("ObjectNotFound", kind="ServiceAccount", name=name)
    return found[0]


async def create_account(
    services: ApplicationServices, name: str, grants: Sequence[Grant], groups: Sequence[str]
) -> ServiceAccount:
    """Keep a new service account; raises `InvalidObject` or `AlreadyExists`."""
    account = _account(services, name, grants, groups)
    if name == ADMIN.name or not await asyncio.to_thread(services.tokens.add_account, account):
        raise AlreadyExists("ObjectExists", kind="ServiceAccount", name=name)
    return account


async def change_account(
    services: ApplicationServices, name: str, grants: Sequence[Grant], groups: Sequence[str]
) -> ServiceAccount:
    """Give a service account and all its tokens other grants; raises `NotFound`."""
    known = await account_named(services, name)
    account = _account(services, name, grants, groups)
    if not await asyncio.to_thread(services.tokens.change_account, account):
        raise NotFound("ObjectNotFound", kind="ServiceAccount", name=name)
    services.token_cache.forget()
    return msgspec.structs.replace(account, created_at=known.created_at)


async def remove_account(services: ApplicationServices, name: str) -> None:
    """Forget a service account and revoke its tokens; raises `NotFound`."""
    if not await asyncio.to_thread(services.tokens.remove_account, name):
        raise NotFound("ObjectNotFound", kind="ServiceAccount", name=name)
    services.token_cache.forget()


def _account(
    services: ApplicationServices, name: str, grants: Sequence[Grant], groups: Sequence[str]
) -> ServiceAccount:
    violations = (
        *count_violations("/grants", len(grants), MAX_GRANTS),
        *(() if grants else (violation("/grants", "Required", field="grants"),)),
        *(
            found
            for index, grant in enumerate(grants)
            for found in grant_violations(child("/grants", index), grant)
        ),
    )
    raise_if_invalid("ServiceAccount", name, violations)
    return ServiceAccount(
        name=name,
        grants=tuple(map(_normal, grants)),
        groups=tuple(sorted(set(groups))),
        created_at=services.clock.now(),
    )


def _normal(grant: Grant) -> Grant:
    """A grant with its scope sorted, each name once."""
    return msgspec.structs.replace(
        grant,
        namespaces=tuple(sorted(set(grant.namespaces))),
        cluster_queues=tuple(sorted(set(grant.cluster_queues))),
    )


def _token_violations(spec: TokenSpec, at: Instant) -> Iterator[Violation]:
    if spec.grant is not None:
        yield from grant_violations("", spec.grant)
    yield from expiry_violations(spec.expires_at, at)
    if spec.account and spec.expires_at is None:
        yield violation("/expiresAt", "Required", field="expiresAt")
    if spec.account and spec.expires_at is not None:
        days = (spec.expires_at - at) // _DAY
        if days > MAX_TOKEN_DAYS:
            yield violation("/expiresAt", "TokenLivesTooLong", days=days, maximum=MAX_TOKEN_DAYS)


def grant_violations(pointer: str, grant: Grant) -> Iterator[Violation]:
    """Violations of a grant: a scope that its role needs and lacks, or has and cannot use."""
    given = {
        "Namespaces": ("namespaces", bool(grant.namespaces)),
        "ClusterQueues": ("clusterQueues", bool(grant.cluster_queues)),
        "Executor": ("executor", bool(grant.executor)),
    }
    own = SCOPES[grant.role]
    for scope, (field, is_given) in given.items():
        if scope == own and not is_given and grant.role not in ("viewer", "executor"):
            yield violation(f"{pointer}/{field}", "Required", field=field)
        if scope != own and is_given:
            code = "TokenOfAllNamespaces" if scope == "Namespaces" else "ScopeOfAnotherRole"
            yield violation(f"{pointer}/{field}", code, role=grant.role, field=field)
