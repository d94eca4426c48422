"""The codec of LocalQueue (queueing.md §1.2)."""

from typing import Any

from headgate.adapters.manifests.codec import KUEUE, OURS, Codec, Extras, ReadSpec
from headgate.adapters.manifests.fields import Fields, rfc3339
from headgate.adapters.manifests.metadata import ConditionSchema, ManifestSchema, object_schema
from headgate.adapters.manifests.queue_settings import WEIGHT_FIELD, FairSharingSchema
from headgate.adapters.manifests.queue_status import (
    FlavorUsageSchema,
    QueueStatus,
    rendered_conditions_and_counts,
    rendered_stop,
    rendered_usage,
)
from headgate.adapters.manifests.records import Record, field
from headgate.domain.kinds.cluster_queue import (
    ClusterQueueSpec,
)
from headgate.domain.kinds.configured_object import Configured
from headgate.domain.kinds.local_queue import LOCAL_QUEUE, LocalQueueSpec
from headgate.domain.kinds.queue_stop import StopPolicy
from headgate.domain.values.quantities import nano_quantity

LOCAL_QUEUE_RECORD = Record(
    LocalQueueSpec, field("clusterQueue"), field("stopPolicy"), WEIGHT_FIELD
)


def _read(spec: Fields) -> ReadSpec:
    """The spec of a LocalQueue, and what a change leaves as it is."""
    return LOCAL_QUEUE_RECORD.read(spec), () if spec.has("stopPolicy") else ("stop_policy",)


def local_queue_status(
    queue: Configured[LocalQueueSpec],
    status: QueueStatus | None,
    cluster_queue: ClusterQueueSpec | None,
) -> dict[str, Any]:
    """Conditions, counts and amounts of a LocalQueue, flavors as in its ClusterQueue."""
    rendered = rendered_stop(queue.spec.stop)
    if status is None:
        return rendered
    spec = cluster_queue or ClusterQueueSpec()
    return {
        **rendered_conditions_and_counts(queue, status),
        "flavorsReservation": rendered_usage(spec, status.reservation, shows_borrowed=False),
        "flavorsUsage": rendered_usage(spec, status.usage, shows_borrowed=False),
        **_consumed(status),
        **rendered,
    }


def _consumed(status: QueueStatus) -> dict[str, Any]:
    if status.consumed_at is None:
        return {}
    consumed = {name: nano_quantity(n) for name, n in sorted(status.consumed_nanos.items())}
    written = {"consumedResources": consumed, "lastUpdate": rfc3339(status.consumed_at)}
    return {"fairSharing": {"admissionFairSharingStatus": written}}


class LocalQueueSpecSchema(ManifestSchema, kw_only=True, frozen=True):
    """The ClusterQueue that workloads of the namespace go to."""

    cluster_queue: str
    stop_policy: StopPolicy = "None"
    fair_sharing: FairSharingSchema | None = None


class ConsumptionSchema(ManifestSchema, kw_only=True, frozen=True):
    """What was used of late, by resource; past use counts half after the half-life."""

    consumed_resources: dict[str, str] = {}
    last_update: str


class LocalQueueFairSharingSchema(ManifestSchema, kw_only=True, frozen=True):
    """The recent usage of a LocalQueue, while admission fair sharing is on."""

    admission_fair_sharing_status: ConsumptionSchema


class LocalQueueStatusSchema(ManifestSchema, kw_only=True, frozen=True):
    """Counts and usage of one LocalQueue."""

    conditions: list[ConditionSchema] = []
    pending_workloads: int = 0
    reserving_workloads: int = 0
    admitted_workloads: int = 0
    flavors_reservation: list[FlavorUsageSchema] = []
    flavors_usage: list[FlavorUsageSchema] = []
    fair_sharing: LocalQueueFairSharingSchema | None = None


LocalQueueObject = object_schema(
    "LocalQueue", "A LocalQueue.", LocalQueueSpecSchema, LocalQueueStatusSchema
)


def _render(queue: Configured[LocalQueueSpec], extras: Extras) -> dict[str, Any]:
    return {
        "spec": LOCAL_QUEUE_RECORD.render(queue.spec),
        "status": local_queue_status(queue, extras.queue_status, extras.cluster_queue),
    }


LOCAL_QUEUE_CODEC = Codec(
    kind=LOCAL_QUEUE,
    versions=(*KUEUE, OURS),
    read=_read,
    render=_render,
    schema=LocalQueueObject,
    is_status_derived=True,
)
