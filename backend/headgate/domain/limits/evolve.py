"""How facts change LimitRanges and RuntimeClasses."""

from headgate.domain.configured import Absent, changed, created, terminating
from headgate.domain.limits.events import (
    LimitRangeChanged,
    LimitRangeCreated,
    LimitRangeDeleted,
    LimitRangeDeletionRequested,
    LimitRangeEvent,
    RuntimeClassChanged,
    RuntimeClassCreated,
    RuntimeClassDeleted,
    RuntimeClassDeletionRequested,
    RuntimeClassEvent,
)
from headgate.domain.limits.state import LimitRangeState, RuntimeClassState
from headgate.domain.values.instants import Instant


def evolve_limit_range(
    state: LimitRangeState, event: LimitRangeEvent, at: Instant
) -> LimitRangeState:
    """The LimitRange after the event."""
    match event:
        case LimitRangeCreated():
            return created(event, at, event.namespace)
        case LimitRangeChanged():
            return changed(state, event)
        case LimitRangeDeletionRequested():
            return terminating(state, at)
        case LimitRangeDeleted():
            return Absent()


def evolve_runtime_class(
    state: RuntimeClassState, event: RuntimeClassEvent, at: Instant
) -> RuntimeClassState:
    """The RuntimeClass after the event."""
    match event:
        case RuntimeClassCreated():
            return created(event, at)
        case RuntimeClassChanged():
            return changed(state, event)
        case RuntimeClassDeletionRequested():
            return terminating(state, at)
        case RuntimeClassDeleted():
            return Absent()
