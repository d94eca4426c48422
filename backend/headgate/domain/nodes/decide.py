"""Commands of Nodes beside those of every configured object, and what Nodes answer."""

from collections.abc import Iterator

import msgspec
from msgspec.structs import replace

from headgate.domain.field_rules import (
    amount_violations,
    count_violations,
    length_violations,
    raise_if_invalid,
    range_violations,
)
from headgate.domain.kinds.configured_object import Configured, ObjectEvent
from headgate.domain.kinds.object_commands import (
    Change,
    Create,
    Kind,
    ObjectState,
    decide_object,
    existing_object,
)
from headgate.domain.nodes.state import (
    MAX_DEVICES,
    Device,
    NodeChanged,
    NodeCordoned,
    NodeCreated,
    NodeDeleted,
    NodeDeletionRequested,
    NodeDrainStarted,
    NodeExecutorLost,
    NodeFellSilent,
    NodeLeaseRenewed,
    NodeReported,
    NodeSpec,
    NodeUncordoned,
    evolve_node,
    lease_violations,
    node_violations,
)
from headgate.domain.rejection import IllegalNow, Violation, child
from headgate.domain.values.instants import Instant, seconds_after
from headgate.domain.values.selectors import Taint


class ReportNode(msgspec.Struct, frozen=True, kw_only=True):
    """Record readiness, capacity, and what others use on the node (in amounts).

    After `lease_seconds` without another report the node counts as not ready; 0 is never.
    """

    ready: bool
    allocatable: dict[str, int]
    used_by_others: dict[str, int] = {}
    lease_seconds: int = 0


class RegisterNode(msgspec.Struct, frozen=True, kw_only=True):
    """Create the node as its executor has it, or bring it up to date; it is ready from then on.

    What an administrator set stays: cordons, drains, and labels and taints that no registration
    has set. So does what others use on the node where `used_by_others` is None.
    """

    uid: str
    name: str
    executor: str
    allocatable: dict[str, int]
    used_by_others: dict[str, int] | None = None
    labels: dict[str, str] = {}
    taints: tuple[Taint, ...] = ()
    devices: tuple[Device, ...] = ()


class LoseNode(msgspec.Struct, frozen=True, kw_only=True):
    """Record that the node is not ready; `is_executor_lost` where its executor's lease ended."""

    executor: str
    is_executor_lost: bool


class CordonNode(msgspec.Struct, frozen=True):
    """Let no new pods on the node; running pods stay."""


class DrainNode(msgspec.Struct, frozen=True):
    """Let no new pods on the node, and place its running pods elsewhere."""


class UncordonNode(msgspec.Struct, frozen=True):
    """Let pods on the node again; this ends a drain."""


NodeState = ObjectState[NodeSpec]


def decide_node(state: NodeState, command: object, at: Instant) -> tuple[ObjectEvent, ...]:
    """The events that follow for a Node, or a `Rejection`."""
    match command:
        case ReportNode():
            return _report(state, command, at)
        case RegisterNode():
            return _register(state, command)
        case LoseNode():
            return _lose(state, command)
        case CordonNode():
            spec = existing_object("Node", state).spec
            return () if spec.unschedulable and not spec.draining else (NodeCordoned(),)
        case DrainNode():
            return () if existing_object("Node", state).spec.draining else (NodeDrainStarted(),)
        case UncordonNode():
            is_closed = existing_object("Node", state).spec.unschedulable
            return (NodeUncordoned(),) if is_closed else ()
        case _:
            return decide_object(NODE, state, command)


def _report(state: NodeState, command: ReportNode, at: Instant) -> tuple[ObjectEvent, ...]:
    node = existing_object("Node", state)
    violations = (
        *amount_violations("/allocatable", command.allocatable),
        *amount_violations("/usedByOthers", command.used_by_others),
        *lease_violations(command.lease_seconds),
    )
    raise_if_invalid("Node", node.name, violations)
    spec = node.spec
    known = (spec.ready, spec.allocatable, spec.used_by_others, spec.lease_seconds)
    told = (command.ready, command.allocatable, command.used_by_others, command.lease_seconds)
    if known == told:
        return (NodeLeaseRenewed(),) if _is_half_over(spec, at) else ()
    return (
        NodeReported(
            ready=command.ready,
            allocatable=command.allocatable,
            used_by_others=command.used_by_others,
            lease_seconds=command.lease_seconds,
        ),
    )


