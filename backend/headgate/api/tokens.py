"""`/v1/tokens`: users and their roles; `whoami`, `can-i`, and the views that users saved."""

from collections.abc import Sequence
from typing import Annotated

import msgspec
from litestar import Controller, delete, get, post, put
from litestar.params import FromQuery, JSONBody, PathParameter, QueryParameter

from headgate.adapters.system.clocks_and_randomness import unique_key
from headgate.api.answers import Answer, answer, response
from headgate.api.bodies import RequestBody, Schema, Timestamp, Whole
from headgate.api.callers import Caller, services_of
from headgate.api.parameters import PRESENT_ONLY, instant_or_none
from headgate.application.access import token_commands
from headgate.application.access.identity import (
    MAX_SAVED_VIEWS,
    MAX_VIEW_NAME_LENGTH,
    MAX_VIEW_QUERY_LENGTH,
    Identity,
    SavedView,
    Token,
)
from headgate.application.access.rights import (
    Grant,
    Right,
    Role,
    granting,
    refusal,
    right_asked,
    roles_with,
)
from headgate.application.queries.views import timestamp
from headgate.domain.rejection import InvalidRequest, NotAllowed, NotFound
from headgate.messages.catalogue import text_of

UserName = Annotated[
    str, msgspec.Meta(pattern=r"^[a-z0-9]([-a-z0-9.]{0,61}[a-z0-9])?$", max_length=63)
]
ObjectName = Annotated[str, msgspec.Meta(min_length=1, max_length=253)]
Names = Annotated[list[ObjectName], msgspec.Meta(max_length=1000)]
GroupNames = Annotated[
    list[Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9_][-A-Za-z0-9_.]{0,62}$")]],
    msgspec.Meta(max_length=64),
]
Name = Annotated[str, PathParameter(max_length=63)]


class GrantRequest(RequestBody, kw_only=True, frozen=True):
    """A role with its scope.

    A submitter, a namespace administrator and a confined viewer name namespaces, a queue
    administrator ClusterQueues, an executor its Executor.
    """

    role: Role
    namespaces: Names = []
    cluster_queues: Names = []
    executor: Annotated[str, msgspec.Meta(max_length=253)] = ""

    def grant(self) -> Grant:
        """The role and its scope."""
        return Grant(
            role=self.role,
            namespaces=tuple(self.namespaces),
            cluster_queues=tuple(self.cluster_queues),
            executor=self.executor,
        )


class TokenRequest(GrantRequest, kw_only=True, frozen=True):
    """A token to make, for a user of that name with one role."""

    name: UserName
    groups: GroupNames = []
    expires_at: Timestamp | None = None


class GrantDetail(Schema, kw_only=True, frozen=True):
    """A role with its scope; without one it holds everywhere."""

    role: Role
    namespaces: list[str] = []
    cluster_queues: list[str] = []
    executor: str = ""


class TokenDetail(Schema, kw_only=True, frozen=True):
    """A token without its secret; one of a service account has the roles of the account."""

    name: str
    role: Role | None = None
    namespaces: list[str] = []
    cluster_queues: list[str] = []
    executor: str = ""
    groups: list[str] = []
    service_account: str = ""
    created_at: Timestamp
    expires_at: Timestamp | None = None


class NewToken(TokenDetail, kw_only=True, frozen=True):
    """A token just made; its secret is shown this once."""

    secret: str


class TokenList(Whole, kw_only=True, frozen=True):
    """All tokens, by name."""

    items: list[TokenDetail]


class CurrentIdentity(Whole, kw_only=True, frozen=True):
    """The user of a token; `role` is the first of its roles, no namespaces are all of them."""

    name: str
    role: Role
    namespaces: list[str]
    grants: list[GrantDetail] = []
    groups: list[str] = []


class CanI(Whole, kw_only=True, frozen=True):
    """Whether the user may, by which role, and which roles would allow it."""

    allowed: bool
    verb: str
    resource: str
    reason: str
    granted_by: GrantDetail | None = None
    roles: list[Role] = []


SECRET_PREFIX = "hg_"  # noqa: S105 - the beginning of every secret, not one


