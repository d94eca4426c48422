"""`/v1/tokens`: creates, lists and revokes tokens; `whoami` and `can-i`."""

from typing import Annotated, Literal

import msgspec
from litestar import Controller, delete, get, post
from litestar.params import FromQuery, JSONBody, PathParameter, QueryParameter

from headgate.adapters.system.randomness import unique_key
from headgate.api.answers import Answer, answer, response
from headgate.api.callers import Caller, services_of
from headgate.api.parameters import PRESENT_ONLY, instant_or_none
from headgate.api.schemas import RequestBody, Schema, Timestamp, Whole
from headgate.application.access import token_commands
from headgate.application.access.identity import Identity, right_for
from headgate.application.queries.views import view_from

RoleName = Literal["viewer", "submitter", "executor", "admin"]


class TokenRequest(RequestBody, kw_only=True, frozen=True):
    """A token to make; a submitter names its namespaces."""

    name: Annotated[str, msgspec.Meta(pattern=r"^[a-z0-9]([-a-z0-9.]{0,61}[a-z0-9])?$")]
    role: RoleName
    namespaces: list[str] = []
    expires_at: Timestamp | None = None


class TokenDetail(Schema, kw_only=True, frozen=True):
    """A token without its secret."""

    name: str
    role: RoleName
    namespaces: list[str] = []
    created_at: Timestamp
    expires_at: Timestamp | None = None


class NewToken(TokenDetail, kw_only=True, frozen=True):
    """A token just made; its secret is shown this once."""

    secret: str


class TokenList(Whole, kw_only=True, frozen=True):
    """All tokens, by name."""

    items: list[TokenDetail]


class CurrentIdentity(Whole, kw_only=True, frozen=True):
    """The identity of a token."""

    name: str
    role: RoleName
    namespaces: list[str]


class CanI(Whole, kw_only=True, frozen=True):
    """Whether this token may, and why or why not."""

    allowed: bool
    reason: str


SECRET_PREFIX = "hg_"  # noqa: S105 - the beginning of every secret, not one


class Tokens(Controller):
    """Only digests of secrets are kept."""

    path = "/tokens"
    tags = ["Access"]

    @get(
        operation_id="listTokens",
        summary="All tokens, without their secrets",
        responses=response(TokenList),
        opt={"right": "configure", "live": PRESENT_ONLY},
    )
    async def list_tokens(self, request: Caller) -> Answer:
        """By name."""
        services = services_of(request)
        found = await token_commands.list_tokens(services)
        shapes = TokenList(items=[view_from(TokenDetail, token) for token in found])
        return answer(shapes, position=services.reader.position)

    @post(
        operation_id="createToken",
        summary="Make a token; its secret is shown this once",
        responses=response(NewToken, status=201),
        opt={"right": "configure"},
    )
    async def create(self, request: Caller, data: JSONBody[TokenRequest]) -> Answer:
        """A submitter must name its namespaces."""
        services = services_of(request)
        secret = SECRET_PREFIX + unique_key()
        asked = token_commands.TokenSpec(
            name=data.name,
            role=data.role,
            namespaces=tuple(data.namespaces),
            expires_at=instant_or_none(data.expires_at, "/expiresAt"),
        )
        token = await token_commands.create(services, asked, secret)
        shape = view_from(NewToken, token, secret=secret)
        return answer(shape, position=services.reader.position, status=201)

    @delete(
        "/{name:str}",
        operation_id="deleteToken",
        summary="Revoke a token",
        opt={"right": "configure"},
    )
    async def revoke(
        self, request: Caller, name: Annotated[str, PathParameter(max_length=63)]
    ) -> None:
        """Refused everywhere within two seconds."""
        await token_commands.revoke(services_of(request), name)


class Access(Controller):
    """What this token is good for."""

    path = "/"
    tags = ["Access"]

    @get(
        "/whoami",
        operation_id="whoAmI",
        summary="Show the identity of the token",
        responses=response(CurrentIdentity),
        opt={"live": PRESENT_ONLY},
    )
    async def current_identity(self, request: Caller) -> Answer:
        """No namespaces means all of them."""
        user = request.user
        body = CurrentIdentity(
            name=user.name, role=user.role, namespaces=sorted(user.namespaces or ())
        )
        return answer(body, position=services_of(request).reader.position)

    @get(
        "/can-i",
        operation_id="canI",
        summary="Whether this token may",
        responses=response(CanI),
        opt={"live": PRESENT_ONLY},
    )
    async def can_i(
        self,
        request: Caller,
        verb: Annotated[
            str, QueryParameter(description="get, list, create, hold, stop, report, …")
        ],
        kind: FromQuery[str] = "",
        namespace: FromQuery[str] = "",
    ) -> Answer:
        """And the reason, either way."""
        body = _verdict(request.user, verb, kind, namespace)
        return answer(body, position=services_of(request).reader.position)


def _verdict(user: Identity, verb: str, kind: str, namespace: str) -> CanI:
    right = right_for(verb, kind)
    if not user.may(right):
        return CanI(allowed=False, reason=f"A token of role {user.role} may not {right}.")
    if namespace and not user.sees(namespace):
        return CanI(allowed=False, reason=f"This token is not for namespace {namespace!r}.")
    return CanI(allowed=True, reason=f"Tokens of role {user.role} may {right}.")