def _register(state: NodeState, command: RegisterNode) -> tuple[ObjectEvent, ...]:
    """The creation or change of the node; a report where only capacity or readiness changed."""
    raise_if_invalid("Node", command.name, _registration_violations(command))
    if not isinstance(state, Configured):
        spec = _registered(NodeSpec(), command)
        create = Create(uid=command.uid, name=command.name, labels=command.labels, spec=spec)
        return decide_object(NODE, state, create)
    if state.spec.executor not in {"", command.executor}:
        raise IllegalNow("NodeOfOtherExecutor", node=state.name, executor=state.spec.executor)
    spec = _registered(state.spec, command)
    own = {n: v for n, v in state.labels.items() if n not in state.spec.registered_labels}
    labels = {**own, **command.labels}
    reported = {field: getattr(state.spec, field) for field in _REPORTED_FIELDS}
    if (labels, replace(spec, **reported)) == (state.labels, state.spec):
        known = (state.spec.ready, state.spec.allocatable, state.spec.used_by_others)
        if (spec.ready, spec.allocatable, spec.used_by_others) == known:
            return ()
        used = spec.used_by_others
        return (NodeReported(ready=True, allocatable=spec.allocatable, used_by_others=used),)
    change = Change(labels=labels, annotations=state.annotations, spec=spec, written=state.written)
    return decide_object(NODE, state, change)


_REPORTED_FIELDS = (
    "ready",
    "not_ready_since",
    "allocatable",
    "used_by_others",
    "lease_seconds",
    "heard_at",
    "is_executor_lost",
)
"""Fields of a node that a report changes, which is no change of configuration."""


def _registered(spec: NodeSpec, command: RegisterNode) -> NodeSpec:
    """The spec with what the executor registered in place of what it registered before."""
    own = tuple(taint for taint in spec.taints if taint not in spec.registered_taints)
    used = spec.used_by_others if command.used_by_others is None else command.used_by_others
    return replace(
        spec,
        taints=(*own, *(taint for taint in command.taints if taint not in own)),
        ready=True,
        allocatable=command.allocatable,
        used_by_others=used,
        not_ready_since=None,
        lease_seconds=0,
        heard_at=None,
        executor=command.executor,
        registered_labels=tuple(sorted(command.labels)),
        registered_taints=command.taints,
        devices=command.devices,
        is_executor_lost=False,
    )


def _registration_violations(command: RegisterNode) -> Iterator[Violation]:
    yield from amount_violations("/capacity", command.allocatable)
    yield from amount_violations("/usedByOthers", command.used_by_others or {})
    yield from count_violations("/devices", len(command.devices), MAX_DEVICES)
    for index, device in enumerate(command.devices):
        yield from _device_violations(child("/devices", index), device)


def _device_violations(pointer: str, device: Device) -> Iterator[Violation]:
    yield from length_violations(f"{pointer}/resource", device.resource, 253, minimum=1)
    yield from length_violations(f"{pointer}/id", device.id, 253, minimum=1)
    yield from length_violations(f"{pointer}/model", device.model, 253)
    if device.memory_bytes is not None:
        yield from range_violations(f"{pointer}/memory", device.memory_bytes, 0, 2**63 - 1)
    errors = device.uncorrected_errors or 0
    yield from range_violations(f"{pointer}/uncorrectedErrors", errors, 0, 2**63 - 1)


def _lose(state: NodeState, command: LoseNode) -> tuple[ObjectEvent, ...]:
    """The loss of a node of that executor, once."""
    if not isinstance(state, Configured) or state.spec.executor != command.executor:
        return ()
    spec = state.spec
    if command.is_executor_lost:
        return () if spec.is_executor_lost else (NodeExecutorLost(),)
    if not spec.ready:
        return ()
    return (
        NodeReported(ready=False, allocatable=spec.allocatable, used_by_others=spec.used_by_others),
    )


def _is_half_over(spec: NodeSpec, at: Instant) -> bool:
    """Whether a lease is to be recorded again; more often would only fill the log."""
    return spec.heard_at is not None and at >= seconds_after(spec.heard_at, spec.lease_seconds // 2)


NODE: Kind[NodeSpec] = Kind(
    name="Node",
    plural="Nodes",
    short_names=("no",),
    spec=NodeSpec,
    created=NodeCreated,
    changed=NodeChanged,
    deletion_requested=NodeDeletionRequested,
    deleted=NodeDeleted,
    rules=node_violations,
    status_events=(
        NodeReported,
        NodeLeaseRenewed,
        NodeFellSilent,
        NodeExecutorLost,
        NodeCordoned,
        NodeDrainStarted,
        NodeUncordoned,
    ),
    own_decide=decide_node,
    own_evolve=evolve_node,
)
