"""The expected start of a workload: a range from past waits, or why there is no estimate.

Only waits that were lived through count: those of workloads of the same ClusterQueue and about the
same size. How well such ranges held before is told with them.
"""

from collections.abc import Sequence

from headgate.application.queries.views import Schema, Timestamp, timestamp
from headgate.domain.cluster_state import ClusterState
from headgate.domain.scheduling.queueing.queue_checks import cluster_queue_of
from headgate.domain.values.instants import MICROSECONDS_PER_SECOND, Instant
from headgate.domain.values.message import Message, message
from headgate.domain.workloads.explanation import UNSCHEDULABLE, Explanation
from headgate.domain.workloads.state import Workload, condition, phase_of
from headgate.messages.catalogue import text_of

MIN_SAMPLES = 8
MAX_SAMPLES = 500
HALF, NINE_TENTHS = 50, 90
UNPREDICTABLE_REASONS = {
    UNSCHEDULABLE: message("WorkloadUnschedulable"),
    "OnHold": message("IsOnHold"),
    "Deactivated": message("IsInactive"),
    "AdmissionGated": message("AdmissionGatesClosed"),
    "Stopped": message("QueueIsStopped"),
    "LocalQueueStopped": message("QueueIsStopped"),
    "Quarantined": message("WorkloadQuarantined"),
}
INACTIVE_QUEUE = message("QueueIsInactive")
UNSCHEDULABLE_HEAD = message("HeadCannotStart")


class Calibration(Schema, kw_only=True, frozen=True):
    """Of so many earlier starts, how many fell within the range that would have been told."""

    predictions: int
    held: int


class ExpectedStart(Schema, kw_only=True, frozen=True):
    """A range from the median to the 90th percentile of past waits, or why there is no estimate.

    `code` is that of `cannot_say`.
    """

    earliest: Timestamp | None = None
    latest: Timestamp | None = None
    basis: str = ""
    cannot_say: str = ""
    code: str = ""
    calibration: Calibration | None = None


def expected_start(
    cluster_state: ClusterState, workload: Workload, why: Explanation, at: Instant
) -> ExpectedStart | None:
    """Returns the range or the reason for none; None for admitted and finished workloads."""
    phase = phase_of(workload)
    if phase not in {"Pending", "Nominated", "Retrying", "OnHold", "Inactive"}:
        return None
    reason = _unforeseeable(cluster_state, why)
    if reason is not None:
        return _no_estimate(reason)
    waits = _waits_like(cluster_state, workload)
    waited = at - workload.created_at
    longer = sorted(wait for wait in waits if wait > waited)
    if len(waits) < MIN_SAMPLES:
        return _no_estimate(_too_few(len(waits)))
    if len(longer) < MIN_SAMPLES // 2:
        reason = message("PendingLongerThanSimilar", workloads=len(waits))
        return _no_estimate(reason, _calibration(waits))
    again = workload.requeue.requeue_at or 0
    return ExpectedStart(
        earliest=timestamp(max(again, workload.created_at + _percentile(longer, HALF))),
        latest=timestamp(max(again, workload.created_at + _percentile(longer, NINE_TENTHS))),
        basis=text_of(
            message(
                "WaitOfSimilarWorkloads",
                workloads=len(longer),
                waited=waited // MICROSECONDS_PER_SECOND,
            )
        ),
        calibration=_calibration(waits),
    )


def _no_estimate(reason: Message, calibration: Calibration | None = None) -> ExpectedStart:
    text = text_of(message("NoStartEstimate", reason=reason))
    return ExpectedStart(cannot_say=text, code=reason.code, calibration=calibration)


def _unforeseeable(cluster_state: ClusterState, why: Explanation) -> Message | None:
    """The reason that only a user can end, of the workload or of its queue's head; often None."""
    if why.dominant in UNPREDICTABLE_REASONS:
        return UNPREDICTABLE_REASONS[why.dominant]
    if any(blocker.type == "Queue" for blocker in why.blockers):
        return INACTIVE_QUEUE
    if why.dominant == "BehindHead":
        head = cluster_state.workloads.get(why.blockers[0].held_by[0])
        if head and head.explanation and head.explanation.dominant in UNPREDICTABLE_REASONS:
            return UNSCHEDULABLE_HEAD
    return None


def _too_few(count: int) -> Message:
    if not count:
        return message("NoSimilarWorkloadStarted")
    return message("FewSimilarWorkloadsStarted", workloads=count, needed=MIN_SAMPLES)


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
