"""How many requests and event streams a user may have, by role."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass

import msgspec

from headgate.application.access.identity import Identity
from headgate.application.failures import UseCaseFailure

MAX_WAITING = 1_000
"""Requests of a user that are worked on or wait for their turn; one more is refused."""
MAX_KNOWN = 10_000
"""Tokens with counts; beyond it those that have nothing open are forgotten."""


class RequestLimit(msgspec.Struct, frozen=True, kw_only=True):
    """The requests a second, the burst on top of an idle time, and the open streams of a user.

    Of the requests of a user at most `at_once` are worked on; the others wait for their turn.
    """

    requests_per_second: int
    burst: int
    streams: int
    at_once: int = 1


ADMIN_LIMIT = RequestLimit(requests_per_second=1_000, burst=2_000, streams=1_000, at_once=512)
USER_LIMIT = RequestLimit(requests_per_second=200, burst=400, streams=100)
DEFAULT_LIMITS: Mapping[str, RequestLimit] = {
    "admin": ADMIN_LIMIT,
    "executor": RequestLimit(requests_per_second=500, burst=1_000, streams=100, at_once=64),
}
"""By role; a role that is not named here has `USER_LIMIT`."""


class TooManyRequests(UseCaseFailure):
    """A token has used up its requests; the next is free within a second."""


class TooManyStreams(UseCaseFailure):
    """A token has as many open streams as it may have."""


class InvalidLimits(ValueError):
    """A setting of limits cannot be read; the message says where."""


def read_limits(text: str) -> dict[str, RequestLimit]:
    """Returns limits by role from `viewer=50/100/20,…`: requests a second, burst, streams.

    Roles that `text` does not name keep their defaults. Raises `InvalidLimits`.
    """
    found = dict(DEFAULT_LIMITS)
    for part in filter(None, (part.strip() for part in text.split(","))):
        role, _, figures = part.partition("=")
        numbers = figures.split("/")
        are_numbers = all(n.isascii() and n.isdigit() and int(n) > 0 for n in numbers)
        if not role or len(numbers) != 3 or not are_numbers:  # noqa: PLR2004 - as the format says
            raise InvalidLimits(
                f"{part!r} is not ROLE=REQUESTS/BURST/STREAMS, such as viewer=50/100/20"
            )
        rate, burst, streams = map(int, numbers)
        found[role] = msgspec.structs.replace(
            found.get(role, USER_LIMIT), requests_per_second=rate, burst=burst, streams=streams
        )
    return found


@dataclass(slots=True)
class _Use:
    """What a user has used: the requests left at an instant, open streams, and those at work."""

    left: float
    at: float
    turns: asyncio.Semaphore
    streams: int = 0
    waiting: int = 0

    @property
    def is_open(self) -> bool:
        """Whether anything of the user is open now."""
        return bool(self.streams or self.waiting)


@asynccontextmanager
async def _turn(use: _Use) -> AsyncIterator[None]:
    use.waiting += 1
    try:
        async with use.turns:
            yield
    finally:
        use.waiting -= 1


class RequestLimits:
    """Counts the requests and streams of each user in this process."""

    def __init__(
        self, limits: Mapping[str, RequestLimit], elapsed: Callable[[], float] = time.monotonic
    ) -> None:
        self._limits = limits
        self._elapsed = elapsed
        self._uses: dict[str, _Use] = {}

    @asynccontextmanager
    async def request(
        self, identity: Identity, *, is_stream: bool, takes_turns: bool = True
    ) -> AsyncIterator[None]:
        """Counts a request while it lasts, from its turn on; a stream needs none.

        Long work in threads takes no turn either: its threads are bounded by user.

        Raises `TooManyRequests` and `TooManyStreams`.
        """
        limit = self._limit_of(identity)
        use = self._use_of(identity, limit)
        if use.left < 1:
            raise TooManyRequests("RequestRateExceeded", maximum=limit.requests_per_second)
        if is_stream and use.streams >= limit.streams:
            raise TooManyStreams("TooManyStreams", maximum=limit.streams)
        if takes_turns and use.waiting >= MAX_WAITING:
            raise TooManyRequests("TooManyRequestsAtOnce", maximum=MAX_WAITING)
        use.left -= 1
        if not is_stream and takes_turns:
            async with _turn(use):
                yield
            return
        use.streams += is_stream
        try:
            yield
        finally:
            use.streams -= is_stream

    def _limit_of(self, identity: Identity) -> RequestLimit:
        """The limit of the role that has the most, of those that the user has."""
        limits = [self._limits.get(grant.role, USER_LIMIT) for grant in identity.grants]
        return max(limits, key=lambda limit: limit.requests_per_second, default=USER_LIMIT)

    def _use_of(self, identity: Identity, limit: RequestLimit) -> _Use:
        now, key = self._elapsed(), identity.name
        use = self._uses.get(key)
        if use is None:
            if len(self._uses) >= MAX_KNOWN:
                self._uses = {k: known for k, known in self._uses.items() if known.is_open}
            use = self._uses[key] = _Use(limit.burst, now, asyncio.Semaphore(limit.at_once))
        use.left = min(limit.burst, use.left + (now - use.at) * limit.requests_per_second)
        use.at = now
        return use
