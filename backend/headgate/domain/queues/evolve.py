"""How facts change a ClusterQueue, a LocalQueue or a Cohort."""

from msgspec.structs import replace

from headgate.domain.configured import Absent, changed, created, terminating, with_spec
from headgate.domain.queues.events import (
    ClusterQueueChanged,
    ClusterQueueCreated,
    ClusterQueueDeleted,
    ClusterQueueDeletionRequested,
    ClusterQueueEvent,
    ClusterQueueResumed,
    ClusterQueueStopped,
    CohortChanged,
    CohortCreated,
    CohortDeleted,
    CohortDeletionRequested,
    CohortEvent,
    LocalQueueChanged,
    LocalQueueCreated,
    LocalQueueDeleted,
    LocalQueueDeletionRequested,
    LocalQueueEvent,
    LocalQueueResumed,
    LocalQueueStopped,
)
from headgate.domain.queues.specs import Stop, StopPolicy
from headgate.domain.queues.state import ClusterQueueState, CohortState, LocalQueueState
from headgate.domain.values.instants import Instant


def evolve_cluster_queue(
    state: ClusterQueueState, event: ClusterQueueEvent, at: Instant
) -> ClusterQueueState:
    """The ClusterQueue after the event."""
    match event:
        case ClusterQueueCreated():
            return created(event, at)
        case ClusterQueueChanged():
            return changed(state, event)
        case ClusterQueueDeletionRequested():
            return terminating(state, at)
        case ClusterQueueDeleted():
            return Absent()
        case ClusterQueueStopped(policy=policy, stop=stop):
            return _cluster_queue_with_stop(state, policy, stop)
        case ClusterQueueResumed():
            return _cluster_queue_with_stop(state, "None", None)


def evolve_local_queue(
    state: LocalQueueState, event: LocalQueueEvent, at: Instant
) -> LocalQueueState:
    """The LocalQueue after the event."""
    match event:
        case LocalQueueCreated():
            return created(event, at, event.namespace)
        case LocalQueueChanged():
            return changed(state, event)
        case LocalQueueDeletionRequested():
            return terminating(state, at)
        case LocalQueueDeleted():
            return Absent()
        case LocalQueueStopped(policy=policy, stop=stop):
            return _local_queue_with_stop(state, policy, stop)
        case LocalQueueResumed():
            return _local_queue_with_stop(state, "None", None)


def evolve_cohort(state: CohortState, event: CohortEvent, at: Instant) -> CohortState:
    """The Cohort after the event."""
    match event:
        case CohortCreated():
            return created(event, at)
        case CohortChanged():
            return changed(state, event)
        case CohortDeletionRequested():
            return terminating(state, at)
        case CohortDeleted():
            return Absent()


def _cluster_queue_with_stop(
    state: ClusterQueueState, policy: StopPolicy, stop: Stop | None
) -> ClusterQueueState:
    if isinstance(state, Absent):
        return state
    return with_spec(state, replace(state.spec, stop_policy=policy, stop=stop))


def _local_queue_with_stop(
    state: LocalQueueState, policy: StopPolicy, stop: Stop | None
) -> LocalQueueState:
    if isinstance(state, Absent):
        return state
    return with_spec(state, replace(state.spec, stop_policy=policy, stop=stop))
