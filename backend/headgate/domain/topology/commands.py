"""What can be asked of a Topology, a ResourceFlavor or a Node."""

import msgspec

from headgate.domain.configuring import Change, Create, FinishDeletion, RequestDeletion
from headgate.domain.topology.specs import NodeSpec, ResourceFlavorSpec, TopologySpec


class ReportNode(msgspec.Struct, frozen=True, kw_only=True):
    """What a node says of itself: readiness, capacity, and what others use there (in amounts).

    After `lease_seconds` without another report it counts as not ready; 0 is never.
    """

    ready: bool
    allocatable: dict[str, int]
    used_by_others: dict[str, int] = {}
    lease_seconds: int = 0


class CordonNode(msgspec.Struct, frozen=True):
    """Let no new pods on the node; what runs there runs on."""


class DrainNode(msgspec.Struct, frozen=True):
    """Let no new pods on the node, and find another place for what runs there."""


class UncordonNode(msgspec.Struct, frozen=True):
    """Let pods on the node again; a drain is over with it."""


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
    | DrainNode
    | UncordonNode
)
