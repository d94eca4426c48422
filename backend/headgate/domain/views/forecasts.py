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
from headgate.domain.workloads.events import WorkloadEvent
from headgate.domain.workloads.state import Workload, phase_of

STATED = {
    "Evicting": "It is stopped first, and what follows then comes after that",
    "Starting": "It goes on starting",
    "Running": "It goes on running",
    "Succeeded": "It has ended",
    "Failed": "It has ended",
    "Cancelled": "It ends as cancelled",
}


def forecast(
    cluster_state: ClusterState, key: str, events: Iterable[WorkloadEvent], at: Instant
) -> str:
    """One sentence on what the workload would do next, were these facts recorded now."""
    with cluster_state.overlay():
        for event in events:
            cluster_state.assume(workload_stream(key), event, at)
        workload = cluster_state.workloads.get(key)
        return "It is gone" if workload is None else _what_next(cluster_state, workload, at)


def _what_next(cluster_state: ClusterState, workload: Workload, at: Instant) -> str:
    stated = STATED.get(phase_of(workload))
    return stated or _competing(cluster_state, workload) or _waiting(cluster_state, workload, at)


def _waiting(cluster_state: ClusterState, workload: Workload, at: Instant) -> str:
    found = current_reason(cluster_state, workload, at)
    return found.sentence if found is not None else "It competes for a place"


def _competing(cluster_state: ClusterState, workload: Workload) -> str:
    """Returns the result of an evaluation; empty where the workload would not be evaluated."""
    partition = cluster_state.partition(cluster_state.partition_index.key_of(workload))
    if not partition.is_admission_candidate(workload):
        return ""
    evaluation = evaluate(partition, cluster_state.workloads, workload)
    if evaluation.mode == Mode.FIT:
        if cluster_state.partition_index.blocking:
            return blocked_reason(tuple(cluster_state.partition_index.blocking)).sentence
        fits = f"It fits in ClusterQueue {evaluation.cluster_queue} now and starts when it is next"
        return fits + _if_pods_fail(cluster_state, workload)
    if evaluation.mode == Mode.PREEMPT:
        count = len(evaluation.victims)
        who = "1 workload" if count == 1 else f"{count} workloads"
        return f"It would start once {who} of lower standing had been preempted"
    return ""


def _if_pods_fail(cluster_state: ClusterState, workload: Workload) -> str:
    """Returns the pods-ready timeout and the number of failures until deactivation."""
    waits = waits_for_pods_ready(cluster_state.config, workload)
    if waits is None:
        return ""
    ready = f"; its pods must be ready within {waits.timeout_seconds} s"
    limit = waits.requeuing_strategy.backoff_limit_count
    if limit is None:
        return ready
    left = max(0, limit - workload.requeue.count)
    if not left:
        return f"{ready}, or it is deactivated"
    return (
        f"{ready}, and it may fail {'once' if left == 1 else f'{left} times'} before that ends it"
    )
