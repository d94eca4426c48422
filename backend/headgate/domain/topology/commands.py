"""What can be asked of a Topology, a ResourceFlavor or a Node."""

import msgspec

from headgate.domain.configuring import Change, Create, FinishDeletion, RequestDeletion
from headgate.domain.topology.specs import NodeSpec, ResourceFlavorSpec, TopologySpec


class ReportNode(msgspec.Struct, frozen=True, kw_only=True):
    """What a node says of itself: readiness, capacity, and what others use there (in amounts)."""

    ready: bool
    allocatable: dict[str, int]
    used_by_others: dict[str, int] = {}


class CordonNode(msgspec.Struct, frozen=True):
    """Let no new pods on the node; what runs there runs on."""


class UncordonNode(msgspec.Struct, frozen=True):
    """Let pods on the node again."""


TopologyCommand = Create[TopologySpec] | Change[TopologySpec] | RequestDeletion | FinishDeletion
ResourceFlavorCommand = (
    Create[ResourceFlavorSpec] | Change[ResourceFlavorSpec] | RequestDeletion | FinishDeletion
)
NodeCommand = (
    Create[NodeSpec]
    | Change[NodeSpec]
    | RequestDeletion
    | FinishDeletion
    | ReportNode
    | CordonNode
    | UncordonNode
)
