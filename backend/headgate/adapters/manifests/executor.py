"""The codec of Executor."""

from typing import Any

from headgate.adapters.manifests.codec import OURS, Codec, ExecutorConnection, Extras
from headgate.adapters.manifests.fields import rfc3339
from headgate.adapters.manifests.metadata import (
    ConditionSchema,
    Duration,
    ManifestSchema,
    object_schema,
    rendered_condition,
)
from headgate.adapters.manifests.records import Record, duration_or_never, field, nested
from headgate.domain.kinds.configured_object import Configured
from headgate.domain.kinds.executor import (
    EXECUTOR,
    EXECUTOR_STATUS,
    ExecutorSpec,
    LogRetention,
    PortRange,
)
from headgate.domain.kinds.executor_nodes import is_connected
from headgate.domain.workloads.specs import NodeLossPolicy


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
