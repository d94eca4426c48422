"""What decisions are compared by where one side may have evaluated more often than the other."""

from collections.abc import Iterable

from headgate.domain.cluster_state import ClusterState
from headgate.domain.recorded_event import DomainEvent
from headgate.domain.workloads.events import WorkloadExplained

StreamEvent = tuple[str, DomainEvent]


def explained_streams(cluster_state: ClusterState) -> frozenset[str]:
    """The streams of workloads with a recorded pending reason."""
    return frozenset(
        f"workload/{key}"
        for key, found in cluster_state.workloads.items()
        if found.explanation is not None
    )


def without_reason_changes(
    facts: Iterable[StreamEvent], known: frozenset[str]
) -> list[StreamEvent]:
    """The events without those that only replace a recorded pending reason.

    Nothing follows from them.

    A worker that evaluates more often records more of how a shortage changes.
    """
    return [
        (stream, event)
        for stream, event in facts
        if not isinstance(event, WorkloadExplained) or stream not in known
    ]
