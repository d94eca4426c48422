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
    NodeDrainStarted,
    NodeEvent,
    NodeFellSilent,
    NodeLeaseRenewed,
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
            return _timed(created(event, at), at)
        case NodeChanged():
            return _timed(changed(state, event), at)
        case NodeDeletionRequested():
            return terminating(state, at)
        case NodeDeleted():
            return Absent()
        case NodeReported():
            return _timed(_reported(state, event, at), at)
        case NodeLeaseRenewed():
            return _renewed(state, at)
        case NodeFellSilent():
            return _timed(_silent(state), at)
        case NodeCordoned():
            return _with_orders(state, unschedulable=True, draining=False)
        case NodeDrainStarted():
            return _with_orders(state, unschedulable=True, draining=True)
        case NodeUncordoned():
            return _with_orders(state, unschedulable=False, draining=False)


def _timed(state: NodeState, at: Instant) -> NodeState:
    """With the instant since which it has not been ready."""
    if isinstance(state, Absent):
        return state
    since = None if state.spec.ready else state.spec.not_ready_since or at
    return with_status(state, replace(state.spec, not_ready_since=since))


def _reported(state: NodeState, event: NodeReported, at: Instant) -> NodeState:
    if isinstance(state, Absent):
        return state
    spec = replace(
        state.spec,
        ready=event.ready,
        allocatable=event.allocatable,
        used_by_others=event.used_by_others,
        lease_seconds=event.lease_seconds,
        heard_at=at if event.lease_seconds else None,
    )
    return with_status(state, spec)


def _renewed(state: NodeState, at: Instant) -> NodeState:
    if isinstance(state, Absent):
        return state
    return with_status(state, replace(state.spec, heard_at=at))


def _silent(state: NodeState) -> NodeState:
    if isinstance(state, Absent):
        return state
    return with_status(state, replace(state.spec, ready=False))


def _with_orders(state: NodeState, *, unschedulable: bool, draining: bool) -> NodeState:
    if isinstance(state, Absent):
        return state
    ordered = replace(state.spec, unschedulable=unschedulable, draining=draining)
    return with_spec(state, ordered)
