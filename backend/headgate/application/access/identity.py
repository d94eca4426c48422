"""Who may do what: four roles, and the namespaces a submitter is confined to."""

import asyncio
import hashlib
import hmac
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Literal, Protocol

import msgspec

from headgate.application.ports import Unavailable
from headgate.domain.values.instants import Instant
from headgate.domain.workloads.events import WorkloadOwner

Role = Literal["viewer", "submitter", "executor", "admin"]
Right = Literal["read", "submit", "report", "configure"]

RIGHTS: dict[Role, tuple[Right, ...]] = {
    "viewer": ("read",),
    "submitter": ("read", "submit"),
    "executor": ("read", "report"),
    "admin": ("read", "submit", "report", "configure"),
}


class Token(msgspec.Struct, frozen=True, kw_only=True):
    """A bearer token as it is kept: `digest` is the SHA-256 of the secret in hexadecimal."""

    name: str
    role: Role
    digest: str
    namespaces: tuple[str, ...] = ()
    created_at: Instant
    expires_at: Instant | None = None


class Identity(msgspec.Struct, frozen=True, kw_only=True):
    """The user of a request. `namespaces` of None means every namespace."""

    name: str
    role: Role
    namespaces: frozenset[str] | None = None
    groups: tuple[str, ...] = ()

    @property
    def owner(self) -> WorkloadOwner:
        """The owner of the workloads that this user submits."""
        return WorkloadOwner(user=self.name, groups=self.groups)

    @property
    def actor(self) -> str:
        """How events name this caller."""
        return f"executor:{self.name}" if self.role == "executor" else f"user:{self.name}"

    def may(self, right: Right) -> bool:
        """Whether the role includes that right."""
        return right in RIGHTS[self.role]

    def sees(self, namespace: str) -> bool:
        """Whether objects of that namespace are this caller's to see."""
        return self.namespaces is None or namespace in self.namespaces


def identity_of(token: Token) -> Identity:
    """The identity a token stands for."""
    confined = token.role == "submitter"
    return Identity(
        name=token.name,
        role=token.role,
        namespaces=frozenset(token.namespaces) if confined else None,
    )


READ_VERBS = ("get", "list", "read", "watch", "explain")
REPORT_VERBS = ("report", "acknowledge", "progress", "finish", "heartbeat")


def right_for(verb: str, kind: str) -> Right:
    """The right that doing `verb` to objects of `kind` takes."""
    if verb in READ_VERBS:
        return "read"
    if verb in REPORT_VERBS:
        return "report"
    return "submit" if kind.lower() in ("workload", "workloads") else "configure"


class Tokens(Protocol):
    """The bearer tokens callers show; only digests are kept."""

    def all(self) -> list[Token]:
        """Every token, by name."""

    def add(self, token: Token) -> bool:
        """Keep a token; False if one of that name or digest exists."""

    def remove(self, name: str) -> bool:
        """Forget a token; False if there was none."""


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
            return Identity(name="admin", role="admin")
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
