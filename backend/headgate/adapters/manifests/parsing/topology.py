"""Topology, ResourceFlavor and Node manifests (reference topology.md §1)."""

from headgate.adapters.manifests.fields import Fields
from headgate.adapters.manifests.parsing.selectors import read_taints, read_tolerations
from headgate.domain.kinds.resource_flavor import ResourceFlavorSpec
from headgate.domain.kinds.topology import TopologySpec
from headgate.domain.nodes.state import NodeSpec

_NODE_SPEC_OF_OTHERS = (
    "configSource",
    "externalID",
    "podCIDR",
    "podCIDRs",
    "providerID",
)

_NEVER_WRITTEN = ("draining", "not_ready_since", "lease_seconds", "heard_at")
"""What follows from orders and reports alone."""


def read_topology(spec: Fields) -> tuple[TopologySpec, tuple[str, ...]]:
    """The levels of a Topology."""
    return TopologySpec(levels=tuple(_level(level) for level in spec.children("levels"))), ()


def read_resource_flavor(spec: Fields) -> tuple[ResourceFlavorSpec, tuple[str, ...]]:
    """The spec of a ResourceFlavor."""
    read = ResourceFlavorSpec(
        node_labels=spec.text_map("nodeLabels"),
        node_taints=read_taints(spec, "nodeTaints"),
        tolerations=read_tolerations(spec, "tolerations"),
        topology_name=spec.text("topologyName"),
    )
    return read, ()


def read_node(spec: Fields, status: Fields) -> tuple[NodeSpec, tuple[str, ...]]:
    """A Node from its spec and the parts of its status that are about room; the rest is ignored.

    What the manifest leaves out stays as the node reported it, or as it was cordoned.
    """
    spec.ignore(*_NODE_SPEC_OF_OTHERS)
    ready = _ready(status)
    read = NodeSpec(
        taints=read_taints(spec, "taints"),
        unschedulable=spec.flag("unschedulable", default=False),
        ready=True if ready is None else ready,
        allocatable=status.amounts("allocatable"),
        used_by_others=status.amounts("usedByOthers"),
    )
    given = {
        "unschedulable": spec.has("unschedulable"),
        "ready": ready is not None,
        "allocatable": status.has("allocatable"),
        "used_by_others": status.has("usedByOthers"),
    }
    kept = (field for field, is_given in given.items() if not is_given)
    return read, (*kept, *_NEVER_WRITTEN)


def _level(fields: Fields) -> str:
    level = fields.required_text("nodeLabel")
    fields.reject_unknown()
    return level


def _ready(status: Fields) -> bool | None:
    for condition in status.children("conditions"):
        if condition.text("type") == "Ready":
            return condition.text("status") == "True"
    return None
