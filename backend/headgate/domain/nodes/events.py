"""The events of a Node; the names are the storage format."""

from headgate.domain.kinds.configured_object import (
    ObjectChanged,
    ObjectCreated,
    ObjectDeleted,
    ObjectDeletionRequested,
    StatusEvent,
)
from headgate.domain.nodes.state import NodeSpec


class NodeCreated(ObjectCreated[NodeSpec], frozen=True, kw_only=True, tag="node.created"):
    """The Node exists, as generation 1."""


class NodeChanged(ObjectChanged[NodeSpec], frozen=True, kw_only=True, tag="node.changed"):
    """Labels, annotations or spec of the Node are replaced."""


class NodeDeletionRequested(ObjectDeletionRequested, frozen=True, tag="node.deletion_requested"):
    """Deletion of the Node was requested while others referenced it."""


class NodeDeleted(ObjectDeleted, frozen=True, tag="node.deleted"):
    """The Node is gone; its name is free."""


class NodeReported(StatusEvent, frozen=True, kw_only=True, tag="node.reported"):
    """A heartbeat that differed from the last: readiness, capacity, and what others use there."""

    ready: bool
    allocatable: dict[str, int]
    used_by_others: dict[str, int] = {}
    lease_seconds: int = 0


class NodeLeaseRenewed(StatusEvent, frozen=True, kw_only=True, tag="node.lease_renewed"):
    """A heartbeat like the last one, recorded because a good part of the lease was over."""


class NodeFellSilent(StatusEvent, frozen=True, kw_only=True, tag="node.fell_silent"):
    """Nothing was heard of it for longer than its lease: it is not ready."""


class NodeExecutorLost(StatusEvent, frozen=True, kw_only=True, tag="node.executor_lost"):
    """The lease of its executor ended: it is not ready until it is registered again."""


class NodeCordoned(StatusEvent, frozen=True, kw_only=True, tag="node.cordoned"):
    """It takes no new pods; what runs there runs on."""


class NodeDrainStarted(StatusEvent, frozen=True, kw_only=True, tag="node.drain_started"):
    """It takes no new pods, and what runs there is to find another place."""


class NodeUncordoned(StatusEvent, frozen=True, kw_only=True, tag="node.uncordoned"):
    """It takes pods again, and what runs there may stay."""
