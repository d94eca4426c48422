"""The states of Topologies, ResourceFlavors and Nodes."""

from headgate.domain.configured import Absent, Configured
from headgate.domain.topology.specs import NodeSpec, ResourceFlavorSpec, TopologySpec

TopologyState = Absent | Configured[TopologySpec]
ResourceFlavorState = Absent | Configured[ResourceFlavorSpec]
NodeState = Absent | Configured[NodeSpec]
