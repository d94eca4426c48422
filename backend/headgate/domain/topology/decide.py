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
from headgate.domain.topology.evolve import evolve_node, evolve_resource_flavor, evolve_topology
from headgate.domain.topology.rules import (
    amount_violations,
    node_violations,
    resource_flavor_change_violations,
    resource_flavor_violations,
    topology_change_violations,
    topology_violations,
)
from headgate.domain.topology.specs import NodeSpec, ResourceFlavorSpec, TopologySpec
from headgate.domain.topology.state import NodeState, ResourceFlavorState, TopologyState
from headgate.domain.values.instants import Instant

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
    at: Instant,  # noqa: ARG001  (the one shape of every decider)
) -> tuple[NodeEvent, ...]:
    """The facts that follow for a Node, or a `Rejection`."""
    match command:
        case Create() | Change() | RequestDeletion() | FinishDeletion():
            return answer(_NODE, state, command)
        case ReportNode():
            return _report(state, command)
        case CordonNode():
            return _cordon(state)
        case UncordonNode():
            return _uncordon(state)


def _report(state: NodeState, command: ReportNode) -> tuple[NodeEvent, ...]:
    node = existing("Node", state)
    violations = (
        *amount_violations("/allocatable", command.allocatable),
        *amount_violations("/usedByOthers", command.used_by_others),
    )
    refuse("The report of node", node.name, violations)
    known = (node.spec.ready, node.spec.allocatable, node.spec.used_by_others)
    if known == (command.ready, command.allocatable, command.used_by_others):
        return ()
    return (
        NodeReported(
            ready=command.ready,
            allocatable=command.allocatable,
            used_by_others=command.used_by_others,
        ),
    )


def _cordon(state: NodeState) -> tuple[NodeEvent, ...]:
    return () if existing("Node", state).spec.unschedulable else (NodeCordoned(),)


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
