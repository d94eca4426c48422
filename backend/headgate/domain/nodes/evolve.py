"""How events change a Node."""

from msgspec.structs import replace

from headgate.domain.kinds.configured_object import (
    Absent,
    Configured,
    ObjectEvent,
    evolve_object,
    with_spec,
    with_status,
)
from headgate.domain.kinds.object_commands import ObjectState
from headgate.domain.nodes.events import (
    NodeChanged,
    NodeCordoned,
    NodeCreated,
    NodeDrainStarted,
    NodeExecutorLost,
    NodeFellSilent,
    NodeLeaseRenewed,
    NodeReported,
    NodeUncordoned,
)
from headgate.domain.nodes.state import NodeSpec
from headgate.domain.values.instants import Instant


def evolve_node(
    state: ObjectState[NodeSpec], event: ObjectEvent, at: Instant
) -> ObjectState[NodeSpec]:
    """The Node after the event; what it reports of itself is status, no new generation."""
    after = evolve_object(state, event, at)
    if isinstance(after, Absent):
        return after
    match event:
        case NodeCreated() | NodeChanged():
            return _with_readiness_time(after, at)
        case NodeReported():
            return _with_readiness_time(_reported(after, event, at), at)
        case NodeLeaseRenewed():
            return with_status(after, replace(after.spec, heard_at=at))
        case NodeFellSilent():
            silent = with_status(after, replace(after.spec, ready=False))
            return _with_readiness_time(silent, at)
        case NodeExecutorLost():
            lost = with_status(after, replace(after.spec, ready=False, is_executor_lost=True))
            return _with_readiness_time(lost, at)
        case NodeCordoned():
            return _with_orders(after, unschedulable=True, draining=False)
        case NodeDrainStarted():
            return _with_orders(after, unschedulable=True, draining=True)
        case NodeUncordoned():
            return _with_orders(after, unschedulable=False, draining=False)
        case _:
            return after


def _with_readiness_time(node: Configured[NodeSpec], at: Instant) -> Configured[NodeSpec]:
    """The Node with the instant since which it has not been ready."""
    since = None if node.spec.ready else node.spec.not_ready_since or at
    return with_status(node, replace(node.spec, not_ready_since=since))


def _reported(node: Configured[NodeSpec], event: NodeReported, at: Instant) -> Configured[NodeSpec]:
    spec = replace(
        node.spec,
        ready=event.ready,
        allocatable=event.allocatable,
        used_by_others=event.used_by_others,
        lease_seconds=event.lease_seconds,
        heard_at=at if event.lease_seconds else None,
        is_executor_lost=False,
    )
    return with_status(node, spec)


def _with_orders(
    node: Configured[NodeSpec], *, unschedulable: bool, draining: bool
) -> Configured[NodeSpec]:
    return with_spec(node, replace(node.spec, unschedulable=unschedulable, draining=draining))
