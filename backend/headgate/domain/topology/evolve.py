"""How facts change a Topology, a ResourceFlavor or a Node."""

from msgspec.structs import replace

from headgate.domain.configured import (
    Absent,
    changed,
    created,
    terminating,
    with_spec,
    with_status,
)
from headgate.domain.topology.events import (
    NodeChanged,
    NodeCordoned,
    NodeCreated,
    NodeDeleted,
    NodeDeletionRequested,
    NodeEvent,
    NodeReported,
    NodeUncordoned,
    ResourceFlavorChanged,
    ResourceFlavorCreated,
    ResourceFlavorDeleted,
    ResourceFlavorDeletionRequested,
    ResourceFlavorEvent,
    TopologyChanged,
    TopologyCreated,
    TopologyDeleted,
    TopologyDeletionRequested,
    TopologyObjectEvent,
)
from headgate.domain.topology.state import NodeState, ResourceFlavorState, TopologyState
from headgate.domain.values.instants import Instant


def evolve_topology(state: TopologyState, event: TopologyObjectEvent, at: Instant) -> TopologyState:
    """The Topology after the event."""
    match event:
        case TopologyCreated():
            return created(event, at)
        case TopologyChanged():
            return changed(state, event)
        case TopologyDeletionRequested():
            return terminating(state, at)
        case TopologyDeleted():
            return Absent()


def evolve_resource_flavor(
    state: ResourceFlavorState, event: ResourceFlavorEvent, at: Instant
) -> ResourceFlavorState:
    """The ResourceFlavor after the event."""
    match event:
        case ResourceFlavorCreated():
            return created(event, at)
        case ResourceFlavorChanged():
            return changed(state, event)
        case ResourceFlavorDeletionRequested():
            return terminating(state, at)
        case ResourceFlavorDeleted():
            return Absent()


def evolve_node(state: NodeState, event: NodeEvent, at: Instant) -> NodeState:
    """The Node after the event; what it reports of itself is status, no new generation."""
    match event:
        case NodeCreated():
            return created(event, at)
        case NodeChanged():
            return changed(state, event)
        case NodeDeletionRequested():
            return terminating(state, at)
        case NodeDeleted():
            return Absent()
        case NodeReported():
            return _reported(state, event)
        case NodeCordoned():
            return _cordoned(state, unschedulable=True)
        case NodeUncordoned():
            return _cordoned(state, unschedulable=False)


def _reported(state: NodeState, event: NodeReported) -> NodeState:
    if isinstance(state, Absent):
        return state
    spec = replace(
        state.spec,
        ready=event.ready,
        allocatable=event.allocatable,
        used_by_others=event.used_by_others,
    )
    return with_status(state, spec)


def _cordoned(state: NodeState, *, unschedulable: bool) -> NodeState:
    if isinstance(state, Absent):
        return state
    return with_spec(state, replace(state.spec, unschedulable=unschedulable))
