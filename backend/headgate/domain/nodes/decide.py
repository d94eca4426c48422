"""What Nodes answer to commands."""

from headgate.domain.kinds.configured_object import ObjectEvent
from headgate.domain.kinds.object_commands import (
    Kind,
    ObjectState,
    decide_object,
    existing_object,
)
from headgate.domain.metadata import amount_violations, raise_if_invalid
from headgate.domain.nodes.commands import CordonNode, DrainNode, ReportNode, UncordonNode
from headgate.domain.nodes.events import (
    NodeChanged,
    NodeCordoned,
    NodeCreated,
    NodeDeleted,
    NodeDeletionRequested,
    NodeDrainStarted,
    NodeFellSilent,
    NodeLeaseRenewed,
    NodeReported,
    NodeUncordoned,
)
from headgate.domain.nodes.evolve import evolve_node
from headgate.domain.nodes.state import NodeSpec, lease_violations, node_violations
from headgate.domain.values.instants import Instant, seconds_after

NodeState = ObjectState[NodeSpec]


def decide_node(state: NodeState, command: object, at: Instant) -> tuple[ObjectEvent, ...]:
    """The events that follow for a Node, or a `Rejection`."""
    match command:
        case ReportNode():
            return _report(state, command, at)
        case CordonNode():
            spec = existing_object("Node", state).spec
            return () if spec.unschedulable and not spec.draining else (NodeCordoned(),)
        case DrainNode():
            return () if existing_object("Node", state).spec.draining else (NodeDrainStarted(),)
        case UncordonNode():
            is_closed = existing_object("Node", state).spec.unschedulable
            return (NodeUncordoned(),) if is_closed else ()
        case _:
            return decide_object(NODE, state, command)


def _report(state: NodeState, command: ReportNode, at: Instant) -> tuple[ObjectEvent, ...]:
    node = existing_object("Node", state)
    violations = (
        *amount_violations("/allocatable", command.allocatable),
        *amount_violations("/usedByOthers", command.used_by_others),
        *lease_violations(command.lease_seconds),
    )
    raise_if_invalid("Node", node.name, violations)
    spec = node.spec
    known = (spec.ready, spec.allocatable, spec.used_by_others, spec.lease_seconds)
    told = (command.ready, command.allocatable, command.used_by_others, command.lease_seconds)
    if known == told:
        return (NodeLeaseRenewed(),) if _is_half_over(spec, at) else ()
    return (
        NodeReported(
            ready=command.ready,
            allocatable=command.allocatable,
            used_by_others=command.used_by_others,
            lease_seconds=command.lease_seconds,
        ),
    )


def _is_half_over(spec: NodeSpec, at: Instant) -> bool:
    """Whether a lease is to be recorded again; more often would only fill the log."""
    return spec.heard_at is not None and at >= seconds_after(spec.heard_at, spec.lease_seconds // 2)


NODE: Kind[NodeSpec] = Kind(
    name="Node",
    plural="Nodes",
    short_names=("no",),
    spec=NodeSpec,
    created=NodeCreated,
    changed=NodeChanged,
    deletion_requested=NodeDeletionRequested,
    deleted=NodeDeleted,
    rules=node_violations,
    status_events=(
        NodeReported,
        NodeLeaseRenewed,
        NodeFellSilent,
        NodeCordoned,
        NodeDrainStarted,
        NodeUncordoned,
    ),
    own_decide=decide_node,
    own_evolve=evolve_node,
)
