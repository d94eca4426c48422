"""The time at which the current pending reason was first recorded, and the number of evaluations.

Both are read from the streams of the log, so that every reader gets the same answer at a position.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from headgate.application.scheduling_cycles import SCHEDULER
from headgate.domain.kinds.admission_check import AdmissionCheckReported
from headgate.domain.kinds.cluster_queue import (
    ClusterQueueChanged,
    ClusterQueueCreated,
    ClusterQueueResumed,
    ClusterQueueStopped,
)
from headgate.domain.kinds.local_queue import (
    LocalQueueChanged,
    LocalQueueCreated,
    LocalQueueResumed,
    LocalQueueStopped,
)
from headgate.domain.object_set import ObjectSet
from headgate.domain.recorded_event import DomainEvent, RecordedEvent, stream_of, workload_stream
from headgate.domain.workloads.events import (
    EvictionAcknowledged,
    EvictionProgressed,
    NominationWithdrawn,
    PlacementNominated,
    RequeueCountReset,
    WorkloadCheckReported,
    WorkloadChecksRequired,
    WorkloadDeactivated,
    WorkloadExplained,
    WorkloadHeld,
    WorkloadPodsReclaimed,
    WorkloadQuotaReserved,
    WorkloadReleased,
    WorkloadRequeued,
    WorkloadSpecChanged,
)
from headgate.domain.workloads.explanation import Explanation
from headgate.domain.workloads.preemption_events import PreemptionGateOpened, PreemptionWithheld
from headgate.domain.workloads.state import Workload

EVALUATION_EVENTS = (WorkloadExplained, WorkloadQuotaReserved, PlacementNominated)
NEUTRAL_EVENTS = (
    EvictionAcknowledged,
    EvictionProgressed,
    NominationWithdrawn,
    PlacementNominated,
    PreemptionWithheld,
    RequeueCountReset,
    WorkloadCheckReported,
    WorkloadChecksRequired,
    WorkloadExplained,
)
"""What happens to a workload and changes nothing of what keeps it."""

CAUSING_EVENTS = {
    "AdmissionGated",
    "Admitted",
    "BackingOff",
    "Cancelled",
    "Deactivated",
    "Ending",
    "Evicting",
    "Failed",
    "HostsFailed",
    "NoQueue",
    "OnHold",
    "PendingDelayedTopologyRequests",
    "Succeeded",
    "UnsatisfiedAdmissionChecks",
}
"""Reasons that follow from the workload's own events alone."""

NEUTRAL_EVENTS_OF_REASON: dict[str, tuple[type, ...]] = {
    "AdmissionGated": (WorkloadRequeued,),
    "Deactivated": (WorkloadHeld, WorkloadReleased, WorkloadRequeued, WorkloadSpecChanged),
    "OnHold": (WorkloadRequeued, WorkloadSpecChanged),
    "UnsatisfiedAdmissionChecks": (
        WorkloadDeactivated,
        WorkloadHeld,
        WorkloadReleased,
        WorkloadSpecChanged,
    ),
}
"""What happens behind a reason that comes before it in the order of `recorded_reason`."""

FORGETTING_EVENTS = (
    PreemptionGateOpened,
    WorkloadPodsReclaimed,
    WorkloadQuotaReserved,
    WorkloadSpecChanged,
)
"""What may drop a recorded reason."""

INACTIVE_REASONS = ("LocalQueueStopped", "Stopped", "AdmissionCheckInactive")
"""Reasons of an inactive or stopped queue or check; earlier ones come first."""

StreamReader = Callable[[str], Sequence[RecordedEvent]]
"""A stream of the log from its beginning."""


@dataclass(frozen=True, slots=True)
class EvaluationCount:
    """The number of cycles with a new result for the workload, and the last of them."""

    count: int
    last: RecordedEvent | None


def evaluation_count(past: Sequence[RecordedEvent]) -> EvaluationCount:
    """The cycles that left a trace on a workload; one that found nothing new leaves none."""
    looks = [
        one
        for one in past
        if isinstance(one.event, EVALUATION_EVENTS) and one.metadata.actor == SCHEDULER
    ]
    cycles = dict.fromkeys(one.metadata.correlation or str(one.position) for one in looks)
    return EvaluationCount(len(cycles), looks[-1] if looks else None)


def reason_since(
    config: ObjectSet, workload: Workload, found: Explanation, read: StreamReader
) -> RecordedEvent | None:
    """Returns the event since which the dominant reason has held; None if unknown.

    The numbers behind a reason may have changed meanwhile. A reason found for another workload with
    equal requests is not yet a reason of its own: that begins with its own first evaluation.
    """
    past = read(workload_stream(workload.key))
    if found.is_unschedulable:
        return _unschedulable_since(past) if found.evaluated else None
    local_queues = [read(stream) for stream in _local_queues(config, workload)]
    start = _since(workload, found, past, local_queues, read)
    if start is None or found.dominant in CAUSING_EVENTS:
        return start
    place = (
        INACTIVE_REASONS.index(found.dominant)
        if found.dominant in INACTIVE_REASONS
        else len(local_queues)
    )
    opened = [
        fact
        for local_queue in local_queues[:place]
        if (fact := _toggled(local_queue, shut=False)) is not None
    ]
    return max([start, *opened], key=lambda one: one.position)


