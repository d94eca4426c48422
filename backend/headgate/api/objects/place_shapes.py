"""ResourceFlavor, Topology and Node as they are written and read."""

from typing import Literal

from headgate.api.schemas import Condition, ListMeta, ObjectMeta, Schema


class Taint(Schema, kw_only=True, frozen=True):
    """A mark that keeps away pods that do not tolerate it."""

    key: str
    value: str = ""
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"] = "NoSchedule"


class Toleration(Schema, kw_only=True, frozen=True):
    """What taint is tolerated."""

    key: str | None = None
    operator: Literal["Exists", "Equal"] = "Equal"
    value: str | None = None
    effect: str | None = None
    toleration_seconds: int | None = None


class ResourceFlavorSpec(Schema, kw_only=True, frozen=True):
    """A kind of machine."""

    node_labels: dict[str, str] = {}
    node_taints: list[Taint] = []
    tolerations: list[Toleration] = []
    topology_name: str | None = None


class ResourceFlavorObject(Schema, kw_only=True, frozen=True):
    """A ResourceFlavor."""

    api_version: str
    kind: Literal["ResourceFlavor"]
    metadata: ObjectMeta
    spec: ResourceFlavorSpec


class ResourceFlavorList(Schema, kw_only=True, frozen=True):
    """One page of ResourceFlavors."""

    api_version: str
    kind: Literal["ResourceFlavorList"]
    metadata: ListMeta
    items: list[ResourceFlavorObject]


class TopologyLevel(Schema, kw_only=True, frozen=True):
    """One level, named by a node label."""

    node_label: str


class TopologySpec(Schema, kw_only=True, frozen=True):
    """The levels, widest first."""

    levels: list[TopologyLevel]


class TopologyObject(Schema, kw_only=True, frozen=True):
    """A Topology."""

    api_version: str
    kind: Literal["Topology"]
    metadata: ObjectMeta
    spec: TopologySpec


class TopologyList(Schema, kw_only=True, frozen=True):
    """One page of Topologies."""

    api_version: str
    kind: Literal["TopologyList"]
    metadata: ListMeta
    items: list[TopologyObject]


class NodeSpec(Schema, kw_only=True, frozen=True):
    """Taints, whether the node takes new pods, and whether those it has are to go elsewhere."""

    taints: list[Taint] = []
    unschedulable: bool = False
    draining: bool = False


class NodeStatus(Schema, kw_only=True, frozen=True):
    """What the node offers and others use there, as Kubernetes quantities."""

    allocatable: dict[str, str | int] = {}
    used_by_others: dict[str, str | int] = {}
    lease_seconds: int = 0
    conditions: list[Condition] = []


class NodeObject(Schema, kw_only=True, frozen=True):
    """A Node."""

    api_version: str
    kind: Literal["Node"]
    metadata: ObjectMeta
    spec: NodeSpec
    status: NodeStatus | None = None


class NodeList(Schema, kw_only=True, frozen=True):
    """One page of Nodes."""

    api_version: str
    kind: Literal["NodeList"]
    metadata: ListMeta
    items: list[NodeObject]
