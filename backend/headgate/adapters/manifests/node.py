"""The codec of Node: its spec, and what it reported as status (topology.md §1)."""

from typing import Any

from headgate.adapters.manifests.codec import OURS, Codec
from headgate.adapters.manifests.fields import Fields, quantities
from headgate.adapters.manifests.metadata import (
    ConditionSchema,
    ManifestSchema,
    object_schema,
    rendered_condition,
)
from headgate.adapters.manifests.selectors import TAINT_RECORD, TaintSchema
from headgate.domain.kinds.configured_object import Configured
from headgate.domain.nodes.decide import NODE
from headgate.domain.nodes.state import Device, NodeSpec

_NODE_SPEC_OF_OTHERS = (
    "configSource",
    "externalID",
    "podCIDR",
    "podCIDRs",
    "providerID",
)

_NEVER_WRITTEN = (
    "draining",
    "not_ready_since",
    "lease_seconds",
    "heard_at",
    "executor",
    "registered_labels",
    "registered_taints",
    "devices",
    "is_executor_lost",
)
"""What follows from orders and reports alone."""


def read_node(root: Fields) -> tuple[NodeSpec, tuple[str, ...]]:
    """A Node from its spec and the parts of its status that are about capacity.

    What the manifest leaves out stays as the node reported it, or as it was cordoned.
    """
    spec, status = root.child_or_empty("spec"), root.child_or_empty("status")
    spec.pass_over(*_NODE_SPEC_OF_OTHERS)
    ready = _ready(status)
    read = NodeSpec(
        taints=tuple(TAINT_RECORD.read_nested(taint) for taint in spec.children("taints")),
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
    spec.reject_unknown()
    kept = (field for field, is_given in given.items() if not is_given)
    return read, (*kept, *_NEVER_WRITTEN)


def _ready(status: Fields) -> bool | None:
    for condition in status.children("conditions"):
        if condition.text("type") == "Ready":
            return condition.text("status") == "True"
    return None


def node_body(node: Configured[NodeSpec]) -> dict[str, Any]:
    """A node with what it reported of itself."""
    spec = node.spec
    ready = rendered_condition(
        "Ready",
        status=spec.ready,
        reason=_readiness_reason(spec),
        message="",
        at=spec.not_ready_since or node.created_at,
        generation=node.generation,
    )
    lease: dict[str, Any] = {"leaseSeconds": spec.lease_seconds} if spec.lease_seconds else {}
    if spec.executor:
        lease["executor"] = spec.executor
    if spec.devices:
        lease["devices"] = [_device(device) for device in spec.devices]
    return {
        "spec": {
            **(
                {"taints": [TAINT_RECORD.render(each) for each in spec.taints]}
                if spec.taints
                else {}
            ),
            "unschedulable": spec.unschedulable,
            **({"draining": True} if spec.draining else {}),
        },
        "status": {
            "conditions": [ready],
            "allocatable": quantities(spec.allocatable),
            "usedByOthers": quantities(spec.used_by_others),
            **lease,
        },
    }


def _readiness_reason(spec: NodeSpec) -> str:
    if spec.ready:
        return "NodeReady"
    return "ExecutorLost" if spec.is_executor_lost else "NodeNotReady"


def _device(device: Device) -> dict[str, Any]:
    known = {"resource": device.resource, "id": device.id}
    model = {"model": device.model} if device.model else {}
    memory = {} if device.memory_bytes is None else {"memoryBytes": device.memory_bytes}
    return {**known, **model, **memory}


class NodeDevice(ManifestSchema, kw_only=True, frozen=True):
    """A device of the host, such as a GPU, that counts for one of `resource`."""

    resource: str
    id: str
    model: str = ""
    memory_bytes: int | None = None


class NodeSpecSchema(ManifestSchema, kw_only=True, frozen=True):
    """Taints, whether the node takes new pods, and whether those it has are to go elsewhere."""

    taints: list[TaintSchema] = []
    unschedulable: bool = False
    draining: bool = False


class NodeStatusSchema(ManifestSchema, kw_only=True, frozen=True):
    """What the node offers and others use there, as Kubernetes quantities.

    `executor` names the Executor that registered the node.
    """

    allocatable: dict[str, str | int] = {}
    used_by_others: dict[str, str | int] = {}
    lease_seconds: int = 0
    executor: str = ""
    devices: list[NodeDevice] = []
    conditions: list[ConditionSchema] = []


NodeObject = object_schema("Node", "A Node.", NodeSpecSchema, NodeStatusSchema)


NODE_CODEC = Codec(
    kind=NODE,
    versions=("v1", OURS),
    read=read_node,
    render=lambda node, _: node_body(node),
    schema=NodeObject,
    has_fields_at_root=True,
)