def _since(
    workload: Workload,
    found: Explanation,
    past: Sequence[RecordedEvent],
    local_queues: Sequence[Sequence[RecordedEvent]],
    read: StreamReader,
) -> RecordedEvent | None:
    told = _told_since(found.dominant, past)
    if told is not None:
        return told
    if found.dominant == "OnHold":
        return _held_since(past)
    entered, known = (
        _entered(past, NEUTRAL_EVENTS_OF_REASON.get(found.dominant, ())),
        workload.explanation,
    )
    if found.dominant in CAUSING_EVENTS or (known is not None and known.dominant == found.dominant):
        return entered
    if found.dominant == "BehindHead":
        other = _entered(read(workload_stream(found.blockers[0].held_by[0])))
    elif found.dominant in INACTIVE_REASONS:
        behind = local_queues[INACTIVE_REASONS.index(found.dominant) :]
        shut = (
            fact for local_queue in behind if (fact := _toggled(local_queue, shut=True)) is not None
        )
        other = next(shut, None)
    else:
        return None
    return max(entered, other, key=lambda one: one.position) if entered and other else None


def _local_queues(config: ObjectSet, workload: Workload) -> list[str]:
    """The streams of what may keep it out beside itself: its queues, and their checks."""
    name = workload.spec.queue_name
    local = config.local_queues.get(f"{workload.namespace}/{name}")
    queue = config.cluster_queues.get(local.spec.cluster_queue) if local else None
    checks = queue.spec.admission_checks if queue else ()
    return [
        *([stream_of("localqueue", name, workload.namespace)] if local else []),
        *([stream_of("clusterqueue", queue.name)] if queue else []),
        *(stream_of("admissioncheck", rule.name) for rule in checks),
    ]


def _told_since(dominant: str, past: Sequence[RecordedEvent]) -> RecordedEvent | None:
    """The first of the last unbroken run of explanations with this reason.

    What was known before a hold is known again when it is released.
    """
    first = None
    for number, recorded in reversed(list(enumerate(past))):
        event = recorded.event
        if isinstance(event, WorkloadExplained):
            if event.explanation.dominant != dominant:
                return first
            first = recorded
        elif isinstance(event, WorkloadReleased) and first is not None:
            return recorded if _last_told(past[:number]) == dominant else first
        elif not isinstance(event, NEUTRAL_EVENTS):
            return first
    return first


def _unschedulable_since(past: Sequence[RecordedEvent]) -> RecordedEvent | None:
    """The first of the last unbroken run of explanations that it can never start.

    As that comes before every other reason, holds, evictions and stopped queues do not end it.
    """
    first = None
    for recorded in reversed(past):
        event = recorded.event
        if isinstance(event, WorkloadExplained):
            if not event.explanation.is_unschedulable:
                return first
            first = recorded
        elif isinstance(event, FORGETTING_EVENTS):
            return first
    return first


def _last_told(past: Sequence[RecordedEvent]) -> str:
    """The reason that was recorded since it was last let go, if any was."""
    for recorded in reversed(past):
        if isinstance(recorded.event, WorkloadExplained):
            return recorded.event.explanation.dominant
        if isinstance(recorded.event, WorkloadQuotaReserved | WorkloadSpecChanged):
            break
    return ""


def _entered(past: Sequence[RecordedEvent], also: tuple[type, ...] = ()) -> RecordedEvent | None:
    """The last fact that changed how it stands; `also` are kinds that do not, as things are."""
    neutral = (*NEUTRAL_EVENTS, *also)
    return next((one for one in reversed(past) if not isinstance(one.event, neutral)), None)


def _held_since(past: Sequence[RecordedEvent]) -> RecordedEvent | None:
    """The hold that was not released since, however often it was renewed or covered.

    What happened to it under a hold, like being put back into its queue, begins it as well.
    """
    first = None
    for number, recorded in reversed(list(enumerate(past))):
        if isinstance(recorded.event, WorkloadHeld):
            first = recorded
        elif not isinstance(recorded.event, (*NEUTRAL_EVENTS, *NEUTRAL_EVENTS_OF_REASON["OnHold"])):
            return recorded if first is None or _is_held_after(past[: number + 1]) else first
    return first


def _is_held_after(past: Sequence[RecordedEvent]) -> bool:
    turns = (WorkloadHeld, WorkloadReleased)
    last = next((one.event for one in reversed(past) if isinstance(one.event, turns)), None)
    return isinstance(last, WorkloadHeld)


def _toggled(past: Sequence[RecordedEvent], *, shut: bool) -> RecordedEvent | None:
    """The last fact that shut a queue or check, or opened it again, if it is so still."""
    is_shut, last = False, None
    for recorded in past:
        now = _is_shut_after(recorded.event)
        if now is not None and now != is_shut:
            is_shut, last = now, recorded
    return last if is_shut == shut else None


def _is_shut_after(event: DomainEvent) -> bool | None:
    """Whether a queue or check admits no workload after this event; None for unrelated events."""
    match event:
        case ClusterQueueStopped() | LocalQueueStopped():
            return True
        case ClusterQueueResumed() | LocalQueueResumed():
            return False
        case ClusterQueueCreated() | ClusterQueueChanged():
            return event.spec.stop_policy != "None"
        case LocalQueueCreated() | LocalQueueChanged():
            return event.spec.stop_policy != "None"
        case AdmissionCheckReported():
            return not event.active
        case _:
            return None
