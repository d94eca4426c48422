"""The codecs of Node, with what Kubernetes writes of it, and of Executor."""

from typing import Any

from headgate.adapters.manifests.codec import OURS, Codec, ExecutorConnection, Extras
from headgate.adapters.manifests.fields import Fields, quantities, rfc3339
from headgate.adapters.manifests.metadata import (
    ConditionSchema,
    Duration,
    ManifestSchema,
    Quantity,
    object_schema,
    rendered_condition,
)
from headgate.adapters.manifests.records import Record, duration_or_never, field, nested
from headgate.adapters.manifests.selectors import TAINT_RECORD, TaintSchema
from headgate.domain.kinds.configured_object import Configured
from headgate.domain.kinds.executor import (
    EXECUTOR,
    EXECUTOR_STATUS,
    ExecutorSpec,
    LogRetention,
    PortRange,
)
from headgate.domain.kinds.executor_nodes import is_connected
from headgate.domain.nodes.decide import NODE
from headgate.domain.nodes.state import Device, NodeSpec
from headgate.domain.workloads.specs import NodeLossPolicy

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
    errors = device.uncorrected_errors
    counted = {} if errors is None else {"uncorrectedErrors": errors}
    return {**known, **model, **memory, **counted}


class NodeDevice(ManifestSchema, kw_only=True, frozen=True):
    """A device of the host, such as a GPU, that counts for one of `resource`."""

    resource: str
    id: str
    model: str = ""
    memory_bytes: int | None = None
    uncorrected_errors: int | None = None


class NodeSpecSchema(ManifestSchema, kw_only=True, frozen=True):
    """Taints, whether the node takes new pods, and whether those it has are to go elsewhere."""

    taints: list[TaintSchema] = []
    unschedulable: bool = False
    draining: bool = False


class NodeStatusSchema(ManifestSchema, kw_only=True, frozen=True):
    """What the node offers and others use there, as Kubernetes quantities.

    `executor` names the Executor that registered the node.
    """

    allocatable: dict[str, Quantity] = {}
    used_by_others: dict[str, Quantity] = {}
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


class PortRangeSchema(ManifestSchema, kw_only=True, frozen=True):
    """Ports from `first` to `last`, both included."""

    first: int = 20_000
    last: int = 29_999


class LogRetentionSchema(ManifestSchema, kw_only=True, frozen=True):
    """Of each pod the first and the last `maxMebibytes` of its logs are kept."""

    max_mebibytes: int = 16
    after_finished: Duration = "168h0m0s"


class ExecutorSpecSchema(ManifestSchema, kw_only=True, frozen=True):
    """The nodes of an executor, by their labels or by their flavors, and its lease."""

    node_selector: dict[str, str] = {}
    flavors: list[str] = []
    lease_seconds: int = 60
    node_loss_policy: NodeLossPolicy = "Replace"
    rendezvous_ports: PortRangeSchema | None = None
    log_retention: LogRetentionSchema | None = None


class ExecutorStatusSchema(ManifestSchema, kw_only=True, frozen=True):
    """The process that runs the executor, and when it was last heard of.

    The condition Active is False where an older Executor selects a node of this one, Connected
    where no process holds a lease.
    """

    epoch: int = 0
    version: str = ""
    capabilities: list[str] = []
    last_seen_at: str | None = None
    running_pods: int = 0
    nodes: int = 0
    conditions: list[ConditionSchema] = []


ExecutorObject = object_schema("Executor", "An Executor.", ExecutorSpecSchema, ExecutorStatusSchema)


EXECUTOR_RECORD = Record(
    ExecutorSpec,
    field("nodeSelector", omits_usual=True),
    field("flavors", omits_usual=True),
    field("leaseSeconds"),
    field("nodeLossPolicy"),
    nested("rendezvousPorts", Record(PortRange, field("first"), field("last"))),
    nested(
        "logRetention",
        Record(
            LogRetention,
            field("maxMebibytes"),
            duration_or_never("afterFinished", "after_finished_seconds"),
        ),
    ),
)


def executor_body(executor: Configured[ExecutorSpec], extras: Extras) -> dict[str, Any]:
    """An Executor with the process that runs it."""
    spec = executor.spec
    found = extras.executor_connection or ExecutorConnection()
    seen = found.last_seen_at
    status: dict[str, Any] = {
        "epoch": spec.epoch,
        "version": spec.version,
        "capabilities": list(spec.capabilities),
        "runningPods": found.running_pods,
        "nodes": found.nodes,
        **({} if seen is None else {"lastSeenAt": rfc3339(seen)}),
        "conditions": [_active(executor, found), _connected(executor)],
    }
    return {"spec": EXECUTOR_RECORD.render(spec), "status": status}


def _active(executor: Configured[ExecutorSpec], found: ExecutorConnection) -> dict[str, Any]:
    told = f"Executor {found.older} is older and selects node {found.shared_node} too"
    return rendered_condition(
        "Active",
        status=not found.older,
        reason="NodeShared" if found.older else "Active",
        message=told if found.older else "",
        at=executor.created_at,
        generation=executor.generation,
    )


def _connected(executor: Configured[ExecutorSpec]) -> dict[str, Any]:
    spec = executor.spec
    has_process = is_connected(executor)
    reason = "Connected" if has_process else "LeaseEnded" if spec.epoch else "NeverClaimed"
    return rendered_condition(
        "Connected",
        status=has_process,
        reason=reason,
        message="",
        at=spec.lost_at or executor.created_at,
        generation=executor.generation,
    )


EXECUTOR_CODEC = Codec(
    kind=EXECUTOR,
    versions=(OURS,),
    read=lambda spec: (EXECUTOR_RECORD.read(spec), EXECUTOR_STATUS),
    render=executor_body,
    schema=ExecutorObject,
    is_status_derived=True,
)
