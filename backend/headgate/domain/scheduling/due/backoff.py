"""How long a workload backs off after its pods were not ready in time (queueing.md §5.5)."""

from hashlib import sha256

from headgate.domain.queues.specs import RequeuingStrategy
from headgate.domain.values.instants import MICROSECONDS_PER_SECOND

MAX_DOUBLINGS = 40
"""Past this a delay is longer than anyone lives; it keeps the numbers small."""

JITTER_DIVISOR = 10_000
"""The delay grows by up to one part in so many, so that workloads evicted together spread."""


def backoff_seconds(strategy: RequeuingStrategy, count: int) -> int:
    """The delay before the `count`-th requeue: doubling from the base up to the most.

    The first delay is not capped, and a most of 0 means no cap (trap T32).
    """
    base = strategy.backoff_base_seconds
    if count <= 1:
        return base
    delay = base << min(count - 1, MAX_DOUBLINGS)
    most = strategy.backoff_max_seconds
    return min(delay, most) if most else delay


def backoff_microseconds(strategy: RequeuingStrategy, count: int, uid: str) -> int:
    """The delay with its jitter, drawn from the workload and the count, not from chance."""
    delay = backoff_seconds(strategy, count) * MICROSECONDS_PER_SECOND
    drawn = int.from_bytes(sha256(f"{uid}/{count}".encode()).digest()[:8])
    return delay + delay * drawn // (2**64 * JITTER_DIVISOR)


def is_past_limit(strategy: RequeuingStrategy, count: int) -> bool:
    """Whether the `count`-th requeue is one more than allowed; no limit allows any number."""
    limit = strategy.backoff_limit_count
    return limit is not None and count > limit
