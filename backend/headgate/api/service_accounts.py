"""`/v1/serviceaccounts`: users that are programs, their roles and their tokens."""

from litestar import Controller, delete, get, post, put
from litestar.params import JSONBody

from headgate.adapters.system.clocks_and_randomness import unique_key
from headgate.api.answers import Answer, answer, response
from headgate.api.bodies import RequestBody, Schema, Timestamp, Whole
from headgate.api.callers import Caller, services_of
from headgate.api.parameters import PRESENT_ONLY, instant_or_none
from headgate.api.tokens import (
    GrantDetail,
    GrantRequest,
    GroupNames,
    Name,
    NewToken,
    UserName,
    created_token,
    shown_grants,
)
from headgate.application.access import token_commands
from headgate.application.access.identity import ServiceAccount
from headgate.application.access.rights import Grant
from headgate.application.queries.views import timestamp


class AccountTokenRequest(RequestBody, kw_only=True, frozen=True):
    """A token to make for a service account; without a name it gets one."""

    name: UserName | None = None
    expires_at: Timestamp


class AccountRequest(RequestBody, kw_only=True, frozen=True):
    """The roles and groups of a service account."""

    grants: list[GrantRequest]
    groups: GroupNames = []


class NewAccountRequest(AccountRequest, kw_only=True, frozen=True):
    """A service account to make."""

    name: UserName


class ServiceAccountDetail(Schema, kw_only=True, frozen=True):
    """A service account with its roles and groups."""

    name: str
    grants: list[GrantDetail]
    groups: list[str] = []
    created_at: Timestamp


class ServiceAccountList(Whole, kw_only=True, frozen=True):
    """All service accounts, by name."""

    items: list[ServiceAccountDetail]


MAX_NAME_START = 54
"""So much of an account's name begins the name of its token."""


class ServiceAccounts(Controller):
    """Users that are programs: they have roles, and tokens that expire."""

    path = "/serviceaccounts"
    tags = ["Access"]
    opt = {"right": "configure serviceaccounts"}

    @get(
        operation_id="listServiceAccounts",
        summary="List service accounts",
        responses=response(ServiceAccountList),
        opt={"right": "read serviceaccounts", "live": PRESENT_ONLY},
    )
    async def list_accounts(self, request: Caller) -> Answer:
        """By name."""
        services = services_of(request)
        found = await token_commands.list_accounts(services)
        shapes = ServiceAccountList(items=[_shown_account(each) for each in found])
        return answer(shapes, position=services.reader.position)

    @post(
        operation_id="createServiceAccount",
        summary="Create a service account",
        responses=response(ServiceAccountDetail, status=201),
    )
    async def create(self, request: Caller, data: JSONBody[NewAccountRequest]) -> Answer:
        """It can do nothing before it has a token."""
        services = services_of(request)
        made = await token_commands.create_account(services, data.name, _grants(data), data.groups)
        return answer(_shown_account(made), position=services.reader.position, status=201)

    @get(
        "/{name:str}",
        operation_id="getServiceAccount",
        summary="Read a service account",
        responses=response(ServiceAccountDetail),
        opt={"right": "read serviceaccounts", "live": PRESENT_ONLY},
    )
    async def read(self, request: Caller, name: Name) -> Answer:
        """Its roles and groups; its tokens are in the list of tokens."""
        services = services_of(request)
        found = await token_commands.account_named(services, name)
        return answer(_shown_account(found), position=services.reader.position)

    @put(
        "/{name:str}",
        operation_id="replaceServiceAccount",
        summary="Change the roles of a service account",
        responses=response(ServiceAccountDetail),
    )
    async def replace(self, request: Caller, name: Name, data: JSONBody[AccountRequest]) -> Answer:
        """Its tokens have the new roles within two seconds."""
        services = services_of(request)
        made = await token_commands.change_account(services, name, _grants(data), data.groups)
        return answer(_shown_account(made), position=services.reader.position)

    @delete(
        "/{name:str}",
        operation_id="deleteServiceAccount",
        summary="Delete a service account and revoke its tokens",
    )
    async def remove(self, request: Caller, name: Name) -> None:
        """Its workloads stay."""
        await token_commands.remove_account(services_of(request), name)

    @post(
        "/{name:str}/tokens",
        operation_id="createServiceAccountToken",
        summary="Create a token of a service account; its secret is shown this once",
        responses=response(NewToken, status=201),
    )
    async def create_token(
        self, request: Caller, name: Name, data: JSONBody[AccountTokenRequest]
    ) -> Answer:
        """It must expire, within 366 days."""
        own = f"{name[:MAX_NAME_START].rstrip('-.')}-{unique_key()[:8].lower()}"
        spec = token_commands.TokenSpec(
            name=data.name or own,
            account=name,
            expires_at=instant_or_none(data.expires_at, "/expiresAt"),
        )
        return await created_token(request, spec)


def _grants(data: AccountRequest) -> list[Grant]:
    return [each.grant() for each in data.grants]


def _shown_account(account: ServiceAccount) -> ServiceAccountDetail:
    return ServiceAccountDetail(
        name=account.name,
        grants=shown_grants(account.grants),
        groups=list(account.groups),
        created_at=timestamp(account.created_at),
    )