class Tokens(Controller):
    """Only digests of secrets are kept."""

    path = "/tokens"
    tags = ["Access"]
    opt = {"right": "configure tokens"}

    @get(
        operation_id="listTokens",
        summary="List tokens without their secrets",
        responses=response(TokenList),
        opt={"right": "read tokens", "live": PRESENT_ONLY},
    )
    async def list_tokens(self, request: Caller) -> Answer:
        """By name."""
        services = services_of(request)
        found = await token_commands.list_tokens(services)
        shapes = TokenList(items=[_shown_token(token) for token in found])
        return answer(shapes, position=services.reader.position)

    @post(
        operation_id="createToken",
        summary="Create a token; its secret is shown this once",
        responses=response(NewToken, status=201),
    )
    async def create(self, request: Caller, data: JSONBody[TokenRequest]) -> Answer:
        """The token stands for a user of its name, with one role."""
        spec = token_commands.TokenSpec(
            name=data.name,
            grant=data.grant(),
            groups=tuple(data.groups),
            expires_at=instant_or_none(data.expires_at, "/expiresAt"),
        )
        return await created_token(request, spec)

    @delete("/{name:str}", operation_id="deleteToken", summary="Revoke a token")
    async def revoke(self, request: Caller, name: Name) -> None:
        """Refused everywhere within two seconds."""
        await token_commands.revoke(services_of(request), name)


class Access(Controller):
    """What this token is good for."""

    path = "/"
    tags = ["Access"]
    opt = {"right": "read identity", "live": PRESENT_ONLY}

    @get(
        "/whoami",
        operation_id="whoAmI",
        summary="Show the identity of the token",
        responses=response(CurrentIdentity),
    )
    async def current_identity(self, request: Caller) -> Answer:
        """No namespaces means all of them."""
        user = request.user
        body = CurrentIdentity(
            name=user.name,
            role=user.grants[0].role,
            namespaces=sorted(user.namespaces or ()),
            grants=shown_grants(user.grants),
            groups=list(user.groups),
        )
        return answer(body, position=services_of(request).reader.position)

    @get(
        "/whoami/tokens",
        operation_id="listOwnTokens",
        summary="List the tokens of the user, without their secrets",
        responses=response(TokenList),
    )
    async def own_tokens(self, request: Caller) -> Answer:
        """By name; of a service account all of its tokens. The installation's own is in no list."""
        services = services_of(request)
        found = await token_commands.list_tokens(services)
        items = [_shown_token(token) for token in found if token.user == request.user.name]
        return answer(TokenList(items=items), position=services.reader.position)

    @get(
        "/can-i",
        operation_id="canI",
        summary="Whether this token may, and by which role",
        responses=response(CanI),
    )
    async def can_i(
        self,
        request: Caller,
        verb: Annotated[
            str,
            QueryParameter(max_length=63, description="get, create, hold, stop, drain, report, …"),
        ],
        resource: Annotated[
            str, QueryParameter(max_length=63, description="A kind, as `workload` or `cq`")
        ] = "workloads",
        namespace: FromQuery[str] = "",
        cluster_queue: Annotated[str, QueryParameter(name="clusterQueue", max_length=253)] = "",
    ) -> Answer:
        """And the reason, either way."""
        right = right_asked(verb, resource)
        body = _verdict(request.user, right, namespace, cluster_queue)
        return answer(body, position=services_of(request).reader.position)


async def created_token(request: Caller, spec: token_commands.TokenSpec) -> Answer:
    """Makes a token; the answer shows its secret, which is kept nowhere."""
    services = services_of(request)
    secret = SECRET_PREFIX + unique_key()
    token = await token_commands.create(services, spec, secret)
    shown = msgspec.to_builtins(_shown_token(token))
    shape = msgspec.convert({**shown, "secret": secret}, NewToken)
    return answer(shape, position=services.reader.position, status=201)


def _shown_token(token: Token) -> TokenDetail:
    own = token.grants[0] if token.grants and not token.account else None
    return TokenDetail(
        name=token.name,
        role=own.role if own else None,
        namespaces=list(own.namespaces) if own else [],
        cluster_queues=list(own.cluster_queues) if own else [],
        executor=own.executor if own else "",
        groups=[] if token.account else list(token.groups),
        service_account=token.account,
        created_at=timestamp(token.created_at),
        expires_at=None if token.expires_at is None else timestamp(token.expires_at),
    )


