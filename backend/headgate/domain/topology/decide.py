"""What Topologies, ResourceFlavors and Nodes answer to commands."""

from headgate.domain.configured import Absent
from headgate.domain.configuring import (
    Change,
    Create,
    FinishDeletion,
    Life,
    RequestDeletion,
    answer,
    existing,
)
from headgate.domain.decider import Decider
from headgate.domain.metadata import refuse
from headgate.domain.topology.commands import (
    CordonNode,
    DrainNode,
    NodeCommand,
    ReportNode,
    ResourceFlavorCommand,
    TopologyCommand,
    UncordonNode,
)
from headgate.domain.topology.events import (
    NodeChanged,
    NodeCordoned,
    NodeCreated,
    NodeDeleted,
    NodeDeletionRequested,
    NodeDrainStarted,
    NodeEvent,
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
from headgate.domain.topology.evolve import evolve_node, evolve_resource_flavor, evolve_topology
from headgate.domain.topology.rules import (
    amount_violations,
    lease_violations,
    node_violations,
    resource_flavor_change_violations,
    resource_flavor_violations,
    topology_change_violations,
    topology_violations,
)
from headgate.domain.topology.specs import NodeSpec, ResourceFlavorSpec, TopologySpec
from headgate.domain.topology.state import NodeState, ResourceFlavorState, TopologyState
from headgate.domain.values.instants import Instant, seconds_after

_TOPOLOGY: Life[TopologySpec, TopologyObjectEvent] = Life(
    kind="Topology",
    created=lambda command: TopologyCreated(
        uid=command.uid,
        name=command.name,
        labels=command.labels,
        annotations=command.annotations,
        spec=command.spec,
    ),
    changed=lambda command: TopologyChanged(
        labels=command.labels, annotations=command.annotations, spec=command.spec
    ),
    deletion_requested=TopologyDeletionRequested(),
    deleted=TopologyDeleted(),
    rules=topology_violations,
    rules_of_change=topology_change_violations,
    when_in_use="Waits",
)

_RESOURCE_FLAVOR: Life[ResourceFlavorSpec, ResourceFlavorEvent] = Life(
    kind="ResourceFlavor",
    created=lambda command: ResourceFlavorCreated(
        uid=command.uid,
        name=command.name,
        labels=command.labels,
        annotations=command.annotations,
        spec=command.spec,
    ),
    changed=lambda command: ResourceFlavorChanged(
        labels=command.labels, annotations=command.annotations, spec=command.spec
    ),
    deletion_requested=ResourceFlavorDeletionRequested(),
    deleted=ResourceFlavorDeleted(),
    rules=resource_flavor_violations,
    rules_of_change=resource_flavor_change_violations,
    when_in_use="Waits",
)

_NODE: Life[NodeSpec, NodeEvent] = Life(
    kind="Node",
    created=lambda command: NodeCreated(
        uid=command.uid,
        name=command.name,
        labels=command.labels,
        annotations=command.annotations,
        spec=command.spec,
    ),
    changed=lambda command: NodeChanged(
        labels=command.labels, annotations=command.annotations, spec=command.spec
    ),
    deletion_requested=NodeDeletionRequested(),
    deleted=NodeDeleted(),
    rules=node_violations,
)


def decide_topology(
    state: TopologyState,
    command: TopologyCommand,
    at: Instant,  # noqa: ARG001  (the one shape of every decider)
) -> tuple[TopologyObjectEvent, ...]:
    """The facts that follow for a Topology, or a `Rejection`."""
    return answer(_TOPOLOGY, state, command)


def decide_resource_flavor(
    state: ResourceFlavorState,
    command: ResourceFlavorCommand,
    at: Instant,  # noqa: ARG001  (the one shape of every decider)
) -> tuple[ResourceFlavorEvent, ...]:
    """The facts that follow for a ResourceFlavor, or a `Rejection`."""
    return answer(_RESOURCE_FLAVOR, state, command)


def decide_node(
    state: NodeState,
    command: NodeCommand,
    at: Instant,
) -> tuple[NodeEvent, ...]:
    """The facts that follow for a Node, or a `Rejection`."""
    match command:
        case Create() | Change() | RequestDeletion() | FinishDeletion():
            return answer(_NODE, state, command)
        case ReportNode():
            return _report(state, command, at)
        case CordonNode():
            return _cordon(state)
        case DrainNode():
            return () if existing("Node", state).spec.draining else (NodeDrainStarted(),)
        case UncordonNode():
            return _uncordon(state)


def _report(state: NodeState, command: ReportNode, at: Instant) -> tuple[NodeEvent, ...]:
    node = existing("Node", state)
    violations = (
        *amount_violations("/allocatable", command.allocatable),
        *amount_violations("/usedByOthers", command.used_by_others),
        *lease_violations(command.lease_seconds),
    )
    refuse("The report of node", node.name, violations)
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
    """Whether it is time to write a lease down again; more often would only fill the log."""
    return spec.heard_at is not None and at >= seconds_after(spec.heard_at, spec.lease_seconds // 2)


def _cordon(state: NodeState) -> tuple[NodeEvent, ...]:
    spec = existing("Node", state).spec
    return () if spec.unschedulable and not spec.draining else (NodeCordoned(),)


def _uncordon(state: NodeState) -> tuple[NodeEvent, ...]:
    return (NodeUncordoned(),) if existing("Node", state).spec.unschedulable else ()


TOPOLOGY: Decider[TopologyCommand, TopologyState, TopologyObjectEvent] = Decider(
    initial_state=Absent(), decide=decide_topology, evolve=evolve_topology
)
RESOURCE_FLAVOR: Decider[ResourceFlavorCommand, ResourceFlavorState, ResourceFlavorEvent] = Decider(
    initial_state=Absent(), decide=decide_resource_flavor, evolve=evolve_resource_flavor
)
NODE: Decider[NodeCommand, NodeState, NodeEvent] = Decider(
    initial_state=Absent(), decide=decide_node, evolve=evolve_node
)
