"""waitForPodsReady: the pods-ready timeout and the backoff of requeueing (queueing.md §5.6)."""

from collections.abc import Iterator, Mapping
from functools import lru_cache
from hashlib import sha256
from typing import Literal

import msgspec
from msgspec.structs import replace

from headgate.domain.field_rules import range_violations
from headgate.domain.rejection import Violation, child, violation
from headgate.domain.values.instants import MICROSECONDS_PER_SECOND


class RequeuingStrategy(msgspec.Struct, frozen=True, kw_only=True):
    """Backoff after a pods-ready timeout; a missing limit means endless retries.

    `backoff_limit_count` and `retry_limit_seconds` are the two maximum-retry conditions of
    KEP-1282, whichever is met first: so many requeues, and so long from the first start to ready
    pods. `reset_after_seconds` is how long pods must stay ready for the count to start over; Kueue
    never starts it over (trap Q7), and None does as Kueue does.

    `backoff_limit_counts` and `retry_limit_from` choose between the two readings of each condition
    (docs/semantics/readiness.md): the limit is a number of requeues (Kueue) or of timeouts, and the
    time counts from the first admission (ADR 0016) or from the queue order timestamp.
    """

    timestamp: Literal["Eviction", "Creation"] = "Eviction"
    backoff_limit_count: int | None = None
    backoff_base_seconds: int = 60
    backoff_max_seconds: int = 3600
    retry_limit_seconds: int | None = None
    reset_after_seconds: int | None = None
    backoff_limit_counts: Literal["Requeues", "Timeouts"] = "Requeues"
    retry_limit_from: Literal["FirstAdmission", "QueueOrderTimestamp"] = "FirstAdmission"

    def is_past_limit(self, count: int) -> bool:
        """Whether the `count`-th timeout deactivates; without a limit none does."""
        limit = self.backoff_limit_count
        if limit is None:
            return False
        return count > limit if self.backoff_limit_counts == "Requeues" else count >= limit


class WaitForPodsReady(msgspec.Struct, frozen=True, kw_only=True):
    """How long admitted pods may take to become ready, and what follows (queueing.md §5.6).

    `recovery_timeout_seconds` is how long lost readiness may last: None is as `timeout_seconds`, 0
    is without limit (Kueue: v1beta2 `SetDefaults`). `unscheduled_timeout_seconds` is how long pods
    may take to be started on their nodes, 0 without limit (KEP-13502). Where `workload_timeouts` is
    on, the annotation of a workload overrides both timeouts, up to
    `max_timeout_on_workload_seconds` (KEP-4803).
    """

    timeout_seconds: int = 1800
    recovery_timeout_seconds: int | None = None
    requeuing_strategy: RequeuingStrategy = RequeuingStrategy()
    unscheduled_timeout_seconds: int = 0
    workload_timeouts: bool = False
    max_timeout_on_workload_seconds: int = 7200

    @property
    def recovery_limit_seconds(self) -> int:
        """The longest time without ready pods after they were ready; 0 is without limit."""
        given = self.recovery_timeout_seconds
        return self.timeout_seconds if given is None else given


def wait_violations(pointer: str, wait: WaitForPodsReady | None) -> Iterator[Violation]:
    """Broken rules of the waitForPodsReady at `pointer`."""
    if wait is None:
        return
    requeuing = wait.requeuing_strategy
    lengths = (
        ("timeout", wait.timeout_seconds),
        ("recoveryTimeout", wait.recovery_timeout_seconds),
        ("maxTimeoutOnWorkload", wait.max_timeout_on_workload_seconds),
        ("requeuingStrategy/backoffLimitCount", requeuing.backoff_limit_count),
        ("requeuingStrategy/backoffBaseSeconds", requeuing.backoff_base_seconds),
        ("requeuingStrategy/backoffMaxSeconds", requeuing.backoff_max_seconds),
        ("requeuingStrategy/maxBackOffRetryTimeout", requeuing.retry_limit_seconds),
        ("requeuingStrategy/backoffResetAfter", requeuing.reset_after_seconds),
    )
    for field, length in lengths:
        yield from range_violations(f"{pointer}/{field}", length, 0)
    unscheduled = wait.unscheduled_timeout_seconds
    yield from range_violations(
        f"{pointer}/unscheduledTimeout", unscheduled, 0, max(0, wait.timeout_seconds)
    )


