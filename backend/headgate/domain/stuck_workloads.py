"""Stuck workloads with cause, number of requeues, limits and possible actions.

A workload is stuck if it is inactive, retrying or on hold (queueing.md §5).
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from headgate.domain.cluster_state import ClusterState
from headgate.domain.object_set import ObjectSet
from headgate.domain.recorded_event import workload_stream
from headgate.domain.scheduling.admission import blocked_reason
from headgate.domain.scheduling.evaluation.evaluate import evaluate
from headgate.domain.scheduling.lifecycle.pods_ready import retry_deadline, waits_for_pods_ready
from headgate.domain.scheduling.pending_reasons import current_reason, recorded_reason
from headgate.domain.scheduling.queueing.queue_checks import cluster_queue_of
from headgate.domain.scheduling.results import Mode
from headgate.domain.values.instants import Instant
from headgate.domain.values.message import Message, message
from headgate.domain.workloads.events import WorkloadDeleted, WorkloadEvent
from headgate.domain.workloads.predicates import exceeded_execution_time, resets_execution_time
from headgate.domain.workloads.state import Phase, Workload, condition, phase_of

STUCK_PHASES: tuple[Phase, ...] = ("Inactive", "Retrying", "OnHold")
UnblockingAction = Literal["activate", "requeue", "release"]
UNBLOCKING_ACTIONS: dict[Phase, UnblockingAction] = {
    "Inactive": "activate",
    "Retrying": "requeue",
    "OnHold": "release",
}


@dataclass(frozen=True, slots=True)
class DeactivationLimit:
    """One limit that may deactivate a workload: its field, its value, and how much is used."""

    field: str
    maximum: int
    used: int
    decided: bool


@dataclass(frozen=True, slots=True)
class StuckWorkload:
    """A stuck workload with its cause.

    `cause` is a CamelCase word, `message` says it; `attempts` counts requeues after pods-ready
    timeouts up to now, or up to the deactivation. `gives_up_at` is when the requeuing timeout ends.
    `helps` is the action that lets it compete again, `resets` the counters that the action resets
    and `keeps` those that it does not.
    """

    workload: Workload
    phase: Phase
    cluster_queue: str
    cause: str
    message: Message | None
    by: str
    since: Instant | None
    attempts: int
    next_try_at: Instant | None
    gives_up_at: Instant | None
    limits: tuple[DeactivationLimit, ...]
    helps: UnblockingAction
    resets: tuple[Message, ...]
    keeps: tuple[Message, ...]


def stuck_workload(
    cluster_state: ClusterState, workload: Workload, at: Instant
) -> StuckWorkload | None:
    """Returns a workload with the cause by which it is stuck; None if it is not stuck."""
    phase = phase_of(workload)
    if phase not in STUCK_PHASES:
        return None
    found = recorded_reason(cluster_state, workload, at)
    deactivation = workload.deactivation
    next_try = workload.hold.expires_at if workload.hold else workload.requeue.requeue_at
    return StuckWorkload(
        workload=workload,
        phase=phase,
        cluster_queue=cluster_queue_of(cluster_state.config, workload),
        cause=stuck_cause(workload),
        message=found.reason_message if found else None,
        by=_actor(workload, phase),
        since=stuck_since(workload),
        attempts=deactivation.requeues if deactivation else workload.requeue.count,
        next_try_at=None if phase == "Inactive" else next_try,
        gives_up_at=retry_deadline(cluster_state.config, workload),
        limits=_limits(cluster_state.config, workload),
        helps=UNBLOCKING_ACTIONS[phase],
        resets=_resets(workload, phase),
        keeps=_keeps(workload),
    )


def stuck_cause(workload: Workload) -> str:
    """The cause by which a workload is stuck; empty if it is not stuck."""
    phase = phase_of(workload)
    if phase not in STUCK_PHASES:
        return ""
    if phase == "OnHold":
        return "OnHold"
    if phase == "Retrying":
        requeued = condition(workload, "Requeued")
        return requeued.reason if requeued else "Retrying"
    return workload.deactivation.cause if workload.deactivation else "SubmittedInactive"


def _actor(workload: Workload, phase: Phase) -> str:
    if phase == "OnHold":
        return workload.hold.owner if workload.hold else ""
    return workload.deactivation.by if workload.deactivation else ""


def stuck_since(workload: Workload) -> Instant | None:
    """Since when a workload is stuck; None if it is not stuck."""
    phase = phase_of(workload)
    if phase not in STUCK_PHASES:
        return None
    if phase == "OnHold":
        return workload.hold.held_at if workload.hold else None
    if workload.deactivation is not None:
        return workload.deactivation.deactivated_at
    evicted = condition(workload, "Evicted")
    return evicted.last_transition_at if evicted and evicted.status else workload.created_at


def _limits(config: ObjectSet, workload: Workload) -> tuple[DeactivationLimit, ...]:
    found = []
    cause = workload.deactivation.cause if workload.deactivation else ""
    attempts = workload.deactivation.requeues if workload.deactivation else workload.requeue.count
    waits = waits_for_pods_ready(config, workload)
    if waits is not None and (count := waits.requeuing_strategy.backoff_limit_count) is not None:
        met = cause == "RequeuingLimitExceeded"
        found.append(DeactivationLimit("backoffLimitCount", count, attempts, met))
    if waits is not None and (retries := waits.requeuing_strategy.retry_limit_seconds) is not None:
        found.append(
            DeactivationLimit(
                "maxBackOffRetryTimeout", retries, 0, cause == "RequeuingTimeExceeded"
            )
        )
    max_run = workload.spec.maximum_execution_time_seconds
    if max_run is not None:
        ran = max_run if resets_execution_time(workload) else workload.accumulated_execution_seconds
        found.append(
            DeactivationLimit(
                "maximumExecutionTimeSeconds", max_run, ran, exceeded_execution_time(workload)
            )
        )
    return tuple(found)


def _resets(workload: Workload, phase: Phase) -> tuple[Message, ...]:
    if phase == "OnHold":
        return (message("TheHold"),)
    if phase == "Retrying":
        return (message("TheBackoff"),)
    attempts = workload.deactivation.requeues if workload.deactivation else 0
    found = [message("RequeueCount", count=attempts)] if attempts else []
    found += [message("TheBackoff"), message("ThePodsReadyTimeout")]
    if resets_execution_time(workload):
        found.append(message("ExecutionTime"))
    if workload.deactivation is not None and workload.deactivation.cause == "AdmissionCheck":
        found.append(message("AdmissionCheckStates"))
    return tuple(found)


def _keeps(workload: Workload) -> tuple[Message, ...]:
    found = [message("QueueOrder"), message("EvictionCounts")]
    ran = workload.accumulated_execution_seconds
    if ran and not resets_execution_time(workload):
        found.append(message("ExecutionTimeSoFar", seconds=ran))
    return tuple(found)


STATED: dict[str, Message] = {
    "Evicting": message("StopsFirst"),
    "Starting": message("KeepsStarting"),
    "Running": message("KeepsRunning"),
    "Succeeded": message("HasEnded"),
    "Failed": message("HasEnded"),
    "Cancelled": message("EndsAsCancelled"),
}


def forecast(
    cluster_state: ClusterState, key: str, events: Iterable[WorkloadEvent], at: Instant
) -> Message:
    """Returns what the workload would do next, were these events recorded now."""
    with cluster_state.overlay():
        is_deleted = False
        for event in events:
            is_deleted = is_deleted or isinstance(event, WorkloadDeleted)
            cluster_state.assume(workload_stream(key), event, at)
        workload = cluster_state.workloads.get(key)
        if workload is None:
            return message("WorkloadDeleted" if is_deleted else "HasEnded")
        return _what_next(cluster_state, workload, at)


def _what_next(cluster_state: ClusterState, workload: Workload, at: Instant) -> Message:
    stated = STATED.get(phase_of(workload))
    return stated or _competing(cluster_state, workload) or _waiting(cluster_state, workload, at)


def _waiting(cluster_state: ClusterState, workload: Workload, at: Instant) -> Message:
    found = current_reason(cluster_state, workload, at)
    return found.reason_message if found is not None else message("Queued")


def _competing(cluster_state: ClusterState, workload: Workload) -> Message | None:
    """What an evaluation would find; None where the workload is not to be evaluated."""
    partition = cluster_state.partition(cluster_state.partition_index.key_of(workload))
    if not partition.is_admission_candidate(workload):
        return None
    evaluation = evaluate(partition, cluster_state.workloads, workload)
    if evaluation.mode == Mode.FIT:
        if cluster_state.partition_index.blocking:
            return blocked_reason(tuple(cluster_state.partition_index.blocking)).reason_message
        return _starts_next(cluster_state, workload, evaluation.cluster_queue)
    if evaluation.mode == Mode.PREEMPT:
        return message("WouldPreempt", victims=len(evaluation.victims))
    return None


def _starts_next(cluster_state: ClusterState, workload: Workload, cluster_queue: str) -> Message:
    """How soon the pods must be ready, and how many retries are left before deactivation."""
    waits = waits_for_pods_ready(cluster_state.config, workload)
    if waits is None:
        return message("StartsNext", cluster_queue=cluster_queue)
    limit = waits.requeuing_strategy.backoff_limit_count
    left = None if limit is None else max(0, limit - workload.requeue.count)
    return message(
        "StartsNext",
        cluster_queue=cluster_queue,
        ready_within=waits.timeout_seconds,
        retries=left,
    )
