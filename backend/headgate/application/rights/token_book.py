"""Whom a bearer token stands for, by a copy of the token table renewed every few seconds."""

import asyncio
import hashlib
import hmac
import time

from headgate.application.ports import Tokens
from headgate.application.rights.access import Identity, Token, identity_of
from headgate.domain.values.instants import Instant

SECONDS_A_COPY_HOLDS = 2.0


def digest_of(secret: str) -> str:
    """What is kept of a secret."""
    return hashlib.sha256(secret.encode()).hexdigest()


class TokenBook:
    """Answers from memory; a token revoked elsewhere is refused within two seconds."""

    def __init__(self, tokens: Tokens, admin_secret: str) -> None:
        self._tokens = tokens
        self._admin_digest = digest_of(admin_secret) if admin_secret else ""
        self._by_digest: dict[str, Token] = {}
        self._read_at: float | None = None
        self._reading = asyncio.Lock()

    async def identity(self, secret: str, at: Instant) -> Identity | None:
        """Whom a secret stands for at an instant, if anyone."""
        digest = digest_of(secret)
        if self._admin_digest and hmac.compare_digest(digest, self._admin_digest):
            return Identity(name="admin", role="admin")
        await self._renew()
        token = self._by_digest.get(digest)
        if token is None or not hmac.compare_digest(token.digest, digest):
            return None
        if token.expires_at is not None and token.expires_at <= at:
            return None
        return identity_of(token)

    def forget(self) -> None:
        """Read the table again before the next answer."""
        self._read_at = None

    async def _renew(self) -> None:
        if self._is_fresh():
            return
        async with self._reading:
            if not self._is_fresh():
                tokens = await asyncio.to_thread(self._tokens.all)
                self._by_digest = {token.digest: token for token in tokens}
                self._read_at = time.monotonic()

    def _is_fresh(self) -> bool:
        return self._read_at is not None and time.monotonic() - self._read_at < SECONDS_A_COPY_HOLDS
