"""The codec of Executor."""

from headgate.adapters.manifests.codec import OURS, Codec
from headgate.adapters.manifests.records import Record, duration_or_never, field, nested
from headgate.adapters.manifests.schemas import Duration, ManifestSchema, object_schema
from headgate.domain.kinds.executor import (
    EXECUTOR,
    ExecutorSpec,
    LogRetention,
    NodeLossPolicy,
    PortRange,
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


ExecutorObject = object_schema("Executor", "An Executor.", ExecutorSpecSchema)


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


EXECUTOR_CODEC = Codec(
    kind=EXECUTOR,
    versions=(OURS,),
    read=lambda spec: (EXECUTOR_RECORD.read(spec), ()),
    render=lambda executor, _: {"spec": EXECUTOR_RECORD.render(executor.spec)},
    schema=ExecutorObject,
)