def shown_grants(grants: Sequence[Grant]) -> list[GrantDetail]:
    """Roles with their scopes, in the order given."""
    return [_shown_grant(grant) for grant in grants]


def _shown_grant(grant: Grant) -> GrantDetail:
    return GrantDetail(
        role=grant.role,
        namespaces=list(grant.namespaces),
        cluster_queues=list(grant.cluster_queues),
        executor=grant.executor,
    )


def _verdict(user: Identity, right: Right, namespace: str, cluster_queue: str) -> CanI:
    place = {"namespace": namespace, "cluster_queue": cluster_queue}
    found = next(granting(user.grants, right, **place), None)
    roles = list(roles_with(right))
    if found is None:
        refused: NotAllowed = refusal(user.name, user.grants, right, **place)
        return CanI(
            allowed=False,
            verb=right.verb,
            resource=right.resource,
            reason=text_of(refused.message),
            roles=roles,
        )
    return CanI(
        allowed=True,
        verb=right.verb,
        resource=right.resource,
        reason=f"The role {found.role} may {right}.",
        granted_by=_shown_grant(found),
        roles=roles,
    )


ViewName = Annotated[
    str, PathParameter(description="The name of the view", max_length=MAX_VIEW_NAME_LENGTH)
]


class SavedViewRequest(RequestBody, kw_only=True, frozen=True):
    """What the list shows, and whether every user sees the view."""

    query: Annotated[str, msgspec.Meta(max_length=MAX_VIEW_QUERY_LENGTH)]
    is_shared: bool = False


class SavedViewDetail(Schema, kw_only=True, frozen=True):
    """A view of the list of workloads: `query` is that part of the page's address."""

    name: str
    owner: str
    is_mine: bool
    is_shared: bool
    query: str
    saved_at: Timestamp


class SavedViewList(Whole, kw_only=True, frozen=True):
    """One's own views, then those that others share."""

    items: list[SavedViewDetail]


class SavedViews(Controller):
    """The views of the list of workloads that users saved.

    Every user keeps views of its own, which change nothing for others: reading is right enough.
    """

    path = "/views"
    tags = ["Access"]
    opt = {"right": "read views"}

    @get(
        operation_id="listViews",
        summary="List one's own saved views of workloads, and those that others share",
        responses=response(SavedViewList),
        opt={"right": "read views", "live": PRESENT_ONLY},
    )
    async def list_views(self, request: Caller) -> Answer:
        """One's own first, by name."""
        services, user = services_of(request), request.user.name
        found = await services.reading.do(lambda: services.saved_views.visible_to(user))
        items = [_shown_view(view, user) for view in found]
        return answer(SavedViewList(items=items), position=services.reader.position)

    @put(
        "/{name:str}",
        operation_id="saveView",
        summary="Save a view of workloads in place of one's own of that name",
        responses=response(SavedViewDetail),
    )
    async def save(
        self, request: Caller, name: ViewName, data: JSONBody[SavedViewRequest]
    ) -> Answer:
        """At most a hundred for each user."""
        services, user = services_of(request), request.user.name
        view = SavedView(
            owner=user,
            name=name,
            query=data.query,
            is_shared=data.is_shared,
            saved_at=services.clock.now(),
        )
        maximum = MAX_SAVED_VIEWS
        if not await services.writing.do(lambda: services.saved_views.save(view, maximum=maximum)):
            raise InvalidRequest.at(
                "/name", "TooMany", field="views", maximum=maximum, count=maximum + 1, excess=1
            )
        return answer(_shown_view(view, user), position=services.reader.position)

    @delete("/{name:str}", operation_id="deleteView", summary="Delete one's own saved view")
    async def remove(self, request: Caller, name: ViewName) -> None:
        """A view that others share stays."""
        services, user = services_of(request), request.user.name
        if not await services.writing.do(lambda: services.saved_views.delete(user, name)):
            raise NotFound("ObjectNotFound", kind="View", name=name)


def _shown_view(view: SavedView, user: str) -> SavedViewDetail:
    return SavedViewDetail(
        name=view.name,
        owner=view.owner,
        is_mine=view.owner == user,
        is_shared=view.is_shared,
        query=view.query,
        saved_at=timestamp(view.saved_at),
    )


ROUTES = (Tokens, Access, SavedViews)
