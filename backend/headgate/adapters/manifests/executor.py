"""The codec of Executor."""

from typing import Any, Literal, get_args

from headgate.adapters.manifests.codec import OURS, Codec
from headgate.adapters.manifests.fields import Fields, read_seconds
from headgate.adapters.manifests.schemas import Duration, ManifestSchema, ObjectMeta
from headgate.adapters.manifests.times import duration_of
from headgate.domain.kinds.configured_object import Configured
from headgate.domain.kinds.executor import (
    EXECUTOR,
    ExecutorSpec,
    LogRetention,
    NodeLossPolicy,
    PortRange,
)

NEVER = "Never"
"""Instead of a length of time: logs are not removed by time."""


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


class ExecutorObject(ManifestSchema, kw_only=True, frozen=True):
    """An Executor."""

    api_version: str
    kind: Literal["Executor"]
    metadata: ObjectMeta
    spec: ExecutorSpecSchema


def read_executor(spec: Fields) -> tuple[ExecutorSpec, tuple[str, ...]]:
    """The spec of an Executor."""
    usual = ExecutorSpec()
    read = ExecutorSpec(
        node_selector=spec.text_map("nodeSelector"),
        flavors=spec.texts("flavors"),
        lease_seconds=spec.integer("leaseSeconds", usual.lease_seconds),
        node_loss_policy=spec.choice(
            "nodeLossPolicy", get_args(NodeLossPolicy), usual.node_loss_policy
        ),
        rendezvous_ports=_ports(spec.child_or_empty("rendezvousPorts")),
        log_retention=_log_retention(spec.child_or_empty("logRetention")),
    )
    return read, ()


def executor_body(executor: Configured[ExecutorSpec]) -> dict[str, Any]:
    """The spec of an Executor, defaults spelled out."""
    spec = executor.spec
    kept = spec.log_retention.after_finished_seconds
    nodes = {"nodeSelector": spec.node_selector, "flavors": list(spec.flavors)}
    return {
        "spec": {
            **{name: value for name, value in nodes.items() if value},
            "leaseSeconds": spec.lease_seconds,
            "nodeLossPolicy": spec.node_loss_policy,
            "rendezvousPorts": {
                "first": spec.rendezvous_ports.first,
                "last": spec.rendezvous_ports.last,
            },
            "logRetention": {
                "maxMebibytes": spec.log_retention.max_mebibytes,
                "afterFinished": NEVER if kept is None else duration_of(kept),
            },
        }
    }


def _ports(fields: Fields) -> PortRange:
    usual = PortRange()
    read = PortRange(
        first=fields.integer("first", usual.first), last=fields.integer("last", usual.last)
    )
    fields.reject_unknown()
    return read


def _log_retention(fields: Fields) -> LogRetention:
    usual = LogRetention()
    if fields.raw("afterFinished") == NEVER:
        kept = None
    else:
        given = read_seconds(fields, "afterFinished")
        kept = usual.after_finished_seconds if given is None else given
    read = LogRetention(
        max_mebibytes=fields.integer("maxMebibytes", usual.max_mebibytes),
        after_finished_seconds=kept,
    )
    fields.reject_unknown()
    return read


EXECUTOR_CODEC = Codec(
    kind=EXECUTOR,
    versions=(OURS,),
    read=read_executor,
    render=lambda executor, _: executor_body(executor),
    schema=ExecutorObject,
)
