"""What can have happened to topologies, flavors and nodes; the names are the storage format."""

import msgspec

from headgate.domain.topology.specs import NodeSpec, ResourceFlavorSpec, TopologySpec


class TopologyCreated(msgspec.Struct, frozen=True, kw_only=True, tag="topology.created"):
    """The Topology exists from now on, as generation 1."""

    uid: str
    name: str
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    spec: TopologySpec


class TopologyChanged(msgspec.Struct, frozen=True, kw_only=True, tag="topology.changed"):
    """Its labels, annotations or spec are now these; a changed spec is a new generation."""

    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    spec: TopologySpec


class TopologyDeletionRequested(msgspec.Struct, frozen=True, tag="topology.deletion_requested"):
    """Someone asked to delete it while it was in use; it goes when nothing uses it any more."""


class TopologyDeleted(msgspec.Struct, frozen=True, tag="topology.deleted"):
    """The Topology is gone; the name is free."""


class ResourceFlavorCreated(
    msgspec.Struct, frozen=True, kw_only=True, tag="resource_flavor.created"
):
    """The ResourceFlavor exists from now on, as generation 1."""

    uid: str
    name: str
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    spec: ResourceFlavorSpec


class ResourceFlavorChanged(
    msgspec.Struct, frozen=True, kw_only=True, tag="resource_flavor.changed"
):
    """Its labels, annotations or spec are now these; a changed spec is a new generation."""

    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    spec: ResourceFlavorSpec


class ResourceFlavorDeletionRequested(
    msgspec.Struct, frozen=True, tag="resource_flavor.deletion_requested"
):
    """Someone asked to delete it while it was in use; it goes when nothing uses it any more."""


class ResourceFlavorDeleted(msgspec.Struct, frozen=True, tag="resource_flavor.deleted"):
    """The ResourceFlavor is gone; the name is free."""


class NodeCreated(msgspec.Struct, frozen=True, kw_only=True, tag="node.created"):
    """The Node exists from now on, as generation 1."""

    uid: str
    name: str
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    spec: NodeSpec


class NodeChanged(msgspec.Struct, frozen=True, kw_only=True, tag="node.changed"):
    """Its labels, annotations or spec are now these; a changed spec is a new generation."""

    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    spec: NodeSpec


class NodeDeletionRequested(msgspec.Struct, frozen=True, tag="node.deletion_requested"):
    """Someone asked to delete it while it was in use; it goes when nothing uses it any more."""


class NodeDeleted(msgspec.Struct, frozen=True, tag="node.deleted"):
    """The Node is gone; the name is free."""


class NodeReported(msgspec.Struct, frozen=True, kw_only=True, tag="node.reported"):
    """A heartbeat that differed from the last: readiness, capacity, and what others use there."""

    ready: bool
    allocatable: dict[str, int]
    used_by_others: dict[str, int] = {}
    lease_seconds: int = 0


class NodeLeaseRenewed(msgspec.Struct, frozen=True, kw_only=True, tag="node.lease_renewed"):
    """A heartbeat like the last one, recorded because a good part of the lease was over."""


class NodeFellSilent(msgspec.Struct, frozen=True, kw_only=True, tag="node.fell_silent"):
    """Nothing was heard of it for longer than its lease: it is not ready."""


class NodeCordoned(msgspec.Struct, frozen=True, kw_only=True, tag="node.cordoned"):
    """It takes no new pods; what runs there runs on."""


class NodeDrainStarted(msgspec.Struct, frozen=True, kw_only=True, tag="node.drain_started"):
    """It takes no new pods, and what runs there is to find another place."""


class NodeUncordoned(msgspec.Struct, frozen=True, kw_only=True, tag="node.uncordoned"):
    """It takes pods again, and what runs there may stay."""


TopologyObjectEvent = (
    TopologyCreated | TopologyChanged | TopologyDeletionRequested | TopologyDeleted
)
ResourceFlavorEvent = (
    ResourceFlavorCreated
    | ResourceFlavorChanged
    | ResourceFlavorDeletionRequested
    | ResourceFlavorDeleted
)
NodeEvent = (
    NodeCreated
    | NodeChanged
    | NodeDeletionRequested
    | NodeDeleted
    | NodeReported
    | NodeLeaseRenewed
    | NodeFellSilent
    | NodeCordoned
    | NodeDrainStarted
    | NodeUncordoned
)
TopologyEvent = TopologyObjectEvent | ResourceFlavorEvent | NodeEvent
