"""The expected start of a workload: a range from past waits, or why there is no estimate.

Only waits that were lived through count: those of workloads of the same ClusterQueue and about the
same size. How well such ranges held before is told with them.
"""

from collections.abc import Sequence

from headgate.application.queries.views import Schema, Timestamp, timestamp
from headgate.domain.cluster_state import ClusterState
from headgate.domain.scheduling.queueing.queue_checks import cluster_queue_of
from headgate.domain.values.instants import MICROSECONDS_PER_SECOND, Instant
from headgate.domain.workloads.explanation import Explanation
from headgate.domain.workloads.state import Workload, condition, phase_of

MIN_SAMPLES = 8
MAX_SAMPLES = 500
HALF, NINE_TENTHS = 50, 90
NO_ESTIMATE = "No start estimate"
UNPREDICTABLE_REASONS = {
    "ExceedsMaxQuota": "the request exceeds the maximum quota of the queue",
    "NoMatchingFlavor": "no eligible flavor",
    "OnHold": "on hold",
    "Deactivated": "the workload is inactive",
    "AdmissionGated": "an admission gate is closed",
    "Stopped": "the queue is stopped",
    "LocalQueueStopped": "the queue is stopped",
    "SetAside": "the workload is quarantined",
}
BROKEN_QUEUE = "the queue is inactive"
UNSCHEDULABLE_HEAD = "the head of the StrictFIFO queue can't start"


class Calibration(Schema, kw_only=True, frozen=True):
    """Of so many earlier starts, how many fell within the range that would have been told."""

    predictions: int
    held: int


class ExpectedStart(Schema, kw_only=True, frozen=True):
    """A range from the median to the 90th percentile of past waits, or why there is no estimate."""

    earliest: Timestamp | None = None
    latest: Timestamp | None = None
    basis: str = ""
    cannot_say: str = ""
    calibration: Calibration | None = None


def expected_start(
    cluster_state: ClusterState, workload: Workload, why: Explanation, at: Instant
) -> ExpectedStart | None:
    """Returns the range or the reason for none; None for admitted and finished workloads."""
    phase = phase_of(workload)
    if phase not in {"Pending", "Nominated", "Retrying", "OnHold", "Inactive"}:
        return None
    failure = _unforeseeable(cluster_state, why)
    if failure:
        return ExpectedStart(cannot_say=f"{NO_ESTIMATE}: {failure}.")
    waits = _waits_like(cluster_state, workload)
    waited = at - workload.created_at
    longer = sorted(wait for wait in waits if wait > waited)
    if len(waits) < MIN_SAMPLES:
        return ExpectedStart(cannot_say=f"{NO_ESTIMATE}: {_too_few(len(waits))}.")
    if len(longer) < MIN_SAMPLES // 2:
        reason = f"it has waited longer than nearly all of {len(waits)} similar workloads"
        return ExpectedStart(
            cannot_say=f"{NO_ESTIMATE}: {reason}.", calibration=_calibration(waits)
        )
    again = workload.requeue.requeue_at or 0
    return ExpectedStart(
        earliest=timestamp(max(again, workload.created_at + _percentile(longer, HALF))),
        latest=timestamp(max(again, workload.created_at + _percentile(longer, NINE_TENTHS))),
        basis=f"p50–p90 wait of {len(longer)} similar workloads in this queue that waited longer "
        f"than {waited // MICROSECONDS_PER_SECOND} s.",
        calibration=_calibration(waits),
    )


def _unforeseeable(cluster_state: ClusterState, why: Explanation) -> str:
    """Returns a reason that time alone does not end, of the workload or its queue's head; or ''."""
    if why.dominant in UNPREDICTABLE_REASONS:
        return UNPREDICTABLE_REASONS[why.dominant]
    if any(blocker.type == "Queue" for blocker in why.blockers):
        return BROKEN_QUEUE
    if why.dominant == "BehindHead":
        head = cluster_state.workloads.get(why.blockers[0].held_by[0])
        if head and head.explanation and head.explanation.dominant in UNPREDICTABLE_REASONS:
            return UNSCHEDULABLE_HEAD
    return ""


def _too_few(count: int) -> str:
    if not count:
        return "no similar workload has started in this queue yet"
    started = "1 similar workload has" if count == 1 else f"{count} similar workloads have"
    return f"only {started} started in this queue ({MIN_SAMPLES} needed)"


def _waits_like(cluster_state: ClusterState, workload: Workload) -> list[int]:
    """Returns the waits of similar workloads in its queue, in the order they started."""
    queue, size = cluster_queue_of(cluster_state.config, workload), _size(workload)
    found = []
    for key, other in sorted(cluster_state.workloads.items()):
        reserved = condition(other, "QuotaReserved")
        is_like = other.admission is not None and other.admission.cluster_queue == queue
        if is_like and reserved is not None and reserved.status and _size(other) == size:
            wait = reserved.last_transition_at - other.created_at
            found.append((reserved.last_transition_at, key, wait))
    return [wait for _, _, wait in sorted(found)[-MAX_SAMPLES:]]


def _size(workload: Workload) -> tuple[tuple[str, int], ...]:
    """Returns the total requests by powers of two."""
    total: dict[str, int] = {}
    for pod_set in workload.spec.pod_sets:
        for resource, amount in pod_set.scheduling.requests.items():
            total[resource] = total.get(resource, 0) + amount * pod_set.count
    return tuple((resource, amount.bit_length()) for resource, amount in sorted(total.items()))


def _calibration(waits: Sequence[int]) -> Calibration:
    """Returns how many starts came within the 90th percentile of the waits before them."""
    held = sum(
        wait <= _percentile(sorted(waits[:number]), NINE_TENTHS)
        for number, wait in enumerate(waits)
        if number >= MIN_SAMPLES
    )
    return Calibration(predictions=max(0, len(waits) - MIN_SAMPLES), held=held)


def _percentile(ordered: Sequence[int], percent: int) -> int:
    return ordered[min(len(ordered) - 1, len(ordered) * percent // 100)]
