"""New ids: UUIDs of version 7, in order of time also within one millisecond of one process."""

import secrets
import threading
import time
import uuid

COUNTER_BITS = 18
TAIL_BITS = 56


class TimeOrderedIds:
    """Fills the port `Ids` (RFC 9562 §5.7, with a counter after §6.2 method 1)."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._last = (0, 0)

    def new(self) -> str:
        """An id nobody else has, greater than every earlier one of this process."""
        milliseconds, counter = self._next()
        tail = secrets.randbits(TAIL_BITS)
        return str(uuid.UUID(int=_version_7(milliseconds, counter, tail)))

    def _next(self) -> tuple[int, int]:
        with self._lock:
            last_milliseconds, last_counter = self._last
            milliseconds = max(time.time_ns() // 1_000_000, last_milliseconds)
            counter = last_counter + 1 if milliseconds == last_milliseconds else 0
            if counter >= 1 << COUNTER_BITS:
                milliseconds, counter = milliseconds + 1, 0
            self._last = (milliseconds, counter)
            return self._last


def _version_7(milliseconds: int, counter: int, tail: int) -> int:
    """48 bits of time, the version, 12 bits, the variant, 62 bits."""
    low = (counter << TAIL_BITS) | tail
    return milliseconds << 80 | 0x7 << 76 | (low >> 62) << 64 | 0b10 << 62 | low & ((1 << 62) - 1)
