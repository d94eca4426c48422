"""Time as a client measures it, seeded numbers, unique keys, and ids in order of time (UUID 7)."""

import os
import random
import secrets
import threading
import time

from headgate.domain.values.instants import Instant


def elapsed_seconds() -> float:
    """Seconds on a clock that never goes back; only differences mean something."""
    return time.monotonic()


def wall_clock() -> Instant:
    """Now, by this machine's clock; never used to decide anything on the server."""
    return time.time_ns() // 1_000


def pause(seconds: float) -> None:
    """Do nothing for a while."""
    time.sleep(max(0.0, seconds))


RandomSource = random.Random
"""A source of numbers that only look random; its seed decides them all."""


def seeded(*parts: str | int) -> RandomSource:
    """A generator that gives the same numbers for the same parts on every machine."""
    return random.Random(":".join(str(part) for part in parts))  # noqa: S311 - a simulation, not a secret


def unique_key() -> str:
    """A unique idempotency key, for requests that may be sent twice."""
    return secrets.token_hex(16)


SIGNING_KEY_BYTES = 32


def signing_key() -> bytes:
    """Random bytes that sign what is sent to others."""
    return secrets.token_bytes(SIGNING_KEY_BYTES)


COUNTER_BITS = 18


TAIL_BYTES = 7


TAIL_BITS = 8 * TAIL_BYTES


TAILS_AT_ONCE = 500


class TimeOrderedIds:
    """Fills the port `Ids` (RFC 9562 §5.7, with a counter after §6.2 method 1)."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._last = (0, 0)
        self._tails: list[int] = []
        self._process = os.getpid()

    def new(self) -> str:
        """A unique id, greater than every earlier one of this process."""
        with self._lock:
            milliseconds, counter = self._next()
            tail = self._tail()
        digits = f"{_version_7(milliseconds, counter, tail):032x}"
        return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"

    def _next(self) -> tuple[int, int]:
        last_milliseconds, last_counter = self._last
        milliseconds = max(time.time_ns() // 1_000_000, last_milliseconds)
        counter = last_counter + 1 if milliseconds == last_milliseconds else 0
        if counter >= 1 << COUNTER_BITS:
            milliseconds, counter = milliseconds + 1, 0
        self._last = (milliseconds, counter)
        return self._last

    def _tail(self) -> int:
        """Random bits, many drawn at once: asking the system takes longer than all the rest.

        A forked process draws its own, as it would hand out its parent's otherwise.
        """
        if not self._tails or self._process != os.getpid():
            self._process = os.getpid()
            drawn = os.urandom(TAILS_AT_ONCE * TAIL_BYTES)
            places = range(0, len(drawn), TAIL_BYTES)
            self._tails = [int.from_bytes(drawn[n : n + TAIL_BYTES], "big") for n in places]
        return self._tails.pop()


def _version_7(milliseconds: int, counter: int, tail: int) -> int:
    """48 bits of time, the version, 12 bits, the variant, 62 bits."""
    low = (counter << TAIL_BITS) | tail
    return milliseconds << 80 | 0x7 << 76 | (low >> 62) << 64 | 0b10 << 62 | low & ((1 << 62) - 1)
