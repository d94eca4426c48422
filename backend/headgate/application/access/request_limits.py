"""How many requests and event streams a user may have, by role."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from threading import Lock

import msgspec

from headgate.application.access.identity import Identity
from headgate.application.failures import UseCaseFailure

MAX_WAITING = 1_000
"""Requests of a user that are worked on or wait for their turn; one more is refused."""
MAX_LONG_AT_ONCE = 2
"""Long requests of a user that are worked on, whatever its role; the others wait for their turn."""
LIGHT_SECONDS = 0.05
"""A user whose requests took no more work than this of late gives way to no other."""
HALF_LIFE_SECONDS = 2.0
"""After so long half of the work of a user is forgotten."""
YOUNG_SECONDS = 0.5
"""So long after its begin others give way to a request; then it waits for something itself."""
MAX_PAUSE_SECONDS = 0.1
"""So long a request gives way before each slice of its work at most, so that it comes to an end."""
RECENT_SECONDS = 1.0
"""So long after its last request a user counts as one that asks."""
POLL_SECONDS = 0.002
"""How often a thread that gives way looks whether it may go on."""
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
USER_LIMIT = RequestLimit(requests_per_second=200, burst=400, streams=100, at_once=2)
"""Two at once, so that a list does not wait for an overview of the same page."""
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
    """What a user has used: requests left at an instant, open streams, and work of late."""

    left: float
    at: float
    turns: asyncio.Semaphore
    long_turns: asyncio.Semaphore
    streams: int = 0
    waiting: int = 0
    at_work: int = 0
    work_seconds: float = 0.0
    worked_at: float = 0.0
    is_among_others: Callable[[], bool] = lambda: False

    @property
    def is_open(self) -> bool:
        """Whether anything of the user is open now."""
        return bool(self.streams or self.waiting)

    def recent_seconds(self, now: float) -> float:
        """The work of late, of which half is forgotten in every half-life."""
        elapsed = max(0.0, now - self.worked_at)
        return float(self.work_seconds * 0.5 ** (elapsed / HALF_LIFE_SECONDS))

    def weight(self, now: float) -> tuple[bool, float]:
        """How much of the process the user takes; users with less go first.

        A user with more requests than may be at work takes most.
        """
        return self.is_beyond_turns, self.recent_seconds(now)

    @property
    def is_beyond_turns(self) -> bool:
        """Whether the user has more requests than may be at work."""
        return self.waiting > self.at_work

    def add_work(self, seconds: float, now: float) -> None:
        """Counts processor seconds."""
        self.work_seconds, self.worked_at = self.recent_seconds(now) + seconds, now


@dataclass(slots=True, eq=False)
class RequestWork:
    """A request that is worked on, on the event loop or in threads.

    It gives way to requests of users that take less of the process.
    """

    use: _Use
    begun_at: float
    at_work: dict["RequestWork", None]
    elapsed: Callable[[], float]
    ended: asyncio.Event = field(default_factory=asyncio.Event)
    _counting: Lock = field(default_factory=Lock)

    def spend(self, seconds: float) -> None:
        """Counts processor seconds of the work, in any thread."""
        with self._counting:
            self.use.add_work(seconds, self.elapsed())

    def is_heavier_than(self, other: "RequestWork") -> bool:
        """Whether another request goes before this one."""
        now = self.elapsed()
        mine = self.use.weight(now)
        return mine > (False, LIGHT_SECONDS) and mine > other.use.weight(now)

    def lighter(self) -> "RequestWork | None":
        """A request at work that goes before this one, if any: of others, if it began lately.

        Where others ask too, those of a user with more requests than turns go one after the other.
        """
        since = self.elapsed() - YOUNG_SECONDS
        at_work = list(self.at_work)
        others = (other for other in at_work if other.use is not self.use)
        found = next(
            (each for each in others if each.begun_at >= since and self.is_heavier_than(each)), None
        )
        if found is not None or not self.use.is_beyond_turns or not self.use.is_among_others():
            return found
        first = next((each for each in at_work if each.use is self.use), self)
        return None if first is self else first

    async def give_way(self) -> None:
        """Waits a little while requests of lighter users are at work."""
        ends_at = self.elapsed() + MAX_PAUSE_SECONDS
        while (other := self.lighter()) is not None and (left := ends_at - self.elapsed()) > 0:
            with suppress(TimeoutError):
                async with asyncio.timeout(left):
                    await other.ended.wait()

    def pause_thread(self) -> None:
        """Waits as `give_way` does, in a thread."""
        ends_at = self.elapsed() + MAX_PAUSE_SECONDS
        while self.lighter() is not None and self.elapsed() < ends_at:
            time.sleep(POLL_SECONDS)


class RequestLimits:
    """Counts the requests and streams of each user in this process."""

    def __init__(
        self,
        limits: Mapping[str, RequestLimit],
        elapsed: Callable[[], float] = time.monotonic,
    ) -> None:
        self._limits = limits
        self._elapsed = elapsed
        self._uses: dict[str, _Use] = {}
        self._at_work: dict[RequestWork, None] = {}
        self._latest: tuple[str, float] = "", float("-inf")
        self._another: tuple[str, float] = "", float("-inf")

    @asynccontextmanager
    async def request(
        self, identity: Identity, *, is_stream: bool, is_long: bool = False
    ) -> AsyncIterator[RequestWork]:
        """Counts a request while it lasts, from its turn on; a stream needs none.

        It yields the work, to be counted; that of a stream gives way and delays no other. Long
        requests have turns of their own, so that the others do not wait for them. With so few of
        each user at once, those of several users come one after the other in turn.

        Raises `TooManyRequests` and `TooManyStreams`.
        """
        limit = self._limit_of(identity)
        use = self._use_of(identity, limit)
        if use.left < 1:
            raise TooManyRequests("RequestRateExceeded", maximum=limit.requests_per_second)
        if is_stream and use.streams >= limit.streams:
            raise TooManyStreams("TooManyStreams", maximum=limit.streams)
        if not is_stream and use.waiting >= MAX_WAITING:
            raise TooManyRequests("TooManyRequestsAtOnce", maximum=MAX_WAITING)
        use.left -= 1
        if is_stream:
            use.streams += 1
            try:
                yield RequestWork(use, self._elapsed(), self._at_work, self._elapsed)
            finally:
                use.streams -= 1
            return
        use.waiting += 1
        try:
            async with use.long_turns if is_long else use.turns:
                work = RequestWork(use, self._elapsed(), self._at_work, self._elapsed)
                use.at_work += 1
                try:
                    await work.give_way()
                    work.begun_at = self._elapsed()
                    self._at_work[work] = None
                    yield work
                finally:
                    use.at_work -= 1
                    self._at_work.pop(work, None)
                    work.ended.set()
        finally:
            use.waiting -= 1

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
            turns, long_turns = map(asyncio.Semaphore, (limit.at_once, MAX_LONG_AT_ONCE))
            use = self._uses[key] = _Use(
                limit.burst,
                now,
                turns,
                long_turns,
                worked_at=now,
                is_among_others=partial(self._has_others, key),
            )
        if self._latest[0] != key:
            self._another = self._latest
        self._latest = key, now
        use.left = min(limit.burst, use.left + (now - use.at) * limit.requests_per_second)
        use.at = now
        return use

    def _has_others(self, user: str) -> bool:
        """Whether another user has asked lately."""
        name, at = self._another if self._latest[0] == user else self._latest
        return name != user and self._elapsed() - at < RECENT_SECONDS
