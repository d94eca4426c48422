"""Users by their tokens: grants and groups, kept as digests and answered from memory."""

import asyncio
import hashlib
import hmac
import time
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import Protocol

import msgspec

from headgate.application.access.rights import ROLE_RIGHTS, Grant, Right, Role, granting, refusal
from headgate.application.ports import Unavailable
from headgate.domain.rejection import NotAllowed
from headgate.domain.values.instants import Instant
from headgate.domain.workloads.events import WorkloadOwner
from headgate.domain.workloads.state import Authority, authority_rank

SUBMIT_WORKLOADS = Right("submit", "workloads")
OPERATE_WORKLOADS = Right("operate", "workloads")
AUTHORITIES: dict[Role, Authority] = {
    "submitter": "User",
    "namespace-admin": "NamespaceAdmin",
    "queue-admin": "QueueAdmin",
    "admin": "Admin",
}
"""The authority with which a role acts on workloads: a higher one undoes a lower one."""


class Token(msgspec.Struct, frozen=True, kw_only=True):
    """A bearer token as it is kept: `digest` is the SHA-256 of the secret in hexadecimal.

    A token of a service account has the grants and groups that the account has now.
    """

    name: str
    digest: str
    grants: tuple[Grant, ...] = ()
    groups: tuple[str, ...] = ()
    account: str = ""
    created_at: Instant
    expires_at: Instant | None = None

    @property
    def user(self) -> str:
        """The user that the token stands for: its service account, else the token."""
        return self.account or self.name


class ServiceAccount(msgspec.Struct, frozen=True, kw_only=True):
    """A user that is a program: it has grants, and tokens that expire and can be revoked."""

    name: str
    grants: tuple[Grant, ...]
    groups: tuple[str, ...] = ()
    created_at: Instant


class Identity(msgspec.Struct, frozen=True, kw_only=True):
    """The user of a request, with what the user may do and the groups that workloads carry."""

    name: str
    grants: tuple[Grant, ...]
    groups: tuple[str, ...] = ()

    @property
    def owner(self) -> WorkloadOwner:
        """The owner of the workloads that this user submits."""
        return WorkloadOwner(user=self.name, groups=self.groups)

    @property
    def actor(self) -> str:
        """How events name this caller."""
        is_executor = all(grant.role == "executor" for grant in self.grants)
        return f"executor:{self.name}" if is_executor else f"user:{self.name}"

    @property
    def namespaces(self) -> frozenset[str] | None:
        """The namespaces that the user may read; None means every namespace."""
        if any(grant.shows_everything for grant in self.grants):
            return None
        return frozenset(name for grant in self.grants for name in grant.namespaces)

    @property
    def executors(self) -> frozenset[str] | None:
        """The Executors that the user may report for; None for a user who is bound to none."""
        named = [g.executor for g in self.grants if "report" in ROLE_RIGHTS[g.role]]
        return None if "" in named else frozenset(named)

    def may(self, right: Right, *, namespace: str = "", cluster_queue: str = "") -> bool:
        """Whether a grant allows something at a place; without a place, at any place."""
        return _is_granted(self.grants, right, namespace, cluster_queue)

    def require(self, right: Right, *, namespace: str = "", cluster_queue: str = "") -> None:
        """Raises `NotAllowed` where no grant allows something at a place."""
        if not self.may(right, namespace=namespace, cluster_queue=cluster_queue):
            raise refusal(self.name, self.grants, right, namespace, cluster_queue)

    def require_executor(self, executor: str) -> None:
        """Raises `NotAllowed` where the user is bound to another Executor."""
        bound = self.executors
        if bound is not None and executor not in bound:
            names = tuple(sorted(bound))
            raise NotAllowed("ExecutorNotGranted", user=self.name, bound=names, executor=executor)

    def sees(self, namespace: str) -> bool:
        """Whether objects of that namespace are this caller's to see."""
        scope = self.namespaces
        return scope is None or namespace in scope

    def authority(self, right: Right, namespace: str, cluster_queue: str) -> Authority:
        """The highest authority with a right at a place; raises `NotAllowed` for none."""
        self.require(right, namespace=namespace, cluster_queue=cluster_queue)
        found = granting(self.grants, right, namespace=namespace, cluster_queue=cluster_queue)
        return max((AUTHORITIES[grant.role] for grant in found), key=authority_rank)


ADMIN = Identity(name="admin", grants=(Grant(role="admin"),))
"""The user of the token that the installation is started with."""


def identity_of(token: Token) -> Identity:
    """The identity a token stands for."""
    return Identity(name=token.user, grants=token.grants, groups=token.groups)


@lru_cache(maxsize=1_024)
def _is_granted(
    grants: tuple[Grant, ...], right: Right, namespace: str, cluster_queue: str
) -> bool:
    """Whether any of the grants allows something at a place, which is asked of each item."""
    found = granting(grants, right, namespace=namespace, cluster_queue=cluster_queue)
    return any(True for _ in found)


