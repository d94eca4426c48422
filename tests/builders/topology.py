"""Topologies, ResourceFlavors and Nodes."""

from typing import Any

from headgate.domain.kinds.configured_object import Configured
from headgate.domain.kinds.resource_flavor import ResourceFlavorSpec
from headgate.domain.kinds.topology import HOSTNAME_LABEL, TopologySpec
from headgate.domain.nodes.state import NodeSpec
from tests.builders.instants import T0

BLOCK = "cloud/block"
RACK = "cloud/rack"
HOST = HOSTNAME_LABEL


def a_topology(
    name: str = "racks", levels: tuple[str, ...] = (BLOCK, RACK, HOST)
) -> Configured[TopologySpec]:
    return Configured(name=name, uid=f"uid-{name}", created_at=T0, spec=TopologySpec(levels=levels))


def a_flavor(name: str = "default", **fields: Any) -> Configured[ResourceFlavorSpec]:
    return Configured(
        name=name, uid=f"uid-{name}", created_at=T0, spec=ResourceFlavorSpec(**fields)
    )


def a_node(
    name: str = "host-1", *, labels: dict[str, str] | None = None, **fields: Any
) -> Configured[NodeSpec]:
    """Returns a ready node with 96 cores for 110 pods, in block b1 and rack r1 by default."""
    usual: dict[str, Any] = {"allocatable": {"cpu": 96_000, "pods": 110}}
    return Configured(
        name=name,
        uid=f"uid-{name}",
        labels={BLOCK: "b1", RACK: "r1", HOST: name} | (labels or {}),
        created_at=T0,
        spec=NodeSpec(**usual | fields),
    )
