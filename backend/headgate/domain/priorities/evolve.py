"""How facts change a WorkloadPriorityClass."""

from headgate.domain.configured import Absent, changed, created, terminating
from headgate.domain.priorities.events import (
    PriorityEvent,
    WorkloadPriorityClassChanged,
    WorkloadPriorityClassCreated,
    WorkloadPriorityClassDeleted,
    WorkloadPriorityClassDeletionRequested,
)
from headgate.domain.priorities.state import WorkloadPriorityClassState
from headgate.domain.values.instants import Instant


def evolve_workload_priority_class(
    state: WorkloadPriorityClassState, event: PriorityEvent, at: Instant
) -> WorkloadPriorityClassState:
    """The WorkloadPriorityClass after the event."""
    match event:
        case WorkloadPriorityClassCreated():
            return created(event, at)
        case WorkloadPriorityClassChanged():
            return changed(state, event)
        case WorkloadPriorityClassDeletionRequested():
            return terminating(state, at)
        case WorkloadPriorityClassDeleted():
            return Absent()
