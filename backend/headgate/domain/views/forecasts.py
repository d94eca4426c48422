"""The effect of assumed events on a workload, tried in an overlay and undone."""

from collections.abc import Iterable

from headgate.domain.cluster_state import ClusterState
from headgate.domain.scheduling.admission import blocked_reason
from headgate.domain.scheduling.evaluation.evaluate import evaluate
from headgate.domain.scheduling.lifecycle.pods_ready import waits_for_pods_ready
from headgate.domain.scheduling.pending_reasons import current_reason
from headgate.domain.scheduling.results import Mode
from headgate.domain.streams import workload_stream
from headgate.domain.values.instants import Instant
from headgate.domain.values.message import Message, message
from headgate.domain.workloads.events import WorkloadEvent
from headgate.domain.workloads.state import Workload, phase_of

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
        for event in events:
            cluster_state.assume(workload_stream(key), event, at)
        workload = cluster_state.workloads.get(key)
        if workload is None:
            return message("WorkloadDeleted")
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
