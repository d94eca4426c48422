"""Node: what a host offers, whether it takes pods, its lease, and its events (topology.md §1)."""

from collections.abc import Iterator

import msgspec
from msgspec.structs import replace

from headgate.domain.field_rules import amount_violations, range_violations, taint_violations
from headgate.domain.kinds.configured_object import (
    Absent,
    Configured,
    ObjectChanged,
    ObjectCreated,
    ObjectDeleted,
    ObjectDeletionRequested,
    ObjectEvent,
    StatusEvent,
    evolve_object,
    with_spec,
    with_status,
)
from headgate.domain.kinds.object_commands import ObjectState
from headgate.domain.rejection import Violation
from headgate.domain.values.instants import Instant, seconds_after
from headgate.domain.values.selectors import Taint


class Device(msgspec.Struct, frozen=True, kw_only=True):
    """A device of a host, such as a GPU, that counts for one of `resource`.

    `uncorrected_errors` are those of its memory since its driver was loaded; None if not counted.
    """

    resource: str
    id: str
    model: str = ""
    memory_bytes: int | None = None
    uncorrected_errors: int | None = None


class NodeSpec(msgspec.Struct, frozen=True, kw_only=True):
    """A host: what it offers, and whether it takes pods.

    `allocatable` and `used_by_others` are amounts as in `quantities`; the latter is what pods use
    that belong to no workload here, their number under `pods`. `draining`: running pods are to be
    placed elsewhere. `lease_seconds` after `heard_at` a silent host is not ready; 0 is never.

    `executor` registered the node, with the labels and taints named in `registered_labels` and
    `registered_taints`; others are an administrator's. `is_executor_lost` is set from the end of
    its executor's lease until it registers the node again.
    """

    taints: tuple[Taint, ...] = ()
    unschedulable: bool = False
    ready: bool = True
    allocatable: dict[str, int] = {}
    used_by_others: dict[str, int] = {}
    draining: bool = False
    not_ready_since: Instant | None = None
    lease_seconds: int = 0
    heard_at: Instant | None = None
    executor: str = ""
    registered_labels: tuple[str, ...] = ()
    registered_taints: tuple[Taint, ...] = ()
    devices: tuple[Device, ...] = ()
    is_executor_lost: bool = False


MAX_DEVICES = 1_000
MAX_LEASE_SECONDS = 86_400


def node_violations(spec: NodeSpec) -> tuple[Violation, ...]:
    """Broken rules of a Node."""
    return (
        *taint_violations("/spec/taints", spec.taints),
        *amount_violations("/status/allocatable", spec.allocatable),
        *amount_violations("/status/usedByOthers", spec.used_by_others),
    )


def lease_violations(seconds: int) -> Iterator[Violation]:
    """Yields broken rules of the length of a lease; 0 is no lease."""
    yield from range_violations("/leaseSeconds", seconds, 0, MAX_LEASE_SECONDS)


def silent_at(spec: NodeSpec) -> Instant | None:
    """When a node counts as not ready if nothing more is heard of it; None for never."""
    if not spec.ready or spec.heard_at is None or not spec.lease_seconds:
        return None
    return seconds_after(spec.heard_at, spec.lease_seconds)


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