class Tokens(Protocol):
    """The bearer tokens callers show and the service accounts; only digests are kept."""

    def all(self) -> list[Token]:
        """Every token, by name."""

    def add(self, token: Token) -> bool:
        """Keep a token; False if one of that name or digest exists, or its account is gone.

        A token of its own never has the name of a service account.
        """

    def remove(self, name: str) -> bool:
        """Forget a token; False if there was none."""

    def accounts(self) -> list[ServiceAccount]:
        """Every service account, by name."""

    def add_account(self, account: ServiceAccount) -> bool:
        """Keep a service account; False if one, or a token of its own, has that name."""

    def change_account(self, account: ServiceAccount) -> bool:
        """Give a service account other grants and groups; False if there is none."""

    def remove_account(self, name: str) -> bool:
        """Forget a service account and its tokens; False if there was none."""


MAX_VIEW_NAME_LENGTH = 60
MAX_VIEW_QUERY_LENGTH = 2_000
MAX_SAVED_VIEWS = 100
"""So many views a user keeps."""


class SavedView(msgspec.Struct, frozen=True, kw_only=True):
    """What a list of the page shows, as `owner` named it: `query` is that part of its address.

    A shared view is shown to every user; only its owner changes or deletes it.
    """

    owner: str
    name: str
    query: str
    is_shared: bool = False
    saved_at: Instant


class SavedViewStore(Protocol):
    """The views that users saved. Blocking."""

    def visible_to(self, user: str) -> list[SavedView]:
        """The views of a user, then those that others share, by name."""

    def save(self, view: SavedView, *, maximum: int) -> bool:
        """Keep a view in place of its owner's of that name; False if it were one too many."""

    def delete(self, owner: str, name: str) -> bool:
        """Forget a view; False if there was none."""


TOKEN_CACHE_SECONDS = 2.0
MAX_OUTAGE_SECONDS = 3_600.0
"""So long the tokens last read are valid while they cannot be read again."""
PATIENCE_SECONDS = 0.5
"""So long a request waits for the tokens to be read again, where they are known."""


def digest_of(secret: str) -> str:
    """What is kept of a secret."""
    return hashlib.sha256(secret.encode()).hexdigest()


class TokenCache:
    """Answers from memory; a token revoked elsewhere is refused within two seconds.

    While the database is away or hangs, the tokens last read stay valid for
    `MAX_OUTAGE_SECONDS`, each until it expires.
    """

    def __init__(self, tokens: Tokens, admin_secret: str) -> None:
        self._tokens = tokens
        self._admin_digest = digest_of(admin_secret) if admin_secret else ""
        self._by_digest: dict[str, Token] = {}
        self._read_at: float | None = None
        self._known_at: float | None = None
        self._reading: asyncio.Task[None] | None = None
        self._tried_at = float("-inf")
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="headgate-tokens")

    async def identity(self, secret: str, at: Instant) -> Identity | None:
        """Returns the user of a token's secret at an instant; None for an unknown token."""
        digest = digest_of(secret)
        if self._admin_digest and hmac.compare_digest(digest, self._admin_digest):
            return ADMIN
        await self._renew()
        token = self._by_digest.get(digest)
        if token is None and not self._is_fresh():
            raise Unavailable("The tokens cannot be read now.")
        if token is None or not hmac.compare_digest(token.digest, digest):
            return None
        if token.expires_at is not None and token.expires_at <= at:
            return None
        return identity_of(token)

    def forget(self, name: str = "") -> None:
        """Reads the table again before the next answer; a token of that `name` is gone at once."""
        self._read_at, self._tried_at, self._reading = None, float("-inf"), None
        self._by_digest = {d: token for d, token in self._by_digest.items() if token.name != name}

    def close(self) -> None:
        """Reads no more."""
        self._thread.shutdown(wait=False, cancel_futures=True)

    async def _renew(self) -> None:
        if self._is_fresh():
            return
        now = time.monotonic()
        is_known = self._known_at is not None and now - self._known_at < MAX_OUTAGE_SECONDS
        if self._reading is None:
            if is_known and now - self._tried_at < TOKEN_CACHE_SECONDS:
                return
            self._tried_at = now
            self._reading = asyncio.create_task(self._read())
            # Without this a failure that no request waits for would be reported as forgotten.
            self._reading.add_done_callback(lambda task: task.cancelled() or task.exception())
        elif is_known and now - self._tried_at > PATIENCE_SECONDS:
            return
        try:
            async with asyncio.timeout(PATIENCE_SECONDS if is_known else None):
                await asyncio.shield(self._reading)
        except (TimeoutError, Unavailable):
            if not is_known:
                raise

    async def _read(self) -> None:
        loop, reading = asyncio.get_running_loop(), asyncio.current_task()
        try:
            tokens = await loop.run_in_executor(self._thread, self._tokens.all)
            # What was read before `forget` may lack a token that was made since.
            if self._reading is reading:
                self._by_digest = {token.digest: token for token in tokens}
                self._read_at = self._known_at = time.monotonic()
        finally:
            if self._reading is reading:
                self._reading = None

    def _is_fresh(self) -> bool:
        return self._read_at is not None and time.monotonic() - self._read_at < TOKEN_CACHE_SECONDS