WORKLOAD_TIMEOUTS = "kueue.x-k8s.io/wait-for-pods-ready"
"""The annotation with the timeouts of one workload, as JSON (Kueue: KEP-4803)."""


class WorkloadTimeouts(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """The timeouts of one workload: `recovery_timeout_seconds` is the other one unless given."""

    timeout_seconds: int
    recovery_timeout_seconds: int | None = None


@lru_cache(maxsize=1_024)
def timeouts_of(annotation: str) -> WorkloadTimeouts | None:
    """The timeouts that an annotation says; None for a text that says none."""
    try:
        return msgspec.json.decode(annotation, type=WorkloadTimeouts)
    except msgspec.DecodeError:
        return None


def with_workload_timeouts(
    wait: WaitForPodsReady, annotations: Mapping[str, str]
) -> WaitForPodsReady:
    """The rules with the timeouts of a workload's annotation, where workloads may have some."""
    if not wait.workload_timeouts or WORKLOAD_TIMEOUTS not in annotations:
        return wait
    own = timeouts_of(annotations[WORKLOAD_TIMEOUTS])
    if own is None:
        return wait
    return replace(
        wait,
        timeout_seconds=own.timeout_seconds,
        recovery_timeout_seconds=own.recovery_timeout_seconds,
        unscheduled_timeout_seconds=min(wait.unscheduled_timeout_seconds, own.timeout_seconds),
    )


def workload_timeout_violations(
    wait: WaitForPodsReady | None, annotations: Mapping[str, str], before: str | None
) -> Iterator[Violation]:
    """Broken rules of the annotation of a workload.

    `before` is the annotation of a workload that holds quota, which cannot change; None for others.
    """
    told = annotations.get(WORKLOAD_TIMEOUTS, "")
    if wait is None or not wait.workload_timeouts:
        return
    pointer = child("/metadata/annotations", WORKLOAD_TIMEOUTS)
    if before is not None and before != told:
        yield violation(pointer, "TimeoutsOfRunningWorkload")
    if not told:
        return
    own = timeouts_of(told)
    if own is None:
        yield violation(pointer, "WorkloadTimeoutsInvalid")
        return
    maximum = wait.max_timeout_on_workload_seconds
    yield from range_violations(pointer, own.timeout_seconds, 1, maximum)
    yield from range_violations(pointer, own.recovery_timeout_seconds, 0, maximum)


MAX_DOUBLINGS = 40
"""Doublings that are applied at most; a longer delay outlives every installation."""


JITTER_DIVISOR = 10_000
"""The jitter is at most the delay divided by this; it spreads workloads evicted together."""


def backoff_seconds(strategy: RequeuingStrategy, count: int) -> int:
    """The delay before the `count`-th requeue: the base, doubled each time up to the maximum.

    The first delay is not capped, and a maximum of 0 means no cap (trap Q32).
    """
    base = strategy.backoff_base_seconds
    if count <= 1:
        return base
    delay = base << min(count - 1, MAX_DOUBLINGS)
    limit = strategy.backoff_max_seconds
    return min(delay, limit) if limit else delay


def backoff_microseconds(strategy: RequeuingStrategy, count: int, uid: str) -> int:
    """The delay with its jitter, which is a hash of uid and count so that plans are repeatable."""
    delay = backoff_seconds(strategy, count) * MICROSECONDS_PER_SECOND
    drawn = int.from_bytes(sha256(f"{uid}/{count}".encode()).digest()[:8])
    return delay + delay * drawn // (2**64 * JITTER_DIVISOR)
