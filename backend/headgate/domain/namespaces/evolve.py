"""How facts change a Namespace."""

from headgate.domain.configured import Absent, changed, created, terminating
from headgate.domain.namespaces.events import (
    NamespaceChanged,
    NamespaceCreated,
    NamespaceDeleted,
    NamespaceDeletionRequested,
    NamespaceEvent,
)
from headgate.domain.namespaces.state import NamespaceState
from headgate.domain.values.instants import Instant


def evolve_namespace(state: NamespaceState, event: NamespaceEvent, at: Instant) -> NamespaceState:
    """The Namespace after the event."""
    match event:
        case NamespaceCreated():
            return created(event, at)
        case NamespaceChanged():
            return changed(state, event)
        case NamespaceDeletionRequested():
            return terminating(state, at)
        case NamespaceDeleted():
            return Absent()
